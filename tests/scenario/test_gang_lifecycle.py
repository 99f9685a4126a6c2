"""Gangs that lose pods, from what an API server shows: conditions, events, and which pods are left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any, cast

import structlog

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch
from closeknit.kube.resources import EVENTS, NODES, PODS, Resource
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.testing.clock import HandClock
from tests.scenario.bound import BY_KIND, DEFINITIONS, POD_GROUPS
from tests.unit.scheduler.objects import node, pod, pod_group

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", subresources=("status",))
AT_ONCE = DeleteOptions(grace_period=0)
STALE_FOR = 20.0
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


class World:
    """An embedded cluster in virtual time, and a scheduler that can be killed."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.cluster = EmbeddedCluster(DEFINITIONS, clock=self.clock, dice=Random(1))
        self._work: asyncio.Task[None] | None = None
        self.slow: set[str] = set()
        """Pods that do not end although their deletion was requested."""

    def start(self) -> None:
        """Start a scheduler."""
        instance = Instance(
            cast("KubernetesApi", self.cluster),
            Settings(),
            identity="lifecycle",
            log=structlog.wrap_logger(structlog.ReturnLogger()),
            random=Random(1),
            clock=self.clock,
        )
        self._work = asyncio.create_task(instance.run())

    async def kill(self) -> None:
        """End the scheduler, whatever it is at."""
        if (work := self._work) is not None:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def settle(self, seconds: float = 2.0) -> None:
        """Let time pass; pods that are bound become ready, and those whose deletion was requested go."""
        for _ in range(int(seconds / 0.25)):
            await self.clock.advance(0.25)
            for each in (await self.cluster.list(PODS)).items:
                name = each["metadata"]["name"]
                if "deletionTimestamp" in each["metadata"]:
                    if name not in self.slow:
                        await self.delete(name)
                elif each["spec"].get("nodeName") and (each.get("status") or {}).get("phase") == "Pending":
                    await self.cluster.patch(
                        PODS, name, MergePatch({"status": READY}), namespace="default", subresource="status"
                    )

    async def create(self, *objects: dict[str, Any]) -> None:
        """Create objects."""
        for each in objects:
            metadata = {key: value for key, value in each["metadata"].items() if key != "uid"}
            await self.cluster.create(BY_KIND[each["kind"]], {**each, "metadata": metadata})

    async def delete(self, name: str) -> None:
        """Delete a pod at once."""
        with suppress(NotFoundError):
            await self.cluster.delete(PODS, name, namespace="default", options=AT_ONCE)

    async def condition(self) -> tuple[str, str, str]:
        """Status, reason and message of the condition Scheduled."""
        group = await self.cluster.get(POD_GROUPS, "g", namespace="default")
        conditions = group["status"]["conditions"]
        (found,) = (each for each in conditions if each["type"] == "Scheduled")
        return found["status"], found["reason"], found["message"]

    async def reason(self) -> str:
        """The reason of the condition Scheduled."""
        return (await self.condition())[1]

    async def events(self) -> list[tuple[str, str]]:
        """The types and reasons of the PodGroup's events, in the order in which they were first recorded."""
        found = sorted((await self.cluster.list(EVENTS)).items, key=lambda each: each["eventTime"])
        return [(each["type"], each["reason"]) for each in found if each["regarding"]["name"] == "g"]

    async def nodes(self) -> dict[str, str]:
        """The node of every pod; empty for one that waits."""
        return {
            each["metadata"]["name"]: each["spec"].get("nodeName", "")
            for each in (await self.cluster.list(PODS)).items
        }

    def date(self, seconds: float) -> str:
        """The date in so many seconds, as a condition's message holds it."""
        return str((self.clock.now() + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()[:17])


@asynccontextmanager
async def running_gang(
    pods: int = 5, *, grace: str = "20s", nodes: int = 5, **spec: Any
) -> AsyncIterator[World]:
    """A gang of which all pods run, one on each node."""
    world = World()
    try:
        await world.create(*(node(f"n{i}", 1) for i in range(nodes)))
        members = [labelled(pod(f"p{i}", "g")) for i in range(pods)]
        await world.create(pod_group("g", minMember=pods, stalenessGracePeriod=grace, **spec), *members)
        world.start()
        await world.settle(5)
        assert all((await world.nodes()).values())
        assert (await world.condition())[:2] == ("True", "Scheduled")
        yield world
    finally:
        await world.kill()
        await world.cluster.close()


def labelled(made: dict[str, Any]) -> dict[str, Any]:
    made["metadata"]["labels"] = {"app": "g"}
    return made


def budget(**spec: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {**spec, "selector": {"matchLabels": {"app": "g"}}},
    }


def date_in(message: str) -> datetime:
    """The only date in a message."""
    (found,) = (word for word in message.split() if word.startswith("20") and word.endswith("Z"))
    return datetime.fromisoformat(found)


async def test_a_complete_gang_that_loses_a_pod_is_announced_to_be_evicted_and_then_evicted() -> None:
    """S9: only a Normal NotReady event came before, and the reason was that of a gang that never ran."""
    async with running_gang() as world:
        lost_at = world.clock.now()
        await world.delete("p0")
        await world.settle(5)

        status, reason, message = await world.condition()
        assert (status, reason) == ("False", "Stale")
        assert abs(date_in(message) - lost_at - timedelta(seconds=STALE_FOR)) <= timedelta(seconds=1)
        assert ("Warning", "Stale") in await world.events()
        assert len(await world.nodes()) == 4

        await world.settle(STALE_FOR - 1)
        assert await world.nodes() == {}
        assert ("Warning", "StaleGangEvicted") in await world.events()
        assert "Released" not in [reason for _, reason in await world.events()]


async def test_a_gang_that_gets_its_replacement_in_time_is_complete_again() -> None:
    async with running_gang() as world:
        await world.delete("p0")
        await world.settle(STALE_FOR - 5)
        await world.create(labelled(pod("r0", "g")))
        await world.settle(STALE_FOR)

        assert all((await world.nodes()).values())
        assert len(await world.nodes()) == 5
        assert (await world.condition())[:2] == ("True", "Scheduled")


async def test_a_replacement_without_room_is_unschedulable_and_the_eviction_is_announced_with_it() -> None:
    async with running_gang() as world:
        await world.cluster.delete(NODES, "n0")
        on_lost = next(name for name, on in (await world.nodes()).items() if on == "n0")
        await world.delete(on_lost)
        await world.create(labelled(pod("r0", "g")))
        await world.settle(5)

        _, reason, message = await world.condition()
        assert reason == "Unschedulable"
        assert date_in(message) > world.clock.now()
        group = await world.cluster.get(POD_GROUPS, "g", namespace="default")
        (here,) = group["status"]["schedulingConditions"]
        assert here["reasons"][0]["reason"] == "Stale"

        await world.settle(STALE_FOR)
        assert {name: on for name, on in (await world.nodes()).items() if on} == {}


async def test_a_gang_is_not_evicted_while_its_replacement_is_on_its_way() -> None:
    async with running_gang(grace="20s") as world:
        await world.delete("p0")
        await world.settle(STALE_FOR - 1)
        # It is bound after the grace period has ended.
        for _ in range(8):
            await world.clock.advance(0.1)
        await world.create(labelled(pod("r0", "g")))
        await world.settle(10)

        assert len(await world.nodes()) == 5
        assert all((await world.nodes()).values())


async def test_a_gang_is_not_evicted_while_others_are_evicted_for_its_replacement() -> None:
    async with running_gang(2, nodes=2, priorityClassName="build-preemptible") as world:
        lost = (await world.nodes())["p1"]
        await world.delete("p1")
        low = pod_group("low", minMember=1, priorityClassName="train")
        await world.create(low, pod("low-0", "low", on=lost))
        world.slow.add("low-0")
        await world.settle(STALE_FOR - 5)
        await world.create(labelled(pod("r1", "g")))
        await world.settle(20)
        leaving = await world.cluster.get(PODS, "low-0", namespace="default")
        assert "deletionTimestamp" in leaving["metadata"]
        assert set(await world.nodes()) == {"p0", "r1", "low-0"}

        world.slow.clear()
        await world.settle(10)
        assert all((await world.nodes()).values())
        assert set(await world.nodes()) == {"p0", "r1"}


async def test_a_stale_gang_stays_for_ever_if_its_grace_period_is_negative() -> None:
    async with running_gang(grace="-1s") as world:
        await world.delete("p0")
        await world.settle(200)

        assert len(await world.nodes()) == 4
        assert await world.reason() == "Stale"


async def test_a_gang_that_ran_is_stale_to_a_scheduler_that_starts_afterwards() -> None:
    async with running_gang() as world:
        await world.kill()
        await world.delete("p0")
        world.start()
        await world.settle(5)
        assert await world.reason() == "Stale"

        await world.kill()
        world.start()
        await world.settle(5)
        assert await world.reason() == "Stale"
        await world.settle(STALE_FOR)
        assert ("Warning", "StaleGangEvicted") in await world.events()


async def test_a_gang_whose_eviction_a_budget_forbids_is_completed_as_soon_as_its_replacement_comes() -> None:
    """S3: evictions were requested for ever, and meanwhile the gang was not decided."""
    async with running_gang() as world:
        await world.cluster.create(BUDGETS, budget(minAvailable=4))
        await world.delete("p0")
        # While an attempt is made, the condition still has the time of that attempt; here the next is to come.
        await world.settle(STALE_FOR + 28)
        assert len(await world.nodes()) == 4
        _, reason, message = await world.condition()
        assert reason == "Stale"
        assert date_in(message) > world.clock.now()

        await world.create(labelled(pod("r0", "g")))
        await world.settle(15)
        assert len(await world.nodes()) == 5
        assert all((await world.nodes()).values())
        assert (await world.condition())[:2] == ("True", "Scheduled")


async def test_the_eviction_of_a_stale_gang_goes_on_until_all_of_its_pods_have_gone() -> None:
    async with running_gang() as world:
        await world.cluster.create(BUDGETS, budget(minAvailable=3))
        await world.delete("p0")
        await world.settle(STALE_FOR + 5)
        # The budget allows one eviction, and the gang is then below what it needs.
        assert len(await world.nodes()) == 3
        await world.settle(15)
        assert await world.reason() == "Stale"
        assert len(await world.nodes()) == 3

        await world.cluster.delete(BUDGETS, "b", namespace="default")
        await world.settle(60)
        assert await world.nodes() == {}
