"""Questions put to the search while a failure is explained: cheap ones, and not too many.

A question that would cost too much is left open, and nothing is claimed on its account.
"""

from __future__ import annotations

from collections.abc import Callable

from closeknit.engine.budget import Budget
from closeknit.engine.compiled_request import CompiledRequest, Goal
from closeknit.engine.explanation.fill import Fill
from closeknit.engine.ledger import Ledger
from closeknit.engine.score import Spread, new_pods
from closeknit.engine.search import Found, Search
from closeknit.hub.copying import replace
from closeknit.hub.request import Group, Request

_STEPS, _STEPS_A_GRANT = 600, 1_500
"""Steps of the search that one question may take, and all questions of one grant."""
_LARGE, _FEWER = 2048, 4
"""On more nodes than this a step costs more, so there are fewer of them by this factor."""
_IMPROVE = 32
"""Steps after a first placement, where the most pods are asked for."""

_SMALL = 64
"""Nodes among which a search for the most pods is worth a try."""


class Trials:
    """Asks the search about variants of one request, on the ledger as it stands."""

    def __init__(
        self, request: Request, ledger: Ledger, compiler: Callable[[Request, Goal], CompiledRequest]
    ) -> None:
        self.request = request
        self.ledger = ledger
        self._compiler = compiler
        self._left = 0
        self._known: dict[tuple[int, Group], bool | None] = {}
        scale = _FEWER if len(ledger.nodes) > _LARGE else 1
        self._steps, self._steps_each, self._steps_granted = 0, _STEPS // scale, _STEPS_A_GRANT // scale

    def grant(self, questions: int) -> None:
        """Allow so many questions from here on; what was left of the last grant is lost."""
        self._left, self._steps = questions, self._steps_granted

    @property
    def spent(self) -> bool:
        """Whether no more questions will be answered."""
        return self._left <= 0 or self._steps <= 0

    def compiled(self, root: Group, goal: Goal = Goal.CONSTRAINTS) -> CompiledRequest:
        """A variant with this root, numbered."""
        return self._compiler(replace(self.request, root=root), goal)

    def placeable(self, root: Group) -> bool | None:
        """Whether a variant can be placed; None where that was not found out."""
        key = (self.ledger.version, root)
        if key not in self._known:
            if self.spent:
                return None
            compiled = self.compiled(root)
            if compiled.neighbours is not None and not compiled.neighbours.kept_by_fewer:
                compiled = self.compiled(root, Goal.ANY_PODS)
            found = self._run(compiled, improve=0)
            self._known[key] = found.spread is not None or (False if found.complete else None)
        return self._known[key]

    def fills(self, root: Group) -> bool:
        """Whether a variant is placed by filling; False says nothing. Costs no question."""
        compiled = self.compiled(root)
        if compiled.neighbours is not None:
            return False
        spread = Fill(compiled, self.ledger.free).spread
        return all(new_pods(spread, pod_set) >= pod_set.need for pod_set in compiled.pod_sets)

    def most(self, compiled: CompiledRequest, within: tuple[int, int] = (-1, 0)) -> list[Spread]:
        """Ways to place many pods of a variant together, the most first; the first one costs no question.

        ``within`` is the level and domain that all of it has to stay in. Minimums of pod
        sets and groups are kept by what the search finds, and not heeded by the rest.
        """
        if compiled.neighbours is not None:
            # Filling knows nothing of rules among pods.
            return [self.most_by_rules(compiled, within)[0]]
        found = [Fill(compiled, self.ledger.free, within).spread]
        start, end = compiled.tree.bounds(*within)
        nested = any(group.required > within[0] for group in compiled.groups)
        several = sum(pod_set.open > 0 for pod_set in compiled.pod_sets) > 1
        # Where groups compete for domains and none of them must have one, a search finds nothing better soon.
        worthwhile = end - start <= _SMALL if nested else several
        if worthwhile and not self.spent:
            spread = self._run(compiled, improve=_IMPROVE, within=within).spread
            if spread is not None:
                found.append(spread)
        return sorted(found, key=lambda spread: -new_pods(spread, *compiled.pod_sets))

    def most_by_rules(self, compiled: CompiledRequest, within: tuple[int, int]) -> tuple[Spread, bool]:
        """A way to place many pods that rules bind, and whether it is known that no more can be placed."""
        if self.spent:
            return {}, False
        found = self._run(compiled, improve=_IMPROVE, within=within)
        return found.spread or {}, found.complete

    def _run(self, compiled: CompiledRequest, improve: int, within: tuple[int, int] = (-1, 0)) -> Found:
        self._left -= 1
        budget = Budget(min(self._steps_each, self._steps), improve)
        found = Search(compiled, self.ledger.free, budget).run(within=within)
        self._steps -= found.steps
        return found
