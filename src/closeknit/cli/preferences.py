"""Why a preference of a placed workload does not hold: what happens when it is required instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from closeknit.hub.copying import replace
from closeknit.hub.outcome import Outcome, Placed, Shortfall, Undecided, Unplaceable
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import Group, Request
from closeknit.scheduler.planning import AnyVerdict

if TYPE_CHECKING:
    from closeknit.engine import Engine


class Why(Enum):
    """Why a preference does not hold; the values are for scripts."""

    LACKING = "lacking"
    """No domain of the level has room."""
    OUTWEIGHED = "outweighed"
    """It could hold, at the cost of a wish that goes before it."""
    UNKNOWN = "unknown"
    """The search budget ended before that was found out."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A preference that does not hold."""

    group: str
    preferred: str
    why: Why
    shortfalls: tuple[Shortfall, ...] = ()
    """What the level lacks. Without relaxations: what is only preferred needs none."""


def missed(engine: Engine, verdict: AnyVerdict) -> Iterator[Missed]:
    """Every preference that does not hold, on the cluster as the workload found it."""
    if not isinstance(verdict.outcome, Placed):
        return
    placed, request = verdict.outcome, verdict.workload.request
    for group in placed.groups:
        if group.satisfied or group.preferred is None:
            continue
        try:
            outcome = engine.solve(_requiring(request, group.name, group.preferred))
        except InvalidError:
            # A part of the group may require a coarser level, which cannot lie inside a finer one.
            continue
        found = () if isinstance(outcome, Placed) else outcome.shortfalls
        shortfalls = tuple(replace(each, relaxations=()) for each in found)
        yield Missed(group.name, group.preferred, _why(outcome, placed), shortfalls)


def _why(stricter: Outcome, placed: Placed) -> Why:
    match stricter:
        case Unplaceable():
            return Why.LACKING
        case Placed():
            return Why.OUTWEIGHED if placed.proven else Why.UNKNOWN
        case Undecided():
            return Why.UNKNOWN


def _requiring(request: Request, name: str, level: str) -> Request:
    def required(group: Group) -> Group:
        return replace(group, required=level) if group.name == name else group

    return replace(request, root=request.root.mapped(groups=required))
