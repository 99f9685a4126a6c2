"""Quota: what workloads may have in all, and what it costs to run one. ``accounts`` says who has how much.

An account is known by a path of words, coarsest first, such as a queue and a flavor. Accounts may lie in
others, and then lend and borrow what they do not use. Quota says nothing of nodes; a workload that has quota
must still find room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from closeknit.hub.copying import replace
from closeknit.hub.outcome import DomainFit, Outcome, Shortfall, Unplaceable
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.shortfall import BehindStrictFifo, QuotaExceeded, QuotaScope

NO_LIMIT = 2**62
"""Stands for a quota or a limit without bound: more than any cluster has."""


@dataclass(frozen=True, slots=True)
class Account:
    """What may be charged in all, and how much of it is shared with others."""

    name: tuple[str, ...]
    quota: Resources
    """By resource; one that is missing has a quota of zero. With what the accounts inside it lend."""
    kept: Resources = Resources()
    """How much of the quota those beside it can never have."""
    borrowing: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How much more than its quota it may have; a resource that is missing has no limit of its own."""
    weights: Mapping[str, float] = field(default_factory=dict, hash=False)
    """By resource, most important first: its part of what is used beyond all quotas."""
    priority: int = 0
    """Of accounts beyond their quota, a higher one goes first."""
    preempt_after: float | None = None
    """Seconds that a workload runs before one of higher priority may displace it; None: see ``within``."""
    reclaim_after: float | None = None
    """Seconds that a workload runs before others may take back what is beyond quota; None: see ``within``."""
    scope: QuotaScope = QuotaScope.FLAVOR
    within: Account | None = None
    """The account that it lends to and borrows from."""

    @property
    def around(self) -> tuple[Account, ...]:
        """The account itself, the one that it lies in, and so on to the outermost."""
        return (self, *(self.within.around if self.within is not None else ()))


@dataclass(frozen=True, slots=True)
class Charge:
    """What one account is charged for a workload."""

    account: Account
    resources: Resources
    spare: Resources = Resources()
    """How much less it is for each of the workload's spare pods that is left out."""


class Option(msgspec.Struct, frozen=True, gc=False):
    """One way in which a workload may run, and what it costs."""

    request: Request
    charges: tuple[Charge, ...] = ()
    spare: int = 0
    """How many pods may be left out where quota is short: the last of ``shrinking``."""
    step: int = 1
    """So many pods are left out together."""
    shrinking: str = ""
    """The pod set or group that gets smaller."""
    patient: bool = False
    """Whether other ways are tried before this one borrows."""

    @property
    def pods(self) -> int:
        """How many pods it has, spare ones included."""
        return sum(pods.count for pods in self.request.root.pod_sets())

    def without(self, pods: int) -> Option:
        """The same with so many of the spare pods left out, and as much less to pay."""
        if not pods:
            return self
        root = self.request.root.mapped(
            lambda each: _fewer_pods(each, pods) if each.name == self.shrinking else each,
            lambda each: _fewer_members(each, pods) if each.name == self.shrinking else each,
        )
        return replace(
            self, request=replace(self.request, root=root), charges=self.cost(pods), spare=self.spare - pods
        )

    def cost(self, left_out: int) -> tuple[Charge, ...]:
        """What is charged where so many of the spare pods do not run."""
        return tuple(
            replace(charge, resources=charge.resources - charge.spare * left_out) for charge in self.charges
        )


def refused(
    option: Option, lacking: Sequence[DomainFit], scope: QuotaScope = QuotaScope.FLAVOR
) -> Unplaceable:
    """The outcome of a workload none of whose options has quota; ``option`` is the first."""
    best = tuple(sorted(lacking, key=lambda fit: (-fit.fits, fit.domain)))
    shortfall = Shortfall(
        group=option.request.root.name,
        reason=QuotaExceeded(scope),
        wanted=option.pods - option.spare,
        fits=max((fit.fits for fit in lacking), default=0),
        best=best,
        excluded=(),
        relaxations=(),
    )
    return Unplaceable(option.request.name, (shortfall,))


def behind(request: Request, queue: str) -> Unplaceable:
    """The outcome of a workload behind a pending one of its StrictFIFO queue, which none may overtake."""
    pods = sum(pods.least for pods in request.root.pod_sets())
    shortfall = Shortfall(request.root.name, BehindStrictFifo(queue), pods, 0, (), (), ())
    return Unplaceable(request.name, (shortfall,))


def lacks_quota(outcome: Outcome) -> bool:
    """Whether quota was exceeded, so that no placement was searched for."""
    return isinstance(outcome, Unplaceable) and any(
        isinstance(shortfall.reason, QuotaExceeded) for shortfall in outcome.shortfalls
    )


def _fewer_pods(pod_set: PodSet, pods: int) -> PodSet:
    names = pod_set.pods[: max(len(pod_set.pods) - pods, 0)]
    return replace(pod_set, count=pod_set.count - pods, pods=names)


def _fewer_members(group: Group, pods: int) -> Group:
    members = list(group.members)
    while pods > 0:
        last = members.pop()
        pods -= last.count if isinstance(last, PodSet) else sum(each.count for each in last.pod_sets())
    return replace(group, members=tuple(members))
