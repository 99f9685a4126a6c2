"""Pod sets that a search has confined to domains, found again by domain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from closeknit.engine.compiled_request import PodSetVar
from closeknit.engine.tree import Tree


@dataclass(frozen=True, slots=True)
class Content:
    """A pod set confined to a domain."""

    level: int
    domain: int
    pod_set: PodSetVar
    colors: tuple[int, ...]


class Contents:
    """All that is confined somewhere; whatever is added last is taken out first."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._all: list[Content] = []
        self._inside: dict[tuple[int, int], list[Content]] = {}
        """By level and domain, what is confined to it or to a domain inside it."""

    def __len__(self) -> int:
        return len(self._all)

    def add(self, contents: Iterable[Content]) -> None:
        """Confine pod sets."""
        for content in contents:
            self._all.append(content)
            for around in self._around(content):
                self._inside.setdefault(around, []).append(content)

    def cut(self, length: int) -> None:
        """Take out what was added since there were so many."""
        while len(self._all) > length:
            for around in self._around(self._all.pop()):
                self._inside[around].pop()

    def inside(self, level: int, domain: int) -> list[Content]:
        """What is confined to a domain or to one inside it, in the order it was added."""
        return self._inside.get((level, domain), [])

    def outermost(self) -> list[tuple[int, int, list[Content]]]:
        """Contents by the outermost domain that something is confined to, in tree order."""
        tops: dict[tuple[int, int], list[Content]] = {}
        for content in sorted(self._all, key=lambda each: (each.level, each.domain, each.pod_set.index)):
            key = next((around for around in self._around(content) if around in tops), None)
            tops.setdefault(key or (content.level, content.domain), []).append(content)
        return [(level, domain, inside) for (level, domain), inside in sorted(tops.items())]

    def _around(self, content: Content) -> Iterable[tuple[int, int]]:
        """A content's own domain and those around it, the coarsest first."""
        level, domain = content.level, content.domain
        return [(at, self._tree.above(level, domain, at)) for at in range(-1, level + 1)]
