"""Counts by domain, few of them other than zero."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from closeknit.engine.tree import Tree


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
