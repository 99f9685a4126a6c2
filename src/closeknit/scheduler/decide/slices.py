"""Runs decisions in slices, so that lease renewal, health checks, watches and answers do not wait for them.

A decision is ordinary synchronous code, many calls deep when its search pauses. It runs in a greenlet, a call
stack of its own: the engine counts its steps and calls ``pause`` now and then, and when the slice is used up,
control goes back to the event loop, which resumes the decision after it has run everything else that is due.
So nothing runs at the same time as a decision, and no lock is needed; but what a decision reads must not be
changed while one is suspended (``may_change``).

| state     | event                                     | next      | action                                 |
|-----------|-------------------------------------------|-----------|----------------------------------------|
| idle      | ``run``                                   | running   | start the decision                     |
| running   | pause, slice not used up                  | running   |                                        |
| running   | pause, slice used up                      | suspended | return to the event loop               |
| suspended | the event loop has run what is due        | running   | resume; the pause returns whether the  |
|           |                                           |           | decision has to end (``has_to_end``)   |
| suspended | ``run`` is cancelled                      | idle      | unwind the decision, which undoes forks|
| running   | the decision returns or raises            | idle      | return or raise the same               |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from closeknit.kube.clock import Clock

T = TypeVar("T")


def _never() -> bool:
    return False


class Slices:
    """Runs one decision at a time, each in as many slices as it takes."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        """``seconds``: how long a slice lasts."""
        self._clock = clock
        self._seconds = seconds
        self._decision: greenlet | None = None
        self._slice_began = 0.0
        self._spent = 0.0
        self.may_change = asyncio.Event()
        """Set unless a decision is suspended: what a decision reads may then not be changed."""
        self.may_change.set()
        self._began: float | None = None
        """When the decision under way began."""
        self.suspended = 0
        """How many times a decision was suspended."""

    def under_way(self) -> float:
        """For how many seconds the current decision has been under way; 0 if none is."""
        return 0.0 if self._began is None else self._clock.monotonic() - self._began

    def spent(self) -> float:
        """How many seconds decisions have taken so far, without what others took meanwhile."""
        if self._decision is None or not self.may_change.is_set():
            return self._spent
        return self._spent + self._clock.monotonic() - self._slice_began

    async def run(self, decide: Callable[[], T], has_to_end: Callable[[], bool] = _never) -> T:
        """Run a decision and return its result.

        ``has_to_end`` is asked after each slice, when everything else that is due has run; if the decision
        has to end, the pause that ended the slice returns True.
        """
        assert self._decision is None, "one decision at a time"
        decision = self._decision = greenlet(decide)
        self._began = self._clock.monotonic()
        self._begin_slice()
        try:
            result: Any = decision.switch()
            while not decision.dead:
                self._end_slice()
                self.may_change.clear()
                await asyncio.sleep(0)
                ends = has_to_end()
                self.may_change.set()
                self._begin_slice()
                result = decision.switch(ends)
        finally:
            if not decision.dead:
                # This task is being cancelled: undo what the decision tries out.
                with suppress(asyncio.CancelledError):
                    decision.throw(asyncio.CancelledError)
            self.may_change.set()
            self._end_slice()
            self._decision = self._began = None
        return result  # type: ignore[no-any-return]

    def _begin_slice(self) -> None:
        self._slice_began = self._clock.monotonic()

    def _end_slice(self) -> None:
        now = self._clock.monotonic()
        self._spent += now - self._slice_began
        self._slice_began = now

    def pause(self) -> bool:
        """Let others run if the slice is used up; return whether the decision has to end.

        Harmless outside a decision.
        """
        decision = self._decision
        if decision is None or getcurrent() is not decision:
            return False
        if self._clock.monotonic() - self._slice_began < self._seconds:
            return False
        self.suspended += 1
        assert decision.parent is not None
        return bool(decision.parent.switch())
