"""When ``closeknit run`` looks for garbage."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from closeknit.cli import collecting
from closeknit.cli.collecting import collect_in_pauses


class Scheduler:
    """A scheduler that is ready and busy when it is told."""

    ready = False
    busy = False


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    thresholds = gc.get_threshold()
    monkeypatch.setattr(collecting, "_GLANCE", 0.0)
    yield
    gc.unfreeze()
    gc.enable()
    gc.set_threshold(*thresholds)


@asynccontextmanager
async def collecting_for(scheduler: Scheduler) -> AsyncIterator[None]:
    task = asyncio.create_task(collect_in_pauses(scheduler))
    await _looks()
    yield
    task.cancel()
    await asyncio.wait([task])


async def _looks() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_garbage_is_looked_for_before_the_cluster_was_read_nor_ever_in_what_was_read() -> None:
    scheduler = Scheduler()
    async with collecting_for(scheduler):
        before = gc.isenabled()
        scheduler.ready = True
        await _looks()

        assert (before, gc.isenabled(), gc.get_freeze_count() > 0) == (False, True, True)


async def test_garbage_is_looked_for_between_rushes_of_bindings() -> None:
    scheduler = Scheduler()
    scheduler.ready = True
    async with collecting_for(scheduler):
        found = []
        for busy in (False, True, False):
            scheduler.busy = busy
            await _looks()
            found.append(gc.isenabled())

        assert found == [True, False, True]


async def test_a_rush_that_does_not_end_puts_it_off_only_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "_MOST", 0)
    scheduler = Scheduler()
    scheduler.ready = scheduler.busy = True
    async with collecting_for(scheduler):
        assert gc.isenabled()


async def test_who_ends_while_no_garbage_is_looked_for_leaves_it_as_python_does_it() -> None:
    scheduler = Scheduler()
    async with collecting_for(scheduler):
        assert not gc.isenabled()

    assert gc.isenabled()


async def test_a_process_without_a_scheduler_looks_for_garbage_at_once() -> None:
    await collect_in_pauses(None)

    assert gc.isenabled()
