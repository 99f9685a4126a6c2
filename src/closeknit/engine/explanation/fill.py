"""As many pods as go together, when not all of them have to: good and true, not proven to be the most.

Groups are taken one after the other, the most confined and the largest first, and
each goes where most of it fits, into the tightest such domain.
"""

from __future__ import annotations

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest, GroupVar, PodSetVar
from closeknit.engine.score import Spread
from closeknit.engine.tree import Ints


class Fill:
    """Fills a domain with the open pods of a request, within the required levels and nothing else."""

    def __init__(self, compiled: CompiledRequest, free: Ints, within: tuple[int, int] = (-1, 0)) -> None:
        self.spread: Spread = {}
        self.homes: dict[int, tuple[int, int]] = {}
        """By group: the level and domain it was filled into."""
        self._compiled = compiled
        self._start, self._end = compiled.tree.bounds(*within)
        self._alone = len(compiled.tables) == 1
        slots = compiled.tree.slots[self._start : self._end] if not self._alone else compiled.tree.slots[:0]
        self._left: Ints = free[np.ix_(np.array(compiled.rows, dtype=np.int64), slots)]
        """By resource row and node of the domain; of no use where there is one shape only."""
        self._known: dict[tuple[int, int, int, int], Ints] = {}
        """Sums as they stand."""
        self._fits = [table.fit[self._start : self._end].copy() for table in compiled.tables]
        """By shape: how many pods each node still takes."""
        self._fill(compiled.root, within)

    def _fill(self, group: GroupVar, inside: tuple[int, int]) -> None:
        at = inside if group.required <= inside[0] else self._roomiest(group, inside)
        if at is None:
            return
        self.homes[group.index] = at
        groups = [member for member in group.members if isinstance(member, GroupVar)]
        for inner in sorted(groups, key=lambda each: (-each.required, -sum(each.open), each.name)):
            self._fill(inner, at)
        first, last = self._bounds(at)
        pod_sets = [member for member in group.members if isinstance(member, PodSetVar)]
        # What finds the least room goes first.
        for pod_set in sorted(
            pod_sets, key=lambda each: (int(self._fits[each.shape][first:last].sum()), each.name)
        ):
            self._place(pod_set, first, last)

    def _bounds(self, at: tuple[int, int]) -> tuple[int, int]:
        start, end = self._compiled.tree.bounds(*at)
        return start - self._start, end - self._start

    def _place(self, pod_set: PodSetVar, first: int, last: int) -> None:
        """Take from the nodes with the least room first, so that the others stay whole."""
        fit = self._fits[pod_set.shape][first:last]
        order = np.argsort(fit, kind="stable")
        order = order[fit[order] > 0]
        reached = np.cumsum(fit[order])
        order = order[: int(np.searchsorted(reached, pod_set.open)) + 1]
        if not pod_set.open or not len(order):
            return
        counts = fit[order].copy()
        counts[-1] -= max(int(reached[len(order) - 1]) - pod_set.open, 0)
        order, counts = order[np.argsort(order)], counts[np.argsort(order)]
        self.spread[pod_set.index] = (order + first + self._start, counts)
        self._take(pod_set.shape, order + first, counts)

    def _take(self, shape: int, nodes: Ints, counts: Ints) -> None:
        compiled = self._compiled
        self._known.clear()
        if self._alone:
            self._fits[shape][nodes] -= counts
            return
        for i, units in enumerate(compiled.demand[shape]):
            if units:
                self._left[i, nodes] -= units * counts
        for other, fit in enumerate(self._fits):
            for i, units in enumerate(compiled.demand[other]):
                if units:
                    np.minimum(fit, np.maximum(self._left[i] // units, 0), out=fit)

    def _roomiest(self, group: GroupVar, inside: tuple[int, int]) -> tuple[int, int] | None:
        """The domain that takes the most of a group; of equal ones the tightest, then the first by path."""
        tree, level = self._compiled.tree, group.required
        first, last = tree.span(*inside, level)
        if group.bound:
            domain = int(tree.dom[level][group.bound[0]])
            return (level, domain) if first <= domain < last else None
        if first == last:
            return None
        takes = self._promise(group, level, first, last)
        takes[~tree.real[level][first:last]] = -1
        best = np.flatnonzero(takes == takes.max(initial=0))
        if not len(best):
            return None
        room = sum(
            (self._sums(shape, level, first, last) for shape, n in enumerate(group.open) if n), takes * 0
        )
        return level, first + int(best[room[best].argmin()])

    def _sums(self, shape: int, level: int, first: int, last: int) -> Ints:
        """By domain of a level, from the first to behind the last: pods of a shape that it still takes."""
        key = (shape, level, first, last)
        if key not in self._known:
            tree = self._compiled.tree
            start, end = int(tree.start[level][first]), int(tree.end[level][last - 1])
            fit = self._fits[shape][start - self._start : end - self._start]
            self._known[key] = np.add.reduceat(fit, tree.start[level][first:last] - start)
        return self._known[key]

    def _promise(self, group: GroupVar, level: int, first: int, last: int) -> Ints:
        """By domain of a level: pods of a group that it should take, the levels of inner groups heeded."""
        together, apart = np.zeros((2, last - first), dtype=np.int64)
        for shape, count in enumerate(group.open):
            if count:
                together += np.minimum(self._sums(shape, level, first, last), count)
        alike: dict[object, list[GroupVar]] = {}
        for member in group.members:
            if isinstance(member, PodSetVar):
                apart += np.minimum(self._sums(member.shape, level, first, last), member.open)
            elif member.required <= level:
                apart += self._promise(member, level, first, last)
            else:
                alike.setdefault((member.required, *member.open), []).append(member)
        for members in alike.values():
            apart += self._promise_apart(members[0], len(members), level, first, last)
        promise: Ints = np.minimum(together, apart)
        return promise

    def _promise_apart(self, group: GroupVar, copies: int, level: int, first: int, last: int) -> Ints:
        """The same for copies of a group that each get a domain of their own, the best first."""
        tree, inner = self._compiled.tree, group.required
        cuts = tree.dom[inner][tree.start[level][first:last]]
        begin, end = int(cuts[0]), int(tree.dom[inner][tree.end[level][last - 1] - 1]) + 1
        takes = np.where(tree.real[inner][begin:end], self._promise(group, inner, begin, end), 0)
        if copies > 1:
            around = np.repeat(np.arange(last - first), np.diff(np.append(cuts, end)))
            order = np.lexsort((-takes, around))
            rank = np.arange(end - begin) - (cuts - begin)[around]
            takes = np.where(rank < copies, takes[order], 0)
        promise: Ints = (
            np.add.reduceat(takes, cuts - begin) if copies > 1 else np.maximum.reduceat(takes, cuts - begin)
        )
        return promise
