"""Which running units a waiting unit may take pods from, and since when.

| relation | kind | needed | minimum run time |
|---|---|---|---|
| same lane | preempt | lower priority | ``preemptMinRuntime`` of the nearest queue upwards |
| other lane, both with a queue | reclaim | see ``reclaim`` | ``reclaimMinRuntime`` below the common queue |
| one with a queue, one without | never | | |

A unit that has not run for its minimum run time may still lose surplus. A single pod is a unit like any
other. Quotas, fair shares and budgets are asked about sets of pods, elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TypeAlias

from closeknit.hub.quota import Account
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.fairness import lane
from closeknit.scheduler.preempt.running import RunningUnit


class Kind(Enum):
    """By which right capacity is taken."""

    FREED = "freed"
    """It is being freed already: nobody is evicted."""
    RECLAIM = "reclaim"
    """From a queue that uses more than its share."""
    PREEMPT = "preempt"
    """From units of lower priority in the same lane."""


class Ineligible(Enum):
    """Why no pod of a unit may be evicted for another one, whatever the time."""

    NEVER_PREEMPTS = "the waiting unit has preemptionPolicy Never"
    SAME_UNIT = "it is the waiting unit itself"
    BEING_BOUND = "it is being bound"
    NOT_PREEMPTIBLE = "it is not preemptible"
    NOT_LOWER = "its priority is not lower"
    ONE_WITHOUT_QUEUE = "only one of the two has a queue"


@dataclass(frozen=True, slots=True)
class Eligible:
    """Pods of a unit may be evicted for another one."""

    kind: Kind
    whole_from: float
    """From when on the whole unit may be; surplus may be at any time."""


Eligibility: TypeAlias = Eligible | Ineligible


def eligibility(workload: PlaceableWorkload, unit: RunningUnit) -> Eligibility:
    """Whether pods of a running unit may be evicted for a waiting one."""
    victim = unit.workload
    if not workload.preempts:
        return Ineligible.NEVER_PREEMPTS
    if victim.object == workload.object:
        return Ineligible.SAME_UNIT
    if unit.being_bound:
        return Ineligible.BEING_BOUND
    if not victim.preemptible:
        return Ineligible.NOT_PREEMPTIBLE
    if lane(victim) == lane(workload):
        if victim.priority >= workload.priority:
            return Ineligible.NOT_LOWER
        return Eligible(Kind.PREEMPT, unit.runs_since + _preempt_min_runtime(victim))
    if not victim.accounts or not workload.accounts:
        return Ineligible.ONE_WITHOUT_QUEUE
    return Eligible(Kind.RECLAIM, unit.runs_since + _reclaim_min_runtime(sides(workload, victim)[1]))


def may_preempt_from(workload: PlaceableWorkload, waits_since: float) -> float:
    """From when on others may be evicted for a unit; infinity for never.

    ``waits_since`` is its creation or, if it was evicted, its eviction, on the scheduler's clock.
    """
    return waits_since + workload.preemption_delay if workload.preempts else inf


def retry_at(workload: PlaceableWorkload, units: Iterable[RunningUnit], now: float) -> float:
    """The first time after ``now`` at which another unit may be evicted whole; infinity for never."""
    return min(
        (
            verdict.whole_from
            for unit in units
            if isinstance(verdict := eligibility(workload, unit), Eligible) and verdict.whole_from > now
        ),
        default=inf,
    )


def sides(workload: Workload, victim: Workload) -> tuple[Account, Account]:
    """The accounts of a waiting unit and of a victim, right below the innermost one that both lie in."""
    ours, theirs = workload.accounts[0].around[::-1], victim.accounts[0].around[::-1]
    apart = next(
        (
            depth
            for depth, (own, other) in enumerate(zip(ours, theirs, strict=False))
            if own.name != other.name
        ),
        min(len(ours), len(theirs)) - 1,
    )
    return ours[apart], theirs[apart]


def _preempt_min_runtime(victim: Workload) -> float:
    around = victim.accounts[0].around if victim.accounts else ()
    return next((queue.preempt_after for queue in around if queue.preempt_after is not None), 0.0)


def _reclaim_min_runtime(side: Account) -> float:
    return next((queue.reclaim_after for queue in side.around if queue.reclaim_after is not None), 0.0)
