"""``python -m bench.e2e.kueue``: how fast Jobs are admitted by Kueue's dialect, alone and beside Kueue.

First on the embedded cluster: Jobs that require a rack, until all their pods are let go. Then on a real API
server, with Kueue's own definitions, the same nodes, queues and Jobs for both, one after the other: all Jobs
are there, suspended, before the operator starts, and what counts is the time from the first admission to the
last. Kueue runs without its webhooks.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import structlog
from msgspec import Raw, Struct

from bench.e2e import shapes
from bench.e2e.bed import Scheduler, running
from bench.kube.shapes import Meta
from bench.kube.work import WORKERS, each
from closeknit.controllers.instance import Controllers
from closeknit.controllers.operators import OPERATORS
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import AlreadyExistsError, NotFoundError
from closeknit.kube.mirror import Mirror
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch, Propagation, Selection
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, JOBS, NAMESPACES, NODES, PODS, Resource
from closeknit.kube.rest import connect, load_access
from closeknit.kube.standins import run_standins
from closeknit.testing.control_plane import ControlPlane, GoMissingError, control_plane
from closeknit.testing.control_plane.installed import published_definitions, real_kueue
from closeknit.testing.control_plane.programs import KUEUE, built
from closeknit.testing.controlling import definitions

_GROUP, _VERSION = "kueue.x-k8s.io", "v1beta2"
_WORKLOADS = Resource(_GROUP, _VERSION, "workloads", "Workload", subresources=("status",))
_POOL = {"bench/pool": "gpu"}
_PODS, _LEAST, _MOST_SECONDS = 8, 3.0, 60.0
_PATIENCE = 900.0
_IN_BENCH = Selection(namespace=shapes.NAMESPACE)


class _GatedSpec(Struct, frozen=True, rename="camel"):
    scheduling_gates: tuple[Raw, ...] = ()


class _Gated(Struct, frozen=True, rename="camel"):
    """A pod, as far as it tells whether it was let go."""

    metadata: Meta
    spec: _GatedSpec = _GatedSpec()


_FREE = MergePatch({"metadata": {"finalizers": None}})
"""Takes off the finalizers that Kueue, which has ended, would have to."""
Object = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.e2e.kueue", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=1_000, help=f"of {_PODS} pods that require a rack")
    parser.add_argument("--part", choices=("embedded", "beside", "both"), default="both")
    options = parser.parse_args(arguments)
    print(f"load of the machine at the start {os.getloadavg()[0]:.1f}")
    if options.part != "beside":
        asyncio.run(_embedded(options.nodes, options.jobs))
    if options.part != "embedded":
        try:
            built(KUEUE, print)
            with control_plane(tell=print) as plane:
                asyncio.run(_beside(plane, nodes=options.nodes, jobs=options.jobs))
        except GoMissingError as error:
            print(error)
    return 0


def _objects(nodes: int) -> list[tuple[Resource, Object]]:
    """The nodes and the queue."""
    labels = (shapes.ZONE, shapes.RACK, shapes.HOST)
    quota = [{"name": "nvidia.com/gpu", "nominalQuota": str(nodes * shapes.GPUS)}]
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "gpu", "resources": quota}]}
    made = [
        _own("Topology", "topologies", "racks", {"levels": [{"nodeLabel": label} for label in labels]}),
        _own("ResourceFlavor", "resourceflavors", "gpu", {"nodeLabels": _POOL, "topologyName": "racks"}),
        _own("ClusterQueue", "clusterqueues", "all", {"namespaceSelector": {}, "resourceGroups": [group]}),
        _own("LocalQueue", "localqueues", "team", {"clusterQueue": "all"}, shapes.NAMESPACE),
    ]
    for number in range(nodes):
        node = shapes.node(number)
        node["metadata"]["labels"] |= _POOL
        made.append((NODES, node))
    return made


def _own(kind: str, plural: str, name: str, spec: Object, namespace: str = "") -> tuple[Resource, Object]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    body = {"apiVersion": f"{_GROUP}/{_VERSION}", "kind": kind, "metadata": metadata, "spec": spec}
    return Resource(_GROUP, _VERSION, plural, kind, namespaced=bool(namespace)), body


def _job(name: str) -> Object:
    limits = {"nvidia.com/gpu": "1"}
    pod = {
        "containers": [
            {"name": "main", "image": "train", "resources": {"requests": limits, "limits": limits}}
        ],
        "restartPolicy": "Never",
    }
    asked = {f"{_GROUP}/podset-required-topology": shapes.RACK}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": shapes.NAMESPACE, "labels": {f"{_GROUP}/queue-name": "team"}},
        "spec": {
            "suspend": True,
            "parallelism": _PODS,
            "completions": _PODS,
            "completionMode": "Indexed",
            "template": {"metadata": {"annotations": asked}, "spec": pod},
        },
    }


async def _embedded(nodes: int, jobs: int) -> None:
    """Our operator, stand-ins and the cluster in one process."""
    cluster = EmbeddedCluster(definitions())
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shapes.NAMESPACE}}
    with suppress(AlreadyExistsError):
        await cluster.create(NAMESPACES, namespace)
    for resource, body in _objects(nodes):
        await cluster.create(resource, body)
    log = structlog.wrap_logger(structlog.ReturnLogger())
    operators = Controllers(cluster, [OPERATORS["kueue"]], identity="bench", log=log, random=Random(1))
    pods: Mirror[_Gated] = Mirror(cluster, PODS, _IN_BENCH, random=Random(1), into=_Gated)
    tasks = [asyncio.create_task(work) for work in (operators.run(), run_standins(cluster), pods.run())]
    begun, used = time.perf_counter(), time.process_time()
    for number in range(jobs):
        await cluster.create(JOBS, _job(f"job-{number:04}"))
        await asyncio.sleep(0)
    let_go = 0
    while let_go < jobs * _PODS and time.perf_counter() - begun < _PATIENCE:
        await asyncio.sleep(0.5)
        let_go = sum(not pod.spec.scheduling_gates for pod in pods)
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await cluster.close()
    verdict = "met" if seconds < _MOST_SECONDS and let_go == jobs * _PODS else "MISSED"
    print(
        f"embedded cluster: {jobs:,} Jobs of {_PODS} pods, {nodes:,} nodes: {seconds:.1f} s until {let_go:,} "
        f"pods are let go ({used:.1f} s of processor)   {verdict}: under {_MOST_SECONDS:g} s",
        flush=True,
    )


async def _beside(plane: ControlPlane, *, nodes: int, jobs: int) -> None:
    access = load_access(kubeconfig=str(plane.kubeconfig))
    async with connect(access, component="bench", connections=WORKERS) as api:
        await _prepare(api, published_definitions(KUEUE), nodes)
        theirs = real_kueue(plane, "batch/job")
        closeknit = str(Path(sys.executable).with_name("closeknit"))
        others = [f"--external={name}" for name in OPERATORS if name != "kueue"]
        ours = (closeknit, "run", f"--kubeconfig={plane.kubeconfig}", "--health-port=0", "--no-scheduler")
        rivals: dict[str, Callable[[], AbstractAsyncContextManager[Scheduler]]] = {
            "kueue": lambda: running(theirs.command, plane.folder / "kueue.log", plane.folder),
            "closeknit": lambda: running((*ours, *others), plane.folder / "closeknit.log"),
        }
        rates = {name: await _measured(api, name, start, jobs) for name, start in rivals.items()}
        times = rates["closeknit"] / rates["kueue"]
        verdict = "met" if times >= _LEAST else "MISSED"
        print(f"  {times:.2f} times its rate   {verdict}: at least {_LEAST:g}", flush=True)


async def _prepare(api: KubernetesApi, defined: list[Object], nodes: int) -> None:
    """The definitions, the namespace, the queue and the nodes."""
    for definition in defined:
        with suppress(AlreadyExistsError):
            await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shapes.NAMESPACE}}
    await api.create(NAMESPACES, namespace)
    for resource, body in _objects(nodes):
        for _ in range(100):
            # A definition is served a moment after it is accepted.
            with suppress(NotFoundError):
                await api.create(resource, body)
                break
            await asyncio.sleep(0.1)


async def _measured(
    api: KubernetesApi, name: str, start: Callable[[], AbstractAsyncContextManager[Scheduler]], jobs: int
) -> float:
    """Admissions a second, from the first to the last, where all Jobs are there before."""
    await each([f"job-{number:04}" for number in range(jobs)], lambda job: api.create(JOBS, _job(job)))
    async with _admissions(api) as admitted, start() as process:
        async with asyncio.timeout(_PATIENCE):
            while len(admitted) < jobs:
                if process.process.returncode is not None:
                    last = process.log.read_text(encoding="utf-8", errors="replace")[-2_000:]
                    raise RuntimeError(f"{name} has ended:\n{last}")
                await asyncio.sleep(0.1)
        first, last_time = min(admitted.values()), max(admitted.values())
        used = process.processor_seconds()
    await _clear(api)
    rate = jobs / max(last_time - first, 0.001)
    print(
        f"  {name:<10} {last_time - first:6.1f} s, {rate:,.0f} Jobs/s; first {first - process.started:.1f} s "
        f"after the start; {used:.1f} s of processor",
        flush=True,
    )
    return rate


@asynccontextmanager
async def _admissions(api: KubernetesApi) -> AsyncIterator[dict[str, float]]:
    """When each Workload is first seen to be admitted."""
    seen: dict[str, float] = {}
    mirror: Mirror[Any] = Mirror(api, _WORKLOADS, _IN_BENCH, random=Random(1))

    async def follow() -> None:
        with mirror.changes() as changes:
            while True:
                for notice in await changes.take():
                    status = (notice.after or {}).get("status") or {}
                    held = any(
                        one["type"] == "Admitted" and one["status"] == "True"
                        for one in status.get("conditions") or ()
                    )
                    if held:
                        seen.setdefault(notice.key.name, time.perf_counter())

    tasks = [asyncio.create_task(work) for work in (mirror.run(), follow())]
    try:
        await mirror.synced()
        yield seen
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _clear(api: KubernetesApi) -> None:
    """Delete all Jobs with their pods and Workloads, whatever holds them."""
    options = DeleteOptions(propagation=Propagation.BACKGROUND)
    for resource in (JOBS, _WORKLOADS):
        found = [one["metadata"]["name"] for one in (await api.list(resource, _IN_BENCH)).items]

        async def delete(name: str, resource: Resource = resource) -> None:
            with suppress(NotFoundError):
                await api.delete(resource, name, namespace=shapes.NAMESPACE, options=options)
            if resource is _WORKLOADS:
                with suppress(NotFoundError):
                    await api.patch(resource, name, _FREE, namespace=shapes.NAMESPACE)

        await each(found, delete)
    while (await api.list(PODS, _IN_BENCH)).items:  # noqa: ASYNC110
        await asyncio.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
