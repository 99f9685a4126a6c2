"""Greedy passes: sound placements of all pods, in few domains."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from closeknit.engine import Engine
from closeknit.engine.compiled_request import Goal
from closeknit.engine.greedy_passes import GreedyPasses
from closeknit.hub.cluster import Cluster
from closeknit.hub.request import Request
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse
from closeknit.testing.meaning import broken, new_pods
from closeknit.testing.random_requests import random_instance
from closeknit.testing.scene import Scene, Spread
from tests.property.greedy import Greedy, random_asked, random_hosts

CLUSTER = parse("""
    r1
      x1: 4
      x2: 4
    r2
      x3: 3
    r3
      x4: 1
      x5: 1
      x6: 1
""")


def spreads(cluster: Cluster, asked: Request) -> Iterator[Spread]:
    """What the passes place, by names."""
    engine = Engine(cluster)
    compiled = engine._compile(asked, Goal.WISHES)
    for found in GreedyPasses(compiled, engine._ledger.free).spreads((-1, 0), 1 << 60):
        yield {
            compiled.pod_sets[index].name: {
                compiled.tree.node(position): count
                for position, count in zip(positions.tolist(), counts.tolist(), strict=True)
            }
            for index, (positions, counts) in found.items()
        }


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(request("w", pods("a", 3)), {"a": {"x3": 3}}, id="the fullest node that takes all"),
        pytest.param(
            request("w", pods("a", 5)), {"a": {"x1": 4, "x2": 1}}, id="the roomiest where none takes all"
        ),
        pytest.param(
            request("w", pods("a", 8), group("g", pods("b", 3), required="rack")),
            {"a": {"x1": 4, "x2": 4}, "b": {"x3": 3}},
            id="groups that choose a domain come before pods that go anywhere, into the tightest",
        ),
    ],
)
def test_the_first_pass(asked: Request, expected: Spread) -> None:
    assert next(spreads(CLUSTER, asked)) == expected


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(request("w", pods("a", 15)), id="too many pods"),
        pytest.param(
            request("w", group("g", pods("b", 9), required="rack")), id="no rack that is large enough"
        ),
        pytest.param(
            request("w", *(group(f"g{i}", pods(f"b{i}", 5), required="rack") for i in range(2))),
            id="only one rack that is large enough",
        ),
    ],
)
def test_a_pass_gives_up_where_something_finds_no_place(asked: Request) -> None:
    assert list(spreads(CLUSTER, asked)) == []


def test_passes_place_all_pods_and_break_no_rule() -> None:
    found = 0
    for seed in range(300):
        cluster, asked = random_instance(Random(seed))
        if any(each.bound for each in asked.root.pod_sets()):
            continue
        scene = Scene.of(cluster, asked)
        for spread in spreads(cluster, asked):
            found += 1
            assert list(broken(scene, spread)) == [], seed
            assert all(new_pods(spread, each) == each.open for each in asked.root.pod_sets()), seed
    assert found > 100


def test_one_of_the_passes_is_as_good_as_one_in_plain_python() -> None:
    compared = 0
    for seed in range(60):
        rng = Random(seed)
        cluster = random_hosts(rng)
        asked = random_asked(rng, cluster)
        plain = Greedy(cluster, asked).used()
        if plain is None:
            continue
        paths = {node.name: tuple(node.labels.values()) for node in cluster.nodes}
        used = [
            {paths[node] for nodes in spread.values() for node in nodes}
            for spread in spreads(cluster, asked.request())
        ]
        counts = [tuple(len({path[:depth] for path in each}) for depth in (1, 2, 3)) for each in used]
        compared += 1
        assert min(counts) <= plain, seed
    assert compared > 30


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(request("w", pods("a", 8), group("g", pods("b", 3), required="rack")), id="all placed"),
        pytest.param(
            request("w", *(group(f"g{i}", pods(f"b{i}", 5), required="rack") for i in range(2))),
            id="nothing found",
        ),
    ],
)
def test_passes_stop_when_their_work_is_done(asked: Request) -> None:
    engine = Engine(CLUSTER)
    compiled = engine._compile(asked, Goal.WISHES)
    everything = GreedyPasses(compiled, engine._ledger.free)
    whole = len(list(everything.spreads((-1, 0), 1 << 60)))
    assert everything.work > 0

    found = []
    for most_work in range(everything.work + 1):
        passes = GreedyPasses(compiled, engine._ledger.free)
        found.append(len(list(passes.spreads((-1, 0), most_work))))
        assert passes.work <= most_work + 2

    assert found == sorted(found)
    assert found[-1] == whole
