"""What the nodes still offer while one request is laid out."""

from __future__ import annotations

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
        self._fit: list[dict[int, int]] = [{} for _ in compiled.tables]
        self._less: list[list[dict[int, int]]] = [
            [{} for _ in range(self._tree.depth)] for _ in compiled.tables
        ]

    def capacity(self, shape: int, level: int, domain: int) -> int:
        """How many pods of a shape a domain still takes."""
        whole = self._compiled.tables[shape].capacity(level, domain)
        if not self._left:
            return whole
        if level == self._tree.depth:
            return self._fit[shape].get(domain, whole)
        if level < 0:
            fit = self._compiled.tables[shape].fit
            return whole - sum(int(fit[p]) - now for p, now in self._fit[shape].items())
        return whole - self._less[shape][level].get(domain, 0)

    def capacities(self, shape: int, level: int, first: int, last: int) -> Ints:
        """How many pods of a shape each of some domains of a level still takes."""
        table = self._compiled.tables[shape]
        sums = table.sums[level][first:last]
        if not self._left:
            return sums
        sums = sums.copy()
        if level == self._tree.depth:
            for position, fit in self._fit[shape].items():
                if first <= position < last:
                    sums[position - first] = fit
        else:
            for domain, less in self._less[shape][level].items():
                if first <= domain < last:
                    sums[domain - first] -= less
        return sums

    def take(self, shape: int, position: int, count: int) -> None:
        """Put pods of a shape on a node."""
        compiled, tree = self._compiled, self._tree
        left = self._left.get(position)
        if left is None:
            slot = int(tree.slots[position])
            left = self._left[position] = [int(self._free[row, slot]) for row in compiled.rows]
        for i, units in enumerate(compiled.demand[shape]):
            left[i] -= units * count
        for other, table in enumerate(compiled.tables):
            whole = int(table.fit[position])
            before = self._fit[other].get(position, whole)
            if whole == 0:
                continue
            now = min(
                amount // units for amount, units in zip(left, compiled.demand[other], strict=True) if units
            )
            now = max(min(now, whole), 0)
            self._fit[other][position] = now
            for level in range(tree.depth):
                domain = int(tree.dom[level][position])
                less = self._less[other][level]
                less[domain] = less.get(domain, 0) + before - now
        for level in range(tree.depth + 1):
            self.used[level].add(int(tree.dom[level][position]))

    def in_use(self, level: int, first: int, last: int) -> Flags | None:
        """Which of some domains of a level are in use; None where none of them is."""
        used = self.used[level]
        if not used:
            return None
        flags = np.zeros(last - first, dtype=np.bool_)
        inside = [domain - first for domain in used if first <= domain < last]
        if not inside:
            return None
        flags[inside] = True
        return flags
