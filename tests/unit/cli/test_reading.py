"""When ``closeknit run`` looks for garbage."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import pytest

from closeknit.cli.run import read_without_collecting


class Reading:
    """A scheduler that is ready when it is told."""

    ready = False


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.parametrize("ends", ["ready", "cancelled"])
async def test_no_garbage_is_looked_for_before_the_cluster_was_read(ends: str) -> None:
    scheduler: Any = Reading()
    reading = asyncio.create_task(read_without_collecting(scheduler))
    await asyncio.sleep(0)
    before = gc.isenabled()

    if ends == "ready":
        scheduler.ready = True
    else:
        reading.cancel()
    await asyncio.wait([reading])

    assert (before, gc.isenabled(), gc.get_freeze_count() > 0) == (False, True, True)


async def test_a_process_without_a_scheduler_looks_for_garbage_at_once() -> None:
    await read_without_collecting(None)

    assert gc.isenabled()
