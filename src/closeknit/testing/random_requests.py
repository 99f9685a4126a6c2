"""Random requests that nearly fill a cluster.

Each is *planted*: the generator grows a tree of groups, gives every group a
domain and every pod set as many pods as find room there, and so holds a
placement in its hands. Then it takes the room that is left away, or asks for a
little more. What comes out is feasible or not by a pod or two, which is where
schedulers go wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.request import Request
from closeknit.hub.resources import Resources
from closeknit.testing.drawings import free
from closeknit.testing.meaning import meet
from closeknit.testing.random_clusters import (
    TOPOLOGY,
    USUAL,
    Size,
    occupied,
    overcommitted,
    random_cluster,
)
from closeknit.testing.random_neighbours import with_neighbours
from closeknit.testing.random_trees import Draft, Grower, request
from closeknit.testing.scene import accepts

WORKLOAD = "train"


def random_instance(rng: Random, size: Size = USUAL) -> tuple[Cluster, Request]:
    """A cluster and a valid request of a size that exact solving can manage."""
    cluster = random_cluster(rng, size)
    tree = Grower(rng, cluster, size).grow()
    planted = _Planter(rng, cluster, size).plant(tree)
    if rng.random() < 0.9:
        tree.prune(planted)
    if rng.random() < 0.35:
        _repeat_counts(tree)
    if rng.random() < 0.65:
        room = _Planter(rng, cluster, size)
        room.hold(tree, planted)
        cluster = replace(cluster, holdings=(*cluster.holdings, *room.leftovers()))
    _ask_for_more(rng, tree)
    _loosen(rng, tree)
    running: dict[str, list[str]] = {}
    if rng.random() < 0.3:
        running = _run_some(rng, cluster, tree, planted)
        cluster = replace(cluster, holdings=(*cluster.holdings, *_holdings(tree, running)))
    if rng.random() < 0.15:
        cluster = occupied(rng, cluster, share=0.2)
    if rng.random() < 0.04:
        cluster = overcommitted(rng, cluster)
    made = request(WORKLOAD, tree, running)
    if rng.random() < 0.3 and not any(group.required or group.preferred for group in tree.groups()):
        made = replace(made, topology=None)
    return with_neighbours(rng, size.ruled, cluster, made, planted)


class _Planter:
    """Puts pods where there is room, obeying every required level on the way."""

    def __init__(self, rng: Random, cluster: Cluster, size: Size) -> None:
        topology = cluster.topology(TOPOLOGY)
        assert topology is not None
        self._rng = rng
        self._labels = topology.labels
        self._nodes = {node.name: node for node in cluster.nodes}
        self._paths = {node.name: topology.path(node.labels) for node in cluster.nodes}
        self._left = free(cluster)
        self._ports = {(each.node, port) for each in cluster.holdings for port in each.host_ports}
        self._pods_left = size.pods
        self._eager = rng.choice((3, 6, 12))

    def plant(self, tree: Draft) -> dict[str, list[str]]:
        """Count the pods of every pod set; returns the nodes they were planted on."""
        planted: dict[str, list[str]] = {}
        self._plant(tree, list(self._nodes), planted)
        return planted

    def hold(self, tree: Draft, planted: dict[str, list[str]]) -> None:
        """Take what the planted pods use."""
        for leaf in tree.leaves():
            for node in planted[leaf.name][: leaf.count]:
                self._take(leaf, node)

    def leftovers(self) -> Iterator[Holding]:
        """Holdings that take nearly all that is left, or some of it."""
        greed = self._rng.choice((0.3, 0.6, 0.9))
        for node, left in self._left.items():
            taken = Resources({name: units for name, units in left.items() if units > 0 and name != "pods"})
            if taken and self._rng.random() < greed and left.get("pods", 1) > 0:
                yield Holding(self._rng.choice(("w1", "w2")), node, taken)

    def _plant(self, draft: Draft, nodes: Sequence[str], planted: dict[str, list[str]]) -> None:
        if draft.required is not None:
            level = self._labels.index(draft.required)
            domains = sorted(
                {self._paths[node][: level + 1] for node in nodes if len(self._paths[node]) > level}
            )
            if domains:
                chosen = self._rng.choice(domains)
                nodes = [node for node in nodes if self._paths[node][: level + 1] == chosen]
        for inner in self._rng.sample(draft.inner, len(draft.inner)):
            self._plant(inner, nodes, planted)
        if draft.shape is not None:
            wanted = 9 if self._rng.random() < 0.35 else self._rng.randint(1, self._eager)
            target = min(wanted, max(self._pods_left, 1))
            placed: list[str] = []
            for node in self._rng.sample(nodes, len(nodes)):
                while len(placed) < target and self._fits(draft, node):
                    self._take(draft, node)
                    placed.append(node)
            draft.count = max(len(placed), 1)
            draft.named = self._rng.random() < 0.2
            self._pods_left -= draft.count
            planted[draft.name] = placed

    def _fits(self, draft: Draft, node: str) -> bool:
        shape = draft.shape
        assert shape is not None
        left = self._left[node]
        return (
            accepts(self._nodes[node], shape)
            and all(left.get(name, 0) >= units for name, units in shape.resources.items())
            and ("pods" not in self._nodes[node].allocatable or left.get("pods", 0) > 0)
            and not meet(shape.host_ports, [port for at, port in self._ports if at == node])
        )

    def _take(self, draft: Draft, node: str) -> None:
        assert draft.shape is not None
        used = draft.shape.resources
        if "pods" in self._nodes[node].allocatable:
            used += Resources({"pods": 1})
        self._left[node] -= used
        self._ports.update((node, port) for port in draft.shape.host_ports)


def _repeat_counts(tree: Draft) -> None:
    """Give copies of one template the same number of pods."""
    least: dict[int, int] = {}
    for leaf in tree.leaves():
        least[leaf.twin] = min(least.get(leaf.twin, leaf.count), leaf.count)
    for leaf in tree.leaves():
        leaf.count = least[leaf.twin]


def _ask_for_more(rng: Random, tree: Draft) -> None:
    """Sometimes ask for a pod or two more than was planted, by requirement or by wish."""
    leaves = list(tree.leaves())
    chance = rng.random()
    if chance < 0.15 or not leaves:
        return
    for leaf in rng.sample(leaves, min(len(leaves), rng.choice((1, 2, 2, 3)))):
        if chance < 0.25:
            leaf.minimum = leaf.count
        leaf.count += rng.choice((1, 1, 2))


def _loosen(rng: Random, tree: Draft) -> None:
    """Sometimes let fewer pods or members do."""
    if rng.random() < 0.4:
        for leaf in tree.leaves():
            if leaf.minimum is None and rng.random() < 0.4:
                leaf.minimum = rng.choice((max(leaf.count - 1, 1), rng.randint(0, leaf.count), 1))
    if rng.random() < 0.35:
        for group in tree.groups():
            if len(group.inner) > 1 and rng.random() < 0.6:
                group.minimum = rng.choice((len(group.inner) - 1, rng.randint(0, len(group.inner)), 1))


def _run_some(
    rng: Random, cluster: Cluster, tree: Draft, planted: dict[str, list[str]]
) -> dict[str, list[str]]:
    """Let some planted pods run already; rarely, one where it breaks the request."""
    running: dict[str, list[str]] = {}
    for leaf in tree.leaves():
        places = planted[leaf.name][: leaf.count]
        if places and rng.random() < 0.5:
            running[leaf.name] = rng.sample(places, rng.randint(1, len(places)))
    if running and rng.random() < 0.1:
        rng.choice(list(running.values()))[0] = rng.choice(cluster.nodes).name
    return running


def _holdings(tree: Draft, running: dict[str, list[str]]) -> Iterator[Holding]:
    for leaf in tree.leaves():
        assert leaf.shape is not None
        for node, count in Counter(running.get(leaf.name, [])).items():
            yield Holding(WORKLOAD, node, leaf.shape.resources, count, leaf.shape.host_ports)
