"""As few gangs as possible are displaced, against brute force that shares no code with the engine."""

from __future__ import annotations

from itertools import combinations
from random import Random

from hypothesis import event, given
from hypothesis import strategies as st

from closeknit.engine import Engine
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Request
from closeknit.hub.workload import ObjectName, WorkloadBase
from closeknit.scheduler.preemption import Running, displacement
from closeknit.testing.check import violations
from closeknit.testing.strategies import TINY, instances
from tests import brute
from tests.property.effort import effort

NOW = 100.0


def workload(name: str, priority: int, *, preemptible: bool = True) -> WorkloadBase:
    named = ObjectName("v1", "PodGroup", "", name)
    return WorkloadBase(named, "kai", priority=priority, preemptible=preemptible)


def without(cluster: Cluster, gone: set[str]) -> Cluster:
    return replace(cluster, holdings=tuple(each for each in cluster.holdings if each.workload not in gone))


def crowded(cluster: Cluster, request: Request, rng: Random) -> Cluster:
    """The same with what others hold given to a few gangs, and gangs of the same kind on top of it."""
    gangs = [f"gang-{i}" for i in range(rng.randint(1, 4))]
    others = tuple(
        replace(each, workload=rng.choice(gangs)) if each.workload != request.name else each
        for each in cluster.holdings
    )
    cluster = replace(cluster, holdings=others)
    engine = Engine(cluster)
    more: list[Holding] = []
    for pods in request.root.pod_sets():
        for node in cluster.nodes:
            while engine.fits(pods, node.name) and len(more) < 12 and rng.random() < 0.95:
                more.append(
                    Holding(rng.choice(gangs), node.name, pods.resources, 1, pods.host_ports, pods.neighbour)
                )
                engine.hold(more[-1])
    return replace(cluster, holdings=(*others, *more))


@effort(40)
@given(instances(TINY), st.integers(0, 2**32 - 1))
def test_no_smaller_set_of_gangs_would_do(instance: tuple[Cluster, Request], seed: int) -> None:
    rng = Random(seed)
    request = instance[1]
    cluster = crowded(*instance, rng)
    running = [
        Running(
            workload(name, rng.randint(0, 6), preemptible=rng.random() < 0.9).invalid(()),
            name,
            sum(each.pods for each in cluster.holdings if each.workload == name),
            float(rng.randint(0, 100)),
            frozenset(each.node for each in cluster.holdings if each.workload == name),
        )
        for name in sorted({each.workload for each in cluster.holdings} - {request.name})
    ]
    found = displacement(
        Engine(cluster),
        cluster,
        workload(request.name, 5).placeable(request),
        running,
        accounts=Accounts(),
        now=NOW,
    )

    allowed = [each for each in running if each.workload.preemptible and each.workload.priority < 5]
    enough: list[tuple[Running, ...]] = []
    for size in range(len(allowed) + 1):
        enough = [
            some
            for some in combinations(allowed, size)
            if brute.feasible(without(cluster, {each.holder for each in some}), request)
        ]
        if enough:
            break
    if not enough:
        assert found is None
        event("nothing helps")
        return
    best = min((len(some), sum((NOW - each.since) * each.pods for each in some)) for some in enough)
    assert found is not None
    assert found.fewest
    assert (len(found.victims), sum((NOW - each.since) * each.pods for each in found.victims)) == best
    assert isinstance(found.verdict.outcome, Placed)
    left = without(cluster, {each.holder for each in found.victims})
    assert violations(left, request, found.verdict.outcome) == []
    event(f"displaced: {len(found.victims)}")
