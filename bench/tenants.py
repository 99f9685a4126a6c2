"""``python -m bench.tenants``: what one tenant waits for while the units of another take long to decide.

All of ``closeknit run`` but its HTTP client works on an embedded cluster, in virtual time that moves with the
scheduler's own processor time (``bench.virtual``), and holds a lease. One tenant has gangs that are pending:
either ``hard`` ones, of which a search takes many seconds, or ``many``, each different from all others. A
gang of four pods of another tenant arrives every two seconds, and runs for a second.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count, islice
from random import Random
from typing import Any

from bench.live import POD_GROUPS, TOPOLOGIES
from bench.virtual import Meter, MeteredApi, VirtualClock, VirtualLoop
from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DeleteOptions
from closeknit.kube.resources import NAMESPACES, NODES, PODS, Resource
from closeknit.live.leadership import LeaseName
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings

_GPU = "nvidia.com/gpu"
_NODES, _NODES_A_RACK = 128, 16
_NOW = DeleteOptions(grace_period=0)
_PARTS = {"Upkeep": "server", "_arrive": "arrivals", "_pend": "arrivals"}
_INTERVAL, _RUNS_FOR = 2.0, 1.0
_HARD_SIZES = (6, 8, 10, 12, 14)
_HARD_PODS = 150
"""Racks have room for 152 such pods in all."""

Object = tuple[Resource, dict[str, Any]]


@dataclass
class Log:
    """The scheduler's log, as far as it is measured."""

    loop: VirtualLoop
    arrived: dict[str, float] = field(default_factory=dict)
    waited: dict[str, float] = field(default_factory=dict)
    """By gang of the other tenant, how long after its arrival it was decided."""
    leases_lost: int = 0

    def info(self, event: str, **facts: Any) -> None:
        """Note decisions."""
        unit = facts.get("unit")
        if event == "decided" and facts["status"] == "placed" and unit in self.arrived:
            self.waited.setdefault(unit, self.loop.time() - self.arrived[unit])

    def warning(self, event: str, **facts: Any) -> None:
        """Note lost leases; print anything else."""
        self.leases_lost += event == "lease lost"
        print(event, facts, file=sys.stderr)


def _cluster(rng: Random) -> Iterator[Object]:
    for namespace in ("others", "slow", "quick"):
        yield NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    labels = ("zone", "rack", "kubernetes.io/hostname")
    levels = [{"nodeLabel": label} for label in labels]
    yield (
        TOPOLOGIES,
        {
            "apiVersion": TOPOLOGIES.api_version,
            "kind": "Topology",
            "metadata": {"name": "tree"},
            "spec": {"levels": levels},
        },
    )
    for number in range(_NODES):
        name = f"n{number:03}"
        domains = dict(zip(labels, ("z", f"r{number // _NODES_A_RACK}", name), strict=True))
        yield (
            NODES,
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": domains},
                "status": {"allocatable": {_GPU: "8", "cpu": "640", "memory": "2Ti", "pods": "200"}},
            },
        )
    for number in range(_NODES):
        for pod in range(rng.randint(0, 4)):
            yield _pod("others", f"held-{number:03}-{pod}", gpus=1, node=f"n{number:03}")


def _pod(
    namespace: str,
    name: str,
    *,
    gpus: int,
    group: str = "",
    subgroup: str = "",
    node: str = "",
    cpu: str = "100m",
) -> Object:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if group:
        metadata["annotations"] = {"pod-group-name": group}
    if subgroup:
        metadata["labels"] = {"kai.scheduler/subgroup-name": subgroup}
    requests = {"cpu": cpu, _GPU: str(gpus)}
    container = {"name": "main", "image": "pause", "resources": {"limits": requests, "requests": requests}}
    spec: dict[str, Any] = {"schedulerName": "closeknit", "containers": [container]}
    if node:
        spec["nodeName"] = node
    return PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _group(namespace: str, name: str, spec: dict[str, Any]) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return (
        POD_GROUPS,
        {"apiVersion": POD_GROUPS.api_version, "kind": "PodGroup", "metadata": metadata, "spec": spec},
    )


def _constraint(level: str) -> dict[str, str]:
    return {"topology": "tree", "requiredTopologyLevel": level}


def _hard_sizes() -> Iterator[list[int]]:
    """Sizes of 15 subgroups for which a search on this cluster takes all of its budget."""
    for seed in count(5):
        rng = Random(seed)
        sizes = [rng.choice(_HARD_SIZES) for _ in range(15)]
        if sum(sizes) == _HARD_PODS:
            yield sizes


def _hard(gangs: int) -> Iterator[Object]:
    """Gangs of 150 pods in 15 subgroups that each require a rack, which nearly fit."""
    for gang, sizes in enumerate(islice(_hard_sizes(), gangs)):
        name = f"hard-{gang}"
        subgroups = [
            {"name": f"s{i:02}", "minMember": size, "topologyConstraint": _constraint("rack")}
            for i, size in enumerate(sizes)
        ]
        yield _group("slow", name, {"minMember": sum(sizes), "subGroups": subgroups})
        for i, size in enumerate(sizes):
            for pod in range(size):
                yield _pod("slow", f"{name}-{i}-{pod}", gpus=4, group=name, subgroup=f"s{i:02}")


def _many(gangs: int) -> Iterator[Object]:
    """Gangs that ask for more than any rack has, no two of them for the same."""
    for gang in range(gangs):
        name = f"many-{gang}"
        yield _group("slow", name, {"minMember": 2, "topologyConstraint": _constraint("rack")})
        for pod in range(2):
            yield _pod("slow", f"{name}-{pod}", gpus=9, group=name, cpu=f"{100 + gang}m")


async def _create(cluster: EmbeddedCluster, objects: Iterator[Object]) -> None:
    for resource, obj in objects:
        await cluster.create(resource, obj)


async def _arrive(cluster: EmbeddedCluster, log: Log, seconds: float) -> None:
    end, number = log.loop.time() + seconds, 0
    while log.loop.time() < end:
        name, number = f"quick-{number}", number + 1
        log.arrived[f"PodGroup quick/{name}"] = log.loop.time()
        spec = {"minMember": 4, "topologyConstraint": _constraint("rack")}
        await cluster.create(*_group("quick", name, spec))
        for pod in range(4):
            await cluster.create(*_pod("quick", f"{name}-{pod}", gpus=1, group=name))
        await asyncio.sleep(_RUNS_FOR)
        for pod in range(4):
            with suppress(NotFoundError):
                await cluster.delete(PODS, f"{name}-{pod}", namespace="quick", options=_NOW)
        await cluster.delete(POD_GROUPS, name, namespace="quick", options=_NOW)
        await asyncio.sleep(_INTERVAL - _RUNS_FOR)


def measure(*, hard: int, many: int, minutes: float, seed: int) -> Log:
    """Let both tenants work for some virtual minutes."""
    meter = Meter()
    loop = VirtualLoop(meter, _PARTS)
    log = Log(loop)
    with closing(loop):
        loop.run_until_complete(_measured(log, meter, hard=hard, many=many, minutes=minutes, seed=seed))
    return log


async def _measured(log: Log, meter: Meter, *, hard: int, many: int, minutes: float, seed: int) -> None:
    clock = VirtualClock(log.loop)
    definitions = [one.written() for family in FAMILIES.values() for one in family]
    cluster = EmbeddedCluster(definitions, clock=clock, dice=Random(seed))
    await _create(cluster, _cluster(Random(seed)))
    api: Any = MeteredApi(cluster, meter)
    instance = Instance(
        api,
        Settings(),
        identity="bench",
        log=log,
        random=Random(seed),
        clock=clock,
        lease=LeaseName(namespace="default", name="closeknit"),
    )
    work = asyncio.create_task(instance.run())
    while not instance.ready:  # noqa: ASYNC110 (no event tells)
        await asyncio.sleep(0.1)
    await meter.steps("arrivals", _create(cluster, _hard(hard)))
    await meter.steps("arrivals", _create(cluster, _many(many)))
    await asyncio.create_task(meter.steps("arrivals", _arrive(cluster, log, minutes * 60)))
    await asyncio.sleep(10.0)
    instance.stop()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


def _report(options: argparse.Namespace, log: Log) -> None:
    waits = sorted(log.waited.values())
    print(
        f"{options.hard} hard gangs and {options.many:,} different ones of one tenant pending for "
        f"{options.minutes:g} virtual minutes; {len(log.arrived)} gangs of another tenant"
    )
    if waits:
        p99 = waits[int(len(waits) * 0.99)]
        print(
            f"decided             {len(waits)}, after a median of {statistics.median(waits) * 1000:.0f} ms, "
            f"p99 {p99 * 1000:.0f} ms, at most {waits[-1] * 1000:.0f} ms (p99 of 1 s at most allowed)"
        )
    print(f"not decided         {len(log.arrived) - len(waits)}")
    print(f"leases lost         {log.leases_lost} (none allowed)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.tenants", description=__doc__)
    parser.add_argument("--hard", type=int, default=3, help="gangs of which a search takes seconds")
    parser.add_argument("--many", type=int, default=0, help="gangs that are all different")
    parser.add_argument("--minutes", type=float, default=10.0, help="virtual minutes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    log = measure(hard=options.hard, many=options.many, minutes=options.minutes, seed=options.seed)
    _report(options, log)
    return 0


if __name__ == "__main__":
    sys.exit(main())
