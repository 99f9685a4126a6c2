"""What runs beside a signal ends with it, in order, and no failure is lost."""

from __future__ import annotations

import asyncio

import pytest

from closeknit.cli.working import run_until


class Part:
    """Settles what is under way when it is told to stop."""

    def __init__(self, events: list[str]) -> None:
        self._events = events
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        await self._stopped.wait()
        await asyncio.sleep(0)
        self._events.append("settled")

    def stop(self) -> None:
        self._stopped.set()


async def _work(events: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        events.append("cancelled")


async def test_parts_settle_before_what_they_stand_on_is_cancelled() -> None:
    events: list[str] = []
    told = asyncio.Event()
    asyncio.get_running_loop().call_soon(told.set)

    await run_until(told, [_work(events)], [Part(events)])  # type: ignore[list-item]

    assert events == ["settled", "cancelled"]


async def test_what_fails_ends_the_others_and_is_raised() -> None:
    events: list[str] = []

    async def failing() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await run_until(asyncio.Event(), [_work(events), failing()])

    assert events == ["cancelled"]


@pytest.mark.parametrize("later", [False, True], ids=["before it is told to stop", "while others settle"])
async def test_parts_do_not_wait_for_work_that_has_failed(later: bool) -> None:
    events: list[str] = []
    told, failed = asyncio.Event(), asyncio.Event()

    class Waiting(Part):
        async def run(self) -> None:
            await failed.wait()
            await asyncio.Event().wait()

    async def failing() -> None:
        if later:
            await told.wait()
            await asyncio.sleep(0.01)
        failed.set()
        raise ValueError("broken")

    asyncio.get_running_loop().call_soon(told.set)
    async with asyncio.timeout(10):
        with pytest.raises(ValueError, match="broken"):
            await run_until(told, [failing()], [Waiting(events)])  # type: ignore[list-item]


async def test_work_that_ends_by_itself_ends_the_rest() -> None:
    events: list[str] = []

    async def done() -> None:
        pass

    await run_until(asyncio.Event(), [_work(events), done()], [Part(events)])  # type: ignore[list-item]

    assert events == ["settled", "cancelled"]
