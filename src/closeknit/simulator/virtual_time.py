"""Virtual time for all that runs on asyncio: when everybody waits, the clock jumps to the next who is due.

Work takes no time. Since nothing depends on the machine, equal runs do equal things in equal order.
"""

from __future__ import annotations

import asyncio
import selectors
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps."""

    def __init__(self) -> None:
        self.passed = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        """Seconds since the start."""
        return self.passed


class _Jumping(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("Everybody waits for somebody else.")
        self._loop.passed += max(timeout, 0.0)
        return super().select(0) if timeout else []


class VirtualClock:
    """The time of a virtual loop, for what takes a clock."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now(self) -> datetime:
        """The start, and what has passed since."""
        return _START + timedelta(seconds=self._loop.passed)

    def monotonic(self) -> float:
        """What has passed."""
        return self._loop.passed

    def boottime(self) -> float:
        """What has passed; nothing is ever suspended here."""
        return self._loop.passed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved so far."""
        await asyncio.sleep(seconds)


class StillClock(VirtualClock):
    """The same time for who looks again every few seconds for what never comes in a replay."""

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002
        """Wait for ever."""
        await asyncio.get_running_loop().create_future()
