"""Bounds by counts: the fewest domains that hold so many pods, the most pods and whole groups that fit.

The fewest pieces whose sizes reach a count are the largest ones. And a node cannot hold more pods of a
request than it could if each took no more than the least that any of them takes: where shapes are alike,
as a launcher's and its workers' often are, this says much more than the sums of resources do.

A rack with room for ten pods takes one group of eight, not ten eighths of one. So where several groups of
one shape must each share a domain, what counts is how many whole groups each domain takes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from closeknit.engine.compiled_request import CompiledRequest, GroupVar, Part
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.tree import Ints, Tree

MOST_COUNTED = 1 << 17
"""Above this many entries, domains are not laid side by side in one table."""

_FEW_PIECES = 64
"""Pieces up to which plain sorting is faster than that of arrays."""

_FEW_SIZES = 16
"""Up to this many different sizes, counting how often each occurs beats sorting."""

_MOST_UNITS = 1 << 14
"""Amounts up to this are counted by unit, larger ones by share: small numbers sort several times faster."""


def fewest(sizes: Ints, count: int) -> int:
    """The fewest pieces that reach a count; one more than all of them where they do not."""
    if count <= 0:
        return 0
    if len(sizes) == 0:
        return 1
    most = int(sizes.max())
    if most >= count:
        return 1
    if most == 0:
        return len(sizes) + 1
    # At least this many are needed, so only the largest few have to be put in order when that is enough.
    guess = min(len(sizes), 2 * -(-count // most))
    largest = np.partition(sizes, len(sizes) - guess)[len(sizes) - guess :]
    if int(largest.sum()) < count:
        largest = sizes
    reached = np.cumsum(np.sort(largest)[::-1])
    return int(np.searchsorted(reached, count)) + 1


def fewest_inside(tree: Tree, level: int, finer: int, domains: Ints, *, sizes: Ints, count: int) -> Ints:
    """For each domain of a level, the fewest domains of a finer level inside it that reach a count.

    ``sizes`` are those of all domains of the finer level.
    """
    if not len(domains):
        return np.zeros(0, dtype=np.int64)
    first = tree.dom[finer][tree.start[level][domains]]
    last = tree.dom[finer][tree.end[level][domains] - 1] + 1
    low, high = int(first[0]), int(last[-1])
    most = min(int(sizes[low:high].max()), count)
    if most <= _FEW_SIZES and high - low <= 4 * int((last - first).sum()):
        return _by_size(sizes[low:high], first - low, last - low, most, count)
    widest = int((last - first).max())
    if widest > 1024 or widest * len(domains) > MOST_COUNTED:
        spans = zip(first.tolist(), last.tolist(), strict=True)
        return np.array([fewest(sizes[at:end], count) for at, end in spans], dtype=np.int64)
    columns = first[:, None] + np.arange(widest)
    inside = columns < last[:, None]
    rows = np.where(inside, sizes[np.where(inside, columns, 0)], 0)
    # No piece counts for more than the whole, so small numbers do, and those sort several times faster.
    lack: Ints = -np.minimum(rows, count)
    ordered = np.sort(lack.astype(np.int16), axis=1) if count < 1 << 15 else np.sort(lack, axis=1)
    reached = -np.cumsum(ordered, axis=1, dtype=np.int64)
    return np.asarray(np.sum(reached < count, axis=1, dtype=np.int64) + 1)


def fewest_domains(
    table: FitTable, level: int, finer: int, domains: Ints, *, count: int, most: int | None = None
) -> Ints:
    """For each domain of a level, how many of its domains of a finer level ``count`` pods need at least.

    Bounds above ``most`` are left rough; by default only the lowest are made exact.
    """
    tree = table.tree
    biggest = table.biggest_inside(level, finer)[domains]
    # Dividing in floating point is several times faster, and exact for counts of this size.
    rough = np.ceil(count / np.maximum(biggest, 1)).astype(np.int64)
    worth = int(rough.min(initial=count)) if most is None else most
    if worth > 1:
        # One domain, or domains that take one pod each, leave nothing to count more closely.
        close = np.flatnonzero((rough > 1) & (rough <= worth) & (biggest > 1))
        if len(close) * (len(tree) // tree.count(level) + 1) <= MOST_COUNTED:
            rough[close] = fewest_inside(
                tree, level, finer, domains[close], sizes=table.sums[finer], count=count
            )
    return rough


def fewest_pieces(capacities: Ints, prices: Ints | None, count: int) -> tuple[list[int], list[int]]:
    """The fewest pieces that together take ``count``: the largest ones, and as many with the least to spare.

    The second list swaps each large piece for the smallest one that still leaves enough, so that
    19, 10 and 10 serve 20 as 10 + 10 and the 19 stays whole. Both are in the order of filling.
    """
    sizes: list[int] = capacities.tolist()
    if len(sizes) > _FEW_PIECES:
        order = np.lexsort((-capacities,) if prices is None else (prices, -capacities)).tolist()
    elif prices is None:
        order = sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)
    else:
        price = prices.tolist()
        order = sorted(range(len(sizes)), key=lambda piece: (-sizes[piece], price[piece]))
    spare, pieces = -count, 0
    while spare < 0:
        spare += sizes[order[pieces]]
        pieces += 1
    largest, others = order[:pieces], order[pieces:]
    tightest = list(largest)
    negated = [-sizes[piece] for piece in others] if spare else []
    # Of equal pieces, the dearest and the last by path are swapped first.
    for i in sorted(range(len(largest)), key=lambda i: (-sizes[largest[i]], -i)) if spare else ():
        if not spare:
            break
        piece = largest[i]
        enough = bisect_right(negated, spare - sizes[piece])
        if enough and -negated[enough - 1] < sizes[piece]:
            # Of equal ones, the cheapest and then the first by path.
            at = bisect_left(negated, negated[enough - 1])
            spare -= sizes[piece] + negated[at]
            tightest[i] = others.pop(at)
            negated.pop(at)
    if prices is not None or tightest != largest:
        tightest.sort(key=lambda piece: (-sizes[piece], piece))
    return largest, tightest


def _by_size(sizes: Ints, first: Ints, last: Ints, most: int, count: int) -> Ints:
    """Take all pieces of the largest size, then of the next, until the count is reached."""
    capped = np.minimum(sizes, most).astype(np.int8)
    bounds = np.empty(2 * len(first), dtype=np.int64)
    bounds[0::2], bounds[1::2] = first, last
    # Sums from each bound to the next: every second one belongs to a domain, the others to the gaps.
    bounds = bounds[:-1] if last[-1] == len(sizes) else bounds
    left = np.full(len(first), count, dtype=np.int64)
    pieces = np.zeros(len(first), dtype=np.int64)
    for size in range(most, 0, -1):
        there = np.add.reduceat(capped == size, bounds, dtype=np.int64)[0::2]
        used = np.minimum(there, -(-left // size))
        pieces += used
        left = np.maximum(left - used * size, 0)
        if not left.any():
            break
    return pieces + (left > 0)


class MixedBound:
    """Counts over all shapes of a request together; computed when first asked for."""

    def __init__(self, compiled: CompiledRequest, free: Ints, *, counted: bool = True) -> None:
        """Unless ``counted``, only sums over the shapes are known."""
        self._counted = counted
        self._compiled = compiled
        self._free = free
        self._sums: dict[tuple[int, int], NDArray[np.float64]] = {}

    @cached_property
    def fit(self) -> Ints:
        """By position, the most pods that the node takes in any mix."""
        compiled = self._compiled
        if len(compiled.tables) == 1:
            return compiled.tables[0].fit
        each = np.sum([table.fit for table in compiled.tables], axis=0)
        for row, *units in zip(compiled.rows, *compiled.demand, strict=True):
            if min(units) and self._counted:
                np.minimum(each, self._free[row, compiled.tree.slots].clip(0) // min(units), out=each)
        return np.asarray(each, dtype=np.int64)

    @cached_property
    def total(self) -> int:
        """The most pods that the cluster takes in any mix."""
        return int(self.fit.sum())

    def lacking(self, asked: list[int], *, closely: bool = True) -> int:
        """For how many of the pods asked for, by shape, the cluster has no room; ``closely`` in any mix."""
        tables = self._compiled.tables
        short = sum(max(count - table.total, 0) for table, count in zip(tables, asked, strict=True))
        return max(short, sum(asked) - self.total) if closely and len(tables) > 1 else short

    def sums(self, level: int) -> Ints:
        """By domain of a level, the most pods that it takes in any mix."""
        tree = self._compiled.tree
        if len(self._compiled.tables) == 1:
            return self._compiled.tables[0].sums[level]
        if level == tree.depth or not len(tree):
            return self.fit
        summed: Ints = np.add.reduceat(self.fit, tree.start[level])
        return summed

    def amounts(self, pods: list[int], level: int) -> Iterator[tuple[Ints, int]]:
        """By resource: what each domain of a level has for so many pods, by shape, and what they take in all.

        Where amounts are large, both are shares of what the pods take, and those of domains rounded up.
        Of a resource that pods of all shapes take as much of, counting pods says more.
        """
        compiled = self._compiled
        for row, *units in zip(compiled.rows, *compiled.demand, strict=True):
            taken = sum(count * each for count, each in zip(pods, units, strict=True))
            if not taken or len(set(units)) == 1 or not self._counted:
                continue
            free = self._free_sums(row, level)
            if taken <= _MOST_UNITS:
                yield np.minimum(free, taken).astype(np.int64), taken
            else:
                shares = np.minimum(free / float(taken), 1) * (_MOST_UNITS * (1 + 1e-9))
                yield np.ceil(shares).astype(np.int64), _MOST_UNITS

    def _free_sums(self, row: int, level: int) -> NDArray[np.float64]:
        """By domain of a level, what is free of a resource on nodes that take any pod of the request."""
        tree = self._compiled.tree
        if (row, level) not in self._sums:
            # Sums in floating point cannot overflow.
            free = np.where(self.fit > 0, self._free[row, tree.slots].clip(0), 0).astype(np.float64)
            whole = level == tree.depth or not len(tree)
            self._sums[row, level] = free if whole else np.add.reduceat(free, tree.start[level])
        return self._sums[row, level]


@dataclass(frozen=True, slots=True)
class Batch:
    """So many groups, each of at least so many pods of one shape, each in one domain of a level."""

    level: int
    shape: int
    size: int
    count: int

    def takes(self, compiled: CompiledRequest, level: int) -> Ints:
        """By domain of a level, not finer than the batch's own: how many such groups it takes."""
        tree = compiled.tree
        whole = compiled.tables[self.shape].sums[self.level] // self.size * tree.real[self.level]
        if level < 0:
            return np.array([whole.sum()])
        if level == self.level or not len(tree):
            return np.asarray(whole)
        return np.asarray(np.add.reduceat(whole, tree.dom[self.level][tree.start[level]]))


def batches(group: GroupVar, members: Sequence[Part] | None = None) -> list[Batch]:
    """The batches that every placement of a group has to place, the group itself not counted.

    With ``members``, those that it has to place if just these members are formed.
    """
    sizes: dict[tuple[int, int], list[int]] = {}
    inside = (
        certain(group)[1:]
        if members is None
        else [inner for part in members if isinstance(part, GroupVar) for inner in certain(part)]
    )
    for inner in inside:
        wanted = [(shape, need) for shape, need in enumerate(inner.need) if need]
        # A group inside another that is counted already would be counted twice.
        if inner.required >= 0 and not inner.bound and not _nested(inner, group):
            for shape, need in wanted:
                sizes.setdefault((inner.required, shape), []).append(need)
    found = []
    for (level, shape), needs in sorted(sizes.items()):
        for size in sorted(set(needs)):
            count = sum(need >= size for need in needs)
            if count > 1:
                found.append(Batch(level, shape, size, count))
    return found


def certain(group: GroupVar) -> list[GroupVar]:
    """A group and all groups inside it that every placement of it has to form, parents first."""
    found = [group]
    if len(group.members) <= group.least:
        for part in group.members:
            if isinstance(part, GroupVar):
                found.extend(certain(part))
    return found


def _nested(inner: GroupVar, outer: GroupVar) -> bool:
    """Whether a group between the two requires the same level as the inner one."""
    above = inner.parent
    while above is not None and above is not outer:
        if above.required == inner.required:
            return True
        above = above.parent
    return False
