"""Runs a case on Kueue's operator: Jobs in local queues, controllers of Jobs and kubelets, in virtual time.

A unit is a Job. Those that run at the start are created one after the other and admitted by the operator itself
before the others come; a case whose start it would not admit is wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any, Final

import structlog

from closeknit.controllers.instance import Controllers
from closeknit.controllers.kueue.operator import KUEUE
from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.clock import Clock
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import DeleteOptions, MergePatch, Propagation
from closeknit.kube.resources import JOBS, PODS, Resource
from closeknit.kube.standins import run_standins
from closeknit.simulator.virtual_time import VirtualClock, VirtualLoop
from tests.peers import kueue_manifests
from tests.peers.manifests import NAMESPACE
from tests.peers.records import Case, Outcome, Result, Unit

HORIZON: Final = 60.0
_PATIENCE: Final = 30
_NEVER: Final = 1e12
_DELETED: Final = DeleteOptions(propagation=Propagation.BACKGROUND)
_WORKLOADS: Final = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload", subresources=("status",))
_DEFINITIONS: Final = [one.written() for family in ("kai", "kueue") for one in FAMILIES[family]]


def run(case: Case) -> Outcome:
    """What becomes of the Jobs of a case."""
    loop = VirtualLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(_Run(case, loop).outcome())


class _Run:
    def __init__(self, case: Case, loop: VirtualLoop) -> None:
        self._case = case
        self._clock: Clock = VirtualClock(loop)
        self._api = EmbeddedCluster(_DEFINITIONS, clock=self._clock, dice=Random(1), bookmark_every=_NEVER)

    async def outcome(self) -> Outcome:
        """Let the operator admit, and say what it has come to."""
        for resource, obj in kueue_manifests.surroundings(self._case):
            await self._api.create(resource, obj)
        log = structlog.wrap_logger(structlog.ReturnLogger())
        controllers = Controllers(
            self._api, [KUEUE], identity="peers", log=log, random=Random(2), clock=self._clock
        )
        work = [
            asyncio.create_task(controllers.run()),
            asyncio.create_task(run_standins(self._api, clock=self._clock, random=Random(3), leases=False)),
        ]
        try:
            await self._submit(work)
            await self._clock.sleep(HORIZON)
            _raise_failures(work)
            return await self._found()
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            await self._api.close()

    async def _submit(self, work: Sequence[asyncio.Task[None]]) -> None:
        """Create everything that is there at the start, release what was held back, and then what arrives."""
        units = self._case.units
        last = max((number for number, unit in enumerate(units) if kueue_manifests.runs(unit)), default=-1)
        for number, unit in enumerate(units):
            if unit.kind == "pod":
                await self._api.create(PODS, kueue_manifests.pod(unit))
            elif unit.arrives is None:
                held = number < last and not kueue_manifests.runs(unit)
                await self._api.create(JOBS, kueue_manifests.job(unit, held=held))
                if kueue_manifests.runs(unit):
                    await self._until_admitted(unit, work)
                await self._clock.sleep(1.0)
        for queue in self._case.queues:
            await self._api.patch(
                kueue_manifests.LOCAL_QUEUES,
                kueue_manifests.held_queue(queue.name),
                MergePatch({"spec": {"stopPolicy": "None"}}),
                namespace=NAMESPACE,
            )
        starts = self._clock.monotonic()
        moments = [(unit.arrives, unit) for unit in units if unit.arrives is not None]
        moments += [(unit.leaves, unit) for unit in units if unit.leaves is not None]
        for seconds, unit in sorted(moments, key=lambda each: each[0]):
            await self._clock.sleep(max(starts + seconds - self._clock.monotonic(), 0.0))
            if seconds == unit.arrives:
                await self._api.create(JOBS, kueue_manifests.job(unit))
            else:
                await self._api.delete(JOBS, unit.name, namespace=NAMESPACE, options=_DELETED)

    async def _until_admitted(self, unit: Unit, work: Sequence[asyncio.Task[None]]) -> None:
        for _ in range(_PATIENCE):
            await self._clock.sleep(1.0)
            _raise_failures(work)
            if (await self._found())[unit.name].bound:
                return
        raise AssertionError(f"{self._case.id}: {unit.name} is not admitted at the start.")

    async def _found(self) -> Outcome:
        found = {unit.name: Result(waiting=1) for unit in self._case.units if unit.kind == "kueue"}
        for workload in (await self._api.list(_WORKLOADS)).items:
            owners = workload["metadata"].get("ownerReferences") or [{"name": ""}]
            found[owners[0]["name"]] = _result(workload)
        return found


def _result(workload: Mapping[str, Any]) -> Result:
    status = workload.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    evictions = (status.get("schedulingStats") or {}).get("evictions") or ()
    admitted = conditions.get("Admitted") == "True" and conditions.get("Evicted") != "True"
    return Result(
        bound=int(admitted),
        waiting=int(not admitted),
        evicted=sum(each["count"] for each in evictions if each["reason"] == "Preempted"),
        nodes=_domains(status) if admitted else None,
    )


def _domains(status: Mapping[str, Any]) -> dict[str, int] | None:
    """Pods by the node that was assigned to them; None without a topology."""
    found: dict[str, int] = {}
    for assignment in (status.get("admission") or {}).get("podSetAssignments") or ():
        for name, number in kueue_manifests.assigned(assignment.get("topologyAssignment")):
            found[name] = found.get(name, 0) + number
    return dict(sorted(found.items())) or None


def _raise_failures(work: Sequence[asyncio.Task[None]]) -> None:
    for task in work:
        if task.done():
            with suppress(asyncio.CancelledError):
                task.result()
