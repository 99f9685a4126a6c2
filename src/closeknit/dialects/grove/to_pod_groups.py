"""PodGangs as PodGroups of KAI, as Grove's own backend for KAI writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis import scheduling_run_ai_v2alpha2 as kai
from closeknit.apis.grove_keys import TOPOLOGY_NAME
from closeknit.apis.kai_keys import QUEUE, SCHEDULER, TOPOLOGY
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang, TopologyConstraint
from closeknit.dialects.core.kinds import owner_references
from closeknit.dialects.core.levels import level_of_nodes
from closeknit.dialects.grove.blueprint import Blueprint
from closeknit.dialects.grove.rules import scheduler_named
from closeknit.dialects.grove.to_gangs import to_gangs
from closeknit.dialects.grove.topologies import known
from closeknit.dialects.kai.queues import queue_problems
from closeknit.dialects.kai.to_pod_group import pod_group_object
from closeknit.dialects.store.view import View
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import grove as sentences
from closeknit.hub.topology import Topology


def to_pod_groups(
    made: Blueprint, kai_names: Mapping[str, str], topologies: Mapping[str, Topology]
) -> Iterator[dict[str, Any]]:
    """A PodGroup for each gang of a set; ``kai_names`` are KAI's names of topologies, where they differ."""
    queue, name = queue_of(made.given, []), made.topology or ""
    for gang in to_gangs(made):
        decoded = msgspec.convert(gang, PodGang)
        yield to_pod_group(
            decoded, made.namespace, queue, named=kai_names.get(name, ""), topology=topologies.get(name)
        )


def to_pod_group(
    gang: PodGang, namespace: str, queue: str = "", *, named: str = "", topology: Topology | None = None
) -> dict[str, Any]:
    """The PodGroup of a gang: group configurations become parents, and pod groups leaves.

    ``named`` is the name by which KAI knows the topology, where that is not Grove's name.
    """
    annotations = gang.metadata.annotations
    name = named or annotations.get(TOPOLOGY_NAME) or annotations.get(TOPOLOGY, "")

    def constraint(given: TopologyConstraint | None) -> kai.TopologyConstraint:
        return _constraint(given, name, topology)

    configs = [config for config in gang.spec.topology_constraint_group_configs if config.pod_group_names]
    parents = {name: config.name for config in configs for name in config.pod_group_names}
    subgroups = [
        kai.SubGroup(
            name=config.name,
            min_sub_group=len(config.pod_group_names),
            topology_constraint=constraint(config.topology_constraint),
        )
        for config in configs
    ]
    subgroups.extend(
        kai.SubGroup(
            name=group.name,
            parent=parents.get(group.name, ""),
            min_member=group.min_replicas,
            topology_constraint=constraint(group.topology_constraint),
        )
        for group in gang.spec.podgroups
    )
    spec = kai.PodGroupSpec(
        queue=queue,
        min_member=sum(group.min_replicas for group in gang.spec.podgroups),
        priority_class_name=gang.spec.priority_class_name,
        topology_constraint=constraint(gang.spec.topology_constraint),
        sub_groups=tuple(subgroups),
    )
    metadata = {
        "name": gang.metadata.name,
        "namespace": namespace,
        "labels": dict(gang.metadata.labels),
        "annotations": dict(annotations),
        **owner_references(gang.api_version, gang.kind, gang.metadata.name, gang.metadata.uid),
    }
    return pod_group_object(metadata, spec)


def judged_queue(given: wire.PodCliqueSet, view: View) -> list[Problem]:
    """What is wrong for KAI with the queue of a set."""
    wrong: list[Problem] = []
    queue = queue_of(given, wrong)
    return wrong or list(queue_problems(view, queue, _queue_path(given)))


def is_for_kai(given: wire.PodCliqueSet, view: View) -> bool:
    """Whether KAI is the scheduler of a set."""
    return scheduler_named(given, view.derive(known)) == SCHEDULER


def _queue_path(given: wire.PodCliqueSet) -> Path:
    """Where the queue of a set is named, or would be."""
    written: list[tuple[Path, wire.PodCliqueTemplate | ObjectMeta]] = [(("metadata",), given.metadata)]
    cliques = enumerate(given.spec.template.cliques)
    written += [
        (("spec", "template", "cliques", i), each) for i, each in cliques if each.labels or each.annotations
    ]
    for path, each in written:
        for field, named in (("labels", each.labels), ("annotations", each.annotations)):
            if named.get(QUEUE):
                return (*path, field, QUEUE)
    return ("metadata", "labels", QUEUE)


def queue_of(given: wire.PodCliqueSet, found: list[Problem]) -> str:
    """The queue of a set: its own, else the one that all its cliques name; empty where nobody names one."""
    own = queue_named(given.metadata.labels, given.metadata.annotations)
    named: dict[str, int] = {}
    for i, clique in enumerate(given.spec.template.cliques):
        if (clique.labels or clique.annotations) and (
            queue := queue_named(clique.labels, clique.annotations)
        ):
            named.setdefault(queue, i)
    if own:
        others = (
            sentences.CLIQUE_QUEUE.at(("spec", "template", "cliques", i, "labels"), queue=queue, own=own)
            for queue, i in named.items()
            if queue != own
        )
        found.extend(first_of(others))
        return own
    if len(named) > 1:
        found.append(sentences.QUEUES_DIFFER.at(("metadata", "labels"), queues=tuple(named)))
    return next(iter(named), "")


def queue_named(*places: Mapping[str, str]) -> str:
    """The queue that labels or annotations name; empty for none."""
    return next((queue for place in places if (queue := place.get(QUEUE))), "")


def _constraint(
    given: TopologyConstraint | None, name: str, topology: Topology | None
) -> kai.TopologyConstraint:
    pack = given.pack_constraint if given is not None else None
    if pack is None or not (pack.required or pack.preferred):
        return kai.UNCONSTRAINED
    return kai.TopologyConstraint(
        topology=name,
        required_topology_level=level_of_nodes(pack.required, topology),
        preferred_topology_level=level_of_nodes(pack.preferred, topology),
    )
