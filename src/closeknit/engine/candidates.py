"""Domains that may hold a group, best first, picked from whole arrays at once.

A domain is a candidate while counts do not rule it out. Which one comes first
follows the order of wishes as far as counts can tell, looks ahead to what the
group's siblings will need, and ends with the tightest fit and the path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from closeknit.engine.batches import batches
from closeknit.engine.pieces import MOST_COUNTED, fewest_inside
from closeknit.engine.problem import Knot, Problem
from closeknit.engine.tallies import Loads, Tally
from closeknit.engine.tree import Flags, Ints


class Candidates:
    """The candidates of one level inside a domain. Each is handed out once."""

    def __init__(
        self,
        problem: Problem,
        knot: Knot,
        inside: tuple[int, int],
        level: int,
        *,
        loads: Loads,
        used: list[Tally],
        siblings: list[int],
        guide: tuple[int, int] | None = None,
    ) -> None:
        self._problem = problem
        self._knot = knot
        self._level = level
        tree = problem.tree
        first, last = tree.span(*inside, level)
        mask = tree.real[level][first:last].copy() if level < tree.depth else np.ones(last - first, np.bool_)
        if knot.bound:
            ends = {int(tree.dom[level][knot.bound[0]]), int(tree.dom[level][knot.bound[-1]])}
            mask &= np.isin(np.arange(first, last), list(ends)) if len(ends) == 1 else False
        for shape, need in enumerate(knot.need):
            if need:
                mask &= problem.tables[shape].sums[level][first:last] >= need
        for batch in batches(knot):
            if batch.level > level:
                mask &= batch.room(problem, level)[first:last] >= batch.count
        self._first = first
        self._rule_out_loaded(inside, mask, loads)
        self._left: Ints = np.flatnonzero(mask) + first
        """Candidates not handed out yet, in path order."""
        self._used = used
        self._loads = loads
        self._siblings = siblings
        self._guide = guide
        self._inside = inside
        self._whole: dict[int, Ints] = {}

    def __len__(self) -> int:
        return len(self._left)

    def _rule_out_loaded(self, inside: tuple[int, int], mask: Flags, loads: Loads) -> None:
        """Domains that siblings use already have less to give, and so have all domains within them."""
        tree, level, last = self._problem.tree, self._level, self._first + len(mask)
        for shape, need in enumerate(self._knot.need):
            sums = self._problem.tables[shape].sums
            for at in range(max(inside[0] + 1, 0), level + 1):
                tally = loads.at(at, shape) if need else None
                if tally is None:
                    continue
                lo, hi = tree.span(*inside, at)
                full = tally.all()[lo:hi] + need > sums[at][lo:hi]
                if at == level:
                    mask &= ~full
                elif full.any():
                    mask &= ~full[tree.dom[at][tree.start[level][self._first : last]] - lo]

    def next(self) -> int | None:
        """The best candidate left, or None."""
        best = self._left
        if not len(best):
            return None
        for key in self._keys():
            if len(best) == 1:
                break
            values = key(best)
            if not isinstance(values, int):
                best = best[values == values.min()]
        domain = int(best[0])
        self._left = np.delete(self._left, np.searchsorted(self._left, domain))
        return domain

    def strike(self, domain: int) -> None:
        """Take a candidate out."""
        self._left = self._left[self._left != domain]

    def strike_hopeless(self, best: list[int], bound: Callable[[int, Ints | int], Ints | int]) -> None:
        """Take out all candidates that cannot lead to fields less than ``best``.

        ``bound`` turns what a candidate costs at least in a field into a bound on that field of the whole.
        """
        if not len(self._left) or self._all_hopeless(best, bound):
            self._left = self._left[:0]
            return
        better: list[Ints] = []
        undecided = self._left
        tree = self._problem.tree
        depth = tree.depth
        carried: Ints | None = None
        for field, limit in enumerate(best):
            if not len(undecided):
                break
            if field == 0:
                own: Ints | int = self._left_out(undecided)
            elif field <= depth:
                own = 0
            elif field - 1 - depth <= self._level:
                own = self._new(field - 1 - depth, undecided)
            elif carried is not None:
                # Levels of one node a domain count the same.
                own = carried
            else:
                own = self._pieces(field - 1 - depth, undecided, limit)
            value = bound(field, own)
            if isinstance(value, int):
                if value < limit:
                    better.append(undecided)
                if value != limit:
                    undecided = undecided[:0]
                continue
            less = value < limit
            if less.any():
                better.append(undecided[less])
            equal = value == limit
            undecided = undecided[equal]
            finer = field - 1 - depth
            single = self._level < finer < depth and tree.count(finer) == len(tree)
            carried = own[equal] if single and not isinstance(own, int) else None
        if sum(map(len, better)) < len(self._left):
            self._left = np.sort(np.concatenate(better)) if better else self._left[:0]

    def _all_hopeless(self, best: list[int], bound: Callable[[int, Ints | int], Ints | int]) -> bool:
        """Whether even a candidate that is the best of all in every field could not do better.

        Most searches end here: the first candidate was as good as any can be.
        """
        depth = self._problem.tree.depth
        if self._knot.open != self._knot.need:
            return False
        for field, limit in enumerate(best):
            own: Ints | int = 0
            if field > depth:
                level = field - 1 - depth
                own = self._new(level, self._left) if level <= self._level else self._fewest_pieces(level)
            value = bound(field, own)
            least = value if isinstance(value, int) else int(value.min())
            if least != limit:
                return least > limit
        return True

    def _fewest_pieces(self, finer: int) -> int:
        """How many domains of a finer level the pods needed take at least, wherever they go."""
        pieces = 0
        for shape, count in enumerate(self._knot.need):
            if count:
                inside = self._problem.tables[shape].biggest_inside(self._level, finer)
                pieces = max(pieces, -(-count // max(int(inside[self._left].max()), 1)))
        return pieces

    def least_left_out(self) -> int:
        """The fewest pods that any candidate leaves out."""
        own = self._left_out(self._left)
        return own if isinstance(own, int) else int(own.min())

    # ---- what choosing a candidate costs at least ----

    def _left_out(self, domains: Ints) -> Ints | int:
        """Pods for which a candidate has no room."""
        knot = self._knot
        total: Ints | int = 0
        for shape, count in enumerate(knot.open):
            # Candidates take what is needed, so only pods above that can be left out.
            if count > knot.need[shape]:
                total = total + np.maximum(count - self._problem.tables[shape].sums[self._level][domains], 0)
        return total

    def _around(self, coarser: int, domains: Ints) -> Ints:
        tree = self._problem.tree
        return domains if coarser == self._level else tree.dom[coarser][tree.start[self._level][domains]]

    def _new(self, coarser: int, domains: Ints) -> Ints | int:
        """1 where the domain of a coarser level around a candidate is not in use yet."""
        used = self._used[coarser]
        if not self._knot.size:
            return 0
        if not used:
            return 1
        if coarser <= self._inside[0]:
            tree = self._problem.tree
            return int(tree.above(*self._inside, coarser) not in used)
        fresh: Flags = used.all()[self._around(coarser, domains)] == 0
        return fresh.astype(np.int64)

    def _pieces(self, finer: int, domains: Ints, most: int | None = None) -> Ints:
        """How many domains of a finer level the pods needed take at least.

        Bounds above ``most`` are left rough; by default only the lowest are made exact.
        """
        tree, level = self._problem.tree, self._level
        pieces: Ints = np.zeros(len(domains), dtype=np.int64)
        for shape, count in enumerate(self._knot.need):
            if not count:
                continue
            table = self._problem.tables[shape]
            biggest = table.biggest_inside(level, finer)[domains]
            # Dividing in floating point is several times faster, and exact for counts of this size.
            rough = np.ceil(count / np.maximum(biggest, 1)).astype(np.int64)
            worth = int(rough.min(initial=count)) if most is None else most
            if worth > 1:
                # One piece, or pieces of one pod each, leave nothing to count more closely.
                close = np.flatnonzero((rough > 1) & (rough <= worth) & (biggest > 1))
                if len(close) * (len(tree) // tree.count(level) + 1) <= MOST_COUNTED:
                    rough[close] = fewest_inside(
                        tree, level, finer, domains[close], sizes=table.sums[finer], count=count
                    )
            np.maximum(pieces, rough, out=pieces)
        return pieces

    # ---- which comes first ----

    def _keys(self) -> Iterator[Callable[[Ints], Ints | int]]:
        """What to compare, most important first; what is equal to the end is told apart by path."""
        problem, knot, level = self._problem, self._knot, self._level
        if not knot.open:
            return
        main = max(range(len(knot.open)), key=lambda shape: (knot.open[shape], -shape))
        table = problem.tables[main]
        yield self._left_out
        if self._guide is not None:
            yield self._apart
        for coarser in range(max(self._inside[0] + 1, 0), level + 1):
            yield partial(self._new, coarser)
            if self._siblings[main]:
                yield partial(self._shortage, coarser, main)
        tree = problem.tree
        for finer in range(level + 1, tree.depth + 1):
            # A level of one node a domain counts like the nodes themselves.
            if finer == tree.depth or tree.count(finer) < len(tree):
                yield partial(self._pieces, finer)
        if table.price is not None:
            yield partial(self._prices, main)
        yield from (partial(self._room, coarser, main) for coarser in range(level, -1, -1))

    def _apart(self, domains: Ints) -> Ints:
        """1 where a candidate neither holds the guiding domain nor lies in it."""
        assert self._guide is not None
        tree, (level, domain) = self._problem.tree, self._guide
        if level >= self._level:
            apart = domains != tree.above(level, domain, self._level)
        else:
            apart = self._around(level, domains) != domain
        return np.asarray(apart, dtype=np.int64)

    def _room(self, coarser: int, main: int, domains: Ints) -> Ints:
        room: Ints = self._problem.tables[main].sums[coarser][self._around(coarser, domains)]
        return room

    def _shortage(self, coarser: int, main: int, domains: Ints) -> Ints:
        """How much of what this group and its siblings need, the domain around a candidate lacks.

        What counts is room for whole groups: the rest of a domain is of no use to them.
        """
        wanted = self._siblings[main] + self._knot.need[main]
        first, _ = self._problem.tree.span(*self._inside, coarser)
        short: Ints = np.maximum(
            wanted - self._whole_groups(coarser, main)[self._around(coarser, domains) - first], 0
        )
        return short

    def _whole_groups(self, coarser: int, main: int) -> Ints:
        """By domain of a coarser level inside the parent's: room for pods of groups like this one."""
        known = self._whole.get(coarser)
        if known is None:
            tree, level = self._problem.tree, self._level
            lo, hi = tree.span(*self._inside, level)
            if coarser == level:
                size = max(self._knot.need[main], 1)
                sums = self._problem.tables[main].sums[level][lo:hi]
                tally = self._loads.at(level, main)
                if tally is not None:
                    sums = sums - tally.all()[lo:hi]
                known = np.maximum(sums, 0) // size * size
            else:
                first, last = tree.span(*self._inside, coarser)
                outer = tree.dom[level][tree.start[coarser][first:last]]
                known = np.add.reduceat(self._whole_groups(level, main), outer - lo)
            self._whole[coarser] = known
        return known

    def _prices(self, main: int, domains: Ints) -> Ints:
        """The price of each candidate's cheapest node that takes any pod."""
        table, tree, level = self._problem.tables[main], self._problem.tree, self._level
        assert table.price is not None
        lo, hi = tree.span(*self._inside, level)
        start, end = int(tree.start[level][lo]), int(tree.end[level][hi - 1])
        prices = np.where(table.fit[start:end] > 0, table.price[start:end], np.iinfo(np.int64).max)
        cheapest: Ints = np.minimum.reduceat(prices, tree.start[level][lo:hi] - start)[domains - lo]
        return cheapest
