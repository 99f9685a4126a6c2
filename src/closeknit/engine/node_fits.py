"""How many pods of one shape each node takes, kept and brought up to date.

A *shape* is what one pod takes and which nodes it accepts; in the engine the word
means nothing else. The *room* of a node or a domain is how many more pods it takes. Room
is counted once for a shape; afterwards only nodes that changed are counted again, and a
shape that nobody asks for costs nothing.
"""

from __future__ import annotations

from math import ceil
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from closeknit.engine import eligibility
from closeknit.engine.ledger import Demand, Ledger
from closeknit.engine.tree import Flags, Ints
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.request import HostPort, PodSet
from closeknit.hub.resources import Resources

_T = TypeVar("_T", bound=np.generic)

MOST = 1 << 24
"""More pods than any node takes; keeps sums over a cluster far from overflow."""
WELCOME = 1 << 24
"""What a unit of weight is worth in a price."""
_PARTS = 64
"""A node's free share of a resource is told in so many parts."""
_FEW, _ONE_IN = 8, 512


class PodShape(msgspec.Struct, frozen=True, gc=False):
    """What one pod takes and which nodes it accepts: all that decides where it fits."""

    resources: Resources
    filter: NodeFilter
    host_ports: frozenset[HostPort]

    @classmethod
    def of(cls, pods: PodSet) -> PodShape:
        """The shape of a pod set's pods."""
        return cls(pods.resources, pods.filter, pods.host_ports)

    @property
    def sort_key(self) -> str:
        """What shapes are sorted by, so that the order in which they were listed never shows."""
        return repr((tuple(self.resources.items()), self.filter, sorted(self.host_ports)))


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
        """Rows of extended resources that the shape does not request."""

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
        """Add slots that are new; with 0, forget all."""
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
        self.fit[at] = np.where(admits, fits(ledger.free, self.demand, at), 0)
        requested = {row for row, _ in self.demand}
        self._spared = [row for row in ledger.extended_rows if row not in requested]
        welcome = eligibility.welcome(ledger, self.shape.filter, slots)
        if welcome is not None or self._unwelcome is not None:
            if self._unwelcome is None:
                self._unwelcome = np.zeros_like(self.fit)
            self._unwelcome[at] = -welcome * WELCOME if welcome is not None else 0
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
            fit = MOST
            for row, units in self.demand:
                fit = min(fit, free.item(row, slot) // units)
        self.fit[slot] = max(fit, 0)
        if self.price is not None:
            price = self._unwelcome.item(slot) if self._unwelcome is not None else 0
            for row in self._spared:
                # As floats, like whole arrays above, so that both ways round alike.
                share = float(max(free.item(row, slot), 0)) / float(
                    max(ledger.allocatable.item(row, slot), 1)
                )
                price += ceil(min(share, 1.0) * _PARTS)
            self.price[slot] = price


def fits(amounts: Ints, demand: Demand, at: Ints | slice) -> Ints:
    """How many pods go into amounts by row and slot, at some of the slots."""
    fit = np.full_like(amounts[0, at], MOST)
    for row, units in demand:
        amount = amounts[row, at]
        np.minimum(fit, amount // units if units != 1 else amount, out=fit)
    return np.maximum(fit, 0, out=fit)


def few(counts: Ints) -> int:
    """How many of so many counts are brought up to date one by one sooner than all at once."""
    return _FEW + len(counts) // _ONE_IN


def _resized(values: NDArray[_T], size: int) -> NDArray[_T]:
    """The values with zeros behind them, or without the last of them."""
    resized = np.zeros(size, dtype=values.dtype)
    resized[: len(values)] = values[:size]
    return resized
