"""Preferred affinity, anti-affinity and spreading among the pods of one request."""

from __future__ import annotations

from collections import Counter

import pytest

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.drawing import HOSTNAME
from closeknit.hub.neighbours import Apart, Near, PodRule, Spread
from closeknit.hub.nodes import Node
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.testing import check, oracle
from tests.unit.engine.test_neighbours import CLUSTER, app, asked, pods, runs

APART = Apart(HOSTNAME, app("x"), 100)
EVEN = Spread("block", app("x"), required=False)


def decided(request: Request, *held: Holding, cluster: Cluster = CLUSTER) -> Placed:
    """What the engine decides, which is checked and proven best."""
    cluster = replace(cluster, holdings=(*cluster.holdings, *held))
    outcome = Engine(cluster).decide(request)
    assert isinstance(outcome, Placed)
    assert check.violations(cluster, request, outcome) == []
    assert oracle.better(cluster, request, outcome.wishes) is None
    return outcome


def nodes(placed: Placed, pod_set: str = "x") -> dict[str, int]:
    """How many pods of a set each node gets."""
    return dict(Counter(each.node for each in placed.assignments if each.pod_set == pod_set))


@pytest.mark.parametrize(
    ("request_", "held", "expected"),
    [
        pytest.param(
            asked(pods(4, "x", APART)),
            [],
            {"a1": 1, "a2": 1, "b1": 1, "b2": 1},
            id="a node each, although one would take all",
        ),
        pytest.param(
            asked(pods(7, "x", APART)),
            [],
            {"a1": 2, "a2": 2, "a3": 1, "b1": 1, "b2": 1},
            id="with fewer nodes than pods, as even as can be",
        ),
        pytest.param(
            asked(pods(2, "x", APART)),
            [runs("a1", "x"), runs("b1", "x")],
            {"a2": 1, "a3": 1},
            id="running pods count",
        ),
        pytest.param(
            asked(pods(4, "x", APART), required="rack"),
            [],
            {"b1": 2, "b2": 2},
            id="a required level comes first",
        ),
        pytest.param(
            Request("w", Group("all", (pods(4, "x", APART),), preferred="rack"), "default"),
            [],
            {"b1": 2, "b2": 2},
            id="a preferred level comes first",
        ),
        pytest.param(
            asked(pods(5, "x", EVEN)),
            [],
            {"a3": 3, "b1": 2},
            id="evenly over blocks, in the tightest rack of each",
        ),
        pytest.param(
            asked(pods(4, "x", EVEN)),
            [runs("a1", "x"), runs("a2", "x"), runs("a3", "x")],
            {"b1": 4},
            id="evenly with those that run",
        ),
        pytest.param(asked(pods(4, "x", replace(EVEN, skew=4))), [], {"a3": 4}, id="the skew is allowed for"),
        pytest.param(
            asked(pods(2, "x", Apart(HOSTNAME, app("x"), 1), Near((HOSTNAME,), app("x"), 2))),
            [],
            {"a3": 2},
            id="the heavier of two rules wins",
        ),
        pytest.param(
            asked(pods(2, "x", Apart(HOSTNAME, app("x"), 2), Near((HOSTNAME,), app("x"), 1))),
            [],
            {"b1": 1, "b2": 1},
            id="whichever it is",
        ),
    ],
)
def test_preferred_rules_among_pods_are_kept_where_they_can_be(
    request_: Request, held: list[Holding], expected: dict[str, int]
) -> None:
    assert nodes(decided(request_, *held)) == expected


def test_pods_go_where_their_siblings_are() -> None:
    near = Near((HOSTNAME,), app("y"), 10)

    placed = decided(asked(pods(3, "x", near), pods(3, "y", Apart(HOSTNAME, app("y"), 100))))

    assert set(nodes(placed)) <= set(nodes(placed, "y"))
    assert len(nodes(placed, "y")) == 3


def test_an_outcome_says_for_how_many_pods_a_preferred_rule_is_kept() -> None:
    placed = decided(asked(pods(7, "x", APART)))

    assert [(each.pod_set, each.rule, each.pods, each.kept) for each in placed.rules] == [("x", APART, 7, 3)]
    assert placed.wishes.rules == 400


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(APART, id="a single pod has nobody to keep away from"),
        pytest.param(Apart(HOSTNAME, app("other"), 100), id="a rule about others"),
    ],
)
def test_a_rule_that_no_other_pod_of_the_request_has_to_do_with_only_ranks_nodes(rule: PodRule) -> None:
    placed = decided(asked(pods(1 if rule is APART else 3, "x", rule)), runs("b2", "x"), runs("b2", "other"))

    assert placed.rules == ()
    assert "b2" not in nodes(placed)


def test_no_pod_is_left_out_for_a_preferred_rule() -> None:
    placed = decided(asked(pods(34, "x", APART, minimum=1)))

    assert len(placed.assignments) == 34
    assert placed.wishes.left_out == 0


def wide() -> Cluster:
    """2,000 nodes in racks of 40."""
    machines = [
        Node(f"n{i}", {"rack": f"r{i // 40}", HOSTNAME: f"n{i}"}, Resources({"nvidia.com/gpu": 8}))
        for i in range(2000)
    ]
    return Cluster((Topology("default", (Level("rack"), Level(HOSTNAME))),), tuple(machines))


@pytest.mark.parametrize(
    ("count", "rules", "most", "proven"),
    [
        pytest.param(500, (APART,), 0, True, id="500 pods on as many nodes"),
        pytest.param(2500, (APART,), 100_000, False, id="500 more pods than nodes: 500 pairs"),
        pytest.param(75, (Apart("rack", app("x"), 1),), 50, False, id="25 more pods than racks: 25 pairs"),
        pytest.param(
            60,
            (APART, Near(("rack",), app("x"))),
            4_000,
            False,
            id="20 more pods than nodes of the rack that they must share: 20 pairs",
        ),
    ],
)
def test_pods_keep_apart_on_many_nodes(
    count: int, rules: tuple[PodRule, ...], most: int, *, proven: bool
) -> None:
    placed = Engine(wide()).decide(asked(pods(count, "x", *rules)))

    assert isinstance(placed, Placed)
    assert placed.wishes.rules == most
    assert placed.proven == proven


def test_a_request_that_keeps_its_preferred_rules_anyway_is_not_searched_again() -> None:
    near, members = Near(("rack",), app("x"), 1), pods(8, "x")
    plain = Engine(CLUSTER).decide(asked(members))

    placed = Engine(CLUSTER).decide(asked(replace(members, neighbour=pods(8, "x", near).neighbour)))

    assert isinstance(plain, Placed)
    assert isinstance(placed, Placed)
    assert placed.assignments == plain.assignments
    assert placed.statistics.steps <= plain.statistics.steps + 4


def test_the_members_of_a_request_may_be_listed_in_any_order() -> None:
    sets: list[PodSet] = [
        pods(3, "x", APART),
        pods(2, "y", Near((HOSTNAME,), app("x"), 5)),
        pods(1, "z", EVEN),
    ]
    one, other = decided(asked(*sets)), decided(asked(*reversed(sets)))

    assert one == other
