"""The nodes of a component, prepared for an exact layout."""

from __future__ import annotations

import numpy as np

from closeknit.engine.budget import OutOfBudgetError, Steps
from closeknit.engine.component import Component
from closeknit.engine.pack import Packing, Site, Weights
from closeknit.engine.problem import Problem
from closeknit.engine.tree import Ints

MOST_SITES = 256
"""Above this many nodes an exact layout is not tried."""
FEW_SITES = 64
"""Above this many, only where there is no layout yet: finding a better one would take too long."""


def packing(
    problem: Problem,
    free: Ints,
    component: Component,
    *,
    weights: Weights,
    in_use: list[set[int]],
    most: int,
    steps: Steps,
) -> Packing:
    """State the layout of a component as a packing; ``in_use`` lists, by level, domains that cost nothing.

    Raises ``OutOfBudgetError`` where there are more than ``most`` nodes.
    """
    tree = problem.tree
    start, end = tree.bounds(component.level, component.domain)
    useful = np.zeros(end - start, dtype=np.bool_)
    for shape in sorted({item.shape for item in component.items}):
        useful |= problem.tables[shape].fit[start:end] > 0
    positions = (np.flatnonzero(useful) + start).tolist()
    if len(positions) > most:
        raise OutOfBudgetError
    walked = range(component.level + 1, tree.depth)
    sites = []
    for position in positions:
        slot = int(tree.slots[position])
        domains = tuple(int(tree.dom[m][position]) for m in walked)
        color_domains = tuple(int(tree.dom[color.level][position]) for color in component.colors)
        sites.append(
            Site(
                position,
                free=tuple(max(int(free[row, slot]), 0) for row in problem.rows),
                fits=tuple(
                    min(int(problem.tables[item.shape].fit[position]), item.open)
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
    ordered = _in_walking_order(sites, 0, len(walked))
    return Packing(list(component.items), ordered, problem.demand, weights, steps)


def _in_walking_order(sites: list[Site], level: int, levels: int) -> list[Site]:
    """Domains kept together, those in use and the roomiest first, so that a good layout is found first."""
    if level == levels:
        return sorted(
            sites, key=lambda s: (not s.paid[-1], tuple(-fit for fit in s.fits), s.free, s.position)
        )
    parts: dict[int, list[Site]] = {}
    for site in sites:
        parts.setdefault(site.domains[level], []).append(site)

    def rank(part: tuple[int, list[Site]]) -> tuple[bool, list[int], int]:
        domain, inside = part
        room = [-sum(fits) for fits in zip(*(site.fits for site in inside), strict=True)]
        return (not inside[0].paid[level], room, domain)

    ordered = sorted(parts.items(), key=rank)
    return [site for _, inside in ordered for site in _in_walking_order(inside, level + 1, levels)]
