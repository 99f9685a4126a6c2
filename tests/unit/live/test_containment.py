"""Failures of objects: how they are recorded, how objects back off, and when they are tried again."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from closeknit.hub.failures import ObjectFailure, Step
from closeknit.hub.keys import Key
from closeknit.live.containment import FIRST, FIRST_WITHHELD, LONGEST, Containment
from closeknit.live.failure_log import FailureLog
from closeknit.live.log import UNLOGGED
from closeknit.live.supervision import blame, supervised
from closeknit.testing.clock import HandClock

POD = Key("", "Pod", "default", "p")
OTHER = Key("", "Pod", "default", "q")


class Recorded:
    def __init__(self) -> None:
        self.failures: list[tuple[ObjectFailure, bool]] = []
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def failed(self, component: str, failure: ObjectFailure, error: BaseException, *, known: bool) -> None:
        assert component == "test"
        assert str(error) in failure.error
        self.failures.append((failure, known))

    def info(self, event: str, **facts: Any) -> None:
        self.lines.append((event, facts))

    warning = info


def failing(containment: Containment, key: Key = POD, step: Step = Step.DECIDE) -> ObjectFailure | None:
    with containment.at(key, step) as contained:
        raise KeyError("x")
    return contained.failure


def test_an_error_is_a_failure_of_the_object_and_ends_nothing() -> None:
    recorded = Recorded()
    containment = Containment("test", recorded)

    failure = failing(containment)

    assert failure == ObjectFailure(POD, Step.DECIDE, "KeyError: 'x'")
    assert containment.failure(POD) == failure
    assert containment.failure(POD, Step.REPORT) is None
    assert containment.failure(OTHER) is None
    assert recorded.failures == [(failure, False)]


@pytest.mark.parametrize("error", [RecursionError, MemoryError, TimeoutError])
def test_errors_of_the_interpreter_are_contained(error: type[Exception]) -> None:
    containment = Containment("test")

    with containment.at(POD, Step.COMPILE):
        raise error

    assert containment.failure(POD) is not None


@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyboardInterrupt, SystemExit])
def test_what_ends_a_task_or_a_process_on_purpose_is_not_contained(error: type[BaseException]) -> None:
    containment = Containment("test")

    with pytest.raises(error), containment.at(POD, Step.COMPILE):
        raise error

    assert containment.failing == 0


def test_an_object_backs_off_for_longer_after_each_failure() -> None:
    containment = Containment("test")
    waits = []
    for _ in range(12):
        failing(containment)
        time = containment.next_time()
        assert time is not None
        waits.append(time - containment.now)
        assert containment.due() == []
        containment.now = time
        assert containment.due() == [POD]
        assert containment.failure(POD) is None
        assert containment.next_time() is None

    assert waits[:4] == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]
    assert waits[-1] == LONGEST


def test_a_step_that_succeeds_ends_the_failure() -> None:
    containment = Containment("test")
    failing(containment)
    failing(containment, step=Step.REPORT)

    with containment.at(POD, Step.DECIDE):
        pass

    assert containment.failure(POD, Step.DECIDE) is None
    assert containment.failure(POD, Step.REPORT) is not None


def test_an_object_that_changes_is_tried_again_at_once() -> None:
    containment = Containment("test")
    failing(containment)

    containment.changed(POD)

    assert containment.failure(POD) is None
    assert containment.next_time() is None


def test_a_withheld_object_is_tried_again_only_when_its_time_comes() -> None:
    containment = Containment("test")
    containment.note(POD, Step.READ, KeyError("x"), withhold=True)

    containment.changed(POD)
    assert containment.withheld(POD) is not None
    containment.now = FIRST_WITHHELD
    assert containment.due() == [POD]
    assert containment.withheld(POD) is None


def test_an_object_that_is_gone_leaves_no_failure() -> None:
    containment = Containment("test")
    failing(containment)

    containment.gone(POD)

    assert containment.failing == 0


def test_a_failure_is_counted_each_time_and_logged_once() -> None:
    lines = Recorded()
    log = FailureLog(lines)
    containment = Containment("scheduler", log)
    for _ in range(3):
        failing(containment)

    assert [(event, facts["object"], facts["step"]) for event, facts in lines.lines] == [
        ("object failed", str(POD), "decide")
    ]
    assert b'closeknit_object_failures_total{component="scheduler",step="decide"} 3.0' in log.written()


def test_an_error_that_escapes_is_blamed_on_the_object_that_was_worked_on() -> None:
    def inner(key: Key) -> None:
        raise KeyError(key.name)

    def outer(_: Key, inner_key: Key) -> None:
        inner(inner_key)

    with pytest.raises(KeyError) as caught:
        outer(OTHER, POD)
    assert blame(caught.value) == POD
    assert blame(ExceptionGroup("several", [caught.value])) == POD
    assert blame(ValueError("never raised")) is None


async def test_a_component_begins_again_without_the_object_that_ended_it() -> None:
    clock, containment = HandClock(), Containment("test")
    begun: list[float] = []

    def broken(key: Key) -> None:
        raise KeyError(key.name)

    async def work() -> None:
        begun.append(clock.monotonic())
        if containment.withheld(POD) is None:
            broken(POD)

    task = asyncio.create_task(
        supervised(work, containment, log=UNLOGGED, random=Random(1), clock=clock, settling=4.0)
    )
    await clock.advance(10)

    assert task.done()
    assert begun == [0.0, 5.0]
    assert containment.withheld(POD) is not None
