"""What refused writes cost an API server, counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from closeknit.admission.listing import BURST, INTERVAL, SharedLists
from closeknit.admission.requests import Request
from closeknit.admission.reviewer import Reviewer
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.resources import Resource
from tests.scenario.admitted import DEFINITIONS

Json = dict[str, Any]


class CountingApi:
    """A cluster that counts how often each kind is listed."""

    def __init__(self, api: EmbeddedCluster) -> None:
        self._api = api
        self.lists: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    async def list(self, resource: Resource, *given: Any, **named: Any) -> Any:
        self.lists[resource.kind] += 1
        await asyncio.sleep(0)
        return await self._api.list(resource, *given, **named)


@asynccontextmanager
async def reviewing() -> AsyncIterator[tuple[Reviewer, CountingApi]]:
    """A reviewer that follows a cluster without objects."""
    cluster = EmbeddedCluster(DEFINITIONS)
    api = CountingApi(cluster)
    reviewer = Reviewer(api)
    reviewer.resources = {(each.group, each.kind): each for each in await cluster.resources()}
    reviewer.synced = True
    yield reviewer, api
    await cluster.close()


def pod_group(spec: Json) -> Request:
    return Request(
        operation="CREATE",
        group="scheduling.run.ai",
        version="v2alpha2",
        kind="PodGroup",
        namespace="default",
        name="g",
        obj={
            "apiVersion": "scheduling.run.ai/v2alpha2",
            "kind": "PodGroup",
            "metadata": {"name": "g", "namespace": "default"},
            "spec": spec,
        },
    )


UNKNOWN_TOPOLOGY = pod_group(
    {"minMember": 1, "topologyConstraint": {"topology": "none", "requiredTopologyLevel": "x"}}
)


async def test_a_refusal_for_what_an_object_says_of_itself_lists_nothing() -> None:
    async with reviewing() as (reviewer, api):
        found = await reviewer.review("kai", pod_group({"minMember": "many"}))

    assert (found.allowed, api.lists) == (False, Counter())


async def test_a_refusal_for_a_topology_lists_what_topologies_are_made_of_and_queues() -> None:
    async with reviewing() as (reviewer, api):
        found = await reviewer.review("kai", UNKNOWN_TOPOLOGY)

    assert not found.allowed
    assert api.lists == {
        "ClusterTopology": 1,
        "ClusterTopologyBinding": 1,
        "Pool": 1,
        "Queue": 1,
        "Topology": 2,
    }, "Topology is a kind of KAI and of Kueue"


async def test_writes_that_are_refused_at_the_same_time_share_their_lists() -> None:
    async with reviewing() as (reviewer, api):
        reviews = [reviewer.review("kai", UNKNOWN_TOPOLOGY) for _ in range(100)]
        found = await asyncio.gather(*reviews)

    assert not any(each.allowed for each in found)
    assert max(api.lists.values()) <= 2


class SteppedClock:
    """A clock that moves while somebody sleeps."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)

    def monotonic(self) -> float:
        return self.time

    def boottime(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


async def test_lists_of_a_kind_are_spaced_out_after_a_burst() -> None:
    clock, listed = SteppedClock(), Counter[str]()

    async def list_of(kind: str) -> int:
        listed[kind] += 1
        return listed[kind]

    lists = SharedLists(list_of, clock)
    for _ in range(BURST):
        await lists.newer("Topology")
    assert clock.time == 0

    for _ in range(20):
        await lists.newer("Topology")
    assert clock.time == pytest.approx(20 * INTERVAL)
    await lists.newer("Queue")
    assert clock.time == pytest.approx(20 * INTERVAL), "another kind does not wait for it"


async def test_a_list_that_was_begun_before_a_question_does_not_answer_it() -> None:
    begun, released = asyncio.Event(), asyncio.Event()
    versions = iter(range(9))

    async def list_of(_: str) -> int:
        version = next(versions)
        begun.set()
        await released.wait()
        return version

    lists = SharedLists(list_of, SteppedClock())
    first = asyncio.create_task(lists.newer("Topology"))
    await begun.wait()
    later = [asyncio.create_task(lists.newer("Topology")) for _ in range(5)]
    await asyncio.sleep(0)
    released.set()

    assert (await first, await asyncio.gather(*later)) == (0, [1] * 5)


async def test_one_who_gives_up_does_not_take_the_list_from_the_others() -> None:
    released = asyncio.Event()

    async def list_of(_: str) -> str:
        await released.wait()
        return "all"

    lists = SharedLists(list_of, SteppedClock())
    impatient, patient = (asyncio.create_task(lists.newer("Topology")) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    released.set()

    assert await patient == "all"
