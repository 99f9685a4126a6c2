"""What a request means, computed the slow and plain way on hub types alone.

Everything here follows ``docs/reference/semantics.md`` sentence by sentence and
works on a *spread*: how many new pods of each pod set go to each node. Speed
is no concern, agreement with the text is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from closeknit.hub.cluster import Cluster
from closeknit.hub.neighbours import Apart, Near, Neighbour, PodSelector, binding
from closeknit.hub.neighbours import Spread as SpreadRule
from closeknit.hub.nodes import CORDON, NAME_FIELD, Effect, Node, NodeFilter, Term, Toleration
from closeknit.hub.outcome import Wishes
from closeknit.hub.request import Group, HostPort, Member, PodSet, Request
from closeknit.hub.topology import DomainPath, Topology
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
    yield from broken_neighbours(scene, spread)


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
        everybody = [*taken, ports_held(scene.cluster, node)]
        for port in sorted(frozenset().union(*taken)):
            times = sum(meet([port], theirs) for theirs in everybody)
            if times > 1:
                yield f"port {port} of node {node} is used {times} times"


Pods: TypeAlias = Mapping[str, int]
"""How many pods each node has."""


def running_pods(cluster: Cluster, selector: PodSelector) -> Pods:
    """The running pods that a selector means, by node."""
    counts: Counter[str] = Counter()
    for held in cluster.holdings:
        if held.neighbour.selected(selector):
            counts[held.node] += held.pods
    return counts


def domains_of(scene: Scene, key: str) -> dict[str, list[str]]:
    """The nodes of each domain of a label."""
    found: dict[str, list[str]] = {}
    for name, node in scene.nodes.items():
        if key in node.labels:
            found.setdefault(node.labels[key], []).append(name)
    return found


def counted_nodes(scene: Scene, pods: PodSet, rule: SpreadRule) -> set[str]:
    """The nodes on which pods count for a rule of spreading."""
    keys = [each.key for each in pods.neighbour.rules if isinstance(each, SpreadRule) and each.required]
    unfiltered = replace(pods, filter=NodeFilter(tolerations=pods.filter.tolerations))
    untainted = replace(pods.filter, tolerations=(Toleration(),))
    return {
        name
        for name, node in scene.nodes.items()
        if all(key in node.labels for key in keys)
        and (
            not rule.heeds_filter
            or accepts(replace(node, ready=True, unschedulable=False), replace(pods, filter=untainted))
        )
        and (not rule.heeds_taints or accepts(node, unfiltered))
    }


def company(scene: Scene, rule: Near) -> tuple[list[PodSet], list[PodSet], Pods, list[PodSet]]:
    """Who needs company, who of the request gives it without needing it, who runs, and who may go first."""
    pod_sets = list(scene.request.root.pod_sets())
    subjects = [pods for pods in pod_sets if rule in pods.neighbour.rules]
    hosts = [
        pods
        for pods in pod_sets
        if rule not in pods.neighbour.rules and pods.neighbour.selected(rule.selector)
    ]
    labelled = {name for name, node in scene.nodes.items() if any(key in node.labels for key in rule.keys)}
    running = {
        node: count for node, count in running_pods(scene.cluster, rule.selector).items() if node in labelled
    }
    nobody = not any(running.values())
    leaders = [pods for pods in subjects if nobody and pods.neighbour.selected(rule.selector)]
    return subjects, hosts, running, leaders


def broken_neighbours(scene: Scene, spread: Spread) -> Iterator[str]:
    """Every rule about the pods around a pod that a spread breaks."""
    pod_sets = list(scene.request.root.pod_sets())
    new = {pods.name: Counter(spread.get(pods.name, {})) for pods in pod_sets}
    domains = [(key, nodes) for key in _keys(scene) for nodes in domains_of(scene, key).values()]
    for key, nodes in domains:
        inside = {pods.name: sum(new[pods.name][node] for node in nodes) for pods in pod_sets}
        for pods in (pods for pods in pod_sets if inside[pods.name]):
            for held in scene.cluster.holdings:
                if held.node in nodes and held.pods and _kept_apart(key, pods.neighbour, held.neighbour):
                    yield f"pods of {pods.name} and of {held.workload} share a {key}: {', '.join(nodes)}"
            for other in (other for other in pod_sets if inside[other.name]):
                several = other is not pods or inside[pods.name] > 1
                if several and _kept_apart(key, pods.neighbour, other.neighbour):
                    yield f"pods of {pods.name} and of {other.name} share a {key}: {', '.join(nodes)}"
    for rule in {rule for pods in pod_sets for rule in pods.neighbour.rules if binding(rule)}:
        if isinstance(rule, Near):
            yield from _broken_company(scene, rule, new)
    for pods in pod_sets:
        for rule in pods.neighbour.rules:
            if isinstance(rule, SpreadRule) and rule.required:
                yield from _broken_balance(scene, pods, rule, new)


def _keys(scene: Scene) -> set[str]:
    """The labels whose domains anybody keeps others out of."""
    everybody = [held.neighbour for held in scene.cluster.holdings]
    everybody += [pods.neighbour for pods in scene.request.root.pod_sets()]
    return {rule.key for each in everybody for rule in each.rules if isinstance(rule, Apart)}


def _kept_apart(key: str, one: Neighbour, other: Neighbour) -> bool:
    return any(
        isinstance(rule, Apart) and binding(rule) and rule.key == key and them.selected(rule.selector)
        for us, them in ((one, other), (other, one))
        for rule in us.rules
    )


def _broken_company(scene: Scene, rule: Near, new: Mapping[str, Pods]) -> Iterator[str]:
    subjects, hosts, running, leaders = company(scene, rule)
    led = {node for pods in leaders for node, count in new[pods.name].items() if count}
    used = {node for pods in subjects for node, count in new[pods.name].items() if count}
    giving = {node for pods in hosts for node, count in new[pods.name].items() if count}
    giving |= {node for node, count in running.items() if count}
    for key in rule.keys:
        alone = [
            nodes
            for nodes in domains_of(scene, key).values()
            if used.intersection(nodes) and not giving.intersection(nodes)
        ]
        if len(alone) > 1 or any(not led.intersection(nodes) for nodes in alone):
            yield f"pods need company by {key} on {alone}"
        for node in used:
            if key not in scene.nodes[node].labels:
                yield f"node {node} has no label {key}, by which a pod needs company"


def _broken_balance(scene: Scene, pods: PodSet, rule: SpreadRule, new: Mapping[str, Pods]) -> Iterator[str]:
    counted = counted_nodes(scene, pods, rule)
    running = running_pods(scene.cluster, rule.selector)
    everybody = [p for p in scene.request.root.pod_sets() if p.neighbour.selected(rule.selector)]
    domains = {
        value: inside
        for value, nodes in domains_of(scene, rule.key).items()
        if (inside := [node for node in nodes if node in counted])
    }
    counts = {
        value: sum(running.get(node, 0) + sum(new[p.name][node] for p in everybody) for node in nodes)
        for value, nodes in domains.items()
    }
    few = rule.min_domains is not None and len(domains) < rule.min_domains
    least = 0 if few else min(counts.values(), default=0)
    for node, count in new[pods.name].items():
        if count and node not in counted:
            yield f"a pod of {pods.name} is on {node}, which does not count for spreading by {rule.key}"
        elif count and counts[scene.nodes[node].labels[rule.key]] - least > rule.skew:
            yield f"{pods.name} on {node}: {counts} by {rule.key} is more than {rule.skew} apart"


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
