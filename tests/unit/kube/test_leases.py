from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pytest

from closeknit.kube.errors import ForbiddenError, LeaseExpiredError, UnavailableError
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


async def test_a_holder_of_which_the_work_makes_no_progress_loses_its_lease() -> None:
    toy, clock, work, next_work = Toy(), HandClock(), Work(), Work()
    stuck = [False]
    wedged = Lease(
        toy.api,
        "l",
        namespace="ns",
        identity="a",
        random=Random(1),
        clock=clock,
        progresses=lambda: not stuck[0],
    )
    first = asyncio.create_task(wedged.hold(lambda: work.by("a")))
    await clock.advance(10)
    assert work.running == ["a"]
    second = asyncio.create_task(lease(toy, clock, "b").hold(lambda: next_work.by("b")))
    stuck[0] = True
    await clock.advance(5)
    with pytest.raises(LostLeaseError):
        await first
    assert work.running == []
    await clock.advance(20)
    assert next_work.running == ["b"]
    await end(second)


async def test_a_released_lease_is_taken_as_soon_as_that_is_seen() -> None:
    toy, clock, work, next_work = Toy(), HandClock(), Work(), Work()
    first = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance(1)
    second = asyncio.create_task(lease(toy, clock, "b").hold(lambda: next_work.by("b")))
    await clock.advance(0.1)
    await end(first)
    await clock.advance()

    assert next_work.running == ["b"]
    await end(second)


async def test_a_lease_is_taken_when_it_expires_and_no_later() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    await lease(toy, clock, "a")._attempt()
    follower = asyncio.create_task(lease(toy, clock, "b").hold(lambda: work.by("b")))

    await clock.advance(14.9)
    assert work.running == []
    await clock.advance(0.2)
    assert work.running == ["b"]
    await end(follower)


async def test_a_lease_is_still_taken_where_it_may_not_be_watched() -> None:
    toy, clock, work = Toy(refused={"watch leases": ForbiddenError("no")}), HandClock(), Work()
    await lease(toy, clock, "a")._attempt()
    follower = asyncio.create_task(lease(toy, clock, "b").hold(lambda: work.by("b")))
    await clock.advance(15.1)
    assert work.running == ["b"]
    await end(follower)


async def test_a_deleted_lease_is_not_taken_before_its_last_holder_has_stopped() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    await lease(toy, clock, "a")._attempt()
    follower = asyncio.create_task(lease(toy, clock, "b").hold(lambda: work.by("b")))
    await clock.advance(3)
    toy.remove(KEY)
    await clock.advance(11.9)
    assert work.running == []
    # Its deletion was its last change.
    await clock.advance(3.2)
    assert work.running == ["b"]
    await end(follower)


async def test_an_api_server_that_is_down_is_not_asked_without_pause_for_an_expired_lease() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    await lease(toy, clock, "a")._attempt()
    follower = asyncio.create_task(lease(toy, clock, "b").hold(lambda: work.by("b")))
    await clock.advance(3)
    toy.fault = UnavailableError("down")
    await clock.advance(30)
    asked = len(toy.calls)
    await clock.advance(20)
    assert len(toy.calls) - asked <= 22
    await end(follower)


@pytest.mark.parametrize(
    ("predecessor", "seconds"),
    [
        pytest.param("", 0.0, id="none, so there is nothing to wait for"),
        pytest.param("released", 0.0, id="one that released the lease, after its last call was answered"),
        pytest.param("killed", 2.5, id="one that was killed: its last calls get their deadline"),
        pytest.param("cut off", 2.5, id="one that was cut off from answers: it names itself in the lease"),
        pytest.param("itself", 2.5, id="itself, after it lost the lease"),
    ],
)
async def test_a_new_leader_waits_for_the_last_calls_of(predecessor: str, seconds: float) -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    before = lease(toy, clock, "b" if predecessor == "itself" else "a")
    if predecessor in ("released", "cut off"):
        holder = asyncio.create_task(before.hold(lambda: work.by("a")))
        await clock.advance(1)
        if predecessor == "cut off":
            before.fence.note_unanswered()
        await end(holder)
    elif predecessor:
        await before._attempt()
    mine, settled = lease(toy, clock, "b"), list[float]()

    async def begin() -> None:
        began = clock.monotonic()
        await mine.settled()
        settled.append(clock.monotonic() - began)
        await work.by("b")

    follower = asyncio.create_task(mine.hold(begin))
    await clock.advance(20)
    assert settled == [seconds]
    assert toy.objects[KEY]["spec"]["holderIdentity"] == "b"
    await end(follower)


async def test_a_leader_that_stops_while_it_waits_for_its_predecessor_does_not_hand_on_that_wait() -> None:
    toy, clock = Toy(), HandClock()
    await lease(toy, clock, "a")._attempt()
    mine = lease(toy, clock, "b")
    follower = asyncio.create_task(mine.hold(mine.settled))
    await clock.advance(16)
    await end(follower)
    # The third one has to wait, too.
    assert toy.objects[KEY]["spec"]["holderIdentity"] == "b"
    assert toy.objects[KEY]["spec"]["leaseDurationSeconds"] == 1


async def test_a_stopped_process_sends_nothing_after_it_goes_on_and_its_term_ends() -> None:
    toy, clock, sent = Toy(), HandClock(), list[str]()
    mine = lease(toy, clock, "a")
    wake = asyncio.Event()

    async def work() -> None:
        await wake.wait()
        mine.fence.check()
        sent.append("late")

    holder = asyncio.create_task(mine.hold(work))
    await clock.advance(1)
    clock.skip(20)
    wake.set()
    await asyncio.sleep(0)
    await clock.advance()

    assert (sent, mine.fence.fenced) == ([], 1)
    with pytest.raises(LostLeaseError):
        await holder


async def test_a_holder_that_was_stopped_for_too_long_does_not_renew_although_it_could() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    holder = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance(1)
    written = toy.version
    clock.skip(11)
    await clock.advance(3)
    with pytest.raises(LostLeaseError):
        await holder
    assert toy.version == written


async def test_a_suspended_machine_loses_the_lease_before_its_timers_go_on() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    mine = lease(toy, clock, "a")
    holder = asyncio.create_task(mine.hold(lambda: work.by("a")))
    await clock.advance(1)
    clock.suspend(60)
    await clock.advance()
    assert work.running == ["a"]
    with pytest.raises(LeaseExpiredError):
        mine.fence.check()
    await clock.advance()
    assert work.running == []
    with pytest.raises(LostLeaseError):
        await holder


async def test_what_work_writes_while_it_is_cancelled_after_the_loss_is_not_sent() -> None:
    toy, clock, late = Toy(), HandClock(), list[bool]()
    mine = lease(toy, clock, "a")

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            with pytest.raises(LeaseExpiredError):
                mine.fence.check()
            late.append(True)

    holder = asyncio.create_task(mine.hold(work))
    await clock.advance(1)
    toy._store(KEY, toy.objects[KEY] | {"spec": {"holderIdentity": "b", "leaseDurationSeconds": 15}})
    await clock.advance(3)
    with pytest.raises(LostLeaseError):
        await holder
    assert late == [True]


async def test_another_error_beside_fenced_writes_is_raised() -> None:
    toy, clock = Toy(), HandClock()
    mine = lease(toy, clock, "a")

    async def work() -> None:
        clock.skip(20)
        with suppress(LeaseExpiredError):
            mine.fence.check()
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await mine.hold(work)


async def test_an_answer_that_was_slow_to_come_shortens_the_pause_before_the_next_renewal() -> None:
    class Slow(Toy):
        async def replace(self, resource: Resource, obj: Mapping[str, Any]) -> Object:
            await clock.sleep(7)
            return await super().replace(resource, obj)

    toy, clock, work = Slow(), HandClock(), Work()
    holder = asyncio.create_task(lease(toy, clock, "a").hold(lambda: work.by("a")))
    await clock.advance(60)
    assert work.running == work.began == ["a"]
    holder.cancel()
    await clock.advance(20)
    await asyncio.gather(holder, return_exceptions=True)


async def test_writes_may_be_sent_until_ten_seconds_after_the_last_renewal_was_sent_and_not_answered() -> (
    None
):
    class Slow(Toy):
        async def replace(self, resource: Resource, obj: Mapping[str, Any]) -> Object:
            if self.fault is None:
                await clock.sleep(1.5)
            return await super().replace(resource, obj)

    toy, clock, work = Slow(), HandClock(), Work()
    mine = lease(toy, clock, "a")
    holder = asyncio.create_task(mine.hold(lambda: work.by("a")))
    # The renewal of second 2 is answered at second 3.5.
    await clock.advance(3.6)
    toy.fault = UnavailableError("cut")
    await clock.advance(8.3)
    mine.fence.check()
    clock.skip(0.15)
    with pytest.raises(LeaseExpiredError):
        mine.fence.check()
    await clock.advance()
    with pytest.raises(LostLeaseError):
        await holder


async def test_others_wait_for_no_less_than_the_duration_where_it_is_no_whole_number() -> None:
    toy, clock, work = Toy(), HandClock(), Work()
    terms = Terms(duration=2.4, renew_within=1.5, every=0.5)
    made = Lease(toy.api, "l", namespace="ns", identity="a", random=Random(1), clock=clock, terms=terms)
    holder = asyncio.create_task(made.hold(lambda: work.by("a")))
    await clock.advance(1)
    assert toy.objects[KEY]["spec"]["leaseDurationSeconds"] == 3
    await end(holder)


@pytest.mark.parametrize(
    "terms", [Terms(), Terms(duration=3, renew_within=2, every=0.5)], ids=["usual", "short"]
)
def test_a_call_sent_at_the_last_moment_ends_before_the_lease_can_be_taken(terms: Terms) -> None:
    assert terms.renew_within + terms.call_deadline < terms.duration


@pytest.mark.parametrize(
    "terms", [(10, 10, 2), (15, 2, 10), (15, 10, 0)], ids=["equal", "wrong order", "no pause"]
)
def test_terms_under_which_two_could_hold_are_refused(terms: tuple[float, float, float]) -> None:
    numbers = r"\({:g}\).*\({:g}\).*\({:g}\)".format(*terms)
    with pytest.raises(ValueError, match=numbers):
        Terms(duration=terms[0], renew_within=terms[1], every=terms[2])
