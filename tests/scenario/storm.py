"""Random weather over a cluster: an embedded one in a time that is moved by hand, or a real one in real time.

Gangs come and go, nodes are lost, return and move, another scheduler takes room, calls fail, and the scheduler
itself is killed. What is checked reads nothing but the API.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any, cast

import structlog

from closeknit.kube.clock import Clock
from closeknit.kube.errors import NotFoundError, TooManyRequestsError, UnavailableError
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch
from closeknit.kube.resources import NODES, PODS, Resource
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.loop import Settings
from closeknit.testing.auditor import Cluster, audit
from closeknit.testing.clock import HandClock
from tests.scenario.bound import BY_KIND, POD_GROUPS, TOPOLOGIES
from tests.unit.scheduler.objects import GPU, node, pod, pod_group, topology

ZONE, RACK = "zone", "rack"
ZONES, RACKS, HOSTS, GPUS = 2, 3, 4, 8
AT_ONCE = DeleteOptions(grace_period=0)
_WRITES = frozenset({"bind", "create", "evict", "patch", "replace"})
_STEP = 0.25
_PODS_OF_RIVAL = "rival"


class Faults:
    """Passes calls on; while it storms, some writes are lost before or after they are carried out."""

    def __init__(self, api: KubernetesApi, dice: Random) -> None:
        self._api = api
        self._dice = dice
        self.share = 0.0
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._api, name)
        return self._writing(method) if name in _WRITES else method

    def _writing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def write(*given: Any, **named: Any) -> Any:
            if self._dice.random() >= self.share:
                return await method(*given, **named)
            self.count += 1
            kind = self._dice.randrange(3)
            if kind == 0:
                raise TooManyRequestsError("Not now.", retry_after=self._dice.random())
            if kind == 1:
                await method(*given, **named)
            raise UnavailableError("The connection broke.")

        return write


class Storm:
    """One storm over a cluster with definitions and nothing else; on an embedded one the same for the same seed."""

    def __init__(self, seed: int, cluster: KubernetesApi, clock: Clock, *, reserving: bool = False) -> None:
        self.reserving = reserving
        """Whether a place is kept for the first that does not fit, so that others may wait beside free nodes."""
        self.dice = Random(seed)
        self.clock = clock
        self.cluster = cluster
        self.faults = Faults(self.cluster, Random(seed + 2))
        self.happened: Counter[str] = Counter()
        self._number = 0
        self._work: asyncio.Task[None] | None = None
        self._instance: Instance | None = None

    # ------------------------------------------------------------------------------------------- running

    async def begin(self) -> None:
        """Nodes, a topology and a scheduler."""
        await self.create(topology(ZONE, RACK), *_nodes())
        self._start()

    async def create(self, *objects: dict[str, Any]) -> None:
        """Make objects."""
        for each in objects:
            kept = {key: value for key, value in each["metadata"].items() if key != "uid"}
            await self.cluster.create(BY_KIND[each["kind"]], {**each, "metadata": kept})

    async def _pass(self, seconds: float) -> None:
        """Let time pass, a little at a time."""
        if isinstance(self.clock, HandClock):
            await self.clock.advance(seconds)
        else:
            await self.clock.sleep(seconds)

    def _start(self) -> None:
        self._instance = Instance(
            cast("KubernetesApi", self.faults),
            Settings(reserving=self.reserving),
            identity="storm",
            log=structlog.wrap_logger(structlog.ReturnLogger()),
            random=Random(self.dice.random()),
            clock=self.clock,
        )
        self._work = asyncio.create_task(self._instance.run())

    async def kill(self) -> None:
        """End the scheduler, whatever it is at; what made it end by itself is raised."""
        work, self._work = self._work, None
        if work is not None:
            if work.done():
                work.result()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def blow(self, seconds: float) -> None:
        """Bad weather for so long."""
        self.faults.share = 0.1
        for _ in range(int(seconds / _STEP)):
            if self.dice.random() < 0.5:
                await self._happen()
            await self._pass(_STEP)
        self.faults.share = 0.0

    async def calm(self, seconds: float = 90.0) -> None:
        """Fair weather, long enough for every back-off and grace period."""
        for _ in range(int(seconds / _STEP)):
            await self._pass(_STEP)
        assert self._work is not None
        if self._work.done():
            self._work.result()

    async def _happen(self) -> None:
        acts = (
            (8, self._arrive),
            (3, self._finish),
            (2, self._delete_gang),
            (2, self._delete_pod),
            (1, self._lose_node),
            (2, self._return_node),
            (1, self._cordon),
            (1, self._move_node),
            (2, self._rival),
            (1, self._crash),
        )
        (act,) = self.dice.choices([act for _, act in acts], [weight for weight, _ in acts])
        self.happened[act.__name__.strip("_").replace("_", " ")] += 1
        await act()

    # -------------------------------------------------------------------------------------- what happens

    async def _arrive(self) -> None:
        self._number += 1
        name, pods = f"gang-{self._number}", self.dice.choice((1, 1, 2, 2, 3, 4, 6, 8))
        gpus = self.dice.choice((1, 2, 4, 8))
        level = self.dice.choice((None, ZONE, RACK, RACK))
        constraint = (
            {"topologyConstraint": {"topology": "tree", "requiredTopologyLevel": level}} if level else {}
        )
        made = [pod(f"{name}-{i}", name, gpus=gpus) for i in range(pods)]
        await self.create(pod_group(name, minMember=pods, **constraint), *made)

    async def _finish(self) -> None:
        """All pods of a gang that runs succeed."""
        if (group := await self._some_gang(running=True)) is None:
            return
        for each in await self._pods_of(group):
            await self.cluster.patch(
                PODS,
                each,
                MergePatch({"status": {"phase": "Succeeded"}}),
                namespace="default",
                subresource="status",
            )

    async def _delete_gang(self) -> None:
        if (group := await self._some_gang()) is None:
            return
        await self._delete(POD_GROUPS, group)
        for each in await self._pods_of(group):
            await self._delete(PODS, each)

    async def _delete_pod(self) -> None:
        """A pod goes, and its controller makes it anew."""
        if (group := await self._some_gang()) is None or not (pods := await self._pods_of(group)):
            return
        name = self.dice.choice(pods)
        found = await self.cluster.get(PODS, name, namespace="default")
        await self._delete(PODS, name)
        gpus = int(found["spec"]["containers"][0]["resources"]["limits"][GPU])
        await self.create(pod(name, group, gpus=gpus))

    async def _lose_node(self) -> None:
        """A node goes with its pods, as the garbage collector of pods would have it."""
        names = [each["metadata"]["name"] for each in (await self.cluster.list(NODES)).items]
        if len(names) <= ZONES * RACKS * HOSTS // 2:
            return
        lost = self.dice.choice(names)
        await self._delete(NODES, lost)
        for each in (await self.cluster.list(PODS)).items:
            if each["spec"].get("nodeName") == lost:
                await self._delete(PODS, each["metadata"]["name"])

    async def _return_node(self) -> None:
        """A node comes back, in the rack that it had or in another one."""
        there = {each["metadata"]["name"] for each in (await self.cluster.list(NODES)).items}
        missing = [each for each in _nodes() if each["metadata"]["name"] not in there]
        if missing:
            back = self.dice.choice(missing)
            if self.dice.random() < 0.3:
                back["metadata"]["labels"][RACK] = f"r{self.dice.randrange(RACKS)}"
            await self.create(back)

    async def _cordon(self) -> None:
        nodes = (await self.cluster.list(NODES)).items
        chosen = self.dice.choice(nodes)
        cordoned = bool(chosen["spec"].get("unschedulable")) if "spec" in chosen else False
        await self.cluster.patch(
            NODES, chosen["metadata"]["name"], MergePatch({"spec": {"unschedulable": not cordoned}})
        )

    async def _move_node(self) -> None:
        """The labels of a node change, while it has no pods and nobody is about to give it some."""
        if self._instance is None or not self._instance.idle:
            return
        used = {each["spec"].get("nodeName") for each in (await self.cluster.list(PODS)).items}
        names = [each["metadata"]["name"] for each in (await self.cluster.list(NODES)).items]
        if empty := [name for name in names if name not in used]:
            labels = {ZONE: f"z{self.dice.randrange(ZONES)}", RACK: f"r{self.dice.randrange(RACKS)}"}
            patch = MergePatch({"metadata": {"labels": labels}})
            await self.cluster.patch(NODES, self.dice.choice(empty), patch)

    async def _rival(self) -> None:
        """Another scheduler binds a pod of its own where the API shows room, or one of its pods goes."""
        seen = await self._seen()
        mine = [each for each in seen.pods if each["metadata"]["name"].startswith(_PODS_OF_RIVAL)]
        if mine and self.dice.random() < 0.5:
            await self._delete(PODS, self.dice.choice(mine)["metadata"]["name"])
            return
        # Two schedulers that act in the same moment can both take the last room, whatever they check.
        if self._instance is None or not self._instance.idle:
            return
        free = _free(seen)
        roomy = sorted(name for name, units in free.items() if units >= 2)
        if roomy:
            self._number += 1
            name = f"{_PODS_OF_RIVAL}-{self._number}"
            await self.create(pod(name, gpus=2, scheduler="default-scheduler"))
            await self.cluster.bind(name, self.dice.choice(roomy), namespace="default")

    async def _crash(self) -> None:
        """The scheduler is killed, and another one begins."""
        await self.kill()
        self._start()

    # ------------------------------------------------------------------------------------------ checking

    async def complaints(self) -> list[str]:
        """What is wrong now, as the API shows it."""
        seen = await self._seen()
        return [*audit(seen), *([] if self.reserving else _overlooked(seen))]

    async def _seen(self) -> Cluster:
        lists = [(await self.cluster.list(each)).items for each in (NODES, PODS, POD_GROUPS, TOPOLOGIES)]
        return Cluster(*lists)

    async def _some_gang(self, *, running: bool = False) -> str | None:
        groups = [each["metadata"]["name"] for each in (await self.cluster.list(POD_GROUPS)).items]
        if running:
            pods = (await self.cluster.list(PODS)).items
            bound = {_group(each) for each in pods if each["spec"].get("nodeName")}
            waiting = {_group(each) for each in pods if not each["spec"].get("nodeName")}
            groups = [each for each in groups if each in bound and each not in waiting]
        return self.dice.choice(groups) if groups else None

    async def _pods_of(self, group: str) -> list[str]:
        return [
            each["metadata"]["name"]
            for each in (await self.cluster.list(PODS)).items
            if _group(each) == group
        ]

    async def _delete(self, resource: Resource, name: str) -> None:
        namespace = "default" if resource.namespaced else ""
        with suppress(NotFoundError):
            await self.cluster.delete(resource, name, namespace=namespace, options=AT_ONCE)


def _nodes() -> list[dict[str, Any]]:
    return [
        node(f"z{z}-r{r}-h{h}", GPUS, zone=f"z{z}", rack=f"r{r}")
        for z in range(ZONES)
        for r in range(RACKS)
        for h in range(HOSTS)
    ]


def _group(obj: Any) -> str:
    return str(obj["metadata"].get("annotations", {}).get("pod-group-name", ""))


def _asks(obj: Any) -> int:
    return int(obj["spec"]["containers"][0]["resources"]["limits"][GPU])


def _free(seen: Cluster) -> dict[str, int]:
    """GPUs that no pod holds, on each node that takes pods."""
    free = {
        each["metadata"]["name"]: int(each["status"]["allocatable"][GPU])
        for each in seen.nodes
        if not each.get("spec", {}).get("unschedulable")
    }
    for each in seen.pods:
        name = each["spec"].get("nodeName", "")
        if name in free and each["status"].get("phase") not in ("Succeeded", "Failed"):
            free[name] -= _asks(each)
    return free


def _overlooked(seen: Cluster) -> Iterator[str]:
    """Gangs none of whose pods has a node, although some domain of their level has room for all of them.

    All pods of a gang are equal, so that counting is exact.
    """
    free = _free(seen)
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in seen.nodes}
    for group in seen.pod_groups:
        name, least = group["metadata"]["name"], group["spec"]["minMember"]
        pods = [each for each in seen.pods if _group(each) == name]
        if len(pods) < least or any(each["spec"].get("nodeName") for each in pods):
            continue
        level = group["spec"].get("topologyConstraint", {}).get("requiredTopologyLevel")
        depth = {None: 0, ZONE: 1, RACK: 2}[level]
        room: Counter[tuple[str, ...]] = Counter()
        for host, units in free.items():
            path = (labels[host][ZONE], labels[host][RACK])[:depth]
            room[path] += units // _asks(pods[0])
        best = max(room.values(), default=0)
        if best >= least:
            yield f"PodGroup {name} waits for {least} places, and there are {best} together."
