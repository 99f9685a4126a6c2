"""A cluster with a poisoned object of each kind and a sound one beside it, at work in virtual time.

Scheduler, operators, admission and map run as in ``closeknit up``. The poisoned objects are in the namespace
``evil`` and have ``poison`` in their names; those of the namespace ``good`` ask for the same.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from types import FunctionType
from typing import Any, Final

import structlog

from closeknit.admission.embedded import admit
from closeknit.admission.instance import following_for
from closeknit.admission.reviewer import Reviewer
from closeknit.controllers.instance import Controllers
from closeknit.controllers.operators import managed
from closeknit.dialects import DIALECTS
from closeknit.dialects.definitions import FAMILIES
from closeknit.hub.failures import ObjectFailure
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.loading import load
from closeknit.kube.errors import ApiError
from closeknit.kube.port import DeleteOptions, MergePatch
from closeknit.kube.resources import EVENTS, PODS, Resource
from closeknit.kube.standins import run_standins
from closeknit.live.following import Following, kinds_read
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.server.api import Api, Asked
from closeknit.server.instance import MapInstance
from closeknit.simulator.virtual_time import VirtualClock, VirtualLoop
from tests.kit.injection import MODES, Injector, Point, Tracer

Json = dict[str, Any]
USER: Final = "system:serviceaccount:closeknit-system:closeknit"
GPU: Final = "nvidia.com/gpu"
RACK: Final = "topology/rack"
HOST: Final = "kubernetes.io/hostname"
_NEVER: Final = 1e12
_NOW: Final = DeleteOptions(grace_period=0)


def node_of_rack(name: str, rack: str, **labels: str) -> Json:
    offered = {"cpu": "64", "memory": "64Gi", "pods": "110", GPU: "8"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, RACK: rack, **labels}},
        "status": {
            "allocatable": offered,
            "capacity": offered,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _slice(node: str) -> Json:
    devices = [{"name": f"d{i}", "attributes": {"model": {"string": "a"}}} for i in range(4)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpu"},
        "spec": {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": devices},
    }


def infrastructure() -> list[Json]:
    """Nodes of two racks and one that is set apart, topologies, queues and a class of devices."""
    nodes = [node_of_rack(f"n{i}", f"r{i // 3}") for i in range(6)] + [
        node_of_rack("apart", "r2", apart="yes")
    ]
    levels = [{"nodeLabel": RACK}, {"nodeLabel": HOST}]
    quota = [{"name": GPU, "nominalQuota": 64}, {"name": "cpu", "nominalQuota": 640}]
    flavors = [{"name": "flavor", "resources": quota}]
    kueue = "kueue.x-k8s.io/v1beta2"
    made: list[Json] = [
        *nodes,
        *(_slice(f"n{i}") for i in range(6)),
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
        },
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "tree"},
            "spec": {"levels": levels},
        },
        {"apiVersion": kueue, "kind": "Topology", "metadata": {"name": "tree"}, "spec": {"levels": levels}},
        {
            "apiVersion": kueue,
            "kind": "ResourceFlavor",
            "metadata": {"name": "flavor"},
            "spec": {"nodeLabels": {}, "topologyName": "tree"},
        },
        {
            "apiVersion": kueue,
            "kind": "ClusterQueue",
            "metadata": {"name": "all"},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": [{"coveredResources": [GPU, "cpu"], "flavors": flavors}],
            },
        },
    ]
    made += [
        {
            "apiVersion": kueue,
            "kind": "LocalQueue",
            "metadata": {"name": "queue", "namespace": namespace},
            "spec": {"clusterQueue": "all"},
        }
        for namespace in ("good", "evil")
    ]
    made.append(
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": "team"},
            "spec": {"resources": {each: {"quota": -1, "limit": -1} for each in ("gpu", "cpu", "memory")}},
        }
    )
    return made


def _container(gpus: int, claims: Sequence[str] = ()) -> Json:
    asked = {GPU: str(gpus), "cpu": "1"}
    more = {"claims": [{"name": each} for each in claims]} if claims else {}
    return {
        "name": "main",
        "image": "pause",
        "resources": {"requests": asked, "limits": {GPU: str(gpus)}, **more},
    }


def pod_of(
    name: str, namespace: str, group: str = "", *, gpus: int = 1, claim: str = "", **spec: Any
) -> Json:
    annotations = {"pod-group-name": group} if group else {}
    claims = [{"name": "device", "resourceClaimName": claim}] if claim else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {
            "schedulerName": "closeknit",
            "containers": [_container(gpus, ["device"] if claim else [])],
            **({"resourceClaims": claims} if claims else {}),
            **spec,
        },
    }


def pod_group_of(name: str, namespace: str, count: int, **spec: Any) -> Json:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": count, "queue": "team", **spec},
    }


def workloads(prefix: str, namespace: str) -> list[Json]:
    """One workload of each family: a gang with a claim, a single pod, a PodCliqueSet and a Job with a queue."""
    together = {"topology": "tree", "requiredTopologyLevel": RACK}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": f"{prefix}-claim", "namespace": namespace},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "main",
                        "exactly": {
                            "deviceClassName": "gpu",
                            "allocationMode": "ExactCount",
                            "count": 1,
                            "selectors": [
                                {"cel": {"expression": "device.attributes['gpu.example.com'].model == 'a'"}}
                            ],
                        },
                    }
                ]
            }
        },
    }
    role = {
        "roleName": "worker",
        "replicas": 2,
        "podSpec": {"containers": [_container(1)], "schedulerName": "closeknit"},
    }
    clique_set = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": f"{prefix}-set", "namespace": namespace},
        "spec": {"replicas": 1, "template": {"cliques": [{"name": f"{prefix}-worker", "spec": role}]}},
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{prefix}-job",
            "namespace": namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "queue"},
        },
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "suspend": True,
            "template": {
                "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": RACK}},
                "spec": {
                    "restartPolicy": "Never",
                    "schedulerName": "closeknit",
                    "containers": [_container(1)],
                },
            },
        },
    }
    return [
        claim,
        pod_group_of(f"{prefix}-gang", namespace, 2, topologyConstraint=together),
        pod_of(f"{prefix}-gang-0", namespace, f"{prefix}-gang", claim=f"{prefix}-claim"),
        pod_of(f"{prefix}-gang-1", namespace, f"{prefix}-gang"),
        pod_of(f"{prefix}-lone", namespace),
        clique_set,
        job,
    ]


def preemption(prefix: str, namespace: str) -> tuple[list[Json], list[Json]]:
    """A gang that fills the node that is set apart, and one of a higher priority that comes for it."""
    apart: dict[str, Any] = {"nodeSelector": {"apart": "yes"}}
    low, high = f"{prefix}-low", f"{prefix}-high"
    return (
        [
            pod_group_of(low, namespace, 2, priorityClassName="train"),
            *(pod_of(f"{low}-{i}", namespace, low, gpus=4, **apart) for i in range(2)),
        ],
        [
            pod_group_of(high, namespace, 2, priorityClassName="inference"),
            *(pod_of(f"{high}-{i}", namespace, high, gpus=4, **apart) for i in range(2)),
        ],
    )


@dataclass
class Report:
    """What became of a run."""

    died: list[str] = field(default_factory=list)
    """Components whose tasks ended."""
    affected: list[str] = field(default_factory=list)
    """Sound objects that are not what they should be."""
    contained: int = 0
    """How often a failure was recorded."""
    shown: bool = False
    """Whether a poisoned object shows a condition, or an event about it."""
    restarts: int = 0


class _Log:
    def __init__(self) -> None:
        self.restarts = 0
        self.failures: list[ObjectFailure] = []

    def info(self, event: str, **facts: Any) -> None:
        pass

    def warning(self, event: str, **facts: Any) -> None:  # noqa: ARG002
        self.restarts += event == "failed, and begins again"

    def failed(self, component: str, failure: ObjectFailure, error: BaseException, *, known: bool) -> None:  # noqa: ARG002
        self.failures.append(failure)


class World:
    """The cluster with everything at work."""

    def __init__(self, loop: VirtualLoop) -> None:
        clock, rng = VirtualClock(loop), Random(7)
        definitions = [one.written() for family in FAMILIES.values() for one in family]
        self.cluster = EmbeddedCluster(
            definitions, clock=clock, dice=rng, bookmark_every=_NEVER, gang_api=True
        )
        self.log = _Log()
        own = self.cluster.acting_as(USER)
        self._clock, self._rng, self._own = clock, rng, own
        settings = Settings()
        kinds = kinds_read(
            (*settings.families, *DIALECTS), (kind for each in managed() for kind in each.kinds)
        )
        self.following = Following(own, kinds, clock=clock, random=rng, record=self.log)
        more: dict[str, Any] = {"clock": clock, "random": rng, "log": self.log, "following": self.following}
        self.scheduler = Instance(own, settings, identity="s", record=self.log, **more)
        self.controllers = Controllers(own, managed(), identity="c", record=self.log, **more)
        self.map = MapInstance(own, random=rng, clock=clock, following=self.following)
        self.reviewer = Reviewer(self.cluster, operators={USER}, record=self.log)

    async def run(self) -> Report:
        """Poisoned objects come first, then sound ones; then the poisoned ones change and go."""
        report = Report()
        async with following_for(self.reviewer, self.cluster, self._clock, self._rng) as synced:
            await synced
            assert not await load(self.cluster, infrastructure())
            admit(self.cluster, self.reviewer)
            named = {
                "informer": self.following.run(),
                "scheduler": self.scheduler.run(),
                "controllers": self.controllers.run(),
                "map": self.map.run(),
                "others": run_standins(self._own, clock=self._clock, random=self._rng, leases=False),
            }
            tasks = {name: asyncio.create_task(work) for name, work in named.items()}
            try:
                await asyncio.sleep(1)
                low, high = preemption("poison", "evil")
                refused = await self._load([*workloads("poison", "evil"), *low])
                await asyncio.sleep(3)
                refused += await self._load(high)
                # A write that is refused shows the failure to its author.
                report.shown = bool(refused)
                await asyncio.sleep(2)
                report.affected += [
                    f"refused: {each}" for each in await self._load(workloads("good", "good"))
                ]
                await asyncio.sleep(60)
                await self._change()
                await asyncio.sleep(30)
                await self._delete()
                report.affected += [
                    f"refused: {each}" for each in await self._load(workloads("late", "good"))
                ]
                await asyncio.sleep(45)
                report.affected += await self._wrong()
                report.shown |= await self._is_shown()
            finally:
                for name, task in tasks.items():
                    if task.done():
                        report.died.append(f"{name}: {task.exception()!r}")
                    task.cancel()
                await asyncio.gather(*tasks.values(), return_exceptions=True)
                await self.cluster.close()
        report.contained = len(self.log.failures)
        report.restarts = self.log.restarts
        return report

    async def _load(self, objects: Sequence[Mapping[str, Any]]) -> list[str]:
        refused: list[str] = []
        for each in objects:
            try:
                refused += map(str, await load(self.cluster, [each]))
            except Exception as error:  # noqa: BLE001 (a webhook in the process of the API server)
                refused.append(repr(error))
        return refused

    async def _resources(self) -> list[Resource]:
        wanted = {"Pod", "PodGroup", "PodCliqueSet", "Job", "ResourceClaim"}
        return [each for each in await self.cluster.resources() if each.kind in wanted and each.namespaced]

    async def _poisoned(self) -> list[tuple[Resource, Json]]:
        return [
            (resource, obj)
            for resource in await self._resources()
            for obj in (await self.cluster.list(resource)).items
            if obj["metadata"].get("namespace") == "evil"
        ]

    async def _change(self) -> None:
        for resource, obj in await self._poisoned():
            patch = MergePatch({"metadata": {"labels": {"changed": "yes"}}})
            with suppress(ApiError, RuntimeError, TimeoutError):
                await self.cluster.patch(resource, obj["metadata"]["name"], patch, namespace="evil")

    async def _delete(self) -> None:
        for resource, obj in await self._poisoned():
            if resource.kind in ("PodCliqueSet", "Job") or not obj["metadata"].get("ownerReferences"):
                with suppress(ApiError, RuntimeError, TimeoutError):
                    name = obj["metadata"]["name"]
                    await self.cluster.delete(resource, name, namespace="evil", options=_NOW)

    async def _wrong(self) -> list[str]:
        """What is not as it should be with sound objects."""
        pods = {
            obj["metadata"]["name"]: obj["spec"].get("nodeName", "")
            for obj in (await self.cluster.list(PODS)).items
            if obj["metadata"].get("namespace") == "good"
        }
        wrong = [f"not bound: {name}" for name, node in pods.items() if not node]
        for prefix in ("good", "late"):
            count = sum(name.startswith(prefix) for name in pods)
            if count != 7:
                wrong.append(f"{prefix}: {count} pods instead of 7")
        used: dict[str, int] = {}
        for obj in (await self.cluster.list(PODS)).items:
            node = obj["spec"].get("nodeName")
            if node and obj.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                asked = int(obj["spec"]["containers"][0]["resources"]["requests"].get(GPU, 0))
                used[node] = used.get(node, 0) + asked
        wrong += [f"overcommitted: {node}" for node, gpus in used.items() if gpus > 8]
        try:
            self.map.live.refresh()
            rows = Api(self.map.live).workloads(Asked(path={}, query={"limit": "1000"})).items
            names = {row.name for row in rows if row.namespace == "good"}
            wrong += [f"not on the map: {each}" for each in ("good-gang", "late-gang") if each not in names]
        except Exception as error:  # noqa: BLE001 (the map must answer)
            wrong.append(f"the map does not answer: {error!r}")
        return wrong

    async def _is_shown(self) -> bool:
        for _, obj in await self._poisoned():
            if (obj.get("status") or {}).get("conditions"):
                return True
        return any("poison" in str(each.get("regarding")) for each in (await self.cluster.list(EVENTS)).items)


def run_world() -> Report:
    """One run from the beginning to the end."""
    structlog.configure(cache_logger_on_first_use=False)
    loop = VirtualLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(World(loop).run())


_LONGEST: Final = 120
"""Seconds of wall time after which a run counts as one that hangs."""


@dataclass(frozen=True)
class Result:
    """What became of a run with an injected failure."""

    point: Point
    mode: str
    hits: int
    report: Report

    @property
    def bad(self) -> bool:
        """Whether the failure did not stay with its object."""
        return bool(self.report.died or self.report.affected)

    @property
    def silent(self) -> bool:
        """Whether it happened, and left neither a record nor a condition nor an event."""
        return bool(self.hits) and not self.report.contained and not self.report.shown

    def __str__(self) -> str:
        report = self.report
        facts = (*report.died, *report.affected, *(("silent",) if self.silent else ()))
        return f"{self.point} [{self.mode}, {self.hits} hits, {report.restarts} restarts]: {'; '.join(facts)}"


def traced() -> dict[Point, FunctionType]:
    """The points of a run without failures."""
    tracer = Tracer()
    with tracer.tracing():
        report = run_world()
    assert not report.died, report.died
    assert not report.affected, report.affected
    return dict(sorted(tracer.points().items()))


def injected(point: Point, function: FunctionType, mode: str) -> Result:
    """A run in which a point fails whenever it works on a poisoned object."""
    injector = Injector()
    error = MODES[mode]

    def too_long(*_: object) -> None:
        raise KeyboardInterrupt(f"The run took more than {_LONGEST} s.")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(_LONGEST)
    try:
        with injector.failing(function, error, None):
            report = run_world()
    except BaseException as wrong:  # noqa: BLE001 (whatever ends the run would have ended the process)
        report = Report(died=[f"the run: {type(wrong).__name__}: {wrong}"])
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return Result(point, mode, injector.hits, report)
