"""Placing pods of one shape after another into a domain, in as few pieces as a look at the counts allows.

The plans made here are good, not proven: largest pieces first, the last one the
tightest that fits. Whether a plan is as good as any is for the caller to
check against a bound.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.count_bounds import fewest_pieces
from closeknit.engine.equal_layout import EqualLayout
from closeknit.engine.tree import Flags, Ints


class Remaining:
    """Counts how many pods each domain still takes; the tables themselves stay as they are."""

    def __init__(self, compiled: CompiledRequest, free: Ints, in_use: list[set[int]]) -> None:
        self._compiled = compiled
        self._tree = compiled.tree
        self._free = free
        """Free amounts by ledger row and slot."""
        self.used = [set(domains) for domains in in_use]
        """By level, the domains in use by the request; the last entry lists positions."""
        self._left: dict[int, list[int]] = {}
        """By position in use, what is left of each of the request's rows."""
        levels = range(-1, self._tree.depth + 1)
        self._less = [{level: Counter[int]() for level in levels} for _ in compiled.tables]
        """By shape, level and domain, how many pods fewer it takes by now."""

    def capacity(self, shape: int, level: int, domain: int) -> int:
        """How many pods of a shape a domain still takes."""
        return self._compiled.tables[shape].capacity(level, domain) - self._less[shape][level][domain]

    def capacities(self, shape: int, level: int, first: int, last: int) -> Ints:
        """How many pods of a shape each of some domains of a level still takes."""
        room = self._compiled.tables[shape].sums[level][first:last]
        less = {domain: n for domain, n in self._less[shape][level].items() if first <= domain < last}
        if less:
            room = room.copy()
            room[np.array(list(less)) - first] -= list(less.values())
        return room

    def take(self, shape: int, position: int, count: int) -> None:
        """Put pods of a shape on a node."""
        compiled, tree = self._compiled, self._tree
        if position not in self._left:
            slot = int(tree.slots[position])
            self._left[position] = [int(self._free[row, slot]) for row in compiled.rows]
        left = self._left[position]
        for i, units in enumerate(compiled.demand[shape]):
            left[i] -= units * count
        for other, demand in enumerate(compiled.demand):
            before = self.capacity(other, tree.depth, position)
            room = min(amount // units for amount, units in zip(left, demand, strict=True) if units)
            now = max(min(room, before), 0)
            for level, less in self._less[other].items():
                less[tree.above(tree.depth, position, level)] += before - now
        for level, used in enumerate(self.used):
            used.add(int(tree.dom[level][position]))

    def in_use(self, level: int, first: int, last: int) -> Flags:
        """Which of some domains of a level are in use."""
        flags = np.zeros(last - first, dtype=np.bool_)
        flags[[domain - first for domain in self.used[level] if first <= domain < last]] = True
        return flags


@dataclass(slots=True)
class Plan:
    """Where pods of one shape would go."""

    fresh: tuple[int, ...]
    """How many domains come into use that were not, by level from below the planned domain to nodes."""
    waste: int
    """Pods of this shape for which the nodes used have room left."""
    pieces: list[tuple[Ints, Ints]]
    """Positions and counts."""


class QuickLayout:
    """Places pods of one shape after another and keeps count of what is left."""

    def __init__(self, compiled: CompiledRequest, free: Ints, in_use: list[set[int]]) -> None:
        self._compiled = compiled
        self._tree = compiled.tree
        self._left = Remaining(compiled, free, in_use)
        self.capacity = self._left.capacity

    def place(
        self, shape: int, home: tuple[int, int], count: int, pieces: list[tuple[Ints, Ints]], *, alone: bool
    ) -> None:
        """Lay out pods in a domain that has the capacity.

        ``alone`` says that nothing else will be placed, so that what is left need not be tracked.
        """
        if count:
            plan = self.plan(shape, *home, count)
            pieces.extend(plan.pieces)
            if not alone:
                for positions, counts in plan.pieces:
                    for position, taken in zip(positions.tolist(), counts.tolist(), strict=True):
                        self._left.take(shape, position, taken)

    def plan(self, shape: int, level: int, domain: int, count: int) -> Plan:
        """Lay out ``count`` pods inside a domain that has the capacity for them.

        Domains of the next level that are in use come first, then as few others as possible.
        """
        if level == self._tree.depth:
            node = np.array([domain], dtype=np.int64)
            return Plan((), 0, [(node, np.array([count], dtype=np.int64))])
        first, last = self._tree.span(level, domain, level + 1)
        capacities = self._left.capacities(shape, level + 1, first, last)
        in_use = self._left.in_use(level + 1, first, last)
        order = self._settled(shape, level + 1, first, capacities, in_use)
        fill = partial(self._fill_in_order, shape, level + 1, first, capacities)
        rest = count - int(capacities[in_use].sum())
        if rest <= 0:
            return fill(order=order, count=count)
        whole = self._whole(shape, level, domain, in_use, rest)
        if whole is not None:
            return fill(order=[*order, whole - first], count=count)
        others = np.where(in_use, 0, capacities)
        largest, tightest = fewest_pieces(others, self._prices(shape, level + 1, first, last), rest)
        plan = fill(order=[*order, *tightest], count=count)
        named = self._compiled.named
        if tightest != largest and level + 1 < named:
            # The largest are only better if they save domains of levels that are counted before the room.
            other = fill(order=[*order, *largest], count=count)
            if other.fresh[: named - level] < plan.fresh[: named - level]:
                return other
        return plan

    def _whole(self, shape: int, level: int, domain: int, in_use: Flags, count: int) -> int | None:
        """The unused domain of the next finer level for pods that one domain takes; None if none does."""
        tree, first = self._tree, self._tree.span(level, domain, level + 1)[0]

        def unused(at: int, low: int, high: int) -> Ints:
            capacities = self._left.capacities(shape, at, low, high)
            return np.where(in_use[tree.dom[level + 1][tree.start[at][low:high]] - first], 0, capacities)

        def room(at: int, domains: Ints) -> Ints:
            low, high = tree.span(level, domain, at)
            return self._left.capacities(shape, at, low, high)[domains - low]

        equal = EqualLayout(self._compiled.tables[shape], self._compiled.named)
        whole = equal.whole_domain(level, domain, count, unused, room)
        return None if whole is None else tree.above(*whole, level + 1)

    def _settled(self, shape: int, level: int, first: int, capacities: Ints, in_use: Flags) -> list[int]:
        """Domains in use, those first whose nodes in use take the most; nodes in use, the tightest first."""
        inside = np.flatnonzero(in_use & (capacities > 0)).tolist()
        if level == self._tree.depth:
            return sorted(inside, key=lambda node: (int(capacities[node]), node))
        open_nodes = dict.fromkeys(inside, 0)
        for position in self._left.used[self._tree.depth] if inside else ():
            child = int(self._tree.dom[level][position]) - first
            if child in open_nodes:
                open_nodes[child] += self.capacity(shape, self._tree.depth, position)
        return sorted(inside, key=lambda child: (-open_nodes[child], -int(capacities[child]), child))

    def _prices(self, shape: int, level: int, first: int, last: int) -> Ints | None:
        """The price of each domain's cheapest node that takes any pod."""
        appeal = self._compiled.tables[shape].appeal(level)
        return None if appeal is None else -appeal[first:last]

    def _fill_in_order(
        self, shape: int, level: int, first: int, capacities: Ints, *, order: list[int], count: int
    ) -> Plan:
        """Fill domains of a level in an order; ``first`` is the first of those with capacities."""
        if self._tree.count(level) == len(self._tree):
            return self._fill_nodes(level, first, capacities, np.array(order), count)
        fresh = [0] * (self._tree.depth + 1 - level)
        waste = 0
        pieces: list[tuple[Ints, Ints]] = []
        for child in order:
            share = min(count, int(capacities[child]))
            if not share:
                break
            count -= share
            domain = first + child
            fresh[0] += domain not in self._left.used[level]
            if share == int(capacities[child]):
                inner = self._all_of(shape, level, domain)
            else:
                inner = self.plan(shape, level, domain, share)
            for i, extra in enumerate(inner.fresh):
                fresh[i + 1] += extra
            waste += inner.waste
            pieces.extend(inner.pieces)
        return Plan(tuple(fresh), waste, pieces)

    def _fill_nodes(self, level: int, first: int, capacities: Ints, order: Ints, count: int) -> Plan:
        """The same for nodes, or for domains of one node each."""
        room = capacities[order]
        takes = np.clip(count - np.cumsum(room) + room, 0, room)
        taken = np.sort(order[takes > 0])
        counts = np.zeros_like(capacities)
        counts[order] = takes
        fresh = sum(first + node not in self._left.used[level] for node in taken.tolist())
        waste = int((room - takes)[takes > 0].sum())
        return Plan((fresh,) * (self._tree.depth + 1 - level), waste, [(taken + first, counts[taken])])

    def _all_of(self, shape: int, level: int, domain: int) -> Plan:
        """Use a domain to the last pod; no choice is left, so whole slices can be taken."""
        tree = self._tree
        start, end = tree.bounds(level, domain)
        counts = self._left.capacities(shape, tree.depth, start, end)
        taken = np.flatnonzero(counts)
        positions = taken + start
        fresh = []
        for finer in range(level + 1, tree.depth + 1):
            domains = np.unique(tree.dom[finer][positions]).tolist()
            fresh.append(sum(inner not in self._left.used[finer] for inner in domains))
        return Plan(tuple(fresh), 0, [(positions, counts[taken])])
