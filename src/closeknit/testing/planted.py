"""Requests made from a placement, on 16 to 200 nodes: too large for an exact oracle, yet surely placeable.

Groups are given domains, and every node is filled with pods of the groups that it lies in, but for up to a
tenth of them, whose room stays free. So finding a placement is a matter of packing as well as of topology.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from closeknit.hub.cluster import Cluster
from closeknit.hub.drawing import GPU
from closeknit.hub.nodes import Node
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology

LEVELS = ("zone", "block", "row", "rack")
OFFERED = {GPU: 8, "cpu": 64, "memory": 256}
"""What every node offers; memory in GiB."""
TAKEN = {GPU: (1, 1, 2, 2, 3, 4), "cpu": (2, 4, 6, 9, 12, 16), "memory": (8, 16, 24, 40, 64)}
"""What a pod may take of each."""

Amounts = dict[str, int]


@dataclass(frozen=True, slots=True)
class Planted:
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
    shapes = _shapes(rng, names)
    groups = _Groups(rng, labels, nodes, shapes)
    drafts = groups.drafts()
    slack = rng.uniform(0, 0.1)
    spread: dict[str, Counter[str]] = {}
    for node in nodes:
        _fill(rng, node, drafts, spread, slack)
    cluster = Cluster((Topology("default", tuple(map(Level, labels))),), tuple(nodes))
    return Planted(cluster, Request("w", groups.root(spread), "default"), spread)


@dataclass(slots=True)
class _PodDraft:
    """A pod set to be, and the nodes that it may use."""

    name: str
    shape: Amounts
    nodes: frozenset[str]


@dataclass(slots=True)
class _GroupDraft:
    """A group to be."""

    name: str
    required: str | None
    preferred: str | None
    pods: list[_PodDraft]
    groups: list[_GroupDraft]


class _Groups:
    """The groups of a request, each with a domain."""

    def __init__(
        self, rng: Random, labels: Sequence[str], nodes: Sequence[Node], shapes: Sequence[Amounts]
    ) -> None:
        self._rng = rng
        self._labels = labels
        self._shapes = shapes
        self._made = 0
        self._top: list[_GroupDraft] = []
        wanted = rng.randint(2, 12)
        while self._made < wanted:
            group = self._group(nodes, None)
            self._top.append(group)
            for _ in range(rng.randint(0, min(3, wanted - self._made))):
                inside = [node for node in nodes if node.name in group.pods[0].nodes]
                group.groups.append(self._group(inside, group))

    def _group(self, nodes: Sequence[Node], parent: _GroupDraft | None) -> _GroupDraft:
        rng, labels = self._rng, self._labels
        above = labels.index(parent.required) if parent and parent.required else -1
        wished = labels.index(parent.preferred) if parent and parent.preferred else 0
        self._made += 1
        name = f"g{self._made}"
        level = rng.randint(above, len(labels) - 1)
        chosen = rng.choice(nodes)
        inside = [
            node
            for node in nodes
            if all(node.labels[label] == chosen.labels[label] for label in labels[: level + 1])
        ]
        finer = labels[max(level, wished) :]
        return _GroupDraft(
            name,
            labels[level] if level > above else None,
            rng.choice(finer) if rng.random() < 0.3 else None,
            [
                _PodDraft(f"{name}-{i}", rng.choice(self._shapes), frozenset(node.name for node in inside))
                for i in range(rng.randint(1, 3))
            ],
            [],
        )

    def drafts(self) -> list[_PodDraft]:
        """Every pod set."""
        return [pods for top in self._top for group in (top, *top.groups) for pods in group.pods]

    def root(self, spread: dict[str, Counter[str]]) -> Group:
        """The root group, of all that got pods."""
        tops = (self._finished(group, spread) for group in self._top)
        return Group("root", tuple(group for group in tops if group is not None))

    def _finished(self, draft: _GroupDraft, spread: dict[str, Counter[str]]) -> Group | None:
        members: list[Member] = []
        for pods in draft.pods:
            if count := spread.get(pods.name, Counter[str]()).total():
                fewer = self._rng.random() < 0.3
                minimum = self._rng.randint(count // 2, count) if fewer else None
                members.append(PodSet(pods.name, count, _resources(pods.shape), minimum))
        inner = (self._finished(group, spread) for group in draft.groups)
        members.extend(group for group in inner if group is not None)
        return Group(draft.name, tuple(members), draft.required, draft.preferred) if members else None


def _nodes(rng: Random, labels: Sequence[str], count: int) -> Iterator[Node]:
    """Nodes in domains of two to four parts each."""
    fans = [rng.randint(2, 4) for _ in labels]
    for number in range(count):
        at, path = number, {}
        for label, fan in zip(labels, fans, strict=True):
            at, part = divmod(at, fan)
            path[label] = f"{label[0]}{part}"
        yield Node(f"n{number}", path, _resources(OFFERED))


def _shapes(rng: Random, names: Sequence[str]) -> list[Amounts]:
    wanted, shapes = rng.randint(3, 5), list[Amounts]()
    while len(shapes) < wanted:
        asked = rng.sample(names, rng.randint(1, len(names)))
        shape = {name: rng.choice(TAKEN[name]) for name in sorted(asked)}
        if shape not in shapes:
            shapes.append(shape)
    return shapes


def _fill(
    rng: Random, node: Node, drafts: Sequence[_PodDraft], spread: dict[str, Counter[str]], slack: float
) -> None:
    """Put pods on a node until none fits that may go there, but for a share of them whose room stays free."""
    taken: Counter[str] = Counter()
    welcome = [pods for pods in drafts if node.name in pods.nodes]
    while welcome:
        pods = rng.choice(welcome)
        if any(taken[name] + units > OFFERED[name] for name, units in pods.shape.items()):
            welcome.remove(pods)
            continue
        taken.update(pods.shape)
        if rng.random() >= slack:
            spread.setdefault(pods.name, Counter())[node.name] += 1


def _resources(amounts: Amounts) -> Resources:
    sized = {
        name: f"{units}Gi" if name == "memory" else units for name, units in amounts.items() if units > 0
    }
    return Resources.parse(sized)
