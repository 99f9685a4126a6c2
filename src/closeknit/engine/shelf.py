"""The shapes that were asked for lately, with their tables."""

from __future__ import annotations

from closeknit.engine.ledger import Ledger
from closeknit.engine.shapes import Shape, ShapeKey, Table
from closeknit.engine.tree import Tree

_MOST_CELLS = 8_000_000
"""Counts kept over all shapes: a shape keeps a few for each node, so large clusters keep fewer shapes."""
_MOST_SHAPES = 256
_LEAST_SHAPES = 16


class Shelf:
    """Keeps shapes up to date when they are asked for; the one not asked for the longest goes first."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._shapes: dict[ShapeKey, Shape] = {}
        self._tables: dict[ShapeKey, dict[str | None, Table]] = {}
        self.touched = 0
        """Nodes counted so far, over all shapes."""

    def table(self, key: ShapeKey, tree: Tree) -> Table:
        """What fits where for a shape, in the order of a tree, as of now."""
        shape = self._shapes.pop(key, None)
        before = 0
        if shape is None:
            self._make_room()
            shape = Shape(self._ledger, key)
        else:
            before = shape.touched
        # Taking it out and putting it back moves it behind all others.
        self._shapes[key] = shape
        tables = self._tables.setdefault(key, {})
        name = tree.topology.name if tree.topology is not None else None
        table = tables.get(name)
        if table is None:
            table = tables[name] = Table(shape, tree)
        table.refresh(self._ledger)
        self.touched += shape.touched - before
        return table

    def _make_room(self) -> None:
        most = min(max(_MOST_CELLS // max(len(self._ledger.nodes), 1), _LEAST_SHAPES), _MOST_SHAPES)
        while len(self._shapes) >= most:
            oldest = next(iter(self._shapes))
            del self._shapes[oldest]
            del self._tables[oldest]
