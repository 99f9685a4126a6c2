"""A unit that nobody woke is still unplaceable: no change that helps is ever slept through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from hypothesis import event, given
from hypothesis import strategies as st

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.nodes import Node
from closeknit.hub.outcome import Outcome, Placed, Undecided
from closeknit.hub.request import PodSet, Request
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.changes import Change, Freed, Joined, NodeChanged, NodeGone
from closeknit.scheduler.waiting import WaitingQueue
from closeknit.testing.strategies import instances
from tests.property.effort import effort

NEVER = float("inf")
"""A time at which every back-off is over."""


def unit(request: Request) -> PlaceableWorkload:
    return PlaceableWorkload(ObjectName("v1", "PodGroup", "", request.name), "kai", request)


def helped(outcome: Outcome) -> bool:
    """Whether a decision gives a unit anything."""
    return isinstance(outcome, Placed) and bool(outcome.assignments)


@dataclass
class Story:
    """A cluster in which things happen, and one unit that sleeps."""

    cluster: Cluster
    request: Request
    rng: Random
    engine: Engine = field(init=False)
    held: list[Holding] = field(init=False)

    def __post_init__(self) -> None:
        self.engine = Engine(self.cluster)
        self.held = [replace(each, pods=1) for each in self.cluster.holdings for _ in range(each.pods)]

    def fill(self) -> None:
        """Let others of the same kind take what the unit could have, pod by pod."""
        for i in range(12):
            other = replace(self.request, name=f"other-{i}", root=self.request.root.mapped(_unbound))
            outcome = self.engine.decide(other)
            if not isinstance(outcome, Placed) or not outcome.assignments:
                return
            sets = {pods.name: pods for pods in other.root.pod_sets()}
            for each in outcome.assignments:
                pods = sets[each.pod_set]
                self.hold(Holding(other.name, each.node, pods.resources, 1, pods.host_ports, pods.neighbour))

    def hold(self, holding: Holding) -> None:
        self.engine.hold(holding)
        self.held.append(holding)

    def happening(self) -> Iterator[Change]:
        """Something happens, and is told unless it can help nobody."""
        own = {node for pods in self.request.root.pod_sets() for node in pods.bound}
        others = [each for each in self.held if each.workload != self.request.name]
        match self.rng.choice(["end", "end", "end", "change", "add", "remove", "take"]):
            case "end" if others:
                gone = self.rng.choice(others)
                self.held.remove(gone)
                self.engine.release_pods(gone)
                yield Freed(gone)
            case "change":
                node = self.changed(self.rng.choice(self.cluster.nodes))
                self.engine.change_node(node)
                self.cluster = replace(
                    self.cluster,
                    nodes=tuple(node if each.name == node.name else each for each in self.cluster.nodes),
                )
                yield NodeChanged(node.name)
            case "add":
                model = self.rng.choice(self.cluster.nodes)
                node = replace(model, name=f"new-{len(self.cluster.nodes)}-{self.rng.random()}")
                self.engine.add_node(node)
                self.cluster = replace(self.cluster, nodes=(*self.cluster.nodes, node))
                yield NodeChanged(node.name)
            case "remove" if gone_nodes := [n for n in self.cluster.nodes if n.name not in own][1:]:
                name = self.rng.choice(gone_nodes).name
                self.engine.remove_node(name)
                gone_with_it = tuple(each for each in self.held if each.node == name)
                self.held = [each for each in self.held if each.node != name]
                yield NodeGone(gone_with_it)
                self.cluster = replace(
                    self.cluster, nodes=tuple(each for each in self.cluster.nodes if each.name != name)
                )
            case "take" if others:
                came = replace(self.rng.choice(others), node=self.rng.choice(self.cluster.nodes).name)
                self.hold(came)
                yield Joined(came)
            case _:
                pass

    def changed(self, node: Node) -> Node:
        like = self.rng.choice(self.cluster.nodes)
        return self.rng.choice(
            [
                replace(node, labels=like.labels),
                replace(node, allocatable=like.allocatable),
                replace(node, taints=()),
                replace(node, unschedulable=not node.unschedulable),
                replace(node, ready=True),
            ]
        )


def _unbound(pods: PodSet) -> PodSet:
    return replace(pods, bound=(), pods=())


@effort(150)
@given(instances(), st.integers(0, 2**32 - 1))
def test_no_unit_sleeps_through_a_change_that_helps_it(instance: tuple[Cluster, Request], seed: int) -> None:
    cluster, request = instance
    story = Story(cluster, request, Random(seed))
    story.fill()
    waiting, key = WaitingQueue(Random(seed)), unit(request).object.key
    waiting.put(unit(request))
    for _ in range(25):
        woken = waiting.take(NEVER) is not None
        outcome = story.engine.decide(request)
        if isinstance(outcome, Undecided):
            return
        assert woken or not helped(outcome)
        event(f"woken: {woken}, helped: {helped(outcome)}")
        if helped(outcome):
            # Somebody else is quicker, so the unit sleeps on.
            story.fill()
            outcome = story.engine.decide(request)
            if helped(outcome):
                return
        if woken:
            waiting.failed(key, outcome, 0.0)
        waiting.wake(story.happening(), story.engine)
