from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from closeknit.kube.errors import ConflictError, LeaseExpiredError, UnavailableError
from closeknit.kube.fencing import READS, Fence, check_fence, fenced
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import EVENTS, PODS
from closeknit.testing.clock import HandClock

WRITES: dict[str, tuple[Any, ...]] = {
    "create": (PODS, {}),
    "replace": (PODS, {}),
    "patch": (PODS, "p", None),
    "delete": (PODS, "p"),
    "delete_collection": (PODS, None),
    "bind": ("p", "n"),
    "evict": ("p",),
}
DEADLINE = 2.5


class Recording:
    """An API that notes which methods are called, and does what it is given to do meanwhile."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.during: Callable[[], Awaitable[Any]] | None = None

    def __getattr__(self, name: str) -> Any:
        async def call(*_: Any, **__: Any) -> None:
            self.calls.append(name)
            if self.during is not None:
                await self.during()

        return call


def api_of(recording: Recording, fence: Fence) -> KubernetesApi:
    return fenced(cast("KubernetesApi", recording), fence)


def held(clock: HandClock, seconds: float = 10.0) -> Fence:
    fence = Fence(clock)
    fence.extend(clock.boottime() + seconds)
    return fence


def test_every_method_of_the_port_is_a_read_or_a_fenced_write() -> None:
    methods = {
        name for name, value in vars(KubernetesApi).items() if inspect.isfunction(value) and name[0] != "_"
    }
    api = api_of(Recording(), Fence(HandClock()))
    assert methods == {*READS, *WRITES} == {name for name in vars(api) if name[0] != "_"}


@pytest.mark.parametrize("write", WRITES)
async def test_a_write_is_sent_while_the_lease_holds_and_not_from_its_end_on(write: str) -> None:
    clock, recording = HandClock(), Recording()
    fence = held(clock)
    call = getattr(api_of(recording, fence), write)

    await clock.advance(9.9)
    await call(*WRITES[write])
    assert recording.calls == [write]
    await clock.advance(0.1)
    with pytest.raises(LeaseExpiredError):
        await call(*WRITES[write])
    assert (recording.calls, fence.fenced, fence.expired.is_set()) == ([write], 1, True)


@pytest.mark.parametrize("read", READS)
async def test_reads_pass_without_a_lease(read: str) -> None:
    recording = Recording()
    await getattr(api_of(recording, Fence(HandClock())), read)()
    assert recording.calls == [read]


async def test_time_counts_in_which_the_machine_was_suspended() -> None:
    clock, recording = HandClock(), Recording()
    api = api_of(recording, held(clock))
    before = clock.monotonic()
    clock.suspend(20)

    assert clock.monotonic() == before
    with pytest.raises(LeaseExpiredError):
        await api.bind("p", "n", namespace="ns")


async def test_what_has_expired_once_sends_nothing_more_although_the_lease_is_renewed() -> None:
    clock, recording = HandClock(), Recording()
    fence = held(clock)
    clock.skip(11)
    with pytest.raises(LeaseExpiredError):
        fence.check()
    fence.extend(clock.boottime() + 10)
    with pytest.raises(LeaseExpiredError):
        await api_of(recording, fence).evict("p", namespace="ns")


async def test_nothing_is_sent_after_the_end_of_the_term() -> None:
    fence = held(HandClock())
    fence.close()
    with pytest.raises(LeaseExpiredError):
        fence.check()


async def test_a_write_is_checked_again_on_its_way() -> None:
    clock, recording = HandClock(), Recording()

    async def connect() -> None:
        clock.skip(11)
        check_fence()
        recording.calls.append("sent")

    recording.during = connect
    with pytest.raises(LeaseExpiredError):
        await api_of(recording, held(clock)).bind("p", "n", namespace="ns")
    assert recording.calls == ["bind"]


async def test_a_read_beside_a_fenced_write_is_not_checked_on_its_way() -> None:
    recording = Recording()

    async def connect() -> None:
        check_fence()

    recording.during = connect
    api = api_of(recording, held(HandClock()))
    await api.bind("p", "n", namespace="ns")
    await api_of(recording, Fence(HandClock())).version()
    assert recording.calls == ["bind", "version"]


@pytest.mark.parametrize(
    ("error", "resource", "seconds"),
    [
        pytest.param(
            UnavailableError("gone"), PODS, 1.5, id="a broken connection leaves the outcome unknown"
        ),
        pytest.param(asyncio.CancelledError(), PODS, 1.5, id="so does a call that was given up"),
        pytest.param(ConflictError("changed"), PODS, 0.0, id="a refusal is an answer"),
        pytest.param(UnavailableError("gone"), EVENTS, 0.0, id="an event decides nothing"),
    ],
)
async def test_a_term_has_settled_when_calls_without_an_answer_had_their_deadline(
    error: BaseException, resource: Any, seconds: float
) -> None:
    clock, recording = HandClock(), Recording()
    fence = held(clock)

    async def fail() -> None:
        raise error

    recording.during = fail
    with pytest.raises(type(error)):
        await api_of(recording, fence).create(resource, {})
    await clock.advance(1)
    assert fence.settles_in(DEADLINE) == pytest.approx(seconds)
    await clock.advance(1.5)
    assert fence.settles_in(DEADLINE) == 0
