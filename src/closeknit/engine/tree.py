"""Nodes in tree order, so that every domain of every level is a slice.

A tree is the layout of one topology over the nodes of a cluster. Levels are
numbered from 0, the coarsest; the level after the last one is that of single
nodes, and level -1 holds one domain, the whole cluster. A node that lacks a
level's label sits behind its labelled siblings in a domain of its own, which is
not *real*: it can be counted, but never be required or shared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from closeknit.hub.nodes import Node
from closeknit.hub.topology import DomainPath, Topology

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Label values are ASCII, so a value that begins with the last code point sorts behind all of them
# and equals none of them.
_MISSING = "\U0010ffff"


class Tree:
    """The static layout; it changes only when a node comes, goes or is relabelled.

    ``slots[position]`` is the ledger's slot of the node at a position, and
    ``positions[slot]`` the way back. ``start``, ``end``, ``dom`` and ``real`` are
    lists by level; the last entry is the level of single nodes.
    """

    def __init__(self, topology: Topology | None, nodes: Iterable[tuple[int, Node]]) -> None:
        self.topology = topology
        self.labels: tuple[str, ...] = topology.labels if topology is not None else ()
        self.depth = len(self.labels)
        """The number of levels, and so the index of the level of single nodes."""
        self.epoch = 0
        """Grows whenever positions move."""
        rows = sorted((self._key(node), slot) for slot, node in nodes)
        self._keys = [key for key, _ in rows]
        self.slots = np.array([slot for _, slot in rows], dtype=np.int64)
        self.start: list[Ints] = []
        self.end: list[Ints] = []
        self.dom: list[Ints] = []
        self.real: list[Flags] = []
        fresh = np.zeros(len(rows), dtype=np.bool_)
        for level in range(self.depth + 1):
            column = np.array([key[level] for key in self._keys], dtype=object)
            if rows:
                fresh[0] = True
                fresh[1:] |= column[1:] != column[:-1]
            start = np.flatnonzero(fresh).astype(np.int64)
            self.start.append(start)
            self.end.append(np.append(start, len(rows))[1:].astype(np.int64))
            self.dom.append(np.cumsum(fresh, dtype=np.int64) - 1)
            self.real.append(
                np.array([level == self.depth or column[i][0:1] != _MISSING for i in start], dtype=np.bool_)
            )
        self._index_slots()

    def _key(self, node: Node) -> tuple[str, ...]:
        path = self.topology.path(node.labels) if self.topology is not None else ()
        return (*path, *[_MISSING + node.name] * (self.depth - len(path)), node.name)

    def _index_slots(self) -> None:
        size = int(self.slots.max()) + 1 if len(self.slots) else 0
        self.positions = np.full(size, -1, dtype=np.int64)
        self.positions[self.slots] = np.arange(len(self.slots))
        self.parent = [
            self.dom[level - 1][self.start[level]] if level else np.zeros(len(self.start[0]), dtype=np.int64)
            for level in range(self.depth + 1)
        ]

    def __len__(self) -> int:
        return len(self._keys)

    def level(self, label: str | None) -> int:
        """The level that is read from a label; -1 for None."""
        return self.labels.index(label) if label is not None else -1

    def count(self, level: int) -> int:
        """How many domains a level has."""
        return 1 if level < 0 else len(self.start[level])

    @property
    def above_hosts(self) -> int:
        """The finest level of which any domain has several nodes; that of single nodes if there is none."""
        return next(
            (level for level in range(self.depth - 1, -1, -1) if self.count(level) < len(self)), self.depth
        )

    def bounds(self, level: int, domain: int) -> tuple[int, int]:
        """The positions of a domain's nodes, from the first to behind the last."""
        if level < 0:
            return 0, len(self._keys)
        return int(self.start[level][domain]), int(self.end[level][domain])

    def span(self, level: int, domain: int, finer: int) -> tuple[int, int]:
        """The domains of a finer (or the same) level inside a domain, from the first to behind the last."""
        if level < 0:
            return 0, len(self.start[finer])
        if finer == level:
            return domain, domain + 1
        start, end = self.start[level][domain], self.end[level][domain]
        return int(self.dom[finer][start]), int(self.dom[finer][end - 1]) + 1

    def above(self, level: int, domain: int, coarser: int) -> int:
        """The domain of a coarser (or the same) level that holds a domain."""
        if coarser < 0:
            return 0
        return int(self.dom[coarser][self.start[level][domain]])

    def single(self, level: int) -> bool:
        """Whether every domain of a level has one node, so that their numbers are positions."""
        return level == self.depth or len(self.start[level]) == len(self._keys)

    def around(self, level: int, domain: int, top: int = -1) -> list[tuple[int, int]]:
        """Level and domain of a domain and of those around it, from a coarser level on."""
        return [(at, self.above(level, domain, at)) for at in range(top, level + 1)]

    def holding(self, positions: Sequence[int]) -> list[list[int]]:
        """By level, the domains that hold these positions, each once."""
        if not positions:
            return [[] for _ in range(self.depth + 1)]
        at = np.array(positions, dtype=np.int64)
        return [list(dict.fromkeys(dom[at].tolist())) for dom in self.dom]

    def path(self, level: int, domain: int) -> DomainPath:
        """The label values of a real domain, or of an unlabelled node as far as it has them."""
        if level < 0:
            return ()
        key = self._keys[int(self.start[level][domain])]
        return tuple(value for value in key[: min(level + 1, self.depth)] if value[0:1] != _MISSING)

    def node(self, position: int) -> str:
        """The name of a node."""
        return self._keys[position][-1]

    def node_path(self, position: int) -> DomainPath:
        """The label values of a node, as far down as it has them."""
        key = self._keys[position]
        if self.depth and key[self.depth - 1][0:1] != _MISSING:
            # A level that is missing is followed by missing ones only.
            return key[: self.depth]
        return tuple(value for value in key[: self.depth] if value[0:1] != _MISSING)

    def insert(self, slot: int, node: Node) -> None:
        """Add a node; costs moving array tails, not sorting the cluster again."""
        key = self._key(node)
        at = bisect_left(self._keys, key)
        for level in range(self.depth + 1):
            prefix = key[: level + 1]
            if at > 0 and self._keys[at - 1][: level + 1] == prefix:
                mine, is_new = int(self.dom[level][at - 1]), False
            elif at < len(self._keys) and self._keys[at][: level + 1] == prefix:
                mine, is_new = int(self.dom[level][at]), False
            else:
                mine, is_new = (int(self.dom[level][at - 1]) + 1 if at > 0 else 0), True
            if is_new:
                self.dom[level][at:] += 1
                self.start[level] = np.insert(self.start[level], mine, at)
                self.end[level] = np.insert(self.end[level], mine, at)
                is_real = level == self.depth or key[level][0:1] != _MISSING
                self.real[level] = np.insert(self.real[level], mine, is_real)
            self.dom[level] = np.insert(self.dom[level], at, mine)
            self.start[level][mine + 1 :] += 1
            self.end[level][mine:] += 1
        self._keys.insert(at, key)
        self.slots = np.insert(self.slots, at, slot)
        self._index_slots()
        self.epoch += 1

    def remove(self, slot: int) -> None:
        """Take a node out; a domain that it leaves empty goes with it."""
        at = int(self.positions[slot])
        for level in range(self.depth + 1):
            mine = int(self.dom[level][at])
            self.dom[level] = np.delete(self.dom[level], at)
            self.start[level][mine + 1 :] -= 1
            self.end[level][mine:] -= 1
            if self.start[level][mine] == self.end[level][mine]:
                self.dom[level][at:] -= 1
                self.start[level] = np.delete(self.start[level], mine)
                self.end[level] = np.delete(self.end[level], mine)
                self.real[level] = np.delete(self.real[level], mine)
        del self._keys[at]
        self.slots = np.delete(self.slots, at)
        self._index_slots()
        self.epoch += 1
