"""A greedy pass in plain Python: the fullest domain that fits, from below. The engine must never use more domains.

A request is a list of parts, each of equal pods that share one domain of a level, inside one domain around all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from closeknit.hub.cluster import Cluster
from closeknit.hub.drawing import GPU
from closeknit.hub.nodes import Node
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import DomainPath, Level, Topology

LABELS = ("block", "rack", "host")
TOPOLOGY = Topology("greedy", tuple(map(Level, LABELS)))


class Part(NamedTuple):
    """Equal pods in one domain of a level; None for anywhere."""

    pods: int
    gpus: int
    level: str | None


class Asked(NamedTuple):
    """Parts that share one domain of a level."""

    parts: tuple[Part, ...]
    level: str | None

    def request(self) -> Request:
        """The same for the engine."""
        sets = [PodSet(f"p{i}", part.pods, Resources({GPU: part.gpus})) for i, part in enumerate(self.parts)]
        if len(sets) == 1 and self.parts[0].level is None:
            return Request("w", Group("root", (sets[0],), self.level), TOPOLOGY.name)
        members = (
            Group(f"g{i}", (pods,), part.level)
            for i, (pods, part) in enumerate(zip(sets, self.parts, strict=True))
        )
        return Request("w", Group("root", tuple(members), self.level), TOPOLOGY.name)


def random_hosts(rng: Random) -> Cluster:
    """Fifty to 300 hosts of which some GPUs are free."""
    in_rack, in_block = rng.choice((4, 8, 12, 16)), rng.choice((2, 3, 4, 8))
    nodes = []
    for i in range(rng.randint(50, 300)):
        rack = i // in_rack
        labels = {"block": f"b{rack // in_block:02}", "rack": f"r{rack:03}", "host": f"n{i:03}"}
        nodes.append(Node(f"n{i:03}", labels, Resources({GPU: rng.randint(0, 8), "pods": 110})))
    return Cluster((TOPOLOGY,), tuple(nodes))


def random_asked(rng: Random, cluster: Cluster) -> Asked:
    """One part, equal parts, or parts of several sizes and shapes."""
    free = sum(node.allocatable.get(GPU, 0) for node in cluster.nodes)
    around = rng.choice((None, None, "block", "block", "rack"))
    share = {None: 0.7, "block": 0.2, "rack": 0.05}[around]
    budget = max(int(free * rng.uniform(0.1, 1) * share), 2)
    if rng.random() < 0.4:
        gpus = rng.choice((1, 1, 2, 3, 4))
        return Asked((Part(max(budget // gpus, 1), gpus, None),), around)
    levels = (None, "rack", "host") if around != "rack" else (None, "host")
    parts: list[Part] = []
    if rng.random() < 0.3:
        part = Part(rng.randint(1, 6), rng.choice((1, 1, 2)), rng.choice(levels))
        parts = [part] * max(budget // (part.pods * part.gpus), 1)
    while not parts or (budget > 0 and len(parts) < 12):
        parts.append(
            Part(rng.randint(1, max(budget // 4, 1)), rng.choice((1, 1, 2, 4)), rng.choice(levels[:2]))
        )
        budget -= parts[-1].pods * parts[-1].gpus
    return Asked(tuple(parts), around)


class Greedy:
    """Places parts one after the other, the largest first."""

    def __init__(self, cluster: Cluster, asked: Asked) -> None:
        self._asked = asked
        self._free = {
            tuple(node.labels[label] for label in LABELS): node.allocatable.get(GPU, 0)
            for node in cluster.nodes
        }

    def used(self) -> tuple[int, ...] | None:
        """How many blocks, racks and hosts a pass uses that fills one domain after the other; None if none fits."""
        parts = sorted(self._asked.parts, key=lambda part: (part.level is None, -part.pods * part.gpus))
        found = [
            tuple(len({path[:depth] for path in hosts}) for depth in range(1, len(LABELS) + 1))
            for domain in self._domains(self._asked.level, ())
            if (hosts := self._all(parts, domain)) is not None
        ]
        return min(found, default=None)

    def _domains(self, level: str | None, inside: DomainPath) -> list[DomainPath]:
        if level is None:
            return [inside]
        depth = LABELS.index(level) + 1
        return sorted({path[:depth] for path in self._free if path[: len(inside)] == inside})

    def _all(self, parts: Sequence[Part], inside: DomainPath) -> Counter[DomainPath] | None:
        left, hosts = dict(self._free), Counter[DomainPath]()
        for part in parts:
            room = {path: free // part.gpus for path, free in left.items() if path[: len(inside)] == inside}
            fitting = [
                domain for domain in self._domains(part.level, inside) if _sum(room, domain) >= part.pods
            ]
            if not fitting:
                return None
            domain = min(fitting, key=lambda domain: (_sum(room, domain), domain))
            for path, pods in _filled(room, domain, part.pods):
                left[path] -= pods * part.gpus
                hosts[path] += pods
        return hosts


def _sum(room: dict[DomainPath, int], inside: DomainPath) -> int:
    return sum(pods for path, pods in room.items() if path[: len(inside)] == inside)


def _filled(room: dict[DomainPath, int], inside: DomainPath, pods: int) -> Iterator[tuple[DomainPath, int]]:
    """Go down into the fullest domain that takes all, or else fill the roomiest first."""
    if len(inside) == len(LABELS):
        yield inside, pods
        return
    children = Counter[DomainPath]()
    for path, free in room.items():
        if path[: len(inside)] == inside:
            children[path[: len(inside) + 1]] += free
    while pods:
        fitting = [child for child, free in children.items() if free >= pods]
        if fitting:
            child = min(fitting, key=lambda child: (children[child], child))
        else:
            child = min(children, key=lambda child: (-children[child], child))
        taken = min(pods, children.pop(child))
        if taken:
            yield from _filled(room, child, taken)
        pods -= taken
