"""What fits where, per distinct shape of pod, kept and brought up to date.

A shape is what one pod takes and which nodes it accepts. How many pods of it
each node takes is counted once; afterwards only nodes that changed are counted
again, and a shape that nobody asks for costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit.engine import eligibility
from closeknit.engine.ledger import Ledger
from closeknit.engine.tree import Ints, Tree
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.request import HostPort, PodSet
from closeknit.hub.resources import Resources

MOST = 1 << 24
"""More pods than any node takes; keeps sums over a cluster far from overflow."""
_WELCOME = 1 << 24


@dataclass(frozen=True, slots=True)
class ShapeKey:
    """The parts of a pod set that decide where one of its pods fits."""

    resources: Resources
    filter: NodeFilter
    host_ports: frozenset[HostPort]

    @classmethod
    def of(cls, pods: PodSet) -> ShapeKey:
        """The shape of a pod set's pods."""
        return cls(pods.resources, pods.filter, pods.host_ports)


class Shape:
    """How many pods of one shape every slot takes, and at what price for others."""

    def __init__(self, ledger: Ledger, key: ShapeKey) -> None:
        self.key = key
        self.demand = ledger.demand(key.resources, key.host_ports)
        """Pairs of ledger row and units per pod."""
        self.touched = 0
        """Nodes counted so far, for the statistics."""
        self._version = -1
        self.fit: Ints = np.zeros(0, dtype=np.int64)
        self.price: Ints | None = None
        """Per slot: unwelcome nodes and stranded resources cost; None where all slots are equal."""
        self.refresh(ledger)

    def refresh(self, ledger: Ledger) -> None:
        """Bring all slots up to date."""
        if self._version == ledger.version:
            return
        changed = ledger.changed_since(self._version) if self._version >= 0 else None
        if changed is not None and len(self.fit) < len(ledger.nodes):
            grown = np.zeros(len(ledger.nodes), dtype=np.int64)
            grown[: len(self.fit)] = self.fit
            self.fit = grown
            if self.price is not None:
                self.price = np.append(self.price, np.zeros(len(grown) - len(self.price), dtype=np.int64))
        if changed is None:
            every = np.arange(len(ledger.nodes), dtype=np.int64)
            self.fit = self._count(ledger, every)
            self.price = self._prices(ledger, every)
            self.touched += len(every)
        elif len(changed):
            self.fit[changed] = self._count(ledger, changed)
            prices = self._prices(ledger, changed)
            if prices is not None:
                if self.price is None:
                    self.price = np.zeros(len(self.fit), dtype=np.int64)
                self.price[changed] = prices
            elif self.price is not None:
                self.price[changed] = 0
            self.touched += len(changed)
        self._version = ledger.version

    def _count(self, ledger: Ledger, slots: Ints) -> Ints:
        everywhere = len(slots) == len(ledger.nodes)
        fit = np.full(len(slots), MOST, dtype=np.int64)
        for row, units in self.demand:
            free = ledger.free[row] if everywhere else ledger.free[row, slots]
            np.minimum(fit, free // units if units != 1 else free, out=fit)
        np.maximum(fit, 0, out=fit)
        fit[~eligibility.admitted(ledger, self.key.filter, slots)] = 0
        return fit

    def _prices(self, ledger: Ledger, slots: Ints) -> Ints | None:
        asked = {row for row, _ in self.demand}
        spared = [row for name, row in ledger.resources.items() if "/" in name and row not in asked]
        welcome = eligibility.welcome(ledger, self.key.filter, slots)
        if welcome is None and not spared:
            return None
        price = np.zeros(len(slots), dtype=np.int64)
        for row in spared:
            # What a pod strands is the free share of what the node itself offers, in 64ths. A share of what
            # the cluster offers would change for all nodes whenever one comes or goes.
            offered = ledger.allocatable[row, slots]
            share = np.clip(ledger.free[row, slots], 0, None) / np.maximum(offered, 1)
            price += np.ceil(np.minimum(share, 1.0) * 64).astype(np.int64)
        if welcome is not None:
            price -= welcome * _WELCOME
        return price


class Table:
    """A shape's counts in the order of one tree, with sums and largest counts per domain."""

    def __init__(self, shape: Shape, tree: Tree) -> None:
        self.shape = shape
        self.tree = tree
        self._epoch = -1
        self._version = -1
        self.fit: Ints = np.zeros(0, dtype=np.int64)
        self.price: Ints | None = None
        self.sums: list[Ints] = []
        """By level, the level of single nodes included."""
        self.largest: list[Ints] = []
        """By level: the most that one node of the domain takes."""
        self.total = 0
        self.most = 0
        self._biggest: dict[tuple[int, int], Ints] = {}

    def refresh(self, ledger: Ledger) -> None:
        """Follow the ledger, looking only at what changed since."""
        if self._version == ledger.version:
            return
        self.shape.refresh(ledger)
        changed = ledger.changed_since(self._version) if self._version >= 0 else None
        if changed is None or self._epoch != self.tree.epoch or len(changed) * 8 > len(self.fit):
            self._gather()
        elif len(changed):
            self._patch(self.tree.positions[changed])
        self._version = ledger.version

    def _gather(self) -> None:
        tree = self.tree
        self.fit = self.shape.fit[tree.slots]
        self.price = self.shape.price[tree.slots] if self.shape.price is not None else None
        self.sums, self.largest = [self.fit], [self.fit]
        if len(self.fit):
            for level in range(tree.depth - 1, -1, -1):
                # Summing the next finer level instead of the nodes costs its domains only.
                inner = tree.dom[level + 1][tree.start[level]]
                self.sums.insert(0, np.add.reduceat(self.sums[0], inner))
                self.largest.insert(0, np.maximum.reduceat(self.largest[0], inner))
        else:
            self.sums = self.largest = [self.fit] * (tree.depth + 1)
        self._totals()
        self._epoch = tree.epoch

    def _patch(self, positions: Ints) -> None:
        tree = self.tree
        new = self.shape.fit[tree.slots[positions]]
        if self.shape.price is not None:
            if self.price is None:
                self.price = self.shape.price[tree.slots]
            self.price[positions] = self.shape.price[tree.slots[positions]]
        delta = new - self.fit[positions]
        moved = delta != 0
        if not moved.any():
            return
        positions, delta = positions[moved], delta[moved]
        self.fit[positions] += delta
        for level in range(tree.depth - 1, -1, -1):
            domains = tree.dom[level][positions]
            np.add.at(self.sums[level], domains, delta)
            for domain in set(domains.tolist()):
                first, last = tree.span(level, domain, level + 1)
                self.largest[level][domain] = self.largest[level + 1][first:last].max()
        self._totals()

    def biggest_inside(self, level: int, finer: int) -> Ints:
        """By domain of a level: the most that one domain of a finer level inside it takes."""
        if finer == self.tree.depth or self.tree.count(finer) == len(self.tree):
            # Domains of one node each are as large as their nodes, and those are counted already.
            return self.largest[level]
        known = self._biggest.get((level, finer))
        if known is None:
            inner = self.tree.dom[finer][self.tree.start[level]]
            known = self._biggest[level, finer] = np.maximum.reduceat(self.sums[finer], inner)
        return known

    def _totals(self) -> None:
        self._biggest.clear()
        coarsest = 0 if self.tree.depth else self.tree.depth
        self.total = int(self.sums[coarsest].sum())
        self.most = int(self.largest[coarsest].max(initial=0))

    def capacity(self, level: int, domain: int) -> int:
        """How many pods of this shape alone a domain takes."""
        return self.total if level < 0 else int(self.sums[level][domain])
