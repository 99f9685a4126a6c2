"""Reports as conditions: of PodGroups as KAI and Kubernetes have them, and of a pod that waits.

Conditions of a PodGroup that runs, or could not be placed:

| type | status | reason | when |
|---|---|---|---|
| ``Scheduled`` | ``True`` | ``Scheduled`` | its minimum runs, whoever bound it |
| the same | ``False`` | a ``State`` | its minimum does not run |
| ``TopologyConstraintSatisfied`` | ``False`` | ``RequiredLevelViolated`` | it runs, and breaks it |
| the same | ``Unknown`` | ``SpecificationInvalid`` | it runs, and became invalid |
| the same | ``True`` | ``Satisfied`` | it was one of those and is right again; else the condition is absent |

Kubernetes' own PodGroups have ``PodGroupScheduled`` in place of ``Scheduled``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from closeknit.apis.closeknit_keys import OUTCOME
from closeknit.apis.kai_keys import NODE_POOL
from closeknit.scheduler.status.reports import ConstraintState, Json, Report, State, bounded

DEFAULT_NODE_POOL = "default"
"""The pool that KAI's condition names for a PodGroup without the label of a node pool."""

CONSTRAINT = "TopologyConstraintSatisfied"
"""The type of the condition of a running PodGroup that breaks what it requires, or no longer does."""

_UNSCHEDULABLE_HERE = "UnschedulableOnNodePool"
_HOLDS = {
    ConstraintState.SATISFIED: "True",
    ConstraintState.VIOLATED: "False",
    ConstraintState.UNKNOWN: "Unknown",
}


def pod_group_status(told: Report, group: Mapping[str, Any], now: str) -> Json | None:
    """Of the two lists of conditions of a PodGroup's status those that should be others; None for none.

    Conditions of other types, and those of other node pools, stay as they are.
    """
    status = group.get("status") or {}
    pool = (group.get("metadata", {}).get("labels") or {}).get(NODE_POOL) or DEFAULT_NODE_POOL
    before = list(status.get("conditions") or ())
    after = _with(before, "Scheduled", told.state is State.SCHEDULED, told, now)
    if told.state is State.UNSCHEDULABLE or any(each.get("type") == "Unschedulable" for each in before):
        after = _with(after, "Unschedulable", told.state is State.UNSCHEDULABLE, told, now)
    after = _with_constraint(after, told, group, now)
    here_before = list(status.get("schedulingConditions") or ())
    here = _scheduling_conditions(here_before, told, pool, now)
    lists = {"conditions": (before, after), "schedulingConditions": (here_before, here)}
    return {name: new for name, (old, new) in lists.items() if new != old} or None


def gang_status(told: Report, group: Mapping[str, Any], now: str) -> Json | None:
    """The conditions of a PodGroup of Kubernetes' own, where they should be others; None for none."""
    before = list((group.get("status") or {}).get("conditions") or ())
    scheduled = _with(before, "PodGroupScheduled", told.state is State.SCHEDULED, told, now)
    after = [
        {key: value for key, value in each.items() if key != "transitionID"}
        for each in _with_constraint(scheduled, told, group, now)
    ]
    return {"conditions": after} if after != before else None


STATUSES: Mapping[tuple[str, str], Callable[[Report, Mapping[str, Any], str], Json | None]] = {
    ("scheduling.run.ai", "PodGroup"): pod_group_status,
    ("scheduling.k8s.io", "PodGroup"): gang_status,
}
"""By group and kind, what is reported in the status of a unit, given its object."""


def shows(
    told: Report,
    kind: tuple[str, str],
    obj: Mapping[str, Any],
    outcome: str | None,
    *,
    annotated: bool = False,
) -> bool:
    """Whether an object shows the facts of a report, however they are worded.

    Facts are the status and reason of each condition that the report decides, and the state of the outcome:
    of its own object, None where there are none, and where its namespace asks for it of the annotation.
    """
    texts = [outcome] if outcome is not None else []
    texts += [annotation_of(obj)] if annotated else []
    if any(state_of(text) != state_of(told.outcome) for text in texts):
        return False
    if (status_of := STATUSES.get(kind)) is None:
        return True
    status = obj.get("status") or {}
    wanted = status_of(told, obj, "") or {}
    return all(_facts(conditions) == _facts(status.get(field) or ()) for field, conditions in wanted.items())


def is_reported(obj: Mapping[str, Any], outcome: str | None) -> bool:
    """Whether an object has an outcome of any kind."""
    return bool(state_of(outcome or annotation_of(obj)))


def annotation_of(obj: Mapping[str, Any]) -> str:
    """The outcome that an object carries as an annotation; empty without one."""
    annotations = obj.get("metadata", {}).get("annotations") or {}
    return str(annotations.get(OUTCOME, ""))


def state_of(outcome: str) -> str:
    """The status of an outcome; empty if there is none that can be read."""
    try:
        read = json.loads(outcome) if outcome else {}
    except ValueError:
        return ""
    return str(read.get("status", "")) if isinstance(read, dict) else ""


def _facts(conditions: Iterable[Mapping[str, Any]]) -> set[tuple[str, ...]]:
    return {
        tuple(str(each.get(key)) for key in ("type", "nodePool", "status", "reason")) for each in conditions
    }


def _with_constraint(
    conditions: Sequence[Json], told: Report, group: Mapping[str, Any], now: str
) -> list[Json]:
    """The list with what becomes of the constraint; only a PodGroup that runs has such a condition."""
    old = next((each for each in conditions if each.get("type") == CONSTRAINT), None)
    if told.state is not State.SCHEDULED:
        return [each for each in conditions if each is not old]
    holds = told.constraint is ConstraintState.SATISFIED or (
        told.constraint is ConstraintState.UNKNOWN and not _names_a_level(group.get("spec") or {})
    )
    if old is None and holds:
        return list(conditions)
    wanted = {
        "type": CONSTRAINT,
        "status": _HOLDS[told.constraint],
        "reason": told.constraint.value,
        "message": told.constraint_message,
    }
    return _replaced(conditions, lambda each: each.get("type") == CONSTRAINT, wanted, now)


def _names_a_level(spec: Mapping[str, Any]) -> bool:
    """Whether a PodGroup, or one of its subgroups, has a topology constraint of any kind."""
    parts = (spec, *(spec.get("subGroups") or ()), *(spec.get("subgroups") or ()))
    return any(part.get("topologyConstraint") or part.get("schedulingConstraints") for part in parts)


def pod_condition(told: Report, owner: str, now: str) -> Json:
    """Why a pod has no node yet, told with the name of the unit that it waits with."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable" if told.state is State.SCHEDULED else told.state.value,
        "message": bounded(f"{owner}: {told.brief}" if owner else told.brief),
        "lastTransitionTime": now,
    }


def _with(conditions: Sequence[Json], kind: str, holds: bool, told: Report, now: str) -> list[Json]:  # noqa: FBT001
    wanted = {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": told.state.value,
        "message": told.message,
    }
    return _replaced(conditions, lambda each: each.get("type") == kind, wanted, now)


def _scheduling_conditions(conditions: Sequence[Json], told: Report, pool: str, now: str) -> list[Json]:
    def ours(each: Json) -> bool:
        return each.get("type") == _UNSCHEDULABLE_HERE and each.get("nodePool", DEFAULT_NODE_POOL) == pool

    if told.state is not State.UNSCHEDULABLE:
        return [each for each in conditions if not ours(each)]
    wanted = {
        "type": _UNSCHEDULABLE_HERE,
        "nodePool": pool,
        "status": "True",
        "reason": told.state.value,
        "message": told.message,
        "reasons": [{"reason": each.reason, "message": each.message} for each in told.reasons],
    }
    return _replaced(conditions, ours, wanted, now)


def _replaced(conditions: Sequence[Json], same: Callable[[Json], bool], wanted: Json, now: str) -> list[Json]:
    """The list with one condition as wanted; its time and number move where its status does."""
    old = next((each for each in conditions if same(each)), None)
    if old is None or old.get("status") != wanted["status"]:
        moved = {"lastTransitionTime": now, "transitionID": str(1 + max(map(_number, conditions), default=0))}
    else:
        moved = {key: old[key] for key in ("lastTransitionTime", "transitionID") if key in old}
    if old is None:
        return [*conditions, wanted | moved]
    return [wanted | moved if each is old else each for each in conditions]


def _number(condition: Json) -> int:
    number = str(condition.get("transitionID", ""))
    return int(number) if number.isascii() and number.isdigit() else 0
