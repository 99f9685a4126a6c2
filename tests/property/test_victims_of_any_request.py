"""The best set of gangs is evicted for requests of every form, against brute force over all sets of gangs.

Trees of groups, node filters, ports and rules about other pods; sets that help are found by the plain reading
of the semantics, which shares no code with the engine.
"""

from __future__ import annotations

from itertools import combinations
from random import Random

from hypothesis import event, given
from hypothesis import strategies as st

from closeknit.engine import Engine
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Request
from closeknit.hub.workload import ObjectName, WorkloadBase
from closeknit.scheduler.preempt.running import BoundPod, RunningUnit
from closeknit.scheduler.preempt.trials import Goal
from closeknit.scheduler.preempt.victims import NoVictims, choose_victims
from closeknit.testing.check import violations
from closeknit.testing.strategies import TINY, Size, instances
from tests import brute
from tests.property.effort import effort

NOW = 100.0
RULED = Size(nodes=3, pods=4, groups=3, ruled=0.7)
"""With many rules about other pods, for which evicting more may hurt."""


def workload(name: str, priority: int, *, preemptible: bool = True) -> WorkloadBase:
    named = ObjectName("v1", "PodGroup", "", name)
    return WorkloadBase(named, "kai", priority=priority, preemptible=preemptible)


def without(cluster: Cluster, gone: set[str]) -> Cluster:
    return replace(cluster, holdings=tuple(held for held in cluster.holdings if held.workload not in gone))


def crowded(cluster: Cluster, request: Request, rng: Random) -> Cluster:
    """The same with what others hold given to a few gangs, and gangs of the same kind on top of it."""
    gangs = [f"gang-{i}" for i in range(rng.randint(1, 4))]
    others = tuple(
        replace(held, workload=rng.choice(gangs)) if held.workload != request.name else held
        for held in cluster.holdings
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


def unit(name: str, cluster: Cluster, rng: Random) -> RunningUnit:
    """A gang without a minimum that is known, so that it is evicted whole or not at all."""
    pods = [
        replace(held, pods=1) for held in cluster.holdings if held.workload == name for _ in range(held.pods)
    ]
    started = float(rng.randint(0, 100))
    return RunningUnit(
        workload(name, rng.randint(0, 6), preemptible=rng.random() < 0.9).invalid(()),
        name,
        tuple(BoundPod(Key("", "Pod", "", f"{name}-{i}"), "", held, started) for i, held in enumerate(pods)),
    )


@effort(40)
@given(st.one_of(instances(TINY), instances(RULED)), st.integers(0, 2**32 - 1))
def test_no_other_set_of_gangs_is_better(instance: tuple[Cluster, Request], seed: int) -> None:
    rng = Random(seed)
    request = instance[1]
    cluster = crowded(*instance, rng)
    names = sorted({held.workload for held in cluster.holdings} - {request.name})
    units = [unit(name, cluster, rng) for name in names]
    chosen = choose_victims(
        Engine(cluster),
        cluster,
        workload(request.name, 5).placeable(request),
        units,
        accounts=Accounts(),
        now=NOW,
        trials=10_000,
    )

    allowed = [each for each in units if each.workload.preemptible and each.workload.priority < 5]
    sets = [some for size in range(len(allowed) + 1) for some in combinations(allowed, size)]
    waiting = sum(pods.open for pods in request.root.pod_sets())
    best_without = {
        some: brute.best(without(cluster, {each.holder for each in some}), request) for some in sets
    }
    assert chosen.exact
    for goal in Goal:
        helping: list[tuple[RunningUnit, ...]] = []
        for some in sets:
            best = best_without[some]
            # To place no pod is worth nothing, even if the minimum runs already.
            if best is not None and best.left_out <= (0 if goal is Goal.ALL_PODS else waiting - 1):
                helping.append(some)
        if helping:
            break
    else:
        assert isinstance(chosen, NoVictims)
        event("nothing helps")
        return
    if any(not some for some in helping):
        assert isinstance(chosen, NoVictims) == (waiting == 0)
        assert isinstance(chosen, NoVictims) or chosen.victims == ()
        event("it fits")
        return
    want = min(
        (
            max(each.workload.priority for each in some),
            len(some),
            sum((NOW - pod.started) for each in some for pod in each.pods),
            sum(len(each.pods) for each in some),
            sorted(f"/{pod.key.name}" for each in some for pod in each.pods),
            sorted(each.holder for each in some),
        )
        for some in helping
    )
    assert not isinstance(chosen, NoVictims)
    assert chosen.goal is goal
    assert [victim.holder for victim in chosen.victims] == want[-1]
    assert isinstance(chosen.verdict.outcome, Placed)
    left = without(cluster, {victim.holder for victim in chosen.victims})
    assert violations(left, request, chosen.verdict.outcome) == []
    event(f"evicted: {len(chosen.victims)}")
