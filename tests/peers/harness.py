"""Runs a case on the scheduler of ``closeknit run``: embedded cluster, its watches and calls, in virtual time.

Beside the scheduler there is a kubelet, which starts pods that are bound and ends those that are terminating, and
what made the pods, which makes evicted ones again. Everything runs until long after the last thing has happened:
an eviction that repeats itself every minute is seen.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any, Final, cast

from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.clock import Clock, timestamp
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DELETE, DeleteOptions, KubernetesApi, MergePatch, Object
from closeknit.kube.resources import PODS
from closeknit.scheduler.loop import Scheduler
from closeknit.scheduler.settings import Settings
from closeknit.simulator.virtual_time import VirtualClock, VirtualLoop
from tests.peers import manifests
from tests.peers.manifests import NAMESPACE, UNIT
from tests.peers.records import Case, Outcome, Pods, Result, Unit

HORIZON: Final = 200.0
"""Seconds that the scheduler works: longer than all that it repeats after a while."""
_APART: Final = 60.0
"""Seconds between two units that are created."""
_STARTS: Final = 0.1
_ENDS: Final = 2.0
_AGAIN: Final = 0.5
_NEVER: Final = 1e12
_AT_ONCE: Final = DeleteOptions(grace_period=0)
_DEFINITIONS: Final = [one.written() for one in FAMILIES["kai"]]


def run(case: Case) -> Outcome:
    """What becomes of the units of a case."""
    loop = VirtualLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(_Run(case, loop).outcome())


class _Watched:
    """The API as the scheduler has it; what it binds and evicts is noted and acted on."""

    def __init__(self, run: _Run, api: KubernetesApi) -> None:
        self._run, self._api = run, api

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    async def bind(self, pod: str, node: str, *, namespace: str, uid: str = "") -> None:
        await self._api.bind(pod, node, namespace=namespace, uid=uid)
        self._run.soon(self._run.start_pod(pod))

    async def evict(self, pod: str, *, namespace: str, options: DeleteOptions = DELETE) -> None:
        await self._api.evict(pod, namespace=namespace, options=options)
        self._run.evicted(pod)


class _Run:
    def __init__(self, case: Case, loop: VirtualLoop) -> None:
        self._case = case
        self._clock: Clock = VirtualClock(loop)
        gangs = any(unit.kind == "kubernetes" for unit in case.units)
        self._at_once = any(unit.kind != "kai" for unit in case.units)
        """Whether pods start together unless a case specifies their times, as in kube-scheduler's tables."""
        self._api = EmbeddedCluster(
            _DEFINITIONS, clock=self._clock, dice=Random(1), bookmark_every=_NEVER, gang_api=gangs
        )
        self._pods: dict[str, tuple[Unit, Object]] = {}
        """By name, each pod as it was created."""
        self._evictions: Counter[str] = Counter()
        self._staying: set[str] = set()
        self._leaving: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._starts = 0.0
        """When the scheduler starts."""

    async def outcome(self) -> Outcome:
        case = self._case
        for resource, obj in manifests.surroundings(case):
            await self._api.create(resource, obj)
        there = [unit for unit in case.units if unit.arrives is None]
        ages = [
            unit.age if unit.age is not None else _APART * (len(there) - number)
            for number, unit in enumerate(there)
        ]
        self._starts = self._clock.monotonic() + max(ages, default=0.0)
        for age, unit in sorted(zip(ages, there, strict=True), key=lambda each: -each[0]):
            await self._until(self._starts - age)
            await self._create(unit)
        await self._until(self._starts)
        for unit in case.units:
            if unit.arrives is not None:
                self.soon(self._arrives(unit, unit.arrives))
            if unit.leaves is not None:
                self.soon(self._leaves(unit, unit.leaves))
        scheduler = Scheduler(
            cast(KubernetesApi, _Watched(self, self._api)),
            Settings(explaining=False),
            random=Random(2),
            clock=self._clock,
        )
        work = asyncio.create_task(scheduler.run())
        try:
            await self._clock.sleep(HORIZON if case.seconds is None else case.seconds)
            for task in (work, *self._tasks):
                if task.done():
                    task.result()
            return await self._found()
        finally:
            for task in (work, *self._tasks):
                task.cancel()
            await asyncio.gather(work, *self._tasks, return_exceptions=True)
            await self._api.close()

    async def _until(self, time: float) -> None:
        await self._clock.sleep(max(time - self._clock.monotonic(), 0.0))

    # ------------------------------------------------------------------------------------ what there is

    async def _create(self, unit: Unit) -> None:
        group, pods = manifests.unit_objects(unit)
        if group is not None:
            await self._api.create(*group)
        for pod, spec in pods:
            if spec.arrives is None:
                await self._create_pod(unit, pod, spec)
            else:
                self.soon(self._arrives_later(unit, pod, spec))

    async def _arrives_later(self, unit: Unit, pod: Object, spec: Pods) -> None:
        await self._until(self._starts + (spec.arrives or 0.0))
        await self._create_pod(unit, pod, spec)

    async def _create_pod(self, unit: Unit, pod: Object, spec: Pods) -> None:
        name = pod["metadata"]["name"]
        self._pods[name] = (unit, pod)
        if spec.stays:
            self._staying.add(name)
        running = {**pod, "spec": {**pod["spec"], "nodeName": spec.node}} if spec.node else pod
        await self._api.create(PODS, running)
        if spec.node:
            since = _APART if spec.ran is None and self._at_once else spec.ran
            ran = 0.0 if since is None else self._clock.monotonic() - self._starts + since
            await self._report(name, ran, spec.ended or "Running")
        if spec.leaving:
            self._leaving.add(name)
            await self._api.delete(PODS, name, namespace=NAMESPACE)
            self._ends(name)

    async def _arrives(self, unit: Unit, seconds: float) -> None:
        await self._until(self._starts + seconds)
        await self._create(unit)

    async def _leaves(self, unit: Unit, seconds: float) -> None:
        await self._until(self._starts + seconds)
        for name, (owner, _) in list(self._pods.items()):
            if owner is unit:
                del self._pods[name]
                with suppress(NotFoundError):
                    await self._api.delete(PODS, name, namespace=NAMESPACE, options=_AT_ONCE)
        group, _ = manifests.unit_objects(unit)
        if group is not None:
            await self._api.delete(group[0], unit.name, namespace=NAMESPACE)

    # -------------------------------------------------------------------------- kubelet and controllers

    def soon(self, work: Any) -> None:
        """Let something happen beside the scheduler."""
        task = asyncio.create_task(work)
        self._tasks.add(task)

    async def start_pod(self, name: str) -> None:
        """A pod was bound."""
        await self._clock.sleep(_STARTS)
        with suppress(NotFoundError):
            await self._report(name)

    def evicted(self, name: str) -> None:
        """A pod was told to go."""
        self._evictions[self._pods[name][0].name] += 1
        self._ends(name)

    def _ends(self, name: str) -> None:
        if name not in self._staying:
            self.soon(self._end(name))

    async def _end(self, name: str) -> None:
        await self._clock.sleep(_ENDS)
        with suppress(NotFoundError):
            await self._api.delete(PODS, name, namespace=NAMESPACE, options=_AT_ONCE)
        unit, pod = self._pods[name]
        if name in self._leaving:
            # Whoever deleted it wants it to be gone.
            del self._pods[name]
        elif unit.returns:
            await self._clock.sleep(_AGAIN)
            await self._api.create(PODS, pod)

    async def _report(self, name: str, ran: float = 0.0, phase: str = "Running") -> None:
        """A pod runs, or ran, since so many seconds before now."""
        since = timestamp(self._clock.now() - timedelta(seconds=ran))
        conditions = [
            {"type": kind, "status": str(phase == "Running"), "lastTransitionTime": since}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ]
        status = {"phase": phase, "startTime": since, "conditions": conditions}
        patch = MergePatch({"status": status})
        await self._api.patch(PODS, name, patch, namespace=NAMESPACE, subresource="status")

    # ------------------------------------------------------------------------------------- what came of it

    async def _found(self) -> Outcome:
        there: dict[str, list[Mapping[str, Any]]] = {unit.name: [] for unit in self._case.units}
        for pod in (await self._api.list(PODS)).items:
            over = pod.get("status", {}).get("phase") in ("Failed", "Succeeded")
            if "deletionTimestamp" not in pod["metadata"] and not over:
                there[pod["metadata"]["labels"][UNIT]].append(pod)
        return {name: self._result(name, pods) for name, pods in there.items()}

    def _result(self, unit: str, pods: list[Mapping[str, Any]]) -> Result:
        nodes = Counter(pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName"))
        bound = nodes.total()
        return Result(
            bound=bound,
            waiting=len(pods) - bound,
            evicted=self._evictions[unit],
            nodes=dict(sorted(nodes.items())) if bound else None,
        )
