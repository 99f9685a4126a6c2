"""From decided domains to nodes: laying out what a search has confined to domains.

Each component is laid out by itself: quickly first, and where a bound says that
less might do and the component is small, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from closeknit.engine.budget import OutOfBudgetError, Steps
from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.component import Component, Item
from closeknit.engine.count_bounds import fewest
from closeknit.engine.exact_layout import ExactLayout
from closeknit.engine.exact_nodes import FEW_NODES, MOST_NODES, Weights, layout_nodes
from closeknit.engine.packed_layout import packed
from closeknit.engine.quick_layout import QuickLayout
from closeknit.engine.tree import Ints

_BITS = 24
"""Room for one count in a packed cost; more than any cluster has nodes."""
_TO_IMPROVE = 2_000
"""Steps that an exact layout may take where another will do."""
_TO_FIND = 5_000
"""Steps that an exact layout may take where no other is found, until somebody insists."""
_ANY_COST = 1 << 2048
"""More than any layout costs."""


@dataclass(slots=True)
class Layout:
    """Where one component's items go."""

    cost: int
    exact: bool
    """Whether no layout of the same items costs less."""
    takes: list[tuple[Ints, Ints]]
    """Per item: positions and counts."""


class Layouts:
    """Lays out components and remembers the results.

    Costs are whole numbers that compare like the list of wishes: one field of bits for each count.
    """

    def __init__(self, compiled: CompiledRequest, free: Ints) -> None:
        self._compiled = compiled
        self._free = free
        depth = compiled.tree.depth
        weights = [1 << (_BITS * i) for i in reversed(range(2 * depth + 2))]
        self._left_out = weights[0]
        self._preferences = weights[1 : 1 + depth]
        """By level, what a domain of a preferred level costs a group that shares none."""
        self._domains = weights[1 + depth :]
        """By level, what a domain that comes into use costs; last, a node."""
        self._in_use = [set(domains) for domains in compiled.tree.holding(compiled.root.bound)]
        """By level, the domains of running pods; using them costs nothing."""
        self._known: dict[Component, Layout | None] = {}
        self._undecided: set[Component] = set()
        """Those for which all that was tried was not enough."""
        self._to_find = _TO_FIND

    def lay_out(self, component: Component, steps: Steps) -> Layout | None:
        """The best layout found for a component, or None where none exists.

        Raises ``OutOfBudgetError`` where neither could be found out.
        """
        if component in self._known:
            return self._known[component]
        if component in self._undecided:
            raise OutOfBudgetError
        layout = None
        if not self._ruled_out(component):
            layout = self._quick(component)
            if layout is None or not layout.exact:
                layout = self._better(component, layout, steps)
        self._known[component] = layout
        return layout

    def insist(self) -> None:
        """From here on, give up no layout before the budget is used up."""
        self._undecided.clear()
        self._to_find = 1 << 60

    def _better(self, component: Component, quick: Layout | None, steps: Steps) -> Layout | None:
        """A layout at least as good as the quick one, or one where that found none."""
        start, end = self._compiled.tree.bounds(component.level, component.domain)
        packed = None
        if end - start > FEW_NODES and (quick is None or quick.cost >= self._left_out):
            packed = self._packed(component, steps)
        known = min(filter(None, (quick, packed)), key=attrgetter("cost"), default=None)
        try:
            return self._exactly(component, known, steps, _TO_IMPROVE)
        except OutOfBudgetError:
            if known is None and end - start <= FEW_NODES:
                known = self._packed(component, steps)
            if known is not None:
                return known
        try:
            return self._exactly(component, None, steps, self._to_find)
        except OutOfBudgetError:
            self._undecided.add(component)
            raise

    def fits(self, component: Component, steps: Steps) -> bool:
        """Whether a component can be laid out at all; raises like ``lay_out``."""
        if component in self._known:
            return self._known[component] is not None
        if self._ruled_out(component):
            return False
        # Any layout will do here; how good it can be is a question for the end of the search.
        return self._quick(component) is not None or self.lay_out(component, steps) is not None

    def _ruled_out(self, component: Component) -> bool:
        """Whether counts alone show that an item cannot get what it needs."""
        tables = self._compiled.tables
        return any(
            need > tables[shape].capacity(*home) for (shape, home), (need, _) in component.totals().items()
        )

    def _quick(self, component: Component) -> Layout | None:
        """Lay out items in turn, the most confined and the bulkiest first; None where one is stuck."""
        items, homes = component.items, component.homes
        quick = QuickLayout(self._compiled, self._free, self._in_use)
        pieces: list[list[tuple[Ints, Ints]]] = [[] for _ in items]
        alone = len(items) == 1
        order = sorted(
            range(len(items)), key=lambda i: (items[i].last - items[i].first, -self._bulk(items[i]), i)
        )
        needed = [(i, 0 if alone else items[i].need) for i in order]
        extra = [(i, items[i].open - (0 if alone else items[i].need)) for i in order]
        for i, count in needed:
            if quick.capacity(items[i].shape, *homes[i]) < count:
                return None
            quick.place(items[i].shape, homes[i], count, pieces[i], alone=alone)
        for i, count in extra:
            fitting = min(count, quick.capacity(items[i].shape, *homes[i]))
            quick.place(items[i].shape, homes[i], fitting, pieces[i], alone=alone)
        return self._layout(component, [_joined(parts) for parts in pieces])

    def _packed(self, component: Component, steps: Steps) -> Layout | None:
        """Lay out items on nodes that they nearly fill; None where that was not found."""
        takes = packed(self._compiled, self._free, component, steps)
        return None if takes is None else self._layout(component, takes)

    def _layout(self, component: Component, takes: list[tuple[Ints, Ints]]) -> Layout:
        placed = sum(int(counts.sum()) for _, counts in takes)
        left_out = sum(item.open for item in component.items) - placed
        cost = left_out * self._left_out + self._cost(component, takes)
        return Layout(cost, cost <= self._bound(component), takes)

    def _bulk(self, item: Item) -> float:
        """How much of all the room for its shape an item takes."""
        return item.open / max(self._compiled.tables[item.shape].total, 1)

    def _cost(self, component: Component, takes: list[tuple[Ints, Ints]]) -> int:
        """What the domains cost that a layout brings into use."""
        tree = self._compiled.tree
        used = np.concatenate([positions for positions, _ in takes])
        cost = 0
        for level in range(component.level + 1, tree.depth + 1):
            domains = set(tree.dom[level][used].tolist())
            cost += len(domains - self._in_use[level]) * self._domains[level]
        for i, color in enumerate(component.colors):
            parts = [
                positions
                for item, (positions, _) in zip(component.items, takes, strict=True)
                if i in item.colors
            ]
            domains = set(tree.dom[color.level][np.concatenate(parts)].tolist())
            cost += len(domains - color.running) * self._preferences[color.level]
        return cost

    def _bound(self, component: Component) -> int:
        """What any layout costs at least, by counts alone."""
        tree, tables, items = self._compiled.tree, self._compiled.tables, component.items
        cost = 0
        for (shape, home), (_, total) in component.totals().items():
            cost += max(total - tables[shape].capacity(*home), 0) * self._left_out
        needs: dict[int, int] = {}
        for item in items:
            needs[item.shape] = needs.get(item.shape, 0) + item.need
        if len(items) == 1:
            # Leaving a pod out costs more than any domain, so all that fit will be placed.
            shape = items[0].shape
            needs[shape] = min(items[0].open, tables[shape].capacity(*component.homes[0]))
        for level in range(component.level + 1, tree.depth + 1):
            first, last = tree.span(component.level, component.domain, level)
            gratis = sum(first <= inner < last for inner in self._in_use[level])
            pieces = max(fewest(tables[shape].sums[level][first:last], need) for shape, need in needs.items())
            cost += max(pieces - gratis, 0) * self._domains[level]
        for i, color in enumerate(component.colors):
            if not color.running and any(item.need for item in items if i in item.colors):
                cost += self._preferences[color.level]
        return cost

    def _exactly(
        self, component: Component, known: Layout | None, steps: Steps, most_steps: int
    ) -> Layout | None:
        """The cheapest layout; raises ``OutOfBudgetError`` where finding it out would take too long."""
        weights = Weights(
            self._left_out,
            tuple(self._domains[component.level + 1 :]),
            tuple(self._preferences[color.level] for color in component.colors),
        )
        nodes = layout_nodes(
            self._compiled,
            self._free,
            component,
            in_use=self._in_use,
            most=MOST_NODES if known is None else FEW_NODES,
        )
        # What is laid out already must not be lost to a search for something better.
        allowed = steps if known is None else Steps(most_steps)
        try:
            exact = ExactLayout(
                list(component.items), nodes, self._compiled.demand, weights, allowed, most_steps=most_steps
            )
            found = exact.best(known.cost if known is not None else _ANY_COST)
        finally:
            if allowed is not steps:
                steps.add(allowed)
        if found is None:
            return replace(known, exact=True) if known is not None else None
        cost, walked = found
        takes = []
        for i in range(len(component.items)):
            rows = sorted((position, pattern[i]) for position, pattern in walked if pattern[i])
            positions = np.array([position for position, _ in rows], dtype=np.int64)
            takes.append((positions, np.array([count for _, count in rows], dtype=np.int64)))
        return Layout(cost, exact=True, takes=takes)


def _joined(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if not parts:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty
    if len(parts) == 1:
        return parts[0]
    positions = np.concatenate([p for p, _ in parts])
    counts = np.concatenate([c for _, c in parts])
    unique, back = np.unique(positions, return_inverse=True)
    return unique, np.bincount(back, weights=counts, minlength=len(unique)).astype(np.int64)
