"""A scheduler with its reports on an embedded cluster, in a time that tests move."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any, cast

import structlog

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch
from closeknit.kube.resources import EVENTS, NODES, PODS, Resource
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.testing.clock import HandClock
from tests.kit.status_auditor import Seen, audit_status
from tests.scenario.bound import BY_KIND, DEFINITIONS, POD_GROUPS, TOPOLOGIES
from tests.unit.scheduler.objects import node, topology

AT_ONCE = DeleteOptions(grace_period=0)
QUIET = 5.0
"""Seconds within which everything is shown as it is, when nothing happens."""


class Cluster:
    """An embedded cluster and a scheduler with its reports, in a time that tests move."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.api = EmbeddedCluster(DEFINITIONS, clock=self.clock, dice=Random(1))
        self.instance: Instance | None = None
        self._work: asyncio.Task[None] | None = None

    def start(self, api: Any = None) -> None:
        """Let a new scheduler work."""
        instance = self.instance = Instance(
            cast("KubernetesApi", api or self.api),
            Settings(),
            identity="status",
            log=structlog.wrap_logger(structlog.ReturnLogger()),
            random=Random(2),
            clock=self.clock,
        )
        self._work = asyncio.create_task(instance.run())

    async def kill(self) -> None:
        """End the scheduler without a word; what it raised is raised here."""
        work, self._work = self._work, None
        if work is not None:
            if work.done():
                work.result()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def create(self, *objects: dict[str, Any]) -> None:
        for each in objects:
            kept = {key: value for key, value in each["metadata"].items() if key != "uid"}
            await self.api.create(BY_KIND[each["kind"]], {**each, "metadata": kept})

    async def patch(self, resource: Resource, name: str, patch: dict[str, Any], sub: str = "") -> None:
        namespace = "default" if resource.namespaced else ""
        await self.api.patch(resource, name, MergePatch(patch), namespace=namespace, subresource=sub)

    async def delete(self, resource: Resource, name: str) -> None:
        namespace = "default" if resource.namespaced else ""
        await self.api.delete(resource, name, namespace=namespace, options=AT_ONCE)

    async def settle(self, seconds: float = QUIET) -> None:
        for _ in range(int(seconds / 0.25)):
            await self.clock.advance(0.25)

    async def wrong(self) -> list[str]:
        """What an auditor finds wrong now."""
        if self.instance is not None and self.instance._reporter is not None:
            assert self.instance._reporter.failed == 0
        nodes, pods, groups, topologies = [
            (await self.api.list(each)).items for each in (NODES, PODS, POD_GROUPS, TOPOLOGIES)
        ]
        return audit_status(Seen(nodes, pods, groups, topologies))

    async def shown(self, name: str = "g", kind: str = "Scheduled") -> tuple[str, str] | None:
        """A condition of a PodGroup."""
        group = await self.api.get(POD_GROUPS, name, namespace="default")
        conditions = (group.get("status") or {}).get("conditions") or ()
        return next(((each["status"], each["reason"]) for each in conditions if each["type"] == kind), None)

    async def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and action of the events about an object."""
        found = (await self.api.list(EVENTS)).items
        return [
            (each["type"], each["reason"], each["action"])
            for each in found
            if each["regarding"]["name"] == name
        ]


@asynccontextmanager
async def running(*objects: dict[str, Any], start: bool = True) -> AsyncIterator[Cluster]:
    """Six nodes in three racks of one zone, and these objects."""
    cluster = Cluster()
    nodes = (node(f"n{i}", 4, zone="z", rack=f"r{i // 2}") for i in range(6))
    await cluster.create(topology("zone", "rack"), *nodes, *objects)
    if start:
        cluster.start()
    try:
        await cluster.settle()
        yield cluster
    finally:
        await cluster.kill()
        await cluster.api.close()
