"""What it costs at least to give a group a domain, and which of several domains comes first.

Domains of one level inside a coarser domain are compared whole arrays at once. The order is that of
``criteria`` as far as counts can tell, with a look ahead to what the group's siblings need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from closeknit.engine.choices import Loads, Tally
from closeknit.engine.compiled_request import CompiledRequest, GroupVar
from closeknit.engine.count_bounds import fewest_domains
from closeknit.engine.criteria import Key, best_of, least_room_inside, levels_inside, score_keys
from closeknit.engine.tree import Flags, Ints


@dataclass
class DomainCosts:
    """Bounds on what a group costs in domains of a level inside a coarser domain."""

    compiled: CompiledRequest
    group: GroupVar
    inside: tuple[int, int]
    """Level and domain of the coarser domain."""
    level: int
    loads: Loads
    used: list[Tally]
    """By level, the domains in use."""
    siblings: list[int]
    """Per shape, the pods that groups beside this one still have to place in the coarser domain."""
    guide: tuple[int, int] | None = None
    """Level and domain that candidates should hold or lie in."""
    crowding: Callable[[int, Ints, list[int]], NDArray[np.float64]] | None = None
    """How full domains of a level get, where any placement will do and the emptiest go first."""

    def left_out(self, domains: Ints) -> Ints | int:
        """Pods for which a candidate has no room."""
        group = self.group
        total: Ints | int = 0
        for shape, count in enumerate(group.open):
            # Candidates take what is needed, so only pods above that can be left out.
            if count > group.need[shape]:
                total = total + np.maximum(count - self.compiled.tables[shape].sums[self.level][domains], 0)
        return total

    def around(self, coarser: int, domains: Ints) -> Ints:
        """The domains of a coarser level around these."""
        tree = self.compiled.tree
        return domains if coarser == self.level else tree.dom[coarser][tree.start[self.level][domains]]

    def new(self, coarser: int, domains: Ints) -> Ints | int:
        """1 where the domain of a coarser level around a candidate is not in use yet."""
        used = self.used[coarser]
        if not self.group.size:
            return 0
        if not used:
            return 1
        if coarser <= self.inside[0]:
            return int(not used[self.compiled.tree.above(*self.inside, coarser)])
        fresh: Flags = used.counts[self.around(coarser, domains)] == 0
        return fresh.astype(np.int64)

    def pieces(self, finer: int, domains: Ints, most: int | None = None) -> Ints:
        """How many domains of a finer level the pods needed take at least.

        Bounds above ``most`` are left rough; by default only the lowest are made exact.
        """
        pieces: Ints = np.zeros(len(domains), dtype=np.int64)
        for shape, count in enumerate(self.group.need):
            if count:
                table = self.compiled.tables[shape]
                found = fewest_domains(table, self.level, finer, domains, count=count, most=most)
                np.maximum(pieces, found, out=pieces)
        return pieces

    def bound(self, field: int, domains: Ints, so_far: int, most: int) -> Ints | int:
        """What a field of the whole comes to at least with one of the domains, after what it was so far."""
        coarser = field - 2 - self.compiled.tree.depth
        if field == 0:
            return so_far + self.left_out(domains)
        if coarser < 0:
            return so_far
        if coarser <= self.level:
            return so_far + self.new(coarser, domains)
        return np.maximum(so_far, self.pieces(coarser, domains, most))

    def first(self, domains: Ints) -> int:
        """The best of some domains, which are in path order."""
        return best_of(domains, self._keys())

    @cached_property
    def _main(self) -> int:
        """The shape of most of the group's pods."""
        return max(range(len(self.group.open)), key=lambda shape: (self.group.open[shape], -shape))

    def _keys(self) -> Iterator[Key]:
        """The criteria as far as counts of domains tell, with a look ahead to what siblings need."""
        if not self.group.open:
            return
        tree, table, named = self.compiled.tree, self.compiled.tables[self._main], self.compiled.named
        if self.crowding is not None:
            yield self._crowded
        yield self.left_out
        if self.guide is not None:
            yield self._apart
        for coarser in range(max(self.inside[0] + 1, 0), self.level + 1):
            yield partial(self.new, coarser)
            if self.siblings[self._main]:
                yield partial(self._shortage, coarser)
        finer = list(levels_inside(tree, self.level))
        yield from (partial(self.pieces, at) for at in finer if at <= named)
        if self.level < named:
            yield partial(least_room_inside, table, self.level, named, count=self.group.need[self._main])
        yield from score_keys(table, self.level)
        yield from (partial(self.pieces, at) for at in finer if at > named)

    def _crowded(self, domains: Ints) -> NDArray[np.float64]:
        """How full a candidate or a domain around it gets with the group, whichever is fuller."""
        assert self.crowding is not None
        crowded = np.zeros(len(domains))
        for coarser in range(max(self.inside[0] + 1, 0), self.level + 1):
            np.maximum(
                crowded, self.crowding(coarser, self.around(coarser, domains), self.group.need), out=crowded
            )
        return crowded

    def _apart(self, domains: Ints) -> Ints:
        """1 where a candidate neither holds the guiding domain nor lies in it."""
        assert self.guide is not None
        tree, (level, domain) = self.compiled.tree, self.guide
        if level >= self.level:
            apart = domains != tree.above(level, domain, self.level)
        else:
            apart = self.around(level, domains) != domain
        return np.asarray(apart, dtype=np.int64)

    @cached_property
    def _whole_groups(self) -> Ints:
        """By domain of the level, from the first inside: room for pods of groups like this one."""
        first, last = self.compiled.tree.span(*self.inside, self.level)
        room = self.compiled.tables[self._main].sums[self.level][first:last]
        tally = self.loads.at(self.level, self._main)
        if tally is not None:
            room = np.maximum(room - tally.counts[first:last], 0)
        size = max(self.group.need[self._main], 1)
        return room // size * size

    def _shortage(self, coarser: int, domains: Ints) -> Ints:
        """How much of what this group and its siblings need, the domain around a candidate lacks.

        What counts is room for whole groups: the rest of a domain is of no use to them.
        """
        tree = self.compiled.tree
        wanted = self.siblings[self._main] + self.group.need[self._main]
        first, last = tree.span(*self.inside, coarser)
        inner = tree.dom[self.level][tree.start[coarser][first:last]]
        whole = np.add.reduceat(self._whole_groups, inner - inner[0])
        short: Ints = np.maximum(wanted - whole[self.around(coarser, domains) - first], 0)
        return short
