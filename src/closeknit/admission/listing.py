"""Lists of kinds that are newer than the request for them, at a bounded cost for the API server.

Whoever asks while a kind is being listed cannot use that answer, since what it was made of may be older than
the question. So requests wait for the next list, and share it: however many writes are refused, one list of a
kind is under way at a time. After a burst, lists of a kind are spaced out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

from closeknit.kube.clock import Clock

BURST: Final = 10
"""How many lists of a kind may follow each other at once."""
INTERVAL: Final = 0.5
"""Seconds between lists of a kind after a burst; an API server waits ten seconds for an answer."""

_K = TypeVar("_K", bound=Hashable)
_T = TypeVar("_T")


class SharedLists(Generic[_K, _T]):
    """Answers of a function of a kind, each begun after it was asked for."""

    def __init__(self, list_of: Callable[[_K], Awaitable[_T]], clock: Clock) -> None:
        self._list_of = list_of
        self._clock = clock
        self._next: dict[_K, asyncio.Task[_T]] = {}
        """By kind, the list that has not begun yet."""
        self._under_way: dict[_K, asyncio.Task[_T]] = {}
        self._due: dict[_K, float] = {}
        """By kind, when the next list is due if lists come at the allowed rate."""

    async def newer(self, kind: _K) -> _T:
        """A list that was begun after this call. Raises what the function raises."""
        task = self._next.get(kind)
        if task is None:
            task = self._next[kind] = asyncio.create_task(self._listed(kind, self._under_way.get(kind)))
            task.add_done_callback(_retrieved)
        # One who gives up does not take the answer from the others.
        return await asyncio.shield(task)

    async def _listed(self, kind: _K, before: asyncio.Task[_T] | None) -> _T:
        if before is not None:
            await asyncio.wait([before])
        now = self._clock.monotonic()
        due = max(self._due.get(kind, now), now)
        if (wait := due - now - (BURST - 1) * INTERVAL) > 0:
            await self._clock.sleep(wait)
        self._due[kind] = due + INTERVAL
        task = self._next.pop(kind)
        self._under_way[kind] = task
        try:
            return await self._list_of(kind)
        finally:
            if self._under_way.get(kind) is task:
                del self._under_way[kind]


def _retrieved(task: asyncio.Task[_T]) -> None:
    """Look at an exception that nobody may be waiting for any more."""
    if not task.cancelled():
        task.exception()
