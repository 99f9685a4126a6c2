"""An engine that followed every change decides like one that sees the result for the first time."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.engine import Engine
from closeknit.engine.node_fits import PodShape
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.outcome import Outcome, Placed, Statistics
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.testing.strategies import instances
from tests.property.effort import effort


def answer(engine: Engine, request: Request) -> Outcome:
    """The decision without its cost, which depends on what was counted before."""
    return replace(engine.decide(request), statistics=Statistics())


@dataclass
class Mirror:
    """The cluster as it must be by now, kept in the plainest way, beside the engine that was told."""

    cluster: Cluster
    request: Request
    rng: Random
    engine: Engine = field(init=False)
    applied: int = 0

    def __post_init__(self) -> None:
        self.engine = Engine(self.cluster)

    def next_request(self) -> Request:
        """Another workload that asks for what the request asks for, from the start."""
        return replace(self.request, name=f"job-{self.applied}", root=unbound(self.request.root))

    def apply(self) -> None:
        request = self.next_request()
        outcome = self.engine.decide(request)
        if not isinstance(outcome, Placed):
            return
        self.engine.apply(request, outcome)
        self.applied += 1
        sets = {pods.name: pods for pods in request.root.pod_sets()}
        held = tuple(
            Holding(
                request.name,
                each.node,
                sets[each.pod_set].resources,
                1,
                sets[each.pod_set].host_ports,
                sets[each.pod_set].neighbour,
            )
            for each in outcome.assignments
        )
        self.cluster = replace(self.cluster, holdings=(*self.cluster.holdings, *held))

    def release(self) -> None:
        names = sorted({holding.workload for holding in self.cluster.holdings} - {self.request.name})
        gone = self.rng.choice([*names, "nobody"])
        self.engine.release(gone)
        kept = tuple(holding for holding in self.cluster.holdings if holding.workload != gone)
        self.cluster = replace(self.cluster, holdings=kept)

    def hold(self) -> None:
        """Somebody else binds pods of a workload, known or not; the node may end up with too many."""
        names = sorted({holding.workload for holding in self.cluster.holdings})
        pods = self.rng.choice([*self.request.root.pod_sets(), PodSet("other", 1, Resources({"cpu": 1}))])
        holding = Holding(
            self.rng.choice([*names, "stranger"]),
            self.rng.choice(self.cluster.nodes).name,
            pods.resources,
            self.rng.randint(1, 3),
            pods.host_ports,
            pods.neighbour,
        )
        self.engine.hold(holding)
        self.cluster = replace(self.cluster, holdings=(*self.cluster.holdings, holding))

    def release_pods(self) -> None:
        """Some pods of a holding finish; the plain cluster loses them one by one."""
        if not self.cluster.holdings:
            return
        like = self.rng.choice(self.cluster.holdings)
        alike = [
            i
            for i, each in enumerate(self.cluster.holdings)
            if replace(each, pods=1) == replace(like, pods=1)
        ]
        there = sum(self.cluster.holdings[i].pods for i in alike)
        gone = self.rng.randint(0, there)
        self.engine.release_pods(replace(like, pods=gone))
        left = list(self.cluster.holdings)
        for _ in range(gone):
            at = self.rng.choice([i for i in alike if left[i].pods])
            left[at] = replace(left[at], pods=left[at].pods - 1)
        self.cluster = replace(self.cluster, holdings=tuple(each for each in left if each.pods))

    def bind_own(self) -> None:
        """One pod of the request itself starts to run where it was decided, and its pod set says so."""
        outcome = self.engine.decide(self.request)
        if not isinstance(outcome, Placed) or not outcome.assignments:
            return
        chosen = self.rng.choice(outcome.assignments)
        pods = next(pods for pods in self.request.root.pod_sets() if pods.name == chosen.pod_set)
        holding = Holding(self.request.name, chosen.node, pods.resources, 1, pods.host_ports, pods.neighbour)
        self.engine.hold(holding)
        self.cluster = replace(self.cluster, holdings=(*self.cluster.holdings, holding))
        self.request = replace(
            self.request, root=rebound(self.request.root, pods.name, (*pods.bound, chosen.node))
        )

    def end_own(self) -> None:
        """One running pod of the request itself ends, and its pod set says so."""
        for pods in self.request.root.pod_sets():
            for node in pods.bound:
                holding = Holding(self.request.name, node, pods.resources, 1, pods.host_ports, pods.neighbour)
                if holding in self.cluster.holdings:
                    self.engine.release_pods(holding)
                    left, bound = list(self.cluster.holdings), list(pods.bound)
                    left.remove(holding)
                    bound.remove(node)
                    self.cluster = replace(self.cluster, holdings=tuple(left))
                    root = rebound(self.request.root, pods.name, tuple(bound))
                    self.request = replace(self.request, root=root)
                    return

    def add_node(self) -> None:
        model = self.rng.choice(self.cluster.nodes)
        name = f"new-{len(self.cluster.nodes)}-{self.rng.randrange(10**6)}"
        node = replace(model, name=name, labels=self._labels(model))
        self.engine.add_node(node)
        self.cluster = replace(self.cluster, nodes=(*self.cluster.nodes, node))

    def change_node(self) -> None:
        before = self.rng.choice(self.cluster.nodes)
        after = self.rng.choice(
            [
                replace(before, unschedulable=not before.unschedulable),
                replace(before, ready=not before.ready),
                replace(before, taints=()),
                *[replace(before, labels=self._labels(before)) for _ in range(4)],
                replace(before, allocatable=self.rng.choice(self.cluster.nodes).allocatable),
                replace(before, allocatable=Resources()),
            ]
        )
        self.engine.change_node(after)
        nodes = tuple(after if node.name == before.name else node for node in self.cluster.nodes)
        self.cluster = replace(self.cluster, nodes=nodes)

    def remove_node(self) -> None:
        used = {node for pods in self.request.root.pod_sets() for node in pods.bound}
        choices = [node.name for node in self.cluster.nodes if node.name not in used]
        if len(self.cluster.nodes) < 2 or not choices:
            return
        gone = self.rng.choice(choices)
        self.engine.remove_node(gone)
        self.cluster = replace(
            self.cluster,
            nodes=tuple(node for node in self.cluster.nodes if node.name != gone),
            holdings=tuple(holding for holding in self.cluster.holdings if holding.node != gone),
        )

    def step(self) -> None:
        self.rng.choice(
            [
                self.apply,
                self.apply,
                self.release,
                self.hold,
                self.release_pods,
                self.bind_own,
                self.bind_own,
                self.end_own,
                self.add_node,
                self.change_node,
                self.remove_node,
            ]
        )()

    def _labels(self, node: Node) -> dict[str, str]:
        """The labels of some node, or of this one without one of them."""
        labels = dict(self.rng.choice(self.cluster.nodes).labels)
        if labels and self.rng.random() < 0.4:
            del labels[self.rng.choice(sorted(labels))]
        return labels if self.rng.random() < 0.8 else dict(node.labels)


def rebound(group: Group, name: str, bound: tuple[str, ...]) -> Group:
    """The same with other running pods of one pod set."""

    def visit(member: Member) -> Member:
        if isinstance(member, Group):
            return rebound(member, name, bound)
        return replace(member, bound=bound, pods=()) if member.name == name else member

    return replace(group, members=tuple(visit(member) for member in group.members))


def unbound(group: Group) -> Group:
    def visit(member: Member) -> Member:
        return replace(member, bound=(), pods=()) if isinstance(member, PodSet) else unbound(member)

    return replace(group, members=tuple(visit(member) for member in group.members))


@effort(60)
@given(instances(), st.integers(0, 10**6))
def test_following_changes_is_as_good_as_starting_over(instance: tuple[Cluster, Request], seed: int) -> None:
    mirror = Mirror(*instance, Random(seed))
    # What was counted for this first question must be brought up to date for all later ones.
    answer(mirror.engine, mirror.request)

    for _ in range(mirror.rng.randint(1, 12)):
        mirror.step()
        if mirror.rng.random() < 0.5:
            asked = mirror.rng.choice([mirror.request, mirror.next_request()])
            assert answer(mirror.engine, asked) == answer(Engine(mirror.cluster), asked)
    assert answer(mirror.engine, mirror.request) == answer(Engine(mirror.cluster), mirror.request)


def counted(engine: Engine, request: Request) -> list[object]:
    """All that the tables of a request say, in the order of its tree."""
    tree = engine._tree(request.topology)
    found: list[object] = []
    for shape in sorted({PodShape.of(pods) for pods in request.root.pod_sets()}, key=repr):
        table = engine._cache.table(shape, tree)
        price = table.price if table.price is not None and table.price.any() else None
        found.extend([table.total, price.tolist() if price is not None else None])
        for level in range(tree.depth + 1):
            appeal = table.appeal(level)
            cheapest = appeal.tolist() if appeal is not None and price is not None else None
            found.extend([table.sums[level].tolist(), table.largest[level].tolist(), cheapest])
            inside = [table.biggest_inside(level, finer) for finer in range(level + 1, tree.depth + 1)]
            found.append([biggest.tolist() for biggest in inside] if len(tree) else [])
    return found


@effort(60)
@given(instances(), st.integers(0, 10**6))
def test_tables_that_follow_changes_say_what_new_ones_say(
    instance: tuple[Cluster, Request], seed: int
) -> None:
    rng = Random(seed)
    soft = (Taint("slow", Effect.PREFER_NO_SCHEDULE),) if rng.random() < 0.5 else ()
    nodes = tuple(replace(node, taints=(*node.taints, *rng.choice([soft, ()]))) for node in instance[0].nodes)
    mirror = Mirror(replace(instance[0], nodes=nodes), instance[1], rng)

    for _ in range(6):
        assert counted(mirror.engine, mirror.request) == counted(Engine(mirror.cluster), mirror.request)
        mirror.step()


@effort(40)
@given(instances(), st.integers(0, 10**6))
def test_a_fork_leaves_no_trace(instance: tuple[Cluster, Request], seed: int) -> None:
    mirror = Mirror(*instance, Random(seed))
    mirror.apply()
    asked = [mirror.request, mirror.next_request()]
    before = [answer(mirror.engine, each) for each in asked]
    kept = mirror.cluster

    with mirror.engine.fork():
        for _ in range(mirror.rng.randint(1, 4)):
            mirror.rng.choice([mirror.apply, mirror.release, mirror.hold, mirror.release_pods])()
        with mirror.engine.fork():
            inner = answer(Engine(mirror.cluster), mirror.request)
            mirror.engine.release(mirror.rng.choice(["w1", "w2", "job-0"]))
        assert answer(mirror.engine, mirror.request) == inner

    assert [answer(mirror.engine, each) for each in asked] == before
    mirror.cluster = kept
    mirror.apply()
    assert answer(mirror.engine, mirror.request) == answer(Engine(mirror.cluster), mirror.request)


def fail_on_a_fork(engine: Engine, workloads: tuple[str, ...]) -> None:
    with engine.fork():
        for name in workloads:
            engine.release(name)
        raise KeyError("what if")


@effort(20)
@given(instances())
def test_a_fork_is_undone_after_an_error_too(instance: tuple[Cluster, Request]) -> None:
    cluster, request = instance
    engine = Engine(cluster)
    before = answer(engine, request)

    with pytest.raises(KeyError):
        fail_on_a_fork(engine, ("w1", "w2", "w3", request.name))

    assert answer(engine, request) == before
