"""Random requests of equal pods in slices of slices, and the same counted in plain Python."""

from __future__ import annotations

from random import Random

from closeknit.hub.cluster import Cluster
from closeknit.hub.drawing import GPU
from closeknit.hub.nodes import Node
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.testing.drawings import free

TOPOLOGY = Topology("nested", tuple(map(Level, ("block", "rack", "host"))))


def random_racks(rng: Random, nodes: int) -> Cluster:
    """Blocks of racks of hosts, each with some GPUs free."""
    in_rack, in_block, most = rng.choice((4, 6, 8, 16)), rng.choice((2, 4, 8)), rng.choice((3, 4, 8))
    made = []
    for i in range(nodes):
        rack = i // in_rack
        labels = {"block": f"b{rack // in_block}", "rack": f"r{rack}", "host": f"n{i}"}
        made.append(Node(f"n{i}", labels, Resources({GPU: rng.randint(0, most), "pods": 110})))
    return Cluster((TOPOLOGY,), tuple(made))


def sliced(
    topology: Topology, layers: list[tuple[str | None, int]], required: str | None, preferred: str | None
) -> Request:
    """``layers``, outermost first: the level of each slice, and how many of these the slice around it has."""

    def members(name: str, inside: list[tuple[str | None, int]]) -> tuple[Member, ...]:
        level, number = inside[0]
        if len(inside) == 1:
            return (PodSet(f"{name}p", number, Resources({GPU: 1})),)
        names = (f"{name}{i}-" for i in range(number))
        return tuple(Group(each, members(each, inside[1:]), level) for each in names)

    return Request("w", Group("root", members("s", layers), required, preferred), topology.name)


def random_slices(rng: Random, cluster: Cluster, most: int) -> Request:
    """Up to so many outermost slices, of one to three layers."""
    topology = cluster.topologies[0]
    levels = sorted(rng.choices(topology.labels, k=rng.randint(1, 3)), key=topology.labels.index)
    numbers = [rng.randint(1, max(most, 1)), *(rng.randint(1, 4) for _ in levels)]
    outer = topology.labels[: topology.labels.index(levels[0]) + 1]
    required = rng.choice((None, *outer))
    preferred = rng.choice((None, *topology.labels)) if rng.random() < 0.5 else None
    return sliced(topology, list(zip([*levels, None], numbers, strict=True)), required, preferred)


def counted(cluster: Cluster, request: Request) -> bool:
    """Whether there is room for the slices, counted from below: hosts first, then what is around them."""
    labels = cluster.topologies[0].labels
    left = free(cluster)
    room = {
        tuple(node.labels[label] for label in labels): left[node.name].get(GPU, 0) for node in cluster.nodes
    }
    inside: list[tuple[str | None, int]] = []
    group = request.root
    while isinstance(group.members[0], Group):
        inside.append((group.required, len(group.members)))
        group = group.members[0]
    pods = group.members[0]
    assert isinstance(pods, PodSet)
    inside.append((group.required, pods.count))
    for level, size in reversed(inside):
        depth = 0 if level is None else labels.index(level) + 1
        around: dict[tuple[str, ...], int] = {}
        for path, number in room.items():
            around[path[:depth]] = around.get(path[:depth], 0) + number
        room = {path: number // size for path, number in around.items()}
    return any(room.values())
