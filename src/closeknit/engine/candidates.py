"""Domains that may hold a group, best first, picked from whole arrays at once.

A domain is a candidate while counts do not rule it out. Which one comes first
follows the order of wishes as far as counts can tell, looks ahead to what the
group's siblings will need, and ends with the tightest fit and the path.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from closeknit.engine.problem import Knot, Problem
from closeknit.engine.tree import Flags, Ints

Loads = dict[tuple[int, int], list[int]]
"""By level and domain: per shape, how many pods are already confined there."""


class Candidates:
    """The candidates of one level inside a domain. Each is handed out once."""

    def __init__(
        self,
        problem: Problem,
        knot: Knot,
        inside: tuple[int, int],
        level: int,
        loads: Loads,
        used: list[dict[int, int]],
        siblings: list[int],
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
        self._first = first
        self._rule_out_loaded(inside, mask, loads)
        self.domains: Ints = np.flatnonzero(mask) + first
        self._alive: Flags = np.ones(len(self.domains), dtype=np.bool_)
        self._used = used
        self._loads = loads
        self._siblings = siblings
        self._inside = inside
        self._keys: list[Ints] | None = None
        self._least: list[Ints] | None = None

    def __len__(self) -> int:
        return int(np.count_nonzero(self._alive))

    def _rule_out_loaded(self, inside: tuple[int, int], mask: Flags, loads: Loads) -> None:
        """Domains that siblings use already have less to give, and so have all domains within them."""
        tree, knot, level = self._problem.tree, self._knot, self._level
        for (at, domain), load in loads.items():
            if not inside[0] < at <= level:
                continue
            first, last = tree.span(at, domain, level)
            if last <= self._first or first >= self._first + len(mask):
                continue
            if any(
                need and load[shape] + need > self._problem.tables[shape].capacity(at, domain)
                for shape, need in enumerate(knot.need)
            ):
                mask[max(first - self._first, 0) : last - self._first] = False

    def next(self, may_improve: Callable[[list[Ints]], Flags] | None) -> int | None:
        """The best candidate left, or None. ``may_improve`` sees per-candidate bounds and strikes hopeless ones."""
        if not self._alive.any():
            return None
        if may_improve is not None:
            self._alive &= may_improve(self.least())
        left = np.flatnonzero(self._alive)
        if not len(left):
            return None
        for key in self.keys():
            if len(left) == 1:
                break
            values = key[left]
            left = left[values == values.min()]
        self._alive[left[0]] = False
        return int(self.domains[left[0]])

    def strike(self, domain: int) -> None:
        """Take a candidate out."""
        at = int(np.searchsorted(self.domains, domain))
        if at < len(self.domains) and self.domains[at] == domain:
            self._alive[at] = False

    def least(self) -> list[Ints]:
        """Per candidate, what choosing it costs at least: pods left out, then domains by level that come into use."""
        if self._least is None:
            problem, knot, level = self._problem, self._knot, self._level
            tree, domains = problem.tree, self.domains
            left_out = np.zeros(len(domains), dtype=np.int64)
            for shape, total in enumerate(knot.open):
                if total:
                    left_out += np.maximum(total - problem.tables[shape].sums[level][domains], 0)
            fields = [left_out]
            for coarser in range(level + 1):
                fields.append(self._new(coarser))
            for finer in range(level + 1, tree.depth + 1):
                fields.append(self._pieces(finer, knot.need))
            self._least = fields
        return self._least

    def _new(self, coarser: int) -> Ints:
        """1 where the domain of a coarser level around a candidate is not in use yet."""
        tree = self._problem.tree
        around = tree.dom[coarser][tree.start[self._level][self.domains]]
        used = list(self._used[coarser])
        if not used or not self._knot.size:
            return np.full(len(around), int(bool(self._knot.size)), dtype=np.int64)
        return (~np.isin(around, used)).astype(np.int64)

    def _pieces(self, finer: int, counts: list[int]) -> Ints:
        """How many domains of a finer level the counts take at least."""
        problem, level = self._problem, self._level
        tree = problem.tree
        pieces = np.zeros(len(self.domains), dtype=np.int64)
        for shape, count in enumerate(counts):
            if not count:
                continue
            table = problem.tables[shape]
            if finer == tree.depth:
                biggest = table.largest[level][self.domains]
            else:
                lo, hi = tree.span(*self._inside, level)
                inner = tree.dom[finer][tree.start[level][lo:hi]]
                end = int(tree.dom[finer][tree.end[level][hi - 1] - 1]) + 1
                per = np.maximum.reduceat(table.sums[finer][int(inner[0]) : end], inner - inner[0])
                biggest = per[self.domains - lo]
            np.maximum(pieces, -(-count // np.maximum(biggest, 1)), out=pieces)
        return pieces

    def keys(self) -> list[Ints]:
        """What to compare, most important first; equal ones are told apart by path."""
        if self._keys is None:
            problem, knot, level = self._problem, self._knot, self._level
            tree, domains = problem.tree, self.domains
            least = self.least()
            if not knot.open:
                self._keys = []
                return self._keys
            main = max(range(len(knot.open)), key=lambda shape: (knot.open[shape], -shape))
            keys = [least[0]]
            for coarser in range(max(self._inside[0] + 1, 0), level + 1):
                keys.append(least[1 + coarser])
                shortage = self._shortage(coarser, main)
                if shortage is not None:
                    keys.append(shortage)
            keys.extend(least[2 + level :])
            table = problem.tables[main]
            if table.price is not None and level < tree.depth:
                keys.append(self._prices(main))
            for coarser in range(level, -1, -1):
                around = tree.dom[coarser][tree.start[level][domains]]
                keys.append(table.sums[coarser][around])
            self._keys = keys
        return self._keys

    def _shortage(self, coarser: int, main: int) -> Ints | None:
        """How much of what this group and its siblings need, the domain around a candidate lacks.

        None where there are no siblings: then the tightest domain is best.
        """
        problem, knot, level = self._problem, self._knot, self._level
        wanted = self._siblings[main]
        size = max(knot.need[main], 1)
        if not wanted:
            return None
        tree = problem.tree
        lo, hi = tree.span(*self._inside, level)
        sums = problem.tables[main].sums[level][lo:hi].copy()
        for (at, domain), load in self._loads.items():
            if at == level and lo <= domain < hi:
                sums[domain - lo] -= load[main]
        whole = np.maximum(sums, 0) // size * size
        if coarser < level:
            first, last = tree.span(*self._inside, coarser)
            outer = tree.dom[level][tree.start[coarser][first:last]]
            whole = np.add.reduceat(whole, outer - lo)
            around = tree.dom[coarser][tree.start[level][self.domains]] - first
        else:
            around = self.domains - lo
        short: Ints = np.maximum(wanted + knot.need[main] - whole[around], 0)
        return short

    def _prices(self, main: int) -> Ints:
        table, tree, level = self._problem.tables[main], self._problem.tree, self._level
        assert table.price is not None
        lo, hi = tree.span(*self._inside, level)
        start, end = int(tree.start[level][lo]), int(tree.end[level][hi - 1])
        prices = np.where(table.fit[start:end] > 0, table.price[start:end], np.iinfo(np.int64).max)
        cheapest: Ints = np.minimum.reduceat(prices, tree.start[level][lo:hi] - start)
        return cheapest[self.domains - lo]
