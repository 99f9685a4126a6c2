"""The shapes that were asked for lately, with their tables."""

from __future__ import annotations

from closeknit.engine.fit_tables import FitTable
from closeknit.engine.ledger import Ledger
from closeknit.engine.node_fits import NodeFits, PodShape
from closeknit.engine.tree import Tree

_MOST_CELLS = 8_000_000
"""Counts kept over all shapes: a shape keeps a few for each node, so large clusters keep fewer shapes."""
_MOST_SHAPES = 256
_LEAST_SHAPES = 16


class TableCache:
    """Keeps tables up to date when they are asked for; the shape not asked for the longest goes first."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._fits: dict[PodShape, NodeFits] = {}
        self._tables: dict[PodShape, dict[str | None, FitTable]] = {}
        self.touched = 0
        """Nodes counted so far, over all shapes."""

    def table(self, shape: PodShape, tree: Tree) -> FitTable:
        """What fits where for a shape, in the order of a tree, as of now."""
        fits = self._fits.pop(shape, None)
        if fits is None:
            self._drop_oldest()
            fits = NodeFits(self._ledger, shape)
        # Taking it out and putting it back moves it behind all others.
        self._fits[shape] = fits
        tables = self._tables.setdefault(shape, {})
        name = tree.topology.name if tree.topology is not None else None
        table = tables.get(name)
        if table is None:
            table = tables[name] = FitTable(fits, tree)
        before = fits.touched
        table.refresh(self._ledger)
        self.touched += fits.touched - before
        return table

    def _drop_oldest(self) -> None:
        most = min(max(_MOST_CELLS // max(len(self._ledger.nodes), 1), _LEAST_SHAPES), _MOST_SHAPES)
        while len(self._fits) >= most:
            oldest = next(iter(self._fits))
            del self._fits[oldest]
            del self._tables[oldest]
