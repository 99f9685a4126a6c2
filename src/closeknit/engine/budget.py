"""How long a search may go on, in counted steps; never in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """What a decision may cost."""

    find: int = 100_000
    """Steps until a first placement is found."""
    improve: int = 6_000
    """Work after that until it is proven best: a step weighs more the more nodes it looks at."""


class OutOfBudgetError(Exception):
    """The search was stopped before it could decide."""


class Steps:
    """Counters that stop a search when its budget is used up.

    Steps are the same for every cluster; work weighs them by how much each looks at.
    """

    def __init__(self, most_steps: int) -> None:
        self.taken = 0
        self.work = 0
        self._most_steps = most_steps
        self._most_work: int | None = None

    def take(self, work: int = 1) -> None:
        """Count one step of so much work; raises when the budget is used up."""
        self.taken += 1
        self.work += work
        if self.used_up:
            raise OutOfBudgetError

    def add(self, others: Steps) -> None:
        """Count steps taken elsewhere; whoever takes the next one learns whether the budget is used up."""
        self.taken += others.taken
        self.work += others.work

    def count(self, steps: int) -> None:
        """The same for so many steps, each of the least work."""
        self.taken += steps
        self.work += steps

    @property
    def used_up(self) -> bool:
        """Whether the search has to stop."""
        return self.left < 0

    @property
    def left(self) -> int:
        """How many steps of the least work the budget leaves; negative where it is used up."""
        if self._most_work is not None:
            return self._most_work - self.work
        return self._most_steps - self.taken

    def allow(self, work: int) -> None:
        """From here on, only so much more work counts."""
        self._most_work = self.work + work
