"""PodCliqueSets from submit to running, on an embedded cluster with scheduler, operators and stand-ins.

``python -m bench.grove_operator 200`` prints the seconds of wall clock and of processor time for 200 sets of
50 pods each.
"""

from __future__ import annotations

import asyncio
import sys
import time
from random import Random
from typing import Any

import msgspec
import structlog

from closeknit.cli import collect_seldom
from closeknit.cli.working import Workers
from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import NotFoundError
from closeknit.kube.resources import NODES, Resource
from closeknit.kube.standins import run_standins
from closeknit.scheduler.settings import Settings

_PODS = 50
_CLIQUES = {"router": 2} | {
    f"model-{i}-{role}": n for i in (0, 1) for role, n in (("leader", 4), ("worker", 20))
}
"""The PodCliques of a set, and how many pods each has."""


def _node(name: str) -> dict[str, Any]:
    offered = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
    status = {
        "allocatable": offered,
        "capacity": offered,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def _clique(name: str, replicas: int, gpus: int) -> dict[str, Any]:
    container = {"name": "main", "image": "one", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    spec = {"roleName": name, "replicas": replicas, "podSpec": {"containers": [container]}}
    return {"name": name, "spec": spec}


def _set(name: str) -> dict[str, Any]:
    """Two routers, and a scaling group of 24 pods, one replica of which is needed and one more wanted."""
    template = {
        "cliques": [_clique("router", 2, 0), _clique("leader", 4, 1), _clique("worker", 20, 1)],
        "podCliqueScalingGroups": [
            {"name": "model", "cliqueNames": ["leader", "worker"], "replicas": 2, "minAvailable": 1}
        ],
    }
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 1, "template": template},
    }


async def run(sets: int) -> tuple[float, float]:
    """Seconds of wall clock and of processor time from the first set to the last pod that is ready."""
    definitions = [one.written() for family in FAMILIES.values() for one in family]
    cluster = EmbeddedCluster(definitions, dice=Random(1))
    resources = {each.kind: each for each in await cluster.resources()}
    for number in range(sets * _PODS // 8 + 1):
        await cluster.create(NODES, _node(f"n{number}"))
    log = structlog.wrap_logger(structlog.ReturnLogger())
    workers = Workers(cluster, identity="bench", log=log, scheduling=Settings(), external=[])
    told = asyncio.Event()
    work = asyncio.create_task(workers.run(told, [run_standins(cluster)]))
    await workers.following.synced()
    began, spent = time.perf_counter(), time.process_time()
    for number in range(sets):
        await cluster.create(resources["PodCliqueSet"], _set(f"s{number}"))
        await asyncio.sleep(0)
    await _until_ready(cluster, resources["PodClique"], sets, work)
    found = time.perf_counter() - began, time.process_time() - spent
    told.set()
    await work
    await cluster.close()
    return found


class _Status(msgspec.Struct, rename="camel", frozen=True):
    ready_replicas: int = 0


class _Clique(msgspec.Struct, frozen=True):
    status: _Status = _Status()


async def _until_ready(
    cluster: EmbeddedCluster, resource: Resource, sets: int, work: asyncio.Task[None]
) -> None:
    """Ask for one PodClique after the other until its pods are ready; to ask for all would be work too."""
    for number in range(sets):
        for name, replicas in _CLIQUES.items():
            while not work.done() and await _ready(cluster, resource, f"s{number}-0-{name}") < replicas:  # noqa: ASYNC110
                await asyncio.sleep(0.2)


async def _ready(cluster: EmbeddedCluster, resource: Resource, name: str) -> int:
    """How many pods are ready, as a PodClique says."""
    try:
        found: _Clique = await cluster.get(resource, name, namespace="default", into=_Clique)
    except NotFoundError:
        return 0
    return found.status.ready_replicas


def main() -> None:
    """Run it with as many sets as the first argument says."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    collect_seldom()
    wall, processor = asyncio.run(run(sets))
    print(f"{sets} PodCliqueSets, {sets * _PODS} pods: {wall:.1f} s, {processor:.1f} s of processor time")


if __name__ == "__main__":
    main()
