"""Random instances must be valid, small, hard, and hold everything that a request can say."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from closeknit.hub.cluster import Cluster
from closeknit.hub.request import Group, Request, problems
from closeknit.testing import oracle
from closeknit.testing.drawings import free
from closeknit.testing.strategies import TINY, USUAL, Size, random_instance


def groups(request: Request) -> list[Group]:
    return [member for member, _ in request.root.walk() if isinstance(member, Group)]


def depth(group: Group) -> int:
    return 1 + max((depth(member) for member in group.members if isinstance(member, Group)), default=0)


@given(st.integers(0, 10**9), st.sampled_from([TINY, USUAL]))
def test_instances_are_valid_and_small(seed: int, size: Size) -> None:
    cluster, request = random_instance(Random(seed), size)

    topology = None if request.topology is None else cluster.topology(request.topology)
    assert problems(request, topology) == ()
    assert len(cluster.nodes) <= size.nodes
    assert len(groups(request)) <= size.groups
    assert depth(request.root) <= 3
    # A pod set has at least one pod, and a few are asked for beyond what was planted.
    assert sum(pods.count for pods in request.root.pod_sets()) <= size.pods + 16
    nodes = {node.name for node in cluster.nodes}
    assert nodes >= {holding.node for holding in cluster.holdings}
    for pods in request.root.pod_sets():
        assert nodes >= set(pods.bound)


@given(st.integers(0, 10**9))
def test_a_seed_stands_for_one_instance(seed: int) -> None:
    assert random_instance(Random(seed)) == random_instance(Random(seed))


def test_running_pods_are_holdings_of_the_request() -> None:
    for seed in range(200):
        cluster, request = random_instance(Random(seed))
        running = Counter((node, pods.resources) for pods in request.root.pod_sets() for node in pods.bound)
        held: Counter[object] = Counter()
        for holding in cluster.holdings:
            if holding.workload == request.name:
                held[holding.node, holding.resources] += holding.pods
        assert running == held


def test_about_half_of_the_instances_are_feasible() -> None:
    feasible = sum(oracle.feasible(*random_instance(Random(seed))) for seed in range(150))

    assert 60 <= feasible <= 115


def features(cluster: Cluster, request: Request) -> set[str]:
    """What there is about an instance."""
    every = groups(request)
    sets = list(request.root.pod_sets())
    names = {
        "required": any(group.required for group in every),
        "preferred": any(group.preferred for group in every),
        "both": any(group.required and group.preferred for group in every),
        "three deep": depth(request.root) == 3,
        "eight groups": len(every) == 8,
        "fewer members": any(group.minimum is not None for group in every),
        "fewer pods": any(pods.least < pods.count for pods in sets),
        "no pod needed": any(pods.least == 0 for pods in sets),
        "running": any(pods.bound for pods in sets),
        "named pods": any(pods.pods for pods in sets),
        "shapes": len({pods.resources for pods in sets}) == 3,
        "selector": any(pods.filter.selector for pods in sets),
        "affinity": any(pods.filter.affinity for pods in sets),
        "tolerations": any(pods.filter.tolerations for pods in sets),
        "ports": any(pods.host_ports for pods in sets),
        "no topology": request.topology is None,
        "two topologies": len(cluster.topologies) == 2,
        "host level": any(len(topology.levels) == 4 for topology in cluster.topologies),
        "pods counted": any("pods" in node.allocatable for node in cluster.nodes),
        "labels missing": any("rack" not in node.labels for node in cluster.nodes),
        "tainted": any(node.taints for node in cluster.nodes),
        "cordoned": any(node.unschedulable for node in cluster.nodes),
        "not ready": any(not node.ready for node in cluster.nodes),
        "overcommitted": any(units < 0 for left in free(cluster).values() for units in left.values()),
        "occupied": any(holding.workload != request.name for holding in cluster.holdings),
    }
    return {name for name, there in names.items() if there}


def test_everything_occurs_at_least_now_and_then() -> None:
    seen: Counter[str] = Counter()
    for seed in range(400):
        seen.update(features(*random_instance(Random(seed))))

    assert len(seen) == 25
    assert {name: count for name, count in seen.items() if count < 3} == {}
