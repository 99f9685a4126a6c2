"""Exact layout of pods of several shapes on a few nodes.

Nodes are walked in an order that keeps every domain together, and each takes
nothing or as much as it can: on a node that is used anyway, one more pod never
hurts, so only patterns to which nothing can be added need a look. States that
were seen before are not searched again.

Costs are whole numbers that add up; the caller chooses the weights so that the
sum compares like the list of wishes.
"""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.engine.budget import OutOfBudgetError, Steps
from closeknit.engine.component import Item
from closeknit.engine.exact_nodes import LayoutNode, LookAhead, Pattern, Weights

LOOKS_A_STEP = 16
"""Looks at what fits on a node cost little; so many of them count as a step."""


class ExactLayout:
    """One component to be laid out. ``nodes`` must keep each domain's nodes together."""

    def __init__(
        self,
        items: list[Item],
        nodes: list[LayoutNode],
        demand: list[list[int]],
        weights: Weights,
        steps: Steps,
        *,
        most_steps: int,
    ) -> None:
        self._items = items
        self._nodes = nodes
        self._demand = [demand[item.shape] for item in items]
        self._weights = weights
        self._steps = steps
        self._last_step = steps.taken + most_steps
        self._spare = tuple(item.open - item.need for item in items)
        self._looks = 0
        self._ahead = LookAhead(items, nodes, self._demand, weights)
        self._memo: dict[object, tuple[int, bool, Pattern | None]] = {}

    def best(self, below: int) -> tuple[int, list[tuple[int, Pattern]]] | None:
        """The cheapest layout below a cost: what it costs, and per position how many of each item."""
        levels = len(self._weights.levels) - 1
        state = (
            0,
            tuple(item.open for item in self._items),
            (False,) * levels,
            (False,) * len(self._weights.colors),
        )
        cost = self._walk(*state, below)
        if cost is None:
            return None
        layout: list[tuple[int, Pattern]] = []
        at, remaining, open_domains, open_colors = state
        while at < len(self._nodes) and any(remaining):
            open_domains, open_colors = self._arrive(at, open_domains, open_colors)
            _, _, pattern = self._memo[at, remaining, open_domains, open_colors]
            assert pattern is not None
            if any(pattern):
                layout.append((self._nodes[at].position, pattern))
                _, remaining, open_domains, open_colors = self._use(
                    at, remaining, open_domains, open_colors, pattern
                )
                at += 1
            else:
                at = self._ahead.next_other[at]
        return cost, layout

    def _arrive(
        self, at: int, open_domains: tuple[bool, ...], open_colors: tuple[bool, ...]
    ) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Which domains of the node at hand are in use already."""
        node = self._nodes[at]
        if at == 0:
            return node.paid[:-1], node.color_paid
        before = self._nodes[at - 1]
        domains = tuple(
            was if before.domains[: level + 1] == node.domains[: level + 1] else node.paid[level]
            for level, was in enumerate(open_domains)
        )
        colors = tuple(
            was if before.color_domains[i] == node.color_domains[i] else node.color_paid[i]
            for i, was in enumerate(open_colors)
        )
        return domains, colors

    def _take(self) -> None:
        self._steps.take()
        if self._steps.taken > self._last_step:
            raise OutOfBudgetError

    def _walk(
        self,
        at: int,
        remaining: Pattern,
        open_domains: tuple[bool, ...],
        open_colors: tuple[bool, ...],
        below: int,
    ) -> int | None:
        """The least cost of placing the rest from a node on, if less than ``below``."""
        if at == len(self._nodes) or not any(remaining):
            if any(left > spare for left, spare in zip(remaining, self._spare, strict=True)):
                return None
            cost = sum(remaining) * self._weights.left_out
            return cost if cost < below else None
        open_domains, open_colors = self._arrive(at, open_domains, open_colors)
        key = (at, remaining, open_domains, open_colors)
        known = self._memo.get(key)
        if known is not None:
            value, exact, _ = known
            if exact:
                return value if value < below else None
            if value >= below:
                return None
        bound = self._ahead.bound(at, remaining, open_domains)
        if bound is None or bound >= below:
            self._memo[key] = (below if bound is not None else 1 << 400, False, None)
            return None
        self._take()
        best: int | None = None
        chosen: Pattern = ()
        limit = below
        for pattern in self._patterns(at, remaining, open_colors):
            price, left, domains, colors = self._use(at, remaining, open_domains, open_colors, pattern)
            following = at + 1 if any(pattern) else self._ahead.next_other[at]
            if price >= limit:
                continue
            rest = self._walk(following, left, domains, colors, limit - price)
            if rest is not None:
                best = limit = price + rest
                chosen = pattern
        if best is None:
            self._memo[key] = (below, False, None)
            return None
        self._memo[key] = (best, True, chosen)
        return best

    def _use(
        self,
        at: int,
        remaining: Pattern,
        open_domains: tuple[bool, ...],
        open_colors: tuple[bool, ...],
        pattern: Pattern,
    ) -> tuple[int, Pattern, tuple[bool, ...], tuple[bool, ...]]:
        """Put a pattern on a node: what it costs, what remains, and what is in use then."""
        if not any(pattern):
            return 0, remaining, open_domains, open_colors
        node, weights = self._nodes[at], self._weights
        price = 0 if node.paid[-1] else weights.levels[-1]
        price += sum(w for w, is_open in zip(weights.levels[:-1], open_domains, strict=True) if not is_open)
        if weights.colors:
            colors = list(open_colors)
            for item, count in zip(self._items, pattern, strict=True):
                for color in item.colors if count else ():
                    if not colors[color]:
                        colors[color] = True
                        price += weights.colors[color]
            open_colors = tuple(colors)
        left = tuple(a - b for a, b in zip(remaining, pattern, strict=True))
        return price, left, (True,) * len(open_domains), open_colors

    def _patterns(self, at: int, remaining: Pattern, open_colors: tuple[bool, ...]) -> Iterator[Pattern]:
        """What a node may take: all that nothing can be added to, the fullest first; then nothing.

        Where taking a pod opens a domain for a color, leaving that pod out is a choice of its own.
        """
        node = self._nodes[at]
        most = [min(left, fit) for left, fit in zip(remaining, node.fits, strict=True)]
        closed = {color for color, is_open in enumerate(open_colors) if not is_open}
        found: list[Pattern] = []
        # Only colors of pods that fit here can be opened here.
        here = {
            color for item, bound in zip(self._items, most, strict=True) if bound for color in item.colors
        }
        for banned in _subsets(sorted(here & closed)):
            allowed = [
                0 if banned & set(item.colors) else bound
                for item, bound in zip(self._items, most, strict=True)
            ]
            found.extend(self._full(allowed, node.free))
        unique = sorted(set(found), key=lambda pattern: (-sum(pattern), tuple(-count for count in pattern)))
        yield from (pattern for pattern in unique if any(pattern))
        yield (0,) * len(most)

    def _full(self, most: list[int], free: tuple[int, ...]) -> list[Pattern]:
        """Every pattern within bounds to which nothing can be added."""
        found: list[Pattern] = []
        count = len(most)
        pattern = [0] * count

        def fits(item: int, left: list[int]) -> int:
            bound = most[item]
            for amount, units in zip(left, self._demand[item], strict=True):
                if units:
                    bound = min(bound, amount // units)
            return max(bound, 0)

        def extend(item: int, left: list[int]) -> None:
            # Patterns can be many on a large node; a handful of looks is worth a step.
            self._looks += 1
            if self._looks % LOOKS_A_STEP == 0:
                self._take()
            if item == count:
                # A pattern can be added to if any item that stopped early still fits.
                if all(pattern[i] == most[i] or not _fits(left, self._demand[i]) for i in range(count)):
                    found.append(tuple(pattern))
                return
            top = fits(item, left)
            # What the last item leaves can be added by nobody else, so it takes all it can.
            for take in range(top, -1 if item < count - 1 else top - 1, -1):
                pattern[item] = take
                extend(item + 1, [a - take * u for a, u in zip(left, self._demand[item], strict=True)])
            pattern[item] = 0

        extend(0, list(free))
        return found


def _fits(left: list[int], demand: list[int]) -> bool:
    return all(amount >= units for amount, units in zip(left, demand, strict=True) if units)


def _subsets(colors: list[int]) -> Iterator[set[int]]:
    for mask in range(1 << len(colors)):
        yield {color for i, color in enumerate(colors) if mask >> i & 1}
