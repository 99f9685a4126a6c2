"""What a request means, computed the slow and plain way on hub types alone.

Everything here follows ``docs/reference/semantics.md`` sentence by sentence and
works on a *spread*: how many new pods of each pod set go to each node. Speed
is no concern, agreement with the text is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from closeknit.hub.cluster import Cluster
from closeknit.hub.nodes import CORDON, NAME_FIELD, Effect, Node, Term
from closeknit.hub.outcome import Wishes
from closeknit.hub.request import Group, HostPort, Member, PodSet, Request
from closeknit.hub.topology import DomainPath
from closeknit.testing.drawings import free

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
    """The levels of the request's topology, coarsest first; none where it names no topology."""
    nodes: Mapping[str, Node]
    paths: Mapping[str, DomainPath]

    @classmethod
    def of(cls, cluster: Cluster, request: Request) -> Scene:
        """Look at a cluster through a request."""
        topology = None if request.topology is None else cluster.topology(request.topology)
        nodes = {node.name: node for node in cluster.nodes}
        paths = {name: topology.path(node.labels) if topology else () for name, node in nodes.items()}
        return cls(cluster, request, topology.labels if topology else (), nodes, paths)

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


def ports_held(cluster: Cluster, node: str) -> set[HostPort]:
    """The ports of a node that pods hold."""
    return {port for each in cluster.holdings if each.node == node and each.pods for port in each.host_ports}


def meet(some: Collection[HostPort], others: Collection[HostPort]) -> bool:
    """Whether pods with these ports cannot share a node."""
    return any(one.meets(other) for one in some for other in others)


def members_formed(request: Request, spread: Spread) -> dict[str, bool]:
    """Whether each group and pod set, by name, is formed."""
    formed: dict[str, bool] = {}

    def visit(member: Member) -> bool:
        if isinstance(member, PodSet):
            formed[member.name] = len(member.bound) + new_pods(spread, member) >= member.least
        else:
            formed[member.name] = sum([visit(inner) for inner in member.members]) >= member.least
        return formed[member.name]

    visit(request.root)
    return formed


def new_pods(spread: Spread, pods: PodSet) -> int:
    """How many new pods a spread gives a pod set."""
    return sum(spread.get(pods.name, {}).values())


def nodes_of(member: Member, spread: Spread) -> set[str]:
    """The nodes of all pods of a subtree, running and new."""
    if isinstance(member, PodSet):
        return {*member.bound, *(node for node, count in spread.get(member.name, {}).items() if count)}
    return set().union(*(nodes_of(inner, spread) for inner in member.members))


def broken(scene: Scene, spread: Spread) -> Iterator[str]:
    """Every rule that a spread breaks, in a sentence each; nothing where it may be placed."""
    yield from _broken_counts(scene.request, spread)
    yield from _broken_nodes(scene, spread)
    for member, _ in scene.request.root.walk():
        if isinstance(member, PodSet) or member.required is None:
            continue
        used = nodes_of(member, spread)
        if used and scene.shared(used, scene.labels.index(member.required)) is None:
            yield f"group {member.name} must share one {member.required}, but uses {', '.join(sorted(used))}"


def _broken_counts(request: Request, spread: Spread) -> Iterator[str]:
    formed = members_formed(request, spread)
    if not formed[request.root.name]:
        yield f"root {request.root.name} is not formed"
    parents: dict[str, Group] = {}
    for member, parent in request.root.walk():
        if parent is not None:
            parents[member.name] = parent
        if not isinstance(member, PodSet):
            continue
        new = new_pods(spread, member)
        if new > member.open:
            yield f"pod set {member.name} gets {new} new pods, but only {member.open} are open"
        at: str | None = member.name
        while at is not None:
            if new and not formed[at]:
                yield f"pod set {member.name} gets {new} new pods, but {at} is not formed"
            at = parents[at].name if at in parents else None
    known = {pods.name for pods in request.root.pod_sets()}
    yield from (f"pod set {name} is not in the request" for name in sorted({*spread} - known))


def _broken_nodes(scene: Scene, spread: Spread) -> Iterator[str]:
    left = free(scene.cluster)
    asked: dict[str, Counter[str]] = {}
    ports: dict[str, list[frozenset[HostPort]]] = {}
    for pods in scene.request.root.pod_sets():
        for node, count in spread.get(pods.name, {}).items():
            if count < 0:
                yield f"pod set {pods.name} gets {count} pods on {node}"
            if count <= 0:
                continue
            if node not in scene.nodes:
                yield f"pod set {pods.name} is placed on {node}, which does not exist"
                continue
            if not accepts(scene.nodes[node], pods):
                yield f"node {node} does not take pods of {pods.name}"
            use = asked.setdefault(node, Counter())
            use.update({**(pods.resources * count), "pods": count})
            ports.setdefault(node, []).extend([pods.host_ports] * count)
    for node, use in asked.items():
        for resource, units in use.items():
            machine = scene.nodes[node]
            unlimited = resource == "pods" and "pods" not in machine.allocatable and not machine.no_pods
            if not unlimited and units > left[node].get(resource, 0):
                yield f"node {node} has {left[node].get(resource, 0)} of {resource}, but {units} are placed"
    for node, taken in ports.items():
        for i, mine in enumerate(taken):
            if meet(mine, ports_held(scene.cluster, node)) or any(meet(mine, other) for other in taken[:i]):
                yield f"a port of node {node} is used twice: {', '.join(map(str, sorted(mine)))}"


def wishes_of(scene: Scene, spread: Spread) -> Wishes:
    """How a spread scores on wishes 1 to 3."""
    root = scene.request.root
    left_out = sum(pods.open - new_pods(spread, pods) for pods in root.pod_sets())
    preferences = [0] * len(scene.labels)
    for member, _ in root.walk():
        if isinstance(member, Group) and member.preferred is not None:
            level = scene.labels.index(member.preferred)
            preferences[level] += _distance(scene, nodes_of(member, spread), level)
    used = nodes_of(root, spread)
    domains = [len({scene.place(node, level) for node in used}) for level in range(len(scene.labels))]
    return Wishes(left_out, tuple(preferences), (*domains, len(used)))


def _distance(scene: Scene, used: set[str], preferred: int) -> int:
    if not used:
        return 0
    finest = scene.finest_shared(used)
    if finest is None:
        return preferred + 1 + len({scene.place(node, preferred) for node in used})
    return max(preferred - finest, 0)


def order(wishes: Wishes) -> tuple[int, ...]:
    """A key by which wishes compare: less is better."""
    return (wishes.left_out, *wishes.preferences, *wishes.domains)
