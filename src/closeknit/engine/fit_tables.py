"""How many pods of one shape each node takes, kept and brought up to date.

A *shape* is what one pod takes and which nodes it accepts; in the engine the word
means nothing else. Counts are made once for a shape; afterwards only nodes that
changed are counted again, and a shape that nobody asks for costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from closeknit.engine import eligibility
from closeknit.engine.ledger import Ledger
from closeknit.engine.tree import Flags, Ints, Tree
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.request import HostPort, PodSet
from closeknit.hub.resources import Resources

_T = TypeVar("_T", bound=np.generic)

MOST = 1 << 24
"""More pods than any node takes; keeps sums over a cluster far from overflow."""
_WELCOME = 1 << 24
_PARTS = 64
"""A node's free share of a resource is told in so many parts."""
_NEVER = np.iinfo(np.int64).min
_FEW, _ONE_IN = 8, 512


@dataclass(frozen=True, slots=True)
class PodShape:
    """What one pod takes and which nodes it accepts: all that decides where it fits."""

    resources: Resources
    filter: NodeFilter
    host_ports: frozenset[HostPort]

    @classmethod
    def of(cls, pods: PodSet) -> PodShape:
        """The shape of a pod set's pods."""
        return cls(pods.resources, pods.filter, pods.host_ports)


class NodeFits:
    """How many pods of one shape every slot takes, and at what price for others."""

    def __init__(self, ledger: Ledger, shape: PodShape) -> None:
        self.shape = shape
        self.demand = ledger.demand(shape.resources, shape.host_ports)
        """What one pod takes of each ledger row."""
        self.touched = 0
        """Nodes counted so far, for the statistics."""
        self._version = -1
        self.fit: Ints = np.zeros(0, dtype=np.int64)
        self.price: Ints | None = None
        """Per slot: unwelcome nodes and stranded resources cost; None where all slots are equal."""
        self._admits: Flags = np.zeros(0, dtype=np.bool_)
        self._unwelcome: Ints | None = None
        """Per slot, the part of the price that does not follow what is held; None where there is none."""
        self._spared: list[int] = []
        """Rows of scarce resources that the shape does not ask for."""

    def refresh(self, ledger: Ledger) -> None:
        """Bring all slots up to date."""
        if self._version == ledger.version:
            return
        changed = ledger.changed_since(self._version)
        if changed is None:
            self._lengthen(0)
            self._lengthen(len(ledger.nodes))
            self._count(ledger, np.arange(len(ledger.nodes), dtype=np.int64), slice(None))
        elif self._version >= ledger.nodes_version and len(changed) <= few(self.fit):
            for slot in changed:
                self._count_one(ledger, slot)
        else:
            self._lengthen(len(ledger.nodes))
            slots = np.array(changed, dtype=np.int64)
            self._count(ledger, slots, slots)
        self.touched += len(self.fit) if changed is None else len(changed)
        self._version = ledger.version

    def _lengthen(self, size: int) -> None:
        """Make room for slots that are new; with 0, forget all."""
        self.fit = _resized(self.fit, size)
        self._admits = _resized(self._admits, size)
        if not size:
            self.price = self._unwelcome = None
        if self.price is not None:
            self.price = _resized(self.price, size)
        if self._unwelcome is not None:
            self._unwelcome = _resized(self._unwelcome, size)

    def _count(self, ledger: Ledger, slots: Ints, at: Ints | slice) -> None:
        """Count some slots, whatever has changed about them; ``at`` names them too, all by a slice."""
        admits = self._admits[at] = eligibility.admitted(ledger, self.shape.filter, slots)
        fit = np.where(admits, MOST, 0)
        for row, units in self.demand:
            free = ledger.free[row, at]
            np.minimum(fit, free // units if units != 1 else free, out=fit)
        self.fit[at] = np.maximum(fit, 0, out=fit)
        self._spared = self._not_asked_for(ledger)
        welcome = eligibility.welcome(ledger, self.shape.filter, slots)
        if welcome is not None or self._unwelcome is not None:
            if self._unwelcome is None:
                self._unwelcome = np.zeros_like(self.fit)
            self._unwelcome[at] = -welcome * _WELCOME if welcome is not None else 0
        if self._unwelcome is not None or self._spared:
            price = np.zeros(len(slots), dtype=np.int64)
            for row in self._spared:
                # What a pod strands is the free share of what the node itself offers. A share of what the
                # cluster offers would change for all nodes whenever one comes or goes.
                share = np.maximum(ledger.free[row, at], 0) / np.maximum(ledger.allocatable[row, at], 1)
                price += np.ceil(np.minimum(share, 1.0) * _PARTS).astype(np.int64)
            if self._unwelcome is not None:
                price += self._unwelcome[at]
            if self.price is None:
                self.price = np.zeros_like(self.fit)
            self.price[at] = price

    def _count_one(self, ledger: Ledger, slot: int) -> None:
        """Count a slot on which nothing but what is held has changed."""
        free, fit = ledger.free, 0
        if self._admits.item(slot):
            fit = max(min(free.item(row, slot) // units for row, units in self.demand), 0)
        self.fit[slot] = min(fit, MOST)
        if self.price is not None:
            price = self._unwelcome.item(slot) if self._unwelcome is not None else 0
            for row in self._spared:
                # As floats, like whole arrays above, so that both ways round alike.
                share = float(max(free.item(row, slot), 0)) / float(
                    max(ledger.allocatable.item(row, slot), 1)
                )
                price += ceil(min(share, 1.0) * _PARTS)
            self.price[slot] = price

    def _not_asked_for(self, ledger: Ledger) -> list[int]:
        asked = {row for row, _ in self.demand}
        return [row for name, row in ledger.resources.items() if "/" in name and row not in asked]


class FitTable:
    """A shape's counts in the order of one tree, with sums and largest counts per domain."""

    def __init__(self, fits: NodeFits, tree: Tree) -> None:
        self.fits = fits
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
        self._appeal: list[Ints] | None = None
        """By level, what ``appeal`` tells; made when first asked for."""

    def refresh(self, ledger: Ledger) -> None:
        """Follow the ledger, looking only at what changed since."""
        if self._version == ledger.version:
            return
        self.fits.refresh(ledger)
        changed = ledger.changed_since(self._version)
        if (
            changed is None
            or self._epoch != self.tree.epoch
            or len(changed) > few(self.fit)
            or (self.price is None) != (self.fits.price is None)
        ):
            self._gather()
        else:
            for slot in changed:
                self._follow(slot)
        self._version = ledger.version

    def _gather(self) -> None:
        tree = self.tree
        self.fit = self.fits.fit[tree.slots]
        self.price = self.fits.price[tree.slots] if self.fits.price is not None else None
        self.sums, self.largest = [self.fit], _by_level(tree, self.fit)
        for level in range(tree.depth - 1, -1, -1):
            # Summing the next finer level instead of the nodes costs its domains only.
            inner = tree.dom[level + 1][tree.start[level]]
            self.sums.insert(0, np.add.reduceat(self.sums[0], inner) if len(tree) else self.fit)
        self.total = int(self.sums[0].sum())
        self.most = int(self.largest[0].max(initial=0))
        self._biggest.clear()
        self._appeal = None
        self._epoch = tree.epoch

    def _follow(self, slot: int) -> None:
        """Take over what one slot takes by now, without touching whole arrays."""
        tree = self.tree
        position = tree.positions.item(slot)
        before, now = self.fit.item(position), self.fits.fit.item(slot)
        if self.price is not None and self.fits.price is not None:
            price = self.price[position] = self.fits.price.item(slot)
            if self._appeal is not None:
                _carry_up(tree, self._appeal, position, -price if now else _NEVER)
        if now == before:
            return
        for level in range(tree.depth):
            domain = tree.dom[level].item(position)
            self.sums[level][domain] = self.sums[level].item(domain) + now - before
        self.total += now - before
        _carry_up(tree, self.largest, position, now)
        if now > self.most:
            self.most = now
        elif before == self.most:
            self.most = int(self.largest[0].max())
        self._biggest.clear()

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

    def capacity(self, level: int, domain: int) -> int:
        """How many pods of this shape alone a domain takes."""
        return self.total if level < 0 else int(self.sums[level][domain])

    def appeal(self, level: int) -> Ints | None:
        """By domain of a level, the negative price of its cheapest node that takes any pod."""
        if self.price is None:
            return None
        if self._appeal is None:
            self._appeal = _by_level(self.tree, np.where(self.fit > 0, -self.price, _NEVER))
        return self._appeal[level]


def few(counts: Ints) -> int:
    """How many of so many counts are brought up to date one by one sooner than all at once."""
    return _FEW + len(counts) // _ONE_IN


def _resized(values: NDArray[_T], size: int) -> NDArray[_T]:
    """The values with zeros behind them, or without the last of them."""
    resized = np.zeros(size, dtype=values.dtype)
    resized[: len(values)] = values[:size]
    return resized


def _by_level(tree: Tree, of_nodes: Ints) -> list[Ints]:
    """The largest value of each domain, by level down to the nodes themselves."""
    found = [of_nodes]
    for level in range(tree.depth - 1, -1, -1):
        inner = tree.dom[level + 1][tree.start[level]]
        found.insert(0, np.maximum.reduceat(found[0], inner) if len(tree) else of_nodes)
    return found


def _carry_up(tree: Tree, largest: list[Ints], position: int, now: int) -> None:
    """Change a node's value, and the largest of the domains around it as far as that changes them."""
    level, domain = tree.depth, position
    while True:
        values = largest[level]
        before = values.item(domain)
        if now == before:
            return
        values[domain] = now
        if not level:
            return
        finer, level = domain, level - 1
        domain = tree.parent[level + 1].item(finer)
        around = largest[level].item(domain)
        if now < around:
            if before < around:
                return
            first, last = tree.span(level, domain, level + 1)
            now = int(values[first:last].max())
