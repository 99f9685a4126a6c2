"""Counts by domain, few of them other than zero.

A search of one group asks for single domains only; one of a thousand groups asks
for all domains of a level again and again. So counts live in a mapping, and in an
array beside it from the first time that somebody asks for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from closeknit.engine.tree import Ints, Tree


class Tally:
    """Counts for the domains of one level."""

    __slots__ = ("_array", "_counts", "_size")

    def __init__(self, size: int, once: Iterable[int] = ()) -> None:
        """``once`` are domains that are counted from the start."""
        self._size = size
        self._counts = dict.fromkeys(once, 1)
        self._array: Ints | None = None

    def add(self, domain: int, amount: int) -> None:
        """Count something in a domain; what comes to zero is forgotten."""
        count = self._counts.get(domain, 0) + amount
        if count:
            self._counts[domain] = count
        else:
            self._counts.pop(domain, None)
        if self._array is not None:
            self._array[domain] = count

    def __getitem__(self, domain: int) -> int:
        return self._counts.get(domain, 0)

    def __contains__(self, domain: int) -> bool:
        return domain in self._counts

    def __len__(self) -> int:
        """How many domains have a count other than zero."""
        return len(self._counts)

    def all(self) -> Ints:
        """The counts of all domains, in order; the array follows later changes and is not to be changed."""
        if self._array is None:
            self._array = np.zeros(self._size, dtype=np.int64)
            if self._counts:
                self._array[list(self._counts)] = list(self._counts.values())
        return self._array


class Loads:
    """Per shape and domain, the fewest pods that the choices of a search confine there."""

    __slots__ = ("_tallies", "_tree")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._tallies: dict[tuple[int, int], Tally] = {}

    def add(self, level: int, domain: int, shape: int, pods: int) -> None:
        """Confine pods to a domain; those around it are not told."""
        tally = self._tallies.get((level, shape))
        if tally is None:
            tally = self._tallies[level, shape] = Tally(self._tree.count(level))
        tally.add(domain, pods)

    def at(self, level: int, shape: int) -> Tally | None:
        """The pods of a shape by domain of a level; None where there are none."""
        tally = self._tallies.get((level, shape))
        return tally or None

    def count(self, level: int, domain: int, shape: int) -> int:
        """The pods of a shape in one domain."""
        tally = self._tallies.get((level, shape))
        return tally[domain] if tally is not None else 0
