"""Domains that may hold a group, best first, picked from whole arrays at once.

A domain is a candidate while counts do not rule it out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from closeknit.engine.batches import batches
from closeknit.engine.compiled_request import CompiledRequest, GroupVar
from closeknit.engine.domain_costs import DomainCosts
from closeknit.engine.domain_order import DomainOrder
from closeknit.engine.tallies import Loads, Tally
from closeknit.engine.tree import Flags, Ints


class Candidates:
    """The candidates of one level inside a domain. Each is handed out once."""

    def __init__(
        self,
        compiled: CompiledRequest,
        group: GroupVar,
        inside: tuple[int, int],
        level: int,
        *,
        loads: Loads,
        used: list[Tally],
        siblings: list[int],
        guide: tuple[int, int] | None = None,
        whole_groups: bool = True,
    ) -> None:
        self._compiled = compiled
        self._group = group
        self._level = level
        tree = compiled.tree
        first, last = tree.span(*inside, level)
        mask = tree.real[level][first:last].copy()
        if group.bound:
            ends = {int(tree.dom[level][group.bound[0]]), int(tree.dom[level][group.bound[-1]])}
            mask &= np.isin(np.arange(first, last), list(ends)) if len(ends) == 1 else False
        for shape, need in enumerate(group.need):
            if need:
                mask &= compiled.tables[shape].sums[level][first:last] >= need
        for batch in batches(group) if whole_groups else ():
            if batch.level > level:
                mask &= batch.takes(compiled, level)[first:last] >= batch.count
        self._first = first
        self._rule_out_loaded(inside, mask, loads)
        self._left: Ints = np.flatnonzero(mask) + first
        """Candidates not handed out yet, in path order."""
        self._costs = DomainCosts(compiled, group, inside, level, used)
        self._order = DomainOrder(self._costs, loads, siblings, guide)

    def __len__(self) -> int:
        return len(self._left)

    def _rule_out_loaded(self, inside: tuple[int, int], mask: Flags, loads: Loads) -> None:
        """Domains that siblings use already have less to give, and so have all domains within them."""
        tree, level, last = self._compiled.tree, self._level, self._first + len(mask)
        for shape, need in enumerate(self._group.need):
            sums = self._compiled.tables[shape].sums
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
        if not len(self._left):
            return None
        domain = self._order.first(self._left)
        self._left = np.delete(self._left, np.searchsorted(self._left, domain))
        return domain

    def drop(self, domain: int) -> None:
        """Take a candidate out."""
        self._left = self._left[self._left != domain]

    def drop_hopeless(self, best: list[int], bound: Callable[[int, Ints | int], Ints | int]) -> None:
        """Take out all candidates that cannot lead to fields less than ``best``.

        ``bound`` turns what a candidate costs at least in a field into a bound on that field of the whole.
        """
        better: list[Ints] = []
        undecided = self._left
        tree = self._compiled.tree
        depth = tree.depth
        carried: Ints | None = None
        for field, limit in enumerate(best):
            if not len(undecided):
                break
            if field == 0:
                own: Ints | int = self._costs.left_out(undecided)
            elif field <= depth:
                own = 0
            elif field - 1 - depth <= self._level:
                own = self._costs.new(field - 1 - depth, undecided)
            elif carried is not None:
                # Levels of one node a domain count the same.
                own = carried
            else:
                own = self._costs.pieces(field - 1 - depth, undecided, limit)
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

    def least_left_out(self) -> int:
        """The fewest pods that any candidate leaves out."""
        return int(np.min(self._costs.left_out(self._left)))
