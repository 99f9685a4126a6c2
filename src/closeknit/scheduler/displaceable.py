"""Who may be displaced for whom: by priority within a queue, by quota between queues.

Within a queue, and among units without one, a unit may displace those of lower priority. Between queues,
priority counts for nothing: a queue may take back what another one uses beyond its quota, as long as it stays
within its own, or is less far beyond it than the other one, each by its weight. Compared are the two queues
right below the queue that both lie in, and the most important resource that is asked for. Nobody is displaced
who is not preemptible, or for whoever does not preempt, or who has not run as long as its queue promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from closeknit.hub.accounts import Accounts
from closeknit.hub.quota import Account
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.fairness import lane
from closeknit.scheduler.metering import least_cost, metered


@dataclass(frozen=True, slots=True)
class Running:
    """A unit that has nodes."""

    workload: Workload
    holder: str
    """The name under which the engine knows what it holds."""
    pods: int
    since: float
    """When it began to run, its youngest pod included."""
    nodes: frozenset[str]

    def lost(self, now: float) -> float:
        """Seconds of work of all its pods that would have to be done again."""
        return max(now - self.since, 0.0) * self.pods


def displaceable_from(workload: PlaceableWorkload, victim: Workload, since: float) -> float:
    """From when on a unit that runs since a time may be displaced for a workload; infinity for never.

    That is what the two of them say; quotas may say otherwise.
    """
    if not workload.preempts or not victim.preemptible or victim.object == workload.object:
        return inf
    if lane(victim) == lane(workload):
        return since + _preempt_after(victim) if victim.priority < workload.priority else inf
    if not victim.accounts or not workload.accounts:
        return inf
    return since + _reclaim_after(_sides(workload, victim)[1])


def may_displace(workload: PlaceableWorkload, victims: Sequence[Running], accounts: Accounts) -> bool:
    """Whether quotas allow a workload to displace all these units, each of which is displaceable."""
    by_queue: dict[tuple[str, ...], list[Running]] = {}
    sides: dict[tuple[str, ...], tuple[Account, Account]] = {}
    for each in victims:
        if lane(each.workload) != lane(workload):
            own, other = _sides(workload, each.workload)
            by_queue.setdefault(other.name, []).append(each)
            sides[other.name] = (own, other)
    for queue, here in by_queue.items():
        own, other = sides[queue]
        cost = least_cost(workload)
        asked = cost.charges[0].resources
        name = next((each for each in own.weights if each in asked), None)
        if name is None:
            return False
        amounts = [_amount(each, name) for each in here]
        used = accounts.used(other, name)
        # The queue must be beyond its quota until the last of them leaves.
        if used - (sum(amounts) - max(amounts)) <= other.quota.get(name, 0):
            return False
        freed = sum(_amount(each, name) for each in victims if _lies_in(each.workload, own))
        after = accounts.used(own, name, cost.request.name) + asked[name] - freed
        theirs = _beyond(other, name, used - sum(amounts))
        if after > own.quota.get(name, 0) and _beyond(own, name, after) >= theirs:
            return False
    return True


def _amount(running: Running, name: str) -> int:
    if not isinstance(running.workload, PlaceableWorkload):
        return 0
    return metered(running.workload).charges[0].resources.get(name, 0)


def _beyond(account: Account, name: str, used: int) -> float:
    """How far beyond its quota an account is, for its weight."""
    more, weight = used - account.quota.get(name, 0), account.weights.get(name, 0.0)
    return 0.0 if more <= 0 else more / weight if weight else inf


def _lies_in(workload: Workload, account: Account) -> bool:
    return bool(workload.accounts) and account in workload.accounts[0].around


def _sides(workload: Workload, victim: Workload) -> tuple[Account, Account]:
    """The accounts of the two, each right below the innermost one that both lie in."""
    ours, theirs = workload.accounts[0].around[::-1], victim.accounts[0].around[::-1]
    apart = next(
        (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a.name != b.name),
        min(len(ours), len(theirs)) - 1,
    )
    return ours[apart], theirs[apart]


def _preempt_after(victim: Workload) -> float:
    """How long a unit runs before others of its queue may displace it: the innermost queue that says so."""
    around = victim.accounts[0].around if victim.accounts else ()
    return next((each.preempt_after for each in around if each.preempt_after is not None), 0.0)


def _reclaim_after(side: Account) -> float:
    """The same for other queues: what the queue right below the common one says, or one above it."""
    return next((each.reclaim_after for each in side.around if each.reclaim_after is not None), 0.0)
