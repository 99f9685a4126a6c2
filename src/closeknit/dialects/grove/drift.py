"""What has become of the topology that a running PodCliqueSet was made for, as a condition of its status."""

from __future__ import annotations

from dataclasses import dataclass

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.grove.constraints import Lost, constraints, places, topology_name
from closeknit.dialects.grove.topologies import Known
from closeknit.hub.problems import Problem, as_told

TYPE = "TopologyLevelsUnavailable"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of an object's status, without the times, which only the writer knows."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth telling once."""

    type: str
    reason: str
    message: str


def topology_levels(given: wire.PodCliqueSet, known: Known) -> Condition:
    """Whether all levels that a PodCliqueSet speaks of are there.

    A topology that is gone leaves the answer unknown, and so does one that nobody named.
    """
    where = places(given)
    if all(place.given is None for place in where.values()):
        return _condition("False", "AllClusterTopologyLevelsAvailable", "No topology constraints defined")
    if not known.enabled:
        message = "Topology constraints are defined but Topology Aware Scheduling is disabled"
        return _condition("Unknown", "TopologyAwareSchedulingDisabled", message)
    name = topology_name(where, [])
    if name is None:
        message = "PodCliqueSet topology constraints must include topologyName"
        return _condition("Unknown", "TopologyNameMissing", message)
    if name not in known.topologies:
        message = f"ClusterTopologyBinding {name} not found"
        return _condition("Unknown", "ClusterTopologyNotFound", message)
    unavailable = constraints(given, known, Lost.LEAVE_OUT).unavailable
    if unavailable:
        message = f"Unavailable topology domains: [{', '.join(unavailable)}]"
        return _condition("True", "ClusterTopologyLevelsUnavailable", message)
    return _condition("False", "AllClusterTopologyLevelsAvailable", "All topology levels are available")


def what_is_lost(given: wire.PodCliqueSet, known: Known) -> tuple[Problem, ...]:
    """What a set that stands in a cluster already has lost of its constraints, for people to know."""
    condition = topology_levels(given, known)
    if not given.metadata.uid or condition.status == "False":
        return ()
    message = f"{condition.message}. What it asks for there is no longer kept ({TYPE}, {condition.reason})."
    return (as_told("spec.template.topologyConstraint", message),)


def _condition(status: str, reason: str, message: str) -> Condition:
    return Condition(TYPE, status, reason, message)
