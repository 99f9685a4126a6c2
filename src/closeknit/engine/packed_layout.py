"""Laying out pods on nodes that they nearly fill, by patterns handed out to the items of a component."""

from __future__ import annotations

import numpy as np

from closeknit.engine.budget import Steps
from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.component import Component
from closeknit.engine.exact_layout import LOOKS_A_STEP
from closeknit.engine.node_packing import Demand, Packing
from closeknit.engine.tree import Ints

_MOST_NODES = 4096
"""Above this many nodes, pods are not packed."""
_MOST_SHAPES = 12


def packed(
    compiled: CompiledRequest, free: Ints, component: Component, steps: Steps
) -> list[tuple[Ints, Ints]] | None:
    """Positions and counts of each item of a component; None where what is needed was not placed."""
    tree, items = compiled.tree, component.items
    start, end = tree.bounds(component.level, component.domain)
    shapes = sorted({item.shape for item in items})
    if end - start > _MOST_NODES or len(shapes) > _MOST_SHAPES:
        return None
    left = free[compiled.rows][:, tree.slots[start:end]].clip(0).T
    demand = np.array([compiled.demand[shape] for shape in shapes], dtype=np.int64)
    usable = np.zeros((end - start, len(shapes)), dtype=np.int64)
    for item in items:
        column = usable[item.first - start : item.last - start, shapes.index(item.shape)]
        column[:] = compiled.tables[item.shape].fit[item.first : item.last]
    asked, needed = [item.open for item in items], [item.need for item in items]
    demands = _demands(component, shapes, asked, start)
    packing = Packing(left, demand, usable, demands, most_looks=steps.left * LOOKS_A_STEP)
    packing.fill()
    takes = _handed_out(component, packing.counts, shapes, start)
    if takes is None and asked != needed:
        # Not all found room. Those that must have it take it from the others.
        packing.ask(_demands(component, shapes, needed, start))
        packing.fill()
        takes = _handed_out(component, packing.counts, shapes, start)
    steps.count(packing.looks // LOOKS_A_STEP)
    return takes


def _demands(component: Component, shapes: list[int], wanted: list[int], start: int) -> list[Demand]:
    """What must find room in each domain that something is confined to, the narrowest first."""
    homes = sorted({(item.first, item.last) for item in component.items}, key=lambda at: (at[1] - at[0], at))
    found = []
    for first, last in homes:
        pods = np.zeros(len(shapes), dtype=np.int64)
        for item, number in zip(component.items, wanted, strict=True):
            if first <= item.first and item.last <= last:
                pods[shapes.index(item.shape)] += number
        found.append(Demand(first - start, last - start, pods))
    return found


def _handed_out(
    component: Component, counts: Ints, shapes: list[int], start: int
) -> list[tuple[Ints, Ints]] | None:
    """Give the room on nodes to items, first what each needs; None where one lacks that."""
    items = component.items
    takes = np.zeros((len(items), len(counts)), dtype=np.int64)
    narrowest = sorted(range(len(items)), key=lambda i: (items[i].last - items[i].first, i))
    for column, shape in enumerate(shapes):
        mine = [i for i in narrowest if items[i].shape == shape]
        inside = {
            at: [i for i in mine if items[at].first <= items[i].first and items[i].last <= items[at].last]
            for at in mine
        }
        """By item, those that lie in the domain that it is confined to."""
        left = counts[:, column].copy()
        room = {at: int(left[items[at].first - start : items[at].last - start].sum()) for at in mine}
        given = {i: items[i].need for i in mine}
        if any(sum(given[i] for i in inside[at]) > room[at] for at in mine):
            return None
        for i in mine:
            spare = min(room[at] - sum(given[j] for j in inside[at]) for at in mine if i in inside[at])
            given[i] += min(spare, items[i].open - items[i].need)
        for i in mine:
            here = left[items[i].first - start : items[i].last - start]
            taken = np.clip(given[i] - np.cumsum(here) + here, 0, here)
            here -= taken
            takes[i, items[i].first - start : items[i].last - start] = taken
    return [(np.flatnonzero(row) + start, row[row > 0]) for row in takes]
