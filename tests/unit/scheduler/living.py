"""A scheduler that works on an embedded cluster, in a time that tests move."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from closeknit.apis.core_v1 import Pod
from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.loading import load
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import PODS
from closeknit.scheduler.loop import Scheduler
from closeknit.scheduler.reporter import Reporter
from closeknit.scheduler.settings import Settings
from closeknit.testing.clock import HandClock

DEFINITIONS = [one.written() for family in FAMILIES.values() for one in family]


class Living:
    """A cluster and the scheduler that looks after it."""

    def __init__(self, settings: Settings | None = None, reporter: Reporter | None = None) -> None:
        self.clock = HandClock()
        self.cluster = EmbeddedCluster(DEFINITIONS, clock=self.clock, dice=Random(1))
        self.settings = settings or Settings()
        self.reporter = reporter
        self.scheduler = self.new_scheduler(self.cluster)

    def new_scheduler(self, api: KubernetesApi) -> Scheduler:
        return Scheduler(api, self.settings, random=Random(2), reporter=self.reporter, clock=self.clock)

    async def create(self, *objects: dict[str, Any]) -> None:
        refused = await load(self.cluster, list(objects))
        assert not refused, refused

    async def settle(self, seconds: float = 1.0) -> None:
        """Let time pass, a little at a time."""
        for _ in range(max(int(seconds / 0.25), 1)):
            await self.clock.advance(0.25)

    async def nodes(self) -> dict[str, str]:
        """The node of every pod; empty for one that waits."""
        page = await self.cluster.list(PODS, into=Pod)
        return {pod.metadata.name: pod.spec.node_name for pod in page.items}


@asynccontextmanager
async def living(
    objects: Iterable[dict[str, Any]] = (), settings: Settings | None = None, reporter: Reporter | None = None
) -> AsyncIterator[Living]:
    """A scheduler at work on a cluster with these objects."""
    made = Living(settings, reporter)
    await made.create(*objects)
    work = asyncio.create_task(made.scheduler.run())
    try:
        await made.settle()
        yield made
        if work.done():
            work.result()
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await made.cluster.close()
