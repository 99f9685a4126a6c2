"""An engine that agrees with what is known of nodes and pods, whatever comes and in whichever order.

Each node and each pod is said once more whenever it may have changed; only differences reach the engine.
A pod on a node that is not there holds nothing until the node comes. What the engine cannot count, such as
a negative amount, is left out and kept among the ``problems`` of its object; it never stops others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from closeknit.engine import UNPACED, Budget, Engine, Pace
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.keys import Key
from closeknit.hub.nodes import Node
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.resources import Resources, amount_problems
from closeknit.hub.topology import Topology
from closeknit.scheduler.changes import Change, Freed, Joined, NodeChanged, NodeGone, TopologiesChanged

PodListener: TypeAlias = Callable[[Holding | None, Holding | None], None]
"""Is told what a pod held and what it holds."""


class NodeNews(NamedTuple):
    """Names of nodes of which more or less may be held than before, measured by what they offer."""

    joined: set[str]
    """Nodes to which a pod came."""
    left: set[str]
    """Nodes that a pod left."""
    altered: set[str]
    """Nodes that came or offer another amount, and nodes on which a pod holds another amount."""


class TrackedEngine:
    """Nodes and holdings by name and pod, and the engine made of them."""

    def __init__(self, pace: Pace = UNPACED) -> None:
        """``pace`` interrupts the decisions of the engine."""
        self._pace = pace
        self.problems: dict[Key | str, tuple[Problem, ...]] = {}
        """Why a node (by name) or a pod is not counted."""
        self._topologies: tuple[Topology, ...] = ()
        self._nodes: dict[str, Node] = {}
        self._pods: dict[Key, Holding] = {}
        self._on: dict[str, dict[Key, None]] = {}
        self._engine: Engine | None = None
        self._cluster = Cluster((), ())
        self._changes: list[Change] = []
        self._node_news = NodeNews(set(), set(), set())
        self._pod_listeners: list[PodListener] = []
        self._node_listeners: list[Callable[[], None]] = []

    @property
    def engine(self) -> Engine:
        """Made when first asked for, then changed in place; a change of topologies makes a new one."""
        if self._engine is None:
            nodes = tuple(self._nodes.values())
            self._engine = Engine(Cluster(self._topologies, nodes), Budget(), self._pace)
            self._hold(self._engine, (pod for name in self._nodes for pod in self._on.get(name, ())))
        return self._engine

    @property
    def topologies(self) -> Cluster:
        """The topologies, as a cluster without nodes."""
        return self._cluster

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes that are counted, by name."""
        return self._nodes

    def listen(self, pods: PodListener | None, nodes: Callable[[], None]) -> None:
        """Call ``pods`` with what pods hold from now on, and ``nodes`` when nodes or topologies change."""
        if pods is not None:
            self._pod_listeners.append(pods)
        self._node_listeners.append(nodes)

    def changes(self) -> list[Change]:
        """What may help somebody who waits, since the last call."""
        found, self._changes = self._changes, []
        return found

    def holdings(self) -> Iterable[Holding]:
        """What all pods hold, one by one."""
        return self._pods.values()

    def holding(self, pod: Key) -> Holding | None:
        """What a pod holds, or would hold if its node were there."""
        return self._pods.get(pod)

    def take_node_news(self) -> NodeNews:
        """What happened to nodes since the last call."""
        news, self._node_news = self._node_news, NodeNews(set(), set(), set())
        return news

    def holdings_on(self, node: str) -> list[tuple[Key, Holding]]:
        """What each pod on a node holds; also what is kept under keys that are no pods."""
        return [(pod, self._pods[pod]) for pod in self._on.get(node, ())]

    def is_overfull(self, name: str) -> bool:
        """Whether pods on a node hold more than it offers."""
        node = self._nodes.get(name)
        if node is None:
            return False
        held = [self._pods[pod] for pod in self._on.get(name, ())]
        used = sum((each.resources * each.pods for each in held), Resources())
        used += Resources({"pods": sum(each.pods for each in held)})
        return any(used.get(resource, 0) > amount for resource, amount in node.allocatable.items())

    def set_topologies(self, topologies: Iterable[Topology]) -> None:
        """All topologies, in any order."""
        given = tuple(sorted(topologies, key=lambda each: each.name))
        if given != self._topologies:
            self._topologies, self._engine = given, None
            self._cluster = Cluster(given, ())
            self._changes.append(TopologiesChanged())
            self._tell_nodes()

    def set_node(self, name: str, node: Node | None) -> None:
        """What a node is like now; None where it has gone or cannot be read."""
        self.problems.pop(name, None)
        if node is not None and (wrong := tuple(amount_problems(("allocatable",), node.allocatable))):
            self.problems[name] = wrong
            node = None
        before = self._nodes.get(name)
        if before == node:
            return
        self._tell_nodes()
        engine = self._engine
        if node is None:
            del self._nodes[name]
            self._changes.append(NodeGone(tuple(self._pods[pod] for pod in self._on.get(name, ()))))
            if engine is not None:
                engine.remove_node(name)
            return
        self._nodes[name] = node
        if before is None or before.allocatable != node.allocatable:
            self._node_news.altered.add(name)
        self._changes.append(NodeChanged(name))
        if engine is None:
            return
        if before is None:
            engine.add_node(node)
            self._hold(engine, self._on.get(name, ()))
        else:
            engine.change_node(node)

    def set_pod(self, pod: Key, holding: Holding | None) -> None:
        """What a pod holds now, and where; None for nothing."""
        before = self._pods.get(pod)
        if before == holding:
            return
        for told in self._pod_listeners:
            told(before, holding)
        if before is not None:
            self._node_news.left.add(before.node)
            del self._pods[pod], self._on[before.node][pod]
            if not self._on[before.node]:
                del self._on[before.node]
            if before.node in self._nodes and self.problems.pop(pod, None) is None:
                self._changes.append(Freed(before))
                if self._engine is not None:
                    self._engine.release_pods(before)
        if holding is not None:
            self._pods[pod] = holding
            if before is None or before.node != holding.node:
                self._node_news.joined.add(holding.node)
            elif (before.resources, before.pods) != (holding.resources, holding.pods):
                self._node_news.altered.add(holding.node)
            self._on.setdefault(holding.node, {})[pod] = None
            if holding.node in self._nodes and self._engine is not None:
                self._hold(self._engine, (pod,))
                self._changes.append(Joined(holding))

    def _tell_nodes(self) -> None:
        for told in self._node_listeners:
            told()

    def _hold(self, engine: Engine, pods: Iterable[Key]) -> None:
        for pod in pods:
            try:
                engine.hold(self._pods[pod])
                self.problems.pop(pod, None)
            except InvalidError as error:
                self.problems[pod] = tuple(error.problems)
