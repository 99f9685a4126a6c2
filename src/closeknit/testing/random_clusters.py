"""Small random clusters with everything that makes placing hard: few kinds of machines, so that many
are equal; rack names used again in other blocks; labels missing; nodes that keep pods away; other
workloads that hold part of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.drawing import GPU, HOSTNAME
from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.testing.drawings import free

TOPOLOGY = "default"
LEVELS = ("zone", "block", "rack")
POOL = "pool"
GENERATION = "generation"
POOLS = ("a", "b")
DEDICATED = "dedicated"
_PORTS = (HostPort(7777), HostPort(7777, address="10.0.0.1"), HostPort(7777, address="10.0.0.2"))


@dataclass(frozen=True, slots=True)
class Size:
    """How large an instance may become."""

    nodes: int = 12
    pods: int = 24
    groups: int = 8
    ruled: float = 0.0
    """Of all requests, the share with rules among pods."""


USUAL = Size()
RULED = Size(ruled=0.3)
TINY = Size(nodes=4, pods=5, groups=4)
"""Small enough for brute force."""


def random_cluster(rng: Random, size: Size = USUAL) -> Cluster:
    """A cluster of one to three levels, sometimes with the host as a level of its own."""
    labels = LABELS_BY_DEPTH[rng.choice((1, 2, 2, 3, 3))]
    levels = tuple(Level(label, label) for label in labels)
    if rng.random() < 0.2:
        levels += (Level(HOSTNAME, "host"),)
    count = max(rng.randint(2, size.nodes), rng.randint(2, size.nodes))
    kinds = [_machine(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
    fans = _fans(rng, len(labels), most=max(rng.choice((count // 3, count // 2, count)), 2))
    gaps = rng.random() < 0.25
    marks = rng.random() < 0.3
    nodes = []
    for number in range(1, count + 1):
        path = [f"{label[0]}{rng.randint(1, fan)}" for label, fan in zip(labels, fans, strict=True)]
        node = rng.choice(kinds)
        own = {**node.labels, **dict(zip(labels, path, strict=True)), HOSTNAME: f"n{number}"}
        if gaps and rng.random() < 0.25:
            del own[rng.choice([level.label for level in levels])]
        node = replace(node, name=f"n{number}", labels=own)
        nodes.append(_marked(rng, node) if marks else node)
    rng.shuffle(nodes)
    topologies = [Topology(TOPOLOGY, levels)]
    if rng.random() < 0.1:
        topologies.append(Topology("other", (Level(POOL), *levels[-1:])))
        rng.shuffle(topologies)
    cluster = Cluster(tuple(topologies), tuple(nodes))
    return occupied(rng, cluster, share=rng.choice((0.3, 0.6))) if rng.random() < 0.35 else cluster


def _fans(rng: Random, depth: int, *, most: int) -> list[int]:
    """How many domains each domain of the level above holds, with at most so many racks in all."""
    fans = [1] * depth
    for _ in range(6):
        level = rng.randrange(depth)
        if math.prod(fans) // fans[level] * (fans[level] + 1) <= most:
            fans[level] += 1
    return fans


LABELS_BY_DEPTH = {depth: LEVELS[-depth:] for depth in range(1, len(LEVELS) + 1)}


def occupied(rng: Random, cluster: Cluster, *, share: float) -> Cluster:
    """The same cluster after other workloads took something from this share of its nodes."""
    left = free(cluster)
    taken = []
    for node in cluster.nodes:
        here = left[node.name]
        if rng.random() >= share:
            continue
        gpus, cpu = here.get(GPU, 0), here.get("cpu", 0)
        pod = Resources(
            {
                GPU: rng.randint(0, min(gpus, 2)) if gpus > 0 else 0,
                "cpu": rng.randint(0, cpu // HALF_CORE) * HALF_CORE if cpu > 0 else 0,
            }
        )
        most = min(
            [2, *(here.get(name, 0) // units for name, units in pod.items())]
            + ([here.get("pods", 0)] if "pods" in node.allocatable else [])
        )
        if most > 0 and pod:
            ports = some_port(rng.random(), 0.05)
            count = 1 if ports else rng.randint(1, most)
            taken.append(Holding(rng.choice(("w1", "w2", "w3")), node.name, pod, count, ports))
    return replace(cluster, holdings=(*cluster.holdings, *taken))


def overcommitted(rng: Random, cluster: Cluster) -> Cluster:
    """The same cluster after one node came to offer less, perhaps less than what is held on it."""
    node = rng.choice(cluster.nodes)
    # An amount of zero is no entry, and a node without an entry for pods would take any number.
    less = {name: rng.randint(name == "pods", units) for name, units in node.allocatable.items()}
    smaller = replace(node, allocatable=Resources(less))
    return replace(cluster, nodes=tuple(smaller if each is node else each for each in cluster.nodes))


HALF_CORE = 500_000_000


def _machine(rng: Random) -> Node:
    """A kind of machine; nodes are copies of it under names of their own."""
    offered = {
        GPU: rng.choice((0, 1, 2, 3, 3, 4, 4, 5, 8)),
        "cpu": rng.choice((1, 2, 2, 4, 8)) * 2 * HALF_CORE,
    }
    if rng.random() < 0.25:
        offered["pods"] = rng.randint(1, 6)
    if rng.random() < 0.15:
        offered["memory"] = rng.choice((2, 4, 8)) * 2**30
    labels = {}
    if rng.random() < 0.6:
        labels[POOL] = rng.choice(POOLS)
    if rng.random() < 0.3:
        labels[GENERATION] = str(rng.randint(1, 3))
    return Node("kind", labels, Resources(offered))


def _marked(rng: Random, node: Node) -> Node:
    """Sometimes keep pods away from a node."""
    chance = rng.random()
    if chance < 0.08:
        return replace(node, unschedulable=True)
    if chance < 0.14:
        return replace(node, ready=False)
    if chance < 0.35:
        effect = rng.choice(tuple(Effect))
        return replace(node, taints=(Taint(DEDICATED, effect, rng.choice(POOLS)),))
    return node


def some_port(drawn: float, share: float) -> frozenset[HostPort]:
    """A host port, for this share of all numbers from 0 to 1; half of them at one address only."""
    if drawn >= share:
        return frozenset()
    return frozenset([_PORTS[max(int(drawn / share * 4) - 1, 0)]])
