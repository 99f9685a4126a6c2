"""From decided domains to nodes: laying out what a search has confined to domains.

Each component is laid out by itself: quickly first, and where a bound says that
less might do and the component is small, exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from closeknit.engine import preferred_rules
from closeknit.engine.budget import OutOfBudgetError, Steps
from closeknit.engine.compiled_request import CompiledRequest, Goal
from closeknit.engine.component import Component, Item
from closeknit.engine.count_bounds import fewest
from closeknit.engine.equal_layout import EqualLayout
from closeknit.engine.exact_layout import ExactLayout
from closeknit.engine.exact_nodes import FEW_NODES, MOST_NODES, Fee, LayoutNode, Pattern, layout_nodes
from closeknit.engine.packed_layout import packed
from closeknit.engine.quick_layout import QuickLayout
from closeknit.engine.rule_watch import RuleWatch, floors
from closeknit.engine.ruled_layout import ruled
from closeknit.engine.tree import Ints
from closeknit.hub.copying import replace

_FEW_NODES = 16
"""Nodes up to which an exact layout is found, or found not to exist, sooner than a packed one."""
_BITS = 24
"""Room for one count in a packed cost; more than any cluster has nodes."""
_TO_RULE_OUT = 16
"""Steps in which an exact layout often shows that there is none, which a packed one never shows."""
_TO_IMPROVE = 2_000
"""Steps that an exact layout may take where another will do."""
_TO_FIND = 5_000
"""Steps that an exact layout may take where no other is found, until somebody insists."""
_TO_FIND_ALL = 500
"""The same where every pod must be placed: then other domains are worth more than a closer look at these."""


@dataclass(slots=True)
class Layout:
    """Where one component's items go."""

    cost: int
    exact: bool
    """Whether no layout of the same items costs less by criteria 1 to 4."""
    settled: bool
    """Whether none uses fewer domains of any level, nodes included, as far as bounds tell."""
    takes: list[tuple[Ints, Ints]]
    """Per item: positions and counts."""


class Layouts:
    """Lays out components and remembers the results.

    Costs are whole numbers that compare like the list of wishes: one field of bits for each count.
    """

    def __init__(self, compiled: CompiledRequest, free: Ints) -> None:
        self._compiled = compiled
        self._free = free
        depth, named = compiled.tree.depth, compiled.named
        weights = [1 << (_BITS * i) for i in reversed(range(2 * depth + 6))]
        self._left_out = weights[0]
        self._preferences = weights[1 : 1 + depth]
        """By level, what a domain of a preferred level costs a group that shares none."""
        # Weights times pairs of pods take the room of two counts.
        self._rules = weights[2 + depth]
        """What a distance of one from a preferred rule costs."""
        self._domains = weights[3 + depth : 4 + depth + named] + weights[6 + depth + named :]
        """By level, what a domain that comes into use costs; last, a node."""
        self._exact_unit = self._domains[named]
        """Costs compare by criteria 1 to 4 if what is less than this is cut off."""
        # The room of a domain takes that of two counts.
        self._room_unit = weights[5 + depth + named]
        """What each pod costs for which a domain of the named level that comes into use has room."""
        self._room = None
        """By domain of the named level, the room that layouts weigh.

        None for several shapes, whose exact layouts spend their steps on fewer domains, unless rules about
        other pods make these the only layouts.
        """
        if compiled.room is not None and (len(compiled.tables) == 1 or compiled.neighbours is not None):
            self._room = compiled.room.sums[named]
        self._in_use = [set(domains) for domains in compiled.tree.holding(compiled.root.bound)]
        """By level, the domains of running pods; using them costs nothing."""
        self._known: dict[Component, Layout | None] = {}
        self._undecided: set[Component] = set()
        """Those for which all that was tried was not enough."""
        self._to_find = _TO_FIND_ALL if compiled.goal is Goal.EVERYTHING else _TO_FIND
        self._by_rules: dict[Component, Layout | None] = {}

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
            # Fewer nodes are only worth a search where domains of the named level are chosen already.
            # Equal pods use the fewest anyway.
            chosen = component.level >= self._compiled.named and len(component.items) > 1
            if layout is None or not layout.exact or (chosen and not layout.settled):
                layout = self._better(component, layout, steps)
        self._known[component] = layout
        return layout

    def lay_out_by_rules(self, component: Component, steps: Steps) -> Layout | None:
        """Like ``lay_out``, of all pods of a request together, so that rules among them are kept."""
        rules = self._compiled.neighbours
        if rules is None or component in self._by_rules:
            return self._by_rules[component] if rules is not None else self.lay_out(component, steps)
        known: Layout | None = None
        try:
            plain = self.lay_out(component, steps)
            if plain is not None and self._keeps(component, plain):
                known = self._weighed(component, plain)
            if plain is None or (known is not None and (known.exact or not rules.preferred)):
                self._by_rules[component] = known
                return known
        except OutOfBudgetError:
            if steps.used_up:
                raise
        takes = ruled(self._compiled, self._free, component, rules, steps)
        if takes is not None:
            laid_out = self._weighed(component, self._layout(component, takes))
            known = laid_out if known is None else min(known, laid_out, key=attrgetter("cost"))
        if known is None or not (known.exact or self._compiled.goal is not Goal.WISHES):
            try:
                most = self._to_find if known is None else _TO_IMPROVE
                known = self._exactly(component, known, steps, most, by_rules=True)
            except OutOfBudgetError:
                if known is None:
                    raise
        self._by_rules[component] = known
        return known

    def _keeps(self, component: Component, layout: Layout) -> bool:
        rules = self._compiled.neighbours
        return rules is None or rules.kept(
            [(item.shape, *take) for item, take in zip(component.items, layout.takes, strict=True)]
        )

    def _weighed(self, component: Component, layout: Layout) -> Layout:
        """The same with what preferred rules cost."""
        rules = self._compiled.neighbours
        if rules is None or not rules.preferred:
            return layout
        takes = zip(component.items, layout.takes, strict=True)
        price = preferred_rules.cost(rules.preferred, [(item.shape, *take) for item, take in takes])
        return replace(layout, cost=layout.cost + price * self._rules, exact=layout.exact and not price)

    def insist(self) -> None:
        """From here on, give up no layout before the budget is used up."""
        self._undecided.clear()
        self._to_find = 1 << 60

    def _better(self, component: Component, quick: Layout | None, steps: Steps) -> Layout | None:
        """A layout at least as good as the quick one, or one where that found none."""
        start, end = self._compiled.tree.bounds(component.level, component.domain)
        known, few = quick, end - start <= _FEW_NODES
        if few:
            try:
                return self._exactly(component, quick, steps, _TO_IMPROVE)
            except OutOfBudgetError:
                pass
        elif quick is None:
            try:
                known = self._exactly(component, None, steps, _TO_RULE_OUT)
            except OutOfBudgetError:
                pass
            else:
                if known is None or known.settled:
                    return known
        if known is None or known.cost >= self._left_out:
            packed = self._packed(component, steps)
            known = min(filter(None, (known, packed)), key=attrgetter("cost"), default=None)
        if known is not None and (few or self._compiled.goal is not Goal.WISHES):
            # It was tried to find a better one, or any will do.
            return known
        try:
            return self._exactly(component, known, steps, self._to_find if known is None else _TO_IMPROVE)
        except OutOfBudgetError:
            if known is not None:
                return known
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
        if len(items) == 1 and not any(self._in_use):
            return self._layout(component, [self._alone(items[0], homes[0])])
        quick = QuickLayout(self._compiled, self._free, self._in_use)
        pieces: list[list[tuple[Ints, Ints]]] = [[] for _ in items]
        alone = len(items) == 1
        bulks = [item.open / max(self._compiled.tables[item.shape].total, 1) for item in items]
        """How much of all the room for its shape each item takes."""
        order = sorted(range(len(items)), key=lambda i: (items[i].last - items[i].first, -bulks[i], i))
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

    def _alone(self, item: Item, home: tuple[int, int]) -> tuple[Ints, Ints]:
        """Lay out an item that nothing else is beside."""
        table = self._compiled.tables[item.shape]
        equal = EqualLayout(table, self._compiled.named)
        return equal.lay_out(*home, min(item.open, table.capacity(*home)))

    def _packed(self, component: Component, steps: Steps) -> Layout | None:
        """Lay out items on nodes that they nearly fill; None where that was not found."""
        takes = packed(self._compiled, self._free, component, steps)
        return None if takes is None else self._layout(component, takes)

    def _layout(self, component: Component, takes: list[tuple[Ints, Ints]]) -> Layout:
        """Add up the pods that a layout leaves out and the domains that it brings into use."""
        placed = sum(int(counts.sum()) for _, counts in takes)
        cost = (sum(item.open for item in component.items) - placed) * self._left_out
        room, fees = 0, self._fees(component)
        for fee in fees:
            used = np.concatenate([takes[item][0] for item in fee.payers])
            domains = set(self._compiled.tree.dom[fee.level][used].tolist())
            fresh = domains - fee.paid
            cost += len(fresh) * fee.weight
            room += sum(fee.price(domain) - fee.weight for domain in fresh)
        bound = self._bound(component, fees)
        return Layout(cost + room, self._is_exact(cost, bound), cost <= bound, takes)

    def _is_exact(self, cost: int, bound: int) -> bool:
        """Whether a cost is as low as a bound by criteria 1 to 4."""
        return cost // self._exact_unit <= bound // self._exact_unit

    def _fees(self, component: Component) -> list[Fee]:
        """What domains cost: all items those of each level, and each color those of the level it prefers."""
        items, levels = component.items, range(component.level + 1, self._compiled.tree.depth + 1)
        everyone = frozenset(range(len(items)))
        named, unit = self._compiled.named, self._room_unit
        fees = [
            Fee(level, weight, everyone, used, self._room if level == named else None, unit)
            for level, weight, used in zip(
                levels, self._domains[levels.start :], self._in_use[levels.start :], strict=True
            )
        ]
        for number, color in enumerate(component.colors):
            payers = frozenset(i for i, item in enumerate(items) if number in item.colors)
            fees.append(Fee(color.level, self._preferences[color.level], payers, color.running))
        return fees

    def _bound(self, component: Component, fees: list[Fee]) -> int:
        """What any layout costs at least, by counts alone and without room."""
        tree, tables, items = self._compiled.tree, self._compiled.tables, component.items
        cost = 0
        for (shape, home), (_, total) in component.totals().items():
            cost += max(total - tables[shape].capacity(*home), 0) * self._left_out
        needs = [item.need for item in items]
        if len(items) == 1:
            # Leaving a pod out costs more than any domain, so all that fit will be placed.
            needs = [min(items[0].open, tables[items[0].shape].capacity(*component.homes[0]))]
        for fee in fees:
            first, last = tree.span(component.level, component.domain, fee.level)
            by_shape = Counter[int]()
            for item in fee.payers:
                by_shape[items[item].shape] += needs[item]
            pieces = max(
                fewest(tables[shape].sums[fee.level][first:last], n) for shape, n in by_shape.items()
            )
            gratis = sum(first <= domain < last for domain in fee.paid)
            cost += max(pieces - gratis, 0) * fee.weight
        return cost

    def _watches(
        self, component: Component, nodes: list[LayoutNode], *, by_rules: bool
    ) -> Iterator[RuleWatch | None]:
        """What has an eye on rules among pods, once for each way to look at them."""
        rules = self._compiled.neighbours
        if rules is None or not by_rules:
            yield None
            return
        for way in floors(rules, component.items, nodes):
            yield RuleWatch(rules, component.items, nodes, way, self._rules)

    def _exactly(
        self,
        component: Component,
        known: Layout | None,
        steps: Steps,
        most_steps: int,
        *,
        by_rules: bool = False,
    ) -> Layout | None:
        """The cheapest layout, as far as the steps go; raises ``OutOfBudgetError`` where they find none."""
        compiled, fees = self._compiled, self._fees(component)
        most = MOST_NODES if known is None else FEW_NODES
        nodes = layout_nodes(compiled, self._free, component, fees, most=most)
        # What is laid out already must not be lost to a search for something better.
        allowed = steps if known is None else Steps(most_steps, compiled.pace)
        best: tuple[int, list[tuple[int, Pattern]]] | None = None
        complete = True
        try:
            for watch in self._watches(component, nodes, by_rules=by_rules):
                exact = ExactLayout(
                    component.items,
                    nodes,
                    compiled.demand,
                    fees,
                    allowed,
                    left_out=self._left_out,
                    most_steps=most_steps,
                    watch=watch,
                )
                below = known.cost if known is not None else None
                if below is not None and self._room is None and component.level < compiled.named:
                    # These costs do not count room, so fewer nodes must not outweigh it.
                    below -= below % self._exact_unit
                best = exact.best(below if best is None else best[0]) or best
                complete &= exact.complete
        except OutOfBudgetError:
            if best is None:
                raise
            complete = False
        finally:
            if allowed is not steps:
                steps.add(allowed)
        if best is None:
            return replace(known, exact=True, settled=True) if known is not None else None
        cost, walked = best
        takes = []
        for i in range(len(component.items)):
            rows = sorted((position, pattern[i]) for position, pattern in walked if pattern[i])
            positions, counts = np.array(rows, dtype=np.int64).reshape(-1, 2).T
            takes.append((positions, counts))
        best_there_is = complete or self._is_exact(cost, self._bound(component, fees))
        return Layout(cost, best_there_is, complete, takes)


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
