"""What rules about other pods mean, computed the slow and plain way: required ones and preferred ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.neighbours import Apart, Near, Neighbour, PodRule, PodSelector, binding
from closeknit.hub.neighbours import Spread as SpreadRule
from closeknit.hub.nodes import NodeFilter, Toleration
from closeknit.hub.outcome import RuleReach
from closeknit.hub.request import Group, PodSet
from closeknit.testing.scene import Scene, Spread, accepts

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
    keys.append(rule.key)
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


# ---- preferred rules among the pods of a request ----

_WEIGHT_OF_SPREADING = 100


def preferred_rules(scene: Scene) -> Iterator[tuple[PodSet, PodRule]]:
    """Each preferred rule of a pod set that selects another pod which is still to be placed."""
    everybody = list(scene.request.root.pod_sets())
    for pods in everybody:
        for rule in dict.fromkeys(pods.neighbour.rules):
            meant = [each for each in everybody if each.neighbour.selected(rule.selector)]
            if not binding(rule) and sum(each.open for each in meant) > (pods in meant):
                yield pods, rule


def rules_broken(scene: Scene, spread: Spread) -> int:
    """How far new pods are from preferred rules among them, each times the rule's weight."""
    return sum(
        weight(rule) * sum(distances(scene, spread, pods, rule)) for pods, rule in preferred_rules(scene)
    )


def weight(rule: PodRule) -> int:
    """How much a preferred rule counts."""
    return _WEIGHT_OF_SPREADING if isinstance(rule, SpreadRule) else rule.weight or 0


def rule_reaches(scene: Scene, spread: Spread) -> Iterator[RuleReach]:
    """For how many new pods each preferred rule is kept, by pod set in the order of member names."""
    rank = {pods.name: i for i, pods in enumerate(_by_name(scene.request.root))}
    for pods, rule in sorted(preferred_rules(scene), key=lambda each: rank[each[0].name]):
        found = list(distances(scene, spread, pods, rule))
        if found:
            yield RuleReach(pods.name, rule, len(found), found.count(0))


def _by_name(group: Group) -> Iterator[PodSet]:
    for member in sorted(group.members, key=lambda each: each.name):
        if isinstance(member, Group):
            yield from _by_name(member)
        else:
            yield member


def distances(scene: Scene, spread: Spread, pods: PodSet, rule: PodRule) -> Iterator[int]:
    """How far each new pod of a set is from keeping a preferred rule."""
    counts: Counter[str] = Counter(running_pods(scene.cluster, rule.selector))
    for each in scene.request.root.pod_sets():
        if each.neighbour.selected(rule.selector):
            counts.update(spread.get(each.name, {}))
    key = rule.keys[0] if isinstance(rule, Near) else rule.key
    domains = domains_of(scene, key)
    if isinstance(rule, SpreadRule):
        counted = counted_nodes(scene, pods, rule)
        domains = {value: [node for node in nodes if node in counted] for value, nodes in domains.items()}
    totals = {value: sum(counts[node] for node in nodes) for value, nodes in domains.items() if nodes}
    for node, number in spread.get(pods.name, {}).items():
        value = next((value for value, nodes in domains.items() if node in nodes), None)
        for _ in range(number):
            if value is None:
                yield int(not isinstance(rule, Apart))
            elif isinstance(rule, SpreadRule):
                few = rule.min_domains is not None and len(totals) < rule.min_domains
                least = 0 if few else min(totals.values())
                yield max(totals[value] - least - rule.skew, 0)
            else:
                others = totals[value] - pods.neighbour.selected(rule.selector)
                yield others if isinstance(rule, Apart) else int(others == 0)
