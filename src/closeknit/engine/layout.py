"""From decided domains to nodes: laying out what a search has confined to domains.

Domains that lie in one another form a component; components share no node, so
each is laid out by itself: quickly first, and where a bound says that less might
do and the component is small, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit.engine.budget import OutOfBudgetError, Steps
from closeknit.engine.pack import Item, Packing, Site, Weights
from closeknit.engine.pieces import fewest
from closeknit.engine.problem import Leaf, Problem
from closeknit.engine.room import Room
from closeknit.engine.score import Spread
from closeknit.engine.tree import Ints

_BITS = 24
"""Room for one count in a packed cost; more than any cluster has nodes."""
_MOST_SITES = 64
"""Above this many nodes an exact layout is not tried."""


@dataclass(frozen=True, slots=True)
class Content:
    """A pod set confined to a domain."""

    level: int
    domain: int
    leaf: Leaf
    colors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Color:
    """A group whose pods share no domain, and the level it prefers."""

    level: int
    running: frozenset[int]
    """The domains of that level that its running pods use."""


@dataclass(slots=True)
class Layout:
    """Where one component's items go."""

    cost: int
    exact: bool
    """Whether no layout of the same items costs less."""
    takes: list[tuple[Ints, Ints]]
    """Per item: positions and counts."""


class Weighing:
    """Costs as whole numbers that compare like the list of wishes: one field of bits for each count."""

    def __init__(self, depth: int) -> None:
        weights = [1 << (_BITS * i) for i in reversed(range(2 * depth + 2))]
        self.left_out = weights[0]
        self.preferences = weights[1 : 1 + depth]
        """By level, what a domain of a preferred level costs a group that shares none."""
        self.domains = weights[1 + depth :]
        """By level, what a domain that comes into use costs; last, a node."""


class Layouts:
    """Lays out components and remembers the results."""

    def __init__(self, problem: Problem, free: Ints, weighing: Weighing) -> None:
        self._problem = problem
        self._free = free
        self._weigh = weighing
        self._known: dict[object, Layout | None] = {}
        running = sorted({position for leaf in problem.leaves for position in leaf.bound})
        self._running = np.array(running, dtype=np.int64)
        self._running_domains = [
            set(problem.tree.dom[level][self._running].tolist()) for level in range(problem.tree.depth + 1)
        ]

    def components(self, contents: list[Content]) -> list[tuple[int, int, list[Content]]]:
        """Contents by the outermost domain that holds them, in tree order."""
        tree = self._problem.tree
        tops: dict[tuple[int, int], list[Content]] = {}
        for content in sorted(contents, key=lambda c: (c.level, c.domain, c.leaf.index)):
            for level in range(-1, content.level + 1):
                key = (level, tree.above(content.level, content.domain, level) if level >= 0 else 0)
                if key in tops or level == content.level:
                    tops.setdefault(key, []).append(content)
                    break
        return [(level, domain, inside) for (level, domain), inside in sorted(tops.items())]

    def lay_out(
        self, level: int, domain: int, contents: list[Content], colors: list[Color], steps: Steps
    ) -> Layout | None:
        """The best layout found for a component, or None where none exists.

        Raises ``OutOfBudgetError`` where neither could be found out.
        """
        items = self._items(contents)
        shown = tuple((colors[c].level, colors[c].running) for item in items for c in item.colors)
        key = (level, domain, tuple(items), shown)
        if key in self._known:
            return self._known[key]
        layout = None
        if not self._ruled_out(level, items):
            layout = self._quick(level, domain, items, colors)
            if layout is None or not layout.exact:
                layout = self._exactly(level, domain, items, colors, layout, steps)
        self._known[key] = layout
        return layout

    def _ruled_out(self, top: int, items: list[Item]) -> bool:
        """Whether counts alone show that an item cannot get what it needs."""
        pooled: dict[tuple[int, int, int], int] = {}
        for item in items:
            key = (item.shape, item.first, item.last)
            pooled[key] = pooled.get(key, 0) + item.need
        return any(
            need > self._problem.tables[shape].capacity(*self._domain_of(top, Item(shape, 0, 0, first, last)))
            for (shape, first, last), need in pooled.items()
        )

    def _merged(self, contents: list[Content]) -> dict[tuple[int, int, int, tuple[int, ...]], list[Content]]:
        """Contents of one shape that may go to the same nodes, together."""
        merged: dict[tuple[int, int, int, tuple[int, ...]], list[Content]] = {}
        for content in contents:
            first, last = self._problem.tree.bounds(content.level, content.domain)
            merged.setdefault((first, last, content.leaf.shape, content.colors), []).append(content)
        return merged

    def _items(self, contents: list[Content]) -> list[Item]:
        return [
            Item(
                shape, sum(c.leaf.need for c in inside), sum(c.leaf.open for c in inside), first, last, colors
            )
            for (first, last, shape, colors), inside in self._merged(contents).items()
        ]

    def share(self, contents: list[Content], layout: Layout, spread: Spread) -> None:
        """Hand the pods of each item to the pod sets it was made of: what they need first, then the rest."""
        for inside, (positions, counts) in zip(self._merged(contents).values(), layout.takes, strict=True):
            if len(inside) == 1:
                if len(positions):
                    spread[inside[0].leaf.index] = (positions, counts)
                continue
            spare = int(counts.sum()) - sum(content.leaf.need for content in inside)
            each = np.repeat(positions, counts)
            at = 0
            for content in inside:
                extra = min(spare, content.leaf.open - content.leaf.need)
                spare -= extra
                mine = each[at : at + content.leaf.need + extra]
                at += len(mine)
                if len(mine):
                    unique, amount = np.unique(mine, return_counts=True)
                    spread[content.leaf.index] = (unique, amount.astype(np.int64))

    def _quick(self, level: int, domain: int, items: list[Item], colors: list[Color]) -> Layout | None:
        """Lay out items one after the other, the most confined and the bulkiest first; None where one is stuck."""
        tree = self._problem.tree
        room = Room(self._problem, self._free, self._running)
        pieces: list[list[tuple[Ints, Ints]]] = [[] for _ in items]
        left_out = 0
        fresh = [0] * (tree.depth + 1)
        order = sorted(
            range(len(items)), key=lambda i: (items[i].last - items[i].first, -self._bulk(items[i]), i)
        )
        rounds = [(i, items[i].need, True) for i in order] + [
            (i, items[i].open - items[i].need, False) for i in order
        ]
        if len(items) == 1:
            rounds = [(0, min(items[0].open, room.capacity(items[0].shape, level, domain)), True)]
            if rounds[0][1] < items[0].need:
                return None
            left_out = items[0].open - rounds[0][1]
        for i, count, must in rounds:
            item = items[i]
            at = self._domain_of(level, item)
            if not must:
                fitting = min(count, room.capacity(item.shape, *at))
                left_out += count - fitting
                count = fitting
            elif room.capacity(item.shape, *at) < count:
                return None
            if not count:
                continue
            plan = room.plan(item.shape, *at, count)
            for offset, extra in enumerate(plan.fresh):
                fresh[at[0] + 1 + offset] += extra
            # Domains between the component's and the item's own are decided, and counted by the search.
            room.take(item.shape, plan, alone=len(rounds) == 1)
            pieces[i].extend(plan.pieces)
        takes = [_joined(parts) for parts in pieces]
        cost = self._cost(level, left_out, takes, items, colors)
        bound = self._bound(level, domain, items, colors)
        return Layout(cost, bound is not None and cost <= bound, takes)

    def _bulk(self, item: Item) -> float:
        """How much of all the room for its shape an item takes."""
        # Pods that fit fewer times into the whole cluster are harder to find room for.
        return item.open / max(self._problem.tables[item.shape].total, 1)

    def _domain_of(self, top: int, item: Item) -> tuple[int, int]:
        tree = self._problem.tree
        for level in range(top, tree.depth + 1):
            domain = int(tree.dom[level][item.first]) if level >= 0 else 0
            if tree.bounds(level, domain) == (item.first, item.last):
                return level, domain
        raise AssertionError("an item is always confined to a domain")

    def _cost(
        self, top: int, left_out: int, takes: list[tuple[Ints, Ints]], items: list[Item], colors: list[Color]
    ) -> int:
        tree = self._problem.tree
        used = (
            np.unique(np.concatenate([positions for positions, _ in takes])) if takes else self._running[:0]
        )
        cost = left_out * self._weigh.left_out
        for level in range(top + 1, tree.depth + 1):
            domains = set(tree.dom[level][used].tolist())
            cost += len(domains - self._running_domains[level]) * self._weigh.domains[level]
        for color in sorted({color for item in items for color in item.colors}):
            level = colors[color].level
            parts = [takes[i][0] for i, item in enumerate(items) if color in item.colors]
            domains = set(tree.dom[level][np.concatenate(parts)].tolist())
            cost += len(domains - colors[color].running) * self._weigh.preferences[level]
        return cost

    def _bound(self, top: int, domain: int, items: list[Item], colors: list[Color]) -> int | None:
        """What any layout costs at least, by counts alone; None where counts rule every layout out."""
        tree, tables = self._problem.tree, self._problem.tables
        cost = 0
        pooled: dict[tuple[int, int, int], int] = {}
        for item in items:
            key = (item.shape, item.first, item.last)
            pooled[key] = pooled.get(key, 0) + item.open
        for (shape, first, last), total in pooled.items():
            at = self._domain_of(top, Item(shape, 0, 0, first, last))
            cost += max(total - tables[shape].capacity(*at), 0) * self._weigh.left_out
        for level in range(top + 1, tree.depth + 1):
            first, last = tree.span(top, domain, level)
            gratis = sum(first <= inner < last for inner in self._running_domains[level])
            pieces = 0
            for shape in {item.shape for item in items}:
                need = sum(item.need for item in items if item.shape == shape)
                if len(items) == 1:
                    # With one item only, leaving a pod out costs more than any domain, so all that fit will be placed.
                    need = min(items[0].open, tables[shape].capacity(top, domain))
                pieces = max(pieces, fewest(tables[shape].sums[level][first:last], need))
            cost += max(pieces - gratis, 0) * self._weigh.domains[level]
        for color in {color for item in items for color in item.colors}:
            if sum(item.need for item in items if color in item.colors) and not colors[color].running:
                cost += self._weigh.preferences[colors[color].level]
        return cost

    def _exactly(
        self,
        level: int,
        domain: int,
        items: list[Item],
        colors: list[Color],
        quick: Layout | None,
        steps: Steps,
    ) -> Layout | None:
        packing = self._packing(level, domain, items, colors, steps)
        if packing is None:
            if quick is None:
                raise OutOfBudgetError
            return quick
        try:
            found = packing.best(quick.cost if quick is not None else 1 << 400)
        except OutOfBudgetError:
            if quick is None:
                raise
            return quick
        if found is None:
            return Layout(quick.cost, True, quick.takes) if quick is not None else None
        cost, layout = found
        takes = []
        for i in range(len(items)):
            rows = sorted((position, pattern[i]) for position, pattern in layout if pattern[i])
            takes.append(
                (
                    np.array([p for p, _ in rows], dtype=np.int64),
                    np.array([c for _, c in rows], dtype=np.int64),
                )
            )
        return Layout(cost, True, takes)

    def _packing(
        self, level: int, domain: int, items: list[Item], colors: list[Color], steps: Steps
    ) -> Packing | None:
        problem, tree = self._problem, self._problem.tree
        start, end = tree.bounds(level, domain)
        shapes = sorted({item.shape for item in items})
        useful = np.zeros(end - start, dtype=np.bool_)
        for shape in shapes:
            useful |= problem.tables[shape].fit[start:end] > 0
        positions = (np.flatnonzero(useful) + start).tolist()
        if len(positions) > _MOST_SITES:
            return None
        walked = range(level + 1, tree.depth)
        running = set(self._running.tolist())
        shown = sorted({color for item in items for color in item.colors})
        number = {color: i for i, color in enumerate(shown)}
        items = [
            Item(i.shape, i.need, i.open, i.first, i.last, tuple(number[c] for c in i.colors)) for i in items
        ]
        sites = []
        for position in positions:
            slot = int(tree.slots[position])
            fits = tuple(
                min(int(problem.tables[i.shape].fit[position]), i.open) if i.first <= position < i.last else 0
                for i in items
            )
            sites.append(
                Site(
                    position,
                    tuple(max(int(self._free[row, slot]), 0) for row in problem.rows),
                    fits,
                    tuple(int(tree.dom[m][position]) for m in walked),
                    (
                        *(int(tree.dom[m][position]) in self._running_domains[m] for m in walked),
                        position in running,
                    ),
                    tuple(int(tree.dom[colors[c].level][position]) for c in shown),
                    tuple(int(tree.dom[colors[c].level][position]) in colors[c].running for c in shown),
                )
            )
        weights = Weights(
            self._weigh.left_out,
            tuple(self._weigh.domains[m] for m in (*walked, tree.depth)),
            tuple(self._weigh.preferences[colors[c].level] for c in shown),
        )
        return Packing(items, _walk_order(sites, len(walked)), problem.demand, weights, steps)


def _walk_order(sites: list[Site], levels: int) -> list[Site]:
    """Keep domains together, those in use and the roomiest first, so that the first layout found is a good one."""

    def arranged(group: list[Site], level: int) -> list[Site]:
        if level == levels:
            return sorted(
                group, key=lambda s: (not s.paid[-1], tuple(-f for f in s.fits), s.free, s.position)
            )
        parts: dict[int, list[Site]] = {}
        for site in group:
            parts.setdefault(site.domains[level], []).append(site)
        ordered = sorted(
            parts.items(),
            key=lambda part: (
                not part[1][0].paid[level],
                [-sum(s.fits[i] for s in part[1]) for i in range(len(part[1][0].fits))],
                part[0],
            ),
        )
        return [site for _, inner in ordered for site in arranged(inner, level + 1)]

    return arranged(sites, 0)


def _joined(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if not parts:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty
    positions = np.concatenate([p for p, _ in parts])
    counts = np.concatenate([c for _, c in parts])
    unique, back = np.unique(positions, return_inverse=True)
    return unique, np.bincount(back, weights=counts, minlength=len(unique)).astype(np.int64)
