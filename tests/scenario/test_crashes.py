"""A crash or a lost answer at any write of a gang's life leaves nothing half done."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.loading import load
from closeknit.kube.port import DeleteOptions, KubernetesApi
from closeknit.kube.resources import NODES, PODS, Resource
from closeknit.scheduler.loop import Scheduler
from closeknit.testing.auditor import Cluster, audit
from closeknit.testing.clock import HandClock
from closeknit.testing.faulty_api import Fault, FaultyApi
from tests.unit.scheduler.living import DEFINITIONS
from tests.unit.scheduler.objects import node, pod, pod_group, together, topology

POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)
AT_ONCE = DeleteOptions(grace_period=0)


class Life:
    """Gangs that come, grow, lose nodes and go, while a scheduler may die and another takes over."""

    def __init__(self, point: int | None, fault: Fault) -> None:
        self.clock = HandClock()
        self.cluster = EmbeddedCluster(DEFINITIONS, clock=self.clock, dice=Random(1))
        self.bound: dict[str, list[str]] = {}
        self._counting(self.cluster)
        self.api = FaultyApi(self.cluster, point, fault)
        self.restarts = 0
        self._work = asyncio.create_task(self._scheduler(self.api))
        self._undertaker = asyncio.create_task(self._replace())

    def _counting(self, cluster: EmbeddedCluster) -> None:
        bind = cluster.bind

        async def counted(pod: str, node: str, **named: Any) -> None:
            await bind(pod, node, **named)
            self.bound.setdefault(named["uid"], []).append(node)

        cluster.bind = counted  # type: ignore[method-assign]

    async def _scheduler(self, api: KubernetesApi) -> None:
        await Scheduler(api, random=Random(2), clock=self.clock).run()

    async def _replace(self) -> None:
        await self.api.killed.wait()
        self._work.cancel()
        await asyncio.gather(self._work, return_exceptions=True)
        self.restarts += 1
        self._work = asyncio.create_task(self._scheduler(self.cluster))

    async def end(self) -> None:
        for task in (self._undertaker, self._work):
            if task.done() and not task.cancelled():
                task.result()
            task.cancel()
        await asyncio.gather(self._work, self._undertaker, return_exceptions=True)
        await self.cluster.close()

    async def create(self, *objects: dict[str, Any]) -> None:
        refused = await load(self.cluster, list(objects))
        assert not refused, refused

    async def settle(self, seconds: float = 3.0) -> None:
        for _ in range(int(seconds / 0.25)):
            await self.clock.advance(0.25)

    async def nodes(self) -> dict[str, str]:
        page = await self.cluster.list(PODS)
        return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in page.items}

    async def check(self, what: str) -> None:
        """Nothing is broken at this moment."""
        seen = Cluster(
            *[(await self.cluster.list(each)).items for each in (NODES, PODS, POD_GROUPS, TOPOLOGIES)]
        )
        assert audit(seen) == [], what
        assert all(len(nodes) == 1 for nodes in self.bound.values()), what

    async def live(self) -> None:
        """Everything that can happen to gangs, with a check after each."""
        nodes = (node(f"n{i}", 4, zone="z", rack=f"r{i // 2}") for i in range(6))
        await self.create(topology("zone", "rack"), *nodes)
        await self.create(
            pod_group("a", minMember=3, topologyConstraint=together("rack")),
            *(pod(f"a{i}", "a", gpus=2) for i in range(3)),
            pod("single", gpus=0),
        )
        await self.settle()
        await self.check("a gang and a lone pod came")
        assert all((await self.nodes()).values())

        rack = {"topologyConstraint": together("rack"), "minMember": 2}
        subgroups = [
            {"name": "both", "minSubGroup": 2, "topologyConstraint": together("zone")},
            *({"name": name, "parent": "both", **rack} for name in ("left", "right")),
        ]
        await self.create(
            pod_group("b", subGroups=subgroups, minSubGroup=1),
            *(pod(f"{name}{i}", "b", gpus=3, subgroup=name) for name in ("left", "right") for i in range(2)),
        )
        await self.settle()
        await self.check("a gang with subgroups came")
        assert all((await self.nodes()).values())

        await self.create(pod("a3", "a", gpus=2))
        await self.settle()
        await self.check("the first gang grew")
        assert all((await self.nodes()).values())

        lost = (await self.nodes())["a0"]
        left = [name for name, there in (await self.nodes()).items() if there == lost]
        await self.cluster.delete(NODES, lost)
        for name in left:
            await self.cluster.delete(PODS, name, namespace="default", options=AT_ONCE)
        await self.settle(1)
        await self.create(node(lost, 4, zone="z", rack=f"r{int(lost[1:]) // 2}"))
        await self.create(*(pod(f"{name}-again", "a", gpus=2) for name in left if name.startswith("a")))
        await self.settle()
        await self.check("a node was lost, and its pods came again")
        assert all((await self.nodes()).values())

        await self.create(
            pod_group("c", minMember=2, topologyConstraint=together("rack")),
            *(pod(f"c{i}", "c", gpus=4) for i in range(2)),
        )
        await self.settle(1)
        for name in ("left0", "left1", "right0", "right1"):
            await self.cluster.delete(PODS, name, namespace="default", options=AT_ONCE)
        await self.settle(15)
        await self.check("a gang waited until another one went")
        assert all((await self.nodes()).values())

        await self.cluster.delete(PODS, "c0", namespace="default", options=AT_ONCE)
        # Who takes over from a dead scheduler has patience of its own.
        await self.settle(150)
        await self.check("a gang lost a pod for good and was released")
        left_over = await self.cluster.get(PODS, "c1", namespace="default")
        assert "deletionTimestamp" in left_over["metadata"]


@asynccontextmanager
async def life(point: int | None = None, fault: Fault = Fault.UNSENT) -> AsyncIterator[Life]:
    made = Life(point, fault)
    try:
        yield made
    finally:
        await made.end()


async def points() -> list[str]:
    """Every write of an undisturbed life."""
    async with life() as undisturbed:
        await undisturbed.live()
        return undisturbed.api.writes


async def test_an_undisturbed_life() -> None:
    writes = await points()

    assert len([each for each in writes if each.startswith("bind")]) >= 13
    assert [each for each in writes if each.startswith("evict")] == ["evict c1"]


async def run_all(points: list[int], faults: list[Fault]) -> int:
    runs = 0
    for point in points:
        for fault in faults:
            async with life(point, fault) as disturbed:
                await disturbed.live()
                died = fault in (Fault.KILLED_AFTER, Fault.KILLED_BEFORE)
                assert disturbed.restarts == died, (point, fault)
            runs += 1
    return runs


@pytest.mark.parametrize("fault", list(Fault))
async def test_a_fault_at_some_writes_leaves_nothing_half_done(fault: Fault) -> None:
    await run_all([1, 5, 9], [fault])


@pytest.mark.slow
async def test_a_fault_at_every_write_leaves_nothing_half_done(capsys: pytest.CaptureFixture[str]) -> None:
    number = len(await points())
    runs = await run_all(list(range(number)), list(Fault))

    with capsys.disabled():
        sys.stdout.write(f"\n{number} points, {runs} runs\n")
    assert runs == number * len(Fault)
