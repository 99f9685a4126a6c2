from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Wishes
from closeknit.hub.request import Request
from closeknit.testing import brute, oracle
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse
from closeknit.testing.meaning import Scene, broken, order, wishes_of
from closeknit.testing.strategies import TINY, instances, random_instance

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
            Wishes(0, (0, 0), (1, 2, 2)),
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
            Wishes(0, (0, 1), (1, 2, 2)),
            id="a preference that must be broken by one level",
        ),
        pytest.param(
            TWO_RACKS,
            request("train", pods("a", 9, minimum=1), required="rack"),
            Wishes(5, (0, 0), (1, 1, 1)),
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
            Wishes(5, (0, 0), (1, 1, 1)),
            id="a member left out whole",
        ),
        pytest.param(
            TWO_RACKS, request("train"), Wishes(0, (0, 0), (0, 0, 0)), id="nothing asked, nothing used"
        ),
    ],
)
def test_answers_known_by_hand(cluster: Cluster, asked: Request, expected: Wishes | None) -> None:
    assert oracle.best(cluster, asked) == expected
    assert oracle.feasible(cluster, asked) is (expected is not None)
    if expected is not None:
        assert oracle.better(cluster, asked, expected) is None


@settings(max_examples=250, deadline=None)
@given(instances(TINY))
def test_the_oracle_agrees_with_brute_force(instance: tuple[Cluster, Request]) -> None:
    cluster, asked = instance
    ways = (math.comb(pods.open + len(cluster.nodes), pods.open) for pods in asked.root.pod_sets())
    assume(math.prod(ways) <= 1500)

    best = brute.best(cluster, asked)

    assert oracle.best(cluster, asked) == best
    assert brute.feasible(cluster, asked) is (best is not None)


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9))
def test_the_same_question_gets_the_same_answer(seed: int) -> None:
    cluster, asked = random_instance(Random(seed))

    assert oracle.placement(cluster, asked) == oracle.placement(cluster, asked)
