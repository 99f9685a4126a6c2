"""What it costs at least to give a group a domain, for many domains of one level at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest, GroupVar
from closeknit.engine.count_bounds import MOST_COUNTED, fewest_inside
from closeknit.engine.tallies import Tally
from closeknit.engine.tree import Flags, Ints


@dataclass(frozen=True, slots=True)
class DomainCosts:
    """Bounds on what a group costs in domains of a level inside a coarser domain."""

    compiled: CompiledRequest
    group: GroupVar
    inside: tuple[int, int]
    """Level and domain of the coarser domain."""
    level: int
    used: list[Tally]
    """By level, the domains in use."""

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
            tree = self.compiled.tree
            return int(tree.above(*self.inside, coarser) not in used)
        fresh: Flags = used.all()[self.around(coarser, domains)] == 0
        return fresh.astype(np.int64)

    def pieces(self, finer: int, domains: Ints, most: int | None = None) -> Ints:
        """How many domains of a finer level the pods needed take at least.

        Bounds above ``most`` are left rough; by default only the lowest are made exact.
        """
        tree, level = self.compiled.tree, self.level
        pieces: Ints = np.zeros(len(domains), dtype=np.int64)
        for shape, count in enumerate(self.group.need):
            if not count:
                continue
            table = self.compiled.tables[shape]
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
