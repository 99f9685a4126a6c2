"""Which pods run where, as other pods see them: counted by slot for every selector that was asked for.

A count follows what is held, so a pod that comes or goes costs the selectors that mean it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TypeVar

import numpy as np

from closeknit.engine.tree import Ints
from closeknit.hub.cluster import Holding
from closeknit.hub.neighbours import Apart, Neighbour, PodSelector, binding

_K = TypeVar("_K", bound=Hashable)
_MOST_SELECTORS = 256
"""Selectors remembered; the one not asked for the longest goes first."""


class RunningNeighbours:
    """The running pods of a cluster by slot: whom selectors mean, and who keeps others away."""

    def __init__(self) -> None:
        self._slots: dict[Neighbour, dict[int, int]] = {}
        """Pods by what others see of them and by slot; none that are gone."""
        self._counts: dict[PodSelector, Ints] = {}
        self._keeping: dict[Apart, dict[int, int]] = {}
        """By rule, the slots of pods that must have it kept, with how many."""

    def move(self, slot: int, before: tuple[Holding, ...], now: tuple[Holding, ...]) -> None:
        """Follow a change of what one workload holds on a slot."""
        same = 0
        while same < min(len(before), len(now)) and before[same] is now[same]:
            same += 1
        for holdings, sign in ((before, -1), (now, 1)):
            for holding in holdings[same:]:
                self._add(holding.neighbour, slot, sign * holding.pods)

    def _add(self, neighbour: Neighbour, slot: int, pods: int) -> None:
        if not pods:
            return
        _count(self._slots, neighbour, slot, pods)
        labels = dict(neighbour.labels)
        for selector, counts in self._counts.items():
            if selector.selects(neighbour.namespace, labels):
                self._counts[selector] = _lengthened(counts, slot + 1)
                self._counts[selector][slot] += pods
        for rule in neighbour.rules:
            if isinstance(rule, Apart) and binding(rule):
                _count(self._keeping, rule, slot, pods)

    def counts(self, selector: PodSelector, size: int) -> Ints:
        """By slot, up to so many, how many running pods are meant; not to be changed."""
        known = self._counts.pop(selector, None)
        if known is None:
            known = np.zeros(size, dtype=np.int64)
            for neighbour, slots in self._slots.items():
                if neighbour.selected(selector):
                    for slot, pods in slots.items():
                        known[slot] += pods
            while len(self._counts) >= _MOST_SELECTORS:
                del self._counts[next(iter(self._counts))]
        # Taking it out and putting it back moves it behind all others.
        known = self._counts[selector] = _lengthened(known, size)
        return known[:size]

    @property
    def keep_away(self) -> bool:
        """Whether any running pod keeps others away."""
        return bool(self._keeping)

    def against(self, neighbour: Neighbour) -> Iterator[tuple[Apart, Ints]]:
        """The rules of running pods that keep this one away, each with the slots of those pods."""
        for rule, slots in self._keeping.items():
            if neighbour.selected(rule.selector):
                yield rule, np.array(list(slots), dtype=np.int64)


def _lengthened(counts: Ints, size: int) -> Ints:
    more = size - len(counts)
    return np.append(counts, np.zeros(more, dtype=np.int64)) if more > 0 else counts


def _count(counts: dict[_K, dict[int, int]], key: _K, slot: int, pods: int) -> None:
    by_slot = counts.setdefault(key, {})
    left = by_slot.get(slot, 0) + pods
    if left:
        by_slot[slot] = left
        return
    del by_slot[slot]
    if not by_slot:
        del counts[key]
