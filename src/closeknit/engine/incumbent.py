"""The best placement that a search has found so far, and what it rules out.

A branch is given up where a bound on what it costs reaches that placement. Bounds
come in two strengths: what the choices made so far cost, kept as they are made, and
what any placement costs, counted once over the whole cluster when a search drags on.
"""

from __future__ import annotations

from collections.abc import Sequence

from closeknit.engine import criteria, score
from closeknit.engine.budget import Budget, Steps
from closeknit.engine.candidates import Candidates
from closeknit.engine.choices import Choices
from closeknit.engine.compiled_request import Goal, GroupVar
from closeknit.engine.floor import Floor
from closeknit.engine.rules import Rules
from closeknit.engine.score import Spread
from closeknit.hub.outcome import Wishes

_SMALL = 2048
"""Nodes up to which counting over all of them costs less than a step of the search."""
_FEW = 8
"""Steps of a search that is over as soon as it has begun: one group, one domain."""
_PATIENCE = 24
"""Work after which a bound over the whole cluster is worth its cost."""


class Incumbent:
    """The best placement known to one search, which starts with none."""

    def __init__(self, made: Choices, floor: Floor, steps: Steps, budget: Budget, rules: Rules) -> None:
        self._compiled = made.compiled
        self._made = made
        self._floor = floor
        self._steps = steps
        self._budget = budget
        self._rules = rules
        self._found_at = 0
        self._bound: list[int] | None = None
        """What the floor says of placements better than the best known, once it was asked."""
        self.fields: list[int] | None = None
        """What it costs by criteria 1 to 4: a placement is better if its fields come first in order."""
        self.spread: Spread | None = None
        self.wishes: Wishes | None = None

    def keep(self, spread: Spread) -> bool:
        """Remember a placement if it is the best so far; returns whether no other can be better."""
        wishes = score.wishes(self._compiled, spread)
        fields = criteria.fields(wishes)
        if self.fields is None or (self.fields[0] and not wishes.left_out):
            # Where pods are left out, it is better to look for a placement of all of them soon.
            self._steps.allow(self._budget.improve // (4 if wishes.left_out else 1))
            self._found_at = self._steps.work
        if self.fields is None or fields < self.fields:
            self._bound = None
        if self.wishes is None or criteria.ranking(wishes) < criteria.ranking(self.wishes):
            self.fields, self.spread, self.wishes = fields, spread, wishes
        return self.is_best()

    def is_best(self) -> bool:
        """Whether no placement can be better than the one that is known, as far as it is worth asking."""
        if self.fields is None:
            return False
        if self._compiled.goal is not Goal.WISHES:
            return True
        return self.lasts() and self.fields <= self._lower()

    def lasts(self) -> bool:
        """Whether a placement is known and proving it best takes longer than a search of a few steps.

        Such a search ends by itself sooner than a bound over the whole cluster is found.
        """
        return self.fields is not None and self._steps.taken > _FEW

    def hopeful(self, group: GroupVar | None = None, distance: int = 0) -> bool:
        """Whether the choices so far, and a distance to be added, can still lead to something better."""
        if self.fields is None:
            return True
        fields = self._cost(group, distance)
        # The first comparison is cheap, and mostly enough.
        return (
            fields < self.fields
            and [max(a, b) for a, b in zip(fields, self._lower(), strict=True)] < self.fields
        )

    def beaten_in(self, domains: Sequence[int]) -> bool:
        """Whether a placement of all pods in at least so many domains, by level, may be better."""
        if self.fields is None:
            return True
        counted = domains[: self._compiled.named + 1]
        return [*[0] * (len(self.fields) - len(counted)), *counted] < self.fields

    def _cost(self, group: GroupVar | None, distance: int) -> list[int]:
        """What the choices so far and a group's distance from its preference cost at least."""
        fields = self._made.cost(closely=self.drags_on())
        if group is not None and distance:
            fields[1 + group.preferred] += distance
        return fields

    def leaves_out_fewer(self, more: int) -> bool:
        """Whether it leaves out fewer pods than the choices so far and so many more."""
        return self.fields is not None and self.fields[0] < self._made.left_out + more

    def drop_hopeless(self, candidates: Candidates, group: GroupVar, distance: int) -> None:
        """Take candidates out whose bounds reach the best placement known."""
        if self.fields is None or not self._rules.hopeless_domains:
            return
        so_far = self._cost(group, distance)
        # Pods that a candidate leaves out may be among those that the cluster lacks room for.
        lower = [so_far[0], *[0] * (len(so_far) - 1)]
        so_far[0] = self._made.left_out
        candidates.drop_hopeless(self.fields, so_far, lower)
        if len(candidates):
            # The bound over the whole cluster costs more, so it is asked for what is left.
            lower = [max(a, b) for a, b in zip(lower, self._lower(), strict=True)]
            candidates.drop_hopeless(self.fields, so_far, lower)

    def drags_on(self) -> bool:
        """Whether bounds that count over the whole cluster are worth their cost by now."""
        return len(self._compiled.tree) <= _SMALL or self._steps.work - self._found_at > _PATIENCE

    def _lower(self) -> list[int]:
        """What any placement better than the best known costs at least, field by field."""
        if self._bound is None:
            if self.fields is None or not self._rules.floor or not self.drags_on():
                # Pods that must be placed use a domain of each level.
                used = [int(self._compiled.root.size > 0)] * (self._compiled.named + 1)
                return [*[0] * (self._compiled.tree.depth + 2), *used]
            self._bound = self._floor.fields(self.fields)
        return self._bound
