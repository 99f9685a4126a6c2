"""Outcomes as JSON, in the form that scripts rely on.

Keys are only ever added. Every key of an outcome is always there, and lists
come in the order of the outcome itself, which is stable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from closeknit.dialects import group_of
from closeknit.hub.neighbours import Apart, Near, Spread
from closeknit.hub.outcome import (
    Assignment,
    Change,
    CountChange,
    Departure,
    GroupReach,
    LevelChange,
    Placed,
    Relaxation,
    RuleReach,
    Shortfall,
    Undecided,
    Unplaceable,
    Wishes,
)
from closeknit.hub.problems import Problem
from closeknit.hub.request import Request
from closeknit.hub.shortfall import (
    BehindStrictFifo,
    NoDomain,
    PodTooLarge,
    QuotaExceeded,
    QuotaScope,
    ShortfallReason,
)
from closeknit.hub.topology import Topology
from closeknit.scheduler.deciding import AnyVerdict, Failed
from closeknit.scheduler.wording import known_as, rule_reaches

Json: TypeAlias = dict[str, Any]


def text(value: object) -> str:
    """Indented JSON, with names in their own script."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def outcomes(verdicts: Iterable[AnyVerdict]) -> Json:
    """What became of the workloads, in the order in which they were decided."""
    return {"outcomes": [outcome(verdict) for verdict in verdicts]}


def outcome(verdict: AnyVerdict) -> Json:
    """What became of one workload."""
    name = verdict.workload.object
    entry: Json = {
        "workload": plain(name),
        "dialect": verdict.workload.dialect,
        "status": verdict.status.value,
        "pods": [],
        "groups": [],
        "shortfalls": [],
        "problems": [problem(each) for each in verdict.problems],
    }
    if verdict.notes:
        entry["notes"] = [problem(each) for each in verdict.notes]
    match verdict.outcome:
        case Placed() as decided:
            entry["pods"] = [_pod(each) for each in decided.assignments]
            entry["groups"] = groups(decided)
            entry["proven"] = decided.proven
            entry["wishes"] = _wishes(decided.wishes, verdict.topology)
            if decided.rules:
                entry["wishes"]["rules"] = decided.wishes.rules
                entry["preferredRules"] = [_rule(each) for each in rule_reaches(decided)]
        case (Unplaceable() | Undecided()) as decided:
            entry["shortfalls"] = [shortfall(each, verdict.workload.request) for each in decided.shortfalls]
        case Failed() | None:
            pass
    return entry


def plain(value: object) -> Any:
    """A value as JSON: its fields under their names in camel case, its items, or the value of an enum."""
    if isinstance(value, Enum):
        return value.value
    if names := _fields(value):
        return {_camel(name): plain(getattr(value, name)) for name in names}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def _fields(value: object) -> Sequence[str]:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    return [each.name for each in fields(value)] if is_dataclass(value) else ()


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def groups(placed: Placed) -> list[Json]:
    """How close the groups of a placement came."""
    root = placed.groups[0].name if placed.groups else None
    return [_group(group, root) for group in placed.groups]


def problem(found: Problem) -> Json:
    """One thing that is wrong, and where."""
    return {"path": found.where, "code": found.code.name, "message": found.message}


def _pod(assignment: Assignment) -> Json:
    return {
        "name": assignment.pod,
        "podSet": group_of(assignment.pod_set),
        "node": assignment.node,
        "domain": list(assignment.domain),
    }


def _group(group: GroupReach, root: str | None) -> Json:
    # A group directly under the workload has no parent that its user wrote.
    entry: Json = {**plain(group), "parent": None if group.parent == root else group.parent}
    del entry["pods"]
    if not group.violated:
        # Only pods that run already can break a requirement, so no plan has this key.
        del entry["violated"]
    return entry


def _rule(reached: RuleReach) -> Json:
    rule = reached.rule
    return {
        "podSet": reached.pod_set,
        "rule": {Near: "affinity", Apart: "antiAffinity", Spread: "spread"}[type(rule)],
        "key": rule.keys[0] if isinstance(rule, Near) else rule.key,
        "pods": reached.pods,
        "kept": reached.kept,
    }


def _wishes(wishes: Wishes, topology: Topology | None) -> Json:
    levels: Sequence[str] = topology.labels if topology is not None else ()
    return {
        "leftOut": wishes.left_out,
        "preferences": [
            {"level": level, "distance": distance}
            for level, distance in zip(levels, wishes.preferences, strict=False)
        ],
        "domains": [
            {"level": level, "used": used} for level, used in zip(levels, wishes.used[:-1], strict=False)
        ],
        "nodes": wishes.used[-1] if wishes.used else 0,
    }


def shortfall(short: Shortfall, request: Request | None) -> Json:
    """Why one group cannot be placed."""
    return {
        "group": short.group,
        "level": _level(short.reason),
        "wanted": short.wanted,
        "fits": short.fits,
        "best": plain(short.best),
        "excluded": plain(short.excluded),
        "relaxations": [_relaxation(relaxed, request) for relaxed in short.relaxations],
    }


def _level(reason: ShortfallReason) -> str | None:
    """The level that pods must share, or what they lack instead of one; scripts rely on these strings."""
    match reason:
        case NoDomain(level=level) | PodTooLarge(level=level):
            return level
        case QuotaExceeded(scope=scope):
            return {QuotaScope.FLAVOR: "flavor's quota", QuotaScope.QUEUE: "queue's quota"}[scope]
        case BehindStrictFifo():
            return "queue's order"


def _relaxation(relaxed: Relaxation, request: Request | None) -> Json:
    changes = [_change(change, request) for change in relaxed.changes]
    return changes[0] if len(changes) == 1 else {"change": "all", "changes": changes}


def _change(change: Change, request: Request | None) -> Json:
    match change:
        case LevelChange(group=group, to=level):
            return {"change": "level", "group": group, "to": level}
        case CountChange(pod_set=pod_set, to=number):
            return {"change": "count", "podSet": known_as(pod_set, request), "to": number}
        case Departure(workloads=workloads):
            return {"change": "departure", "workloads": list(workloads)}
