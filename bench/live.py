"""``python -m bench.live``: whether the scheduler keeps up on a large cluster, and what its time goes to.

All of ``closeknit run`` but its HTTP client works on an embedded cluster, in virtual time: gangs arrive at a
fixed rate, run for a while and go. The clock moves with the scheduler's own processor time and with nothing
else, see ``bench.virtual``. It keeps up if, when the last gang arrives, no more gangs are undecided than
arrive in a second.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import os
import pstats
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from resource import RUSAGE_SELF, getrusage
from typing import Any

from bench.virtual import FREE, Meter, MeteredApi, VirtualClock, VirtualLoop
from closeknit.dialects.definitions import FAMILIES
from closeknit.engine import Engine
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DeleteOptions
from closeknit.kube.resources import NODES, PODS, Resource
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings

_GPU = "nvidia.com/gpu"
POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", subresources=("status",))
TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)
_SIZES = tuple(2**power for power in range(10))
_RACK, _BLOCK = 16, 256
_NOW = DeleteOptions(grace_period=0)
_PARTS = {
    "Scheduler._work": "queue and decisions",
    "Mirror": "mirror",
    "Following": "mirror",
    "Binder": "writes",
    "Reporter": "reports",
    "Recorder": "reports",
    "Upkeep": "server",
    "_arrive": "arrivals",
    "_sample": "arrivals",
}
_ENGINE = ("solve", "decide", "hold", "release_pods", "fits", "room", "capacity", "add_node")


@dataclass
class Run:
    """What has happened so far; the scheduler's log."""

    loop: VirtualLoop
    arrived: dict[str, float] = field(default_factory=dict)
    """By unit, when it was due to arrive."""
    decided: dict[str, float] = field(default_factory=dict)
    """By unit, how long after that it was placed."""
    bound: int = 0
    left: int = 0
    """How many were not decided when the last arrived."""
    backlog: list[int] = field(default_factory=list)
    """In each second, how many had arrived and were not decided."""

    def info(self, event: str, **facts: Any) -> None:
        """Note decisions and bindings."""
        if event == "decided" and facts["status"] == "placed":
            self.decided.setdefault(facts["unit"], self.loop.time() - self.arrived[facts["unit"]])
        self.bound += event == "scheduled"

    def warning(self, event: str, **facts: Any) -> None:
        """Nothing of that kind should happen here."""
        print(event, facts, file=sys.stderr)

    @property
    def undecided(self) -> int:
        """How many have arrived and are not decided."""
        return len(self.arrived) - len(self.decided)


def _cluster_objects(nodes: int) -> Iterator[tuple[Resource, dict[str, Any]]]:
    levels = [{"nodeLabel": label} for label in ("block", "rack", "kubernetes.io/hostname")]
    yield (
        TOPOLOGIES,
        {
            "apiVersion": TOPOLOGIES.api_version,
            "kind": "Topology",
            "metadata": {"name": "tree"},
            "spec": {"levels": levels},
        },
    )
    for number in range(nodes):
        name = f"n{number}"
        labels = {
            "block": f"b{number // _BLOCK}",
            "rack": f"r{number // _RACK}",
            "kubernetes.io/hostname": name,
        }
        yield (
            NODES,
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "status": {
                    "allocatable": {_GPU: "8", "cpu": "64", "memory": "512Gi", "pods": "110"},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            },
        )


def _gang(name: str, pods: int) -> Iterator[tuple[Resource, dict[str, Any]]]:
    """A gang that requires a rack, or a block where it is large; each pod has one GPU."""
    level = "rack" if pods <= 32 else "block"
    yield (
        POD_GROUPS,
        {
            "apiVersion": POD_GROUPS.api_version,
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "minMember": pods,
                "topologyConstraint": {"topology": "tree", "requiredTopologyLevel": level},
            },
        },
    )
    asked = {"cpu": "1", "memory": "1Gi", _GPU: "1"}
    container = {"name": "main", "image": "pause", "resources": {"limits": asked, "requests": asked}}
    for number in range(pods):
        yield (
            PODS,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{name}-{number}",
                    "namespace": "default",
                    "annotations": {"pod-group-name": name},
                },
                "spec": {"schedulerName": "closeknit", "containers": [container]},
            },
        )


def _sizes(pods: int, dice: Random) -> list[int]:
    """Sizes of gangs, as many pods in those of each size, in any order."""
    share = pods // len(_SIZES)
    sizes = [size for size in _SIZES for _ in range(max(share // size, 1))]
    dice.shuffle(sizes)
    return sizes


async def _arrive(
    cluster: EmbeddedCluster, run: Run, sizes: Sequence[int], rate: float, lifetime: float
) -> None:
    loop, begun = run.loop, run.loop.time()
    leaving: set[asyncio.Task[None]] = set()

    async def leave(name: str, pods: int) -> None:
        await asyncio.sleep(lifetime)
        for resource, each in ((PODS, f"{name}-{number}") for number in range(pods)):
            with suppress(NotFoundError):
                await cluster.delete(resource, each, namespace="default", options=_NOW)
        await cluster.delete(POD_GROUPS, name, namespace="default", options=_NOW)

    for number, size in enumerate(sizes):
        due = begun + number / rate
        await asyncio.sleep(max(due - loop.time(), 0.0))
        name = f"gang-{number}"
        run.arrived[f"PodGroup default/{name}"] = due
        for resource, obj in _gang(name, size):
            await cluster.create(resource, obj)
        leaving.add(task := asyncio.create_task(leave(name, size)))
        task.add_done_callback(leaving.discard)


async def _sample(run: Run) -> None:
    while True:
        await asyncio.sleep(1.0)
        run.backlog.append(run.undecided)


async def _measured(loop: VirtualLoop, meter: Meter, options: argparse.Namespace) -> None:
    clock, run = VirtualClock(loop), Run(loop)
    definitions = [one.written() for family in FAMILIES.values() for one in family]
    cluster = EmbeddedCluster(definitions, clock=clock, dice=Random(options.seed))
    for resource, obj in _cluster_objects(options.nodes):
        await cluster.create(resource, obj)
    api: Any = MeteredApi(cluster, meter)
    instance = Instance(api, Settings(), identity="bench", log=run, random=Random(options.seed), clock=clock)
    sizes = _sizes(options.pods, Random(options.seed))
    work = asyncio.create_task(instance.run())
    while not instance.ready:  # noqa: ASYNC110 (nobody tells)
        await asyncio.sleep(0.1)
    await asyncio.sleep(1.0)
    begun, before = loop.time(), dict(meter.seconds)
    sampling = asyncio.create_task(_sample(run))
    profiler = cProfile.Profile()
    if options.profile:
        profiler.enable()
    await asyncio.create_task(
        meter.steps("arrivals", _arrive(cluster, run, sizes, options.rate, options.lifetime))
    )
    last, run.left = loop.time(), run.undecided
    while run.bound < len(sizes) and not work.done():  # noqa: ASYNC110 (nobody tells)
        await asyncio.sleep(0.1)
    profiler.disable()
    sampling.cancel()
    took = {part: seconds - before.get(part, 0.0) for part, seconds in meter.seconds.items()}
    _tell(options, took, run, sizes, (last - begun, loop.time() - last))
    if options.profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(60)
        pstats.Stats(profiler).sort_stats("cumulative").print_stats(80)
    instance.stop()
    work.cancel()
    await asyncio.gather(work, sampling, return_exceptions=True)


def _tell(
    options: argparse.Namespace,
    processor: dict[str, float],
    run: Run,
    sizes: Sequence[int],
    virtual: tuple[float, float],
) -> None:
    waits = sorted(run.decided.values())
    p99 = waits[int(len(waits) * 0.99)]
    keeps_up = run.left <= options.rate
    peak = getrusage(RUSAGE_SELF).ru_maxrss // 1024
    arriving, after = virtual
    own = {part: seconds for part, seconds in _most_first(processor) if part not in FREE}
    total = sum(own.values())
    shares = ", ".join(f"{part} {seconds / total:.0%}" for part, seconds in own.items())
    rows = {
        "arrivals": f"{arriving:.1f} s of virtual time; the last gang was bound {after:.1f} s after the last",
        "decided after": f"median {statistics.median(waits) * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms, "
        f"at most {waits[-1] * 1000:.0f} ms, from a gang's arrival",
        "undecided": f"{run.left} gangs when the last arrived, at most {max(run.backlog, default=0)}",
        "processor": f"{total / (arriving + after):.2f} s a virtual second, "
        f"{total / sum(sizes) * 1000:.2f} ms a pod",
        "of that": shares,
        "memory": f"{peak} MB, embedded cluster included",
        "keeps up": f"{'yes' if keeps_up else 'NO'}: when the last gang arrived, "
        f"{'no more' if keeps_up else 'more'} than {options.rate:g} were undecided",
    }
    print(
        f"{options.nodes:,} nodes, {sum(sizes):,} pods in {len(sizes):,} gangs of {min(sizes)} to "
        f"{max(sizes)}, {options.rate:g} gangs a virtual second; load {os.getloadavg()[0]:.1f}"
    )
    for name, told in rows.items():
        print(f"{name:<20}{told}")


def _most_first(processor: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(processor.items(), key=lambda pair: -pair[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=100.0, help="gangs a virtual second")
    parser.add_argument("--lifetime", type=float, default=100.0, help="virtual seconds until a gang goes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="print the functions that take most")
    options = parser.parse_args(arguments)
    # As `closeknit run` does.
    gc.set_threshold(50_000, 20, 100)
    meter = Meter()
    for name in _ENGINE:
        setattr(Engine, name, meter.calls("engine", getattr(Engine, name)))
    setattr(ClusterState, "news", meter.calls("units from objects", ClusterState.news))  # noqa: B010
    loop = VirtualLoop(meter, _PARTS)
    asyncio.set_event_loop(loop)
    loop.run_until_complete(_measured(loop, meter, options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
