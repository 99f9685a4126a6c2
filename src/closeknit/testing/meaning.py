"""What a request means, computed the slow and plain way on hub types alone.

Everything here follows ``docs/reference/semantics.md`` sentence by sentence and
works on a *spread*: how many new pods of each pod set go to each node. Speed
is no concern, agreement with the text is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Wishes
from closeknit.hub.request import Group, HostPort, Member, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.testing.drawings import free
from closeknit.testing.neighbour_meaning import broken_neighbours, rules_broken
from closeknit.testing.scene import Scene, Spread, accepts

MOST_PODS = 1 << 24
"""A node without a limit counts as one for so many pods."""


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


def wishes_of(scene: Scene, spread: Spread) -> Wishes:
    """How a spread does by criteria 1 to 6."""
    root = scene.request.root
    left_out = sum(pods.open - new_pods(spread, pods) for pods in root.pod_sets())
    preferences = [0] * len(scene.labels)
    for member, _ in root.walk():
        if isinstance(member, Group) and member.preferred is not None:
            level = scene.labels.index(member.preferred)
            preferences[level] += _distance(scene, nodes_of(member, spread), level)
    used = nodes_of(root, spread)
    domains = [len({scene.place(node, level) for node in used}) for level in range(len(scene.labels))]
    domains.append(len(used))
    counted = scene.named + 1
    return Wishes(
        left_out,
        tuple(preferences),
        tuple(domains[:counted]),
        rules_broken(scene, spread),
        room(scene, used),
        tuple(domains[counted:]),
    )


def room(scene: Scene, used: Collection[str]) -> int:
    """For how many pods of the main shape the domains of the named level around some nodes have room."""
    pods, left = main_pods(scene.request), free(scene.cluster)
    around = {scene.named_place(name) for name in used}
    if pods is None:
        return 0
    return sum(takes(scene, left, pods, name) for name in scene.nodes if scene.named_place(name) in around)


def main_pods(request: Request) -> PodSet | None:
    """A pod set of the shape that most pods have; of several such shapes, the first pod set by name."""
    pods = Counter[object]()
    for each in request.root.pod_sets():
        pods[_shape(each)] += each.open
    return min(request.root.pod_sets(), key=lambda each: (-pods[_shape(each)], each.name), default=None)


def _shape(pods: PodSet) -> object:
    return (pods.resources, pods.filter, pods.host_ports)


def takes(scene: Scene, left: Mapping[str, Resources], pods: PodSet, name: str) -> int:
    """How many pods of a set a node takes, given what is left; rules about other pods do not count."""
    node, amounts = scene.nodes[name], left[name]
    if not accepts(node, pods) or meet(pods.host_ports, ports_held(scene.cluster, name)):
        return 0
    most = [1 if pods.host_ports else MOST_PODS]
    if "pods" in node.allocatable or node.no_pods:
        most.append(amounts.get("pods", 0))
    most += [amounts.get(each, 0) // units for each, units in pods.resources.items() if each != "pods"]
    return max(min(most), 0)


def _distance(scene: Scene, used: set[str], preferred: int) -> int:
    if not used:
        return 0
    finest = scene.finest_shared(used)
    if finest is None:
        return preferred + 1 + len({scene.place(node, preferred) for node in used})
    return max(preferred - finest, 0)


def order(wishes: Wishes) -> tuple[int, ...]:
    """A key by which criteria 1 to 4 compare: less is better."""
    return (wishes.left_out, *wishes.preferences, wishes.rules, *wishes.domains)
