"""What Grove's operator would create: by target, from everything of Grove's that was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.core_v1 import Pod
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.dialects.family import Surroundings
from closeknit.dialects.grove.blueprint import Blueprint, blueprint
from closeknit.dialects.grove.cliques import API_VERSION, to_cliques
from closeknit.dialects.grove.express import express
from closeknit.dialects.grove.gang_rules import topology_of
from closeknit.dialects.grove.gang_workloads import ReadGang, read_gangs
from closeknit.dialects.grove.gangs import KAI_SCHEDULER, to_gangs
from closeknit.dialects.grove.pod_groups import queue_named, queue_of, to_pod_group
from closeknit.dialects.grove.pod_objects import to_pods
from closeknit.dialects.grove.topologies import MANAGED, Known, known
from closeknit.dialects.kai.objects import to_topology_object
from closeknit.dialects.kai.pod_objects import to_pods as kai_pods
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.topology import Topology

Objects: TypeAlias = Iterator[dict[str, Any] | Reported]


def to_binding(topology: Topology) -> dict[str, Any]:
    """A ClusterTopologyBinding of a topology whose levels have names."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": topology.name},
        "spec": {"levels": [{"domain": level.name, "key": level.label} for level in topology.levels]},
    }


def grove_objects(manifests: View, surroundings: Surroundings) -> Objects:
    """The topology of an OperatorConfiguration, the PodCliques of every PodCliqueSet, and a PodCliqueSet for
    every PodGang that has none.
    """
    topologies = known(manifests)
    yield from _configured(manifests, topologies)
    yield from _of_sets(manifests, surroundings, topologies, to_cliques)
    yield from _of_gangs(
        manifests, surroundings, lambda gang: express(gang.workload, surroundings.topologies)
    )


def gang_objects(manifests: View, surroundings: Surroundings) -> Objects:
    """The PodGangs of every PodCliqueSet, and as they are those that have none.

    Before them stands the topology of an OperatorConfiguration; all others are in the files as objects.
    """
    topologies = known(manifests)
    there = {one.name for one in manifests.keys(wire.ClusterTopologyBinding)}
    yield from (made for made in _configured(manifests, topologies) if MANAGED not in there)
    yield from _of_sets(manifests, surroundings, topologies, to_gangs)
    yield from _of_gangs(manifests, surroundings, lambda gang: iter((_as_written(gang.manifest),)))


def pod_objects(manifests: View, surroundings: Surroundings) -> Objects:
    """The pods of every PodCliqueSet, and those that a PodGang without one still lacks."""
    yield from _of_sets(manifests, surroundings, known(manifests), to_pods)
    there = {(pod.namespace, pod.name) for pod in manifests.keys(Pod)}

    def lacking(gang: ReadGang) -> Iterator[dict[str, Any]]:
        assert gang.workload.request is not None
        for pod in kai_pods(gang.workload.request):
            if (gang.manifest.namespace, pod["metadata"]["name"]) not in there and "nodeName" not in pod[
                "spec"
            ]:
                yield pod

    yield from _of_gangs(manifests, surroundings, lacking)


def kai_objects(manifests: View, surroundings: Surroundings) -> Objects:
    """KAI's Topologies, and a PodGroup for every PodGang, be it made of a PodCliqueSet or without one."""
    topologies = known(manifests)
    elsewhere = kai_names(manifests)
    for name, topology in topologies.topologies.items():
        # One that is bound to a topology of KAI by another name is looked after by somebody else.
        if name not in elsewhere:
            yield to_topology_object(topology)

    def pod_groups(made: Blueprint) -> Iterator[dict[str, Any]]:
        return pod_groups_of(made, elsewhere, topologies.topologies)

    yield from _of_sets(manifests, surroundings, topologies, pod_groups, _queue_problems)

    def pod_group(gang: ReadGang) -> Iterator[dict[str, Any]]:
        given = gang.manifest.content
        name, _ = topology_of(given)
        queue = queue_named(given.metadata.labels, given.metadata.annotations)
        yield to_pod_group(
            given,
            gang.manifest.namespace,
            queue,
            named=elsewhere.get(name, ""),
            topology=surroundings.topologies.get(name),
        )

    yield from _of_gangs(manifests, surroundings, pod_group)


def _configured(manifests: View, topologies: Known) -> Iterator[dict[str, Any]]:
    """The topology that an OperatorConfiguration describes, as the object that Grove makes of it."""
    configured = any(
        one.content.topology_aware_scheduling.levels for one in manifests.of(OperatorConfiguration)
    )
    if configured and MANAGED in topologies.topologies:
        yield to_binding(topologies.topologies[MANAGED])


def kai_names(manifests: View) -> dict[str, str]:
    """The names under which KAI knows topologies that it does not know by Grove's name."""
    return {
        one.name: binding.topology_reference
        for one in manifests.of(wire.ClusterTopologyBinding)
        for binding in one.content.spec.scheduler_topology_bindings
        if binding.scheduler_name == KAI_SCHEDULER and binding.topology_reference
    }


def pod_groups_of(
    made: Blueprint, elsewhere: Mapping[str, str], topologies: Mapping[str, Topology]
) -> Iterator[dict[str, Any]]:
    """KAI's PodGroup for each gang of a set."""
    queue, name = queue_of(made.given, []), made.topology or ""
    for gang in to_gangs(made):
        decoded = msgspec.convert(gang, PodGang)
        yield to_pod_group(
            decoded, made.namespace, queue, named=elsewhere.get(name, ""), topology=topologies.get(name)
        )


def _queue_problems(given: wire.PodCliqueSet) -> list[Problem]:
    found: list[Problem] = []
    queue_of(given, found)
    return found


def _of_sets(
    manifests: View,
    surroundings: Surroundings,
    topologies: Known,
    made_of: Callable[[Blueprint], Iterator[dict[str, Any]]],
    also: Callable[[wire.PodCliqueSet], list[Problem]] = lambda _: [],
) -> Objects:
    for manifest in manifests.of(wire.PodCliqueSet):
        made, problems = _blueprint(manifest, topologies, surroundings)
        problems = [*problems, *also(manifest.content)]
        yield from (manifest.report(problem) for problem in problems)
        if made is not None and not problems:
            yield from made_of(made)


def _of_gangs(
    manifests: View,
    surroundings: Surroundings,
    made_of: Callable[[ReadGang], Iterator[dict[str, Any]]],
) -> Objects:
    for gang in read_gangs(manifests, surroundings):
        if gang.workload.request is None:
            # What is wrong with it was told when it was read.
            continue
        try:
            yield from list(made_of(gang))
        except InvalidError as error:
            yield from (gang.manifest.report(problem) for problem in error.problems)


def _as_written(gang: Stored[PodGang]) -> dict[str, Any]:
    """The PodGang without what servers add."""
    metadata = {
        key: value
        for key, value in {"namespace": gang.namespace, **gang.written["metadata"]}.items()
        if key not in ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
    }
    return {
        **{key: gang.written[key] for key in ("apiVersion", "kind")},
        "metadata": metadata,
        "spec": gang.written["spec"],
    }


def _blueprint(
    manifest: Stored[wire.PodCliqueSet], topologies: Known, surroundings: Surroundings
) -> tuple[Blueprint | None, list[Problem]]:
    return blueprint(manifest.content, manifest.namespace, topologies, lenient=surroundings.lenient)
