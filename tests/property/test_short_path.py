"""The short path answers like the search, in every respect, wherever it answers at all."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from bench.clusters import BLOCK, GPU, RACK, TOPOLOGY, ZONE, half_full_cluster
from closeknit.engine import Budget, Engine, short_path
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.nodes import Effect, Taint
from closeknit.hub.outcome import Outcome, Placed
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.testing.strategies import instances
from tests.property.effort import effort


def short(engine: Engine, request: Request) -> Outcome | None:
    """What the short path says by itself."""
    pods = short_path.single_set(request.root)
    assert pods is not None
    tables = engine._tables(engine._requests.of(request))
    if tables.rules or tables.preferred:
        return None
    return short_path.decide(request, pods, tables.by_shape[0], tables.plain[0], budget=Budget(), touched=0)


def agreed(engine: Engine, request: Request) -> tuple[Outcome, bool]:
    """What both ways say, statistics included, and whether the short one was enough."""
    quick, slow = short(engine, request), engine._search(request, engine._cache.touched)
    if quick is not None:
        assert quick == slow
    assert engine.decide(request) == slow
    return slow, quick is not None


def plain(cluster: Cluster, request: Request, rng: Random) -> Request:
    """One group with one pod set like one of the request's, at random levels."""
    sets = [*request.root.pod_sets(), PodSet("p", 1)]
    pods = replace(rng.choice(sets), count=rng.choice([1, 1, 2, 2, 3, 4, 6]), minimum=None, bound=(), pods=())
    topology = cluster.topology(request.topology) if request.topology is not None else None
    labels = topology.labels if topology is not None else ()
    levels = sorted(rng.choices(range(len(labels)), k=2)) if labels else []
    required, preferred = [labels[at] if rng.random() < 0.6 else None for at in levels] or [None, None]
    return Request("plain", Group("all", (pods,), required, preferred), request.topology)


def with_soft_taints(cluster: Cluster, rng: Random) -> Cluster:
    """The same with some nodes less welcome than others, so that prices count."""
    taints = (Taint("slow", Effect.PREFER_NO_SCHEDULE),)
    nodes = tuple(replace(node, taints=taints) if rng.random() < 0.4 else node for node in cluster.nodes)
    return replace(cluster, nodes=nodes)


@effort(300)
@given(instances(), st.integers(0, 10**6))
def test_the_short_path_answers_like_the_search(instance: tuple[Cluster, Request], seed: int) -> None:
    rng = Random(seed)
    cluster = with_soft_taints(instance[0], rng) if rng.random() < 0.4 else instance[0]
    engine = Engine(cluster)
    for i in range(3):
        request = plain(cluster, instance[1], rng)
        outcome, _ = agreed(engine, request)
        if isinstance(outcome, Placed):
            # What is asked next finds tables that were brought up to date node by node.
            engine.apply(replace(request, name=f"w{i}"), outcome)


def test_on_a_large_cluster_most_requests_take_the_short_path() -> None:
    rng = Random(3)
    engine = Engine(half_full_cluster(1_000, seed=3))
    taken = 0
    for i in range(150):
        # Pods without a GPU had better keep off nodes that have some, so their tables have prices.
        gpus = rng.choice([0, 1, 1, 2, 4, 8])
        pods = PodSet("p", rng.choice([1, 2, 2, 4, 4]), Resources({GPU: gpus, "cpu": 1000}))
        required, preferred = rng.choice(
            [(RACK, None), (RACK, None), (None, RACK), (ZONE, RACK), (BLOCK, None), (None, None)]
        )
        request = Request(f"w{i}", Group("all", (pods,), required, preferred), TOPOLOGY.name)
        outcome, quick = agreed(engine, request)
        taken += quick
        if isinstance(outcome, Placed):
            engine.apply(request, outcome)
        if i % 3 == 2:
            engine.release(f"w{rng.randrange(i)}")

    assert taken > 100
