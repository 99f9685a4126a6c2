"""What an explanation proposes works, and what it says of the cluster is true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TypeAlias

from hypothesis import assume, given

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.neighbours import Apart, Near, Neighbour, PodRule, Spread, binding
from closeknit.hub.nodes import CORDON, Effect, Node, NodeFilter
from closeknit.hub.outcome import (
    Change,
    CountChange,
    ExclusionReason,
    LevelChange,
    Placed,
    Relaxation,
    Shortfall,
    Unplaceable,
)
from closeknit.hub.request import Group, Member, PodSet, Request, problems
from closeknit.hub.resources import Resources
from closeknit.hub.shortfall import NoDomain, PodTooLarge
from closeknit.hub.topology import DomainPath
from closeknit.testing import oracle
from closeknit.testing.drawings import free
from closeknit.testing.meaning import meet, ports_held
from closeknit.testing.neighbour_meaning import company, counted_nodes, domains_of, running_pods
from closeknit.testing.scene import Scene, accepts
from closeknit.testing.strategies import instances
from tests.property.effort import effort
from tests.property.relaxing import relaxed


def explained(cluster: Cluster, request: Request) -> tuple[Shortfall, ...]:
    outcome = Engine(cluster).solve(request)
    assume(isinstance(outcome, Unplaceable))
    assert isinstance(outcome, Unplaceable)
    return outcome.shortfalls


def alone(request: Request, member: Member) -> Request:
    """The request with nothing in it but one member."""
    return replace(request, root=member if isinstance(member, Group) else Group("alone", (member,)))


def group_named(request: Request, name: str) -> Group:
    return next(each for each, _ in request.root.walk() if isinstance(each, Group) and each.name == name)


def pods_named(request: Request, name: str) -> PodSet:
    return next(pods for pods in request.root.pod_sets() if pods.name == name)


def inside(cluster: Cluster, request: Request, domain: DomainPath) -> Cluster:
    """The cluster with room for new pods in one domain only.

    The other nodes stay, with the pods on them: rules about other pods count them.
    """
    scene = Scene.of(cluster, request)
    kept = {name for name, path in scene.paths.items() if path[: len(domain)] == domain}
    nodes = (node if node.name in kept else without_room(node) for node in cluster.nodes)
    return replace(cluster, nodes=tuple(nodes))


def without_room(node: Node) -> Node:
    return replace(node, allocatable=Resources(), no_pods=True)


def content_with_any(member: Member) -> Member:
    """The member with only the pods that must run, none of which has to."""
    if isinstance(member, PodSet):
        count = max(member.least, len(member.bound))
        return replace(member, count=count, minimum=len(member.bound), pods=())
    return replace(member, members=tuple(map(content_with_any, member.members)), preferred=None)


def groups_of(group: Group) -> list[Group]:
    return [member for member, _ in group.walk() if isinstance(member, Group)]


def all_needed(group: Group) -> bool:
    """Whether no member of the group may be left out."""
    return all(each.least == len(each.members) for each in groups_of(group))


def simple(group: Group) -> bool:
    """Whether pods are all alike, only the group itself requires a level, and no rules about pods bind them."""
    shapes = {(pods.resources, pods.filter, pods.host_ports) for pods in group.pod_sets()}
    alike = len(shapes) == 1 and all(inner.required is None for inner in groups_of(group)[1:])
    return alike and not ruled(group)


def ruled(group: Group) -> bool:
    """Whether pods have rules about other pods."""
    return any(pods.neighbour.rules for pods in group.pod_sets())


@effort(120)
@given(instances())
def test_every_relaxation_applied_makes_the_request_placeable(instance: tuple[Cluster, Request]) -> None:
    cluster, request = instance
    outcome = Engine(cluster).solve(request)
    assume(isinstance(outcome, Unplaceable))
    assert isinstance(outcome, Unplaceable)

    for shortfall in outcome.shortfalls:
        for relaxation in shortfall.relaxations:
            easier, asked = relaxed(cluster, request, relaxation)
            topology = None if asked.topology is None else easier.topology(asked.topology)
            assert problems(asked, topology) == ()
            assert oracle.feasible(easier, asked), relaxation
            assert isinstance(Engine(easier).decide(asked), Placed), relaxation


@effort(100)
@given(instances())
def test_a_failure_names_groups_of_the_request_and_never_claims_that_they_fit(
    instance: tuple[Cluster, Request],
) -> None:
    cluster, request = instance
    outcome = Engine(cluster).solve(request)
    assume(isinstance(outcome, Unplaceable))
    assert isinstance(outcome, Unplaceable)

    groups = {member.name for member, _ in request.root.walk() if isinstance(member, Group)}
    assert outcome.shortfalls
    for shortfall in outcome.shortfalls:
        assert shortfall.group in groups
        assert shortfall.fits == max((fit.fits for fit in shortfall.best), default=shortfall.fits)
        assert all(exclusion.nodes > 0 for exclusion in shortfall.excluded)
        assert sum(exclusion.nodes for exclusion in shortfall.excluded) <= len(cluster.nodes)


@effort(40)
@given(instances())
def test_a_group_named_fails_by_itself_and_enough_of_its_members_do_not(
    instance: tuple[Cluster, Request],
) -> None:
    cluster, request = instance

    for shortfall in explained(cluster, request):
        group = group_named(request, shortfall.group)
        assert not oracle.feasible(cluster, alone(request, group))
        standing = {m.name: oracle.feasible(cluster, alone(request, m)) for m in group.members}
        # Pod sets have no shortfall of their own, so their group speaks for those that fail.
        fallen = [m for m in group.members if isinstance(m, PodSet) and not standing[m.name]]
        assert sum(standing.values()) >= group.least or fallen


@effort(50)
@given(instances())
def test_what_fits_in_a_domain_is_what_the_oracle_can_place_there(
    instance: tuple[Cluster, Request],
) -> None:
    cluster, request = instance

    for shortfall in explained(cluster, request):
        group = group_named(request, shortfall.group)
        if not all_needed(group) or not shortfall.wanted:
            continue
        assert shortfall.wanted == sum(max(pods.least - len(pods.bound), 0) for pods in group.pod_sets())
        for fit in shortfall.best:
            best = oracle.best(inside(cluster, request, fit.domain), alone(request, content_with_any(group)))
            assert best is not None
            assert fit.fits <= shortfall.wanted - best.left_out < shortfall.wanted
            exact = simple(group) or (ruled(group) and not fit.at_least)
            assert not exact or fit.fits == shortfall.wanted - best.left_out


def required_level(shortfall: Shortfall) -> str | None:
    assert isinstance(shortfall.reason, NoDomain | PodTooLarge)
    return shortfall.reason.level


@effort(30)
@given(instances())
def test_no_domain_takes_more_than_the_best_one_listed(instance: tuple[Cluster, Request]) -> None:
    cluster, request = instance
    scene = Scene.of(cluster, request)

    for shortfall in explained(cluster, request):
        group = group_named(request, shortfall.group)
        required = required_level(shortfall)
        if required is None or not simple(group) or not all_needed(group) or not shortfall.wanted:
            continue
        level = scene.labels.index(required)
        running = {node for pods in group.pod_sets() for node in pods.bound}
        domains = {scene.domain(node, level) for node in running or scene.nodes}
        if running and len(domains) > 1:
            # No domain can hold them any more, and none is listed.
            assert shortfall.best == ()
            continue
        for domain in domains - {None}:
            assert domain is not None
            best = oracle.best(inside(cluster, request, domain), alone(request, content_with_any(group)))
            assert best is None or shortfall.wanted - best.left_out <= shortfall.fits


@effort(50)
@given(instances())
def test_a_relaxation_with_one_change_asks_for_no_more_than_is_needed(
    instance: tuple[Cluster, Request],
) -> None:
    cluster, request = instance
    labels = Scene.of(cluster, request).labels

    for relaxation in explained(cluster, request)[0].relaxations:
        less: list[Change]
        match relaxation.changes:
            case (CountChange(pod_set=name, to=count),):
                pods = pods_named(request, name)
                assert max(len(pods.bound), 1) <= count < pods.least
                less = [CountChange(name, count + 1)] if count + 1 < pods.least else []
            case (LevelChange(group=name, to=level),):
                now = group_named(request, name).required
                assert now is not None
                coarsest = -1 if level is None else labels.index(level)
                less = [LevelChange(name, labels[i]) for i in range(labels.index(now) - 1, coarsest, -1)]
            case _:
                less = []
        for change in less:
            assert not oracle.feasible(*relaxed(cluster, request, Relaxation((change,))))


Reason: TypeAlias = tuple[ExclusionReason, str]
"""Why a node is excluded, and the detail."""


def first_reason(scene: Scene, node: Node, pods: PodSet, level: int) -> Reason | None:
    """Why a node takes no pod of a set, read off the node the plain way; None where it takes one."""
    path, wanted = scene.paths[node.name], pods.filter
    if len(path) <= level:
        return ExclusionReason.UNLABELLED, scene.labels[len(path)]
    if not node.ready:
        return ExclusionReason.NOT_READY, ""
    for taint in (*([CORDON] if node.unschedulable else []), *sorted(node.taints, key=str)):
        if taint.effect is not Effect.PREFER_NO_SCHEDULE and not any(
            toleration.tolerates(taint) for toleration in wanted.tolerations
        ):
            return (
                (ExclusionReason.UNSCHEDULABLE, "")
                if taint == CORDON
                else (ExclusionReason.TAINT, str(taint))
            )
    for key, value in wanted.selector:
        if node.labels.get(key) != value:
            return ExclusionReason.NODE_SELECTOR, f"{key}={value}"
    if not accepts(node, replace(pods, filter=NodeFilter((), wanted.affinity, (), wanted.tolerations))):
        return ExclusionReason.NODE_AFFINITY, ""
    left = free(scene.cluster)[node.name]
    asked = {**pods.resources, **({"pods": 1} if "pods" in node.allocatable else {})}
    for name in sorted(asked, key=lambda name: ("/" not in name, name)):
        if left.get(name, 0) < asked[name]:
            return ExclusionReason.RESOURCE, name
    held = ports_held(scene.cluster, node.name)
    for port in sorted(pods.host_ports):
        if meet([port], held):
            return ExclusionReason.PORT, str(port)
    return min(
        closed_by_others(scene, node, pods),
        key=lambda reason: (ABOUT_PODS.index(reason[0]), reason[1]),
        default=None,
    )


ABOUT_PODS = (
    ExclusionReason.TOPOLOGY_KEY,
    ExclusionReason.ANTI_AFFINITY,
    ExclusionReason.EXISTING_ANTI_AFFINITY,
    ExclusionReason.POD_AFFINITY,
    ExclusionReason.SPREAD,
)
"""Reasons that rules about other pods give, in the order in which they are asked."""


def closed_by_others(scene: Scene, node: Node, pods: PodSet) -> Iterator[Reason]:
    """What rules about running pods say against a node, each with its label and who is in the way."""
    keeping = {rule for held in scene.cluster.holdings if held.pods for rule in held.neighbour.rules}
    for rule in keeping:
        if isinstance(rule, Apart) and binding(rule) and pods.neighbour.selected(rule.selector):
            has_rule = partial(has, rule)
            if holders(scene, has_rule, around(scene, node, rule.key)):
                yield (
                    ExclusionReason.EXISTING_ANTI_AFFINITY,
                    f"{rule.key} ({named(holders(scene, has_rule))})",
                )
    for rule in filter(binding, pods.neighbour.rules):
        yield from closed_by(scene, node, pods, rule)


def closed_by(scene: Scene, node: Node, pods: PodSet, rule: PodRule) -> Iterator[Reason]:
    """What one rule of a pod set says against a node."""
    running = running_pods(scene.cluster, rule.selector)
    in_the_way = named(holders(scene, lambda each: each.selected(rule.selector)))
    match rule:
        case Apart():
            if any(running.get(name) for name in around(scene, node, rule.key)):
                yield ExclusionReason.ANTI_AFFINITY, f"{rule.key} ({in_the_way})"
        case Near():
            _, hosts, _, leaders = company(scene, rule)
            for key in rule.keys:
                if key not in node.labels:
                    yield ExclusionReason.TOPOLOGY_KEY, key
                elif not (hosts or leaders or any(running.get(name) for name in around(scene, node, key))):
                    yield ExclusionReason.POD_AFFINITY, key
        case Spread():
            counted = counted_nodes(scene, pods, rule)
            domains = [counted.intersection(names) for names in domains_of(scene, rule.key).values()]
            counts = [sum(running.get(name, 0) for name in names) for names in domains if names]
            least = 0 if len(counts) < (rule.min_domains or 0) else min(counts, default=0)
            here = sum(running.get(name, 0) for name in counted.intersection(around(scene, node, rule.key)))
            new = any(each.neighbour.selected(rule.selector) for each in scene.request.root.pod_sets())
            if rule.key not in node.labels:
                yield ExclusionReason.TOPOLOGY_KEY, rule.key
            elif not new and here - least > rule.skew:
                yield ExclusionReason.SPREAD, f"{rule.key} ({in_the_way})" if in_the_way else rule.key


def around(scene: Scene, node: Node, key: str) -> list[str]:
    """The nodes of a node's domain of a label; none where it lacks the label."""
    return domains_of(scene, key).get(node.labels.get(key, ""), [])


def has(rule: PodRule, neighbour: Neighbour) -> bool:
    return rule in neighbour.rules


def holders(
    scene: Scene, meant: Callable[[Neighbour], bool], nodes: Collection[str] | None = None
) -> list[str]:
    """The workloads that have a pod that is meant, on these nodes or on any."""
    there = (held for held in scene.cluster.holdings if nodes is None or held.node in nodes)
    return sorted({held.workload for held in there if held.pods and meant(held.neighbour)})


def named(workloads: list[str]) -> str:
    """Three by name, and how many more."""
    more = f" and {len(workloads) - 3} more" if len(workloads) > 3 else ""
    return ", ".join(workloads[:3]) + more


@effort(60)
@given(instances())
def test_nodes_are_excluded_for_the_first_reason_and_counted_once(
    instance: tuple[Cluster, Request],
) -> None:
    cluster, request = instance
    scene = Scene.of(cluster, request)

    for shortfall in explained(cluster, request):
        group = group_named(request, shortfall.group)
        if not simple(group) or not all_needed(group) or not shortfall.wanted:
            continue
        required = required_level(shortfall)
        level = -1 if required is None else scene.labels.index(required)
        pods = next(group.pod_sets())
        by_itself = Scene.of(cluster, alone(request, group))
        reasons = [first_reason(by_itself, node, pods, level) for node in cluster.nodes]
        counts = Counter[Reason]()
        for exclusion in shortfall.excluded:
            # The words for node affinity are tested by themselves.
            affinity = exclusion.reason is ExclusionReason.NODE_AFFINITY
            counts[exclusion.reason, "" if affinity else exclusion.detail] += exclusion.nodes
        assert counts == Counter(reason for reason in reasons if reason is not None)
