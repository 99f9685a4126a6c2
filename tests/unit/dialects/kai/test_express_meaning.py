"""What is written for KAI and as PodGangs means what was asked, when it is read again without the original."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import pytest

from closeknit.dialects import Source, read, translate
from closeknit.dialects.grove import GROVE
from closeknit.dialects.kai import KAI
from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import Group, Request
from closeknit.hub.topology import Topology
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.testing.random_requests import random_instance

REQUESTS = 60
MORE_REQUESTS = 1500

Objects = list[dict[str, Any]]
Topologies = Mapping[str, Topology]


def said(request: Request, topologies: Topologies, family: Any) -> Objects:
    """The request in the words of a family; raises where it has none."""
    workload = PlaceableWorkload(ObjectName("v1", "X", "default", "train"), "x", request)
    return list(family.express(workload, topologies))


def source(objects: Objects) -> Source:
    return Source("said", "\n".join(json.dumps(each) for each in objects).encode())


def translated(objects: Objects, target: str) -> Objects:
    found = translate([source(objects)], target)
    if found.problems:
        raise InvalidError([each.problem for each in found.problems])
    return list(found.objects)


def by_kai(request: Request, topologies: Topologies) -> Objects:
    return said(request, topologies, KAI)


def by_pod_gang(request: Request, topologies: Topologies) -> Objects:
    """By way of Grove, whose set is not written."""
    return translated(said(request, topologies, KAI), "podgang")


def of_a_set(target: str, *, with_pods: bool) -> Callable[[Request, Topologies], Objects]:
    def made(request: Request, topologies: Topologies) -> Objects:
        written = said(request, topologies, GROVE)
        # A topology that is an object of Grove already is not written for PodGangs once more.
        bound = [each for each in written if each["kind"] == "ClusterTopologyBinding"]
        pods = translated(written, "pods") if with_pods else []
        return [*(bound if target == "podgang" else []), *translated(written, target), *pods]

    return made


def every_pod_is_told(_: Request) -> bool:
    return True


def resources_say_it_all(request: Request) -> bool:
    """An annotation tells resources, and not which nodes are accepted."""
    return all(pods.filter == NodeFilter() and not pods.host_ports for pods in request.root.pod_sets())


def minimums_say_it_all(request: Request) -> bool:
    """Without pods, a PodGroup tells of those that must run only."""
    return resources_say_it_all(request) and all(pods.least == pods.count for pods in request.root.pod_sets())


WAYS = [
    pytest.param(by_kai, every_pod_is_told, 0.9, id="as a PodGroup with its pods"),
    pytest.param(by_pod_gang, every_pod_is_told, 0.3, id="as a PodGang with its pods"),
    pytest.param(
        of_a_set("kai", with_pods=False),
        minimums_say_it_all,
        0.05,
        id="as the PodGroups of a set, without pods",
    ),
    pytest.param(
        of_a_set("kai", with_pods=True), every_pod_is_told, 0.3, id="as the PodGroups and pods of a set"
    ),
    pytest.param(
        of_a_set("podgang", with_pods=False),
        resources_say_it_all,
        0.1,
        id="as the PodGangs of a set, without pods",
    ),
    pytest.param(
        of_a_set("podgang", with_pods=True), every_pod_is_told, 0.3, id="as the PodGangs and pods of a set"
    ),
]


def fresh(group: Group) -> Group:
    """The same, before anything of it runs."""
    members = tuple(
        fresh(each) if isinstance(each, Group) else replace(each, bound=(), pods=()) for each in group.members
    )
    return replace(group, members=members)


def instances(seeds: range) -> Iterator[tuple[int, Cluster, Request]]:
    for seed in seeds:
        cluster, request = random_instance(Random(seed))
        root = replace(fresh(request.root), name="default/train")
        if any(pods.count for pods in root.pod_sets()):
            yield seed, cluster, replace(request, name="default/train", root=root)


def compared(
    way: Callable[[Request, Topologies], Objects], told: Callable[[Request], bool], seeds: range
) -> float:
    """The share of requests that could be said and mean the same; fails at the first that does not."""
    number = total = 0
    for seed, cluster, request in instances(seeds):
        total += 1
        if not told(request):
            continue
        try:
            objects = way(request, {each.name: each for each in cluster.topologies})
        except InvalidError:
            continue
        result = read([source(objects)])
        assert [str(problem) for problem in result.problems] == [], f"seed {seed}"
        (again,) = result.workloads
        assert isinstance(again, PlaceableWorkload)
        before, after = Engine(cluster).decide(request), Engine(cluster).decide(again.request)
        assert isinstance(before, Placed | Unplaceable)
        assert type(before) is type(after), f"seed {seed}"
        if isinstance(before, Placed) and isinstance(after, Placed):
            assert len(before.assignments) == len(after.assignments), f"seed {seed}"
        number += 1
    return number / total


@pytest.mark.parametrize(("way", "told", "share"), WAYS)
def test_a_request_that_is_said_again_fits_where_it_did_before_and_nowhere_else(
    way: Callable[[Request, Topologies], Objects], told: Callable[[Request], bool], share: float
) -> None:
    assert compared(way, told, range(REQUESTS)) > share


@pytest.mark.slow
@pytest.mark.parametrize(("way", "told", "share"), WAYS)
def test_many_requests_that_are_said_again_fit_where_they_did_before(
    way: Callable[[Request, Topologies], Objects], told: Callable[[Request], bool], share: float
) -> None:
    assert compared(way, told, range(REQUESTS, REQUESTS + MORE_REQUESTS)) > share
