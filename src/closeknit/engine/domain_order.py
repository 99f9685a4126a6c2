"""Which of several domains for a group comes first.

The order follows the wishes as far as counts can tell, looks ahead to what the
group's siblings need, and ends with the tightest fit and the path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from closeknit.engine.domain_costs import DomainCosts
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.tallies import Loads
from closeknit.engine.tree import Ints


class DomainOrder:
    """Compares domains of a level inside a coarser domain, whole arrays at once."""

    def __init__(
        self, costs: DomainCosts, loads: Loads, siblings: list[int], guide: tuple[int, int] | None
    ) -> None:
        self._costs = costs
        self._compiled = costs.compiled
        self._group = costs.group
        self._inside = costs.inside
        self._level = costs.level
        self._loads = loads
        self._siblings = siblings
        """Per shape, the pods that groups beside this one still have to place in the coarser domain."""
        self._guide = guide
        self._whole: dict[int, Ints] = {}

    def first(self, domains: Ints) -> int:
        """The best of some domains, which are in path order."""
        for key in self._keys():
            if len(domains) == 1:
                break
            values = key(domains)
            if not isinstance(values, int):
                domains = domains[values == values.min()]
        return int(domains[0])

    def _keys(self) -> Iterator[Callable[[Ints], Ints | int]]:
        """What to compare, most important first; what is equal to the end is told apart by path."""
        compiled, group, level = self._compiled, self._group, self._level
        if not group.open:
            return
        main = max(range(len(group.open)), key=lambda shape: (group.open[shape], -shape))
        table = compiled.tables[main]
        yield self._costs.left_out
        if self._guide is not None:
            yield self._apart
        for coarser in range(max(self._inside[0] + 1, 0), level + 1):
            yield partial(self._costs.new, coarser)
            if self._siblings[main]:
                yield partial(self._shortage, coarser, main)
        tree = compiled.tree
        for finer in range(level + 1, tree.depth + 1):
            # A level of one node a domain counts like the nodes themselves.
            if finer == tree.depth or tree.count(finer) < len(tree):
                yield partial(self._costs.pieces, finer)
        if table.price is not None:
            yield partial(self._prices, table)
        for coarser in range(level, -1, -1):
            yield partial(self._room, table, coarser)

    def _apart(self, domains: Ints) -> Ints:
        """1 where a candidate neither holds the guiding domain nor lies in it."""
        assert self._guide is not None
        tree, (level, domain) = self._compiled.tree, self._guide
        if level >= self._level:
            apart = domains != tree.above(level, domain, self._level)
        else:
            apart = self._costs.around(level, domains) != domain
        return np.asarray(apart, dtype=np.int64)

    def _prices(self, table: FitTable, domains: Ints) -> Ints:
        """The price of each candidate's cheapest node that takes any pod."""
        appeal = table.appeal(self._level)
        assert appeal is not None
        return -appeal[domains]

    def _room(self, table: FitTable, coarser: int, domains: Ints) -> Ints:
        """How many pods the domain around each candidate takes."""
        room: Ints = table.sums[coarser][self._costs.around(coarser, domains)]
        return room

    def _shortage(self, coarser: int, main: int, domains: Ints) -> Ints:
        """How much of what this group and its siblings need, the domain around a candidate lacks.

        What counts is room for whole groups: the rest of a domain is of no use to them.
        """
        wanted = self._siblings[main] + self._group.need[main]
        first, _ = self._compiled.tree.span(*self._inside, coarser)
        short: Ints = np.maximum(
            wanted - self._whole_groups(coarser, main)[self._costs.around(coarser, domains) - first], 0
        )
        return short

    def _whole_groups(self, coarser: int, main: int) -> Ints:
        """By domain of a coarser level inside the parent's: room for pods of groups like this one."""
        known = self._whole.get(coarser)
        if known is None:
            tree, level = self._compiled.tree, self._level
            lo, hi = tree.span(*self._inside, level)
            if coarser == level:
                size = max(self._group.need[main], 1)
                sums = self._compiled.tables[main].sums[level][lo:hi]
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
