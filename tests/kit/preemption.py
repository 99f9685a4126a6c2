"""Clusters with running units, for tests of victim choice: pods are drawn by the nodes that they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from closeknit.engine import Engine
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.drawing import GPU
from closeknit.hub.keys import Key
from closeknit.hub.nodes import Operator, Requirement
from closeknit.hub.quota import NO_LIMIT, Account
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.shortfall import QuotaScope
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.deciding import book
from closeknit.scheduler.preempt.budgets import Budget, Budgets
from closeknit.scheduler.preempt.fair_share import FairShares
from closeknit.scheduler.preempt.running import BoundPod, RunningUnit
from closeknit.scheduler.preempt.victims import NoVictims, VictimSet, choose_victims
from closeknit.testing.drawings import parse

NOW = 1000.0
CLUSTER = Account(("the cluster",), Resources({GPU: NO_LIMIT}), scope=QuotaScope.QUEUE)


def queue(
    name: str,
    quota: int = 0,
    *,
    limit: int | None = None,
    weight: float = 1.0,
    priority: int = 100,
    within: Account = CLUSTER,
    **fields: Any,
) -> Account:
    """A queue of GPUs; a quota of -1 and a limit of None are without bound."""
    own = NO_LIMIT if quota == -1 else quota
    return Account(
        (f"Queue {name}",),
        Resources({GPU: own}),
        borrowing={} if limit is None else {GPU: limit - own},
        weights={GPU: weight},
        priority=priority,
        scope=QuotaScope.QUEUE,
        within=within,
        **fields,
    )


def guaranteed(account: Account) -> Account:
    """What units that are not preemptible may use of a queue: its quota."""
    return Account(
        (*account.name, "not preemptible"),
        account.quota,
        borrowing={GPU: 0},
        scope=QuotaScope.QUEUE,
        within=CLUSTER if account.within in (None, CLUSTER) else guaranteed(account.within),
    )


def workload(
    asked: Request, *, priority: int = 0, account: Account | None = None, **fields: Any
) -> PlaceableWorkload:
    """A unit that is decided; ``fields`` are more of the workload's."""
    name = ObjectName("scheduling.run.ai/v2alpha2", "PodGroup", "team", asked.name)
    accounts: tuple[Account, ...] = () if account is None else (account,)
    if account is not None and not fields.get("preemptible", True):
        accounts = (account, guaranteed(account))
    return PlaceableWorkload(name, "kai", asked, priority=priority, accounts=accounts, **fields)


def pod(
    name: str,
    node: str,
    *,
    unit: str = "",
    gpus: int = 1,
    started: float = 0.0,
    group: str = "",
    labels: Mapping[str, str] = {},
) -> BoundPod:
    """A pod that runs."""
    holding = Holding(unit or name, node, Resources({GPU: gpus}))
    return BoundPod(
        Key("", "Pod", "team", name), f"uid-{name}", holding, started, group, tuple(sorted(labels.items()))
    )


def running(
    name: str,
    nodes: str,
    *,
    gpus: int = 1,
    minimum: int | None = None,
    started: float | Sequence[float] = 0.0,
    priority: int = 0,
    account: Account | None = None,
    labels: Mapping[str, str] = {},
    being_bound: bool = False,
    **fields: Any,
) -> RunningUnit:
    """A gang with a pod on each node that is listed; ``started`` is that of all pods or of each."""
    on = nodes.split()
    times = [float(started)] * len(on) if isinstance(started, int | float) else list(started)
    pods = PodSet("p", len(on), Resources({GPU: gpus}), minimum=minimum, bound=tuple(on))
    asked = Request(name, Group(name, (pods,)))
    return RunningUnit(
        workload(asked, priority=priority, account=account, **fields),
        name,
        tuple(
            pod(f"{name}-{i}", node, unit=name, gpus=gpus, started=time, group=name, labels=labels)
            for i, (node, time) in enumerate(zip(on, times, strict=True))
        ),
        being_bound=being_bound,
    )


def replicas(name: str, *nodes: str, minimum: int, needed: int, priority: int = 0) -> RunningUnit:
    """A tree of equal groups, one for each list of nodes, of which ``minimum`` must be formed.

    Each group needs so many pods.
    """
    groups, pods = [], []
    for i, listed in enumerate(nodes):
        on = listed.split()
        group = f"{name}-{i}"
        groups.append(
            Group(group, (PodSet(f"{group}-p", len(on), Resources({GPU: 1}), needed, bound=tuple(on)),))
        )
        pods += [pod(f"{group}-{j}", node, unit=name, group=group) for j, node in enumerate(on)]
    asked = Request(name, Group(name, tuple(groups), minimum=minimum))
    return RunningUnit(workload(asked, priority=priority), name, tuple(pods))


def budget(allowed: int, *, namespace: str = "team", name: str = "budget", **labels: str) -> Budget:
    """A disruption budget of the pods with these labels; of all pods without any."""
    selector = tuple(Requirement(key, Operator.IN, (value,)) for key, value in sorted(labels.items()))
    return Budget(namespace, name, selector, allowed)


@dataclass
class Scene:
    """A cluster with what runs on it."""

    drawing: str
    units: Sequence[RunningUnit]
    waiting: Sequence[PlaceableWorkload] = ()
    """Units beside the one that is decided, which count for the demand of queues."""
    budgets: Sequence[Budget] = ()
    more: Sequence[BoundPod] = ()
    """Pods that belong to no unit here and hold their nodes."""
    accounts: Accounts = field(default_factory=Accounts)

    def __post_init__(self) -> None:
        self.cluster = parse(self.drawing)
        self.engine = Engine(self.cluster)
        for each in (*self.more, *(pod for unit in self.units for pod in unit.pods)):
            self.engine.hold(each.holding)
        for unit in self.units:
            book(self.accounts, unit.workload)

    def shares(self, *waiting: PlaceableWorkload) -> FairShares:
        """The fair shares of all queues."""
        capacity = sum((node.allocatable for node in self.cluster.nodes), Resources())
        running = [unit.workload for unit in self.units]
        return FairShares(capacity, self.accounts, running, (*waiting, *self.waiting))

    def choose(self, asked: PlaceableWorkload, **options: Any) -> VictimSet | NoVictims:
        """The victims for a unit."""
        options = {"shares": self.shares(asked), "now": NOW, **options}
        return choose_victims(
            self.engine,
            self.cluster,
            asked,
            self.units,
            accounts=self.accounts,
            budgets=Budgets(self.budgets),
            **options,
        )


def evicted(chosen: VictimSet | NoVictims) -> list[str] | None:
    """The names of the evicted pods; None if no victims help."""
    if isinstance(chosen, NoVictims):
        return None
    return sorted(pod.key.name for pod in chosen.pods)


def units_evicted(chosen: VictimSet | NoVictims) -> list[str] | None:
    """The names of the units that lose pods; those that are only shrunk with the number of pods."""
    if isinstance(chosen, NoVictims):
        return None
    return [
        victim.holder if victim.is_broken else f"{victim.holder}:{len(victim.pods)}"
        for victim in chosen.victims
    ]


__all__ = [
    "CLUSTER",
    "NOW",
    "Scene",
    "budget",
    "evicted",
    "pod",
    "queue",
    "replace",
    "replicas",
    "running",
    "units_evicted",
    "workload",
]
