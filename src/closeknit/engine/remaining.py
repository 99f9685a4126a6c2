"""What the nodes still offer while one request is laid out."""

from __future__ import annotations

from collections import Counter

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.tree import Flags, Ints


class Remaining:
    """Counts how many pods each domain still takes; the tables themselves stay as they are."""

    def __init__(self, compiled: CompiledRequest, free: Ints, in_use: list[set[int]]) -> None:
        self._compiled = compiled
        self._tree = compiled.tree
        self._free = free
        """Free amounts by ledger row and slot."""
        self.used = [set(domains) for domains in in_use]
        """By level, the domains in use by the request; the last entry lists positions."""
        self._left: dict[int, list[int]] = {}
        """By position in use, what is left of each of the request's rows."""
        levels = range(-1, self._tree.depth + 1)
        self._less = [{level: Counter[int]() for level in levels} for _ in compiled.tables]
        """By shape, level and domain, how many pods fewer it takes by now."""

    def capacity(self, shape: int, level: int, domain: int) -> int:
        """How many pods of a shape a domain still takes."""
        return self._compiled.tables[shape].capacity(level, domain) - self._less[shape][level][domain]

    def capacities(self, shape: int, level: int, first: int, last: int) -> Ints:
        """How many pods of a shape each of some domains of a level still takes."""
        room = self._compiled.tables[shape].sums[level][first:last]
        less = {domain: n for domain, n in self._less[shape][level].items() if first <= domain < last}
        if less:
            room = room.copy()
            room[np.array(list(less)) - first] -= list(less.values())
        return room

    def take(self, shape: int, position: int, count: int) -> None:
        """Put pods of a shape on a node."""
        compiled, tree = self._compiled, self._tree
        if position not in self._left:
            slot = int(tree.slots[position])
            self._left[position] = [int(self._free[row, slot]) for row in compiled.rows]
        left = self._left[position]
        for i, units in enumerate(compiled.demand[shape]):
            left[i] -= units * count
        for other, demand in enumerate(compiled.demand):
            before = self.capacity(other, tree.depth, position)
            room = min(amount // units for amount, units in zip(left, demand, strict=True) if units)
            now = max(min(room, before), 0)
            for level, less in self._less[other].items():
                less[tree.above(tree.depth, position, level)] += before - now
        for level, used in enumerate(self.used):
            used.add(int(tree.dom[level][position]))

    def in_use(self, level: int, first: int, last: int) -> Flags:
        """Which of some domains of a level are in use."""
        flags = np.zeros(last - first, dtype=np.bool_)
        flags[[domain - first for domain in self.used[level] if first <= domain < last]] = True
        return flags
