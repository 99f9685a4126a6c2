"""A cluster seen through a request: its levels, where each node lies, and which pods it accepts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from closeknit.hub.cluster import Cluster
from closeknit.hub.nodes import CORDON, NAME_FIELD, Effect, Node, Term
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.topology import DomainPath, Topology

Spread: TypeAlias = Mapping[str, Mapping[str, int]]
"""New pods: pod set by name, then node by name, then how many."""

Place: TypeAlias = tuple[str, ...]
"""A domain, or a node that lacks the level's label and so counts as a domain by itself."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A cluster seen through a request: its levels, and where each node lies."""

    cluster: Cluster
    request: Request
    labels: tuple[str, ...]
    """The levels of the request's topology, coarsest first; where it names none, of the cluster's layout."""
    nodes: Mapping[str, Node]
    paths: Mapping[str, DomainPath]

    @classmethod
    def of(cls, cluster: Cluster, request: Request) -> Scene:
        """Look at a cluster through a request."""
        topology = _layout(cluster) if request.topology is None else cluster.topology(request.topology)
        nodes = {node.name: node for node in cluster.nodes}
        paths = {name: topology.path(node.labels) if topology else () for name, node in nodes.items()}
        return cls(cluster, request, topology.labels if topology else (), nodes, paths)

    @property
    def named(self) -> int:
        """The level at which domains are scored; one more than the last level stands for nodes."""
        groups = [member for member, _ in self.request.root.walk() if isinstance(member, Group)]
        labels = {label for group in groups for label in (group.required, group.preferred)} - {None}
        if labels:
            return max(level for level, label in enumerate(self.labels) if label in labels)
        levels = range(len(self.labels))
        domains = [len({self.place(name, level) for name in self.nodes}) for level in levels]
        return max((level for level in levels if domains[level] < len(self.nodes)), default=len(self.labels))

    def named_place(self, node: str) -> Place:
        """The domain of the named level that a node counts for."""
        return self.place(node, self.named) if self.named < len(self.labels) else (node,)

    def domain(self, node: str, level: int) -> DomainPath | None:
        """The domain of a node at a level, or None where it is in none."""
        path = self.paths[node]
        return path[: level + 1] if len(path) > level else None

    def place(self, node: str, level: int) -> Place:
        """The domain that a node counts for at a level, itself where it is in none."""
        return self.domain(node, level) or (*self.paths[node], "", node)

    def shared(self, nodes: set[str], level: int) -> DomainPath | None:
        """The domain of this level that holds all of these nodes, if there is one."""
        domains = {self.domain(node, level) for node in nodes}
        return domains.pop() if len(domains) == 1 else None

    def finest_shared(self, nodes: set[str]) -> int | None:
        """The finest level at which these nodes share a domain."""
        shared = [level for level in range(len(self.labels)) if self.shared(nodes, level) is not None]
        return max(shared, default=None)


def _layout(cluster: Cluster) -> Topology | None:
    """The topology that a request is packed along which names none: it orders the labels of all others."""
    by_name = sorted(cluster.topologies, key=lambda each: each.name)
    wanted = [each.labels for each in by_name]
    for each in by_name:
        if all(tuple(label for label in each.labels if label in some) == some for some in wanted):
            return each
    return None


def accepts(node: Node, pods: PodSet) -> bool:
    """Whether a node takes pods of this set, its resources and ports aside."""
    wanted = pods.filter
    return (
        node.ready
        and all(
            any(toleration.tolerates(taint) for toleration in wanted.tolerations)
            for taint in (*node.taints, *([CORDON] if node.unschedulable else []))
            if taint.effect is not Effect.PREFER_NO_SCHEDULE
        )
        and all(node.labels.get(key) == value for key, value in wanted.selector)
        and (wanted.affinity is None or any(_matches(node, term) for term in wanted.affinity))
    )


def _matches(node: Node, term: Term) -> bool:
    labels = {**node.labels, NAME_FIELD: node.name}
    return bool(term.requirements) and all(
        requirement.holds(labels.get(requirement.key)) for requirement in term.requirements
    )
