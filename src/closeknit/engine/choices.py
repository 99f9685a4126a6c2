"""The choices that a search has made so far, what they take, and what they cost at least.

Every ``make`` has its ``unmake``; between the two, all counts are those of the
choices in force, and nothing is counted again from the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closeknit.engine.compiled_request import CompiledRequest, GroupVar, Part, PodSetVar, need_of
from closeknit.engine.component import Color, Contents
from closeknit.engine.count_bounds import MixedBound
from closeknit.engine.tree import Ints, Tree


class Tally:
    """Counts for the domains of one level."""

    __slots__ = ("_nonzero", "counts")

    def __init__(self, size: int, once: Iterable[int] = ()) -> None:
        """``once`` are domains that are counted from the start."""
        self.counts = np.zeros(size, dtype=np.int64)
        """By domain; follows later changes and is not to be changed by others."""
        self._nonzero = 0
        for domain in once:
            self.add(domain, 1)

    def add(self, domain: int, amount: int) -> None:
        """Count something in a domain."""
        before = self[domain]
        self.counts[domain] = before + amount
        self._nonzero += bool(before + amount) - bool(before)

    def __getitem__(self, domain: int) -> int:
        return self.counts.item(domain)

    def __len__(self) -> int:
        """How many domains have a count other than zero."""
        return self._nonzero


class Loads:
    """Per shape and domain, the fewest pods that the choices of a search confine there."""

    __slots__ = ("_tallies", "_tree")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._tallies: dict[tuple[int, int], Tally] = {}

    def add(self, level: int, domain: int, shape: int, pods: int) -> None:
        """Confine pods to a domain; those around it are not told."""
        if (level, shape) not in self._tallies:
            self._tallies[level, shape] = Tally(self._tree.count(level))
        self._tallies[level, shape].add(domain, pods)

    def at(self, level: int, shape: int) -> Tally | None:
        """The pods of a shape by domain of a level; None where there are none."""
        return self._tallies.get((level, shape)) or None

    def count(self, level: int, domain: int, shape: int) -> int:
        """The pods of a shape in one domain."""
        tally = self._tallies.get((level, shape))
        return tally[domain] if tally is not None else 0


@dataclass(frozen=True, slots=True)
class Place:
    """A domain chosen for a group inside a coarser one."""

    above: int
    """The level of the coarser one."""
    level: int
    domain: int
    distance: int
    """How far it is from what the group prefers."""


class Choices:
    """Domains given to groups, members left out, and pod sets confined to domains."""

    def __init__(self, compiled: CompiledRequest, free: Ints, *, count_mixes: bool = True) -> None:
        self.compiled = compiled
        self.free = free
        """Free amounts by ledger row and slot."""
        self.mixed = MixedBound(compiled, free, counted=count_mixes)
        self._tree = tree = compiled.tree
        self.contents = Contents(tree)
        self.colors: list[Color] = []
        self.loads = Loads(tree)
        self.used = [
            Tally(tree.count(level), domains)
            for level, domains in enumerate(tree.holding(compiled.root.bound))
        ]
        """By level, domains that are in use for certain, and for how many reasons."""
        self._touched = Counter[tuple[int, int]]()
        self._sums: dict[tuple[int, int], NDArray[np.float64]] = {}
        self.left_out = 0
        """Pods of members left out."""
        self.preferences = [0] * tree.depth
        self._open = list(compiled.root.open)
        """Per shape, the pods asked for, less those of members left out."""
        self._add(-1, 0, compiled.root.need, -1)

    def confine(self, level: int, domain: int) -> None:
        """Count what the request needs in a domain that all of it has to stay in."""
        self._add(level, domain, self.compiled.root.need, 0)

    # ---- a domain for a group ----

    def make(self, group: GroupVar, place: Place, colors: tuple[int, ...]) -> tuple[int, ...]:
        """Give a group its domain; returns the colors that its pods carry."""
        if place.distance and place.level < 0:
            # Nothing is shared: each domain of the preferred level counts, those of running pods at once.
            running = frozenset(self._tree.holding(group.bound)[group.preferred])
            colors = (*colors, len(self.colors))
            self.colors.append(Color(group.preferred, running))
        self._count(group, place, 1)
        return colors

    def unmake(self, group: GroupVar, place: Place) -> None:
        """Take back what ``make`` did."""
        self._count(group, place, -1)
        if place.distance and place.level < 0:
            self.colors.pop()

    def _count(self, group: GroupVar, place: Place, sign: int) -> None:
        if place.distance:
            distance = place.distance
            if place.level < 0:
                color = self.colors[-1]
                distance = group.preferred + 1 + len(color.running)
            self.preferences[group.preferred] += sign * distance
        self._add(place.level, place.domain, [sign * need for need in group.need], place.above + 1)
        for at, around in self._tree.around(place.level, place.domain, 0):
            self._touched[at, around] += sign
            if group.size:
                self.used[at].add(around, sign)

    def touches(self, level: int, domain: int) -> bool:
        """Whether a choice has anything to do with a domain."""
        return self._touched[level, domain] > 0 or self.used[level][domain] > 0

    # ---- members for a group ----

    def form(self, group: GroupVar, members: list[Part], left_out: int, place: Place, sign: int) -> None:
        """Form these members of a group and leave out the others; with -1, take that back."""
        self.left_out += sign * left_out
        need = [0] * len(self._open)
        for part in members:
            need = [a + b for a, b in zip(need, need_of(part, len(need)), strict=True)]
        extra = [sign * (now - before) for now, before in zip(need, group.need, strict=True)]
        self._add(place.level, place.domain, extra, -1)
        if len(members) != len(group.members):
            kept = {part.name for part in members}
            for part in group.members:
                if part.name not in kept:
                    self._drop([part] if isinstance(part, PodSetVar) else part.pod_sets, sign)

    def skip(self, group: GroupVar, sign: int) -> None:
        """Place nothing of a group that needs nothing; with -1, take that back."""
        self.left_out += sign * sum(group.open)
        self._drop(group.pod_sets, sign)

    def _drop(self, pod_sets: list[PodSetVar], sign: int) -> None:
        for pod_set in pod_sets:
            self._open[pod_set.shape] -= sign * pod_set.open

    def _add(self, level: int, domain: int, added: list[int], top: int) -> None:
        """Count pods in a domain and in those around it, up to a coarser level."""
        if not any(added):
            return
        for at, around in self._tree.around(level, domain, top):
            for shape, pods in enumerate(added):
                if pods:
                    self.loads.add(at, around, shape, pods)

    # ---- what that means ----

    def covered(self, level: int, domain: int) -> bool:
        """Whether each domain on the way up takes what is confined to it, one shape at a time."""
        return all(
            self.loads.count(at, around, shape) <= table.capacity(at, around)
            for at, around in self._tree.around(level, domain)
            for shape, table in enumerate(self.compiled.tables)
        )

    def room(self, group: GroupVar, place: Place) -> list[int]:
        """Per shape, how many pods a domain and all those around it have left for a group that is made."""
        rooms = []
        for shape, table in enumerate(self.compiled.tables):
            left = min(
                table.capacity(at, around) - self.loads.count(at, around, shape)
                for at, around in self._tree.around(place.level, place.domain)
            )
            rooms.append(left + group.need[shape])
        return rooms

    def pods_in(self, level: int, domain: int) -> int:
        """How many pods are confined to a domain for certain."""
        return sum(self.loads.count(level, domain, shape) for shape in range(len(self._open)))

    def fits_by_sum(self, place: Place) -> bool:
        """Whether the free amounts of each domain on the way cover all that is confined to it."""
        compiled = self.compiled
        if len(compiled.tables) == 1:
            return True
        for at, around in self._tree.around(place.level, place.domain, max(place.above + 1, 0)):
            load = [self.loads.count(at, around, shape) for shape in range(len(compiled.tables))]
            if not any(load):
                continue
            start, end = self._tree.bounds(at, around)
            slots = self._tree.slots[start:end]
            for i, row in enumerate(compiled.rows):
                wanted = sum(count * compiled.demand[shape][i] for shape, count in enumerate(load))
                # Sums in floating point cannot overflow; the margin keeps rounding on the safe side.
                free = float(self.free[row, slots].clip(0).sum(dtype=np.float64))
                if wanted > free * (1 + 1e-9):
                    return False
        return True

    def fits_cluster_by_sum(self) -> bool:
        """Whether the free amounts of the whole cluster cover all that must be placed."""
        compiled = self.compiled
        load = [self.loads.count(-1, 0, shape) for shape in range(len(compiled.tables))]
        for i, row in enumerate(compiled.rows):
            wanted = sum(count * compiled.demand[shape][i] for shape, count in enumerate(load))
            if (-1, row) not in self._sums:
                free = self.free[row, self._tree.slots].clip(0)
                self._sums[-1, row] = free.sum(dtype=np.float64, keepdims=True)
            if wanted > float(self._sums[-1, row][0]) * (1 + 1e-9):
                return False
        return True

    def crowding(self, level: int, domains: Ints, added: list[int]) -> NDArray[np.float64]:
        """By domain, the share of what is free that is taken with these pods, of the scarcest resource."""
        compiled = self.compiled
        crowded = np.zeros(len(domains))
        for i, row in enumerate(compiled.rows):
            wanted = np.zeros(len(domains))
            for shape, demand in enumerate(compiled.demand):
                tally = self.loads.at(level, shape)
                wanted += float(demand[i]) * added[shape]
                if tally is not None:
                    wanted += float(demand[i]) * tally.counts[domains]
            np.maximum(crowded, wanted / self._free_sums(level, row)[domains], out=crowded)
        return crowded

    def _free_sums(self, level: int, row: int) -> NDArray[np.float64]:
        """By domain of a level, what is free of a resource; at least one unit."""
        if (level, row) not in self._sums:
            free = self.free[row, self._tree.slots].clip(0).astype(np.float64)
            self._sums[level, row] = np.maximum(np.add.reduceat(free, self._tree.start[level]), 1)
        return self._sums[level, row]

    def cost(self, *, closely: bool) -> list[int]:
        """What the choices cost at least, field by field; ``closely`` counts pods of all shapes together."""
        short = self.mixed.lacking(self._open, closely=closely)
        used = map(len, self.used[: self.compiled.named + 1])
        return [self.left_out + short, *self.preferences, 0, *used]
