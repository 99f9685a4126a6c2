"""Whether a deployment's constraints are enforced, told from what Grove says of its PodCliqueSet."""

from __future__ import annotations

import re

from closeknit.dialects.dynamo.deployments import Deployment
from closeknit.dialects.family import Condition, Event

TYPE = "TopologyConstraintsEnforced"


def topology_constraints_enforced(given: Deployment, groves: Condition | None) -> Condition | None:
    """The condition of a deployment; None where nothing is constrained.

    ``groves`` is the condition TopologyLevelsUnavailable of the PodCliqueSet. Its reason counts, not
    its status: a topology that is gone leaves Grove's answer unknown, but the constraints
    are not enforced for certain.
    """
    if not given.is_constrained and given.override is None:
        return None
    if groves is None:
        return Condition(
            TYPE, "Unknown", "TopologyConditionPending", "The workload has not been looked at yet"
        )
    match groves.reason:
        case "AllClusterTopologyLevelsAvailable":
            message = "All topology levels are available in the cluster topology"
            return Condition(TYPE, "True", "AllTopologyLevelsAvailable", message)
        case "ClusterTopologyNotFound":
            message = "The topology definition was not found"
            return Condition(TYPE, "False", "TopologyDefinitionNotFound", message)
        case "TopologyNameMissing":
            return Condition(TYPE, "False", "TopologyDefinitionNotFound", groves.message)
        case _:
            return Condition(TYPE, "False", "TopologyLevelsUnavailable", _lost(groves.message))


def event(before: Condition | None, after: Condition | None) -> Event | None:
    """What to tell about a change: that constraints are applied, or that they no longer are."""
    if after is None or (before is not None and before.status == after.status):
        return None
    if after.status == "True":
        return Event("Normal", "TopologyConstraintsApplied", after.message)
    if after.status == "False":
        return Event("Warning", after.reason, f"Topology constraints no longer enforced: {after.message}")
    return None


def _lost(message: str) -> str:
    """Grove's list of lost domains, as a sentence."""
    listed = re.search(r"\[(.+)\]", message)
    domains = [domain.strip() for domain in listed[1].split(",")] if listed else []
    if not domains:
        return message
    quoted = ", ".join(f"'{domain}'" for domain in domains)
    level, is_are = ("level", "is") if len(domains) == 1 else ("levels", "are")
    return f"Topology {level} {quoted} {is_are} no longer available in the cluster topology"
