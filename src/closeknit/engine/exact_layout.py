"""Exact layout of pods of several shapes on a few nodes.

Nodes are walked in an order that keeps every domain together, and each takes
nothing or as much as it can: on a node that is used anyway, one more pod never
hurts, so only patterns to which nothing can be added need a look. States that
were seen before are not searched again.

Costs are whole numbers that add up; the caller chooses the weights so that the
sum compares like the list of wishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from closeknit.engine.budget import OutOfBudgetError, Steps
from closeknit.engine.component import Item
from closeknit.engine.exact_nodes import Fee, LayoutNode, LookAhead, Pattern
from closeknit.engine.rule_watch import RuleWatch, Seen

LOOKS_A_STEP = 16
"""Looks at what fits on a node cost little; so many of them count as a step."""
_NEVER = 1 << 2048
"""More than any layout costs."""


class _State(NamedTuple):
    """How far a walk has come."""

    at: int
    """The node at hand."""
    remaining: Pattern
    is_open: tuple[bool, ...]
    """Per fee, whether the domain of the node is in use."""
    seen: Seen = ()
    """What rules have to know of the nodes behind."""


class ExactLayout:
    """One component to be laid out. ``nodes`` must keep each domain's nodes together."""

    def __init__(
        self,
        items: Sequence[Item],
        nodes: list[LayoutNode],
        demand: list[list[int]],
        fees: Sequence[Fee],
        steps: Steps,
        *,
        left_out: int,
        most_steps: int,
        watch: RuleWatch | None = None,
    ) -> None:
        """``left_out`` is what a pod left out costs; ``watch`` has an eye on rules among pods."""
        self._items = items
        self._nodes = nodes
        self._demand = [demand[item.shape] for item in items]
        self._fees = fees
        self._steps = steps
        self._left_out = left_out
        self._last_step = steps.taken + most_steps
        self._spare = tuple(item.open - item.need for item in items)
        self._looks = 0
        self._ahead = LookAhead(items, nodes, self._demand, fees, left_out)
        self._watch = watch
        following = self._ahead.next_other
        for at in range(len(nodes) - 1, -1, -1) if watch is not None else ():
            twin = following[at] > at + 1 and watch is not None and watch.alike(at)
            following[at] = following[at + 1] if twin else at + 1
        self._memo: dict[_State, tuple[int, bool, Pattern | None]] = {}
        self._known_patterns: dict[tuple[Pattern, tuple[int, ...]], list[Pattern]] = {}
        """What was found to fill a node, by the most pods of each item and by what is free."""
        self.complete = True
        """Whether the budget sufficed; otherwise there may be a cheaper layout."""

    def best(self, below: int | None = None) -> tuple[int, list[tuple[int, Pattern]]] | None:
        """The cheapest layout found below a cost: what it costs, and per position how many of each item.

        Raises ``OutOfBudgetError`` where the budget does not suffice to find any.
        """
        seen = () if self._watch is None else self._watch.begin()
        if seen is None:
            return None
        state = _State(0, tuple(item.open for item in self._items), (False,) * len(self._fees), seen)
        cost = self._walk(state, _NEVER if below is None else below)
        if cost is None:
            return None
        layout: list[tuple[int, Pattern]] = []
        while not self._ended(state):
            state = self._arrive(state)
            _, _, pattern = self._memo[state]
            assert pattern is not None
            if any(pattern):
                layout.append((self._nodes[state.at].position, pattern))
            following = self._use(state, pattern)
            assert following is not None
            _, state = following
        return cost, layout

    def _ended(self, state: _State) -> bool:
        return state.at == len(self._nodes) or not any(state.remaining)

    def _arrive(self, state: _State) -> _State:
        """The same with the domains of the node at hand, where it lies in others than the node before."""
        node, before = self._nodes[state.at], self._nodes[state.at - 1] if state.at else None
        return state._replace(
            is_open=tuple(
                was if before is not None and before.domains[i] == node.domains[i] else node.paid[i]
                for i, was in enumerate(state.is_open)
            )
        )

    def _take(self) -> None:
        self._steps.take()
        if self._steps.taken > self._last_step:
            raise OutOfBudgetError

    def _look(self) -> None:
        """Patterns can be many on a large node; a handful of looks is worth a step."""
        self._looks += 1
        if self._looks % LOOKS_A_STEP == 0:
            self._take()

    def _walk(self, state: _State, below: int) -> int | None:
        """The least cost of placing the rest from a node on, if less than ``below``."""
        if self._ended(state):
            if any(left > spare for left, spare in zip(state.remaining, self._spare, strict=True)):
                return None
            price = 0 if self._watch is None else self._watch.ends(state.seen, state.at)
            if price is None:
                return None
            cost = sum(state.remaining) * self._left_out + price
            return cost if cost < below else None
        state = self._arrive(state)
        known = self._memo.get(state)
        if known is not None:
            value, exact, _ = known
            if exact:
                return value if value < below else None
            if value >= below:
                return None
        bound = self._ahead.bound(state.at, state.remaining, state.is_open)
        if bound is None or bound >= below:
            self._memo[state] = (below if bound is not None else _NEVER, False, None)
            return None
        self._take()
        best: int | None = None
        chosen: Pattern = ()
        limit = below
        try:
            for pattern in self._patterns(state):
                self._look()
                used = self._use(state, pattern)
                if used is None:
                    continue
                price, following = used
                rest = self._walk(following, limit - price) if price < limit else None
                if rest is not None:
                    best = limit = price + rest
                    chosen = pattern
                if not self.complete:
                    break
        except OutOfBudgetError:
            # What was found so far is kept, and nobody looks any further.
            if best is None:
                raise
            self.complete = False
        self._memo[state] = (below, False, None) if best is None else (best, True, chosen)
        return best

    def _use(self, state: _State, pattern: Pattern) -> tuple[int, _State] | None:
        """Put a pattern on the node at hand and go on; returns what that costs, too. None breaks a rule."""
        # What was not put on this node need not be tried on others like it.
        following = state.at + 1 if any(pattern) else self._ahead.next_other[state.at]
        watch = self._watch
        left = tuple(a - b for a, b in zip(state.remaining, pattern, strict=True))
        watched = (0, ()) if watch is None else watch.after(state.seen, state.at, pattern, following, left)
        if watched is None:
            return None
        price, seen = watched
        if not any(pattern):
            return price, state._replace(at=following, seen=seen)
        is_open = list(state.is_open)
        for i, fee in enumerate(self._fees):
            if not is_open[i] and any(pattern[item] for item in fee.payers):
                is_open[i] = True
                price += self._nodes[state.at].prices[i]
        return price, _State(following, left, tuple(is_open), seen)

    def _patterns(self, state: _State) -> Iterator[Pattern]:
        """What a node may take: all that nothing can be added to, the fullest first; then nothing.

        Where a pod opens a domain that others do not pay for, leaving that pod out is a choice of its own.
        """
        node = self._nodes[state.at]
        most = [min(left, fit) for left, fit in zip(state.remaining, node.fits, strict=True)]
        fitting = {item for item, bound in enumerate(most) if bound}
        payers = [
            fee.payers & fitting
            for fee, is_open in zip(self._fees, state.is_open, strict=True)
            if not is_open and fee.payers & fitting and not fee.payers >= fitting
        ]
        if self._watch is not None:
            payers += [frozenset([item]) for item in sorted(self._watch.wary & fitting)]
        found: set[Pattern] = set()
        for mask in range(1 << len(payers)):
            banned = set[int]().union(*(items for i, items in enumerate(payers) if mask >> i & 1))
            bounds = tuple(0 if i in banned else bound for i, bound in enumerate(most))
            full = self._known_patterns.get((bounds, node.free))
            if full is None:
                full = self._known_patterns[bounds, node.free] = list(self._full(bounds, node.free))
            found.update(full)
        found.discard((0,) * len(most))
        yield from sorted(found, key=lambda pattern: (-sum(pattern), tuple(-count for count in pattern)))
        yield (0,) * len(most)

    def _full(self, most: Sequence[int], left: Sequence[int], pattern: Pattern = ()) -> Iterator[Pattern]:
        """Every pattern within bounds that begins like this and to which nothing can be added."""
        self._look()
        item = len(pattern)
        free = self._watch.counting if self._watch is not None else ()
        """Items that need not take all they can."""
        if item == len(most):
            # A pattern can be added to if any item that stopped early still fits.
            if all(
                i in free or pattern[i] == most[i] or not _room(left, self._demand[i]) for i in range(item)
            ):
                yield pattern
            return
        demand = self._demand[item]
        top = min(most[item], _room(left, demand))
        # What the last item leaves can be added by nobody else, so it takes all it can.
        all_of_it = item == len(most) - 1 and item not in free
        for take in range(top, top - 1 if all_of_it else -1, -1):
            rest = [amount - take * units for amount, units in zip(left, demand, strict=True)]
            yield from self._full(most, rest, (*pattern, take))


def _room(left: Sequence[int], demand: list[int]) -> int:
    """How many pods go into what is left of a node."""
    return min(amount // units for amount, units in zip(left, demand, strict=True) if units)
