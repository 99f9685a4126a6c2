"""The nodes of a component, prepared for an exact layout, and bounds on what is left while they are walked.

Bounds say what the nodes still to be walked take at most, and what the pods still to be placed cost at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from closeknit.engine.budget import OutOfBudgetError
from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.component import Component, Item
from closeknit.engine.tree import Ints

Pattern = tuple[int, ...]
"""A number of pods for each item."""
MOST_NODES = 256
"""Above this many nodes an exact layout is not tried."""
FEW_NODES = 64
"""Above this many, only where there is no layout yet: finding a better one would take too long."""


@dataclass(frozen=True, slots=True)
class Fee:
    """What each domain of a level costs the items that have to pay for using it."""

    level: int
    weight: int
    payers: AbstractSet[int]
    """The numbers of those items."""
    paid: AbstractSet[int]
    """Domains that are in use anyway, so that using them costs nothing."""
    extra: Ints | None = None
    """By domain, what it costs above the weight; None if nothing."""
    unit: int = 0
    """What one of these costs."""

    def price(self, domain: int) -> int:
        """What a domain costs that is not paid."""
        return self.weight if self.extra is None else self.weight + self.extra.item(domain) * self.unit


@dataclass(frozen=True, slots=True)
class LayoutNode:
    """A node, in the terms of an exact layout."""

    position: int
    free: tuple[int, ...]
    fits: tuple[int, ...]
    """Per item, how many it takes by itself."""
    domains: tuple[int, ...]
    """Per fee, the domain of its level."""
    paid: tuple[bool, ...]
    """Per fee, whether that domain costs nothing."""
    prices: tuple[int, ...]
    """Per fee, what that domain costs unless it is paid."""


def layout_nodes(
    compiled: CompiledRequest, free: Ints, component: Component, fees: Sequence[Fee], *, most: int
) -> list[LayoutNode]:
    """The nodes that take any of a component's pods, in walking order.

    Raises ``OutOfBudgetError`` where there are more than ``most`` of them.
    """
    tree = compiled.tree
    start, end = tree.bounds(component.level, component.domain)
    shapes = {item.shape for item in component.items}
    useful = np.any([compiled.tables[shape].fit[start:end] > 0 for shape in shapes], axis=0)
    positions = (np.flatnonzero(useful) + start).tolist()
    if len(positions) > most:
        raise OutOfBudgetError
    nodes = []
    for position in positions:
        slot = int(tree.slots[position])
        domains = tuple(int(tree.dom[fee.level][position]) for fee in fees)
        nodes.append(
            LayoutNode(
                position,
                free=tuple(max(int(free[row, slot]), 0) for row in compiled.rows),
                fits=tuple(
                    min(int(compiled.tables[item.shape].fit[position]), item.open)
                    if item.first <= position < item.last
                    else 0
                    for item in component.items
                ),
                domains=domains,
                paid=tuple(domain in fee.paid for fee, domain in zip(fees, domains, strict=True)),
                prices=tuple(fee.price(domain) for fee, domain in zip(fees, domains, strict=True)),
            )
        )
    return _in_walking_order(nodes, 0, finest(fees))


def finest(fees: Sequence[Fee]) -> int:
    """The place of the fee for nodes; those before it are for the levels around them, coarsest first."""
    return max(range(len(fees)), key=lambda i: fees[i].level)


def _in_walking_order(nodes: list[LayoutNode], at: int, last: int) -> list[LayoutNode]:
    """Domains kept together, those in use and the roomiest first, so that a good layout is found first."""
    if at == last:
        return sorted(
            nodes,
            key=lambda node: (not node.paid[at], tuple(-fit for fit in node.fits), node.free, node.position),
        )
    parts: dict[int, list[LayoutNode]] = {}
    for node in nodes:
        parts.setdefault(node.domains[at], []).append(node)

    def rank(part: tuple[int, list[LayoutNode]]) -> tuple[bool, list[int], int]:
        domain, inside = part
        room = [-sum(fits) for fits in zip(*(node.fits for node in inside), strict=True)]
        return (not inside[0].paid[at], room, domain)

    ordered = sorted(parts.items(), key=rank)
    return [node for _, inside in ordered for node in _in_walking_order(inside, at + 1, last)]


class LookAhead:
    """Bounds for every suffix of a walk over nodes, counted once from the last node to the first."""

    def __init__(
        self,
        items: Sequence[Item],
        nodes: list[LayoutNode],
        demand: list[list[int]],
        fees: Sequence[Fee],
        left_out: int,
    ) -> None:
        self._nodes = nodes
        self._demand = demand
        """Per item, what one of its pods takes."""
        self._fees = fees
        self._left_out = left_out
        """What a pod left out costs."""
        self._spare = tuple(item.open - item.need for item in items)
        self._mixes = self._make_mixes()
        self._finest = finest(fees)
        self._count()

    def _make_mixes(self) -> list[tuple[list[int], list[int]]]:
        """Sets of items, each with the least that any of its pods takes.

        A node holds no more pods of the set than it would hold of that.
        All items together make one set, and those that ask for the same resource another.
        """
        sets = {tuple(range(len(self._demand)))}
        for row in range(len(self._demand[0])):
            sets.add(tuple(i for i, demand in enumerate(self._demand) if demand[row]))
        return [
            (
                list(members),
                [min(amounts) for amounts in zip(*(self._demand[i] for i in members), strict=True)],
            )
            for members in sorted(sets)
            if len(members) > 1
        ]

    def _count(self) -> None:
        """Count, for each suffix of the walk, what it can take at most."""
        nodes, nothing = self._nodes, [0] * len(self._demand)
        count, fees = len(nodes), range(len(self._fees))
        self._reach = [nothing] * (count + 1)
        self._best = [[nothing for _ in fees] for _ in range(count + 1)]
        """Per fee and item, the most that one domain takes."""
        self._gratis = [[0 for _ in fees] for _ in range(count + 1)]
        """Per fee, the domains that cost nothing."""
        self._total = [[0] * len(self._demand[0])] * (count + 1)
        self.next_other = [count] * (count + 1)
        """By node, the next one that differs from it."""
        self._mixed = [[0] * len(self._mixes) for _ in range(count + 1)]
        self._mixed_best = [[0] * len(self._mixes) for _ in range(count + 1)]
        running = [nothing for _ in fees]
        for i in range(count - 1, -1, -1):
            node, after = nodes[i], nodes[i + 1] if i + 1 < count else None
            self._reach[i] = _sum(self._reach[i + 1], node.fits)
            self._total[i] = _sum(self._total[i + 1], node.free)
            for at, (members, least) in enumerate(self._mixes):
                together = sum(node.fits[item] for item in members)
                if together:
                    together = min([together, *(f // u for f, u in zip(node.free, least, strict=True) if u)])
                self._mixed[i][at] = self._mixed[i + 1][at] + together
                self._mixed_best[i][at] = max(self._mixed_best[i + 1][at], together)
            same = [after is not None and after.domains[fee] == node.domains[fee] for fee in fees]
            for fee in fees:
                running[fee] = _sum(running[fee] if same[fee] else nothing, node.fits)
                self._best[i][fee] = list(map(max, self._best[i + 1][fee], running[fee]))
                self._gratis[i][fee] = self._gratis[i + 1][fee] + (node.paid[fee] and not same[fee])
            same[self._finest] = True
            twin = (
                after is not None
                and all(same)
                and (after.fits, after.free, after.paid, after.prices)
                == (node.fits, node.free, node.paid, node.prices)
            )
            self.next_other[i] = self.next_other[i + 1] if twin else i + 1

    def bound(self, at: int, remaining: Pattern, is_open: tuple[bool, ...]) -> int | None:
        """What placing the rest costs at least; None where it cannot be placed.

        ``is_open`` tells, per fee, whether the domain of the node at hand is in use.
        """
        must = [max(left - spare, 0) for left, spare in zip(remaining, self._spare, strict=True)]
        reach = self._reach[at]
        left_out = 0
        for need, left, most in zip(must, remaining, reach, strict=True):
            if need > most:
                return None
            left_out += max(left - most, 0)
        hosts = 0
        for (members, _), most, best_of in zip(
            self._mixes, self._mixed[at], self._mixed_best[at], strict=True
        ):
            need = sum(must[item] for item in members)
            if need > most:
                return None
            left_out = max(left_out, sum(remaining[item] for item in members) - most)
            if need:
                hosts = max(hosts, -(-need // best_of))
        cost = left_out * self._left_out
        if not any(must):
            return cost
        for row, total in enumerate(self._total[at]):
            if sum(need * demand[row] for need, demand in zip(must, self._demand, strict=True)) > total:
                return None
        for i, fee in enumerate(self._fees):
            best = self._best[at][i]
            pieces = max((-(-must[item] // best[item]) for item in fee.payers if must[item]), default=0)
            if i == self._finest:
                pieces = max(pieces, hosts)
            gratis = self._gratis[at][i] + (is_open[i] and not self._nodes[at].paid[i])
            cost += max(pieces - gratis, 0) * fee.weight
        return cost


def _sum(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x + y for x, y in zip(a, b, strict=True)]
