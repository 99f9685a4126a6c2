"""How many pods of any shape fit: a bound over shapes that differ.

A node cannot hold more pods of a request than it could if each took no more than
the least that any of them takes. Where shapes are alike, as a launcher's and its
workers' often are, this says much more than the sums of resources do.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.tree import Ints


class MixedBound:
    """Counts over all shapes of a request together; computed when first asked for."""

    def __init__(self, compiled: CompiledRequest, free: Ints, *, counted: bool = True) -> None:
        """Unless ``counted``, only sums over the shapes are known."""
        self._counted = counted
        self._compiled = compiled
        self._free = free

    @cached_property
    def fit(self) -> Ints:
        """By position, the most pods that the node takes in any mix."""
        compiled = self._compiled
        if len(compiled.tables) == 1:
            return compiled.tables[0].fit
        each = np.sum([table.fit for table in compiled.tables], axis=0)
        for row, *units in zip(compiled.rows, *compiled.demand, strict=True):
            if min(units) and self._counted:
                np.minimum(each, self._free[row, compiled.tree.slots].clip(0) // min(units), out=each)
        return np.asarray(each, dtype=np.int64)

    @cached_property
    def total(self) -> int:
        """The most pods that the cluster takes in any mix."""
        return int(self.fit.sum())

    def sums(self, level: int) -> Ints:
        """By domain of a level, the most pods that it takes in any mix."""
        tree = self._compiled.tree
        if len(self._compiled.tables) == 1:
            return self._compiled.tables[0].sums[level]
        if level == tree.depth or not len(tree):
            return self.fit
        summed: Ints = np.add.reduceat(self.fit, tree.start[level])
        return summed
