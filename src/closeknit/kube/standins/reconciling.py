"""One object at a time, again and again, until it is as it should be."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any, Final

from closeknit.kube.clock import Clock
from closeknit.kube.errors import ApiError, ConflictError, NotFoundError
from closeknit.kube.mirror import Key, Mirror
from closeknit.kube.port import Object

_log = logging.getLogger(__name__)
_RETRY: Final = 1.0
_WORKERS: Final = 8


def own_key(obj: Object) -> list[Key]:
    """The key of an object, for those who look at the objects that they follow."""
    return [Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])]


class Reconciler:
    """Calls a function for every key that was woken; one key at a time, several keys side by side.

    The function returns the seconds after which it wants to look again, or None.
    What fails, for whatever reason, is tried again after a while, and keeps no other key waiting; a conflict
    means that a change is on its way.
    """

    def __init__(self, reconcile: Callable[[Key], Awaitable[float | None]], clock: Clock) -> None:
        self._reconcile = reconcile
        self._clock = clock
        self._ready: dict[Key, None] = {}
        self._busy: set[Key] = set()
        self._due: dict[Key, float] = {}
        """By key, when it is looked at next though nothing wakes it."""
        self._later: list[tuple[float, Key]] = []
        """The same in order; what is no longer so is passed over."""
        self._some = asyncio.Event()

    def wake(self, key: Key, seconds: float = 0.0) -> None:
        """Look at a key, now or later."""
        if seconds > 0:
            time = self._clock.monotonic() + seconds
            if time >= self._due.get(key, inf):
                return
            self._due[key] = time
            heapq.heappush(self._later, (time, key))
        else:
            self._ready[key] = None
        self._some.set()

    async def follow(
        self, mirror: Mirror[Any], keys: Callable[[Any], list[Key]], *, as_it_was: bool = True
    ) -> None:
        """Wake the keys that a changed object concerns, until cancelled.

        ``as_it_was``: those that it concerned before are woken as well.
        """

        def tell(before: Any, after: Any) -> None:
            if as_it_was and before is not None:
                for key in keys(before):
                    self.wake(key)
            if after is not None:
                for key in keys(after):
                    self.wake(key)

        with mirror.telling(tell):
            await asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            running: set[asyncio.Task[None]] = set()
            while True:
                self._some.clear()
                self._bring_due()
                while len(running) < _WORKERS and (key := self._next()) is not None:
                    task = tasks.create_task(self._work(key))
                    running.add(task)
                    task.add_done_callback(running.discard)
                    task.add_done_callback(lambda _: self._some.set())
                await self._wait()

    def _bring_due(self) -> None:
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            time, key = heapq.heappop(self._later)
            if self._due.get(key) == time:
                self._ready[key] = None

    def _next(self) -> Key | None:
        for key in self._ready:
            if key not in self._busy:
                del self._ready[key]
                self._due.pop(key, None)
                self._busy.add(key)
                return key
        return None

    async def _wait(self) -> None:
        """Return when something was woken or has become due."""
        if not self._later:
            await self._some.wait()
            return
        left = max(0.0, self._later[0][0] - self._clock.monotonic())
        waiting = {asyncio.ensure_future(self._some.wait()), asyncio.ensure_future(self._clock.sleep(left))}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    async def _work(self, key: Key) -> None:
        try:
            again = await self._reconcile(key)
        except (ConflictError, NotFoundError):
            again = _RETRY / 10
        except ApiError as error:
            _log.warning("%s/%s will be tried again: %s", key.namespace, key.name, error)
            again = _RETRY
        except Exception:  # noqa: BLE001 (one object must not keep the others from being looked at)
            _log.exception("%s/%s will be tried again, though this is a mistake of ours", *key)
            again = _RETRY
        finally:
            self._busy.discard(key)
        if again is not None:
            self.wake(key, again)
