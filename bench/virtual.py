"""Virtual time for a scheduler and an API server in one process, and whose processor time is whose.

The clock moves in two ways: when everybody waits it jumps to the next moment that somebody waits for, and it
moves by the processor time that the scheduler uses. What others use, the API server above all, takes no time.
So a run shows how a scheduler with a processor of its own fares beside a server that answers at once.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
import time
import types
from collections import defaultdict
from collections.abc import Callable, Coroutine, Generator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

FREE = frozenset({"server", "arrivals"})
"""The parts whose processor time moves no clock."""
_START = datetime(2026, 1, 1, tzinfo=UTC)


class Meter:
    """Seconds of processor time by part; at any moment one part is at work."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._part = "event loop"
        self._since = time.process_time()
        self._own = 0.0

    def switch(self, part: str) -> str:
        """From now on this part is at work; returns which was."""
        now, before = time.process_time(), self._part
        used = now - self._since
        self.seconds[before] += used
        if before not in FREE:
            self._own += used
        self._part, self._since = part, now
        return before

    def scheduler(self) -> float:
        """Seconds that the scheduler has used."""
        return self._own if self._part in FREE else self._own + time.process_time() - self._since

    def calls(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, counted as a part."""

        @functools.wraps(function)
        def counted(*arguments: Any, **named: Any) -> Any:
            before = self.switch(part)
            try:
                return function(*arguments, **named)
            finally:
                self.switch(before)

        return counted

    async def steps(self, part: str, work: Coroutine[Any, Any, Any]) -> Any:
        """The same coroutine, each of its steps counted as a part."""
        return await self._stepped(part, work)

    @types.coroutine
    def _stepped(self, part: str, work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = functools.partial(work.send, None)
        while True:
            before = self.switch(part)
            try:
                waits_for = step()
            except StopIteration as end:
                return end.value
            finally:
                self.switch(before)
            try:
                step = functools.partial(work.send, (yield waits_for))
            except BaseException as error:  # noqa: BLE001 (also a cancellation is for the coroutine to hear)
                step = functools.partial(work.throw, error)


class MeteredApi:
    """A Kubernetes API whose calls count as the server's; what a watch hands out counts as its reader's."""

    def __init__(self, api: Any, meter: Meter) -> None:
        self._api, self._meter = api, meter

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._api, name)
        if name == "watch":
            return found
        return lambda *arguments, **named: self._meter.steps("server", found(*arguments, **named))


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time. ``parts`` names the part of each task, by the name of its coroutine."""

    def __init__(self, meter: Meter, parts: Mapping[str, str]) -> None:
        self._meter, self._parts = meter, parts
        self.idle = 0.0
        super().__init__(_Jumping(self))
        self.set_task_factory(self._task)

    def time(self) -> float:
        """Seconds since the start."""
        return self.idle + self._meter.scheduler()

    def _task(self, loop: asyncio.AbstractEventLoop, work: Any, **named: Any) -> asyncio.Task[Any]:
        name = getattr(work, "__qualname__", "")
        part = self._parts.get(name) or self._parts.get(name.partition(".")[0])
        return asyncio.Task(self._meter.steps(part, work) if part else work, loop=loop, **named)


class _Jumping(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "Everybody waits for somebody else."
        self._loop.idle += max(timeout, 0.0)
        return super().select(0)


class VirtualClock:
    """The time of a virtual loop."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now(self) -> datetime:
        """The start, and what has passed since."""
        return _START + timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        """What has passed."""
        return self._loop.time()

    def boottime(self) -> float:
        """What has passed."""
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved so far."""
        await asyncio.sleep(seconds)
