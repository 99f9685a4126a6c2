"""Domains that may hold a group, best first, picked from whole arrays at once.

A domain is a candidate while counts do not rule it out.
"""

from __future__ import annotations

import numpy as np

from closeknit.engine.count_bounds import batches
from closeknit.engine.domain_costs import DomainCosts
from closeknit.engine.tree import Flags, Ints


class Candidates:
    """The candidates of one level inside a domain. Each is handed out once."""

    def __init__(self, costs: DomainCosts, *, whole_groups: bool = True) -> None:
        """With ``whole_groups``, domains are ruled out that take too few of the groups inside."""
        self._costs = costs
        compiled, group, level = costs.compiled, costs.group, costs.level
        tree = compiled.tree
        first, last = tree.span(*costs.inside, level)
        mask = tree.real[level][first:last].copy()
        if max(group.required, group.preferred) < level:
            # Nothing has to be shared, so a node without the label is as good as a domain.
            mask[:] = True
        if group.bound:
            ends = {int(tree.dom[level][group.bound[0]]), int(tree.dom[level][group.bound[-1]])}
            mask &= np.isin(np.arange(first, last), list(ends)) if len(ends) == 1 else False
        for shape, need in enumerate(group.need):
            if need:
                mask &= compiled.tables[shape].sums[level][first:last] >= need
        for batch in batches(group) if whole_groups else ():
            if batch.level > level:
                mask &= batch.takes(compiled, level)[first:last] >= batch.count
        self._rule_out_loaded(mask)
        self._left: Ints = np.flatnonzero(mask) + first
        """Candidates not handed out yet, in path order."""

    def __len__(self) -> int:
        return len(self._left)

    def _rule_out_loaded(self, mask: Flags) -> None:
        """Domains that siblings use already have less to give, and so have all domains within them."""
        costs, tree = self._costs, self._costs.compiled.tree
        first, last = tree.span(*costs.inside, costs.level)
        for shape, need in enumerate(costs.group.need):
            sums = costs.compiled.tables[shape].sums
            for at in range(max(costs.inside[0] + 1, 0), costs.level + 1):
                tally = costs.loads.at(at, shape) if need else None
                if tally is not None:
                    lo, hi = tree.span(*costs.inside, at)
                    full = tally.counts[lo:hi] + need > sums[at][lo:hi]
                    mask &= ~full[tree.dom[at][tree.start[costs.level][first:last]] - lo]

    def next(self) -> int | None:
        """The best candidate left, or None."""
        if not len(self._left):
            return None
        domain = self._costs.first(self._left)
        self._left = np.delete(self._left, np.searchsorted(self._left, domain))
        return domain

    def drop(self, domain: int) -> None:
        """Take a candidate out."""
        self._left = self._left[self._left != domain]

    def drop_hopeless(self, best: list[int], so_far: list[int], lower: list[int]) -> None:
        """Take out all candidates that cannot lead to fields less than ``best``.

        ``so_far`` is what the choices in force cost at least, field by field, and ``lower`` what any
        placement costs.
        """
        better = [self._left[:0]]
        undecided = self._left
        for field, (limit, base, least) in enumerate(zip(best, so_far, lower, strict=True)):
            bound = self._costs.bound(field, undecided, base, limit)
            if isinstance(bound, int):
                # It is the same for all candidates.
                if max(bound, least) < limit:
                    better.append(undecided)
                if max(bound, least) != limit:
                    break
                continue
            bound = np.maximum(bound, least)
            better.append(undecided[bound < limit])
            undecided = undecided[bound == limit]
            if not len(undecided):
                break
        if sum(map(len, better)) < len(self._left):
            self._left = np.sort(np.concatenate(better))

    def least_left_out(self) -> int:
        """The fewest pods that any candidate leaves out."""
        return int(np.min(self._costs.left_out(self._left)))
