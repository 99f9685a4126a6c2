"""Requests of equal pods, in slices of slices: decided by counting from below.

Where all pods are equal and so are all slices of a layer, a rack holds as many slices of six pods as its
hosts hold pairs, divided by three. Counting so from the nodes up says exactly what each domain takes, and
adding up what every number of slices costs in the parts of a domain says what it costs in the whole.
So there is nothing to search for: a placement found here is best, and where counts find none there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit.engine.budget import OutOfBudgetError
from closeknit.engine.compiled_request import CompiledRequest, GroupVar, PodSetVar
from closeknit.engine.count_bounds import fewest_inside, fewest_pieces
from closeknit.engine.criteria import narrowed, score_keys
from closeknit.engine.score import Spread
from closeknit.engine.tree import Ints

_COST_BITS = 62
"""Costs of several fields must fit into so many bits."""
_LONG = 1024
"""Entries that cost as much to compare as to begin comparing."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Slices of one size, each in one domain of a level."""

    level: int
    size: int
    """Slices of the layer inside, or pods, that make one of these."""


@dataclass(frozen=True, slots=True)
class Nest:
    """Equal pods in layers of slices."""

    layers: tuple[Layer, ...]
    """Innermost first."""
    least: int
    """Outermost slices, or pods, that must be placed."""
    most: int


def nest_of(compiled: CompiledRequest) -> Nest | None:
    """The request as layers of equal slices; None where its pods or its slices are not equal."""
    root = compiled.root
    if len(compiled.tables) != 1 or root.bound or not root.size:
        return None
    nest = _inside(root)
    return nest if nest is not None and (nest.least == nest.most or not nest.layers) else None


def _inside(group: GroupVar) -> Nest | None:
    if len(group.members) != group.least:
        return None
    pod_sets = [part for part in group.members if isinstance(part, PodSetVar)]
    if len(pod_sets) == len(group.members):
        return Nest((), sum(pods.need for pods in pod_sets), sum(pods.open for pods in pod_sets))
    first = group.members[0]
    if not isinstance(first, GroupVar) or any(part.twin != first.twin for part in group.members):
        return None
    nest = _inside(first)
    if nest is None or not nest.least or nest.least != nest.most or first.preferred > first.required:
        return None
    number = len(group.members)
    if first.required < 0:
        return Nest(nest.layers, number * nest.least, number * nest.least)
    if nest.layers and nest.layers[-1].level < first.required:
        return None
    return Nest((*nest.layers, Layer(first.required, nest.least)), number, number)


@dataclass(frozen=True, slots=True)
class _Part:
    """What a domain, or a run of domains of one node each, adds to the domain around it."""

    domains: Ints
    """One domain, or several that cost the same each, the roomiest first."""
    reach: list[int]
    """By step, the most slices that it takes for the cost of the step."""
    costs: list[int]


class EqualPods:
    """Places one nest. The work that it takes is counted; beyond what it is given, it gives up."""

    def __init__(self, compiled: CompiledRequest, nest: Nest, within: tuple[int, int] = (-1, 0)) -> None:
        """``within`` is the level and domain that all pods have to stay in."""
        self._compiled = compiled
        self._tree = tree = compiled.tree
        self._nest = nest
        self._within = within
        self._most_work = 0
        self.work = 0
        by_level = [compiled.tables[0].fit]
        """By level, how many slices of those that are whole at the level each domain takes."""
        for level in range(tree.depth - 1, -1, -1):
            inner = tree.dom[level + 1][tree.start[level]]
            takes = np.add.reduceat(by_level[0], inner) if len(tree) else by_level[0]
            if self._size(level) > 1 or any(layer.level == level for layer in nest.layers):
                takes = takes // self._size(level) * tree.real[level]
            by_level.insert(0, takes)
        self._takes = by_level
        self._known: dict[tuple[int, int], Ints] = {}
        self._parts: dict[tuple[int, int], list[tuple[_Part, Ints]]] = {}
        """By domain, its parts, each with the costs of all that come before it."""

    def _size(self, level: int) -> int:
        """How many slices of the next finer level make one slice of a level."""
        size = 1
        for layer in self._nest.layers:
            if layer.level == level:
                size *= layer.size
        return size

    def _units(self, level: int) -> int:
        """How many slices that are whole at a level make one of the outermost."""
        units = 1
        for layer in self._nest.layers:
            if layer.level < level:
                units *= layer.size
        return units

    def _taking_inside(self, level: int, domains: Ints, slices: int) -> Ints:
        """The domains of the next finer level, inside some of a level, that take so many outermost slices."""
        if level == self._tree.depth:
            return domains[:0]
        enough = self._takes[level + 1] >= slices * self._units(level + 1)
        if level >= 0:
            enough &= np.isin(self._tree.parent[level + 1], domains)
        found: Ints = np.flatnonzero(enough)
        return found

    def _widest(self) -> tuple[int, int, Ints] | None:
        """How many slices can be placed, the level they share best, and its domains; None where too few.

        Level -1 stands for the whole cluster.
        """
        tree, root, nest = self._tree, self._compiled.root, self._nest
        base = max(root.required, self._within[0])
        best: tuple[int, int, Ints] | None = None
        for level in range(max(root.preferred, base), base - 1, -1):
            if level < 0:
                room = int(self._takes[0].sum())
                found = (min(room // self._units(-1), nest.most), -1, np.zeros(1, dtype=np.int64))
            else:
                first, last = tree.span(*self._within, level)
                real = tree.real[level][first:last] | (level == self._within[0])
                rooms = self._takes[level][first:last] * real // self._units(level)
                slices = min(int(rooms.max(initial=0)), nest.most)
                found = (slices, level, np.flatnonzero(rooms >= max(slices, 1)) + first)
            if found[0] >= nest.least and (best is None or found[0] > best[0]):
                best = found
        return best

    def placement(self, most_work: int) -> tuple[Spread, bool] | None:
        """A placement, and whether it is best: it is unless that takes too long. None where there is none."""
        found = self._widest()
        if found is None:
            return None
        slices, level, domains = found
        self._most_work = most_work
        counts = np.zeros(len(self._tree), dtype=np.int64)
        level, domains, apart = self._narrowed(slices, level, domains)
        try:
            domain = self._best(slices, level, domains, apart=apart)
            self._fill(level, domain, slices * self._units(level), counts)
        except OutOfBudgetError:
            self._fill_roughly(level, int(domains[0]), slices * self._units(level), counts)
            # In one domain of the named level, what is rough is of no account for criteria 1 to 4.
            return self._shared(counts), level >= self._compiled.named
        return self._shared(counts), True

    def _narrowed(self, slices: int, level: int, domains: Ints) -> tuple[int, Ints, bool]:
        """The finest level at which one domain takes everything, its best domains, whether none is shared.

        Such a domain is better than several of its level, the coarsest first. From the named level on, the
        domains with the best score come before any level inside them.
        """
        apart = level < 0 <= self._compiled.root.preferred
        named, table = self._compiled.named, self._compiled.tables[0]
        while not apart:
            if level >= named:
                domains = narrowed(domains, score_keys(table, level))
            inner = self._taking_inside(level, domains, slices)
            if not len(inner):
                break
            level, domains = level + 1, inner
        return level, domains, apart

    def _best(self, slices: int, level: int, domains: Ints, *, apart: bool) -> int:
        """The domain in which so many slices cost the least."""
        self._weigh(level, slices, apart=apart)
        best: tuple[int, int] | None = None
        for bound, domain in self._by_bound(level, domains, slices):
            if best is not None and bound > best[0]:
                break
            cost = int(self._costs(level, domain, slices * self._units(level))[-1])
            if best is None or cost < best[0]:
                best = cost, domain
        assert best is not None
        return best[1]

    def _weigh(self, top: int, slices: int, *, apart: bool) -> None:
        """Give domains and their room weights such that costs compare by criteria 2 and 4 to 6.

        Where the bits of a cost do not suffice, the least important weights stay 0.
        """
        tree, named = self._tree, self._compiled.named
        if tree.count(named) == len(tree):
            # Domains of one node each are counted as nodes.
            named = tree.depth
        pods = slices * self._units(tree.depth)
        self._weights, self._room_weights = [0] * (tree.depth + 1), [0] * (tree.depth + 1)
        fields: list[tuple[list[int], int, int]] = []
        """By importance: the weights that count something, its level, and the bits that it takes."""
        if apart:
            preferred = self._compiled.root.preferred
            fields.append((self._weights, preferred, min(pods, tree.count(preferred)).bit_length()))
        for level in range(top + 1, tree.depth + 1):
            if level == tree.depth or tree.count(level) < len(tree):
                fields.append((self._weights, level, min(pods, tree.count(level)).bit_length()))
            if named <= level < tree.depth:
                fields.append((self._room_weights, level, self._compiled.tables[0].total.bit_length()))
        exact = sum(weights is self._weights and level <= named for weights, level, _ in fields)
        left = _COST_BITS
        for number, (weights, level, bits) in enumerate(fields):
            left -= bits
            if left < 0:
                if number < exact:
                    raise OutOfBudgetError
                break
            weights[level] += 1 << left

    def _by_bound(self, level: int, domains: Ints, slices: int) -> list[tuple[int, int]]:
        """Bounds and domains, the least bound first, then the tightest domain, then by path."""
        if level < 0 or len(domains) == 1:
            return [(0, int(domains[0]))]
        tree = self._tree
        bounds = np.zeros(len(domains), dtype=np.int64)
        for finer in range(level + 1, tree.depth + 1):
            if weight := self._weights[finer]:
                wanted = slices * self._units(finer)
                bounds += weight * fewest_inside(
                    tree, level, finer, domains, sizes=self._takes[finer], count=wanted
                )
        scores = [np.asarray(key(domains)) for key in score_keys(self._compiled.tables[0], level)]
        order = np.lexsort([domains, *reversed(scores), bounds])
        return list(zip(bounds[order].tolist(), domains[order].tolist(), strict=True))

    # ---- what so many slices cost ----

    def _costs(self, level: int, domain: int, most: int) -> Ints:
        """By number of slices, from none to what fits but no more than ``most``: what they cost inside."""
        if level >= 0:
            most = min(most, int(self._takes[level][domain]))
        known = self._known.get((level, domain))
        if known is not None and len(known) > most:
            return known[: most + 1]
        size = self._size(level)
        wanted = most * size
        so_far = np.zeros(1, dtype=np.int64)
        parts: list[tuple[_Part, Ints]] = []
        if level < self._tree.depth:
            for part in self._parts_of(level, domain, wanted):
                parts.append((part, so_far))
                so_far = self._joined(so_far, part, wanted)
        else:
            so_far = np.zeros(wanted + 1, dtype=np.int64)
        self._parts[level, domain] = parts
        self._known[level, domain] = so_far[: wanted + 1 : size]
        return self._known[level, domain]

    def _parts_of(self, level: int, domain: int, most: int) -> list[_Part]:
        """The parts of a domain: what each takes, and what that costs the domain around it."""
        tree, finer = self._tree, level + 1
        first, last = tree.span(level, domain, finer)
        useful = np.flatnonzero(self._takes[finer][first:last]) + first
        sizes = tree.end[finer][useful] - tree.start[finer][useful]
        parts = []
        singles = useful[sizes == 1]
        if len(singles):
            # Nodes cost the same whatever they take, so the largest go first.
            rooms = self._takes[finer][singles]
            order = np.argsort(-rooms, kind="stable")
            reach = np.cumsum(rooms[order])
            number = int(np.searchsorted(reach, most)) + 1
            each = sum(self._weights[finer:])
            steps = reach[:number].tolist()
            parts.append(_Part(singles[order], steps, [each * (i + 1) for i in range(len(steps))]))
        for inner in useful[sizes > 1].tolist():
            costs = self._costs(finer, inner, most)
            own = self._weights[finer]
            own += self._room_weights[finer] * self._compiled.tables[0].sums[finer].item(inner)
            ends = np.flatnonzero(costs[1:] != np.append(costs[2:], -1)) + 1
            parts.append(_Part(np.array([inner]), ends.tolist(), (costs[ends] + own).tolist()))
        return parts

    def _joined(self, before: Ints, part: _Part, most: int) -> Ints:
        """Costs after one more part: whatever it takes, the parts before it take the rest."""
        length = min(len(before) - 1 + part.reach[-1], most) + 1
        joined = np.full(length, np.iinfo(np.int64).max, dtype=np.int64)
        joined[: len(before)] = before[:length]
        for reach, cost in zip(part.reach, part.costs, strict=True):
            self.work += 1 + length // _LONG
            # Fewer than the most for a cost are had for the same.
            np.minimum(joined[1:reach], cost, out=joined[1:reach])
            there = joined[reach : reach + len(before)]
            np.minimum(there, before[: len(there)] + cost, out=there)
        if self.work > self._most_work:
            raise OutOfBudgetError
        return joined

    # ---- who takes how many ----

    def _fill(self, level: int, domain: int, slices: int, counts: Ints) -> None:
        """Put slices into a domain, in the cheapest way."""
        tree, finer = self._tree, level + 1
        start, end = tree.bounds(level, domain)
        if end - start == 1:
            counts[start] = slices * self._units(tree.depth) // self._units(level)
            return
        left = slices * self._size(level)
        self._costs(level, domain, slices)
        for part, before in reversed(self._parts[level, domain]):
            share = self._share(part, before, left)
            left -= share
            if not share:
                continue
            for inner, taken in self._divided(finer, part.domains, share):
                self._fill(finer, inner, taken, counts)

    def _fill_roughly(self, level: int, domain: int, slices: int, counts: Ints) -> None:
        """Put slices into a domain, into as few parts of each level as the parts above leave."""
        tree, finer = self._tree, level + 1
        start, end = tree.bounds(level, domain)
        if end - start == 1:
            counts[start] = slices * self._units(tree.depth) // self._units(level)
            return
        first, last = tree.span(level, domain, finer)
        for inner, taken in self._divided(finer, np.arange(first, last), slices * self._size(level)):
            self._fill_roughly(finer, inner, taken, counts)

    def _divided(self, level: int, domains: Ints, slices: int) -> list[tuple[int, int]]:
        """The fewest domains that take so many slices, the tightest of them, and what each takes."""
        domains = np.sort(domains)
        rooms = self._takes[level][domains]
        appeal = self._compiled.tables[0].appeal(level)
        prices = None if appeal is None else -appeal[domains]
        shares = []
        for at in fewest_pieces(rooms, prices, slices)[1]:
            taken = min(slices, int(rooms[at]))
            slices -= taken
            shares.append((int(domains[at]), taken))
        return shares

    def _share(self, part: _Part, before: Ints, left: int) -> int:
        """How much of what is left a part takes, if the parts before it take the rest at the least cost."""
        least, share = (int(before[left]), 0) if left < len(before) else (None, 0)
        for reach, cost in zip(part.reach, part.costs, strict=True):
            taken = min(reach, left)
            if left - taken < len(before):
                whole = int(before[left - taken]) + cost
                if least is None or whole < least:
                    least, share = whole, taken
        return share

    def _shared(self, counts: Ints) -> Spread:
        """Hand the pods out to the pod sets in path order, which keeps slices together."""
        each = np.repeat(np.arange(len(counts)), counts)
        spread: Spread = {}
        spare, at = len(each) - sum(pods.need for pods in self._compiled.pod_sets), 0
        for pods in self._compiled.pod_sets:
            extra = min(spare, pods.open - pods.need)
            spare -= extra
            mine = each[at : at + pods.need + extra]
            at += len(mine)
            if len(mine):
                spread[pods.index] = np.unique(mine, return_counts=True)
        return spread
