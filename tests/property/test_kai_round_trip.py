"""Requests as KAI's objects and back: what is read is what was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

import pytest

from closeknit.apis.kai_keys import SUBGROUP_LABEL
from closeknit.dialects import Source, read
from closeknit.dialects.kai import KAI
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.neighbours import Near, Neighbour, PodRule, binding
from closeknit.hub.neighbours import Spread as SpreadRule
from closeknit.hub.nodes import NAME_FIELD, NodeFilter, Term
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.testing.strategies import RULED, TINY, USUAL, random_instance

NAMES = ("train", "team/train")


def written(cluster: Cluster, request: Request) -> Iterator[dict[str, Any]]:
    """The request as objects, and its nodes, because no pod runs on a node that is not there."""
    workload = PlaceableWorkload(ObjectName("v1", "Any", "", request.name), "any", request)
    assert KAI.express is not None
    yield from KAI.express(workload, {topology.name: topology for topology in cluster.topologies})
    for node in cluster.nodes:
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name}, "status": {}}


def read_back(cluster: Cluster, request: Request) -> Request:
    text = "\n".join(json.dumps(made) for made in written(cluster, request))
    found = read([Source("f", text.encode())])
    assert [str(problem) for problem in found.problems] == []
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    return workload.request


def plain(request: Request, levels: tuple[str, ...]) -> Request:
    """The request in a form in which all that means the same is equal.

    A request that names a topology and no level of it speaks of none. A group that has pods
    of one kind only, and no levels, is those pods. Members have no order. Names are kept, except those of
    pod sets that are all that their group has, of pods that nobody named, and of pod sets without pods.
    Rules about other pods have no order either. The label that tells KAI a pod's subgroup is left out.
    A preference that is coarser than what is required anyway says nothing. ``levels`` are those of the
    topology, coarsest first.
    """
    root = _group(_meant(request.root, levels, 0), named=False)
    spoken = any(isinstance(member, Group) and _levels(member) for member, _ in root.walk())
    name = request.name if "/" in request.name else f"default/{request.name}"
    return Request(name, replace(root, name=name), request.topology if spoken else None)


def _meant(group: Group, levels: tuple[str, ...], required: int) -> Group:
    if group.required is not None:
        required = max(required, levels.index(group.required))
    idle = group.preferred is not None and levels.index(group.preferred) < required
    members = tuple(
        _meant(member, levels, required) if isinstance(member, Group) else member for member in group.members
    )
    return replace(group, members=members, preferred=None if idle else group.preferred)


def _levels(group: Group) -> bool:
    return group.required is not None or group.preferred is not None


def _member(member: Member) -> Member:
    if isinstance(member, PodSet):
        return _pods(member)
    group = _group(member)
    only = group.members[0]
    if len(group.members) == 1 and isinstance(only, PodSet) and not _levels(group) and group.minimum is None:
        return replace(only, name=group.name)
    return group


def _group(group: Group, *, named: bool = True) -> Group:
    members = tuple(sorted((_member(member) for member in group.members), key=lambda each: each.name))
    minimum = None if group.least == len(members) else group.minimum
    if not members:
        members = (PodSet("", 0),)
    if len(members) == 1 and isinstance(members[0], PodSet) and minimum is None:
        members = (replace(members[0], name=""),)
    return Group(group.name if named else "", members, group.required, group.preferred, minimum)


def _pods(pods: PodSet) -> PodSet:
    if pods.count == 0:
        return PodSet(pods.name.partition("/")[0], 0)
    return replace(
        pods,
        name=pods.name.partition("/")[0],
        minimum=None if pods.least == pods.count else pods.minimum,
        filter=_filter(pods.filter),
        pods=pods.pods if pods.pods and pods.pods[0].startswith("pod-") else (),
        neighbour=_neighbour(pods.neighbour),
    )


def _neighbour(given: Neighbour) -> Neighbour:
    return replace(
        given,
        labels=tuple((key, value) for key, value in given.labels if key != SUBGROUP_LABEL),
        rules=tuple(sorted(map(_rule, given.rules), key=repr)),
    )


def _rule(rule: PodRule) -> PodRule:
    requirements = (
        replace(each, values=tuple(sorted(set(each.values)))) for each in rule.selector.requirements
    )
    meant = replace(rule, selector=replace(rule.selector, requirements=tuple(requirements)))
    return replace(meant, keys=tuple(sorted(meant.keys))) if isinstance(meant, Near) else meant


def _filter(given: NodeFilter) -> NodeFilter:
    affinity = given.affinity
    return replace(
        given,
        affinity=None if affinity is None else tuple(_term(term) for term in affinity) or (Term(()),),
        # Kubernetes passes over a preference that asks for nothing.
        preferences=tuple(each for each in given.preferences if each.term.requirements),
    )


def _term(term: Term) -> Term:
    fields_last = sorted(term.requirements, key=lambda each: each.key == NAME_FIELD)
    return Term(tuple(replace(each, values=tuple(sorted(set(each.values)))) for each in fields_last))


def check(seed: int) -> None:
    rng = Random(seed)
    cluster, request = random_instance(rng, rng.choice((TINY, USUAL, RULED)))
    request = replace(request, name=rng.choice(NAMES))
    request = replace(request, root=request.root.mapped(partial(_as_kubernetes_says_it, request.name)))
    if rng.random() < 0.05:
        request = replace(request, root=_emptied(rng, request.root))
    levels = next((each.labels for each in cluster.topologies if each.name == request.topology), ())
    assert plain(read_back(cluster, request), levels) == plain(request, levels), f"seed {seed}"


def _as_kubernetes_says_it(name: str, pods: PodSet) -> PodSet:
    """Pods that live where their request does, with rules that a pod can have there.

    All terms of required affinity are one rule, and pods spread with pods of their own namespace.
    """
    namespace = name.rpartition("/")[0] or "default"
    rules: list[PodRule] = []
    for rule in pods.neighbour.rules:
        if isinstance(rule, SpreadRule):
            rules.append(replace(rule, selector=replace(rule.selector, namespaces=frozenset([namespace]))))
        elif not (
            isinstance(rule, Near)
            and binding(rule)
            and any(isinstance(each, Near) and binding(each) for each in rules)
        ):
            rules.append(rule)
    return replace(pods, neighbour=replace(pods.neighbour, namespace=namespace, rules=tuple(rules)))


def _emptied(rng: Random, group: Group) -> Group:
    """The same tree with some pod sets that have no pods, and groups that have no members."""
    members: list[Member] = []
    for member in group.members:
        if isinstance(member, PodSet):
            none = PodSet(member.name, 0, Resources({"cpu": 1}))
            members.append(none if rng.random() < 0.5 else member)
        elif rng.random() < 0.3:
            members.append(replace(member, members=(), minimum=None))
        else:
            members.append(_emptied(rng, member))
    return replace(group, members=tuple(members))


@pytest.mark.parametrize("hundred", range(3), ids=lambda hundred: f"requests {hundred}00 to {hundred}99")
def test_a_request_written_as_kai_objects_reads_back_as_the_same(hundred: int) -> None:
    for seed in range(hundred * 100, hundred * 100 + 100):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "thousand",
    [
        pytest.param(each, marks=[pytest.mark.long] if each > 2 else (), id=f"thousand {each}")
        for each in range(10)
    ],
)
def test_ten_thousand_requests_written_as_kai_objects_read_back_as_the_same(thousand: int) -> None:
    for seed in range(1000 + thousand * 1000, 2000 + thousand * 1000):
        check(seed)
