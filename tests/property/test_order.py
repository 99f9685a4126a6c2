"""The order in which things are listed never shows."""

from __future__ import annotations

from random import Random
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.testing.strategies import instances
from tests.property.effort import effort

T = TypeVar("T")


def relisted_cluster(cluster: Cluster, rng: Random) -> Cluster:
    """The same cluster with nodes, their labels, holdings and topologies in another order."""
    nodes = [replace(node, labels=dict(mixed(list(node.labels.items()), rng))) for node in cluster.nodes]
    return Cluster(
        tuple(mixed(list(cluster.topologies), rng)),
        tuple(mixed(nodes, rng)),
        tuple(mixed(list(cluster.holdings), rng)),
    )


def relisted_request(request: Request, rng: Random) -> Request:
    """The same request with members and running pods in another order."""

    def visit(member: Member) -> Member:
        if isinstance(member, PodSet):
            return replace(member, bound=tuple(mixed(list(member.bound), rng)))
        return replace(member, members=tuple(mixed([visit(inner) for inner in member.members], rng)))

    root = visit(request.root)
    assert isinstance(root, Group)
    return replace(request, root=root)


def mixed(things: list[T], rng: Random) -> list[T]:
    return rng.sample(things, len(things))


@effort(250)
@given(instances(), st.integers(0, 1000))
def test_listing_order_never_shows_in_a_decision(instance: tuple[Cluster, Request], seed: int) -> None:
    cluster, request = instance
    rng = Random(seed)
    first = Engine(cluster).decide(request)

    for _ in range(3):
        assert Engine(relisted_cluster(cluster, rng)).decide(relisted_request(request, rng)) == first


@effort(80)
@given(instances(), st.integers(0, 1000))
def test_listing_order_never_shows_in_an_explanation(instance: tuple[Cluster, Request], seed: int) -> None:
    cluster, request = instance
    rng = Random(seed)

    again = Engine(relisted_cluster(cluster, rng)).solve(relisted_request(request, rng))

    assert again == Engine(cluster).solve(request)


@effort(50)
@given(instances())
def test_asking_twice_gives_the_same_answer(instance: tuple[Cluster, Request]) -> None:
    cluster, request = instance
    engine = Engine(cluster)

    first = engine.solve(request)
    again = engine.solve(request)

    assert replace(again, statistics=first.statistics) == first
