"""The scheduler on an embedded cluster: who is displaced, and for whom a place is kept."""

from __future__ import annotations

from typing import Any

from closeknit.hub.workload import Workload
from closeknit.kube.port import DeleteOptions
from closeknit.kube.resources import PODS
from closeknit.scheduler.loop import Settings
from closeknit.scheduler.reporter import Silence
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

    def displaced(self, workload: Workload, by: Workload, why: str) -> None:
        assert by.object.name in why
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
