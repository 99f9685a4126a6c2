"""How many pods of one shape each domain takes: the counts of all nodes, in the order of a tree.

A table follows the counts of its shape. Where few nodes have changed, it does so node by
node, and no array is touched as a whole. The tables of shapes asked for lately are kept.
"""

from __future__ import annotations

import numpy as np

from closeknit.engine.ledger import Ledger
from closeknit.engine.node_fits import NodeFits, PodShape, few
from closeknit.engine.tree import Ints, Tree

_NEVER = -np.iinfo(np.int64).max
"""The appeal of a domain of which no node takes a pod."""
_MOST_CELLS = 8_000_000
"""Counts kept over all shapes: a shape keeps a few for each node, so large clusters keep fewer shapes."""
_MOST_SHAPES = 256
_LEAST_SHAPES = 16


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
        self._largest: list[Ints] = []
        self._unfollowed: dict[int, int] = {}
        """By position, what nodes took when ``_largest`` was last brought up to date."""
        self.total = 0
        self._biggest: dict[tuple[int, int], Ints] = {}
        self._appeal: list[Ints] | None = None
        """By level, what ``appeal`` tells; made when first asked for."""

    @classmethod
    def made(cls, fits: NodeFits, tree: Tree) -> FitTable:
        """A table of counts that will not change."""
        table = cls(fits, tree)
        table._gather()
        return table

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
        self.sums, self._largest = (_by_level(tree, self.fit, by) for by in (np.add, np.maximum))
        self._unfollowed.clear()
        self.total = int(self.sums[0].sum())
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
                nodes, appeal = self._appeal[tree.depth], -price if now else _NEVER
                former = nodes.item(position)
                nodes[position] = appeal
                _carry_up(tree, self._appeal, position, former, appeal)
        if now == before:
            return
        for level in range(tree.depth):
            domain = tree.dom[level].item(position)
            self.sums[level][domain] = self.sums[level].item(domain) + now - before
        self.fit[position] = now
        self.total += now - before
        self._unfollowed.setdefault(position, before)
        self._biggest.clear()

    @property
    def largest(self) -> list[Ints]:
        """By level: the most that one node of the domain takes. Brought up to date when it is asked for."""
        for position, before in self._unfollowed.items():
            _carry_up(self.tree, self._largest, position, before, self.fit.item(position))
        self._unfollowed.clear()
        return self._largest

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
            self._appeal = _by_level(self.tree, np.where(self.fit > 0, -self.price, _NEVER), np.maximum)
        return self._appeal[level]


def _by_level(tree: Tree, of_nodes: Ints, by: np.ufunc) -> list[Ints]:
    """The sum or the largest value of each domain, by level down to the nodes themselves."""
    found = [of_nodes]
    for level in range(tree.depth - 1, -1, -1):
        # Going over the next finer level instead of the nodes costs its domains only.
        inner = tree.dom[level + 1][tree.start[level]]
        found.insert(0, by.reduceat(found[0], inner) if len(tree) else of_nodes)
    return found


def _carry_up(tree: Tree, largest: list[Ints], position: int, before: int, now: int) -> None:
    """Change the largest values of the domains around a node that has changed, as far as they change."""
    level, domain = tree.depth, position
    while level:
        finer, level = domain, level - 1
        domain = tree.parent[level + 1].item(finer)
        values = largest[level]
        around = values.item(domain)
        if now < around:
            if before < around:
                return
            first, last = tree.span(level, domain, level + 1)
            now = int(largest[level + 1][first:last].max())
        if now == around:
            return
        values[domain] = now
        before = around


class TableCache:
    """Keeps tables up to date when they are asked for; the shape not asked for the longest goes first."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[PodShape, tuple[NodeFits, dict[str | None, FitTable]]] = {}
        """By shape, and then by topology."""
        self.touched = 0
        """Nodes counted so far, over all shapes."""

    def table(self, shape: PodShape, tree: Tree) -> FitTable:
        """What fits where for a shape, in the order of a tree, as of now."""
        known = self._known.pop(shape, None)
        # Taking it out and putting it back moves it behind all others.
        fits, tables = self._known[shape] = known if known is not None else self._counted(shape)
        name = tree.topology.name if tree.topology is not None else None
        if name not in tables:
            tables[name] = FitTable(fits, tree)
        before = fits.touched
        tables[name].refresh(self._ledger)
        self.touched += fits.touched - before
        return tables[name]

    def _counted(self, shape: PodShape) -> tuple[NodeFits, dict[str | None, FitTable]]:
        """A shape that was not known, in place of those not asked for the longest."""
        most = min(max(_MOST_CELLS // max(len(self._ledger.nodes), 1), _LEAST_SHAPES), _MOST_SHAPES)
        while len(self._known) >= most:
            del self._known[next(iter(self._known))]
        return NodeFits(self._ledger, shape), {}
