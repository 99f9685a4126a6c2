"""Which nodes take a pod at all."""

from __future__ import annotations

import pytest

from closeknit.engine import Engine
from closeknit.hub.copying import replace
from closeknit.hub.nodes import NAME_FIELD, Effect, NodeFilter, Operator, Requirement, Term, Toleration
from closeknit.hub.outcome import Placed
from closeknit.hub.request import PodSet
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse

CLUSTER = """
    r1
      plain: 8
      old: 8 label:generation=1 label:pool=a
      new: 8 label:generation=3 label:pool=b
      spot: 8 taint:spot=true:NoSchedule
      leaving: 8 taint:drain=now:NoExecute
      cordoned: 8 unschedulable
      gone: 8 not-ready
"""
OPEN = {"plain", "old", "new"}


def accepting(*terms: Term) -> NodeFilter:
    return NodeFilter(affinity=terms)


def term(key: str, operator: Operator, *values: str) -> Term:
    return Term((Requirement(key, operator, values),))


def takers(asked: PodSet) -> set[str]:
    """The nodes that take a pod, found by asking again with all found so far taken away."""
    found: set[str] = set()
    engine = Engine(parse(CLUSTER))
    for i in range(10):
        each = replace(asked, name=f"p{i}")
        outcome = engine.decide(request(f"w{i}", each))
        if not isinstance(outcome, Placed):
            return found
        found.add(outcome.assignments[0].node)
        engine.apply(request(f"w{i}", each), outcome)
    raise AssertionError("there are fewer nodes than that")


@pytest.mark.requirement("K71", "K120")
@pytest.mark.parametrize(
    ("accepts", "want"),
    [
        pytest.param(NodeFilter(), OPEN, id="tainted, cordoned and unready nodes take nobody"),
        pytest.param(
            NodeFilter(selector=(("pool", "a"),)), {"old"}, id="a selector needs the label with that value"
        ),
        pytest.param(
            NodeFilter(selector=(("pool", "z"),)), set(), id="a value that no node has selects none"
        ),
        pytest.param(
            NodeFilter(tolerations=(Toleration("spot", "true"),)),
            OPEN | {"spot"},
            id="a taint is tolerated by value",
        ),
        pytest.param(
            NodeFilter(tolerations=(Toleration("spot", "false"),)), OPEN, id="another value tolerates nothing"
        ),
        pytest.param(
            NodeFilter(tolerations=(Toleration("drain", None, Effect.NO_SCHEDULE),)),
            OPEN,
            id="a toleration of another effect tolerates nothing",
        ),
        pytest.param(
            NodeFilter(tolerations=(Toleration(),)),
            OPEN | {"spot", "leaving", "cordoned"},
            id="an empty toleration covers all taints, and a cordoned node",
        ),
        pytest.param(
            accepting(term("pool", Operator.IN, "a", "b")), {"old", "new"}, id="In takes any of its values"
        ),
        pytest.param(
            accepting(term("pool", Operator.NOT_IN, "a")), {"plain", "new"}, id="NotIn takes nodes without it"
        ),
        pytest.param(
            accepting(term("pool", Operator.EXISTS)), {"old", "new"}, id="Exists asks for the label alone"
        ),
        pytest.param(
            accepting(term("pool", Operator.DOES_NOT_EXIST)),
            {"plain"},
            id="DoesNotExist asks for its absence",
        ),
        pytest.param(accepting(term("generation", Operator.GT, "1")), {"new"}, id="Gt compares numbers"),
        pytest.param(accepting(term("generation", Operator.LT, "3")), {"old"}, id="Lt compares numbers"),
        pytest.param(
            accepting(term(NAME_FIELD, Operator.IN, "plain")), {"plain"}, id="a node is picked by name"
        ),
        pytest.param(
            accepting(term(NAME_FIELD, Operator.NOT_IN, "plain")),
            {"old", "new"},
            id="a node is left out by name",
        ),
        pytest.param(
            accepting(term("pool", Operator.IN, "a"), term("generation", Operator.GT, "1")),
            {"old", "new"},
            id="one of several terms is enough",
        ),
        pytest.param(accepting(Term(())), set(), id="a term without requirements matches nothing"),
        pytest.param(accepting(), set(), id="no term at all matches nothing"),
    ],
)
def test_these_nodes_take_it(accepts: NodeFilter, want: set[str]) -> None:
    assert takers(replace(pods("p", 1, gpus=8), filter=accepts)) == want


@pytest.mark.requirement("K120")
def test_pods_with_the_same_host_port_never_share_a_node() -> None:
    outcome = Engine(parse("r1\n  x1: 8\n  x2: 8\n")).decide(request("w", pods("p", 3, ports=[7777])))
    assert not isinstance(outcome, Placed)

    engine = Engine(parse("r1\n  x1: 8\n  x2: 8\n"))
    two = request("w", pods("p", 2, ports=[7777]))
    first = engine.decide(two)
    assert isinstance(first, Placed)
    assert {assignment.node for assignment in first.assignments} == {"x1", "x2"}
    engine.apply(two, first)
    assert not isinstance(engine.decide(request("v", pods("q", 1, ports=[7777]))), Placed)
    assert isinstance(engine.decide(request("v", pods("q", 1, ports=[7778]))), Placed)
    engine.release("w")
    assert isinstance(engine.decide(two), Placed)


def test_the_pods_of_a_node_run_out() -> None:
    drawing = "r1\n  x1: 8 pods=2\n"
    assert isinstance(Engine(parse(drawing)).decide(request("w", pods("p", 2))), Placed)
    assert not isinstance(Engine(parse(drawing)).decide(request("w", pods("p", 3))), Placed)


def test_a_node_that_offers_no_pods_takes_none() -> None:
    drawn = parse("r1\n  x1: 8\n")
    none = replace(drawn, nodes=tuple(replace(node, no_pods=True) for node in drawn.nodes))

    assert not isinstance(Engine(none).decide(request("w", pods("p", 1))), Placed)


def test_a_resource_that_no_node_has_fits_nowhere() -> None:
    assert not isinstance(
        Engine(parse("r1\n  x1: 8\n")).decide(request("w", pods("p", 1, resources={"example.com/fpga": 1}))),
        Placed,
    )
