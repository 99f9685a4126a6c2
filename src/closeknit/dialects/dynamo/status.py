"""Whether a deployment's constraints are enforced, by Grove's condition of its PodCliqueSet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.dialects.dynamo.compile import drawn_deployment
from closeknit.dialects.dynamo.deployments import Deployment
from closeknit.dialects.dynamo.rules import is_overridden
from closeknit.dialects.dynamo.to_pod_clique_set import CONDITION, REASONS
from closeknit.dialects.dynamo.topologies import known_to_dynamo
from closeknit.dialects.family import Condition, Event, Status
from closeknit.dialects.grove.status import LevelAvailability, level_availability
from closeknit.dialects.grove.terms import Loss
from closeknit.dialects.grove.topologies import Known
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View

_MESSAGES: Mapping[Loss, str] = {
    Loss.TOPOLOGY: "The topology definition was not found",
    Loss.NAME: "No topology definition is named",
    Loss.SWITCH: "Topology aware scheduling is switched off",
}


def deployment_status(stored: Stored[Any], view: View) -> Status:
    """The condition of a deployment, and the event that a first look at it would write."""
    drawn = view.derive(drawn_deployment, stored.key)
    condition = constraints_enforced(drawn.deployment, drawn.given, view.derive(known_to_dynamo))
    happened = event(None, condition)
    return Status((condition,) if condition is not None else (), (happened,) if happened is not None else ())


def constraints_enforced(given: Deployment, made: PodCliqueSet | None, topologies: Known) -> Condition | None:
    """The condition of a deployment; None where nothing is constrained.

    ``made`` is its PodCliqueSet; without one, nothing is known yet.
    """
    if not is_close(given):
        return None
    return enforced(level_availability(made, topologies) if made is not None else None)


def is_close(given: Deployment) -> bool:
    """Whether a deployment is constrained anywhere, in its own words or in Grove's."""
    return given.is_constrained or is_overridden(given)


def enforced(availability: LevelAvailability | None) -> Condition:
    """The condition of a deployment by the levels that its set has; None while they are not known."""
    if availability is None:
        message = "The workload has not been looked at yet"
        return Condition(CONDITION, "Unknown", "TopologyConditionPending", message)
    if (loss := availability.loss) is None:
        return available()
    message = _MESSAGES.get(loss) or _lost(availability.domains) or availability.detail
    return Condition(CONDITION, "False", REASONS[loss], message)


def available() -> Condition:
    """The condition of a deployment all of whose domains are there."""
    message = "All topology levels are available in the cluster topology"
    return Condition(CONDITION, "True", "AllTopologyLevelsAvailable", message)


def unavailable(domains: Sequence[str]) -> Condition:
    """The condition of a deployment some of whose domains are gone."""
    return Condition(CONDITION, "False", REASONS[Loss.DOMAIN], _lost(domains))


def event(before: Condition | None, after: Condition | None) -> Event | None:
    """What to tell about a change: that constraints are applied, or that they no longer are."""
    if after is None or (before is not None and before.status == after.status):
        return None
    if after.status == "True":
        return Event("Normal", "TopologyConstraintsApplied", after.message)
    if after.status == "False":
        return Event("Warning", after.reason, f"Topology constraints no longer enforced: {after.message}")
    return None


def _lost(domains: Sequence[str]) -> str:
    if not domains:
        return ""
    quoted = ", ".join(f"'{domain}'" for domain in domains)
    level, is_are = ("level", "is") if len(domains) == 1 else ("levels", "are")
    return f"Topology {level} {quoted} {is_are} no longer available in the cluster topology"
