"""Telling an engine what has changed, and asking it what is not sensible."""

from __future__ import annotations

import tracemalloc

import pytest

from closeknit import solve
from closeknit.engine import Budget, Engine
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.nodes import Node
from closeknit.hub.outcome import Placed, Statistics, Undecided, Unplaceable
from closeknit.hub.problems import Field, InvalidError
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import hub
from closeknit.hub.topology import Level, Topology
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse
from tests.kit.problems import Finding, finding, findings

TWO_RACKS = "r1\n  x1: 4\nr2\n  x2: 4\n"
FOUR = request("w", pods("p", 4), required="rack")


def rack_of(outcome: object) -> str:
    assert isinstance(outcome, Placed)
    (domain,) = {assignment.domain for assignment in outcome.assignments}
    return domain[0]


def test_what_is_applied_is_held_until_it_is_released() -> None:
    engine = Engine(parse(TWO_RACKS))
    for name, rack in (("a", "r1"), ("b", "r2")):
        asked = replace(FOUR, name=name)
        outcome = engine.decide(asked)
        assert rack_of(outcome) == rack
        assert isinstance(outcome, Placed)
        engine.apply(asked, outcome)

    assert isinstance(engine.decide(FOUR), Unplaceable)
    engine.release("a")
    assert rack_of(engine.decide(FOUR)) == "r1"


def test_releasing_who_holds_nothing_is_harmless() -> None:
    Engine(parse(TWO_RACKS)).release("nobody")


def test_single_pods_of_a_gang_are_given_back_and_the_others_stay() -> None:
    engine = Engine(parse(TWO_RACKS))
    outcome = engine.decide(FOUR)
    assert isinstance(outcome, Placed)
    engine.apply(FOUR, outcome)
    ended = Holding("w", "x1", next(FOUR.root.pod_sets()).resources)
    engine.hold(Holding("other", "x2", ended.resources, 4))
    one, two = (request("next", pods("p", count), required="rack") for count in (1, 2))
    assert isinstance(engine.decide(one), Unplaceable)

    engine.release_pods(ended)

    assert rack_of(engine.decide(one)) == "r1"
    assert isinstance(engine.decide(two), Unplaceable)
    engine.release_pods(replace(ended, pods=3))
    assert rack_of(engine.decide(FOUR)) == "r1"


GPUS = Resources({"nvidia.com/gpu": 1})


@pytest.mark.parametrize(
    ("gone", "problem"),
    [
        pytest.param(
            Holding("w", "x1", GPUS, 3),
            finding(hub.TOO_FEW_HELD, "holding.pods", workload="w", held=2, node="x1", pods=3),
            id="more pods than it holds there",
        ),
        pytest.param(
            Holding("w", "x2", GPUS),
            finding(hub.TOO_FEW_HELD, "holding.pods", workload="w", held=0, node="x2", pods=1),
            id="pods of another node",
        ),
        pytest.param(
            Holding("w", "x1", Resources({"cpu": 1})),
            finding(hub.TOO_FEW_HELD, "holding.pods", workload="w", held=0, node="x1", pods=1),
            id="pods of another kind",
        ),
        pytest.param(
            Holding("w", "x9", GPUS),
            finding(hub.UNKNOWN_NODE, "node.name", node="x9"),
            id="pods of a node that is not there",
        ),
        pytest.param(
            Holding("w", "x1", GPUS, -1),
            finding(hub.NEGATIVE, "holding.pods", value=-1),
            id="fewer than none",
        ),
    ],
)
def test_releasing_what_is_not_held_is_refused_and_changes_nothing(gone: Holding, problem: Finding) -> None:
    engine = Engine(replace(parse(TWO_RACKS), holdings=(Holding("w", "x1", GPUS, 2),)))
    with pytest.raises(InvalidError) as refused:
        engine.release_pods(gone)

    assert findings(refused.value.problems) == [problem]
    before = engine.decide(replace(FOUR, name="other"))
    engine.release("w")
    assert rack_of(before) == "r2"
    assert rack_of(engine.decide(FOUR)) == "r1"


def test_nodes_come_change_and_go() -> None:
    engine = Engine(parse("r1\n  x1: 2\n"))
    assert isinstance(engine.decide(FOUR), Unplaceable)

    node = Node("x9", {"rack": "r9"}, Resources({"nvidia.com/gpu": 4}))
    engine.add_node(node)
    assert rack_of(engine.decide(FOUR)) == "r9"
    engine.change_node(replace(node, labels={"rack": "r8"}))
    assert rack_of(engine.decide(FOUR)) == "r8"
    engine.change_node(replace(node, unschedulable=True))
    assert isinstance(engine.decide(FOUR), Unplaceable)
    engine.change_node(node)
    engine.remove_node("x9")
    assert isinstance(engine.decide(FOUR), Unplaceable)


def test_what_runs_on_a_node_that_changes_stays_held() -> None:
    engine = Engine(parse("r1\n  x1: 4 used=2\n"))
    node = Node("x1", {"rack": "r1"}, Resources({"nvidia.com/gpu": 5}))

    engine.change_node(node)

    assert isinstance(engine.decide(request("w", pods("p", 3))), Placed)
    assert isinstance(engine.decide(request("w", pods("p", 4))), Unplaceable)


def test_what_ran_on_a_node_that_went_is_not_given_back_elsewhere() -> None:
    engine = Engine(parse("r1\n  x1: 4 used=2:old\n  x2: 4 used=2:old\n"))
    engine.remove_node("x1")
    engine.add_node(Node("x1", {"rack": "r1"}, Resources({"nvidia.com/gpu": 4})))

    assert isinstance(engine.decide(request("w", pods("p", 6))), Placed)
    engine.release("old")
    assert isinstance(engine.decide(request("w", pods("p", 8))), Placed)
    assert isinstance(engine.decide(request("w", pods("p", 9))), Unplaceable)


def test_forks_nest() -> None:
    engine = Engine(parse("r1\n  x1: 4 used=2:a\n  x2: 4 used=2:b\n"))
    with engine.fork():
        engine.release("a")
        with engine.fork():
            engine.release("b")
            assert isinstance(engine.decide(request("w", pods("p", 8))), Placed)
        assert isinstance(engine.decide(request("w", pods("p", 7))), Unplaceable)
        assert isinstance(engine.decide(request("w", pods("p", 6))), Placed)
    assert isinstance(engine.decide(request("w", pods("p", 5))), Unplaceable)


def test_a_budget_that_runs_out_says_so() -> None:
    racks = "".join(f"r{i}\n  x{i}: 3\n" for i in range(12))
    groups = [group(f"g{i}", pods(f"p{i}", 2), required="rack") for i in range(12)]
    tight = request("w", *groups, pods("rest", 12))

    assert isinstance(Engine(parse(racks)).decide(tight), Placed)
    assert isinstance(Engine(parse(racks), Budget(find=5)).decide(tight), Undecided)


@pytest.mark.parametrize(
    ("cluster", "problem"),
    [
        pytest.param(
            Cluster((), (Node("a"), Node("a"))),
            finding(hub.NODE_TWICE, "nodes[1].name", node="a"),
            id="two nodes of one name are refused",
        ),
        pytest.param(
            Cluster((), (Node("a"),), (Holding("w", "b", Resources()),)),
            finding(hub.UNKNOWN_NODE, "holdings[0].node", node="b"),
            id="a holding on an unknown node is refused",
        ),
        pytest.param(
            Cluster((), (Node("a", allocatable=Resources({"cpu": -1})),)),
            finding(hub.NEGATIVE, "nodes[0].allocatable.cpu", value=-1),
            id="a negative offer is refused",
        ),
        pytest.param(
            Cluster((Topology("t", (Level("rack"), Level("host"), Level("rack"))),), (Node("a"),)),
            finding(
                hub.LEVEL_TWICE, "topologies[0].levels[2].label", field=Field(("levels", 0)), label="rack"
            ),
            id="a topology that lists a label twice is refused",
        ),
    ],
)
def test_a_cluster_that_makes_no_sense_is_refused(cluster: Cluster, problem: Finding) -> None:
    with pytest.raises(InvalidError) as refused:
        Engine(cluster)
    assert findings(refused.value.problems) == [problem]


HUGE = 2**63


@pytest.mark.parametrize(
    ("cluster", "path"),
    [
        pytest.param(
            Cluster((), (Node("a", allocatable=Resources({"memory": HUGE})),)),
            "nodes[0].allocatable.memory",
            id="an offer that no 64-bit integer holds",
        ),
        pytest.param(
            Cluster((), (Node("a"),), (Holding("w", "a", Resources({"memory": HUGE // 4}), 5),)),
            "holdings[0].resources.memory",
            id="more held on a node than can be counted",
        ),
        pytest.param(
            Cluster((), (Node("a"),), (Holding("w", "a", Resources({"memory": 1}), -1),)),
            "holdings[0].pods",
            id="a negative number of pods",
        ),
    ],
)
def test_amounts_that_cannot_be_counted_are_refused(cluster: Cluster, path: str) -> None:
    with pytest.raises(InvalidError) as refused:
        Engine(cluster)
    assert [problem.where for problem in refused.value.problems] == [path]


def test_a_change_that_is_refused_changes_nothing() -> None:
    engine = Engine(parse(TWO_RACKS))
    broken = Node("x9", {"rack": "r9"}, Resources({"nvidia.com/gpu": HUGE}))

    with pytest.raises(InvalidError):
        engine.add_node(broken)
    with pytest.raises(InvalidError):
        engine.change_node(replace(broken, name="x1"))
    with pytest.raises(InvalidError):
        engine.hold(Holding("v", "x1", Resources({"nvidia.com/gpu": -3})))
    with engine.fork(), pytest.raises(RuntimeError, match="fork"):
        engine.remove_node("x1")

    assert rack_of(engine.decide(FOUR)) == "r1"
    engine.add_node(replace(broken, allocatable=Resources({"nvidia.com/gpu": 4})))
    engine.remove_node("x9")


def test_a_gang_is_never_left_half_applied() -> None:
    engine = Engine(parse("r1\n  x1: 2\n  x2: 2\n"))
    outcome = engine.decide(FOUR)
    assert isinstance(outcome, Placed)
    engine.remove_node("x2")

    with pytest.raises(InvalidError) as refused:
        engine.apply(FOUR, outcome)
    assert findings(refused.value.problems) == [finding(hub.UNKNOWN_NODE, "node.name", node="x2")]

    assert isinstance(engine.decide(request("v", pods("q", 2))), Placed)


def test_a_node_that_comes_later_changes_no_preference_between_those_that_were_there() -> None:
    drawn = parse("r1\n  a: 2 cpu=4\n  b: 1 used=1 cpu=8\n")
    launcher = request("w", pods("p", 1, gpus=0, cpu=1))
    giant = Node("z", {"rack": "r1"}, Resources({"nvidia.com/gpu": 1024}))
    engine = Engine(drawn)
    engine.decide(launcher)

    engine.add_node(giant)

    fresh = Engine(replace(drawn, nodes=(*drawn.nodes, giant)))
    assert replace(engine.decide(launcher), statistics=Statistics()) == replace(
        fresh.decide(launcher), statistics=Statistics()
    )


def test_a_pod_that_runs_on_an_unknown_node_is_refused() -> None:
    with pytest.raises(InvalidError) as refused:
        Engine(parse(TWO_RACKS)).decide(request("w", pods("p", 2, bound=["x7"])))
    assert findings(refused.value.problems) == [finding(hub.BOUND_TO_UNKNOWN_NODE, "p.bound[0]", node="x7")]


def test_a_tree_nested_too_deep_is_refused_and_not_walked() -> None:
    inner = group("pod set", pods("p", 1))
    for depth in range(500):
        inner = Group(f"g{depth}", (inner,))

    with pytest.raises(InvalidError) as refused:
        Engine(parse(TWO_RACKS)).decide(request("w", inner))
    assert findings(refused.value.problems) == [
        finding(hub.NESTED_TOO_DEEP, "root" + ".members[0]" * 64 + ".members", most=64)
    ]


def test_a_deep_tree_costs_no_more_than_its_groups() -> None:
    inner = group("pod set", pods("p", 1))
    for depth in range(60):
        inner = Group(f"g{depth}", (inner,))
    tracemalloc.start()

    outcome = Engine(parse(TWO_RACKS)).decide(request("w", inner))

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(outcome, Placed)
    assert peak < 10_000_000


def test_a_request_without_pods_is_placed_with_nothing() -> None:
    outcome = solve(parse(TWO_RACKS), request("w", group("empty"), required="rack"))

    assert isinstance(outcome, Placed)
    assert outcome.assignments == ()


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(FOUR, id="one group"),
        pytest.param(
            request("w", *(group(f"g{i}", pods(f"p{i}", 2), required="rack") for i in range(3))),
            id="several groups that must each stay whole",
        ),
    ],
)
def test_a_cluster_without_nodes_takes_nothing(asked: Request) -> None:
    empty = Cluster(parse(TWO_RACKS).topologies, ())

    assert isinstance(Engine(empty).solve(asked), Unplaceable)


def test_two_topologies_over_the_same_nodes_are_told_apart() -> None:
    drawn = parse(TWO_RACKS)
    other = replace(
        drawn.topologies[0], name="other", levels=(replace(drawn.topologies[0].levels[0], label="pool"),)
    )
    nodes = tuple(replace(node, labels={**node.labels, "pool": "one"}) for node in drawn.nodes)
    engine = Engine(Cluster((*drawn.topologies, other), nodes))

    assert isinstance(engine.decide(request("w", pods("p", 8), required="rack")), Unplaceable)
    assert isinstance(engine.decide(request("w", pods("p", 8), required="pool", topology="other")), Placed)


THREE_NODES_EACH = """
    r1
      x1: 4
      x2: 4
      x3: 4
    r2
      y1: 4
      y2: 4
      y3: 4
    z9: 4
"""


@pytest.mark.parametrize(
    ("taken", "asked", "nodes"),
    [
        pytest.param(["y1"], pods("p", 1), {"z9"}, id="a pod goes where there is no rack to break"),
        pytest.param(["y1", "z9"], pods("p", 1), {"y2"}, id="a pod goes to a rack that is in use already"),
        pytest.param(["y1"], pods("p", 8), {"y2", "y3"}, id="a gang of two nodes stays in a rack"),
        pytest.param(["y1"], pods("p", 12), {"x1", "x2", "x3"}, id="a gang of three nodes takes a rack"),
        pytest.param(["y1", "x2"], pods("p", 20), {"x1", "x3", "y2", "y3", "z9"}, id="a gang may take all"),
    ],
)
def test_who_names_no_topology_is_packed_along_the_only_one(
    taken: list[str], asked: PodSet, nodes: set[str]
) -> None:
    engine = Engine(parse(THREE_NODES_EACH))
    for name in taken:
        engine.hold(Holding("other", name, GPUS, 4))

    outcome = engine.decide(request("w", asked, topology=None))

    assert isinstance(outcome, Placed)
    assert {each.node for each in outcome.assignments} == nodes


def test_where_topologies_tell_different_layouts_nodes_alone_count() -> None:
    drawn = parse(THREE_NODES_EACH)
    engine = Engine(replace(drawn, topologies=(*drawn.topologies, Topology("other", (Level("row"),)))))
    engine.hold(Holding("other", "y1", GPUS, 4))

    outcome = engine.decide(request("w", pods("p", 1), topology=None))

    assert isinstance(outcome, Placed)
    assert [(each.node, each.domain) for each in outcome.assignments] == [("x1", ())]


def test_nodes_that_come_and_go_are_followed_by_who_names_no_topology() -> None:
    engine = Engine(parse(TWO_RACKS))
    plain, named = (request("w", pods("p", 6), topology=name) for name in (None, "default"))
    assert isinstance(engine.decide(plain), Placed)
    assert isinstance(engine.decide(named), Placed)

    (new,) = parse("r2\n  x3: 4\n").nodes
    engine.add_node(new)
    outcome = engine.decide(plain)

    assert rack_of(outcome) == "r2" == rack_of(engine.decide(named))
    engine.remove_node("x3")
    outcome = engine.decide(plain)
    assert isinstance(outcome, Placed)
    assert {each.domain[0] for each in outcome.assignments} == {"r1", "r2"}
