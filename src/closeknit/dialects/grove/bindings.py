"""Whether the schedulers that a ClusterTopologyBinding names know the same levels, as its status tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.dialects.grove.drift import Condition, Event
from closeknit.dialects.grove.gangs import KAI_SCHEDULER
from closeknit.dialects.grove.topologies import known
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.problems import as_told, shown

TYPE = "SchedulerTopologyDrift"


@dataclass(frozen=True, slots=True)
class SchedulerTopology:
    """What became of one binding. ``found`` is false where nothing can be compared."""

    scheduler: str
    topology: str
    in_sync: bool
    found: bool = True
    message: str = ""


def scheduler_topologies(
    given: wire.ClusterTopologyBinding, kai: Mapping[str, Topology]
) -> tuple[SchedulerTopology, ...]:
    """Each binding beside the scheduler's own topology; ``kai`` holds those of KAI by name.

    Without a binding, Grove makes KAI's topology itself, and there is nothing to compare.
    """
    return tuple(_compared(given, binding, kai) for binding in given.spec.scheduler_topology_bindings)


def scheduler_topology_drift(found: Sequence[SchedulerTopology]) -> Condition:
    """The condition of a binding.

    A topology that is missing leaves the answer unknown, whatever else has drifted. What is wrong is
    called by name.
    """
    missing = [one.message for one in found if not one.found]
    drifted = [one.message for one in found if one.found and not one.in_sync]
    if missing:
        return Condition(TYPE, "Unknown", "TopologyNotFound", "; ".join([*missing, *drifted]))
    if drifted:
        return Condition(TYPE, "True", "Drift", "; ".join(drifted))
    return Condition(TYPE, "False", "InSync", "All scheduler backend topologies are in sync")


def drift_event(before: Condition | None, after: Condition) -> Event | None:
    """What to tell about a change, and only about a change; that all is well from the start goes unsaid."""
    status = before.status if before is not None else "False"
    if status == after.status:
        return None
    if after.status == "False":
        return Event("Normal", "TopologyInSync", after.message)
    return Event("Warning", "TopologyDriftDetected", after.message)


def rivals(manifests: View) -> Iterator[Reported]:
    """Topologies of KAI that have the name of one of Grove's but other levels, and were not made of it.

    Grove makes KAI's topology under its own name, and does not take over what somebody else made. With a
    binding to KAI it makes none, so that nobody is in its way.
    """
    bound = {
        manifest.name
        for manifest in manifests.of(wire.ClusterTopologyBinding)
        for binding in manifest.content.spec.scheduler_topology_bindings
        if binding.scheduler_name == KAI_SCHEDULER
    }
    topologies = {name: one for name, one in known(manifests).topologies.items() if name not in bound}
    for manifest in manifests.of(Topology):
        ours = topologies.get(manifest.name)
        if ours is None or [level.node_label for level in manifest.content.spec.levels] == list(ours.labels):
            continue
        owners = {owner.kind for owner in manifest.content.metadata.owner_references}
        if not owners & {"ClusterTopology", "ClusterTopologyBinding"}:
            message = (
                f"Grove has a topology {shown(manifest.name)} as well, with levels"
                f" {', '.join(shown(label) for label in ours.labels)}. Grove makes KAI's itself;"
                " remove this one, or rename it."
            )
            yield manifest.report(as_told("spec.levels", message))


def _compared(
    given: wire.ClusterTopologyBinding,
    binding: wire.SchedulerTopologyBinding,
    kai: Mapping[str, Topology],
) -> SchedulerTopology:
    scheduler, name = binding.scheduler_name, binding.topology_reference
    if scheduler != KAI_SCHEDULER:
        message = f'scheduler backend "{scheduler}" is not available for topology management'
        return SchedulerTopology(scheduler, name, in_sync=False, found=False, message=message)
    topology = kai.get(name)
    if topology is None:
        message = f'KAI Topology "{name}" not found'
        return SchedulerTopology(scheduler, name, in_sync=False, found=False, message=message)
    ours, theirs = (
        [level.key for level in given.spec.levels],
        [one.node_label for one in topology.spec.levels],
    )
    if ours != theirs:
        message = (
            f'KAI Topology "{name}" has levels {", ".join(theirs)}, but the binding has {", ".join(ours)}'
        )
        return SchedulerTopology(scheduler, name, in_sync=False, message=message)
    return SchedulerTopology(scheduler, name, in_sync=True)
