"""Objects are looked at one by one, again and again, and none keeps the others waiting."""

from __future__ import annotations

import asyncio
from collections import Counter

from closeknit.kube.mirror import Key
from closeknit.kube.standins.reconciling import Reconciler
from closeknit.testing.clock import HandClock

GOOD, BAD = Key("ns", "good"), Key("ns", "bad")


async def test_an_object_that_breaks_is_tried_again_and_others_go_on() -> None:
    clock, looks = HandClock(), Counter[Key]()

    async def look(key: Key) -> float | None:
        looks[key] += 1
        if key == BAD and looks[key] < 3:
            raise ValueError("odd")
        return None

    reconciler = Reconciler(look, clock)
    running = asyncio.create_task(reconciler.run())
    reconciler.wake(BAD)
    await clock.advance(0.5)
    reconciler.wake(GOOD)
    await clock.advance(5)
    running.cancel()

    assert looks == {BAD: 3, GOOD: 1}


async def test_an_object_that_looks_again_by_itself_does_so_no_more_often_when_it_is_woken() -> None:
    clock, looks = HandClock(), Counter[Key]()

    async def look(key: Key) -> float | None:
        looks[key] += 1
        return 1.0

    reconciler = Reconciler(look, clock)
    running = asyncio.create_task(reconciler.run())
    for _ in range(9):
        reconciler.wake(GOOD)
        await clock.advance(0.1)
    woken = looks[GOOD]
    await clock.advance(10)
    running.cancel()

    assert woken == 9
    assert looks[GOOD] - woken <= 11
