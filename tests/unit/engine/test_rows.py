"""What the ledger counts beside resources is never mistaken for a resource, whatever that is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.drawing import HOSTNAME, parse
from closeknit.hub.neighbours import Apart, Neighbour, PodSelector
from closeknit.hub.nodes import Operator, Requirement
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.request import Group, HostPort, PodSet, Request
from closeknit.hub.resources import Resources

TWO_NODES = parse("""
r1
  x1: 8
  x2: 8
""")
GPU = Resources({"nvidia.com/gpu": 1})
ALL_ADDRESSES, ONE_ADDRESS = HostPort(80), HostPort(80, "TCP", "10.0.0.1")
EXCLUSIVE_SELECTOR = PodSelector(frozenset(["team"]), (Requirement("app", Operator.IN, ("x",)),))
EXCLUSIVE = Neighbour("team", (("app", "x"),), (Apart(HOSTNAME, EXCLUSIVE_SELECTOR),))

PORT_NAMES = ("host port 80 TCP", "host port 80 TCP at 10.0.0.1")
EXCLUSIVE_NAMES = ("one on a node 0", "one on a node 1")


def offering(cluster: Cluster, amounts: dict[str, int]) -> Cluster:
    """The cluster with these amounts on every node, beside what its nodes offer."""
    more = Resources(amounts)
    return replace(
        cluster, nodes=tuple(replace(node, allocatable=node.allocatable + more) for node in cluster.nodes)
    )


def gang(pods: PodSet) -> Request:
    return Request("w", Group("all", (pods,), "rack"), "default")


def port_pods(count: int, resources: Resources = GPU) -> PodSet:
    return PodSet("w", count, resources, host_ports=frozenset([ALL_ADDRESSES, ONE_ADDRESS]))


def exclusive_pods(count: int, resources: Resources = GPU) -> PodSet:
    return PodSet("w", count, resources, neighbour=EXCLUSIVE)


def pods_by_node(engine: Engine, request: Request) -> Counter[str] | None:
    """How many pods each node gets; None if there is no placement."""
    outcome = engine.decide(request)
    if isinstance(outcome, Unplaceable):
        return None
    assert isinstance(outcome, Placed)
    return Counter(assignment.node for assignment in outcome.assignments)


@pytest.mark.parametrize("name", PORT_NAMES)
@pytest.mark.parametrize("amount", [1, 1 << 30])
def test_nodes_that_offer_a_resource_named_like_a_port_lend_that_port_once(name: str, amount: int) -> None:
    engine = Engine(offering(TWO_NODES, {name: amount}))

    assert pods_by_node(engine, gang(port_pods(2))) == {"x1": 1, "x2": 1}
    assert pods_by_node(engine, gang(port_pods(3))) is None


@pytest.mark.parametrize("name", EXCLUSIVE_NAMES)
@pytest.mark.parametrize("amount", [1, 1 << 30])
def test_pods_with_anti_affinity_get_a_node_each_beside_a_resource_named_like_that(
    name: str, amount: int
) -> None:
    engine = Engine(offering(TWO_NODES, {name: amount}))

    assert pods_by_node(engine, gang(exclusive_pods(2))) == {"x1": 1, "x2": 1}
    assert pods_by_node(engine, gang(exclusive_pods(3))) is None


@pytest.mark.parametrize("name", [*PORT_NAMES, *EXCLUSIVE_NAMES])
def test_a_resource_that_no_node_offers_is_not_offered_because_a_row_was_named_like_it(name: str) -> None:
    engine = Engine(TWO_NODES)
    engine.decide(gang(port_pods(2)))
    engine.decide(gang(exclusive_pods(2)))

    assert pods_by_node(engine, gang(PodSet("w", 1, Resources({name: 1})))) is None


@pytest.mark.parametrize("pods", [port_pods, exclusive_pods])
@pytest.mark.parametrize("name", [*PORT_NAMES, *EXCLUSIVE_NAMES])
def test_a_pod_takes_a_resource_beside_the_row_named_like_it(
    name: str, pods: Callable[[int, Resources], PodSet]
) -> None:
    engine = Engine(offering(TWO_NODES, {name: 3}))
    request = gang(pods(2, Resources({name: 3})))
    outcome = engine.decide(request)
    assert isinstance(outcome, Placed)
    assert Counter(assignment.node for assignment in outcome.assignments) == {"x1": 1, "x2": 1}

    engine.apply(request, outcome)

    assert pods_by_node(engine, gang(PodSet("other", 1, Resources({name: 1})))) is None
    engine.release("w")
    assert pods_by_node(engine, gang(PodSet("other", 6, Resources({name: 1})))) == {"x1": 3, "x2": 3}


@pytest.mark.parametrize("name", [*PORT_NAMES, *EXCLUSIVE_NAMES])
def test_a_node_that_changes_keeps_offering_a_resource_named_like_a_row(name: str) -> None:
    cluster = offering(TWO_NODES, {name: 3})
    engine = Engine(cluster)
    engine.decide(gang(port_pods(2)))
    engine.decide(gang(exclusive_pods(2)))
    engine.change_node(replace(cluster.nodes[0], labels={**cluster.nodes[0].labels, "changed": "yes"}))

    assert pods_by_node(engine, gang(PodSet("w", 6, Resources({name: 1})))) == {"x1": 3, "x2": 3}
    assert pods_by_node(engine, gang(port_pods(2))) == {"x1": 1, "x2": 1}


@pytest.mark.parametrize("name", [*PORT_NAMES, *EXCLUSIVE_NAMES])
def test_the_resources_of_an_engine_are_those_of_nodes_whatever_they_are_called(name: str) -> None:
    engine = Engine(offering(TWO_NODES, {name: 3}))
    engine.decide(gang(port_pods(2)))
    engine.decide(gang(exclusive_pods(2)))

    assert set(engine.resources) == {name, "nvidia.com/gpu", "pods"}


def test_a_workload_that_holds_a_resource_named_like_a_port_does_not_hold_the_port() -> None:
    cluster = offering(TWO_NODES, {"host port 80 TCP": 9})
    held = (
        Holding("port", "x1", GPU, host_ports=frozenset([HostPort(80)])),
        Holding("resource", "x1", Resources({"host port 80 TCP": 9})),
    )
    engine = Engine(replace(cluster, holdings=held))

    outcome = engine.solve(gang(PodSet("w", 2, GPU, host_ports=frozenset([HostPort(80)]))))

    assert isinstance(outcome, Unplaceable)
    ((best,),) = (shortfall.best for shortfall in outcome.shortfalls)
    assert best.limiting == "host port 80 TCP"
    assert [(holder.workload, holder.amount) for holder in best.holders] == [("port", 1)]


def test_a_resource_named_like_a_row_is_the_reason_that_a_node_is_excluded() -> None:
    request = gang(PodSet("w", 1, Resources({"one on a node 0": 1})))

    outcome = Engine(TWO_NODES).solve(request)

    assert isinstance(outcome, Unplaceable)
    (shortfall,) = outcome.shortfalls
    assert [fit.limiting for fit in shortfall.best] == ["one on a node 0"]
    assert [(exclusion.detail, exclusion.nodes) for exclusion in shortfall.excluded] == [
        ("one on a node 0", 2)
    ]


def test_an_address_with_a_slash_makes_a_port_no_device_that_other_pods_avoid() -> None:
    engine = Engine(TWO_NODES)
    engine.hold(Holding("port", "x2", GPU, host_ports=frozenset([HostPort(80, "TCP", "fe80::1/64")])))
    engine.hold(Holding("filler", "x1", GPU))

    # Both nodes have as much left, so the first by name is taken. Were the port a device, of which x2
    # has none left to strand, x2 would be.
    assert pods_by_node(engine, gang(PodSet("w", 1, GPU))) == {"x1": 1}
