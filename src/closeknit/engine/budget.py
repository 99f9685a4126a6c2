"""How long a search may go on, in counted steps; never in seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Budget:
    """What a decision may cost."""

    find: int = 100_000
    """Steps until a first placement is found."""
    improve: int = 6_000
    """Work after that until it is proven best: a step weighs more the more nodes it looks at."""


class OutOfBudgetError(Exception):
    """The search was stopped before it could decide."""


class Pace:
    """Interrupts the searches of an engine at regular intervals of counted work.

    ``pause`` is called after every ``every`` units of work. It may let others run before it returns, as long
    as they do not change the cluster of the engine. It returns whether the decision has to end: then this
    search and all that follow it behave as if their budget were used up, until ``begin`` is called.
    Without ``pause`` nothing is interrupted.
    """

    __slots__ = ("_every", "_left", "_pause", "stopped")

    def __init__(self, pause: Callable[[], bool] | None = None, *, every: int = 256) -> None:
        self._pause = pause
        self._every = every
        self._left: float = inf if pause is None else every
        self.stopped = False
        """Whether the decision has to end."""

    def begin(self) -> None:
        """Begin another decision, which nothing has stopped yet."""
        self.stopped = False

    def spend(self, work: int) -> bool:
        """Count work, pause if it is time, and return whether the decision has to end."""
        self._left -= work
        if self._left < 0 and self._pause is not None:
            self._left = self._every
            # One that was stopped goes on only to unwind, so it is not asked again.
            self.stopped = self.stopped or self._pause()
        return self.stopped


UNPACED = Pace()
"""Interrupts nothing."""


class Steps:
    """Counters that stop a search when its budget is used up.

    Steps are the same for every cluster; work weighs them by how much each looks at.
    """

    def __init__(self, most_steps: int, pace: Pace = UNPACED) -> None:
        self.taken = 0
        self.work = 0
        self._most_steps = most_steps
        self._most_work: int | None = None
        self._pace = pace

    def take(self, work: int = 1) -> None:
        """Count one step of so much work; raises when the budget is used up."""
        self.taken += 1
        self.work += work
        if self._pace.spend(work) or self.used_up:
            raise OutOfBudgetError

    def add(self, others: Steps) -> None:
        """Count steps taken elsewhere; whoever takes the next one learns whether the budget is used up."""
        self.taken += others.taken
        self.work += others.work

    def count(self, steps: int) -> None:
        """The same for so many steps, each of the least work."""
        self.taken += steps
        self.work += steps
        self._pace.spend(steps)

    @property
    def used_up(self) -> bool:
        """Whether the search has to stop."""
        return self.left < 0

    @property
    def left(self) -> int:
        """How many steps of the least work the budget leaves; negative where it is used up."""
        if self._pace.stopped:
            return -1
        if self._most_work is not None:
            return self._most_work - self.work
        return self._most_steps - self.taken

    def allow(self, work: int) -> None:
        """From here on, only so much more work counts."""
        self._most_work = self.work + work
