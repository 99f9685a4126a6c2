"""A decision is suspended between counted steps, and others run meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from closeknit.scheduler.decide.slices import Slices

TICK = 0.001


class TickingClock:
    """A clock on which a millisecond passes whenever it is read."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        """A date that no test reads."""
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        """A millisecond more than at the last reading."""
        self.seconds += TICK
        return self.seconds

    def boottime(self) -> float:
        """The same; no machine is suspended."""
        return self.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self.seconds += seconds


def make(seconds: float = 5 * TICK) -> Slices:
    return Slices(TickingClock(), seconds)


def working(slices: Slices, log: list[str], steps: int) -> Callable[[], str]:
    def decide() -> str:
        for step in range(steps):
            log.append(f"step {step}")
            if slices.pause():
                return f"ended after {step}"
        return "finished"

    return decide


async def test_others_run_while_a_decision_is_under_way() -> None:
    slices, log = make(), list[str]()

    async def other() -> None:
        for number in range(3):
            log.append(f"other {number}")
            await asyncio.sleep(0)

    running = asyncio.create_task(other())
    assert await slices.run(working(slices, log, 50)) == "finished"
    await running

    assert slices.suspended > 3
    last_other = log.index("other 2")
    assert log[-1] == "step 49"
    assert 0 < last_other < len(log) - 1


async def test_a_short_decision_is_not_suspended() -> None:
    slices = make(1000 * TICK)
    assert await slices.run(working(slices, [], 50)) == "finished"
    assert slices.suspended == 0


async def test_what_a_decision_reads_may_not_change_while_it_is_suspended() -> None:
    slices, changes = make(), list[bool]()

    async def other() -> None:
        while True:
            changes.append(slices.may_change.is_set())
            await asyncio.sleep(0)

    running = asyncio.create_task(other())
    await slices.run(working(slices, [], 50))
    during, after = changes[:], slices.may_change.is_set()
    running.cancel()

    assert during
    assert not any(during)
    assert after


async def test_a_decision_ends_when_it_has_to() -> None:
    slices, asked = make(), list[None]()

    def has_to_end() -> bool:
        asked.append(None)
        return len(asked) == 3

    result = await slices.run(working(slices, [], 1000), has_to_end)
    assert result.startswith("ended after")
    assert len(asked) == 3


async def test_a_decision_of_a_cancelled_task_is_unwound() -> None:
    slices, undone = make(), list[str]()

    def decide() -> None:
        try:
            while True:
                slices.pause()
        finally:
            undone.append("fork")

    task = asyncio.create_task(slices.run(decide))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert undone == ["fork"]
    assert slices.may_change.is_set()
    assert await slices.run(lambda: "next") == "next"


async def test_an_error_of_a_decision_is_raised_and_the_next_one_runs() -> None:
    slices = make()

    def decide() -> None:
        for _ in range(20):
            slices.pause()
        raise KeyError("x")

    with pytest.raises(KeyError):
        await slices.run(decide)
    assert await slices.run(lambda: "next") == "next"


async def test_what_others_take_is_not_charged_to_a_decision() -> None:
    clock = TickingClock()
    slices = Slices(clock, 5 * TICK)

    async def other() -> None:
        clock.seconds += 1000.0

    running = asyncio.create_task(other())
    await slices.run(working(slices, [], 50))
    await running

    assert 0 < slices.spent() < 1.0


def test_a_pause_outside_a_decision_does_nothing() -> None:
    assert not make(0.0).pause()


async def test_how_long_a_decision_has_been_under_way_is_known_while_it_is_suspended() -> None:
    slices, seen = make(), list[float]()

    async def other() -> None:
        seen.append(slices.under_way())

    running = asyncio.create_task(other())
    await slices.run(working(slices, [], 50))
    await running

    assert 0 < seen[0] < 1.0
    assert slices.under_way() == 0.0
