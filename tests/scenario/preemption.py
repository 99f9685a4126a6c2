"""A cluster in virtual time in which units of different priority compete: kubelets, Jobs and budgets included."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from random import Random
from typing import Any, cast

from closeknit.apis.core_v1 import Pod
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.loading import load
from closeknit.kube.errors import AlreadyExistsError, ApiError
from closeknit.kube.port import KubernetesApi, MergePatch
from closeknit.kube.resources import PODS
from closeknit.kube.standins import run_standins
from closeknit.scheduler.loop import Scheduler
from closeknit.scheduler.preempt.preemptions import Ending, Plan
from closeknit.scheduler.reporter import Silence
from closeknit.scheduler.settings import Settings
from closeknit.testing.clock import HandClock
from tests.unit.scheduler.living import DEFINITIONS
from tests.unit.scheduler.objects import GPU, node, pod, pod_group

Json = dict[str, Any]


def priority_class(name: str, value: int) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


PRIORITIES = [priority_class(name, value) for name, value in (("low", 10), ("middle", 20), ("high", 90))]


def lone(name: str, cls: str = "low", *, gpus: int = 8, **fields: Any) -> Json:
    """A single pod."""
    return pod(name, gpus=gpus, priorityClassName=cls, terminationGracePeriodSeconds=0, **fields)


def gang(
    name: str, pods: int, cls: str = "low", *, gpus: int = 8, minimum: int | None = None, **spec: Any
) -> list[Json]:
    """A PodGroup and its pods, labelled with its name."""
    group = pod_group(name, minMember=pods if minimum is None else minimum, priorityClassName=cls, **spec)
    return [group, *(member(name, number, gpus=gpus) for number in range(pods))]


def member(group: str, number: int, *, gpus: int = 8, grace: int = 0) -> Json:
    """A pod of a PodGroup."""
    return pod(
        f"{group}-{number}",
        group,
        gpus=gpus,
        terminationGracePeriodSeconds=grace,
        metadata={"labels": {"app": group}},
    )


def job(name: str, pods: int, cls: str = "low", *, gpus: int = 8) -> Json:
    """A Job of which all pods run at once; to KAI it is elastic, with a minimum of one pod."""
    resources = {"requests": {"cpu": "1"}, "limits": {GPU: str(gpus)}}
    template = {
        "spec": {
            "schedulerName": "kai-scheduler",
            "priorityClassName": cls,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "pause", "resources": resources}],
        }
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"parallelism": pods, "completions": pods, "template": template},
    }


def budget(name: str, app: str, least: int) -> Json:
    """A PodDisruptionBudget over the pods of a gang."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": app}}},
    }


def queue(name: str, *, quota: int, limit: int, parent: str = "", **more: Any) -> Json:
    """A KAI queue that counts GPUs."""
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"gpu": {"quota": quota, "limit": limit, "overQuotaWeight": 1}, "cpu": free, "memory": free}
    spec = {"resources": resources, **({"parentQueue": parent} if parent else {}), **more}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


class Watched:
    """Passes calls on, records evictions, and answers some of them with an error."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self.evicted: list[str] = []
        """Pods whose eviction was accepted."""
        self.refused: list[str] = []
        self.errors: dict[str, list[ApiError]] = {}
        """By pod, how its next evictions are answered."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    async def evict(self, name: str, *, namespace: str, options: Any) -> None:
        if self.errors.get(name):
            self.refused.append(name)
            raise self.errors[name].pop(0)
        try:
            await self._api.evict(name, namespace=namespace, options=options)
        except ApiError:
            self.refused.append(name)
            raise
        self.evicted.append(name)


class Recorder(Silence):
    """What is reported about plans, in order: a word and the names of units.

    The report of a plan takes a moment to be stored, as it does on a server.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self.reports: list[tuple[str, ...]] = []
        self.endings: list[Ending] = []
        self.plans: list[Plan] = []
        """Those of which evictions began."""

    def waiting(
        self,
        verdict: Any,  # noqa: ARG002
        plan: Plan | None = None,  # noqa: ARG002
        stored: Callable[[], None] | None = None,
    ) -> None:
        if stored is not None:
            task = asyncio.create_task(self._store(stored))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _store(self, stored: Callable[[], None]) -> None:
        await self._clock.sleep(0.05)
        stored()

    def preempting(self, plan: Plan) -> None:
        self.plans.append(plan)
        self.reports.append(("preempting", plan.workload.object.name))

    def displaced(self, workload: Any, by: Any) -> None:
        self.reports.append(("displaced", workload.object.name, by.object.name))

    def gave_up(self, plan: Plan, ending: Ending) -> None:
        self.reports.append(("gave up", plan.workload.object.name))
        self.endings.append(ending)


class Contest:
    """A cluster, its kubelet and controllers, and the scheduler.

    On the embedded cluster time is virtual; on a real API server (``real``) it passes by itself.
    """

    def __init__(self, settings: Settings | None = None, real: KubernetesApi | None = None) -> None:
        self.clock: Clock = SYSTEM_CLOCK if real is not None else HandClock()
        embedded = partial(EmbeddedCluster, DEFINITIONS, clock=self.clock, dice=Random(1), gang_api=True)
        self.cluster = cast("EmbeddedCluster", real) if real is not None else embedded()
        self.api = Watched(cast("KubernetesApi", self.cluster))
        self.recorder = Recorder(self.clock)
        self._real = real
        self._settings = settings or Settings()
        self.scheduler = self._new_scheduler()
        self._work: asyncio.Task[None] | None = None

    def _new_scheduler(self) -> Scheduler:
        return Scheduler(
            cast("KubernetesApi", self.api),
            self._settings,
            random=Random(2),
            reporter=self.recorder,
            clock=self.clock,
        )

    def evicted_for(self, preemptor: str) -> list[str]:
        """The pods that were evicted for a unit."""
        chosen = {
            pod.key.name
            for plan in self.recorder.plans
            if plan.workload.object.name == preemptor
            for victim in plan.victims
            for pod in victim.pods
        }
        return [name for name in self.api.evicted if name in chosen]

    async def begin(self) -> None:
        """Let the scheduler work."""
        self._work = asyncio.create_task(self.scheduler.run())

    async def restart(self) -> None:
        """The scheduler dies, and another one takes over."""
        await self.end()
        self.scheduler = self._new_scheduler()
        await self.begin()

    async def end(self) -> None:
        """Stop the scheduler; what it raised is raised here."""
        if self._work is not None:
            if self._work.done():
                self._work.result()
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    async def create(self, *objects: Json) -> None:
        if self._real is not None:
            await _create(self._real, objects)
            return
        refused = await load(self.cluster, list(objects))
        assert not refused, refused

    async def settle(self, seconds: float = 1.0, step: float = 0.25) -> None:
        """Let time pass, a little at a time."""
        for _ in range(max(round(seconds / step), 1)):
            await (self.clock.advance(step) if isinstance(self.clock, HandClock) else asyncio.sleep(step))
            if self._work is not None and self._work.done():
                self._work.result()

    async def settle_until(self, condition: Callable[[], Awaitable[bool]], seconds: float) -> bool:
        """Let time pass until a condition holds; return whether it did in time."""
        for _ in range(round(seconds / 0.25)):
            if await condition():
                return True
            await self.settle(0.25)
        return await condition()

    async def pods(self) -> dict[str, Pod]:
        """All pods by name."""
        page = await self.cluster.list(PODS, into=Pod)
        return {pod.metadata.name: pod for pod in page.items}

    async def running(self, prefix: str = "") -> set[str]:
        """The pods that run, whose names begin so."""
        return {
            name
            for name, pod in (await self.pods()).items()
            if name.startswith(prefix)
            and pod.status.phase == "Running"
            and not pod.metadata.deletion_timestamp
        }


async def _create(api: KubernetesApi, objects: Iterable[Json]) -> None:
    """Create objects on a real API server, with their status; existing ones, like priority classes, are kept."""
    served = {(resource.api_version, resource.kind): resource for resource in await api.resources()}
    for obj in objects:
        resource = served[obj["apiVersion"], obj["kind"]]
        with suppress(AlreadyExistsError):
            await api.create(resource, obj)
        if (status := obj.get("status")) and "status" in resource.subresources:
            meta = obj["metadata"]
            namespace = meta.get("namespace", "default") if resource.namespaced else ""
            patch = MergePatch({"status": status})
            await api.patch(resource, meta["name"], patch, namespace=namespace, subresource="status")


@asynccontextmanager
async def contest(objects: Iterable[Json], settings: Settings | None = None) -> AsyncIterator[Contest]:
    """A cluster with these objects, at work."""
    made = Contest(settings)
    await made.create(*PRIORITIES, *objects)
    others = asyncio.create_task(
        run_standins(cast("KubernetesApi", made.cluster), clock=made.clock, random=Random(3), leases=False)
    )
    await made.begin()
    try:
        await made.settle(3)
        yield made
        assert not others.done(), others
    finally:
        await made.end()
        others.cancel()
        await asyncio.gather(others, return_exceptions=True)
        await made.cluster.close()


@asynccontextmanager
async def real_contest(api: KubernetesApi, objects: Iterable[Json]) -> AsyncIterator[Contest]:
    """The same on a real API server without objects, beside Kubernetes' own controllers and a simulated kubelet."""
    live = Contest(real=api)
    await live.create(*PRIORITIES, *objects)
    kubelet = asyncio.create_task(run_standins(api, random=Random(3), controllers=False, leases=False))
    await live.begin()
    try:
        yield live
        assert not kubelet.done(), kubelet
    finally:
        await live.end()
        kubelet.cancel()
        await asyncio.gather(kubelet, return_exceptions=True)


def nodes(number: int, gpus: int = 8) -> list[Json]:
    """Equal nodes."""
    return [node(f"n{each}", gpus) for each in range(number)]
