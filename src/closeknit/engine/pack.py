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
from dataclasses import dataclass

from closeknit.engine.budget import Steps

Pattern = tuple[int, ...]

_LOOKS_A_STEP = 16


@dataclass(frozen=True, slots=True)
class Item:
    """Pods of one shape that may go to the same nodes."""

    shape: int
    need: int
    open: int
    """The most that may be placed, the needed ones included."""
    first: int
    last: int
    """The positions they may use, from the first to behind the last."""
    colors: tuple[int, ...] = ()
    """Preferences of groups that share no domain: each pays for every domain it uses."""


@dataclass(frozen=True, slots=True)
class Site:
    """A node."""

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


@dataclass(frozen=True, slots=True)
class Weights:
    """What each thing costs."""

    left_out: int
    levels: tuple[int, ...]
    """Per level walked, for a domain that comes into use; last, for a node."""
    colors: tuple[int, ...]
    """Per color, for a domain of its level that it comes to use."""


class Packing:
    """One layout problem. ``sites`` must keep each domain's nodes together."""

    def __init__(
        self, items: list[Item], sites: list[Site], demand: list[list[int]], weights: Weights, steps: Steps
    ) -> None:
        self._items = items
        self._sites = sites
        self._demand = [demand[item.shape] for item in items]
        self._weights = weights
        self._steps = steps
        self._spare = tuple(item.open - item.need for item in items)
        self._looks = 0
        self._pools = self._make_pools()
        self._memo: dict[object, tuple[int, bool, Pattern | None]] = {}
        self._look_ahead()

    def _make_pools(self) -> list[tuple[list[int], list[int]]]:
        """Sets of items, each with the least that any of its pods takes.

        A node holds no more pods of the set than it would hold of that.
        All items together make one set, and those that ask for the same resource another.
        """
        sets = {tuple(range(len(self._items)))}
        for row in range(len(self._demand[0]) if self._items else 0):
            sets.add(tuple(i for i, demand in enumerate(self._demand) if demand[row]))
        return [
            (
                list(members),
                [min(amounts) for amounts in zip(*(self._demand[i] for i in members), strict=True)],
            )
            for members in sorted(sets)
            if len(members) > 1
        ]

    def _look_ahead(self) -> None:
        """Count, for each suffix of the walk, what it can take at most."""
        sites, items = self._sites, self._items
        count, levels = len(sites), len(self._weights.levels) - 1
        self._reach = [[0] * len(items) for _ in range(count + 1)]
        self._best = [[[0] * len(items) for _ in range(levels + 1)] for _ in range(count + 1)]
        self._gratis = [[0] * (levels + 1) for _ in range(count + 1)]
        self._total = [[0] * len(self._demand[0]) for _ in range(count + 1)] if items else []
        self._next_other = [count] * (count + 1)
        self._pooled = [[0] * len(self._pools) for _ in range(count + 1)]
        self._pooled_best = [[0] * len(self._pools) for _ in range(count + 1)]
        running = [[0] * len(items) for _ in range(levels)]
        for i in range(count - 1, -1, -1):
            site, after = sites[i], sites[i + 1] if i + 1 < count else None
            self._reach[i] = [a + b for a, b in zip(self._reach[i + 1], site.fits, strict=True)]
            self._total[i] = [a + b for a, b in zip(self._total[i + 1], site.free, strict=True)]
            for at, (members, least) in enumerate(self._pools):
                together = sum(site.fits[item] for item in members)
                if together:
                    together = min([together, *(f // u for f, u in zip(site.free, least, strict=True) if u)])
                self._pooled[i][at] = self._pooled[i + 1][at] + together
                self._pooled_best[i][at] = max(self._pooled_best[i + 1][at], together)
            for level in range(levels):
                same = after is not None and after.domains[: level + 1] == site.domains[: level + 1]
                kept = running[level] if same else [0] * len(items)
                running[level] = [a + b for a, b in zip(kept, site.fits, strict=True)]
                self._best[i][level] = [
                    max(a, b) for a, b in zip(self._best[i + 1][level], running[level], strict=True)
                ]
                self._gratis[i][level] = self._gratis[i + 1][level] + (site.paid[level] and not same)
            self._best[i][levels] = [
                max(a, b) for a, b in zip(self._best[i + 1][levels], site.fits, strict=True)
            ]
            self._gratis[i][levels] = self._gratis[i + 1][levels] + site.paid[levels]
            twin = (
                after is not None
                and after.fits == site.fits
                and after.free == site.free
                and after.domains == site.domains
                and after.paid == site.paid
                and after.color_domains == site.color_domains
            )
            self._next_other[i] = self._next_other[i + 1] if twin else i + 1

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
        while at < len(self._sites) and any(remaining):
            open_domains, open_colors = self._arrive(at, open_domains, open_colors)
            _, _, pattern = self._memo[at, remaining, open_domains, open_colors]
            assert pattern is not None
            if any(pattern):
                layout.append((self._sites[at].position, pattern))
                _, remaining, open_domains, open_colors = self._use(
                    at, remaining, open_domains, open_colors, pattern
                )
                at += 1
            else:
                at = self._next_other[at]
        return cost, layout

    def _arrive(
        self, at: int, open_domains: tuple[bool, ...], open_colors: tuple[bool, ...]
    ) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Which domains of the node at hand are in use already."""
        site = self._sites[at]
        if at == 0:
            return site.paid[:-1], site.color_paid
        before = self._sites[at - 1]
        domains = tuple(
            was if before.domains[: level + 1] == site.domains[: level + 1] else site.paid[level]
            for level, was in enumerate(open_domains)
        )
        colors = tuple(
            was if before.color_domains[i] == site.color_domains[i] else site.color_paid[i]
            for i, was in enumerate(open_colors)
        )
        return domains, colors

    def _bound(self, at: int, remaining: Pattern, open_domains: tuple[bool, ...]) -> int | None:
        """What placing the rest costs at least; None where it cannot be placed."""
        must = [max(left - spare, 0) for left, spare in zip(remaining, self._spare, strict=True)]
        reach = self._reach[at]
        left_out = 0
        for need, left, most in zip(must, remaining, reach, strict=True):
            if need > most:
                return None
            left_out += max(left - most, 0)
        hosts = 0
        for (members, _), most, best_of in zip(
            self._pools, self._pooled[at], self._pooled_best[at], strict=True
        ):
            need = sum(must[item] for item in members)
            if need > most:
                return None
            left_out = max(left_out, sum(remaining[item] for item in members) - most)
            if need:
                hosts = max(hosts, -(-need // best_of))
        if not any(must):
            return left_out * self._weights.left_out
        for row, total in enumerate(self._total[at]):
            if sum(need * demand[row] for need, demand in zip(must, self._demand, strict=True)) > total:
                return None
        cost = left_out * self._weights.left_out
        for level, weight in enumerate(self._weights.levels):
            best = self._best[at][level]
            pieces = max(-(-need // most) for need, most in zip(must, best, strict=True) if need)
            if level == len(open_domains):
                pieces = max(pieces, hosts)
            gratis = self._gratis[at][level] + (level < len(open_domains) and open_domains[level])
            cost += max(pieces - gratis, 0) * weight
        return cost

    def _walk(
        self,
        at: int,
        remaining: Pattern,
        open_domains: tuple[bool, ...],
        open_colors: tuple[bool, ...],
        below: int,
    ) -> int | None:
        """The least cost of placing the rest from a node on, if less than ``below``."""
        if at == len(self._sites) or not any(remaining):
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
        bound = self._bound(at, remaining, open_domains)
        if bound is None or bound >= below:
            self._memo[key] = (below if bound is not None else 1 << 400, False, None)
            return None
        self._steps.take()
        best: int | None = None
        chosen: Pattern = ()
        limit = below
        for pattern in self._patterns(at, remaining, open_colors):
            price, left, domains, colors = self._use(at, remaining, open_domains, open_colors, pattern)
            following = at + 1 if any(pattern) else self._next_other[at]
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
        site, weights = self._sites[at], self._weights
        price = 0 if site.paid[-1] else weights.levels[-1]
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
        site = self._sites[at]
        most = [min(left, fit) for left, fit in zip(remaining, site.fits, strict=True)]
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
            found.extend(self._full(allowed, site.free))
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
            if self._looks % _LOOKS_A_STEP == 0:
                self._steps.take()
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
