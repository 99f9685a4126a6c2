"""Requests made from a placement, on 16 to 200 nodes: too large for an exact oracle, yet surely placeable.

Groups are given domains, and every node is filled with pods of the groups that it lies in, but for up to a
tenth of them, whose room stays free. So finding a placement is a matter of packing as well as of topology.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from closeknit.hub.cluster import Cluster
from closeknit.hub.drawing import GPU
from closeknit.hub.nodes import Node
from closeknit.hub.request import PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.testing.random_clusters import TOPOLOGY
from closeknit.testing.random_trees import Draft, request

LEVELS = ("zone", "block", "row", "rack")
OFFERED = {GPU: 8, "cpu": 64, "memory": 256}
"""What every node offers; memory in GiB."""
TAKEN = {GPU: (1, 1, 2, 2, 3, 4), "cpu": (2, 4, 6, 9, 12, 16), "memory": (8, 16, 24, 40, 64)}
"""What a pod may take of each."""


class Planted(NamedTuple):
    """An instance and a placement of it."""

    cluster: Cluster
    request: Request
    spread: dict[str, Counter[str]]
    """By pod set and node, the planted pods."""


def planted_instance(rng: Random) -> Planted:
    """A cluster nearly filled by a request of 2 to 12 groups, two deep, of 3 to 5 shapes."""
    labels = LEVELS[-rng.randint(2, 4) :]
    nodes = list(_nodes(rng, labels, rng.randint(16, 200)))
    names = rng.sample(sorted(OFFERED), rng.randint(2, 3))
    grower = _Grower(rng, labels, _shapes(rng, names))
    root = grower.grow(nodes)
    slack = rng.uniform(0, 0.1)
    spread: dict[str, Counter[str]] = {}
    for node in nodes:
        welcome = [pods for pods in root.leaves() if node.name in grower.allowed[pods.name]]
        _fill(rng, node, welcome, spread, slack)
    root.prune(spread)
    for pods in root.leaves():
        pods.count = spread[pods.name].total()
        if rng.random() < 0.3:
            pods.minimum = rng.randint(pods.count // 2, pods.count)
    cluster = Cluster((Topology(TOPOLOGY, tuple(map(Level, labels))),), tuple(nodes))
    return Planted(cluster, request("w", root, {}), spread)


class _Grower:
    """Grows the groups of a request and gives each a domain."""

    def __init__(self, rng: Random, labels: Sequence[str], shapes: Sequence[PodSet]) -> None:
        self._rng = rng
        self._labels = labels
        self._shapes = shapes
        self._made = 0
        self.allowed: dict[str, frozenset[str]] = {}
        """By pod set, the nodes of its group's domain."""

    def grow(self, nodes: Sequence[Node]) -> Draft:
        """The root, of groups whose pod sets have no pods yet."""
        root = Draft("root")
        wanted = self._rng.randint(2, 12)
        while self._made < wanted:
            group = self._group(nodes, root)
            inside = [node for node in nodes if node.name in self.allowed[group.inner[0].name]]
            for _ in range(self._rng.randint(0, min(3, wanted - self._made))):
                self._group(inside, group)
        return root

    def _group(self, nodes: Sequence[Node], parent: Draft) -> Draft:
        rng, labels = self._rng, self._labels
        above = labels.index(parent.required) if parent.required else -1
        wished = labels.index(parent.preferred) if parent.preferred else 0
        self._made += 1
        group = Draft(f"g{self._made}")
        parent.inner.append(group)
        level = rng.randint(above, len(labels) - 1)
        chosen = rng.choice(nodes)
        inside = frozenset(
            node.name
            for node in nodes
            if all(node.labels[label] == chosen.labels[label] for label in labels[: level + 1])
        )
        if level > above:
            group.required = labels[level]
        if rng.random() < 0.3:
            group.preferred = rng.choice(labels[max(level, wished) :])
        for i in range(rng.randint(1, 3)):
            pods = Draft(f"{group.name}-{i}", rng.choice(self._shapes))
            group.inner.append(pods)
            self.allowed[pods.name] = inside
        return group


def _nodes(rng: Random, labels: Sequence[str], count: int) -> Iterator[Node]:
    """Nodes in domains of two to four parts each."""
    fans = [rng.randint(2, 4) for _ in labels]
    for number in range(count):
        at, path = number, {}
        for label, fan in zip(labels, fans, strict=True):
            at, part = divmod(at, fan)
            path[label] = f"{label[0]}{part}"
        yield Node(f"n{number}", path, _resources(OFFERED))


def _shapes(rng: Random, names: Sequence[str]) -> list[PodSet]:
    wanted, shapes = rng.randint(3, 5), list[PodSet]()
    while len(shapes) < wanted:
        asked = rng.sample(names, rng.randint(1, len(names)))
        shape = PodSet("", 1, _resources({name: rng.choice(TAKEN[name]) for name in sorted(asked)}))
        if shape not in shapes:
            shapes.append(shape)
    return shapes


def _fill(
    rng: Random, node: Node, welcome: list[Draft], spread: dict[str, Counter[str]], slack: float
) -> None:
    """Put pods on a node until none fits that may go there, but for a share of them whose room stays free."""
    left = node.allocatable
    while welcome:
        pods = rng.choice(welcome)
        assert pods.shape is not None
        if any(left.get(name, 0) < units for name, units in pods.shape.resources.items()):
            welcome.remove(pods)
            continue
        left -= pods.shape.resources
        if rng.random() >= slack:
            spread.setdefault(pods.name, Counter())[node.name] += 1


def _resources(amounts: Mapping[str, int]) -> Resources:
    return Resources.parse({name: f"{n}Gi" if name == "memory" else n for name, n in amounts.items()})
