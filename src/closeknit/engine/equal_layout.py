"""Layout of equal pods inside one domain in which nothing of the request is placed yet."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

import numpy as np

from closeknit.engine.count_bounds import fewest_pieces
from closeknit.engine.criteria import Room, best_of, domain_keys, score_keys
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.tree import Ints

_NOWHERE: Ints = np.zeros(0, dtype=np.int64)

Capacities = Callable[[int, int, int], Ints]
"""By level, first domain and end of a run of domains: how many pods each of them takes."""


class EqualLayout:
    """Lays out pods of one table; ``named`` is the level at which domains are scored."""

    __slots__ = ("_named", "_table", "_tree")

    def __init__(self, table: FitTable, named: int) -> None:
        self._table = table
        self._tree = table.tree
        self._named = named

    def lay_out(self, level: int, domain: int, count: int) -> tuple[Ints, Ints]:
        """Positions and counts of so many pods in a domain that takes them, by criteria 4 to 7.

        Exact as long as one domain takes all pods. Otherwise the fewest domains of the next finer level are
        chosen by a heuristic: the largest ones, exchanged for tighter ones as far as that leaves room.
        """
        table, tree = self._table, self._tree
        if not count:
            return _NOWHERE, _NOWHERE
        if level >= 0 and tree.single(level):
            return np.array([domain], dtype=np.int64), np.array([count], dtype=np.int64)
        while not tree.single(level + 1):
            whole = (
                None if count == table.capacity(level, domain) else self.whole_domain(level, domain, count)
            )
            if whole is None:
                return self._several(level, domain, count)
            level, domain = whole
        return self._nodes(*tree.bounds(level, domain), count)

    def whole_domain(
        self,
        level: int,
        domain: int,
        count: int,
        capacities: Capacities | None = None,
        room: Room | None = None,
    ) -> tuple[int, int] | None:
        """Level and number of the best domain inside another that takes all pods; None if none does.

        It has the finest level, down to the named one, at which any domain takes them; inside a domain of the
        named level, the next finer one. ``capacities`` and ``room`` replace those of the table.
        """
        table, named = self._table, self._named
        for finer in range(max(named, level + 1), level, -1):
            first, last = self._tree.span(level, domain, finer)
            sizes = table.sums[finer][first:last] if capacities is None else capacities(finer, first, last)
            takers = np.flatnonzero(sizes >= count)
            if len(takers):
                keys = domain_keys(table, finer, named, count, inside=level, room=room)
                return finer, best_of(takers + first, keys)
        return None

    def _several(self, level: int, domain: int, count: int) -> tuple[Ints, Ints]:
        """Lay out pods in domains of the next finer level, none of which takes all of them."""
        table, tree, finer = self._table, self._tree, level + 1
        first, last = tree.span(level, domain, finer)
        sizes, appeal = table.sums[finer][first:last], table.appeal(finer)
        largest, tightest = fewest_pieces(sizes, None if appeal is None else -appeal[first:last], count)
        tries = [tightest, largest] if finer < self._named and tightest != largest else [tightest]
        layouts = []
        for children in tries:
            parts: list[tuple[int, tuple[Ints, Ints]]] = []
            left = count
            for child in children:
                share = min(left, int(sizes[child]))
                left -= share
                parts.append((child, self.lay_out(finer, first + child, share)))
            parts.sort(key=itemgetter(0))
            positions = np.concatenate([positions for _, (positions, _) in parts])
            # The largest are only better if they save domains of levels that are counted before the room.
            used = [len(np.unique(tree.dom[inner][positions])) for inner in range(finer, self._named + 1)]
            layouts.append((used, positions, np.concatenate([counts for _, (_, counts) in parts])))
        _, positions, counts = min(layouts, key=itemgetter(0))
        return positions, counts

    def _nodes(self, start: int, end: int, count: int) -> tuple[Ints, Ints]:
        """Lay out pods on nodes, or in domains of one node each."""
        table = self._table
        fit, price = table.fit[start:end], table.price
        takers = (fit >= count).nonzero()[0]
        if len(takers):
            takers += start
            node = takers[0]
            if len(takers) > 1:
                node = best_of(takers, score_keys(table, self._tree.depth, inside=self._tree.depth - 1))
            return np.array([node], dtype=np.int64), np.array([count], dtype=np.int64)
        _, nodes = fewest_pieces(fit, None if price is None else price[start:end], count)
        last = nodes[-1]
        nodes.sort()
        counts = [fit.item(node) for node in nodes]
        counts[nodes.index(last)] -= sum(counts) - count
        return np.array(nodes, dtype=np.int64) + start, np.array(counts, dtype=np.int64)
