"""What Grove's operator would create from an object, by target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.core.kinds import owner_references, without_server_fields
from closeknit.dialects.family import Object, Rendered
from closeknit.dialects.grove.blueprint import Blueprint, blueprint_of
from closeknit.dialects.grove.compile import DIALECT, compiled_gang
from closeknit.dialects.grove.express import express, to_binding
from closeknit.dialects.grove.gang_rules import topology_of
from closeknit.dialects.grove.to_cliques import to_cliques
from closeknit.dialects.grove.to_gangs import to_gangs
from closeknit.dialects.grove.to_pod_groups import judged_queue, queue_named, to_pod_group, to_pod_groups
from closeknit.dialects.grove.to_pods import to_pods
from closeknit.dialects.grove.topologies import MANAGED, kai_names, known
from closeknit.dialects.kai.render import missing_pods
from closeknit.dialects.kai.to_pod_group import to_topology_object
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import InvalidError
from closeknit.hub.workload import PlaceableWorkload

# ---------------------------------------------------------------------------------------- topologies


def configured_binding(stored: Stored[OperatorConfiguration], view: View) -> Rendered:
    """The ClusterTopologyBinding of the levels that an OperatorConfiguration lists."""
    topology = view.derive(known).topologies.get(MANAGED)
    configured = stored.content.topology_aware_scheduling.levels
    return Rendered((to_binding(topology),)) if configured and topology is not None else Rendered()


def missing_binding(stored: Stored[OperatorConfiguration], view: View) -> Rendered:
    """The same, unless it is in the store as an object."""
    there = view.has(Key("grove.io", "ClusterTopologyBinding", "", MANAGED))
    return Rendered() if there else configured_binding(stored, view)


def kai_topology(
    stored: Stored[wire.ClusterTopology] | Stored[wire.ClusterTopologyBinding], view: View
) -> Rendered:
    """The Topology of KAI; none for one that is bound to a topology that somebody else looks after."""
    made = _kai_topology(stored.name, view)
    owner = owner_references(
        stored.object.api_version, stored.object.kind, stored.name, stored.content.metadata.uid
    )
    return Rendered(
        tuple({**each, "metadata": {**each["metadata"], **owner}} for each in made.objects), made.problems
    )


def configured_kai_topology(stored: Stored[OperatorConfiguration], view: View) -> Rendered:
    """The Topology of KAI of the levels that an OperatorConfiguration lists."""
    return _kai_topology(MANAGED, view) if stored.content.topology_aware_scheduling.levels else Rendered()


def _kai_topology(name: str, view: View) -> Rendered:
    topology = view.derive(known).topologies.get(name)
    if topology is None or name in view.derive(kai_names):
        return Rendered()
    return Rendered((to_topology_object(topology),))


# ------------------------------------------------------------------------------------ PodCliqueSets


def _of_set(
    made_of: Callable[[Blueprint], Iterator[Object]],
) -> Callable[[Stored[wire.PodCliqueSet], View], Rendered]:
    def rendered(stored: Stored[wire.PodCliqueSet], view: View) -> Rendered:
        made = view.derive(blueprint_of, stored.key).blueprint
        return Rendered(tuple(made_of(made))) if made is not None else Rendered()

    return rendered


cliques_of_set = _of_set(to_cliques)
"""The PodCliqueScalingGroups and PodCliques of a PodCliqueSet."""
gangs_of_set = _of_set(to_gangs)
"""The PodGangs of a PodCliqueSet."""
pods_of_set = _of_set(to_pods)
"""The pods of a PodCliqueSet."""


def pod_groups_of_set(stored: Stored[wire.PodCliqueSet], view: View) -> Rendered:
    """A PodGroup of KAI for each gang of a PodCliqueSet, all in one queue."""
    found = judged_queue(stored.content, view)
    made = view.derive(blueprint_of, stored.key).blueprint
    if found or made is None:
        return Rendered(problems=tuple(found))
    return Rendered(tuple(to_pod_groups(made, view.derive(kai_names), view.derive(known).topologies)))


# ----------------------------------------------------------------------------------------- PodGangs


def set_of_gang(stored: Stored[PodGang], view: View) -> Rendered:
    """A PodCliqueSet that asks for the same as a PodGang without one."""
    workload = _sound_gang(stored, view)
    if workload is None:
        return Rendered()
    try:
        return Rendered(tuple(express(workload, view.derive(topologies_of, DIALECT))))
    except InvalidError as error:
        return Rendered(problems=error.problems)


def gang_as_written(stored: Stored[PodGang], view: View) -> Rendered:
    """A PodGang without a set as it is, without what servers add."""
    if _sound_gang(stored, view) is None:
        return Rendered()
    written = stored.written
    metadata = without_server_fields({"namespace": stored.namespace, **written["metadata"]})
    gang: dict[str, Any] = {key: written[key] for key in ("apiVersion", "kind")}
    return Rendered(({**gang, "metadata": metadata, "spec": written["spec"]},))


def pod_group_of_gang(stored: Stored[PodGang], view: View) -> Rendered:
    """The PodGroup of KAI of a PodGang without a set."""
    if _sound_gang(stored, view) is None:
        return Rendered()
    given = stored.content
    name, _ = topology_of(given)
    made = to_pod_group(
        given,
        stored.namespace,
        queue_named(given.metadata.labels, given.metadata.annotations),
        named=view.derive(kai_names).get(name, ""),
        topology=view.derive(topologies_of, DIALECT).get(name),
    )
    return Rendered((made,))


def missing_pods_of_gang(stored: Stored[PodGang], view: View) -> Rendered:
    """The pods that a PodGang without a set still lacks."""
    workload = _sound_gang(stored, view)
    if workload is None:
        return Rendered()
    return Rendered(missing_pods(workload.request, view))


def _sound_gang(stored: Stored[PodGang], view: View) -> PlaceableWorkload | None:
    """The workload of a PodGang that is one itself and has no problems."""
    workloads = view.derive(compiled_gang, stored.key).workloads
    return workloads[0] if workloads and isinstance(workloads[0], PlaceableWorkload) else None
