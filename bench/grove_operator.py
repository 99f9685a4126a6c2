"""PodCliqueSets from submit to running, on an embedded cluster with scheduler, operators and stand-ins.

``python -m bench.grove_operator 200`` prints the seconds of wall clock and of processor time for 200 sets of
50 pods each.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from random import Random
from typing import Any

import msgspec
import structlog

from closeknit.cli.working import Workers
from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.resources import NODES
from closeknit.kube.standins import run_standins
from closeknit.scheduler.settings import Settings

_PODS = 50


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
    while not work.done() and await _ready(cluster, resources["PodClique"]) < sets * _PODS:  # noqa: ASYNC110
        # Counting reads every PodClique, in the process that is measured: once a second is enough.
        await asyncio.sleep(1)
    found = time.perf_counter() - began, time.process_time() - spent
    told.set()
    await work
    await cluster.close()
    return found


class _Status(msgspec.Struct, rename="camel", frozen=True):
    ready_replicas: int = 0


class _Clique(msgspec.Struct, frozen=True):
    status: _Status = _Status()


async def _ready(cluster: EmbeddedCluster, resource: Any) -> int:
    """How many pods are ready, as PodCliques say."""
    found = (await cluster.list(resource, into=_Clique)).items
    return sum(each.status.ready_replicas for each in found)


def main() -> None:
    """Run it with as many sets as the first argument says."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    # As the command line does.
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    wall, processor = asyncio.run(run(sets))
    print(f"{sets} PodCliqueSets, {sets * _PODS} pods: {wall:.1f} s, {processor:.1f} s of processor time")


if __name__ == "__main__":
    main()
