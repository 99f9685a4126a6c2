"""Exact layouts against trying everything."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from closeknit.engine.budget import OutOfBudgetError, Steps
from closeknit.engine.component import Item
from closeknit.engine.exact_layout import ExactLayout
from closeknit.engine.exact_nodes import Fee, LayoutNode

# Pods left out weigh more than racks for the item that has a preference, those more than racks for all, and
# racks more than nodes.
LEFT_OUT = 10**9


def fees_of(items: list[Item]) -> list[Fee]:
    """Racks and nodes for all items, and racks once more for those with a color."""
    everyone = set(range(len(items)))
    colored = {i for i, item in enumerate(items) if item.colors}
    return [Fee(0, 10**3, everyone, set()), Fee(1, 1, everyone, set()), Fee(0, 10**6, colored, set())]


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
        paid = (paid_racks[rack], paid_racks[rack] and rng.random() < 0.5, paid_racks[rack])
        prices = (10**3 + rack, 1, 10**6)
        nodes.append(LayoutNode(position, free, fits, (rack, position, rack), paid, prices))
    return items, nodes, demand


def cost_of(items: list[Item], nodes: list[LayoutNode], takes: tuple[tuple[int, ...], ...]) -> int:
    """What a layout costs, counted plainly; ``takes`` says per node how many of each item."""
    placed = [sum(counts) for counts in zip(*takes, strict=True)]
    cost: int = sum(item.open - done for item, done in zip(items, placed, strict=True)) * LEFT_OUT
    for i, fee in enumerate(fees_of(items)):
        used = {
            node.domains[i]: 0 if node.paid[i] else node.prices[i]
            for node, take in zip(nodes, takes, strict=True)
            if any(take[item] for item in fee.payers)
        }
        cost += sum(used.values())
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


def layout_of(
    items: list[Item], nodes: list[LayoutNode], demand: list[list[int]], steps: Steps
) -> ExactLayout:
    return ExactLayout(items, nodes, demand, fees_of(items), steps, left_out=LEFT_OUT, most_steps=10**6)


@pytest.mark.parametrize("batch", range(10))
def test_the_cheapest_layout_is_found(batch: int) -> None:
    for seed in range(batch * 60, batch * 60 + 60):
        items, nodes, demand = some_packing(Random(seed))
        want = cheapest(items, nodes, demand)
        packing = layout_of(items, nodes, demand, Steps(10**6))

        found = packing.best()

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
        layout_of(items, nodes, demand, Steps(0)).best()


def test_what_was_found_before_the_steps_are_used_up_is_kept() -> None:
    """With fewer steps than needed there is no layout or a valid one that is not said to be the cheapest."""
    kept = 0
    for seed in range(60):
        items, nodes, demand = some_packing(Random(seed))
        enough = Steps(10**6)
        cheapest_found = layout_of(items, nodes, demand, enough).best()
        for most in range(1, enough.taken):
            steps = Steps(most)
            packing = layout_of(items, nodes, demand, steps)
            try:
                found = packing.best()
            except OutOfBudgetError:
                continue
            assert found is not None, seed
            assert cheapest_found is not None, seed
            takes = dict(found[1])
            laid_out = tuple(takes.get(node.position, (0,) * len(items)) for node in nodes)
            placed = [sum(counts) for counts in zip(*laid_out, strict=True)]
            assert all(item.need <= done <= item.open for item, done in zip(items, placed, strict=True)), seed
            assert cost_of(items, nodes, laid_out) == found[0] >= cheapest_found[0], seed
            assert not packing.complete, seed
            assert steps.taken == most + 1, seed
            kept += 1
    assert kept
