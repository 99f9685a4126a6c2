"""What is done to a cluster and timed, whichever cluster it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import islice
from typing import Any, TypeAlias

from bench.kube.shapes import NAMESPACE, LightPod
from closeknit.kube.port import Change, KubernetesApi, Selection
from closeknit.kube.resources import NAMESPACES, PODS, Resource

WORKERS = 64


Clock: TypeAlias = Callable[[], float]


async def timed(work: Awaitable[object], clock: Clock = time.perf_counter) -> float:
    """Seconds that it took."""
    begun = clock()
    await work
    return clock() - begun


async def each(items: Iterable[Any], act: Callable[[Any], Awaitable[object]], workers: int = WORKERS) -> None:
    """Do something to every item, so many at a time."""
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await act(item)

    await asyncio.gather(*(work() for _ in range(workers)))


async def fill(
    api: KubernetesApi,
    resource: Resource,
    objects: Iterable[Mapping[str, Any]],
    clock: Clock = time.perf_counter,
) -> float:
    """Make objects; seconds, without those that it takes to think the objects up."""
    seconds = 0.0
    waiting = iter(objects)
    while share := list(islice(waiting, 1000)):
        seconds += await timed(each(share, lambda obj: api.create(resource, obj)), clock)
    return seconds


async def bind(api: KubernetesApi, pods: Sequence[str], node: str, clock: Clock = time.perf_counter) -> float:
    """Put pods on a node; seconds."""
    return await timed(each(pods, lambda pod: api.bind(pod, node, namespace=NAMESPACE)), clock)


async def prepare(api: KubernetesApi) -> None:
    """Make the namespace."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await api.create(NAMESPACES, body)


@asynccontextmanager
async def watchers(
    api: KubernetesApi, number: int, version: str
) -> AsyncIterator[Callable[[int], Awaitable[None]]]:
    """Watchers of all pods; the block gets a function that waits until each has seen so many changes."""
    seen = [0] * number
    moved = asyncio.Event()

    async def follow(index: int) -> None:
        watch = api.watch(PODS, Selection(namespace=NAMESPACE), resource_version=version, into=LightPod)
        async with aclosing(watch) as events:
            async for event in events:
                if isinstance(event, Change):
                    seen[index] += 1
                    moved.set()

    async def until(wanted: int) -> None:
        while min(seen) < wanted:
            moved.clear()
            await moved.wait()

    tasks = [asyncio.create_task(follow(index)) for index in range(number)]
    try:
        yield until
        for task in tasks:
            assert not task.done(), "A watcher fell behind."
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
