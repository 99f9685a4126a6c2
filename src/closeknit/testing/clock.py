"""A clock that stands still until it is moved, and one that shows the wrong date."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count

from closeknit.kube.clock import Clock

_TURNS = 50
"""How often other tasks get a turn after each wait that is over."""


class HandClock:
    """Time for tests of what waits: nothing passes but what ``advance`` says."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._seconds = 0.0
        self._suspended = 0.0
        self._order = count()
        self._sleeping: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        """The start, and what has passed since."""
        return self._start + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        """What has passed."""
        return self._seconds

    def boottime(self) -> float:
        """What has passed, suspensions included."""
        return self._seconds + self._suspended

    def suspend(self, seconds: float) -> None:
        """Let the machine be suspended: neither its timers nor its monotonic clock go on meanwhile."""
        self._suspended += seconds
        self._start += timedelta(seconds=seconds)

    def skip(self, seconds: float) -> None:
        """Let time pass and wake no task, as in a stopped process; the next ``advance`` wakes them."""
        self._seconds += seconds

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved so far."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._sleeping, (self._seconds + seconds, next(self._order), done))
        await done

    async def advance(self, seconds: float = 0.0) -> None:
        """Move the clock, waking those who wait in the order of their times, and let everybody get on."""
        until = self._seconds + seconds
        await self._settle()
        while self._sleeping and self._sleeping[0][0] <= until:
            at, _, done = heappop(self._sleeping)
            self._seconds = max(self._seconds, at)
            if not done.done():
                done.set_result(None)
            await self._settle()
        self._seconds = until

    async def _settle(self) -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)


class SkewedClock:
    """Another clock, whose date and time are wrong by ``skew``; what is measured stays right."""

    def __init__(self, clock: Clock, skew: timedelta = timedelta(0)) -> None:
        self._clock = clock
        self.skew = skew

    def now(self) -> datetime:
        """A wrong date and time."""
        return self._clock.now() + self.skew

    def monotonic(self) -> float:
        """What has passed."""
        return self._clock.monotonic()

    def boottime(self) -> float:
        """What has passed, suspensions included."""
        return self._clock.boottime()

    async def sleep(self, seconds: float) -> None:
        """Wait as long as the other clock does."""
        await self._clock.sleep(seconds)
