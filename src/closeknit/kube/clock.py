"""Time, as something that is passed in: a simulator or a test brings its own."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time, and waits."""

    def now(self) -> datetime:
        """The date and time in UTC, for what is written into objects."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, for measuring how long something took."""
        ...

    def boottime(self) -> float:
        """The same, and they also pass while the machine is suspended: for what other machines time too."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after this many seconds."""
        ...


# Linux has a clock that goes on while the machine is suspended. Elsewhere its suspension is not counted: a
# lease is then checked against a clock that stopped with the machine (docs/explanation/leadership.md).
_CLOCK_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        """The date and time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment in the past."""
        return time.monotonic()

    def boottime(self) -> float:
        """Seconds since some moment in the past; a suspension counts if the system has a clock for it."""
        return time.monotonic() if _CLOCK_BOOTTIME is None else time.clock_gettime(_CLOCK_BOOTTIME)

    async def sleep(self, seconds: float) -> None:
        """Let other tasks run for this many seconds."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


def timestamp(moment: datetime) -> str:
    """A moment as Kubernetes writes it, to the second."""
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def micro_timestamp(moment: datetime) -> str:
    """A moment as Kubernetes writes it where microseconds count, as in leases and events."""
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
