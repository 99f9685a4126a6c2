"""When a process that schedules looks for garbage: not while it reads its cluster, nor while it binds pods.

Nearly everything that is made then is kept, so that looking through it only takes time. What requests leave
behind waits for a pause, and the little that those of the first reading leave behind is never looked for.
"""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import Protocol

_READING, _GLANCE = 60.0, 0.1
"""Seconds that no garbage is looked for at most while a cluster is read, and seconds between two looks."""
_THRESHOLDS = (50_000, 20, 100)
_MOST = 500_000
"""Objects made and not deleted since the last time, with which it is not put off any longer: about 100 MB."""


class Schedules(Protocol):
    """A scheduler, as far as it says when it has time."""

    @property
    def ready(self) -> bool:
        """Whether its cluster was read."""

    @property
    def busy(self) -> bool:
        """Whether bindings are under way, or can be expected."""


async def collect_in_pauses(scheduler: Schedules | None) -> None:
    """Look for garbage when there is time, until cancelled; from then on as Python does by itself.

    Without a scheduler that is from the beginning.
    """
    gc.set_threshold(*_THRESHOLDS)
    if scheduler is None:
        return
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_READING):
                while not scheduler.ready:
                    gc.disable()
                    await asyncio.sleep(_GLANCE)
        gc.freeze()
        while True:
            if scheduler.busy and gc.get_count()[0] < _MOST:
                gc.disable()
            else:
                gc.enable()
            await asyncio.sleep(_GLANCE)
    finally:
        gc.enable()
