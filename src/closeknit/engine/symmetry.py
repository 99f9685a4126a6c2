"""Domains between which nothing can tell: of those, a search need try only one."""

from __future__ import annotations

from closeknit.engine.choices import Choices
from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.tree import Ints

_COMPARED = 64
"""Nodes up to which domains are compared with each other, node by node."""


class Symmetry:
    """Looks of domains, remembered."""

    def __init__(self, compiled: CompiledRequest, free: Ints, made: Choices) -> None:
        self._compiled = compiled
        self._free = free
        self._made = made
        self._known: dict[tuple[int, int], object] = {}

    def of(self, above: int, level: int, domain: int) -> object:
        """Equal for domains that are alike and lie in domains that are alike, up to a coarser level."""
        tree = self._compiled.tree
        return tuple(self._look(at, tree.above(level, domain, at)) for at in range(above + 1, level + 1))

    def _look(self, level: int, domain: int) -> object:
        """What a domain looks like; its own number where it is in use or too large to compare."""
        if self._made.touches(level, domain):
            return domain
        key = (level, domain)
        known = self._known.get(key)
        if known is None:
            start, end = self._compiled.tree.bounds(level, domain)
            known = (domain,) if end - start > _COMPARED else ("like", self._content(level, domain))
            self._known[key] = known
        return known

    def _content(self, level: int, domain: int) -> object:
        compiled, tree = self._compiled, self._compiled.tree
        if level == tree.depth:
            slot = int(tree.slots[domain])
            fits = tuple(int(table.fit[domain]) for table in compiled.tables)
            prices = tuple(int(t.price[domain]) if t.price is not None else 0 for t in compiled.tables)
            return (fits, prices, tuple(int(self._free[row, slot]) for row in compiled.rows))
        first, last = tree.span(level, domain, level + 1)
        inner = sorted((self._content(level + 1, child) for child in range(first, last)), key=repr)
        return (bool(tree.real[level][domain]), tuple(inner))
