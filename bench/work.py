"""What is measured. Each measure yields calls to be timed; what it does between them is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from bench.bed import Bed
from bench.clusters import BLOCK, FACTS, GPUS_A_NODE, HOST, RACK, ZONE, node, pod
from bench.requests import (
    apart_by,
    gang,
    hard_to_pack,
    led,
    nested,
    rack_gang,
    too_large_for_a_rack,
    too_many_large_groups,
)
from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.nodes import Node
from closeknit.hub.outcome import Outcome, Placed
from closeknit.hub.request import Request

Calls = Iterator[Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Measure:
    """A row of the report."""

    key: str
    title: str
    calls: Callable[[Bed], Calls]
    verdict: str | None = None
    """The outcome to be expected; None where the calls decide nothing."""
    patience: float = 2.0
    """Seconds after which no further call is made."""
    least_size: int = 0
    """Nodes below which the request cannot fit."""


def asked(make: Callable[[str], Request], rounds: int) -> Callable[[Bed], Calls]:
    """Decide a request on a cluster that has just changed, again and again."""

    def calls(bed: Bed) -> Calls:
        # The first decision counts the shape; from then on it is known.
        bed.engine.decide(make(bed.name()))
        for _ in range(rounds):
            bed.churn()
            yield partial(bed.engine.decide, make(bed.name()))

    return calls


def explained(make: Callable[[str], Request], rounds: int) -> Callable[[Bed], Calls]:
    """The same for a request that does not fit, with the explanation."""

    def calls(bed: Bed) -> Calls:
        for _ in range(rounds):
            bed.churn()
            yield partial(bed.engine.solve, make(bed.name()))

    return calls


def cold_amount(bed: Bed) -> Calls:
    """Pods with an amount of cpu that nobody asked for before."""
    for i in range(60):
        bed.churn()
        yield partial(bed.engine.decide, rack_gang(bed.name(), cpu=f"{1001 + i}m"))


def cold_label(bed: Bed) -> Calls:
    """A selector by a label that no selector named before."""
    for label in FACTS:
        bed.churn()
        request = gang(bed.name(), 4, pod(1), required=RACK, selector=((label, "v0"),))
        yield partial(bed.engine.decide, request)


def cold_value(bed: Bed) -> Calls:
    """A selector by a known label with a value that nobody asked for before."""
    label = FACTS[-1]
    bed.engine.decide(gang(bed.name(), 4, pod(1), required=RACK, selector=((label, "v0"),)))
    for value in range(1, 10):
        bed.churn()
        request = gang(bed.name(), 4, pod(1), required=RACK, selector=((label, f"v{value}"),))
        yield partial(bed.engine.decide, request)


def applied(bed: Bed) -> Calls:
    """Apply a decision that was made before."""
    for _ in range(200):
        request = rack_gang(bed.name())
        outcome = bed.engine.decide(request)
        assert isinstance(outcome, Placed)
        yield partial(bed.engine.apply, request, outcome)
        bed.engine.release(request.name)


def released(bed: Bed) -> Calls:
    """Release a gang."""
    for _ in range(200):
        request = rack_gang(bed.name())
        bed.place(request)
        yield partial(bed.engine.release, request.name)


def held(bed: Bed) -> Calls:
    """A pod that somebody else has bound is taken up."""
    for _ in range(200):
        pod = replace(bed.random.choice(bed.cluster.holdings), workload=bed.name())
        yield partial(bed.engine.hold, pod)
        bed.engine.release(pod.workload)


def pod_released(bed: Bed) -> Calls:
    """One pod of a tenant ends."""
    for _ in range(200):
        pod = replace(bed.random.choice(bed.cluster.holdings), pods=1)
        yield partial(bed.engine.release_pods, pod)
        bed.engine.hold(pod)


def pod_released_then_asked(bed: Bed) -> Calls:
    """One pod of a tenant ends, and a gang is decided."""
    for _ in range(200):
        pod = replace(bed.random.choice(bed.cluster.holdings), pods=1)
        bed.engine.decide(rack_gang(bed.name()))
        yield _then_asked(bed, partial(bed.engine.release_pods, pod))
        bed.engine.hold(pod)


def forked(bed: Bed) -> Calls:
    """What if a tenant left? Fork, release, decide, and take it all back."""

    def what_if(tenant: str, request: Request) -> Outcome:
        with bed.engine.fork() as engine:
            engine.release(tenant)
            return engine.decide(request)

    for _ in range(200):
        bed.churn()
        yield partial(what_if, bed.tenant(), rack_gang(bed.name()))


def node_added(bed: Bed) -> Calls:
    """A node comes, in the middle of the tree."""
    for new in _newcomers(bed, 30):
        yield partial(bed.engine.add_node, new)
        bed.engine.remove_node(new.name)


def node_added_then_asked(bed: Bed) -> Calls:
    """A node comes, and a gang is decided."""
    for new in _newcomers(bed, 30):
        yield _then_asked(bed, partial(bed.engine.add_node, new))
        bed.engine.remove_node(new.name)


def node_removed(bed: Bed) -> Calls:
    """A node goes."""
    for new in _newcomers(bed, 30):
        bed.engine.add_node(new)
        yield partial(bed.engine.remove_node, new.name)


def node_removed_then_asked(bed: Bed) -> Calls:
    """A node goes, and a gang is decided."""
    for new in _newcomers(bed, 30):
        bed.engine.add_node(new)
        bed.engine.decide(rack_gang(bed.name()))
        yield _then_asked(bed, partial(bed.engine.remove_node, new.name))


def node_changed(bed: Bed) -> Calls:
    """A node is cordoned, or comes back."""
    for _, changed in _changes(bed, 100):
        yield partial(bed.engine.change_node, changed)


def node_changed_then_asked(bed: Bed) -> Calls:
    """A node is cordoned, or comes back, and a gang is decided."""
    for _, changed in _changes(bed, 100):
        yield _then_asked(bed, partial(bed.engine.change_node, changed))


def filled(bed: Bed) -> Calls:
    """Gangs of four, each in a rack, decided and applied one after the other on an empty cluster."""
    engine = Engine(Cluster(bed.cluster.topologies, bed.cluster.nodes))
    engine.decide(rack_gang("first"))

    def place(request: Request) -> Outcome:
        outcome = engine.decide(request)
        assert isinstance(outcome, Placed)
        engine.apply(request, outcome)
        return outcome

    for i in range(min(10_000, bed.size * GPUS_A_NODE // 4)):
        yield partial(place, rack_gang(f"gang-{i}"))


def _newcomers(bed: Bed, rounds: int) -> Iterator[Node]:
    """Nodes with new names in racks that exist, so that positions in mid-tree move."""
    for i in range(rounds):
        like = node(bed.random.randrange(bed.size), bed.size)
        name = f"{like.name}-new-{i}"
        labels = {**like.labels, "kubernetes.io/hostname": name}
        bed.engine.decide(rack_gang(bed.name()))
        yield replace(like, name=name, labels=labels)


def _changes(bed: Bed, rounds: int) -> Iterator[tuple[Node, Node]]:
    """Each node twice: cordoned, then as it was."""
    for _ in range(rounds // 2):
        before = bed.cluster.nodes[bed.random.randrange(bed.size)]
        after = replace(before, unschedulable=True)
        for changed in (after, before):
            bed.engine.decide(rack_gang(bed.name()))
            yield before, changed


def _then_asked(bed: Bed, change: Callable[[], object]) -> Callable[[], Outcome]:
    request = rack_gang(bed.name())

    def both() -> Outcome:
        change()
        return bed.engine.decide(request)

    return both


MEASURES = (
    Measure("warm-1", "4 pods of 1 GPU in a rack, shape known", asked(rack_gang, 500), "placed"),
    Measure(
        "warm-2", "4 pods of 2 GPUs in a rack, shape known", asked(partial(rack_gang, gpus=2), 500), "placed"
    ),
    Measure(
        "preferred",
        "4 pods that prefer a rack",
        asked(partial(gang, pods=4, resources=pod(1), preferred=RACK), 200),
        "placed",
    ),
    Measure(
        "whole",
        "4 pods that fill a node each, in a rack",
        asked(partial(rack_gang, gpus=GPUS_A_NODE), 200),
        "placed",
    ),
    Measure("mixed", "1 pod of 1 GPU and 8 of 2 that prefer a rack", asked(led, 200), "placed"),
    Measure(
        "mixed-hard", "2 pods of 8 GPUs and 16 of 3 that prefer a rack", asked(hard_to_pack, 20), "placed"
    ),
    Measure("cold", "4 pods in a rack, amount never seen", cold_amount, "placed"),
    Measure("cold-value", "4 pods in a rack, selector value never seen", cold_value, "placed"),
    Measure("cold-label", "4 pods in a rack, selector label never seen", cold_label, "placed"),
    Measure(
        "nested",
        "8 groups of 8 pods, each in a rack, in a zone",
        asked(partial(nested, groups=8, pods=8), 50),
        "placed",
    ),
    Measure(
        "zone-512",
        "512 pods in a zone",
        asked(partial(gang, pods=512, resources=pod(1), required=ZONE), 50),
        "placed",
    ),
    Measure(
        "rack-512",
        "512 pods that prefer a rack",
        asked(partial(gang, pods=512, resources=pod(1), preferred=RACK), 50),
        "placed",
    ),
    Measure(
        "apart-host",
        "1,000 pods with anti-affinity by host",
        asked(partial(apart_by, pods=1_000, keys=(HOST,)), 20),
        "placed",
        least_size=5_000,
    ),
    Measure(
        "apart-rack",
        "300 pods with anti-affinity by host and by rack",
        asked(partial(apart_by, pods=300, keys=(HOST, RACK)), 20),
        "placed",
        least_size=5_000,
    ),
    Measure(
        "block-10000",
        "10,000 pods that prefer a block",
        asked(partial(gang, pods=10_000, resources=pod(1), preferred=BLOCK), 20),
        "placed",
        least_size=5_000,
    ),
    Measure(
        "infeasible",
        "128 pods too many for any rack, explained",
        explained(too_large_for_a_rack, 50),
        "unplaceable",
    ),
    Measure(
        "infeasible-nested",
        "12 large groups too many for any block, explained",
        explained(too_many_large_groups, 20),
        "unplaceable",
    ),
    Measure("apply", "apply a gang of 4", applied),
    Measure("release", "release a gang of 4", released),
    Measure("hold", "take up a pod that others bound", held),
    Measure("release-pod", "release one pod", pod_released),
    Measure("release-pod-decide", "release one pod and decide", pod_released_then_asked, "placed"),
    Measure("fork", "fork, release a tenant, decide, undo", forked, "placed"),
    Measure("add", "add a node", node_added),
    Measure("add-decide", "add a node and decide", node_added_then_asked, "placed"),
    Measure("remove", "remove a node", node_removed),
    Measure("remove-decide", "remove a node and decide", node_removed_then_asked, "placed"),
    Measure("change", "change a node", node_changed),
    Measure("change-decide", "change a node and decide", node_changed_then_asked, "placed"),
    Measure("fill", "fill an empty cluster: decide and apply a gang of 4", filled, "placed", patience=20.0),
)
