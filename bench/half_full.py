"""``python -m bench.half_full``: how many GPUs of half-full racks the engine fills, next to a greedy pass.

Gangs are placed first come, first served, on a cluster with racks that differ in how full they are. No gang
ends, and one that finds no place is skipped. The greedy pass does what simple schedulers do: the tightest
domain that takes the gang, and in it the fullest node that takes each pod.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import numpy as np

from bench.clusters import (
    BLOCK,
    GPUS_A_NODE,
    HOST,
    NODES_A_RACK,
    RACK,
    RACKS_A_BLOCK,
    TOPOLOGY,
    empty_cluster,
    pod,
)
from bench.samples import CLOCKS, Clock
from closeknit.engine import Engine
from closeknit.engine.tree import Ints
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Group, PodSet, Request

DEMANDS = (0.70, 0.85, 0.90)
_SPAN = {HOST: 1, RACK: NODES_A_RACK, BLOCK: NODES_A_RACK * RACKS_A_BLOCK}
"""Nodes in a full domain of each level."""
_LARGEST_FOR_A_RACK = 64
"""GPUs up to which a gang requires a rack; larger ones require a block."""


@dataclass(frozen=True, slots=True)
class Gang:
    """Equal pods that are placed together or not at all."""

    pods: int
    gpus: int
    """Per pod."""
    required: str | None = None
    preferred: str | None = None

    @property
    def demand(self) -> int:
        """GPUs of all its pods."""
        return self.pods * self.gpus

    def request(self, name: str) -> Request:
        """The gang as the engine takes it."""
        workers = PodSet("workers", self.pods, pod(self.gpus))
        return Request(name, Group("gang", (workers,), self.required, self.preferred), TOPOLOGY.name)

    def levels(self) -> list[str | None]:
        """The levels at which a domain is acceptable, from the preferred one to the required one."""
        order = [HOST, RACK, BLOCK, None]
        return order[order.index(self.preferred or self.required) : order.index(self.required) + 1]


@dataclass(slots=True)
class Result:
    """What one scheduler placed."""

    gangs: int = 0
    gpus: int = 0
    seconds: list[float] = field(default_factory=list)
    """Processor time of each decision."""

    def add(self, gang: Gang, seconds: float, *, placed: bool) -> None:
        """Count one decision."""
        self.seconds.append(seconds)
        if placed:
            self.gangs += 1
            self.gpus += gang.demand


def half_full_racks(size: int, rng: Random) -> tuple[Cluster, Ints]:
    """A cluster with racks that single-GPU pods fill by 20 to 80 percent, and the GPUs left by node."""
    bare = empty_cluster(size)
    free = np.full(size, GPUS_A_NODE, dtype=np.int64)
    for first in range(0, size, NODES_A_RACK):
        gpus = [node for node in range(first, min(first + NODES_A_RACK, size)) for _ in range(GPUS_A_NODE)]
        for node in rng.sample(gpus, round(len(gpus) * rng.uniform(0.2, 0.8))):
            free[node] -= 1
    one = pod(1)
    holdings = (
        Holding(f"tenant-{number}", node.name, one, GPUS_A_NODE - int(left))
        for number, (node, left) in enumerate(zip(bare.nodes, free, strict=True))
        if left < GPUS_A_NODE
    )
    return Cluster(bare.topologies, bare.nodes, tuple(holdings)), free


def gangs(most: int, rng: Random) -> Iterator[Gang]:
    """Gangs until their demand reaches so many GPUs."""
    while most > 0:
        gang = _gang(rng)
        most -= gang.demand
        yield gang


def _gang(rng: Random) -> Gang:
    kind = rng.random()
    if kind < 0.05:
        return Gang(rng.choice((2, 4)), rng.choice((1, 2)), required=HOST)
    pods, gpus = rng.choice((2, 4, 8, 16, 32)), rng.choice((1, 2, 2, 4))
    if kind < 0.65:
        return Gang(pods, gpus, required=RACK if pods * gpus <= _LARGEST_FOR_A_RACK else BLOCK)
    return Gang(pods, gpus, required=BLOCK if kind < 0.80 else None, preferred=RACK)


def greedy(free: Ints, gang: Gang) -> bool:
    """Place a gang in the tightest domain that takes it, each pod on the fullest node; updates ``free``."""
    room = free // gang.gpus
    for level in gang.levels():
        span = _SPAN[level] if level is not None else len(free)
        starts = np.arange(0, len(free), span)
        fits = np.flatnonzero(np.add.reduceat(room, starts) >= gang.pods)
        if not len(fits):
            continue
        start = int(starts[fits[np.argmin(np.add.reduceat(free, starts)[fits])]])
        inside = free[start : start + span]
        for _ in range(gang.pods):
            nodes = np.flatnonzero(inside >= gang.gpus)
            inside[nodes[np.argmin(inside[nodes])]] -= gang.gpus
        return True
    return False


def run(size: int, seed: int, demand: float, clock: Clock) -> tuple[Result, Result]:
    """What the engine and the greedy pass place of the same gangs."""
    rng = Random(f"{size} {seed} {demand}")
    cluster, free = half_full_racks(size, rng)
    asked = list(gangs(round(int(free.sum()) * demand), rng))
    engine, engine_result, greedy_result = Engine(cluster), Result(), Result()
    for number, gang in enumerate(asked):
        request = gang.request(f"gang-{number}")
        begun = clock()
        outcome = engine.decide(request)
        engine_result.add(gang, clock() - begun, placed=isinstance(outcome, Placed))
        if isinstance(outcome, Placed):
            engine.apply(request, outcome)
        begun = clock()
        placed = greedy(free, gang)
        greedy_result.add(gang, clock() - begun, placed=placed)
    return engine_result, greedy_result


def main(arguments: list[str] | None = None) -> int:
    """Print a row for each run, then the least and the average share; the exit status is always 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.half_full", description=__doc__)
    parser.add_argument("--sizes", type=_numbers, default=[2_000, 5_000], metavar="2000,5000")
    parser.add_argument("--seeds", type=_numbers, default=[1, 2, 3, 4, 5], metavar="1,2,3")
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="processor", help="whose time is counted")
    options = parser.parse_args(arguments)
    print(" nodes  seed  demand  gangs  engine  greedy  GPUs engine  greedy   share  ms median     p99")
    shares: dict[tuple[int, float], list[float]] = {}
    for size in options.sizes:
        for demand in DEMANDS:
            for seed in options.seeds:
                engine, by_greedy = run(size, seed, demand, CLOCKS[options.clock])
                share = engine.gpus / by_greedy.gpus
                shares.setdefault((size, demand), []).append(share)
                print(
                    f"{size:6,}  {seed:4}  {demand:6.0%}  {len(engine.seconds):5}  {engine.gangs:6}"
                    f"  {by_greedy.gangs:6}  {engine.gpus:11,}  {by_greedy.gpus:6,}  {share:6.1%}"
                    f"  {_milliseconds(engine, 0.5):9.3f}  {_milliseconds(engine, 0.99):6.3f}",
                    flush=True,
                )
    print()
    for (size, demand), found in shares.items():
        print(f"{size:6,} nodes, {demand:.0%}: {_summary(found)}")
    print(f"all: {_summary([share for found in shares.values() for share in found])}")
    return 0


def _summary(shares: list[float]) -> str:
    return f"least {min(shares):.2%}, average {sum(shares) / len(shares):.2%} of the GPUs of the greedy pass"


def _milliseconds(result: Result, quantile: float) -> float:
    ordered = sorted(result.seconds)
    return 1000 * ordered[min(int(len(ordered) * quantile), len(ordered) - 1)]


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.replace("_", "").split(",")]


if __name__ == "__main__":
    sys.exit(main())
