"""A request is checked and keyed once, and still refused when it has to be."""

from __future__ import annotations

import pytest

from closeknit.engine import Engine, checked_requests
from closeknit.hub.outcome import Placed
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.request import Request, problems
from closeknit.hub.sentences import hub
from closeknit.hub.topology import Topology
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse
from tests.kit.problems import finding, findings

TWO_RACKS = "r1\n  x1: 4\nr2\n  x2: 4\n"


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of requests, each as often as it was checked."""
    names: list[str] = []

    def counted(request: Request, topology: Topology | None) -> tuple[Problem, ...]:
        names.append(request.name)
        return problems(request, topology)

    monkeypatch.setattr(checked_requests, "problems", counted)
    return names


def test_a_request_is_checked_when_it_is_first_asked_for(checked: list[str]) -> None:
    engine = Engine(parse(TWO_RACKS))
    small, large = request("small", pods("p", 2), required="rack"), request("large", pods("p", 9))
    for _ in range(3):
        engine.decide(small)
        engine.solve(large)

    assert checked == ["small", "large"]


def test_a_request_that_makes_no_sense_is_refused_every_time(checked: list[str]) -> None:
    engine = Engine(parse(TWO_RACKS))
    for _ in range(2):
        with pytest.raises(InvalidError):
            engine.decide(request("w", pods("p", -1)))

    assert checked == ["w", "w"]


def test_the_same_tree_over_another_topology_is_checked_again(checked: list[str]) -> None:
    engine = Engine(parse(TWO_RACKS))
    asked = request("w", pods("p", 1), required="rack")
    engine.decide(asked)

    with pytest.raises(InvalidError):
        engine.decide(Request(asked.name, asked.root, topology="other"))
    assert checked == ["w", "w"]


def test_a_node_that_has_gone_is_missed_though_the_request_is_known() -> None:
    engine = Engine(parse(TWO_RACKS))
    asked = request("w", pods("p", 2, bound=["x1"]))
    assert isinstance(engine.decide(asked), Placed)
    engine.remove_node("x1")

    with pytest.raises(InvalidError) as refused:
        engine.decide(asked)
    assert findings(refused.value.problems) == [finding(hub.BOUND_TO_UNKNOWN_NODE, "p.bound[0]", node="x1")]


def test_the_request_not_asked_for_the_longest_is_forgotten(
    checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_requests, "_MOST", 2)
    engine = Engine(parse(TWO_RACKS))
    a, b, c = (request(name, pods("p", 1)) for name in "abc")
    for asked in (a, b, a, c, b, a):
        engine.decide(asked)

    assert checked == ["a", "b", "c", "b", "a"]
