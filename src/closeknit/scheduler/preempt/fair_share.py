"""What each queue deserves of what there is: its quota, and a part of what no queue has as quota.

Computed per resource and for the queues below each parent, as KAI documents it (and as its
``resource_division`` does, but for the differences that the policy page lists):

1. each queue gets the smaller of its quota and its demand;
2. what remains goes to the queues of the highest priority by weight, and what some of them do not need is
   divided again among the others; in whole units rounded down, and units that remain from rounding go one by
   one to the queues with the largest remainder, then by name;
3. what remains when each of them has its demand goes to the queues of the next priority.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from closeknit.hub.accounts import Accounts
from closeknit.hub.outcome import Placed
from closeknit.hub.quota import NO_LIMIT, Account
from closeknit.hub.resources import Resources
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.deciding import Verdict

UNITS: Mapping[str, int] = {"cpu": 10**6, "memory": 10**6}
"""The unit in which a resource is divided: thousandths of a core, millions of bytes, else one."""


@dataclass(frozen=True, slots=True)
class Share:
    """A queue among those beside it, for one resource."""

    name: tuple[str, ...]
    quota: int
    demand: int
    """At most its limit."""
    weight: float
    priority: int


def divide(amount: int, queues: Sequence[Share], unit: int = 1) -> dict[tuple[str, ...], int]:
    """The fair shares of queues that share an amount, by name.

    Quotas are granted even if their sum exceeds the amount, as KAI does: a cluster that lost nodes does not
    change what a queue may take back.
    """
    shares = {queue.name: min(queue.quota, queue.demand) for queue in queues}
    left = max(amount - sum(shares.values()), 0)
    for priority in sorted({queue.priority for queue in queues}, reverse=True):
        left = _divide_by_weight(
            left, [queue for queue in queues if queue.priority == priority], shares, unit
        )
    return shares


def _divide_by_weight(
    left: int, queues: Sequence[Share], shares: dict[tuple[str, ...], int], unit: int
) -> int:
    """Divide what is left among queues of one priority; what remains when each has its demand."""
    hungry = [queue for queue in queues if queue.weight > 0 and queue.demand > shares[queue.name]]
    while hungry and left > 0:
        weights = sum(Fraction(queue.weight) for queue in hungry)
        parts = {queue.name: left * Fraction(queue.weight) / weights for queue in hungry}
        sated = [queue for queue in hungry if queue.demand - shares[queue.name] <= parts[queue.name]]
        if not sated:
            return _rounded(left, hungry, parts, shares, unit)
        # What they do not need is divided again among the others.
        for queue in sated:
            left -= queue.demand - shares[queue.name]
            shares[queue.name] = queue.demand
        hungry = [queue for queue in hungry if queue not in sated]
    return left


def _rounded(
    left: int,
    queues: Sequence[Share],
    parts: Mapping[tuple[str, ...], Fraction],
    shares: dict[tuple[str, ...], int],
    unit: int,
) -> int:
    """Grant each queue its part in whole units, and what remains by the largest remainder."""
    granted = {queue.name: int(parts[queue.name] // unit) * unit for queue in queues}
    left -= sum(granted.values())
    for queue in sorted(queues, key=lambda queue: (granted[queue.name] - parts[queue.name], queue.name)):
        more = min(unit, left, queue.demand - shares[queue.name] - granted[queue.name])
        shares[queue.name] += granted[queue.name] + more
        left -= more
    return left


class FairShares:
    """The fair shares of all queues with use or demand, at one moment."""

    def __init__(
        self,
        capacity: Resources,
        accounts: Accounts,
        units: Iterable[Workload],
        waiting: Iterable[PlaceableWorkload],
        binding: Iterable[Verdict] = (),
    ) -> None:
        """Compute them.

        ``capacity`` is what all schedulable nodes have allocatable, whatever is used of it. Usage is what
        ``accounts`` are charged. ``units`` and ``waiting`` name the queues: all units that run or are being
        bound, and those that wait, which also add their open pods to the demand. ``binding`` are the verdicts
        that are being bound: the accounts are charged for their pods, and the demand is what they left out.
        """
        self._accounts = accounts
        self._children: dict[tuple[str, ...], dict[tuple[str, ...], Account]] = {}
        self._asked: dict[tuple[str, ...], Resources] = {}
        self._shares: dict[tuple[tuple[str, ...], str], int] = {}
        roots: dict[tuple[str, ...], Account] = {}
        for workload in units:
            self._note(workload, roots)
        for workload in waiting:
            self._note(workload, roots)
            self._ask(workload, open_demand(workload))
        for verdict in binding:
            self._ask(verdict.workload, _left_out(verdict))
        for root in roots.values():
            for resource in root.quota:
                self._divide(root, resource, capacity.get(resource, 0))

    def of(self, queue: Account, resource: str) -> int:
        """The fair share of a queue; 0 for a queue without use and demand."""
        return self._shares.get((queue.name, resource), 0)

    def _ask(self, workload: PlaceableWorkload, resources: Resources) -> None:
        if workload.accounts:
            queue = workload.accounts[0].name
            self._asked[queue] = self._asked.get(queue, Resources()) + resources

    def _note(self, workload: Workload, roots: dict[tuple[str, ...], Account]) -> None:
        if not workload.accounts:
            return
        around = workload.accounts[0].around
        if not around[0].weights:
            return
        for queue in around:
            if queue.within is None:
                roots[queue.name] = queue
            else:
                self._children.setdefault(queue.within.name, {})[queue.name] = queue

    def _divide(self, parent: Account, resource: str, amount: int) -> None:
        children = self._children.get(parent.name, {})
        if not children:
            return
        shares = [self._share(queue, resource, amount) for queue in children.values()]
        for name, share in divide(amount, shares, UNITS.get(resource, 1)).items():
            self._shares[name, resource] = share
            self._divide(children[name], resource, share)

    def _share(self, queue: Account, resource: str, amount: int) -> Share:
        quota = queue.quota.get(resource, 0)
        demand = self._demand(queue, resource)
        if quota >= NO_LIMIT:
            quota = amount
        return Share(queue.name, quota, demand, queue.weights.get(resource, 0.0), queue.priority)

    def _demand(self, queue: Account, resource: str) -> int:
        """What units use and wait for, at most the limit; the sum of the queues below if there are any."""
        if children := self._children.get(queue.name):
            demand = sum(self._demand(child, resource) for child in children.values())
        else:
            asked = self._asked.get(queue.name, Resources()).get(resource, 0)
            demand = self._accounts.used(queue, resource) + asked
        if resource in queue.borrowing:
            demand = min(demand, queue.quota.get(resource, 0) + queue.borrowing[resource])
        return max(demand, 0)


def open_demand(workload: PlaceableWorkload) -> Resources:
    """What the pods of a workload ask for that have no node."""
    total = Resources()
    for pods in workload.request.root.pod_sets():
        if pods.open:
            total += pods.resources * pods.open
    return total


def _left_out(verdict: Verdict) -> Resources:
    """What the open pods of a workload ask for that its placement leaves out."""
    placed = verdict.outcome.assignments if isinstance(verdict.outcome, Placed) else ()
    counts = Counter(assignment.pod_set for assignment in placed)
    total = Resources()
    for pods in verdict.workload.request.root.pod_sets():
        if (left := pods.open - counts[pods.name]) > 0:
            total += pods.resources * left
    return total
