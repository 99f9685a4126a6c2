from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pytest

from closeknit.kube.errors import ForbiddenError, UnavailableError
from closeknit.kube.leases import Lease, LostLeaseError, Terms
from closeknit.kube.port import Object
from closeknit.kube.resources import LEASES, Resource
from closeknit.testing.clock import HandClock
from tests.unit.kube.toy import Toy

KEY = (LEASES.plural, "ns", "l")


@dataclass
class Work:
    """Work that notes who does it, and fails the test when two do."""

    running: list[str] = field(default_factory=list)
    began: list[str] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        assert self.running == [], f"{name} and {self.running} work at the same time"
        self.running.append(name)
        self.began.append(name)
        try:
            yield
        finally:
            self.running.remove(name)

    async def by(self, name: str) -> None:
        with self._alone(name):
            await self.done.wait()


def lease(toy: Toy, clock: HandClock, name: str) -> Lease:
    return Lease(toy.api, "l", namespace="ns", identity=name, random=Random(name), clock=clock)


async def end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_lease_that_nobody_has_is_taken_at_once() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    task = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance()

    assert work.running == ["a"]
    spec = toy.objects[KEY]["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("a", 15, 0)
    assert spec["acquireTime"] == spec["renewTime"] == "2026-01-01T00:00:00.000000Z"
    await end(task)


async def test_the_holder_renews_and_the_others_wait() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    tasks = [asyncio.create_task(lease(toy, clock, name).hold(partial(work.by, name))) for name in "abc"]
    await clock.advance(300)

    assert work.began == ["a"]
    spec = toy.objects[KEY]["spec"]
    assert spec["renewTime"] > "2026-01-01T00:04:50"
    assert spec["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    await end(*tasks)


async def test_work_that_is_done_hands_the_lease_on_without_a_wait() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    first = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance()
    second_work = Work()
    second = asyncio.create_task(lease(toy, clock, "b").hold(lambda: second_work.by("b")))
    await clock.advance(4)
    work.done.set()
    await clock.advance(3)

    assert first.done()
    assert first.exception() is None
    assert second_work.running == ["b"]
    assert toy.objects[KEY]["spec"]["leaseTransitions"] == 1
    await end(second)


async def test_a_holder_that_was_killed_is_followed_when_its_lease_has_run_out() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    dead = lease(toy, clock, "a")
    await dead._attempt()
    follower = asyncio.create_task(lease(toy, clock, "b").hold(lambda: work.by("b")))

    await clock.advance(14)
    assert work.running == []
    await clock.advance(4)
    assert work.running == ["b"]
    await end(follower)


async def test_a_holder_that_cannot_renew_stops_before_the_next_begins() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    cut = Toy(objects=toy.objects)
    holder = asyncio.create_task(lease(cut, clock, "a").hold(lambda: work.by("a")))
    await clock.advance(5)
    toy.version = cut.version
    follower = asyncio.create_task(lease(toy, clock, "b").hold(lambda: work.by("b")))
    await clock.advance(1)

    cut.fault = UnavailableError("cut")
    await clock.advance(12)
    assert isinstance(holder.exception(), LostLeaseError)
    assert work.running == []
    await clock.advance(10)
    assert work.began == ["a", "b"]
    await end(follower)


async def test_a_short_cut_costs_nothing() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    holder = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance(1)
    toy.fault = UnavailableError("cut")
    await clock.advance(6)
    toy.fault = None
    await clock.advance(60)

    assert work.began == work.running == ["a"]
    await end(holder)


async def test_a_lease_that_another_took_by_force_is_lost_at_the_next_look() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    holder = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance(1)
    toy._store(KEY, toy.objects[KEY] | {"spec": {"holderIdentity": "b", "leaseDurationSeconds": 15}})
    await clock.advance(3)

    with pytest.raises(LostLeaseError, match=r"ns/l .*\bb\b"):
        await holder
    assert toy.objects[KEY]["spec"]["holderIdentity"] == "b"


async def test_another_hand_that_labels_the_lease_does_no_harm() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    holder = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance(1)
    toy._store(KEY, toy.objects[KEY])
    await clock.advance(30)

    assert work.running == ["a"]
    await end(holder)


async def test_what_the_work_raises_is_raised_and_the_lease_given_up() -> None:
    toy, clock = Toy(), HandClock()

    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await lease(toy, clock, "a").hold(fail)
    assert toy.objects[KEY]["spec"]["holderIdentity"] == ""


async def test_who_is_cancelled_gives_the_lease_up() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    holder = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance(1)
    await end(holder)

    assert work.running == []
    assert toy.objects[KEY]["spec"]["holderIdentity"] == ""


async def test_a_renewal_that_is_cut_off_after_it_was_written_does_not_keep_the_lease() -> None:
    class Slow(Toy):
        async def replace(self, resource: Resource, obj: Mapping[str, Any]) -> Object:
            written = await super().replace(resource, obj)
            if written["spec"]["holderIdentity"]:
                await asyncio.Event().wait()
            return written

    toy, clock, work = Slow(), HandClock(), Work()
    holder = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance(3)
    assert toy.calls[-1] == "replace leases"
    work.done.set()
    await holder

    assert toy.objects[KEY]["spec"]["holderIdentity"] == ""


async def test_a_server_that_is_down_is_waited_for() -> None:
    toy, clock, work = Toy(fault=UnavailableError("down")), HandClock(), Work()
    holder = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance(30)
    assert work.running == []
    toy.fault = None
    await clock.advance(3)
    assert work.running == ["a"]
    await end(holder)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param("get leases", id="it may not be read"),
        pytest.param("create leases", id="it may not be made, or its namespace is missing"),
        pytest.param("replace leases", id="it may not be written"),
    ],
)
async def test_why_a_lease_cannot_be_taken_is_told_once_and_it_is_tried_again(call: str) -> None:
    toy, clock, work, told = Toy(), HandClock(), Work(), list[str]()
    if call != "create leases":
        first = asyncio.create_task(lease(toy, clock, "before").hold(lambda: work.by("before")))
        await clock.advance()
        await end(first)
    toy.refused[call] = ForbiddenError("leases are not yours")
    mine = Lease(toy.api, "l", namespace="ns", identity="a", random=Random(1), clock=clock, told=told.append)
    holder = asyncio.create_task(mine.hold(lambda: work.by("a")))
    await clock.advance(30)
    assert (work.running, told) == ([], ["leases are not yours"])
    toy.refused.clear()
    await clock.advance(3)
    assert work.running == ["a"]
    await end(holder)


@pytest.mark.parametrize(
    "terms", [(10, 10, 2), (15, 2, 10), (15, 10, 0)], ids=["equal", "wrong order", "no pause"]
)
def test_terms_under_which_two_could_hold_are_refused(terms: tuple[float, float, float]) -> None:
    numbers = r"\({:g}\).*\({:g}\).*\({:g}\)".format(*terms)
    with pytest.raises(ValueError, match=numbers):
        Terms(duration=terms[0], renew_within=terms[1], every=terms[2])
