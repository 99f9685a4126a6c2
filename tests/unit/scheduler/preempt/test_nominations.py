"""What is nominated for a unit, on nodes and in the status of its pods."""

from __future__ import annotations

import pytest

from closeknit.hub.cluster import Holding
from closeknit.hub.drawing import GPU
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Assignment
from closeknit.hub.resources import Resources
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.commit import Nominate
from closeknit.scheduler.preempt.nominated_nodes import NominatedNodes, NominatedPod
from closeknit.scheduler.preempt.nominations import kept_on_nodes, left_to_bind, with_replacements
from closeknit.testing.builders import pods, request

PLACED = tuple(Assignment(f"p{number}", "set", f"n{number}", ()) for number in range(3))


def left(**nodes: str | None) -> dict[str, str]:
    """The nomination of each pod, given the nodes that pods have; others wait."""
    return {each.pod: each.node for each in left_to_bind(PLACED, lambda pod: nodes.get(pod, ""))}


@pytest.mark.parametrize(
    ("nodes", "nominated"),
    [
        pytest.param({}, {"p0": "n0", "p1": "n1", "p2": "n2"}, id="all pods that wait"),
        pytest.param({"p0": "n0"}, {"p1": "n1", "p2": "n2"}, id="no pod that is bound where it was planned"),
        pytest.param(
            {"p0": "n1"}, {"p1": "n0", "p2": "n2"}, id="a pod whose node was taken gets the other one"
        ),
        pytest.param({"p0": "far"}, {"p1": "n1", "p2": "n2"}, id="nothing for a pod that is bound elsewhere"),
        pytest.param({"p0": None}, {"p0": "n0", "p1": "n1", "p2": "n2"}, id="a pod that is made again"),
        pytest.param({"p0": "n1", "p1": "n0"}, {"p2": "n2"}, id="nothing for pods that changed places"),
    ],
)
def test_nominated_is_what_is_not_bound(nodes: dict[str, str | None], nominated: dict[str, str]) -> None:
    assert left(**nodes) == nominated


def test_the_node_that_a_bound_pod_left_over_goes_to_a_pod_of_its_own_set() -> None:
    placed = [
        Assignment("a0", "a", "n0", ()),
        Assignment("b0", "b", "n1", ()),
        Assignment("a1", "a", "n1", ()),
    ]

    rest = left_to_bind(placed, lambda pod: "n1" if pod == "a0" else "")

    assert {each.pod: each.node for each in rest} == {"b0": "n1", "a1": "n0"}


def test_a_pod_that_is_made_again_takes_the_place_of_the_one_that_is_gone() -> None:
    asked = request("w", pods("set", 3, names=("p1", "p2", "new")))

    made = with_replacements(PLACED, asked, lambda pod: pod != "p0")

    assert [(each.pod, each.node) for each in made] == [("new", "n0"), ("p1", "n1"), ("p2", "n2")]


def test_what_victims_still_hold_is_not_kept_twice() -> None:
    asked = request("w", pods("set", 2, gpus=4))
    placed = [Assignment(f"p{number}", "set", "n", ()) for number in range(2)]
    victim = Holding("v", "n", Resources({GPU: 3}))

    assert _gpus(kept_on_nodes(asked, placed, ())) == {"n": 8}
    assert _gpus(kept_on_nodes(asked, placed, [victim])) == {"n": 5}
    assert _gpus(kept_on_nodes(asked, placed, [victim, victim, victim])) == {}


def _gpus(kept: list[Holding]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for holding in kept:
        amounts[holding.node] = amounts.get(holding.node, 0) + holding.resources.get(GPU, 0) * holding.pods
    return {node: amount for node, amount in amounts.items() if amount}


POD = Key("", "Pod", "team", "p")
WANTED = {POD: NominatedPod("uid", "n1")}


def calls(nodes: NominatedNodes, wanted: dict[Key, NominatedPod], *, waits: bool = True) -> list[Nominate]:
    return list(nodes.calls(wanted, lambda _pod, _uid: waits))


def test_a_nominated_node_is_written_once() -> None:
    nodes = NominatedNodes()
    (call,) = calls(nodes, WANTED)

    assert call == Nominate(POD, "uid", "n1")
    assert calls(nodes, WANTED) == []
    assert nodes.answered(call, Answer.DONE) is None
    assert calls(nodes, WANTED) == []


@pytest.mark.parametrize("answer", [Answer.LATER, Answer.LOST])
def test_a_write_without_success_is_sent_again_later(answer: Answer) -> None:
    nodes = NominatedNodes()
    (call,) = calls(nodes, WANTED)

    assert nodes.answered(call, answer) == (call, 1)
    assert calls(nodes, WANTED) == []


def test_a_node_is_cleared_when_nothing_is_nominated_any_more() -> None:
    nodes = NominatedNodes()
    (call,) = calls(nodes, WANTED)
    nodes.answered(call, Answer.DONE)

    (clear,) = calls(nodes, {})
    assert clear == Nominate(POD, "uid", "")
    assert nodes.answered(clear, Answer.DONE) is None
    assert calls(nodes, {}) == []


def test_a_node_of_a_pod_that_was_bound_is_left_alone() -> None:
    nodes = NominatedNodes()
    (call,) = calls(nodes, WANTED)
    nodes.answered(call, Answer.DONE)

    assert calls(nodes, {}, waits=False) == []


def test_two_writes_of_a_pod_are_never_under_way_together() -> None:
    nodes = NominatedNodes()
    (call,) = calls(nodes, WANTED)
    assert calls(nodes, {POD: NominatedPod("uid", "n2")}) == []
    assert calls(nodes, {}) == []

    assert nodes.answered(call, Answer.DONE) == (Nominate(POD, "uid", ""), 0)


def test_a_node_is_written_to_a_pod_that_was_made_again_while_its_predecessor_was_written() -> None:
    nodes = NominatedNodes()
    (call,) = calls(nodes, WANTED)
    assert calls(nodes, {POD: NominatedPod("new", "n1")}) == []

    assert nodes.answered(call, Answer.GONE) == (Nominate(POD, "new", "n1"), 0)


def test_what_an_earlier_scheduler_wrote_is_cleared_unless_it_is_wanted() -> None:
    nodes = NominatedNodes()
    nodes.found(POD, "uid", "n1")

    assert calls(nodes, WANTED) == []
    assert calls(nodes, {}) == [Nominate(POD, "uid", "")]
