"""Node labels as columns of small numbers, so that a filter is checked for all nodes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closeknit.hub.nodes import Node

_MOST_COLUMNS = 32
"""Labels that get a column before anyone asks for it."""


@dataclass(slots=True)
class Column:
    """One label over all slots: each value as a small number, -1 where the label is missing."""

    codes: NDArray[np.int32]
    code_of: dict[str, int]
    values: list[str]

    def code(self, value: str | None) -> int:
        """The number of a value, a new one for a value never seen before."""
        if value is None:
            return -1
        code = self.code_of.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code


class Labels:
    """The labels of a ledger's nodes, by slot."""

    def __init__(self, nodes: list[Node | None]) -> None:
        """``nodes`` is the ledger's own list, which changes before the columns do."""
        self._nodes = nodes
        self._columns: dict[str, Column] = {}
        for key in self._usual():
            self.column(key)

    def column(self, key: str) -> Column:
        """One label over all slots; made when first asked for, kept up to date from then on."""
        column = self._columns.get(key)
        if column is None:
            found = [None if node is None else node.labels.get(key) for node in self._nodes]
            values = [value for value in dict.fromkeys(found) if value is not None]
            code_of = {value: code for code, value in enumerate(values)}
            codes = np.array([-1 if value is None else code_of[value] for value in found], dtype=np.int32)
            column = self._columns[key] = Column(codes, code_of, values)
        return column

    def add_slot(self) -> None:
        """Make every column one slot longer."""
        for column in self._columns.values():
            column.codes = np.append(column.codes, np.int32(-1))

    def write(self, slot: int, node: Node) -> None:
        """Take over the labels of a node."""
        for key, column in self._columns.items():
            column.codes[slot] = column.code(node.labels.get(key))

    def _usual(self) -> list[str]:
        """Labels worth a column from the start: not too many, and none with a value of its own for each node.

        Going over all nodes for a label takes longer than a decision may, so it should not wait for one.
        """
        values: dict[str, set[str]] = {}
        # A thousand nodes tell which labels there are; any other gets its column when asked for.
        sample = self._nodes[:: len(self._nodes) // 1024 + 1]
        for node in sample:
            for key, value in (node.labels if node is not None else {}).items():
                values.setdefault(key, set()).add(value)
        few = [key for key, found in values.items() if len(found) * 2 <= len(sample) or len(sample) < 16]
        return sorted(few)[:_MOST_COLUMNS]
