"""Questions put to the search while a failure is explained: cheap ones, and not too many.

A question that would cost too much is left open, and nothing is claimed on its account.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from closeknit.engine.ledger import Ledger
from closeknit.engine.problem import Heed, Problem
from closeknit.engine.score import Spread
from closeknit.engine.search import Budget, Search
from closeknit.hub.request import Group, Request

_STEPS = 600
"""Steps of the search that one question may take."""
_STEPS_IN_ALL = 6_000
_IMPROVE = 32
"""Steps after a first placement, where the most pods are asked for."""


@dataclass(frozen=True, slots=True)
class Most:
    """As many pods of a problem as were found to go together."""

    problem: Problem
    spread: Spread

    def placed(self, leaf: int) -> int:
        """New pods of a pod set."""
        return int(self.spread[leaf][1].sum()) if leaf in self.spread else 0


class Trials:
    """Asks the search about variants of one request, on the ledger as it stands."""

    def __init__(
        self, request: Request, ledger: Ledger, compiler: Callable[[Request, Heed], Problem]
    ) -> None:
        self.request = request
        self.ledger = ledger
        self._compiler = compiler
        self._left = 0
        self._steps = _STEPS_IN_ALL

    def grant(self, questions: int) -> None:
        """Allow so many questions from here on; what was left of the last grant is lost."""
        self._left = questions

    @property
    def spent(self) -> bool:
        """Whether no more questions will be answered."""
        return self._left <= 0 or self._steps <= 0

    def compiled(self, root: Group, heed: Heed = Heed.CONSTRAINTS) -> Problem:
        """A variant with this root, numbered."""
        return self._compiler(replace(self.request, root=root), heed)

    def placeable(self, root: Group) -> bool | None:
        """Whether a variant can be placed; None where that was not found out."""
        if self.spent:
            return None
        return self._run(self.compiled(root), improve=0)[1]

    def most(self, root: Group, within: tuple[int, int] | None = None) -> Most | None:
        """Place as many pods of a variant as are found to go together; None where nothing was found.

        ``within`` is the level and domain that all of it has to stay in.
        """
        if self.spent:
            return None
        problem = self.compiled(root, Heed.WISHES)
        if within is not None and not problem.root.bound:
            # A group stays where its pods run, so a position to start from confines it to a domain.
            problem.root.required = within[0]
            problem.root.bound = [problem.tree.bounds(*within)[0]]
        spread, _ = self._run(problem, improve=_IMPROVE)
        return None if spread is None else Most(problem, spread)

    def _run(self, problem: Problem, improve: int) -> tuple[Spread | None, bool | None]:
        self._left -= 1
        budget = Budget(min(_STEPS, self._steps), improve)
        found = Search(problem, self.ledger.free, budget).run()
        self._steps -= found.steps
        if found.spread is not None:
            return found.spread, True
        return None, False if found.complete else None
