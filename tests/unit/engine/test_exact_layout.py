"""Exact layouts against trying everything."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from closeknit.engine.budget import OutOfBudgetError, Steps
from closeknit.engine.component import Item
from closeknit.engine.exact_layout import ExactLayout
from closeknit.engine.exact_nodes import LayoutNode, Weights

ANY = 1 << 60
# Pods left out weigh more than colors, those more than racks, and racks more than nodes.
WEIGHTS = Weights(10**9, (10**3, 1), (10**6,))


def some_packing(rng: Random) -> tuple[list[Item], list[LayoutNode], list[list[int]]]:
    """Up to three shapes on up to four nodes in two racks; some pods are above the minimum, one item may be colored."""
    demand = [[rng.randrange(1, 4), rng.randrange(3)] for _ in range(rng.randrange(1, 4))]
    nodes = []
    racks = sorted(rng.randrange(2) for _ in range(rng.randrange(1, 5)))
    items = []
    for shape in range(len(demand)):
        total = rng.randrange(1, 4)
        first = rng.choice([0, 0, 1])
        colors = (0,) if shape == 0 and rng.random() < 0.4 else ()
        items.append(Item(shape, rng.randrange(total + 1), total, first, len(racks), colors))
    paid_racks = {rack: rng.random() < 0.2 for rack in (0, 1)}
    for position, rack in enumerate(racks):
        free = (rng.randrange(7), rng.randrange(5))
        fits = tuple(
            min([item.open, *(f // u for f, u in zip(free, demand[item.shape], strict=True) if u)])
            if item.first <= position < item.last
            else 0
            for item in items
        )
        paid = (paid_racks[rack], paid_racks[rack] and rng.random() < 0.5)
        nodes.append(LayoutNode(position, free, fits, (rack,), paid, (rack,), (paid_racks[rack],)))
    return items, nodes, demand


def cost_of(items: list[Item], nodes: list[LayoutNode], takes: tuple[tuple[int, ...], ...]) -> int:
    """What a layout costs, counted plainly; ``takes`` says per node how many of each item."""
    placed = [sum(counts) for counts in zip(*takes, strict=True)]
    cost: int = sum(item.open - done for item, done in zip(items, placed, strict=True)) * WEIGHTS.left_out
    used = [node for node, take in zip(nodes, takes, strict=True) if any(take)]
    racks = {node.domains[0]: node.paid[0] for node in used}
    cost += sum(not paid for paid in racks.values()) * WEIGHTS.levels[0]
    cost += sum(not node.paid[1] for node in used) * WEIGHTS.levels[1]
    colored = {
        node.color_domains[0]: node.color_paid[0]
        for node, take in zip(nodes, takes, strict=True)
        if any(count and item.colors for item, count in zip(items, take, strict=True))
    }
    cost += sum(not paid for paid in colored.values()) * WEIGHTS.colors[0]
    return cost


def cheapest(items: list[Item], nodes: list[LayoutNode], demand: list[list[int]]) -> int | None:
    """The least cost of all layouts, by trying them all."""
    best = None
    options = []
    for node in nodes:
        fitting = [
            take
            for take in product(*(range(fit + 1) for fit in node.fits))
            if all(
                sum(count * demand[item.shape][row] for item, count in zip(items, take, strict=True)) <= free
                for row, free in enumerate(node.free)
            )
        ]
        options.append(fitting)
    for takes in product(*options):
        placed = [sum(counts) for counts in zip(*takes, strict=True)]
        if all(item.need <= done <= item.open for item, done in zip(items, placed, strict=True)):
            cost = cost_of(items, nodes, takes)
            best = cost if best is None else min(best, cost)
    return best


@pytest.mark.parametrize("batch", range(10))
def test_the_cheapest_layout_is_found(batch: int) -> None:
    for seed in range(batch * 60, batch * 60 + 60):
        items, nodes, demand = some_packing(Random(seed))
        want = cheapest(items, nodes, demand)
        packing = ExactLayout(items, nodes, demand, WEIGHTS, Steps(10**6), most_steps=10**6)

        found = packing.best(ANY)

        assert (found[0] if found is not None else None) == want, seed
        if found is not None:
            takes = dict(found[1])
            nothing = (0,) * len(items)
            laid_out = tuple(takes.get(node.position, nothing) for node in nodes)
            assert cost_of(items, nodes, laid_out) == want, seed
            assert packing.best(found[0]) is None, seed


def test_a_packing_stops_when_its_steps_are_used_up() -> None:
    items, nodes, demand = some_packing(Random(3))

    with pytest.raises(OutOfBudgetError):
        ExactLayout(items, nodes, demand, WEIGHTS, Steps(0), most_steps=10**6).best(ANY)
