"""What the scheduler does when watches replay old events, or fall silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.mirror import SILENCE
from closeknit.kube.port import Change, DeleteOptions
from closeknit.kube.resources import NODES, PODS, Resource
from tests.unit.scheduler.living import Living
from tests.unit.scheduler.objects import GPU, node, pod

NOW = DeleteOptions(grace_period=0)
MOST_REPLAYED = 200


class Disturbed:
    """Passes everything on to a cluster, and disturbs its watches."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster
        self.replays = False
        """Whether every event of a pod is followed by all that were before it, in the wrong order."""
        self.silenced: dict[Resource, asyncio.Event] = {}
        """By resource, whether its watches that are open give nothing more."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def silence(self, resource: Resource) -> None:
        """Let the watches that are open give nothing more, and not end."""
        self.silenced.pop(resource, asyncio.Event()).set()

    async def watch(self, resource: Resource, *given: Any, **named: Any) -> AsyncGenerator[Any, None]:
        silenced = self.silenced.setdefault(resource, asyncio.Event())
        before: list[Any] = []
        async with aclosing(self._cluster.watch(resource, *given, **named)) as events:
            async for event in events:
                if silenced.is_set():
                    await asyncio.get_running_loop().create_future()
                yield event
                if self.replays and resource == PODS and isinstance(event, Change):
                    for old in reversed(before):
                        yield old
                before = [*before, event][-MOST_REPLAYED:]


@asynccontextmanager
async def disturbed(*objects: dict[str, Any]) -> AsyncIterator[tuple[Living, Disturbed]]:
    """A scheduler at work on a cluster with these objects, through disturbed watches."""
    made = Living()
    api = Disturbed(made.cluster)
    made.scheduler = made.new_scheduler(api)
    await made.create(*objects)
    work = asyncio.create_task(made.scheduler.run())
    try:
        await made.settle()
        yield made, api
        if work.done():
            work.result()
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await made.cluster.close()


async def gpus_used(living: Living) -> dict[str, int]:
    """By node, the GPUs that its pods request."""
    used: dict[str, int] = {}
    for each in (await living.cluster.list(PODS)).items:
        if on := each["spec"].get("nodeName"):
            requests = each["spec"]["containers"][0]["resources"]["requests"]
            used[on] = used.get(on, 0) + int(requests[GPU])
    return used


async def test_old_events_of_pods_overcommit_no_node() -> None:
    async with disturbed(node("n1", 2), node("n2", 2)) as (living, api):
        api.replays = True
        for number, on in enumerate(("n1", "n2")):
            await living.create(pod(f"other{number}", scheduler="other"))
            await living.cluster.bind(f"other{number}", on, namespace="default")
        for number in range(6):
            await living.create(pod(f"p{number}"))
            await living.settle(2)
        assert await gpus_used(living) == {"n1": 2, "n2": 2}


async def test_old_events_of_pods_that_are_gone_take_no_capacity() -> None:
    async with disturbed(node("n1", 2)) as (living, api):
        api.replays = True
        for number in range(6):
            await living.create(pod(f"p{number}", gpus=2))
            await living.settle(2)
            assert (await living.nodes())[f"p{number}"] == "n1"
            await living.cluster.delete(PODS, f"p{number}", namespace="default", options=NOW)
            await living.settle(1)


async def test_a_silent_watch_of_pods_stops_the_scheduler_no_longer_than_its_limit() -> None:
    async with disturbed(node("n1", 2)) as (living, api):
        api.silence(PODS)
        await living.create(pod("a"))
        await living.settle(0.8 * SILENCE)
        assert await living.nodes() == {"a": ""}
        await living.settle(0.2 * SILENCE + 5)
        assert await living.nodes() == {"a": "n1"}


async def test_a_silent_watch_of_nodes_is_noticed_within_its_limit() -> None:
    async with disturbed(node("n1", 2)) as (living, api):
        api.silence(NODES)
        await living.create(node("n2", 4))
        await living.create(pod("a", gpus=4))
        await living.settle(SILENCE + 5)
        assert await living.nodes() == {"a": "n2"}
