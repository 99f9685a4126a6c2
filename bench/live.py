"""How long the scheduler takes on an embedded cluster, and on what: gangs of 4 that require a rack.

    python -m bench.live [--nodes 1000] [--gangs 1000] [--profile]

The embedded cluster runs in the same process, so its own work is measured by itself first: creating the
objects, and a bare loop that binds as many pods over as many connections. Shares are of processor time.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import resource
import time
from random import Random
from typing import Any

from closeknit.apis.core_v1 import Pod
from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.loading import load
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import PODS, Resource
from closeknit.scheduler.loop import Scheduler

GPU = "nvidia.com/gpu"
POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
CONNECTIONS = 64


def nodes(count: int) -> list[dict[str, Any]]:
    """Nodes of 8 GPUs in racks of 16."""
    topology = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "tree"},
        "spec": {"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}]},
    }
    made = [topology]
    for i in range(count):
        labels = {"zone": f"z{i // 256}", "rack": f"r{i // 16}", "kubernetes.io/hostname": f"n{i}"}
        made.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"n{i}", "labels": labels},
                "status": {
                    "allocatable": {GPU: "8", "cpu": "64", "memory": "512Gi", "pods": "110"},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }
        )
    return made


def gang(number: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A PodGroup and its 4 pods of 2 GPUs."""
    name = f"gang-{number}"
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "minMember": 4,
            "topologyConstraint": {"topology": "tree", "requiredTopologyLevel": "rack"},
        },
    }
    container = {
        "name": "main",
        "image": "pause",
        "resources": {"limits": {GPU: "2"}, "requests": {"cpu": "1", "memory": "1Gi", GPU: "2"}},
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{i}",
                "namespace": "default",
                "annotations": {"pod-group-name": name},
            },
            "spec": {"schedulerName": "kai-scheduler", "containers": [container]},
        }
        for i in range(4)
    ]
    return group, pods


async def create(api: KubernetesApi, gangs: int) -> None:
    """Create all gangs over as many connections."""
    pending = iter(range(gangs))

    async def worker() -> None:
        for number in pending:
            group, pods = gang(number)
            await api.create(POD_GROUPS, group)
            for pod in pods:
                await api.create(PODS, pod)
            await asyncio.sleep(0)

    await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))


async def bind_bare(api: KubernetesApi, gangs: int, count: int) -> None:
    """Bind all pods to some node or other, over as many connections."""
    pending = iter(range(4 * gangs))

    async def worker() -> None:
        for number in pending:
            name = f"gang-{number // 4}-{number % 4}"
            await api.bind(name, f"n{(number // 4) % count}", namespace="default")
            await asyncio.sleep(0)

    await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))


async def bare(count: int, gangs: int) -> tuple[float, float]:
    """Seconds of processor time to create all, and to bind all, without a scheduler."""
    cluster = await _cluster(count)
    began = time.process_time()
    await create(cluster, gangs)
    created = time.process_time()
    await bind_bare(cluster, gangs, count)
    ended = time.process_time()
    await cluster.close()
    return created - began, ended - created


async def scheduled(count: int, gangs: int, *, profile: bool) -> tuple[float, float, Scheduler]:
    """Seconds of wall clock and of processor time from the first creation to the last binding."""
    cluster = await _cluster(count)
    scheduler = Scheduler(cluster, random=Random(1))
    work = asyncio.create_task(scheduler.run())
    await scheduler.synced()
    await asyncio.sleep(0.2)
    profiler = cProfile.Profile()
    if profile:
        profiler.enable()
    began, used = time.perf_counter(), time.process_time()
    creating = asyncio.create_task(create(cluster, gangs))
    while scheduler.counters.bindings < 4 * gangs:
        await asyncio.sleep(0.005)
        if work.done():
            work.result()
    ended, spent = time.perf_counter() - began, time.process_time() - used
    if profile:
        profiler.disable()
        pstats.Stats(profiler).sort_stats("cumulative").print_stats(70)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(40)
    await creating
    page = await cluster.list(PODS, into=Pod)
    assert all(pod.spec.node_name for pod in page.items)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await cluster.close()
    return ended, spent, scheduler


async def _cluster(count: int) -> EmbeddedCluster:
    definitions = [one.written() for family in FAMILIES.values() for one in family]
    cluster = EmbeddedCluster(definitions, dice=Random(1), history=100_000)
    refused = await load(cluster, nodes(count))
    assert not refused, refused
    return cluster


async def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--gangs", type=int, default=1000)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    creating, binding = await bare(given.nodes, given.gangs)
    pods = 4 * given.gangs
    print(f"create {creating:.2f} s, bare bind {binding:.2f} s ({pods / binding:.0f}/s)")
    took, spent, scheduler = await scheduled(given.nodes, given.gangs, profile=given.profile)
    own = (spent - creating - binding) / pods * 1000
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"scheduled {took:.2f} s ({pods / took:.0f} pods/s), {spent:.2f} s of processor time")
    print(f"{own:.3f} ms of its own a pod")
    print(f"{scheduler.counters}; {memory} MB")


if __name__ == "__main__":
    asyncio.run(main())
