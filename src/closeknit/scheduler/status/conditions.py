"""Reports as conditions: of PodGroups as KAI and Kubernetes have them, and of a pod that waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from closeknit.apis.kai_keys import NODE_POOL
from closeknit.scheduler.status.reports import Json, Report, State, bounded

DEFAULT_NODE_POOL = "default"
"""The pool that KAI's condition names for a PodGroup without the label of a node pool."""

_UNSCHEDULABLE_HERE = "UnschedulableOnNodePool"


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
    here_before = list(status.get("schedulingConditions") or ())
    here = _scheduling_conditions(here_before, told, pool, now)
    lists = {"conditions": (before, after), "schedulingConditions": (here_before, here)}
    return {name: new for name, (old, new) in lists.items() if new != old} or None


def gang_status(told: Report, group: Mapping[str, Any], now: str) -> Json | None:
    """The conditions of a PodGroup of Kubernetes' own, where they should be others; None for none."""
    before = list((group.get("status") or {}).get("conditions") or ())
    after = [
        {key: value for key, value in each.items() if key != "transitionID"}
        for each in _with(before, "PodGroupScheduled", told.state is State.SCHEDULED, told, now)
    ]
    return {"conditions": after} if after != before else None


STATUSES: Mapping[tuple[str, str], Callable[[Report, Mapping[str, Any], str], Json | None]] = {
    ("scheduling.run.ai", "PodGroup"): pod_group_status,
    ("scheduling.k8s.io", "PodGroup"): gang_status,
}
"""By group and kind, what is reported in the status of a unit, given its object."""


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
