"""Affinity, anti-affinity and spreading among pods: which nodes are used, and that nothing else is possible."""

from __future__ import annotations

from collections import Counter

import pytest

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.drawing import HOSTNAME, parse
from closeknit.hub.neighbours import Apart, Near, Neighbour, PodRule, PodSelector, Spread
from closeknit.hub.nodes import Operator, Requirement
from closeknit.hub.outcome import Departure, ExclusionReason, Placed, Unplaceable
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.testing import check

CLUSTER = parse("""
a
  r1
    a1: 8
    a2: 8
  r2
    a3: 8
b
  r3
    b1: 8
    b2: 2
""")
GPU = Resources({"nvidia.com/gpu": 1})


def app(*names: str, namespaces: frozenset[str] | None = frozenset(["team"])) -> PodSelector:
    """Pods of these apps."""
    return PodSelector(namespaces, (Requirement("app", Operator.IN, names),))


def seen(name: str, *rules: PodRule, namespace: str = "team") -> Neighbour:
    """A pod of an app with rules."""
    return Neighbour(namespace, (("app", name),), rules)


def pods(count: int, name: str, *rules: PodRule, minimum: int | None = None) -> PodSet:
    """Pods of an app with rules."""
    return PodSet(name, count, GPU, minimum=minimum, neighbour=seen(name, *rules))


def runs(node: str, name: str, *rules: PodRule, namespace: str = "team") -> Holding:
    """A pod of an app that runs."""
    return Holding(f"other-{name}", node, GPU, neighbour=seen(name, *rules, namespace=namespace))


def asked(*members: PodSet, required: str | None = None) -> Request:
    """One group of these pods."""
    return Request("w", Group("all", members, required), "default")


def nodes_of(request: Request, *held: Holding, cluster: Cluster = CLUSTER) -> dict[str, int] | None:
    """How many pods each node gets, None where there is no placement; what is placed is checked."""
    cluster = replace(cluster, holdings=(*cluster.holdings, *held))
    outcome = Engine(cluster).decide(request)
    if isinstance(outcome, Unplaceable):
        return None
    assert isinstance(outcome, Placed)
    assert check.violations(cluster, request, outcome) == []
    return dict(Counter(each.node for each in outcome.assignments))


@pytest.mark.requirement("K121")
@pytest.mark.parametrize(
    ("request_", "held", "expected"),
    [
        pytest.param(
            asked(pods(4, "x", Apart(HOSTNAME, app("x")))),
            [],
            {"a1": 1, "a2": 1, "b1": 1, "b2": 1},
            id="pods that keep away from each other get a node each",
        ),
        pytest.param(
            asked(pods(6, "x", Apart(HOSTNAME, app("x")))), [], None, id="and there are only five nodes"
        ),
        pytest.param(
            asked(pods(3, "x", Apart("rack", app("x")))),
            [],
            {"a1": 1, "a3": 1, "b1": 1},
            id="one in each rack",
        ),
        pytest.param(
            asked(pods(4, "x", Apart("rack", app("x")))), [], None, id="and there are only three racks"
        ),
        pytest.param(
            asked(pods(2, "x", Apart("rack", app("x"))), required="block"),
            [],
            {"a1": 1, "a3": 1},
            id="one in each rack of the only block with two",
        ),
        pytest.param(
            asked(pods(6, "x", Apart("block", app("x")), minimum=1)),
            [],
            {"a1": 1, "b1": 1},
            id="pods above the minimum are left out rather than brought together",
        ),
        pytest.param(
            asked(pods(1, "x", Apart("rack", app("y")))),
            [runs("a1", "y"), runs("b1", "y")],
            {"a3": 1},
            id="running pods close their racks",
        ),
        pytest.param(
            asked(pods(1, "x", Apart("rack", app("y")))),
            [runs("a1", "y", namespace="else"), runs("b1", "y"), runs("a3", "y")],
            {"a1": 1},
            id="pods of another namespace do not",
        ),
        pytest.param(
            asked(pods(1, "y")),
            [runs("a1", "x", Apart("block", app("y"))), runs("b1", "x", Apart(HOSTNAME, app("y")))],
            {"b2": 1},
            id="running pods keep newcomers away that ask for nothing",
        ),
        pytest.param(
            asked(pods(9, "x", Apart("block", app("y"))), pods(9, "y")),
            [],
            {"a1": 8, "a2": 1, "b1": 8, "b2": 1},
            id="two sets that may not meet get a block each",
        ),
        pytest.param(
            asked(pods(9, "x", Apart("block", app("y"))), pods(11, "y")),
            [],
            {"a1": 8, "a2": 3, "b1": 8, "b2": 1},
            id="the larger one gets the larger zone",
        ),
        pytest.param(
            asked(pods(3, "x", Apart("no such label", app("x")))),
            [],
            {"a3": 3},
            id="without the label nobody is kept away",
        ),
        pytest.param(
            asked(pods(2, "x", Near(("rack",), app("y")))),
            [runs("b2", "y")],
            {"b1": 2},
            id="company is where it runs",
        ),
        pytest.param(
            asked(pods(11, "x", Near(("rack",), app("y")))),
            [runs("b2", "y")],
            None,
            id="and the rack with company may be too small",
        ),
        pytest.param(
            asked(pods(1, "x", Near(("rack",), app("y")))), [], None, id="there may be no company at all"
        ),
        pytest.param(
            asked(pods(9, "x", Near(("block",), app("x")))),
            [],
            {"b1": 8, "b2": 1},
            id="where nobody runs, the first of them goes where all find room",
        ),
        pytest.param(
            asked(pods(9, "x", Near(("rack",), app("x")))),
            [runs("a3", "x")],
            None,
            id="where one runs, all others join it",
        ),
        pytest.param(
            asked(pods(8, "x", Near(("rack",), app("y"))), pods(2, "y")),
            [],
            {"b1": 8, "b2": 2},
            id="a gang is company for itself",
        ),
        pytest.param(
            asked(pods(4, "x", Spread("block", app("x")))),
            [],
            {"a3": 2, "b1": 2},
            id="evenly over zones, in the tightest rack of each",
        ),
        pytest.param(
            asked(pods(4, "x", Spread("block", app("x")))),
            [runs("a1", "x"), runs("a2", "x")],
            {"a3": 1, "b1": 3},
            id="running pods count",
        ),
        pytest.param(
            asked(pods(4, "x", Spread("block", app("x"), 4))), [], {"a3": 4}, id="four more may be together"
        ),
        pytest.param(
            asked(pods(4, "x", Spread("block", app("x"), 1, 3))),
            [],
            None,
            id="with fewer domains than asked for, each takes no more than the skew",
        ),
        pytest.param(
            asked(pods(25, "x", Spread("block", app("x")))),
            [],
            None,
            id="a small block holds all others back",
        ),
    ],
)
def test_rules_among_pods_are_kept(
    request_: Request, held: list[Holding], expected: dict[str, int] | None
) -> None:
    assert nodes_of(request_, *held) == expected


def test_a_pod_that_goes_opens_its_rack_and_one_that_comes_closes_it() -> None:
    engine = Engine(CLUSTER)
    request = asked(pods(3, "x", Apart("rack", app("x", "y"))))
    assert isinstance(engine.decide(request), Placed)
    engine.hold(runs("b2", "y"))
    assert isinstance(engine.decide(request), Unplaceable)
    with engine.fork():
        engine.release("other-y")
        assert isinstance(engine.decide(request), Placed)
    assert isinstance(engine.decide(request), Unplaceable)
    engine.release_pods(runs("b2", "y"))
    placed = engine.decide(request)
    assert isinstance(placed, Placed)
    engine.apply(request, placed)
    assert isinstance(engine.decide(replace(request, name="again")), Unplaceable)


@pytest.mark.parametrize("key", [HOSTNAME, "rack"])
def test_a_thousand_pods_that_keep_apart_are_placed_by_counting(key: str) -> None:
    racks = "".join(
        f"  r{rack}\n" + "".join(f"    n{rack}-{i}: 8\n" for i in range(2)) for rack in range(1000)
    )
    cluster = parse(f"z\n{racks}")
    request = asked(pods(1000, "x", Apart(key, app("x"))))
    outcome = Engine(cluster).decide(request)
    assert isinstance(outcome, Placed)
    assert outcome.proven
    assert outcome.wishes.used[-1] == 1000
    assert outcome.statistics.steps <= 4


def test_pods_that_share_a_node_with_nobody_are_counted_beside_those_that_do() -> None:
    """That a leader wants a node to itself is a resource to the search, and no rule to be kept in the end."""
    nodes = "".join(f"    n{i}: 8\n" for i in range(400))
    cluster = parse(f"z\n  r\n{nodes}")
    request = asked(pods(50, "leader", Apart(HOSTNAME, app("leader", "worker"))), pods(2800, "worker"))
    outcome = Engine(cluster).decide(request)
    assert isinstance(outcome, Placed)
    assert outcome.wishes.used[-1] == 400
    assert check.violations(cluster, request, outcome) == []
    one_more = asked(pods(50, "leader", Apart(HOSTNAME, app("leader", "worker"))), pods(2801, "worker"))
    refused = Engine(cluster).decide(one_more)
    assert isinstance(refused, Unplaceable)
    assert outcome.statistics.steps + refused.statistics.steps <= 20


LARGE = parse(
    "".join(
        f"z{zone}\n"
        + "".join(
            f"  z{zone}r{rack}\n" + "".join(f"    z{zone}r{rack}n{node}: 8\n" for node in range(20))
            for rack in range(10)
        )
        for zone in range(2)
    )
)
"""400 nodes of 8 GPUs: more than an exact layout walks over."""
WITH_HOST = Near((HOSTNAME,), app("host"))


@pytest.mark.parametrize(
    ("request_", "placed"),
    [
        pytest.param(
            asked(pods(50, "host"), pods(350, "guest", WITH_HOST)),
            True,
            id="each of 50 hosts goes where seven guests have room",
        ),
        pytest.param(
            asked(pods(50, "host"), pods(401, "guest", WITH_HOST)),
            False,
            id="50 nodes with a host have no room for 401 guests",
        ),
        pytest.param(
            asked(pods(200, "x", Spread("rack", app("x"))), required="block"),
            False,
            id="one in each rack at most while a rack elsewhere stays empty",
        ),
        pytest.param(
            asked(pods(200, "x", Spread("rack", app("x")))), True, id="ten in each rack of the cluster"
        ),
        pytest.param(
            asked(pods(1601, "x", Apart("rack", app("y"))), pods(1599, "y")),
            False,
            id="eleven racks for one set leave nine for another that needs ten",
        ),
        pytest.param(
            asked(pods(1600, "x", Apart("rack", app("y"))), pods(1600, "y")),
            True,
            id="ten racks for each set",
        ),
        pytest.param(
            asked(pods(12, "x", Apart("rack", app("x", "y"))), pods(9, "y", Apart("rack", app("y")))),
            False,
            id="sets that all keep apart need a rack for every pod",
        ),
    ],
)
def test_rules_are_decided_on_more_nodes_than_an_exact_layout_walks(request_: Request, placed: bool) -> None:
    outcome = Engine(LARGE).decide(request_)
    if placed:
        assert isinstance(outcome, Placed)
        assert check.violations(LARGE, request_, outcome) == []
    else:
        assert isinstance(outcome, Unplaceable)
        assert outcome.statistics.steps <= 20


def test_every_domain_that_takes_a_pod_is_told_where_only_one_of_a_block_can_be_used() -> None:
    outcome = Engine(CLUSTER).solve(asked(pods(2, "x", Apart("block", app("x"))), required="rack"))
    assert isinstance(outcome, Unplaceable)
    (shortfall,) = outcome.shortfalls
    assert {(fit.domain[-1], fit.fits, fit.at_least) for fit in shortfall.best} == {
        ("r1", 1, False),
        ("r2", 1, False),
        ("r3", 1, False),
    }


@pytest.mark.parametrize(
    ("request_", "held", "told"),
    [
        pytest.param(
            asked(pods(1, "x", Apart("block", app("y")))),
            [runs("a1", "y"), runs("b1", "y")],
            [(ExclusionReason.ANTI_AFFINITY, "block (other-y)", 5)],
            id="whom they must not meet",
        ),
        pytest.param(
            asked(pods(1, "y")),
            [runs("a1", "x", Apart("block", app("y"))), runs("b1", "z", Apart("block", app("y")))],
            [(ExclusionReason.EXISTING_ANTI_AFFINITY, "block (other-x, other-z)", 5)],
            id="who keeps them away",
        ),
        pytest.param(
            asked(pods(1, "x", Near(("rack",), app("y")))),
            [],
            [(ExclusionReason.POD_AFFINITY, "rack", 5)],
            id="what is missing",
        ),
        pytest.param(
            asked(pods(1, "x", Spread("no such label", app("x")))),
            [],
            [(ExclusionReason.TOPOLOGY_KEY, "no such label", 5)],
            id="a label that no node has",
        ),
    ],
)
def test_a_failure_tells_who_is_in_the_way(
    request_: Request, held: list[Holding], told: list[tuple[ExclusionReason, str, int]]
) -> None:
    outcome = Engine(replace(CLUSTER, holdings=tuple(held))).solve(request_)

    assert isinstance(outcome, Unplaceable)
    (shortfall,) = outcome.shortfalls
    assert [(each.reason, each.detail, each.nodes) for each in shortfall.excluded] == told
    if held:
        assert any(isinstance(each.changes[0], Departure) for each in shortfall.relaxations)
