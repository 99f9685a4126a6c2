"""What a search has confined to domains, cut into parts that share no node.

Domains that lie in one another form a component. Inside it, pod sets of one
shape that may go to the same nodes are one item, since nothing tells their pods apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest, PodSetVar
from closeknit.engine.score import Spread
from closeknit.engine.tree import Ints, Tree


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
            for around in self._tree.around(content.level, content.domain):
                self._inside.setdefault(around, []).append(content)

    def cut(self, length: int) -> None:
        """Take out what was added since there were so many."""
        while len(self._all) > length:
            gone = self._all.pop()
            for around in self._tree.around(gone.level, gone.domain):
                self._inside[around].pop()

    def inside(self, level: int, domain: int) -> list[Content]:
        """What is confined to a domain or to one inside it, in the order it was added."""
        return self._inside.get((level, domain), [])

    def outermost(self) -> list[tuple[int, int, list[Content]]]:
        """Contents by the outermost domain that something is confined to, in tree order."""
        tops: dict[tuple[int, int], list[Content]] = {}
        for content in sorted(self._all, key=lambda each: (each.level, each.domain, each.pod_set.index)):
            around = self._tree.around(content.level, content.domain)
            # The content's own domain comes last.
            top = next((each for each in around if each in tops), around[-1])
            tops.setdefault(top, []).append(content)
        return [(level, domain, inside) for (level, domain), inside in sorted(tops.items())]

    def whole(self) -> list[tuple[int, int, list[Content]]]:
        """The same with the whole cluster as the only domain."""
        everything = sorted(self._all, key=lambda each: (each.level, each.domain, each.pod_set.index))
        return [(-1, 0, everything)] if everything else []


@dataclass(frozen=True, slots=True)
class Item:
    """Pods of one shape that may go to the same nodes."""

    shape: int
    need: int
    open: int
    """The most that may be placed, the needed ones included."""
    first: int
    last: int
    """The positions they may use, from the first to behind the last."""
    colors: tuple[int, ...] = ()
    """Preferences of groups that share no domain: each pays for every domain it uses."""


@dataclass(frozen=True, slots=True)
class Color:
    """A group whose pods share no domain, and the level it prefers."""

    level: int
    running: frozenset[int]
    """The domains of that level that its running pods use."""


@dataclass(frozen=True, slots=True)
class Component:
    """A domain, and all that is confined to it or to domains inside it."""

    level: int
    domain: int
    items: tuple[Item, ...]
    homes: tuple[tuple[int, int], ...]
    """Per item, the level and the domain that it is confined to."""
    colors: tuple[Color, ...]
    """What the colors of the items stand for."""

    def totals(self) -> dict[tuple[int, tuple[int, int]], tuple[int, int]]:
        """By shape and domain: how many pods are needed, and how many are asked for."""
        totals: dict[tuple[int, tuple[int, int]], tuple[int, int]] = {}
        for item, home in zip(self.items, self.homes, strict=True):
            need, total = totals.get((item.shape, home), (0, 0))
            totals[item.shape, home] = (need + item.need, total + item.open)
        return totals


def component(
    compiled: CompiledRequest, top: tuple[int, int], contents: list[Content], colors: list[Color]
) -> Component:
    """Make items of what is confined to a domain; their colors are numbered anew."""
    shown = sorted({color for content in contents for color in content.colors})
    number = {color: i for i, color in enumerate(shown)}
    items, homes = [], []
    for (level, domain, shape, marks), inside in _alike(contents).items():
        first, last = compiled.tree.bounds(level, domain)
        need = sum(content.pod_set.need for content in inside)
        total = sum(content.pod_set.open for content in inside)
        items.append(Item(shape, need, total, first, last, tuple(number[color] for color in marks)))
        homes.append((level, domain))
    return Component(*top, tuple(items), tuple(homes), tuple(colors[color] for color in shown))


def share(contents: list[Content], takes: list[tuple[Ints, Ints]], spread: Spread) -> None:
    """Hand the pods of each item to the pod sets it was made of: what they need first, then the rest."""
    for inside, (positions, counts) in zip(_alike(contents).values(), takes, strict=True):
        if len(inside) == 1:
            if len(positions):
                spread[inside[0].pod_set.index] = (positions, counts)
            continue
        spare = int(counts.sum()) - sum(content.pod_set.need for content in inside)
        each = np.repeat(positions, counts)
        at = 0
        for content in inside:
            extra = min(spare, content.pod_set.open - content.pod_set.need)
            spare -= extra
            mine = each[at : at + content.pod_set.need + extra]
            at += len(mine)
            if len(mine):
                unique, amount = np.unique(mine, return_counts=True)
                spread[content.pod_set.index] = (unique, amount.astype(np.int64))


def _alike(contents: list[Content]) -> dict[tuple[int, int, int, tuple[int, ...]], list[Content]]:
    alike: dict[tuple[int, int, int, tuple[int, ...]], list[Content]] = {}
    for content in contents:
        key = (content.level, content.domain, content.pod_set.shape, content.colors)
        alike.setdefault(key, []).append(content)
    return alike
