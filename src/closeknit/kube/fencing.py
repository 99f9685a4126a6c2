"""Fencing: a write is sent only while this instance holds its lease, checked as close to the socket as
possible.

One ``Fence`` belongs to one term of leadership. Whatever writes during a term is handed ``fenced(api,
fence)`` instead of the API; there is no other way to write.

| state | a write | next |
|---|---|---|
| not held | raises ``LeaseExpiredError`` | held, when the lease is acquired |
| held | is sent | held for longer, when the lease is renewed; expired, when a write is refused; closed |
| expired | raises ``LeaseExpiredError``; the term is ending | closed |
| closed | raises ``LeaseExpiredError`` | |

The check is made when a write is called and, over HTTP, again with the connection in hand and when the bytes
are written (``check_fence``), so that nothing that waited for a connection, for credentials, for Retry-After
or for its turn is sent late. It is part of the write and not a timer: a process that was stopped (SIGSTOP)
runs its ready callbacks before its timers, so that a timer would end the term after the queued writes were
sent. ``docs/explanation/leadership.md`` derives the bounds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from math import inf
from typing import Any, Final, cast

from closeknit.kube.clock import Clock
from closeknit.kube.errors import (
    DeadlineExceededError,
    InternalServerError,
    LeaseExpiredError,
    UnavailableError,
)
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import CORE_EVENTS, EVENTS

READS: Final = ("get", "identities", "list", "watch", "resources", "version")
"""The methods of the port that change nothing."""
_UNKNOWN_OUTCOME = (UnavailableError, DeadlineExceededError, InternalServerError, asyncio.CancelledError)
"""After these, a write may or may not have been carried out, or may still be."""


class Fence:
    """Whether writes of one term of leadership may still be sent."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = -inf
        self._closed = False
        self._unanswered_at = -inf
        self.expired = asyncio.Event()
        """Set by the first write that came too late."""
        self.fenced = 0
        """How many writes were not sent."""

    def extend(self, until: float) -> None:
        """The lease was renewed: writes may be sent before this moment of ``Clock.boottime``."""
        self._until = max(self._until, until)

    def close(self) -> None:
        """The term is over, whatever the lease says: nothing more is sent."""
        self._closed = True

    def check(self) -> None:
        """Raise ``LeaseExpiredError`` unless a request may be sent at this moment."""
        if self._closed or self.expired.is_set() or self._clock.boottime() >= self._until:
            self.fenced += 1
            self.expired.set()
            raise LeaseExpiredError("The lease was not renewed in time, so this write was not sent.")

    def note_unanswered(self) -> None:
        """A write has an unknown outcome: until some time from now, the API server may be at work on it."""
        self._unanswered_at = self._clock.boottime()

    def settles_in(self, seconds: float) -> float:
        """Seconds until the last write of unknown outcome is this long ago; 0 if it is."""
        return max(self._unanswered_at + seconds - self._clock.boottime(), 0.0)


_FENCE: ContextVar[Fence | None] = ContextVar("fence", default=None)
"""The fence of the write that the present task is making.

A request passes through libraries on its way to a socket (aiohttp's pool of connections), whose signatures
carry nothing of ours.
"""


def check_fence() -> None:
    """Raise ``LeaseExpiredError`` if the present task makes a write that may not be sent any more."""
    if (fence := _FENCE.get()) is not None:
        fence.check()


def fenced(api: KubernetesApi, fence: Fence) -> KubernetesApi:
    """The same API, where every write is checked by a fence; reads pass."""
    return cast("KubernetesApi", _FencedApi(api, fence))


class _FencedApi:
    """Lists the methods that pass and those that are checked, so that a new one of the port is neither."""

    def __init__(self, api: KubernetesApi, fence: Fence) -> None:
        self._fence = fence
        for read in READS:
            setattr(self, read, getattr(api, read))
        self.create = self._checked(api.create)
        self.replace = self._checked(api.replace)
        self.patch = self._checked(api.patch)
        self.delete = self._checked(api.delete)
        self.delete_collection = self._checked(api.delete_collection)
        self.bind = self._checked(api.bind)
        self.evict = self._checked(api.evict)

    def _checked(self, write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        fence = self._fence

        async def checked(*arguments: Any, **options: Any) -> Any:
            fence.check()
            before = _FENCE.set(fence)
            try:
                return await write(*arguments, **options)
            except _UNKNOWN_OUTCOME:
                # An event that is written late misleads no scheduler.
                if not arguments or arguments[0] not in (EVENTS, CORE_EVENTS):
                    fence.note_unanswered()
                raise
            finally:
                _FENCE.reset(before)

        return checked
