"""The conditions and events that Grove's operator writes about its objects."""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.kai_keys import SCHEDULER
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.dialects.family import Condition, Event, Status
from closeknit.dialects.grove.constraints import CONDITION, Loss, constraints, topology_name
from closeknit.dialects.grove.places import places
from closeknit.dialects.grove.topologies import Known, known
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key

_DRIFT = "SchedulerTopologyDrift"


def set_status(stored: Stored[wire.PodCliqueSet], view: View) -> Status:
    """What has become of the topology that a PodCliqueSet was made for."""
    return Status((topology_levels(stored.content, view.derive(known)),))


def topology_levels(given: wire.PodCliqueSet, topologies: Known) -> Condition:
    """Whether all levels that a PodCliqueSet names are there.

    A topology that is gone leaves the answer unknown, and so does one that nobody named.
    """
    where = places(given)
    available = "AllClusterTopologyLevelsAvailable"
    if all(place.given is None for place in where.values()):
        return Condition(CONDITION, "False", available, "No topology constraints defined")
    if not topologies.enabled:
        message = "Topology constraints are defined but Topology Aware Scheduling is disabled"
        return Condition(CONDITION, "Unknown", Loss.SWITCH, message)
    name = topology_name(where, [])
    if name is None:
        message = "PodCliqueSet topology constraints must include topologyName"
        return Condition(CONDITION, "Unknown", Loss.NAME, message)
    if name not in topologies.topologies:
        message = f"ClusterTopologyBinding {name} not found"
        return Condition(CONDITION, "Unknown", Loss.TOPOLOGY, message)
    unavailable = constraints(given, topologies, running=True).unavailable
    if unavailable:
        message = f"Unavailable topology domains: [{', '.join(unavailable)}]"
        return Condition(CONDITION, "True", Loss.DOMAIN, message)
    return Condition(CONDITION, "False", available, "All topology levels are available")


def binding_status(stored: Stored[wire.ClusterTopologyBinding], view: View) -> Status:
    """Whether the schedulers that a binding names know the same levels; the event is that of a first look."""
    bindings = stored.content.spec.scheduler_topology_bindings
    names = [each.topology_reference for each in bindings if each.scheduler_name == SCHEDULER]
    found = {name: view.get(Key("kai.scheduler", "Topology", "", name)) for name in names}
    topologies = {name: one.content for name, one in found.items() if one is not None}
    condition = scheduler_topology_drift(stored.content, topologies)
    event = drift_event(None, condition)
    return Status((condition,), (event,) if event is not None else ())


def scheduler_topology_drift(given: wire.ClusterTopologyBinding, kai: Mapping[str, Topology]) -> Condition:
    """Compare each topology that a binding refers to with its own levels; ``kai`` holds those of KAI by name.

    A topology that is missing leaves the answer unknown, whatever else has drifted. What is wrong is
    called by name. Without a reference, Grove makes KAI's topology itself, and there is nothing to compare.
    """
    ours = [level.key for level in given.spec.levels]
    missing: list[str] = []
    drifted: list[str] = []
    for binding in given.spec.scheduler_topology_bindings:
        scheduler, name = binding.scheduler_name, binding.topology_reference
        if scheduler != SCHEDULER:
            missing.append(f'scheduler backend "{scheduler}" is not available for topology management')
        elif name not in kai:
            missing.append(f'KAI Topology "{name}" not found')
        elif ours != (theirs := [level.node_label for level in kai[name].spec.levels]):
            levels = f"{', '.join(theirs)}, but the binding has {', '.join(ours)}"
            drifted.append(f'KAI Topology "{name}" has levels {levels}')
    if missing:
        return Condition(_DRIFT, "Unknown", "TopologyNotFound", "; ".join([*missing, *drifted]))
    if drifted:
        return Condition(_DRIFT, "True", "Drift", "; ".join(drifted))
    return Condition(_DRIFT, "False", "InSync", "All scheduler backend topologies are in sync")


def drift_event(before: Condition | None, after: Condition) -> Event | None:
    """The event of a change of the condition; none where all is in sync from the start."""
    status = before.status if before is not None else "False"
    if status == after.status:
        return None
    if after.status == "False":
        return Event("Normal", "TopologyInSync", after.message)
    return Event("Warning", "TopologyDriftDetected", after.message)
