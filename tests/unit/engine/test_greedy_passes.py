"""Greedy passes: sound placements of all pods, in few domains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest

from closeknit.engine import Engine
from closeknit.engine.compiled_request import Goal
from closeknit.engine.count_bounds import MixedBound
from closeknit.engine.floor import Floor
from closeknit.engine.greedy_passes import GreedyPasses, Hopeful
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


def anything(least: Sequence[int]) -> bool:
    return bool(least)


class Passes:
    """Passes over a request for a cluster, with what they place by names."""

    def __init__(self, cluster: Cluster, asked: Request) -> None:
        engine = Engine(cluster)
        self._compiled = compiled = engine._compile(asked, Goal.WISHES)
        free = engine._ledger.free
        self._passes = GreedyPasses(compiled, free, Floor(compiled, MixedBound(compiled, free), []))

    @property
    def work(self) -> int:
        return self._passes.work

    def spreads(self, most_work: int = 1 << 60, hopeful: Hopeful = anything) -> Iterator[Spread]:
        compiled = self._compiled
        for found in self._passes.spreads((-1, 0), most_work, hopeful):
            yield {
                compiled.pod_sets[index].name: {
                    compiled.tree.node(position): count
                    for position, count in zip(positions.tolist(), counts.tolist(), strict=True)
                }
                for index, (positions, counts) in found.items()
            }


def spreads(cluster: Cluster, asked: Request) -> Iterator[Spread]:
    """What the passes place if all are worth making."""
    return Passes(cluster, asked).spreads()


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
    everything = Passes(CLUSTER, asked)
    whole = len(list(everything.spreads()))
    assert everything.work > 0

    found = []
    for most_work in range(everything.work + 1):
        passes = Passes(CLUSTER, asked)
        found.append(len(list(passes.spreads(most_work))))
        assert passes.work <= most_work + 2

    assert found == sorted(found)
    assert found[-1] == whole


RACKS = parse("""
    r1
      x1: 4
      x2: 4
      x3: 2
    r2
      x4: 5
      x5: 5
    r3
      x6: 3
      x7: 3
      x8: 3
""")
IN_A_RACK = request(
    "w", pods("a", 2), group("g", pods("b", 1, gpus=4)), pods("c", 1, gpus=3), required="rack"
)


def test_a_pass_for_the_domain_of_the_fewest_nodes_comes_first() -> None:
    # By shape, two nodes do in any of these racks; in all, the pods take 9 GPUs.
    first = next(spreads(RACKS, IN_A_RACK))

    assert {node for nodes in first.values() for node in nodes} == {"x4", "x5"}


def test_each_way_is_tried_in_every_domain_before_the_next_way() -> None:
    racks = [
        {node[0] for nodes in found.values() for node in nodes}
        for found in spreads(
            parse("""
                r1
                  a1: 4
                  a2: 4
                r2
                  b1: 4
                  b2: 4
                r3
                  c1: 4
                  c2: 4
            """),
            request("w", pods("p", 5), pods("q", 1, gpus=2), required="rack"),
        )
    ]

    assert racks == [{"a"}, {"b"}, {"c"}] * 3


def test_no_pass_goes_on_that_finds_nothing_better() -> None:
    looked_at: list[tuple[int, ...]] = []

    def in_two_nodes(least: Sequence[int]) -> bool:
        looked_at.append(tuple(least))
        return least[-1] <= 2

    found = [
        {node for nodes in each.values() for node in nodes}
        for each in Passes(RACKS, IN_A_RACK).spreads(hopeful=in_two_nodes)
    ]

    assert found == [{"x4", "x5"}] * 3
    # Of r1 no more than the bound is looked at, once a way.
    assert [least for least in looked_at if least[-1] > 2] == [(1, 3)] * 3


def test_a_pass_ends_where_it_uses_too_many_nodes() -> None:
    # Two nodes of five would do, and so the counts say, but a pass begins with the one of four.
    cluster = parse("""
        r1
          x1: 4
          x2: 5
          x3: 5
    """)
    asked = request(
        "w", *(pods(f"p{i}", 1, gpus=gpus) for i, gpus in enumerate((3, 3, 2, 2))), required="rack"
    )

    assert list(Passes(cluster, asked).spreads())
    assert not list(Passes(cluster, asked).spreads(hopeful=lambda least: least[-1] <= 2))


def test_no_pass_is_made_where_none_is_hopeful() -> None:
    passes = Passes(RACKS, IN_A_RACK)

    assert not list(passes.spreads(hopeful=lambda least: not least))
    assert passes.work == 2


TWO_BLOCKS = parse("""
    b1
      r1
        x1: 4
        x2: 4
        x3: 4
      r2
        x4: 6
        x5: 6
    b2
      r1
        x6: 3
        x7: 3
        x8: 3
        x9: 3
""")


def test_to_order_domains_takes_at_most_an_eighth_of_the_work() -> None:
    asked = request("w", pods("a", 6), pods("b", 2, gpus=3), preferred="rack")
    taken = []
    for most_work in range(100):
        passes = Passes(TWO_BLOCKS, asked)
        assert not list(passes.spreads(most_work, hopeful=lambda least: not least))
        assert passes.work <= most_work // 8
        taken.append(passes.work)

    # Racks are ordered for a work of 2, and blocks after them for one of 3.
    assert sorted(set(taken)) == [0, 2, 5]


@pytest.mark.parametrize(
    ("most_work", "racks", "bounds"),
    [
        pytest.param(
            15, [{"x1", "x2", "x3"}, {"x4", "x5"}], {(0, 0)}, id="too little work to order them: by path"
        ),
        pytest.param(16, [{"x4", "x5"}], {(1, 2), (1, 3)}, id="enough work: by the fewest nodes"),
    ],
)
def test_domains_are_ordered_where_the_work_allows(
    most_work: int, racks: list[set[str]], bounds: set[tuple[int, ...]]
) -> None:
    looked_at: set[tuple[int, ...]] = set()

    def noting(least: Sequence[int]) -> bool:
        looked_at.add(tuple(least))
        return False

    first = list(Passes(RACKS, IN_A_RACK).spreads(most_work))[: len(racks)]

    assert [{node for nodes in each.values() for node in nodes} for each in first] == racks
    assert not list(Passes(RACKS, IN_A_RACK).spreads(most_work, hopeful=noting))
    assert looked_at == bounds
