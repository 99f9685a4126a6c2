"""What Grove's operator would create: by target, from everything of Grove's that was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.dialects.dialect import Surroundings
from closeknit.dialects.grove.blueprint import Blueprint, blueprint
from closeknit.dialects.grove.cliques import API_VERSION, to_cliques
from closeknit.dialects.grove.gangs import KAI_SCHEDULER, to_gangs
from closeknit.dialects.grove.naming import TOPOLOGY_NAME
from closeknit.dialects.grove.pod_groups import queue_of, to_pod_group
from closeknit.dialects.grove.pod_objects import to_pods
from closeknit.dialects.grove.topologies import MANAGED, Known, known
from closeknit.dialects.kai.objects import to_topology_object
from closeknit.dialects.manifests import Manifest, Manifests
from closeknit.dialects.places import Located
from closeknit.hub.problems import Problem
from closeknit.hub.topology import Topology

Objects: TypeAlias = Iterator[dict[str, Any] | Located]


def to_binding(topology: Topology) -> dict[str, Any]:
    """A ClusterTopologyBinding of a topology whose levels have names."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": topology.name},
        "spec": {"levels": [{"domain": level.name, "key": level.label} for level in topology.levels]},
    }


def grove_objects(manifests: Manifests, surroundings: Surroundings) -> Objects:
    """The topology of an OperatorConfiguration, and the PodCliques of every PodCliqueSet."""
    topologies = known(manifests)
    configured = any(
        one.content.topology_aware_scheduling.levels for one in manifests.of(OperatorConfiguration)
    )
    if configured and MANAGED in topologies.topologies:
        yield to_binding(topologies.topologies[MANAGED])
    yield from _of_sets(manifests, surroundings, topologies, to_cliques)


def gang_objects(manifests: Manifests, surroundings: Surroundings) -> Objects:
    """The PodGangs of every PodCliqueSet."""
    return _of_sets(manifests, surroundings, known(manifests), to_gangs)


def pod_objects(manifests: Manifests, surroundings: Surroundings) -> Objects:
    """The pods of every PodCliqueSet."""
    return _of_sets(manifests, surroundings, known(manifests), to_pods)


def kai_objects(manifests: Manifests, surroundings: Surroundings) -> Objects:
    """KAI's Topologies, and a PodGroup for every PodGang, be it given or made of a PodCliqueSet."""
    topologies = known(manifests)
    elsewhere = kai_names(manifests)
    for name, topology in topologies.topologies.items():
        # One that is bound to a topology of KAI by another name is looked after by somebody else.
        if name not in elsewhere:
            yield to_topology_object(topology)

    def pod_groups(made: Blueprint) -> Iterator[dict[str, Any]]:
        return pod_groups_of(made, elsewhere)

    yield from _of_sets(manifests, surroundings, topologies, pod_groups, _queue_problems)
    for gang in manifests.of(PodGang):
        annotated = gang.content.metadata.annotations.get(TOPOLOGY_NAME, "")
        yield to_pod_group(gang.content, gang.namespace, topology=elsewhere.get(annotated, ""))


def kai_names(manifests: Manifests) -> dict[str, str]:
    """The names under which KAI knows topologies that it does not know by Grove's name."""
    return {
        one.name: binding.topology_reference
        for one in manifests.of(wire.ClusterTopologyBinding)
        for binding in one.content.spec.scheduler_topology_bindings
        if binding.scheduler_name == KAI_SCHEDULER and binding.topology_reference
    }


def pod_groups_of(made: Blueprint, elsewhere: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """KAI's PodGroup for each gang of a set."""
    queue = queue_of(made.given, [])
    for gang in to_gangs(made):
        decoded = msgspec.convert(gang, PodGang)
        yield to_pod_group(decoded, made.namespace, queue, topology=elsewhere.get(made.topology or "", ""))


def _queue_problems(given: wire.PodCliqueSet) -> list[Problem]:
    found: list[Problem] = []
    queue_of(given, found)
    return found


def _of_sets(
    manifests: Manifests,
    surroundings: Surroundings,
    topologies: Known,
    made_of: Callable[[Blueprint], Iterator[dict[str, Any]]],
    also: Callable[[wire.PodCliqueSet], list[Problem]] = lambda _: [],
) -> Objects:
    for manifest in manifests.of(wire.PodCliqueSet):
        made, problems = _blueprint(manifest, topologies, surroundings)
        problems = [*problems, *also(manifest.content)]
        yield from (manifest.located(problem) for problem in problems)
        if made is not None and not problems:
            yield from made_of(made)


def _blueprint(
    manifest: Manifest[wire.PodCliqueSet], topologies: Known, surroundings: Surroundings
) -> tuple[Blueprint | None, list[Problem]]:
    return blueprint(manifest.content, manifest.namespace, topologies, lenient=surroundings.lenient)
