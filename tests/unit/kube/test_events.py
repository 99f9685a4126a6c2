from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from closeknit.kube.errors import ForbiddenError, TooManyRequestsError, UnavailableError
from closeknit.kube.events import EventType, Recorder, Reference
from closeknit.kube.port import Object
from closeknit.kube.resources import Resource
from closeknit.testing.clock import HandClock
from tests.unit.kube.toy import Toy

POD = Reference("v1", "Pod", "p", "ns", "u")


class Lossy(Toy):
    """Makes an object, and the answer is lost."""

    async def create(self, resource: Resource, obj: Mapping[str, Any]) -> Object:
        await super().create(resource, obj)
        raise UnavailableError("the answer was lost")


@dataclass(kw_only=True)
class Slow(Toy):
    """Takes a second to make an object."""

    clock: HandClock

    async def create(self, resource: Resource, obj: Mapping[str, Any]) -> Object:
        await self.clock.sleep(1)
        return await super().create(resource, obj)


def recorder(toy: Toy, clock: HandClock) -> Recorder:
    return Recorder(toy.api, "closeknit.dev/scheduler", instance="s-0", random=Random(1), clock=clock)


def written(toy: Toy) -> list[dict[str, Any]]:
    return list(toy.objects.values())


async def flushed(made: Recorder, clock: HandClock, seconds: float = 0) -> None:
    await clock.advance(seconds)
    task = asyncio.create_task(made.flush())
    await clock.advance(60 if not task.done() else 0)
    await task


async def test_an_event_says_who_did_what_to_whom_and_why() -> None:
    toy, clock = Toy(), HandClock()
    made = recorder(toy, clock)
    made.record(POD, "Placed", "Placed in rack r1.", action="Binding", kind=EventType.NORMAL)
    await made.flush()

    (event,) = written(toy)
    metadata = event.pop("metadata")
    assert metadata["namespace"] == "ns"
    assert metadata["name"].startswith("p.")
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "closeknit.dev/scheduler",
        "reportingInstance": "s-0",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "ns", "uid": "u"},
        "type": "Normal",
        "reason": "Placed",
        "action": "Binding",
        "note": "Placed in rack r1.",
    }


async def test_the_events_of_a_node_are_in_the_default_namespace() -> None:
    toy = Toy()
    made = recorder(toy, HandClock())
    made.record(Reference("v1", "Node", "n1"), "Lost", "x", action="Watching", kind=EventType.WARNING)
    await made.flush()

    (event,) = written(toy)
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["regarding"]
    assert event["type"] == "Warning"


async def test_the_same_event_again_is_counted_in_its_series() -> None:
    toy, clock = Toy(), HandClock()
    made = recorder(toy, clock)
    for _ in range(3):
        made.record(POD, "Waiting", "No room.", action="Scheduling")
    await made.flush()
    assert written(toy)[0]["series"]["count"] == 3

    for _ in range(100):
        made.record(POD, "Waiting", "No room.", action="Scheduling")
        await made.flush()
    assert toy.calls == ["create events"]
    await clock.advance(11)
    await made.flush()

    assert toy.calls == ["create events", "patch events"]
    (event,) = written(toy)
    assert event["series"]["count"] == 103


async def test_an_event_that_comes_again_much_later_is_a_new_one() -> None:
    toy, clock = Toy(), HandClock()
    made = recorder(toy, clock)
    for _ in range(2):
        made.record(POD, "Waiting", "No room.", action="Scheduling")
        await made.flush()
        await clock.advance(400)
        await made.flush()

    assert toy.calls == ["create events"] * 2
    assert len(written(toy)) == 2


async def test_many_notes_of_one_reason_become_one_event() -> None:
    toy = Toy()
    made = recorder(toy, HandClock())
    for number in range(100):
        made.record(POD, "Waiting", f"{number} of 100 nodes are full.", action="Scheduling")
    await made.flush()

    assert len(written(toy)) == 11
    combined = written(toy)[-1]
    assert combined["note"] == "(combined from similar events): 10 of 100 nodes are full."
    assert combined["series"]["count"] == 90


async def test_one_object_cannot_cause_more_than_its_share() -> None:
    toy, clock = Toy(), HandClock()
    made = recorder(toy, clock)
    for number in range(100):
        made.record(POD, f"Reason{number}", "x", action="Scheduling")
    made.record(POD._replace(name="other"), "Placed", "x", action="Binding")
    await made.flush()

    assert len(written(toy)) == 26
    assert made.dropped == 75
    await clock.advance(300)
    made.record(POD, "Later", "x", action="Scheduling")
    await made.flush()
    assert written(toy)[-1]["reason"] == "Later"


async def test_a_server_that_is_down_gets_the_events_later() -> None:
    toy, clock = Toy(fault=UnavailableError("down")), HandClock()
    made = recorder(toy, clock)
    made.record(POD, "Placed", "x", action="Binding")
    await flushed(made, clock)
    assert toy.calls == ["create events"]

    toy.fault = None
    await made.flush()
    assert [event["reason"] for event in written(toy)] == ["Placed"]
    assert made.dropped == 0


async def test_a_server_that_names_a_time_is_left_alone_for_it() -> None:
    toy, clock = Toy(fault=TooManyRequestsError("busy", retry_after=20)), HandClock()
    made = recorder(toy, clock)
    made.record(POD, "Placed", "x", action="Binding")
    task = asyncio.create_task(made.flush())
    await clock.advance(19)
    assert not task.done()
    await clock.advance(1)
    assert task.done()


async def test_an_event_that_is_refused_is_dropped_and_counted() -> None:
    toy = Toy(fault=ForbiddenError("no"))
    made = recorder(toy, HandClock())
    made.record(POD, "Placed", "x", action="Binding")
    made.record(POD, "Placed", "x", action="Binding")
    await made.flush()
    await made.flush()

    assert (made.dropped, toy.calls) == (2, ["create events"])


async def test_an_event_that_the_server_forgot_is_made_anew() -> None:
    toy, clock = Toy(), HandClock()
    made = recorder(toy, clock)
    made.record(POD, "Placed", "x", action="Binding")
    await made.flush()
    toy.objects.clear()
    made.record(POD, "Placed", "x", action="Binding")
    await clock.advance(11)
    await made.flush()
    await made.flush()

    assert [event["series"]["count"] for event in written(toy)] == [2]


async def test_an_event_whose_answer_was_lost_is_not_dropped() -> None:
    toy, clock = Lossy(), HandClock()
    made = recorder(toy, clock)
    made.record(POD, "Placed", "x", action="Binding")
    await flushed(made, clock)
    await flushed(made, clock)

    assert (len(written(toy)), made.unwritten, made.dropped) == (1, 0, 0)


async def test_a_count_that_grew_while_an_answer_was_lost_is_written() -> None:
    toy, clock = Lossy(), HandClock()
    made = recorder(toy, clock)
    made.record(POD, "Placed", "x", action="Binding")
    await flushed(made, clock)
    for _ in range(4):
        made.record(POD, "Placed", "x", action="Binding")
    await flushed(made, clock)

    assert [event["series"]["count"] for event in written(toy)] == [5]


async def test_a_series_that_is_begun_anew_while_another_is_written_is_not_lost() -> None:
    clock = HandClock()
    toy = Slow(clock=clock)
    made = recorder(toy, clock)
    made.record(POD, "Placed", "x", action="Binding")
    first = asyncio.create_task(made.flush())
    await clock.advance(1)
    await first
    await clock.advance(400)
    made.record(POD._replace(name="a"), "Placed", "x", action="Binding")
    made._series.move_to_end(next(iter(made._series)))
    second = asyncio.create_task(made.flush())
    await clock.advance(0)
    made.record(POD, "Placed", "x", action="Binding")
    await clock.advance(1)
    await second
    third = asyncio.create_task(made.flush())
    await clock.advance(1)
    await third

    assert sorted(event["regarding"]["name"] for event in written(toy)) == ["a", "p", "p"]
    assert made.dropped == 0


async def test_who_flushes_at_the_end_does_not_wait_for_the_pause_of_another() -> None:
    toy, clock = Toy(fault=TooManyRequestsError("busy", retry_after=20)), HandClock()
    made = recorder(toy, clock)
    made.record(POD, "Placed", "x", action="Binding")
    waits = asyncio.create_task(made.flush())
    await clock.advance(1)
    toy.fault = None
    await made.flush()
    assert len(written(toy)) == 1
    waits.cancel()
    await asyncio.gather(waits, return_exceptions=True)


async def test_who_flushes_while_another_writes_writes_no_event_twice() -> None:
    clock = HandClock()
    toy = Slow(clock=clock)
    made = recorder(toy, clock)
    for name in ("p", "q"):
        made.record(POD._replace(name=name), "Placed", "x", action="Binding")
    both = [asyncio.create_task(made.flush()) for _ in range(2)]
    await clock.advance(1)
    await clock.advance(1)
    await asyncio.gather(*both)

    assert toy.calls == ["create events"] * 2
    assert made.dropped == 0


async def test_memory_is_bounded_whatever_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("closeknit.kube.events._QUEUE_LIMIT", 100)
    toy = Toy()
    made = recorder(toy, HandClock())
    for number in range(1000):
        made.record(POD._replace(name=f"p{number}"), "Placed", "x" * 5000, action="Binding")

    assert len(made._series) == len(made._allowances) == 100
    assert made.dropped == 900
    await made.flush()
    assert {len(event["note"]) for event in written(toy)} == {1024}
    made.record(POD._replace(name="new"), "Placed", "x", action="Binding")
    assert made.dropped == 900


async def test_recorded_events_are_written_in_the_background() -> None:
    toy, clock = Toy(), HandClock()
    made = recorder(toy, clock)
    task = asyncio.create_task(made.run())
    made.record(POD, "Placed", "x", action="Binding")
    await clock.advance(2)
    assert len(written(toy)) == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
