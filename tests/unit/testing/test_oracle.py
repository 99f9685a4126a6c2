from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Wishes
from closeknit.hub.request import Request
from closeknit.testing import oracle
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse
from closeknit.testing.meaning import broken, order, wishes_of
from closeknit.testing.scene import Scene
from closeknit.testing.strategies import TINY, instances, random_instance
from tests import brute

TWO_RACKS = parse("""
    b1
      r1
        x1: 4
      r2
        x2: 3
""")


@pytest.mark.parametrize(
    ("cluster", "asked", "expected"),
    [
        pytest.param(
            TWO_RACKS,
            request(
                "train",
                group("a", pods("a-pods", 2), required="rack"),
                group("b", pods("b-pods", 2), required="rack"),
                group("c", pods("c-pods", 3), required="rack"),
            ),
            Wishes(0, (0, 0), (1, 2)),
            id="groups that fit in one way only",
        ),
        pytest.param(
            TWO_RACKS,
            request("train", group("a", pods("a-pods", 5), required="rack")),
            None,
            id="a group larger than any rack",
        ),
        pytest.param(
            TWO_RACKS,
            request("train", pods("a", 6), preferred="rack"),
            Wishes(0, (0, 1), (1, 2)),
            id="a preference that must be broken by one level",
        ),
        pytest.param(
            TWO_RACKS,
            request("train", pods("a", 9, minimum=1), required="rack"),
            Wishes(5, (0, 0), (1, 1)),
            id="as many pods above the minimum as one rack takes",
        ),
        pytest.param(
            TWO_RACKS,
            request(
                "train",
                group("a", pods("a-pods", 5), required="rack"),
                group("b", pods("b-pods", 1)),
                minimum=1,
            ),
            Wishes(5, (0, 0), (1, 1)),
            id="a member left out whole",
        ),
        pytest.param(
            TWO_RACKS,
            request(
                "train",
                group("a", pods("a-pods", 2), pods("a-more", 9)),
                group("b", pods("b-pods", 1)),
                minimum=1,
            ),
            Wishes(11, (0, 0), (1,)),
            id="nothing of a group that is not formed, though part of it would fit",
        ),
        pytest.param(
            TWO_RACKS,
            request("train", group("a", group("b", pods("c", 2, minimum=0)), pods("d", 9)), minimum=0),
            Wishes(11, (0, 0), (0,)),
            id="nothing inside of it either, however deep",
        ),
        pytest.param(
            parse("r1\n  x1: 4 used=1:train\n  x2: 4\nr2\n  x3: 4"),
            request(
                "train",
                group("a", group("b", pods("c", 2, minimum=1, bound=["x1"])), pods("d", 12)),
                group("e", pods("f", 4), required="rack"),
                minimum=1,
            ),
            Wishes(13, (0,), (1,)),
            id="running pods of a group that is not formed count where domains are counted",
        ),
        pytest.param(
            parse("x1: 4\nx2: 4 used=1:other:port=80\nx3: 4"),
            request("train", pods("a", 1, ports=[80]), pods("b", 2, ports=[80], minimum=1)),
            Wishes(1, (), (2,)),
            id="a port is taken once on each node, and not where another holds it",
        ),
        pytest.param(TWO_RACKS, request("train"), Wishes(0, (0, 0), (0,)), id="nothing asked, nothing used"),
    ],
)
def test_answers_known_by_hand(cluster: Cluster, asked: Request, expected: Wishes | None) -> None:
    found = oracle.best(cluster, asked)
    assert (found and order(found)) == (expected and order(expected))
    assert oracle.feasible(cluster, asked) is (expected is not None)
    if expected is not None:
        assert oracle.better(cluster, asked, expected) is None


def test_a_worse_placement_is_told_the_better_one() -> None:
    cluster = parse("x1: 4 used=1:train\nx2: 4")
    asked = request("train", pods("a", 2, bound=["x1"]))

    assert oracle.better(cluster, asked, Wishes(0, (), (2,))) == Wishes(0, (), (1,), 0, 3)
    assert oracle.better(cluster, asked, Wishes(1, (), (1,))) is not None


def test_nodes_below_the_named_level_are_not_compared() -> None:
    cluster = parse("r1\n  x1: 4\n  x2: 4\nr2\n  x3: 4")
    asked = request("train", pods("a", 2), required="rack")

    assert oracle.better(cluster, asked, Wishes(0, (0,), (1,), 0, 8, (2,))) is None


@settings(max_examples=250)
@given(instances(replace(TINY, ruled=0.5)))
def test_the_oracle_agrees_with_brute_force(instance: tuple[Cluster, Request]) -> None:
    cluster, asked = instance
    ways = (math.comb(pods.open + len(cluster.nodes), pods.open) for pods in asked.root.pod_sets())
    assume(math.prod(ways) <= 1500)

    best = brute.best(cluster, asked)

    found = oracle.best(cluster, asked)
    assert (found and order(found)) == (best and order(best))
    assert brute.feasible(cluster, asked) is (best is not None)


@settings(max_examples=60)
@given(instances())
def test_what_the_oracle_finds_is_sound_and_strictly_better(instance: tuple[Cluster, Request]) -> None:
    cluster, asked = instance
    scene = Scene.of(cluster, asked)
    found = oracle.placement(cluster, asked)
    assume(found is not None)
    assert found is not None

    assert list(broken(scene, found)) == []
    wishes = wishes_of(scene, found)
    better = oracle.better(cluster, asked, wishes)
    assert better is None or order(better) < order(wishes)


@settings(max_examples=30)
@given(st.integers(0, 10**9))
def test_the_same_question_gets_the_same_answer(seed: int) -> None:
    cluster, asked = random_instance(Random(seed))

    assert oracle.placement(cluster, asked) == oracle.placement(cluster, asked)
