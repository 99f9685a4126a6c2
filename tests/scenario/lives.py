"""Gangs that come, grow, lose nodes and go, while a scheduler may die and another takes over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Any, cast

import structlog

from closeknit.installation.privileges import Component
from closeknit.kube.clock import Clock
from closeknit.kube.port import DeleteOptions, KubernetesApi
from closeknit.kube.resources import NODES, PODS
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.testing.accounts import seen_by
from closeknit.testing.auditor import Cluster, audit
from closeknit.testing.clock import HandClock
from closeknit.testing.faulty_api import Fault, FaultyApi
from tests.filters.claims import claim, mounting, on_nodes, request, storage_class, volume, volume_claim
from tests.kit.status_auditor import Seen, audit_status
from tests.scenario import bound, claimed, stored
from tests.scenario.bound import POD_GROUPS, TOPOLOGIES
from tests.unit.scheduler.objects import node, pod, pod_group, together, topology

AT_ONCE = DeleteOptions(grace_period=0)
_QUIET = 5.0
"""Seconds within which objects show what is true, when nothing happens."""
_PATIENCE = 20.0
"""Real seconds until something must have happened."""


class Life:
    """One life on one cluster, in a time that is moved or that passes by itself."""

    def __init__(self, api: KubernetesApi, clock: Clock, point: int | None, fault: Fault) -> None:
        self.cluster = api
        self.clock = clock
        own = seen_by(Component.SCHEDULER, api)
        self.api = FaultyApi(own, point, fault)
        self.restarts = 0
        self.wrong: list[str] = []
        """What objects showed and was not true, when that was last audited."""
        self._successor = FaultyApi(own)
        self._work = asyncio.create_task(self._scheduler(self.api))
        self._undertaker = asyncio.create_task(self._replace())

    async def _scheduler(self, api: FaultyApi) -> None:
        instance = Instance(
            cast("KubernetesApi", api),
            Settings(),
            identity="life",
            log=structlog.wrap_logger(structlog.ReturnLogger()),
            random=Random(2),
            clock=self.clock,
        )
        await instance.run()

    async def _replace(self) -> None:
        await self.api.killed.wait()
        self._work.cancel()
        await asyncio.gather(self._work, return_exceptions=True)
        self.restarts += 1
        self._work = asyncio.create_task(self._scheduler(self._successor))

    async def replaced(self) -> None:
        """Return when a scheduler that was killed has a successor; at once if none was killed."""
        if self.api.killed.is_set():
            await asyncio.gather(self._undertaker)

    async def end(self) -> None:
        """Let the scheduler go; what it raised is raised here."""
        tasks = (self._undertaker, self._work)
        failed = [task for task in tasks if task.done() and not task.cancelled()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in failed:
            task.result()

    async def create(self, *objects: dict[str, Any]) -> None:
        await bound.create(self.cluster, objects)

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds: float = 3.0) -> None:
        """Let time pass until something holds: so many seconds where tests move the clock."""
        if isinstance(self.clock, HandClock):
            for _ in range(int(seconds / 0.25)):
                await self.tend()
                await self.clock.advance(0.25)
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    while not await holds():
                        await self.tend()
                        await asyncio.sleep(0.05)
        assert await holds(), self.wrong

    async def tend(self) -> None:
        """Do what others do while time passes: nothing, unless a life needs them."""

    async def nodes(self) -> dict[str, str]:
        page = await self.cluster.list(PODS)
        return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in page.items}

    async def all_bound(self) -> bool:
        return all((await self.nodes()).values())

    async def delete(self, *pods: str) -> None:
        for name in pods:
            await self.cluster.delete(PODS, name, namespace="default", options=AT_ONCE)

    async def check(self, what: str) -> None:
        """Nothing is broken at this moment."""
        nodes, pods, groups, topologies = [
            (await self.cluster.list(each)).items for each in (NODES, PODS, POD_GROUPS, TOPOLOGIES)
        ]
        assert audit(Cluster(nodes, pods, groups, topologies)) == [], what
        uids = [uid for uid, _ in (*self.api.bound, *self._successor.bound)]
        assert len(uids) == len(set(uids)), what
        await self.until(self._shown, _QUIET)

    async def _shown(self) -> bool:
        """Whether the status of every unit is what an auditor computes from pods and nodes."""
        nodes, pods, groups, topologies = [
            (await self.cluster.list(each)).items for each in (NODES, PODS, POD_GROUPS, TOPOLOGIES)
        ]
        self.wrong = audit_status(Seen(nodes, pods, groups, topologies))
        return not self.wrong

    async def live(self) -> None:
        """Everything that can happen to gangs, with a check after each."""
        nodes = (node(f"n{i}", 4, zone="z", rack=f"r{i // 2}") for i in range(6))
        await self.create(topology("zone", "rack"), *nodes)
        await self.create(
            pod_group("a", minMember=3, topologyConstraint=together("rack")),
            *(pod(f"a{i}", "a", gpus=2) for i in range(3)),
            pod("single", gpus=0),
        )
        await self.until(self.all_bound)
        await self.check("a gang and a lone pod came")

        rack = {"topologyConstraint": together("rack"), "minMember": 2}
        subgroups = [
            {"name": "both", "minSubGroup": 2, "topologyConstraint": together("zone")},
            *({"name": name, "parent": "both", **rack} for name in ("left", "right")),
        ]
        await self.create(
            pod_group("b", subGroups=subgroups, minSubGroup=1),
            *(pod(f"{name}{i}", "b", gpus=3, subgroup=name) for name in ("left", "right") for i in range(2)),
        )
        await self.until(self.all_bound)
        await self.check("a gang with subgroups came")

        await self.create(pod("a3", "a", gpus=2))
        await self.until(self.all_bound)
        await self.check("the first gang grew")

        lost = (await self.nodes())["a0"]
        left = [name for name, there in (await self.nodes()).items() if there == lost]
        await self.cluster.delete(NODES, lost)
        await self.delete(*left)
        await self.create(node(lost, 4, zone="z", rack=f"r{int(lost[1:]) // 2}"))
        await self.create(*(pod(f"{name}-again", "a", gpus=2) for name in left if name.startswith("a")))
        await self.until(self.all_bound)
        await self.check("a node was lost, and its pods came again")

        await self.create(
            pod_group("c", minMember=2, topologyConstraint=together("rack"), stalenessGracePeriod="2s"),
            *(pod(f"c{i}", "c", gpus=4) for i in range(2)),
        )
        await self.delete("left0", "left1", "right0", "right1")
        await self.until(self.all_bound, 15)
        await self.check("a gang waited until another one went")

        await self.delete("c0")
        await self.until(self._released, 10)
        await self.check("a gang lost a pod for good and was released")

    async def _released(self) -> bool:
        pods = (await self.cluster.list(PODS)).items
        return all(
            "deletionTimestamp" in each["metadata"] for each in pods if each["metadata"]["name"] == "c1"
        )


class ClaimLife(Life):
    """Gangs whose pods claim devices, each for itself and some together."""

    async def check(self, what: str) -> None:
        """Nothing is broken at this moment, and every claim has what its pods use."""
        await super().check(what)
        await claimed.check(self.cluster)

    async def live(self) -> None:
        """A gang with a claim for each pod, and one that shares a claim."""
        await self.create(*claimed.racks())
        await self.create(
            *(claim(f"own{i}", request("gpu.example", 3)) for i in range(2)),
            claim("shared", request("gpu.example", 2)),
        )
        await self.create(
            pod_group("d", minMember=2, topologyConstraint=together("rack")),
            *(
                pod(f"d{i}", "d", gpus=0, resourceClaims=[{"name": "c", "resourceClaimName": f"own{i}"}])
                for i in range(2)
            ),
        )
        await self.until(self.all_bound, 15)
        await self.check("a gang with claims came")

        shared = [{"name": "c", "resourceClaimName": "shared"}]
        await self.create(
            pod_group("e", minMember=2, topologyConstraint=together("rack")),
            *(pod(f"e{i}", "e", gpus=0, resourceClaims=shared) for i in range(2)),
        )
        await self.until(self.all_bound, 15)
        await self.check("a gang that shares a claim came")


class VolumeLife(Life):
    """Gangs whose volumes are made, found, or made for each pod, when they are placed."""

    async def tend(self) -> None:
        """Provisioners make volumes; where no kube-controller-manager runs, its part is done as well."""
        await stored.provide(self.cluster)
        if isinstance(self.clock, HandClock):
            await stored.bind(self.cluster)

    async def check(self, what: str) -> None:
        """Nothing is broken at this moment, and every pod has its volumes."""
        await super().check(what)
        await stored.check(self.cluster)

    async def live(self) -> None:
        """A gang whose volumes are made in one rack, one that finds them, one with volumes of its own."""
        late = storage_class("late", "disk.example.com", "r1")
        late["allowedTopologies"][0]["matchLabelExpressions"][0]["key"] = "rack"
        local = [volume(f"local{i}", storageClassName="local", **on_nodes(f"n{i}")) for i in range(4)]
        for each in local:
            del each["status"]
        await self.create(
            *claimed.racks(), late, storage_class("local", "kubernetes.io/no-provisioner"), *local
        )
        template = {"spec": volume_claim("x", class_name="late")["spec"]}
        own = {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]}
        for name, class_name in (("made", "late"), ("found", "local"), ("own", "")):
            claims = [volume_claim(f"{name}{i}-data", class_name=class_name) for i in range(2)]
            await self.create(
                *(claims if class_name else ()),
                pod_group(name, minMember=2, topologyConstraint=together("rack")),
                *(
                    pod(f"{name}{i}", name, gpus=0, **(mounting(f"{name}{i}-data") if class_name else own))
                    for i in range(2)
                ),
            )
            await self.until(self.all_bound, 15)
            await self.check(f"gang {name} came")
