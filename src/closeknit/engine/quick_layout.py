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
from closeknit.engine.count_bounds import MOST_COUNTED, fewest_inside
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
        first, last = self._tree.span(level, domain, level + 1)
        capacities = self._left.capacities(shape, level + 1, first, last)
        in_use = self._left.in_use(level + 1, first, last)
        order = self._settled(shape, level + 1, first, capacities, in_use)
        fill = partial(self._fill_in_order, shape, level + 1, first, capacities)
        rest = count - int(capacities[in_use].sum())
        if rest <= 0:
            return fill(order=order, count=count)
        others = np.where(in_use, 0, capacities)
        whole = np.flatnonzero(others >= rest)
        if len(whole):
            one = self._best_child(shape, level + 1, first, whole, capacities=others, count=rest)
            return fill(order=[*order, one], count=count)
        largest, tightest = fewest_pieces(others, self._prices(shape, level + 1, first, last), rest)
        plan = fill(order=[*order, *tightest], count=count)
        if tightest != largest and self._tree.count(level + 1) < len(self._tree):
            other = fill(order=[*order, *largest], count=count)
            if (other.fresh, other.waste) < (plan.fresh, plan.waste):
                return other
        return plan

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

    def _best_child(
        self, shape: int, level: int, first: int, children: Ints, *, capacities: Ints, count: int
    ) -> int:
        """Of children that each take everything, the one with the fewest pieces, then the tightest."""
        if len(children) > 1:
            table = self._compiled.tables[shape]
            tree = self._tree
            for finer in range(level + 1, tree.depth + 1):
                biggest = table.biggest_inside(level, finer)[first + children]
                children = _least(children, -(-count // np.maximum(biggest, 1)))
                if count > 1 and len(children) * (len(tree) // tree.count(level) + 1) <= MOST_COUNTED:
                    exact = fewest_inside(
                        tree, level, finer, first + children, sizes=table.sums[finer], count=count
                    )
                    children = _least(children, exact)
            prices = self._prices(shape, level, first, first + len(capacities))
            if prices is not None:
                children = _least(children, prices[children])
            children = _least(children, capacities[children])
        return int(children[0])

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


def _least(items: Ints, keys: Ints) -> Ints:
    """Those with the smallest key."""
    kept: Ints = items[keys == keys.min()]
    return kept


def fewest_pieces(capacities: Ints, prices: Ints | None, count: int) -> tuple[list[int], list[int]]:
    """The fewest pieces that together take ``count``: the largest ones, and as many with the least to spare.

    The second list swaps each large piece for the smallest one that still leaves enough, so that
    19, 10 and 10 serve 20 as 10 + 10 and the 19 stays whole. Both are in the order of filling.
    """
    keys = (-capacities,) if prices is None else (prices, -capacities)
    order = np.lexsort(keys)
    reached = np.cumsum(capacities[order])
    pieces = int(np.searchsorted(reached, count)) + 1
    largest = order[:pieces].tolist()
    spare = int(reached[pieces - 1]) - count
    others = order[pieces:]
    negated = -capacities[others]
    tightest = list(largest)
    for i, piece in enumerate(largest):
        if not spare:
            break
        enough = int(np.searchsorted(negated, spare - capacities[piece], side="right"))
        if enough and -negated[enough - 1] < capacities[piece]:
            # Of equal ones, the cheapest and then the first by path.
            at = int(np.searchsorted(negated, negated[enough - 1]))
            spare -= int(capacities[piece] + negated[at])
            tightest[i] = int(others[at])
            others, negated = np.delete(others, at), np.delete(negated, at)
    tightest.sort(key=lambda piece: (-int(capacities[piece]), piece))
    return largest, tightest
