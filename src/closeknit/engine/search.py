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

import numpy as np

from closeknit.engine import floor, score
from closeknit.engine.agenda import Agenda, Waiting, needed_beside, pick, waiting, without_tried
from closeknit.engine.batches import batches
from closeknit.engine.budget import Budget, OutOfBudgetError, Steps
from closeknit.engine.candidates import Candidates
from closeknit.engine.choices import Choices, Place
from closeknit.engine.component import component, share
from closeknit.engine.contents import Content
from closeknit.engine.incumbent import Incumbent
from closeknit.engine.layout import Layout, Layouts
from closeknit.engine.likeness import Likeness
from closeknit.engine.memberships import Room, has_choice, memberships
from closeknit.engine.pool import Pool
from closeknit.engine.problem import Knot, Leaf, Part, Problem, formed
from closeknit.engine.score import Spread
from closeknit.engine.tree import Ints
from closeknit.hub.outcome import Wishes

_FIRST_TRY = 800
"""Steps after which it is time to ask whether there is any placement at all."""
_CHECKED = 64
"""Nodes up to which a domain is laid out as soon as pods are confined to it, and not only at the end."""


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


def find(problem: Problem, bare: Callable[[], Problem], free: Ints, budget: Budget) -> Found:
    """Search for the best placement; where none turns up soon, find out first whether there is any.

    ``bare`` makes the same problem without its wishes. Without the branches that wishes make,
    a request that cannot be placed is found out much sooner.
    """
    soon = _FIRST_TRY + 4 * len(problem.knots)
    first = Search(problem, free, Budget(min(budget.find, soon), budget.improve)).run()
    if first.spread is not None or first.complete:
        return first
    some = Search(bare(), free, budget).run()
    steps, examined = first.steps + some.steps, first.candidates + some.candidates
    if some.spread is None:
        return Found(None, None, some.complete, steps, examined)
    best = Search(problem, free, budget).run(some.spread)
    return Found(best.spread, best.wishes, best.complete, steps + best.steps, examined + best.candidates)


class Search:
    """One search over one problem. The ledger must not change meanwhile."""

    def __init__(self, problem: Problem, free: Ints, budget: Budget) -> None:
        self._problem = problem
        self._tree = tree = problem.tree
        self._budget = budget
        self._steps = Steps(budget.find)
        self._layouts = Layouts(problem, free)
        self._made = Choices(problem, free)
        self._likeness = Likeness(problem, free, self._made)
        self._pool = Pool(problem, free)
        self._incumbent = Incumbent(problem, self._made, self._pool, self._steps, budget)
        self._failures = Counter[str]()
        """By twin, how often nothing came of giving such a group a domain."""
        self._sure = True
        """Whether nothing was passed over without proof."""
        self._examined = 0
        self._heft = 1 + len(tree) // 16
        """What a step weighs: whole levels are compared in each."""
        choosing = sum(max(knot.required, knot.preferred) >= 0 for knot in problem.knots)
        self._guide = floor.guide(problem, self._pool) if choosing > 1 else None
        """Where several groups choose, a domain that could take them all in the fewest pieces."""

    def run(self, known: Spread | None = None, *, within: tuple[int, int] = (-1, 0)) -> Found:
        """Search until done or out of budget, for something better than a placement already known.

        ``within`` is the level and domain that all pods have to stay in.
        """
        complete = True
        try:
            if known is not None:
                self._keep(known)
                # To improve on what someone else found, a search first has to get down to the end once.
                self._steps.allow(self._budget.improve + 2 * (self._heft + 4) * len(self._problem.knots))
            if not self._pinned_apart() and not self._too_many():
                with _deep_enough(len(self._problem.knots)):
                    self._made.confine(*within)
                    self._explore(waiting([self._problem.root], *within, ()))
        except OutOfBudgetError:
            complete = False
        except _NothingBetterError:
            complete = self._sure = True
        best = self._incumbent
        return Found(best.spread, best.wishes, complete and self._sure, self._steps.taken, self._examined)

    def _pinned_apart(self) -> bool:
        """Whether running pods already break a requirement."""
        return any(
            knot.required >= 0
            and knot.bound
            and score.shared_level(self._tree, np.array(knot.bound, dtype=np.int64)) < knot.required
            for knot in self._problem.knots
        )

    def _too_many(self) -> bool:
        """Whether the whole cluster takes fewer whole groups than must be formed."""
        root = self._problem.root
        return any(int(b.room(self._problem, -1)[0]) < b.count for b in batches(root))

    # ---- going down the request tree ----

    def _explore(self, agenda: Agenda) -> None:
        if not agenda:
            self._finish()
            return
        task, rest = pick(agenda, self._urgency)
        tried: dict[int, set[int]] = {}
        found_before = self._incumbent.fields
        for place in self._options(task, rest):
            self._steps.take(self._heft)
            colors = self._made.make(task.knot, place, task.colors)
            if self._made.fits_by_sum(place) and self._incumbent.hopeful():
                self._open(task.knot, place, colors, without_tried(task, rest, tried))
            self._made.unmake(task.knot, place)
            tried.setdefault(place.level, set()).add(place.domain)
        if formed(task.knot) and not task.knot.bound:
            # A group that needs no pod needs no domain either, and there may be none for it.
            self._made.skip(task.knot, 1)
            if self._incumbent.hopeful():
                self._explore(rest)
            self._made.skip(task.knot, -1)
        if self._incumbent.fields is found_before:
            # Whoever failed goes earlier next time: most dead ends come from one demanding group.
            self._failures[task.knot.twin] += 1

    def _urgency(self, task: Waiting) -> tuple[bool, int, int, int, str]:
        """Groups without a choice first, then those that failed, then the largest."""
        knot = task.knot
        chooses = max(knot.required, knot.preferred) > task.level
        return (chooses, -self._failures[knot.twin], -knot.size, -sum(knot.open), knot.name)

    def _open(self, knot: Knot, place: Place, colors: tuple[int, ...], rest: Agenda) -> None:
        """Hand the decided domain to the members, for each way to choose which of them to form."""
        made = self._made
        for members, left_out in memberships(knot, self._problem.heed, self._room(knot, place)):
            if self._incumbent.leaves_out_fewer(left_out):
                # Whatever follows leaves out at least as many.
                return
            self._steps.take()
            if self._incumbent.is_best():
                raise _NothingBetterError
            if members is None:
                continue
            made.form(knot, members, left_out, place, 1)
            whole = len(members) == len(knot.members) or self._room_for(knot, members, place)
            if whole and self._possible(place) and self._incumbent.hopeful():
                before = len(made.contents)
                made.contents.add(
                    Content(place.level, place.domain, part, colors)
                    for part in members
                    if isinstance(part, Leaf) and part.open
                )
                if len(made.contents) == before or self._lays_out(place):
                    inner = (part for part in members if isinstance(part, Knot))
                    self._explore([*rest, *waiting(inner, place.level, place.domain, colors)])
                made.contents.cut(before)
            made.form(knot, members, left_out, place, -1)

    def _options(self, task: Waiting, rest: Agenda) -> Iterator[Place]:
        """Domains to try for a group, best first."""
        knot = task.knot
        base = max(knot.required, task.level)
        top = max(knot.preferred, base)
        stay = Place(task.level, task.level, task.domain, _distance(knot, task.level))
        if top == task.level:
            yield stay
            return
        siblings = needed_beside(task, rest, len(self._problem.tables))
        tried: list[tuple[int, int]] = []
        for level, stream in self._ladder(task, base, top, siblings):
            yield from self._drain(task, stream, level, tried)
        if base == task.level and self._incumbent.hopeful(knot, stay.distance):
            yield stay

    def _ladder(
        self, task: Waiting, base: int, top: int, siblings: list[int]
    ) -> Iterator[tuple[int, Candidates]]:
        """Levels to try and their candidates: from the preferred one up to the required one."""
        knot, made = task.knot, self._made

        def rung(level: int) -> Candidates:
            inside = (task.level, task.domain)
            stream = Candidates(
                self._problem,
                knot,
                inside,
                level,
                loads=made.loads,
                used=made.used,
                siblings=siblings,
                guide=self._guide,
            )
            for struck in task.struck.get(level, ()):
                stream.strike(struck)
            return stream

        levels = range(top, max(base, task.level + 1) - 1, -1)
        if knot.open == knot.need:
            for level in levels:
                if self._incumbent.hopeful(knot, _distance(knot, level)):
                    yield level, rung(level)
            return
        # A finer level is closer to the preference, but pods left out weigh more than any preference.
        rungs = [(level, stream) for level in levels if len(stream := rung(level))]
        yield from sorted(rungs, key=lambda rung: (rung[1].least_left_out(), -rung[0]))

    def _drain(
        self, task: Waiting, stream: Candidates, level: int, tried: list[tuple[int, int]]
    ) -> Iterator[Place]:
        seen: set[object] | None = None
        distance = _distance(task.knot, level)
        while True:
            self._incumbent.strike_hopeless(stream, task.knot, level, distance)
            domain = stream.next()
            if domain is None:
                return
            self._examined += 1
            if tried:
                # Comparing looks costs more than most first tries, so it waits for the second.
                if seen is None:
                    seen = {(at, self._likeness.of(task.level, at, before)) for at, before in tried}
                look = (level, self._likeness.of(task.level, level, domain))
                if look in seen:
                    continue
                seen.add(look)
            tried.append((level, domain))
            yield Place(task.level, level, domain, distance)

    # ---- giving up early ----

    def _possible(self, place: Place) -> bool:
        """Whether counts leave room for all that must be placed."""
        if not self._made.covered(place.level, place.domain):
            return False
        return (
            len(self._problem.tables) == 1 or not self._incumbent.drags_on() or self._made.fits_in(self._pool)
        )

    def _room(self, knot: Knot, place: Place) -> Room:
        """What counts leave for a group in a domain, where that matters: if it can do with fewer members."""
        if not has_choice(knot):
            return Room((), 0)
        by_shape = self._made.room(knot, place)
        if len(by_shape) <= 1 or not self._incumbent.drags_on():
            return Room(by_shape, sum(by_shape))
        start, end = self._tree.bounds(place.level, place.domain)
        others = self._made.pods_in(place.level, place.domain) - knot.size
        return Room(by_shape, int(self._pool.fit[start:end].sum()) - others)

    def _room_for(self, knot: Knot, members: list[Part], place: Place) -> bool:
        """Whether a domain takes as many whole groups as the members chosen bring along."""
        return all(
            int(batch.room(self._problem, place.level)[place.domain]) >= batch.count
            for batch in batches(knot, members)
            if batch.level >= place.level
        )

    def _lays_out(self, place: Place) -> bool:
        """Whether a domain that just got pods can lay out all that is confined to it, by itself."""
        start, end = self._tree.bounds(place.level, place.domain)
        if place.level < 0 or end - start > _CHECKED or len(self._made.contents) == 1:
            return True
        inside = self._made.contents.inside(place.level, place.domain)
        try:
            laid_out = component(self._problem, (place.level, place.domain), inside, self._made.colors)
            return self._layouts.fits(laid_out, self._steps)
        except OutOfBudgetError:
            if self._steps.used_up:
                raise
            return True

    def _lay_out(self, top: tuple[int, int], inside: list[Content]) -> Layout | None:
        return self._layouts.lay_out(component(self._problem, top, inside, self._made.colors), self._steps)

    # ---- the end of a branch ----

    def _finish(self) -> None:
        """All groups have their domains: lay out the pods."""
        spread: Spread = {}
        exact = True
        for level, domain, inside in self._made.contents.outermost():
            start, end = self._tree.bounds(level, domain)
            self._steps.work += (end - start) // 4
            try:
                layout = self._lay_out((level, domain), inside)
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


@contextmanager
def _deep_enough(groups: int) -> Iterator[None]:
    """Let recursion go as deep as the groups of a request need: each is explored inside the one before."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(usual + 4 * groups)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def _distance(knot: Knot, level: int) -> int:
    """How far a domain of a level is from what a group prefers."""
    return max(knot.preferred - level, 0) if knot.preferred >= 0 else 0


class _NothingBetterError(Exception):
    """No placement can be better than the one found."""
