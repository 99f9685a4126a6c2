"""The nodes of a component, prepared for an exact layout, and bounds on what is left while they are walked.

Bounds say what the nodes still to be walked take at most, and what the pods still to be placed cost at least.
"""

from __future__ import annotations

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
class LayoutNode:
    """A node, in the terms of an exact layout."""

    position: int
    free: tuple[int, ...]
    fits: tuple[int, ...]
    """Per item, how many it takes by itself."""
    domains: tuple[int, ...]
    """The domain at each level walked, coarsest first; the node itself is not among them."""
    paid: tuple[bool, ...]
    """Which of those domains are in use anyway, so that using them costs nothing; last, the node itself."""
    color_domains: tuple[int, ...]
    """Per color, the domain of its level."""
    color_paid: tuple[bool, ...]


def layout_nodes(
    compiled: CompiledRequest, free: Ints, component: Component, *, in_use: list[set[int]], most: int
) -> list[LayoutNode]:
    """The nodes that take any of a component's pods; ``in_use`` lists, by level, domains that cost nothing.

    Raises ``OutOfBudgetError`` where there are more than ``most`` of them.
    """
    tree = compiled.tree
    start, end = tree.bounds(component.level, component.domain)
    useful = np.zeros(end - start, dtype=np.bool_)
    for shape in sorted({item.shape for item in component.items}):
        useful |= compiled.tables[shape].fit[start:end] > 0
    positions = (np.flatnonzero(useful) + start).tolist()
    if len(positions) > most:
        raise OutOfBudgetError
    walked = range(component.level + 1, tree.depth)
    nodes = []
    for position in positions:
        slot = int(tree.slots[position])
        domains = tuple(int(tree.dom[m][position]) for m in walked)
        color_domains = tuple(int(tree.dom[color.level][position]) for color in component.colors)
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
                paid=(
                    *(domain in in_use[m] for m, domain in zip(walked, domains, strict=True)),
                    position in in_use[tree.depth],
                ),
                color_domains=color_domains,
                color_paid=tuple(
                    domain in color.running
                    for color, domain in zip(component.colors, color_domains, strict=True)
                ),
            )
        )
    return _in_walking_order(nodes, 0, len(walked))


def _in_walking_order(nodes: list[LayoutNode], level: int, levels: int) -> list[LayoutNode]:
    """Domains kept together, those in use and the roomiest first, so that a good layout is found first."""
    if level == levels:
        return sorted(
            nodes,
            key=lambda node: (not node.paid[-1], tuple(-fit for fit in node.fits), node.free, node.position),
        )
    parts: dict[int, list[LayoutNode]] = {}
    for node in nodes:
        parts.setdefault(node.domains[level], []).append(node)

    def rank(part: tuple[int, list[LayoutNode]]) -> tuple[bool, list[int], int]:
        domain, inside = part
        room = [-sum(fits) for fits in zip(*(node.fits for node in inside), strict=True)]
        return (not inside[0].paid[level], room, domain)

    ordered = sorted(parts.items(), key=rank)
    return [node for _, inside in ordered for node in _in_walking_order(inside, level + 1, levels)]


@dataclass(frozen=True, slots=True)
class Weights:
    """What each thing costs."""

    left_out: int
    levels: tuple[int, ...]
    """Per level walked, for a domain that comes into use; last, for a node."""
    colors: tuple[int, ...]
    """Per color, for a domain of its level that it comes to use."""


class LookAhead:
    """Bounds for every suffix of a walk over nodes, counted once from the last node to the first."""

    def __init__(
        self, items: list[Item], nodes: list[LayoutNode], demand: list[list[int]], weights: Weights
    ) -> None:
        self._items = items
        self._nodes = nodes
        self._demand = demand
        """Per item, what one of its pods takes."""
        self._weights = weights
        self._spare = tuple(item.open - item.need for item in items)
        self._mixes = self._make_mixes()
        self._count()

    def _make_mixes(self) -> list[tuple[list[int], list[int]]]:
        """Sets of items, each with the least that any of its pods takes.

        A node holds no more pods of the set than it would hold of that.
        All items together make one set, and those that ask for the same resource another.
        """
        sets = {tuple(range(len(self._items)))}
        for row in range(len(self._demand[0]) if self._items else 0):
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
        nodes, items = self._nodes, self._items
        count, levels = len(nodes), len(self._weights.levels) - 1
        self._reach = [[0] * len(items) for _ in range(count + 1)]
        self._best = [[[0] * len(items) for _ in range(levels + 1)] for _ in range(count + 1)]
        self._gratis = [[0] * (levels + 1) for _ in range(count + 1)]
        self._total = [[0] * len(self._demand[0]) for _ in range(count + 1)] if items else []
        self.next_other = [count] * (count + 1)
        """By node, the next one that differs from it."""
        self._mixed = [[0] * len(self._mixes) for _ in range(count + 1)]
        self._mixed_best = [[0] * len(self._mixes) for _ in range(count + 1)]
        running = [[0] * len(items) for _ in range(levels)]
        for i in range(count - 1, -1, -1):
            node, after = nodes[i], nodes[i + 1] if i + 1 < count else None
            self._reach[i] = [a + b for a, b in zip(self._reach[i + 1], node.fits, strict=True)]
            self._total[i] = [a + b for a, b in zip(self._total[i + 1], node.free, strict=True)]
            for at, (members, least) in enumerate(self._mixes):
                together = sum(node.fits[item] for item in members)
                if together:
                    together = min([together, *(f // u for f, u in zip(node.free, least, strict=True) if u)])
                self._mixed[i][at] = self._mixed[i + 1][at] + together
                self._mixed_best[i][at] = max(self._mixed_best[i + 1][at], together)
            for level in range(levels):
                same = after is not None and after.domains[: level + 1] == node.domains[: level + 1]
                kept = running[level] if same else [0] * len(items)
                running[level] = [a + b for a, b in zip(kept, node.fits, strict=True)]
                self._best[i][level] = [
                    max(a, b) for a, b in zip(self._best[i + 1][level], running[level], strict=True)
                ]
                self._gratis[i][level] = self._gratis[i + 1][level] + (node.paid[level] and not same)
            self._best[i][levels] = [
                max(a, b) for a, b in zip(self._best[i + 1][levels], node.fits, strict=True)
            ]
            self._gratis[i][levels] = self._gratis[i + 1][levels] + node.paid[levels]
            twin = (
                after is not None
                and after.fits == node.fits
                and after.free == node.free
                and after.domains == node.domains
                and after.paid == node.paid
                and after.color_domains == node.color_domains
            )
            self.next_other[i] = self.next_other[i + 1] if twin else i + 1

    def bound(self, at: int, remaining: Pattern, open_domains: tuple[bool, ...]) -> int | None:
        """What placing the rest costs at least; None where it cannot be placed."""
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
        if not any(must):
            return left_out * self._weights.left_out
        for row, total in enumerate(self._total[at]):
            if sum(need * demand[row] for need, demand in zip(must, self._demand, strict=True)) > total:
                return None
        cost = left_out * self._weights.left_out
        for level, weight in enumerate(self._weights.levels):
            best = self._best[at][level]
            pieces = max(-(-need // most) for need, most in zip(must, best, strict=True) if need)
            if level == len(open_domains):
                pieces = max(pieces, hosts)
            gratis = self._gratis[at][level] + (level < len(open_domains) and open_domains[level])
            cost += max(pieces - gratis, 0) * weight
        return cost
