"""Requests that were found unplaceable, for as long as nothing changes: whoever asks for the same gets the
same answer, under its own name. So a thousand equal gangs that find no room cost one explanation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from closeknit.hub.copying import replace
from closeknit.hub.outcome import LevelChange, Outcome, Placed, Relaxation, Shortfall, Undecided, Unplaceable
from closeknit.hub.request import Request
from closeknit.scheduler.needs import likeness

if TYPE_CHECKING:
    from closeknit.engine import Engine


class KnownFailures:
    """What an engine has failed to place since it last changed."""

    def __init__(self, had_to_end: Callable[[], bool] = lambda: False) -> None:
        """``had_to_end``: whether the last search was ended early, so that its result says nothing."""
        self._had_to_end = had_to_end
        self._engine: Engine | None = None
        self._version = -1
        self._found: dict[object, tuple[Request, Unplaceable | Undecided]] = {}
        self.reused = 0
        """How many answers were given without a search."""

    def solve(self, engine: Engine, request: Request, *, explained: bool = True) -> Outcome:
        """What ``engine.solve`` answers, or ``engine.decide`` where nobody asks why."""
        if engine is not self._engine or engine.version != self._version:
            self._found.clear()
        if (
            self._found
            and (known := self._found.get(_mark(request, engine)))
            and not engine.holds(request.name)
        ):
            self.reused += 1
            return _renamed(*known, request)
        outcome = engine.solve(request) if explained else engine.decide(request)
        # Explaining tries things out and takes them back, which counts as changes of the engine.
        self._engine, self._version = engine, engine.version
        if isinstance(outcome, Placed) or self._had_to_end():
            return outcome
        if not engine.holds(request.name):
            self._found[_mark(request, engine)] = request, outcome
        return outcome


def _mark(request: Request, engine: Engine) -> object:
    """Equal for requests that differ in nothing but the names of their pods and of the request itself."""
    names = tuple(member.name for member, parent in request.root.walk() if parent is not None)
    alike = likeness(request.root, by_labels=engine.keeps_away)
    return request.topology, request.root.name == request.name, alike, names


def _renamed(request: Request, outcome: Unplaceable | Undecided, new: Request) -> Unplaceable | Undecided:
    """The outcome of another request that is like the one that failed."""
    old, name = request.root.name, new.root.name

    def relaxation(each: Relaxation) -> Relaxation:
        changes = tuple(
            replace(change, group=name) if isinstance(change, LevelChange) and change.group == old else change
            for change in each.changes
        )
        return Relaxation(changes)

    def shortfall(each: Shortfall) -> Shortfall:
        relaxations = tuple(map(relaxation, each.relaxations))
        return replace(each, group=name if each.group == old else each.group, relaxations=relaxations)

    return replace(outcome, request=new.name, shortfalls=tuple(map(shortfall, outcome.shortfalls)))
