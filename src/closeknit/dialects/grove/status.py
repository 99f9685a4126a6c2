"""The conditions and events that Grove's operator writes about its objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.kai_keys import SCHEDULER
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.dialects.family import Condition, Event, Status
from closeknit.dialects.grove.constraints import constraints, topology_name
from closeknit.dialects.grove.places import Place, places
from closeknit.dialects.grove.terms import CONDITION, Loss
from closeknit.dialects.grove.topologies import Known, known
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key

_DRIFT = "SchedulerTopologyDrift"
_AVAILABLE = "AllClusterTopologyLevelsAvailable"
_LISTED = re.compile(r"\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class LevelAvailability:
    """Whether the constraints of a PodCliqueSet are enforced, and if not, why."""

    loss: Loss | None = None
    """None while all levels that the set names are available."""
    topology: str = ""
    """The topology that is missing; with ``Loss.TOPOLOGY`` only."""
    domains: tuple[str, ...] = ()
    """The domains that the topology lacks, sorted; with ``Loss.DOMAIN`` only."""
    detail: str = ""
    """The message of a condition that was read from a cluster; shown if it lists no domains."""


def set_status(stored: Stored[wire.PodCliqueSet], view: View) -> Status:
    """What has become of the topology that a PodCliqueSet was made for."""
    return Status((topology_levels(stored.content, view.derive(known)),))


def topology_levels(given: wire.PodCliqueSet, topologies: Known) -> Condition:
    """Whether all levels that a PodCliqueSet names are there.

    A topology that is gone leaves the answer unknown, and so does one that nobody named.
    """
    where = places(given)
    if not _is_constrained(where):
        return Condition(CONDITION, "False", _AVAILABLE, "No topology constraints defined")
    availability = _availability(given, where, topologies)
    match availability.loss:
        case None:
            return Condition(CONDITION, "False", _AVAILABLE, "All topology levels are available")
        case Loss.SWITCH as loss:
            message = "Topology constraints are defined but Topology Aware Scheduling is disabled"
            return Condition(CONDITION, "Unknown", loss, message)
        case Loss.NAME as loss:
            message = "PodCliqueSet topology constraints must include topologyName"
            return Condition(CONDITION, "Unknown", loss, message)
        case Loss.TOPOLOGY as loss:
            message = f"ClusterTopologyBinding {availability.topology} not found"
            return Condition(CONDITION, "Unknown", loss, message)
        case Loss.DOMAIN as loss:
            message = f"Unavailable topology domains: [{', '.join(availability.domains)}]"
            return Condition(CONDITION, "True", loss, message)


def level_availability(pod_clique_set: wire.PodCliqueSet, topologies: Known) -> LevelAvailability:
    """Compare the levels that a PodCliqueSet names with those of its topology."""
    where = places(pod_clique_set)
    return _availability(pod_clique_set, where, topologies) if _is_constrained(where) else LevelAvailability()


def _is_constrained(where: Mapping[str, Place]) -> bool:
    return any(place.given is not None for place in where.values())


def _availability(
    pod_clique_set: wire.PodCliqueSet, where: Mapping[str, Place], topologies: Known
) -> LevelAvailability:
    """The same for a set with constraints; ``where`` are their places."""
    if not topologies.enabled:
        return LevelAvailability(Loss.SWITCH)
    name = topology_name(where, [])
    if name is None:
        return LevelAvailability(Loss.NAME)
    if name not in topologies.topologies:
        return LevelAvailability(Loss.TOPOLOGY, topology=name)
    unavailable = constraints(pod_clique_set, topologies, running=True).unavailable
    return LevelAvailability(Loss.DOMAIN, domains=unavailable) if unavailable else LevelAvailability()


def reported_availability(condition: Condition | None) -> LevelAvailability | None:
    """What the condition of a PodCliqueSet in a cluster reports; None while Grove has not decided.

    The reason decides, not the status: a topology that is gone leaves Grove's answer unknown, but the
    constraints are not enforced for certain. Grove has no field for the domains, so they are read from
    its text, and serve no other purpose than to be shown again.
    """
    if condition is None:
        return None
    if condition.reason in list(Loss):
        listed = _LISTED.search(condition.message)
        domains = sorted(filter(None, re.split(r"[,\s]+", listed[1]))) if listed is not None else ()
        return LevelAvailability(Loss(condition.reason), domains=tuple(domains), detail=condition.message)
    return LevelAvailability() if condition.status == "False" else None


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
