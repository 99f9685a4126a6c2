"""The nodes of a component, prepared for an exact layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit.engine.budget import OutOfBudgetError
from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.component import Component
from closeknit.engine.tree import Ints

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
