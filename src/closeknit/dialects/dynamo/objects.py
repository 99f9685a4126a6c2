"""What becomes of DynamoGraphDeployments: a PodCliqueSet each, and what Grove makes of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import msgspec

from closeknit.dialects.dynamo.mapping import mapped
from closeknit.dialects.dynamo.workloads import Read, read_all, topologies_for
from closeknit.dialects.family import Surroundings
from closeknit.dialects.grove.blueprint import Blueprint
from closeknit.dialects.grove.express import to_binding
from closeknit.dialects.grove.to_gangs import to_gangs
from closeknit.dialects.grove.to_pod_groups import to_pod_groups as pod_groups_of
from closeknit.dialects.grove.to_pods import to_pods
from closeknit.dialects.grove.topologies import kai_names
from closeknit.dialects.kai.to_pod_group import to_topology_object
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.topology import Topology

Objects: TypeAlias = Iterator[dict[str, Any] | Reported]


def grove_objects(manifests: View, surroundings: Surroundings) -> Objects:
    """The PodCliqueSet of every deployment, with its pods as they were written."""
    return _of_deployments(manifests, surroundings, lambda one: iter(() if one.made is None else (one.made,)))


def gang_objects(manifests: View, surroundings: Surroundings) -> Objects:
    """The PodGangs of every deployment, with the topology of the operator's settings where it is meant."""
    return _of_blueprints(manifests, surroundings, _with_mapping(manifests, to_binding, to_gangs))


def pod_objects(manifests: View, surroundings: Surroundings) -> Objects:
    """The pods of every deployment."""
    return _of_blueprints(manifests, surroundings, to_pods)


def kai_objects(manifests: View, surroundings: Surroundings) -> Objects:
    """A PodGroup of KAI for every gang, with the topology of the operator's settings where it is meant.

    All other topologies are Grove's to translate.
    """
    elsewhere, known = kai_names(manifests), topologies_for(manifests).topologies

    def pod_groups(made: Blueprint) -> Iterator[dict[str, Any]]:
        return pod_groups_of(made, elsewhere, known)

    return _of_blueprints(manifests, surroundings, _with_mapping(manifests, to_topology_object, pod_groups))


def _with_mapping(
    manifests: View,
    written: Callable[[Topology], dict[str, Any]],
    made_of: Callable[[Blueprint], Iterator[dict[str, Any]]],
) -> Callable[[Blueprint], Iterator[dict[str, Any]]]:
    """The same objects, after the topology that a mapping describes for those that speak of it."""
    mapping = mapped(manifests)

    def made(one: Blueprint) -> Iterator[dict[str, Any]]:
        if mapping is not None and one.topology == mapping.name:
            # Equal objects are written once, however many deployments speak of it.
            yield written(mapping)
        yield from made_of(one)

    return made


def _of_blueprints(
    manifests: View,
    surroundings: Surroundings,
    made_of: Callable[[Blueprint], Iterator[dict[str, Any]]],
) -> Objects:
    def made(one: Read) -> Iterator[dict[str, Any]]:
        if one.blueprint is None:
            return iter(())
        # The uid is that of the deployment; the set that will own these objects has none yet.
        given = one.blueprint.given
        unowned = msgspec.structs.replace(given, metadata=msgspec.structs.replace(given.metadata, uid=""))
        return made_of(replace(one.blueprint, given=unowned))

    return _of_deployments(manifests, surroundings, made)


def _of_deployments(
    manifests: View, surroundings: Surroundings, made_of: Callable[[Read], Iterator[dict[str, Any]]]
) -> Objects:
    for one in read_all(manifests, lenient=surroundings.lenient):
        yield from (one.manifest.report(problem) for problem in one.problems)
        if not one.problems:
            yield from made_of(one)
