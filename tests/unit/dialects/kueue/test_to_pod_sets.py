"""What Kueue is told of any request means what was asked, when it is read again."""

from __future__ import annotations

import json
from random import Random

from closeknit.apis.closeknit_keys import LEFT_OUT
from closeknit.dialects import Source, read
from closeknit.dialects.kueue.express import express
from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.request import Group, Request
from closeknit.hub.topology import Topology
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.testing.random_clusters import TOPOLOGY
from closeknit.testing.random_requests import random_instance

REQUESTS = 300
LINUX = {"kubernetes.io/os": "linux"}
"""The label by which the flavor of a workload that selects no nodes is known."""


def told(request: Request, topologies: dict[str, Topology]) -> tuple[Request, bool] | None:
    """The request that is read from what Kueue is told, and whether preferences were left out on the way."""
    workload = PlaceableWorkload(ObjectName("v1", "X", "default", "train"), "x", request)
    try:
        objects = list(express(workload, topologies))
    except InvalidError:
        return None
    text = "\n".join(json.dumps(each) for each in objects)
    result = read([Source("said", text.encode())])
    assert [str(problem) for problem in result.problems] == []
    (again,) = result.workloads
    assert isinstance(again, PlaceableWorkload)
    return again.request, LEFT_OUT in objects[-1]["metadata"].get("annotations", {})


def refusals(workload: PlaceableWorkload, topologies: dict[str, Topology]) -> tuple[Problem, ...]:
    try:
        list(express(workload, topologies))
    except InvalidError as error:
        return error.problems
    return ()


def fresh(group: Group) -> Group:
    """The same, before anything of it runs."""
    members = tuple(
        fresh(each) if isinstance(each, Group) else replace(each, bound=(), pods=()) for each in group.members
    )
    return replace(group, members=members)


def labelled(cluster: Cluster) -> Cluster:
    """The nodes on which Kueue places pods by topology: those with the labels of all levels."""
    topology = next(each for each in cluster.topologies if each.name == TOPOLOGY)
    nodes = tuple(
        replace(node, labels={**node.labels, **LINUX})
        for node in cluster.nodes
        if len(topology.path(node.labels)) == len(topology.levels)
    )
    names = {node.name for node in nodes}
    return replace(cluster, nodes=nodes, holdings=tuple(h for h in cluster.holdings if h.node in names))


def comparable(seeds: range) -> list[tuple[int, Cluster, Request]]:
    """Random requests with pods, none of which runs yet, on clusters as Kueue sees them."""
    made: list[tuple[int, Cluster, Request]] = []
    for seed in seeds:
        cluster, request = random_instance(Random(seed))
        request = replace(request, root=fresh(request.root))
        if any(pods.count for pods in request.root.pod_sets()) and request.topology is not None:
            made.append((seed, labelled(cluster), request))
    return made


def test_a_request_that_is_said_again_fits_where_it_did_before_and_nowhere_else() -> None:
    compared = 0
    for seed, cluster, request in comparable(range(REQUESTS)):
        if (found := told(request, {each.name: each for each in cluster.topologies})) is None:
            continue
        again, lacks_wishes = found
        before, after = Engine(cluster).decide(request), Engine(cluster).decide(again)
        assert isinstance(before, Placed | Unplaceable)
        assert type(before) is type(after), f"seed {seed}"
        if isinstance(before, Placed) and isinstance(after, Placed):
            assert len(before.assignments) == len(after.assignments), f"seed {seed}"
            if not lacks_wishes and before.proven and after.proven:
                # What is expressed again may name fewer levels; both are best down to the coarser named one.
                both = zip(before.wishes.domains, after.wishes.domains, strict=False)
                assert all(number == again for number, again in both), f"seed {seed}"
        compared += 1

    assert compared > REQUESTS // 3


def test_most_requests_with_pods_can_be_said() -> None:
    found = [
        told(request, {each.name: each for each in cluster.topologies})
        for _, cluster, request in comparable(range(REQUESTS))
    ]

    assert sum(each is not None for each in found) > 0.55 * len(found)


def test_what_cannot_be_said_names_the_part_and_the_reason() -> None:
    for seed, cluster, request in comparable(range(REQUESTS)):
        workload = PlaceableWorkload(ObjectName("v1", "X", "default", "train"), "x", request)
        names = {member.name for member, _ in request.root.walk()}
        for problem in refusals(workload, {each.name: each for each in cluster.topologies}):
            assert dict(problem.facts).get("name") in names, f"seed {seed}: {problem}"
            assert problem.message.endswith("."), f"seed {seed}: {problem}"


def test_pods_of_a_request_are_all_counted() -> None:
    def pods(group: Group) -> int:
        return sum(each.count for each in group.pod_sets())

    for seed, cluster, request in comparable(range(REQUESTS)):
        if found := told(request, {each.name: each for each in cluster.topologies}):
            assert pods(found[0].root) == pods(request.root), f"seed {seed}"
