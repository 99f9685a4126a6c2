"""Depth-first search over the request tree: which domain each group gets.

Every choice that matters is tried unless a bound shows that it cannot lead to a
better placement, or symmetry shows that an equal choice was tried before. So a
search that ends by itself has either found a best placement or shown that there
is none; one that runs out of steps says so.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from closeknit.engine import score
from closeknit.engine.budget import Budget, OutOfBudgetError, Steps
from closeknit.engine.choices import Choices, Place
from closeknit.engine.compiled_request import CompiledRequest, Goal, GroupVar, PodSetVar, formed
from closeknit.engine.component import Content, component, share
from closeknit.engine.count_bounds import batches
from closeknit.engine.domain_options import DomainOptions
from closeknit.engine.early_checks import EarlyChecks
from closeknit.engine.equal_pods import EqualPods, nest_of
from closeknit.engine.exact_layout import LOOKS_A_STEP
from closeknit.engine.floor import Floor
from closeknit.engine.greedy_passes import GreedyPasses
from closeknit.engine.incumbent import Incumbent
from closeknit.engine.layout import Layouts
from closeknit.engine.memberships import memberships
from closeknit.engine.open_groups import OpenGroups, Waiting, pick, waiting, without_tried
from closeknit.engine.rule_bounds import RuleBounds
from closeknit.engine.rules import ALL, Rules
from closeknit.engine.score import Spread
from closeknit.engine.tree import Ints
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Wishes

_FIRST_TRY = 800
"""Steps after which it is time to ask whether there is any placement at all."""
_PASSED = 1 << 20
"""Pods times nodes up to which greedy passes take no longer than the search itself."""
_COUNTED = 16_384
"""Nodes up to which what was found for equal pods without slices is compared with what counting finds."""
_EVERYTHING = 12_000
"""Steps to find a placement of all pods, where none is known or one that leaves some out."""


@dataclass(slots=True)
class Found:
    """What a search came to."""

    spread: Spread | None
    """The best placement found, None where there is none."""
    wishes: Wishes | None
    complete: bool
    """Whether the search ended by itself."""
    steps: int
    candidates: int


def find(
    compiled: CompiledRequest,
    variant: Callable[[Goal], CompiledRequest],
    free: Ints,
    budget: Budget,
    *,
    rules: Rules = ALL,
) -> Found:
    """Search for the best placement; where none turns up soon, find out first whether there is any.

    ``variant`` compiles the same for another goal. Without the branches that wishes make,
    a request that cannot be placed is found out much sooner.
    """
    soon = _FIRST_TRY + 4 * len(compiled.groups) if rules.constraints_first else budget.find
    first = Search(compiled, free, Budget(min(budget.find, soon), budget.improve), rules).run()
    if first.complete or not rules.constraints_first or not (first.wishes is None or first.wishes.left_out):
        return first
    # Where there is room for all pods, a search for just that finds it sooner, and no more can be placed.
    everything = Budget(min(budget.find, _EVERYTHING))
    runs = [first, Search(variant(Goal.EVERYTHING), free, everything, rules).run()]
    known = runs[-1].spread or first.spread
    if known is None:
        fewer_do = compiled.neighbours is None or compiled.neighbours.kept_by_fewer
        least = variant(Goal.CONSTRAINTS if fewer_do else Goal.ANY_PODS)
        runs.append(Search(least, free, budget, rules).run())
        known = runs[-1].spread
    if known is not None:
        runs.append(Search(compiled, free, budget, rules).run(known))
    steps, examined = sum(run.steps for run in runs), sum(run.candidates for run in runs)
    return replace(runs[-1], steps=steps, candidates=examined)


class Search:
    """One search over one compiled request. The ledger must not change meanwhile."""

    def __init__(self, compiled: CompiledRequest, free: Ints, budget: Budget, rules: Rules = ALL) -> None:
        self._compiled = compiled
        self._tree = tree = compiled.tree
        self._budget = budget
        self._rules = rules
        self._steps = steps = Steps(budget.find, compiled.pace)
        self._layouts = Layouts(compiled, free)
        self._made = made = Choices(compiled, free, count_mixes=rules.mixed_bound)
        self._batches = batches(compiled.root) if rules.whole_groups else []
        floor = Floor(compiled, made.mixed, self._batches)
        self._incumbent = Incumbent(made, floor, steps, budget, rules)
        self._options = DomainOptions(made, self._incumbent, floor, rules)
        bounds = RuleBounds(compiled, compiled.neighbours) if compiled.neighbours is not None else None
        self._checks = EarlyChecks(made, self._incumbent, self._layouts, steps, rules, bounds)
        self._failures = Counter[str]()
        """By twin, how often nothing came of giving such a group a domain."""
        self._sure = True
        """Whether nothing was passed over without proof."""
        self._nest = nest_of(compiled) if compiled.neighbours is None else None
        if self._nest is not None and not self._nest.layers and len(tree) > _COUNTED:
            self._nest = None
        """The request as layers of equal slices, until they were counted."""
        self._passes = self._may_pass(free, floor)
        """Greedy passes, until they were made."""
        self._within = (-1, 0)
        self._step_weight = 1 + len(tree) // 16
        """What a step weighs: whole levels are compared in each."""

    def run(self, known: Spread | None = None, *, within: tuple[int, int] = (-1, 0)) -> Found:
        """Search until done or out of budget, for something better than a placement already known.

        ``within`` is the level and domain that all pods have to stay in.
        """
        complete = True
        self._within = within
        try:
            if self._nest is not None and self._nest.layers:
                self._steps.take()
                self._count_slices()
            if known is not None:
                self._keep(known)
                # To improve on what someone else found, a search first has to get down to the end once.
                self._steps.allow(
                    self._budget.improve + 2 * (self._step_weight + 4) * len(self._compiled.groups)
                )
            if not self._impossible():
                with _deep_enough(len(self._compiled.groups)):
                    self._made.confine(*within)
                    self._explore(waiting([self._compiled.root], *within, ()))
                    if self._incumbent.fields is None and not self._sure:
                        # Layouts were given up for other domains, which will not do either: insist on them.
                        self._sure = True
                        self._layouts.insist()
                        self._explore(waiting([self._compiled.root], *within, ()))
        except OutOfBudgetError:
            complete = False
        except _NothingBetterError:
            complete = self._sure = True
        if self._incumbent.fields is not None and not (complete and self._sure):
            try:
                self._look_elsewhere()
            except _NothingBetterError:
                complete = self._sure = True
        best = self._incumbent
        return Found(
            best.spread, best.wishes, complete and self._sure, self._steps.taken, self._options.examined
        )

    def _impossible(self) -> bool:
        """Whether running pods break a requirement, or the cluster takes too few whole groups."""
        compiled = self._compiled
        return any(score.broken_by_running(self._tree, group) for group in compiled.groups) or any(
            int(batch.takes(compiled, -1)[0]) < batch.count for batch in self._batches
        )

    # ---- going down the request tree ----

    def _explore(self, open_groups: OpenGroups) -> None:
        if not open_groups:
            self._finish()
            return
        task, rest = pick(open_groups, self._urgency)
        tried: dict[int, set[int]] = {}
        found_before = self._incumbent.fields
        for place in self._options.of(task, rest):
            self._steps.take(self._step_weight)
            colors = self._made.make(task.group, place, task.colors)
            sums_fit = not self._rules.resource_sums or self._made.fits_by_sum(place)
            if sums_fit and self._incumbent.hopeful():
                others = without_tried(task, rest, tried) if self._rules.twins else rest
                self._open(task.group, place, colors, others)
            self._made.unmake(task.group, place)
            tried.setdefault(place.level, set()).add(place.domain)
        if formed(task.group) and not task.group.bound:
            # A group that needs no pod needs no domain either, and there may be none for it.
            self._made.skip(task.group, 1)
            if self._incumbent.hopeful():
                self._explore(rest)
            self._made.skip(task.group, -1)
        if self._rules.failures_first and self._incumbent.fields is found_before:
            # Whoever failed goes earlier next time: most dead ends come from one demanding group.
            self._failures[task.group.twin] += 1

    def _urgency(self, task: Waiting) -> tuple[bool, int, int, int, str]:
        """Groups without a choice first, then those that failed, then the largest."""
        group = task.group
        chooses = max(group.required, group.preferred) > task.level
        return (chooses, -self._failures[group.twin], -group.size, -sum(group.open), group.name)

    def _open(self, group: GroupVar, place: Place, colors: tuple[int, ...], rest: OpenGroups) -> None:
        """Hand the decided domain to the members, for each way to choose which of them to form."""
        made = self._made
        for members, left_out in memberships(group, self._compiled.goal, self._checks.capacity(group, place)):
            if self._incumbent.leaves_out_fewer(left_out):
                # Whatever follows leaves out at least as many.
                return
            self._steps.take()
            if self._incumbent.is_best():
                raise _NothingBetterError
            if self._incumbent.lasts():
                self._look_elsewhere()
            if members is None:
                continue
            made.form(group, members, left_out, place, 1)
            whole = len(members) == len(group.members) or self._checks.room_for(group, members, place)
            if whole and self._checks.possible(place) and self._incumbent.hopeful():
                before = len(made.contents)
                made.contents.add(
                    Content(place.level, place.domain, part, colors)
                    for part in members
                    if isinstance(part, PodSetVar) and part.open
                )
                inner = (part for part in members if isinstance(part, GroupVar))
                further = [*rest, *waiting(inner, place.level, place.domain, colors)]
                laid_out = len(made.contents) == before or self._checks.lays_out(place)
                if laid_out and self._checks.keeps_rules(further):
                    self._explore(further)
                made.contents.cut(before)
            made.form(group, members, left_out, place, -1)

    # ---- the end of a branch ----

    def _finish(self) -> None:
        """All groups have their domains: lay out the pods."""
        spread: Spread = {}
        exact = True
        contents = self._made.contents
        together = self._compiled.neighbours is not None
        lay_out = self._layouts.lay_out_by_rules if together else self._layouts.lay_out
        for level, domain, inside in contents.outermost() if not together else contents.whole():
            start, end = self._tree.bounds(level, domain)
            self._steps.work += (end - start) // 4
            pods = component(self._compiled, (level, domain), inside, self._made.colors)
            try:
                layout = lay_out(pods, self._steps)
            except OutOfBudgetError:
                if self._steps.used_up:
                    raise
                self._sure = False
                return
            if layout is None:
                return
            exact &= layout.exact
            share(inside, layout.takes, spread)
        self._sure &= exact
        self._keep(spread)

    def _keep(self, spread: Spread) -> None:
        if self._incumbent.keep(spread):
            raise _NothingBetterError

    def _look_elsewhere(self) -> None:
        """Where a search drags on, look once for better placements in ways that need no search."""
        if self._nest is not None:
            self._count_slices()
        if self._passes is not None:
            self._make_passes()

    def _may_pass(self, free: Ints, floor: Floor) -> GreedyPasses | None:
        compiled = self._compiled
        few = sum(compiled.root.open) * len(self._tree) <= _PASSED
        plain = few and compiled.neighbours is None and not compiled.root.bound
        return GreedyPasses(compiled, free, floor) if plain and compiled.goal is Goal.WISHES else None

    def _make_passes(self) -> None:
        """Keep what greedy passes find better, for at most a part of the budget."""
        assert self._passes is not None
        passes, self._passes = self._passes, None
        try:
            for spread in passes.spreads(self._within, self._budget.improve // 4, self._incumbent.beaten_in):
                self._keep(spread)
        finally:
            self._steps.count(passes.work)

    def _count_slices(self) -> None:
        """Place equal pods by counting from below, which settles it unless it takes too long."""
        assert self._nest is not None
        equal = EqualPods(self._compiled, self._nest, self._within)
        self._nest = None
        placement = equal.placement(self._budget.improve)
        self._steps.count(equal.work // LOOKS_A_STEP)
        if placement is not None:
            self._incumbent.keep(placement[0])
        if placement is None or placement[1]:
            raise _NothingBetterError


@contextmanager
def _deep_enough(groups: int) -> Iterator[None]:
    """Let recursion go as deep as the groups of a request need: each is explored inside the one before."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(usual + 4 * groups)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


class _NothingBetterError(Exception):
    """No placement can be better than the one found."""
