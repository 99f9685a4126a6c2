"""What a network, an API server, a rival or a poisonous object can do to the scheduler, and what becomes of gangs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from closeknit.hub.sentences import scheduler
from closeknit.kube.errors import ApiError, ForbiddenError, TooManyRequestsError, UnavailableError
from closeknit.kube.leases import Lease, LostLeaseError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import NODES, PODS
from closeknit.scheduler import core
from closeknit.scheduler.loop import Scheduler
from closeknit.scheduler.planning import Verdict, decide
from closeknit.scheduler.settings import Settings
from tests.kit.problems import finding
from tests.scenario.test_live_scheduler import Heard, rack_of, racks
from tests.unit.scheduler.living import Living
from tests.unit.scheduler.objects import pod, pod_group, together

Trouble = Callable[..., Any]


class Troubled:
    """An API with functions that are called in place of some methods, with the method and its arguments."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self.trouble: dict[str, Trouble] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._api, name)
        if name == "watch":
            watch: Trouble = self.trouble.get(name, _pass)
            return lambda *given, **named: watch(method, *given, **named)

        async def call(*given: Any, **named: Any) -> Any:
            if (trouble := self.trouble.get(name)) is not None:
                return await trouble(method, *given, **named)
            return await method(*given, **named)

        return call


def _pass(method: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return method(*given, **named)


class TroubledLiving(Living):
    """A scheduler whose API a test can disturb."""

    api: Troubled

    def new_scheduler(self, api: KubernetesApi) -> Any:
        self.api = Troubled(api)
        return super().new_scheduler(self.api)


@asynccontextmanager
async def troubled(
    objects: Iterable[dict[str, Any]], settings: Settings | None = None, reporter: Heard | None = None
) -> AsyncGenerator[TroubledLiving, None]:
    """Like ``living``; the scheduler starts on an empty cluster, so that trouble can be made first."""
    live = TroubledLiving(settings, reporter)
    work = asyncio.create_task(live.scheduler.run())
    try:
        await live.settle()
        await live.create(*objects)
        yield live
        if work.done():
            work.result()
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await live.cluster.close()


GANG = [
    pod_group("g", minMember=3, topologyConstraint=together("rack")),
    *(pod(f"p{i}", "g") for i in range(3)),
]


def times(number: int, error: ApiError, name: str = "p1") -> Trouble:
    """Fails so often for one pod."""
    left = [number]

    async def trouble(method: Trouble, pod: str, *given: Any, **named: Any) -> Any:
        if pod == name and left[0]:
            left[0] -= 1
            raise error
        return await method(pod, *given, **named)

    return trouble


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(TooManyRequestsError("Later.", retry_after=1), id="429"),
        pytest.param(UnavailableError("Gone."), id="the server is gone"),
    ],
)
async def test_a_binding_that_fails_for_now_is_tried_again(error: ApiError) -> None:
    async with troubled(racks()) as live:
        live.api.trouble["bind"] = times(3, error)
        await live.create(*GANG)
        await live.settle(5)
        nodes = await live.nodes()

        assert all(nodes.values())
        assert len({rack_of(each) for each in nodes.values()}) == 1


async def test_a_binding_that_hangs_holds_up_nobody_else() -> None:
    async def hang(method: Trouble, pod: str, *given: Any, **named: Any) -> Any:
        if pod.startswith("p"):
            await asyncio.get_running_loop().create_future()
        return await method(pod, *given, **named)

    async with troubled(racks(), Settings(connections=4)) as live:
        live.api.trouble["bind"] = hang
        await live.create(*GANG)
        await live.settle(2)
        await live.create(pod("q"))
        await live.settle(10)
        nodes = await live.nodes()
        assert nodes.pop("q")
        assert set(nodes.values()) == {""}
        del live.api.trouble["bind"]
        await live.settle(30)

        assert all((await live.nodes()).values())


@pytest.mark.requirement("A51")
async def test_a_refused_pod_lets_go_of_the_gang_that_cannot_be_whole_without_it() -> None:
    heard = Heard()
    async with troubled(racks(), reporter=heard) as live:
        live.api.trouble["bind"] = times(1000, ForbiddenError("A webhook says no."))
        await live.create(*GANG)
        await live.settle(90)
        page = await live.cluster.list(PODS)
        bound = {each["metadata"]["name"] for each in page.items if each["spec"].get("nodeName")}
        leaving = {each["metadata"]["name"] for each in page.items if "deletionTimestamp" in each["metadata"]}

        assert bound == leaving == {"p0", "p2"}
        assert ("released", "g") in heard.said


async def test_a_rival_that_binds_one_of_our_pods_has_decided_for_us() -> None:
    async def rival(method: Trouble, pod: str, node: str, **named: Any) -> Any:
        if pod == "p1":
            live.api.trouble.clear()
            await live.cluster.bind(pod, "n1", namespace="default")
        return await method(pod, node, **named)

    async with troubled(racks()) as live:
        live.api.trouble["bind"] = rival
        await live.create(*GANG)
        await live.settle(5)
        nodes = await live.nodes()

        assert nodes["p1"] == "n1"
        assert all(nodes.values())
        assert live.scheduler.counters.conflicts == 1


async def test_a_part_that_we_bound_ourselves_is_let_go_at_once_where_a_rival_took_the_room() -> None:
    heard = Heard()

    async def rival(method: Trouble, pod_name: str, node: str, **named: Any) -> Any:
        if pod_name == "p1":
            live.api.trouble.clear()
            await live.cluster.delete(PODS, "p1", namespace="default")
            await live.create(
                *(
                    pod(f"x{i}", gpus=4, on=f"n{i}", scheduler="other")
                    for i in range(6)
                    if f"n{i}" not in taken
                )
            )
            await live.create(pod("p3", "g", gpus=4))
        else:
            taken.add(node)
        return await method(pod_name, node, **named)

    taken: set[str] = set()
    async with troubled(racks(), Settings(connections=1), heard) as live:
        live.api.trouble["bind"] = rival
        await live.create(
            pod_group("g", minMember=2, topologyConstraint=together("rack")),
            *(pod(f"p{i}", "g", gpus=4) for i in range(2)),
        )
        await live.settle(5)
        page = await live.cluster.list(PODS)
        (part,) = (each for each in page.items if each["metadata"]["name"] == "p0")

        assert "deletionTimestamp" in part["metadata"]
        assert ("released", "g") in heard.said


async def test_an_api_server_that_goes_and_comes_back_is_survived() -> None:
    gone = [False]

    async def away(method: Trouble, *given: Any, **named: Any) -> Any:
        if gone[0]:
            raise UnavailableError("Nobody is there.")
        return await method(*given, **named)

    async def broken_watch(method: Trouble, *given: Any, **named: Any) -> AsyncGenerator[Any, None]:
        if gone[0]:
            raise UnavailableError("Nobody is there.")
        async for event in method(*given, **named):
            if gone[0]:
                raise UnavailableError("The watch was lost.")
            yield event

    async with troubled(racks()) as live:
        live.api.trouble |= dict.fromkeys(("bind", "get", "list", "evict"), away)
        live.api.trouble["watch"] = broken_watch
        await live.create(pod("before"))
        await live.settle(2)
        gone[0] = True
        await live.create(*GANG)
        await live.cluster.delete(NODES, "n0")
        await live.settle(60)
        gone[0] = False
        await live.settle(60)
        nodes = await live.nodes()

        assert all(nodes.values())
        assert "n0" not in {nodes[f"p{i}"] for i in range(3)}


async def test_nothing_is_bound_while_changes_of_nodes_may_have_been_missed() -> None:
    lost = asyncio.Event()

    async def lossy(method: Trouble, resource: Any, *given: Any, **named: Any) -> AsyncGenerator[Any, None]:
        if resource != NODES:
            async for event in method(resource, *given, **named):
                yield event
            return
        if lost.is_set():
            raise UnavailableError("Nobody is there.")
        watch = method(resource, *given, **named)
        while True:
            coming, losing = asyncio.ensure_future(anext(watch)), asyncio.ensure_future(lost.wait())
            await asyncio.wait({coming, losing}, return_when=asyncio.FIRST_COMPLETED)
            if lost.is_set():
                coming.cancel()
                raise UnavailableError("The watch was lost.")
            losing.cancel()
            yield coming.result()

    live = TroubledLiving()
    live.api.trouble["watch"] = lossy
    work = asyncio.create_task(live.scheduler.run())
    await live.settle()
    await live.create(*racks())
    await live.settle()
    lost.set()
    await live.settle()
    await live.create(*GANG)
    await live.settle(5)
    assert not any((await live.nodes()).values())

    lost.clear()
    await live.settle(60)

    assert all((await live.nodes()).values())
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await live.cluster.close()


async def test_a_unit_that_breaks_the_scheduler_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(engine: Any, cluster: Any, workload: Any, accounts: Any, **more: Any) -> Verdict:
        if workload.object.name == "poison":
            raise ZeroDivisionError("poison")
        return decide(engine, cluster, workload, accounts, **more)

    monkeypatch.setattr(core, "decide", broken)
    heard = Heard()
    async with troubled([*racks(), pod("poison"), pod("p"), pod("q")], reporter=heard) as live:
        await live.settle(2)
        nodes = await live.nodes()

        assert (nodes["poison"], bool(nodes["p"]), bool(nodes["q"])) == ("", True, True)
        assert heard.problems["poison"] == [
            finding(scheduler.NOT_UNDERSTOOD, kind="Pod", error="ZeroDivisionError: poison")
        ]


async def test_who_is_told_to_stop_finishes_what_is_under_way_and_decides_nothing_more() -> None:
    release = asyncio.Event()

    async def slow(method: Trouble, *given: Any, **named: Any) -> Any:
        await release.wait()
        return await method(*given, **named)

    live = TroubledLiving()
    work = asyncio.create_task(live.scheduler.run())
    await live.settle()
    live.api.trouble["bind"] = slow
    await live.create(*racks(), *GANG)
    await live.settle(1)
    live.scheduler.stop()
    await live.create(pod("late"))
    await live.settle(1)
    assert not work.done()
    release.set()
    await live.settle(2)
    nodes = await live.nodes()
    await live.cluster.close()

    assert work.done()
    assert nodes.pop("late") == ""
    assert all(nodes.values())


async def test_who_is_told_to_stop_does_not_wait_for_ever() -> None:
    async def hang(*_: Any, **__: Any) -> Any:
        await asyncio.get_running_loop().create_future()

    live = TroubledLiving()
    work = asyncio.create_task(live.scheduler.run())
    await live.settle()
    live.api.trouble |= {"bind": hang, "get": hang}
    await live.create(*racks(), *GANG)
    await live.settle(1)
    live.scheduler.stop()
    await live.settle(15)
    await live.cluster.close()

    assert work.done()


async def test_a_lease_lost_in_the_middle_of_a_binding_hands_the_gang_over() -> None:
    late: list[asyncio.Task[None]] = []

    async def slow(method: Trouble, *given: Any, **named: Any) -> Any:
        """One binding arrives only when nobody waits for it any more."""
        if given[0] != "p1":
            return await method(*given, **named)

        async def arrive() -> None:
            await live.clock.sleep(12.0)
            await method(*given, **named)

        late.append(asyncio.create_task(arrive()))
        return await asyncio.get_running_loop().create_future()

    async def cut_off(*_: Any, **__: Any) -> Any:
        raise UnavailableError("The network is parted.")

    def holding(api: Any, identity: str, work: Callable[[], Any]) -> asyncio.Task[None]:
        lease = Lease(
            api, "scheduler", namespace="default", identity=identity, random=Random(3), clock=live.clock
        )
        return asyncio.create_task(lease.hold(work))

    live = TroubledLiving()
    heir = Scheduler(live.cluster, random=Random(4), clock=live.clock)
    first = holding(live.api, "first", live.scheduler.run)
    await live.settle()
    second = holding(live.cluster, "second", heir.run)
    live.api.trouble["bind"] = slow
    await live.create(*racks(), *GANG)
    await live.settle(1)
    live.api.trouble |= dict.fromkeys(("create", "get", "patch", "replace"), cut_off)
    assert sorted((await live.nodes()).values()).count("") == 1
    await live.settle(60)
    nodes = await live.nodes()
    for task in (first, second):
        task.cancel()
    ended = await asyncio.gather(first, second, *late, return_exceptions=True)
    await live.cluster.close()

    assert isinstance(ended[0], LostLeaseError)
    assert all(nodes.values())
    assert len({rack_of(each) for each in nodes.values()}) == 1
