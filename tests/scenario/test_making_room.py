"""The scheduler on an embedded cluster: who is displaced, and for whom a place is kept."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import Any, cast

import pytest
import structlog

from closeknit.hub.workload import Workload
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DeleteOptions, KubernetesApi
from closeknit.kube.resources import PODS
from closeknit.scheduler.deciding import AnyVerdict, Verdict
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.reporter import Silence
from closeknit.scheduler.settings import Settings
from tests.scenario.bound import POD_GROUPS, Json
from tests.scenario.bound import outcome as outcome_of
from tests.unit.scheduler.living import Living, living
from tests.unit.scheduler.objects import node, pod, pod_group, together, topology


def racks(number: int = 2) -> list[dict[str, Any]]:
    """Racks of two nodes of four GPUs each."""
    return [topology("rack"), *(node(f"n{i}", 4, rack=f"r{i // 2}") for i in range(2 * number))]


def priority(name: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def gang(name: str, pods: int, gpus: int = 4, **spec: Any) -> list[dict[str, Any]]:
    """A gang that requires a rack."""
    made = pod_group(name, minMember=pods, topologyConstraint=together("rack"), **spec)
    return [made, *(pod(f"{name}-{i}", name, gpus=gpus) for i in range(pods))]


class Heard(Silence):
    """Who was displaced for whom."""

    def __init__(self) -> None:
        self.displaced_for: list[tuple[str, str]] = []

    def displaced(self, workload: Workload, by: Workload) -> None:
        self.displaced_for.append((workload.object.name, by.object.name))


async def bound(live: Living) -> set[str]:
    """The gangs of which pods have a node."""
    return {name.rpartition("-")[0] for name, on in (await live.nodes()).items() if on}


async def gone(live: Living, name: str) -> None:
    """A pod has ended on its node."""
    await live.cluster.delete(PODS, name, namespace="default", options=DeleteOptions(grace_period=0))


async def test_a_gang_of_higher_priority_displaces_one_whole_gang_and_gets_its_rack() -> None:
    heard = Heard()
    low = [*gang("old", 2), *gang("young", 1), *gang("other", 1)]
    async with living([*racks(), priority("high", 60), *low], reporter=heard) as live:
        assert await bound(live) == {"old", "young", "other"}
        await live.create(*gang("urgent", 2, priorityClassName="high"))
        await live.settle(5)
        assert heard.displaced_for == [("old", "urgent")]

        # Nobody else has the place that they leave, and nobody else is displaced while they leave.
        await live.create(*gang("late", 1))
        for i in range(2):
            await live.settle(3)
            await gone(live, f"old-{i}")
        await live.settle(12)
        assert heard.displaced_for == [("old", "urgent")]
        assert await bound(live) == {"urgent", "young", "other"}


async def test_who_waits_beside_room_that_is_kept_hears_for_whom() -> None:
    told: dict[str, Verdict] = {}

    class Told(Silence):
        def waiting(self, verdict: AnyVerdict, *_: object) -> None:
            assert isinstance(verdict, Verdict)
            told[verdict.workload.object.name] = verdict

    async with living([*racks(1), *gang("old", 1)], reporter=Told()) as live:
        await live.create(*gang("large", 2))
        await live.settle(3)
        await live.create(*gang("small", 1))
        await live.settle(3)
        assert told["large"].kept_for == ()
        assert told["small"].kept_for == ("default/large",)


async def test_a_gang_that_is_made_again_at_once_does_not_keep_the_one_it_was_displaced_for_asleep() -> None:
    heard = Heard()
    old = gang("old", 2)
    async with living([*racks(1), priority("high", 60), *old], reporter=heard) as live:
        await live.create(*gang("urgent", 2, priorityClassName="high"))
        while not heard.displaced_for:
            await live.clock.advance(0.01)
        # Both ask for the same. The scheduler sees all of this in one look, while the urgent one backs off.
        for i in range(2):
            await gone(live, f"old-{i}")
        await live.cluster.delete(POD_GROUPS, "old", namespace="default")
        await live.create(*old)
        await live.settle(15)
        assert await bound(live) == {"urgent"}


class Watched:
    """Passes calls on; at every eviction it notes what the API says of the gang that makes others go."""

    def __init__(self, api: KubernetesApi, *, dies: bool = False) -> None:
        self._api = api
        self._dies = dies
        """Whether nothing is answered any more once the plan is stored."""
        self.dead = asyncio.Event()
        self.reports_pass = asyncio.Event()
        """Until this is set, no report is written."""
        self.reports_pass.set()
        self.evicted: list[tuple[str, str, Json]] = []
        """Each pod that was told to go, with the message and the outcome that stood there before."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._api, name)
        if name == "watch":
            return method

        async def call(*given: Any, **named: Any) -> Any:
            if self.dead.is_set():
                await asyncio.get_running_loop().create_future()
            if name == "evict":
                self.evicted.append((given[0], *await self._explained()))
            if name == "patch":
                await self.reports_pass.wait()
            answer = await method(*given, **named)
            if self._dies and name == "patch" and named.get("subresource") == "status":
                message, told = await self._explained()
                victims = [victim["workload"] for victim in told.get("plan", {}).get("displaces", ())]
                if victims and message.startswith(victims[0]):
                    self.dead.set()
                    await asyncio.get_running_loop().create_future()
            return answer

        return call

    async def _explained(self) -> tuple[str, Json]:
        found = await self._api.get(POD_GROUPS, "urgent", namespace="default")
        conditions = (found.get("status") or {}).get("conditions") or [{"message": ""}]
        with suppress(NotFoundError):
            return conditions[0]["message"], await outcome_of(self._api, "urgent")
        return conditions[0]["message"], {}


def reporting(live: Living, api: Watched) -> asyncio.Task[None]:
    """A scheduler with its reports, at work."""
    log = structlog.wrap_logger(structlog.ReturnLogger())
    made = Instance(
        cast("KubernetesApi", api), Settings(), identity="i", log=log, random=Random(3), clock=live.clock
    )
    return asyncio.create_task(made.run())


@pytest.mark.parametrize(
    "dies",
    [
        pytest.param(False, id="by who made it"),
        pytest.param(True, id="by the next one, where the first dies in between"),
    ],
)
async def test_a_plan_is_explained_before_it_is_carried_out(*, dies: bool) -> None:
    live = Living()
    api = first = Watched(live.cluster, dies=dies)
    low = [*gang("old", 2), *gang("young", 1), *gang("other", 1)]
    await live.create(*racks(), priority("high", 60), *low)
    work = reporting(live, first)
    await live.settle(2)
    await live.create(*gang("urgent", 2, priorityClassName="high"))
    await live.settle(5)
    if dies:
        assert first.dead.is_set()
        assert first.evicted == []
        await _end(work)
        api = Watched(live.cluster)
        work = reporting(live, api)
        await live.settle(5)
    await _end(work)
    await live.cluster.close()

    assert [name for name, _, _ in api.evicted] == ["old-0", "old-1"]
    for _, message, outcome in api.evicted:
        assert message.startswith("default/old (2 pods) ")
        assert "rack: r0" in message
        assert outcome["plan"] == {"displaces": [{"workload": "default/old", "pods": 2}]}
        assert outcome["status"] == "unplaceable"


async def test_a_plan_that_is_not_explained_is_not_carried_out_and_where_it_is_stale_never() -> None:
    live = Living()
    api = Watched(live.cluster)
    await live.create(*racks(), priority("high", 60), *gang("old", 2), *gang("other", 2))
    work = reporting(live, api)
    await live.settle(2)
    api.reports_pass.clear()
    await live.create(*gang("urgent", 2, priorityClassName="high"))
    await live.settle(3)
    for i in range(2):
        await gone(live, f"old-{i}")
    await live.create(*gang("blocking", 2, priorityClassName="high"))
    await live.settle(3)
    assert api.evicted == []
    api.reports_pass.set()
    await live.settle(5)
    nodes = await live.nodes()
    await _end(work)
    await live.cluster.close()

    assert all(nodes[f"urgent-{i}"] for i in range(2))
    assert {name for name, _, _ in api.evicted} == {"other-0", "other-1"}


async def _end(work: asyncio.Task[None]) -> None:
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def test_a_gang_of_the_same_priority_displaces_nobody() -> None:
    heard = Heard()
    async with living([*racks(1), *gang("first", 2)], reporter=heard) as live:
        await live.create(*gang("second", 2))
        await live.settle(5)

        assert heard.displaced_for == []
        assert await bound(live) == {"first"}


async def test_a_dry_run_displaces_nobody() -> None:
    heard = Heard()
    objects = [*racks(1), priority("high", 60), *(pod(f"p-{i}", gpus=4, on=f"n{i}") for i in range(2))]
    async with living(
        [*objects, *gang("urgent", 2, priorityClassName="high")], Settings(dry_run=True), heard
    ) as live:
        await live.settle(5)

        assert heard.displaced_for == []
        assert set(await live.nodes()) >= {"p-0", "p-1"}


async def test_small_gangs_that_would_delay_the_first_do_not_pass_it() -> None:
    async with living([*racks(1), *gang("busy", 1)]) as live:
        assert await bound(live) == {"busy"}
        await live.create(*gang("large", 2))
        await live.settle(2)
        await live.create(*gang("small", 1))
        await live.settle(5)
        assert await bound(live) == {"busy"}

        await gone(live, "busy-0")
        await live.settle(12)
        assert await bound(live) == {"large"}


async def test_small_gangs_pass_the_first_where_they_do_not_delay_it() -> None:
    # Each rack has one node left, and one rack is enough for the large one.
    async with living([*racks(2), *(pod(f"busy-{i}", gpus=4, on=f"n{i}") for i in (0, 2))]) as live:
        await live.create(*gang("large", 2))
        await live.settle(2)
        await live.create(*gang("small", 1), *gang("more", 1))
        await live.settle(5)
        assert await bound(live) == {"busy", "small"} or await bound(live) == {"busy", "more"}


async def test_a_place_is_no_longer_kept_for_a_gang_that_no_longer_waits() -> None:
    async with living([*racks(1), *gang("busy", 1)]) as live:
        await live.create(*gang("large", 2))
        await live.settle(2)
        await live.create(*gang("small", 1))
        await live.settle(5)
        assert await bound(live) == {"busy"}

        # Without this pod there is nothing to decide about the gang.
        await gone(live, "large-1")
        await live.settle(12)
        assert await bound(live) == {"busy", "small"}
