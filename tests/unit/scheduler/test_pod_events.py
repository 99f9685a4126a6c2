"""When the events of bound pods are written, and what becomes of those that are too many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any, cast

import pytest

from closeknit.hub.keys import Key
from closeknit.kube.errors import ApiError, ForbiddenError, UnavailableError
from closeknit.kube.port import KubernetesApi
from closeknit.scheduler.commit import Bind
from closeknit.scheduler.status import pod_events
from closeknit.scheduler.status.pod_events import PodEvents
from closeknit.testing.clock import HandClock


class Server:
    """Takes events, or answers with a fault."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.fault: ApiError | None = None
        self.busy = False

    async def create(self, _: object, event: dict[str, Any]) -> None:
        if self.fault is not None:
            raise self.fault
        self.events.append(event)


@asynccontextmanager
async def writing() -> AsyncIterator[tuple[Server, PodEvents, HandClock]]:
    clock, server = HandClock(), Server()
    made = PodEvents(
        cast("KubernetesApi", server),
        "closeknit",
        instance="c-0",
        random=Random(1),
        busy=lambda: server.busy,
        clock=clock,
    )
    work = asyncio.create_task(made.run())
    await clock.advance()
    try:
        yield server, made, clock
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


def binds(number: int) -> list[Bind]:
    return [Bind(Key("", "Pod", "team", f"p{i}"), f"uid-{i}", "n1") for i in range(number)]


async def test_an_event_has_the_form_of_kube_scheduler() -> None:
    async with writing() as (server, made, clock):
        made.note(binds(1))
        await clock.advance(3)

    (event,) = server.events
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Scheduled", "Binding")
    assert event["reportingController"] == "closeknit"
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p0",
        "namespace": "team",
        "uid": "uid-0",
    }


async def test_events_are_written_at_a_bounded_rate() -> None:
    async with writing() as (server, made, clock):
        made.note(binds(1000))
        await clock.advance(pod_events.CALM - 0.1)
        assert server.events == []
        await clock.advance(1.1)
        assert 190 <= len(server.events) <= 210
        await clock.advance(5)
        assert len(server.events) == 1000


async def test_events_wait_for_bindings_and_after_a_while_only_trickle() -> None:
    async with writing() as (server, made, clock):
        server.busy = True
        made.note(binds(1000))
        await clock.advance(pod_events.DEFERRAL - 0.1)
        assert server.events == []
        await clock.advance(10.2)
        assert 190 <= len(server.events) <= 210


async def test_of_too_many_the_oldest_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_events, "PENDING_LIMIT", 10)
    async with writing() as (server, made, clock):
        server.busy = True
        made.note(binds(14))
        assert (len(made), made.dropped) == (10, 4)
        server.busy = False
        await clock.advance(3)
    assert [event["regarding"]["name"] for event in server.events] == [f"p{i}" for i in range(4, 14)]


async def test_a_server_that_is_away_gets_all_of_them_later() -> None:
    async with writing() as (server, made, clock):
        server.fault = UnavailableError("away")
        made.note(binds(20))
        await clock.advance(10)
        server.fault = None
        await clock.advance(60)
    assert sorted(event["regarding"]["uid"] for event in server.events) == sorted(
        f"uid-{i}" for i in range(20)
    )


async def test_events_that_may_not_be_written_are_dropped() -> None:
    async with writing() as (server, made, clock):
        server.fault = ForbiddenError("no")
        made.note(binds(3))
        await clock.advance(5)
        assert (len(made), made.dropped, made.written) == (0, 3, 0)
