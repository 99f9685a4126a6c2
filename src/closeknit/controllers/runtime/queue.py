"""Which object is looked at next: each once, one look at a time, later after a failure."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Generic, TypeVar

from closeknit.kube.backoff import Backoff

_I = TypeVar("_I", bound=Hashable)
_FIRST = 0.25
_LIMIT = 60.0
_REST = 0.1


class WorkQueue(Generic[_I]):
    """Items that wait. Time comes in as an argument, in seconds."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._ready: dict[_I, None] = {}
        self._busy: dict[_I, bool] = {}
        """By item that is looked at now, whether it has to be looked at again."""
        self._due: dict[_I, float] = {}
        self._later: list[tuple[float, int, _I]] = []
        self._order = count()
        self._backoffs: dict[_I, Backoff] = {}
        self._rests: dict[_I, float] = {}
        """By item that was looked at a moment ago, until when it rests."""
        self._resting: deque[tuple[float, _I]] = deque()

    def __len__(self) -> int:
        """How many items are ready or looked at now."""
        return len(self._ready) + len(self._busy)

    @property
    def busy(self) -> int:
        """How many items are looked at now."""
        return len(self._busy)

    def add(self, item: _I, now: float, *, urgent: bool = True) -> None:
        """Look at an item soon: after a rest since the last look, since what changes may change once more.

        One that failed is not looked at before its time unless that is urgent.
        """
        if item in self._busy:
            self._busy[item] = True
        elif item not in self._ready and (urgent or item not in self._backoffs):
            rested = self._rests.get(item, now)
            if rested <= now:
                self._due.pop(item, None)
                self._ready[item] = None
            elif self._due.get(item, rested + 1) > rested:
                self._at(item, rested)

    def next(self, now: float) -> _I | None:
        """The item to look at now, which is busy until it is ``done`` or has ``failed``."""
        self._bring_due(now)
        while self._resting and self._resting[0][0] <= now:
            until, rested = self._resting.popleft()
            if self._rests.get(rested) == until:
                del self._rests[rested]
        for item in self._ready:
            del self._ready[item]
            self._busy[item] = False
            return item
        return None

    def next_time(self) -> float | None:
        """When an item becomes ready by itself."""
        while self._later and self._due.get(self._later[0][2]) != self._later[0][0]:
            heappop(self._later)
        return self._later[0][0] if self._later else None

    def done(self, item: _I, now: float, again: float | None = None) -> None:
        """A look ended well; look again at this time, or when the item is added."""
        self._backoffs.pop(item, None)
        self._rests[item] = now + _REST
        self._resting.append((now + _REST, item))
        if self._busy.pop(item):
            again = now + _REST if again is None else min(again, now + _REST)
        if again is not None:
            self._at(item, again)

    def failed(self, item: _I, now: float, at_least: float = 0.0) -> float:
        """A look failed; returns the seconds after which the next one comes."""
        self._busy.pop(item, None)
        backoff = self._backoffs.setdefault(item, Backoff(self._random, first=_FIRST, limit=_LIMIT))
        wait = max(backoff.wait(), at_least)
        self._at(item, now + wait)
        return wait

    def _at(self, item: _I, time: float) -> None:
        self._due[item] = time
        heappush(self._later, (time, next(self._order), item))

    def _bring_due(self, now: float) -> None:
        while (time := self.next_time()) is not None and time <= now:
            _, _, item = heappop(self._later)
            del self._due[item]
            self._ready[item] = None
