"""One preemption: a plan for one waiting unit, from the decision until its pods are bound.

| state | event | next | action |
|---|---|---|---|
| Planned | the unit has not changed for ``quiet`` | Planned | report the plan |
| Planned | report stored, budgets allow the whole set | Evicting | write nominations; evict, unit by unit |
| Planned | report stored, a budget does not allow the set | Waiting | evict nothing; release the nomination |
| Planned, Waiting | preemptor or victims changed | (ended) | Changed: the unit is decided again |
| Planned for a budget, Waiting | budgets allow the whole set | (ended) | Changed: the unit is decided again |
| Waiting | eviction deadline | (ended) | BudgetExhausted: back off |
| Evicting | eviction refused for now, or no answer | Evicting | retry it later; go on to no further unit |
| Evicting | eviction refused for good | (ended) | EvictionRefused: back off |
| Evicting | eviction deadline | (ended) | NotEvicted: evict nothing more, back off |
| Evicting | no victim is left to be evicted | Nominated | |
| Nominated | all victims gone | Nominated | try the unit at once |
| Nominated | nomination deadline | (ended) | NotBound: back off |
| any | all pods of the plan bound | (ended) | Bound: the backoff starts anew |
| Nominated | all victims gone, and the unit was tried and not placed | (ended) | NoLongerFits: back off |
| Evicting | a victim that lost no pod yet may not be evicted any more | (ended) | NoLongerFits: back off |
| any | preemptor gone | (ended) | PreemptorGone |
| Evicting, Nominated | nominated capacity was lost or taken | (ended) | NoLongerFits: back off |

Every state has a deadline: ``eviction_deadline`` after the plan for Planned, Waiting and Evicting together,
``nomination_deadline`` and the longest termination grace period after that for Nominated. The placement is
nominated in every state, but not for a plan that waits for a budget, or is going to: nothing is freed for
it, and others may use what is free meanwhile. A plan ends in exactly one of the endings above, and only one
that evicted nothing, or whose unit was bound, ends without a backoff.

Pure: time and what is known of pods are arguments; calls are returned. A plan that frees nothing but what is
being freed already begins in Nominated. ``tests/property/test_preemption_model.py`` explores the
interleavings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Protocol, TypeAlias

import msgspec

from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Assignment, Placed
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.commit import Evict
from closeknit.scheduler.deciding import Verdict
from closeknit.scheduler.preempt.budgets import Budgets
from closeknit.scheduler.preempt.eligibility import Kind
from closeknit.scheduler.preempt.running import BoundPod, Victim

_FIRST_RETRY, _LONGEST_RETRY = 0.5, 10.0
"""Seconds before an eviction is requested again; doubled with each attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long each step may take, in seconds."""

    eviction_deadline: float = 300.0
    """From the plan until its victims are evicted."""
    nomination_deadline: float = 300.0
    """From then until the unit is bound; the longest termination grace period of the victims comes on top."""
    first_backoff: float = 10.0
    """Until the next plan for a unit of which one was given up; doubled with each further failure."""
    longest_backoff: float = 600.0
    quiet: float = 0.5
    """A plan is reported once its unit was unchanged for so long, so that it covers all pods."""
    longest_unrest: float = 5.0
    """A unit that keeps changing is helped after so long all the same."""


class State(Enum):
    """How far a preemption has come."""

    PLANNED = "planned"
    """Its report is being stored."""
    WAITING = "waiting"
    """For a PodDisruptionBudget."""
    EVICTING = "evicting"
    NOMINATED = "nominated"
    """All victims are evicted; the unit waits for the last of them to be gone."""


class Ending(Enum):
    """How a preemption came to its end."""

    BOUND = "bound"
    CHANGED = "changed"
    """The unit or a victim is another than the plan assumed, and no pod was evicted."""
    PREEMPTOR_GONE = "preemptor-gone"
    NOT_REPORTED = "not-reported"
    """The report was not stored before the deadline; without it no pod is evicted."""
    BUDGET_EXHAUSTED = "budget-exhausted"
    EVICTION_REFUSED = "eviction-refused"
    NOT_EVICTED = "not-evicted"
    NOT_BOUND = "not-bound"
    NO_LONGER_FITS = "no-longer-fits"
    """What was nominated cannot be used any more.

    A node was lost, cordoned or moved to another domain, others took the capacity, a victim is protected by
    now, or the unit was tried with everything freed and not placed.
    """

    @property
    def is_failure(self) -> bool:
        """Whether the unit must back off before its next plan."""
        return self not in (Ending.BOUND, Ending.CHANGED, Ending.PREEMPTOR_GONE)


class Plan(msgspec.Struct, frozen=True):
    """Which pods are evicted for a unit, and where it fits then."""

    failed: Verdict
    """The unit as it was decided without the plan."""
    verdict: Verdict
    """The unit as it is placed once the victims are gone; always placed."""
    kind: Kind
    victims: tuple[Victim, ...] = ()
    """In the order in which they are evicted."""
    freeing: tuple[BoundPod, ...] = ()
    """Pods that were being deleted already when the plan was made, and whose capacity it counts on."""
    waits_for: tuple[str, ...] = ()
    """The budgets that did not allow the set when it was chosen, as namespace and name."""
    is_exact: bool = True
    """Whether no better set exists, by the victim order."""

    @property
    def workload(self) -> PlaceableWorkload:
        """The preemptor."""
        return self.failed.workload

    @property
    def key(self) -> Key:
        """The object that asks for the preemptor."""
        return self.workload.object.key

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """The placement of the preemptor's pods that wait."""
        assert isinstance(self.verdict.outcome, Placed)
        return self.verdict.outcome.assignments


class PodStates(Protocol):
    """What is known of pods."""

    def runs(self, pod: BoundPod) -> bool:
        """Whether it is there, holds its node and is not being deleted."""

    def holding_of(self, pod: BoundPod) -> Holding | None:
        """What it holds of its node; None if it is gone or terminal."""

    def grace_period(self, pod: BoundPod) -> float:
        """Its termination grace period in seconds."""


class Evicted(msgspec.Struct, frozen=True):
    """The eviction of a pod was accepted."""

    victim: Victim
    pod: BoundPod
    first: bool
    """Whether it is the first pod of its unit."""


class Announced(msgspec.Struct, frozen=True):
    """The plan is to be reported now."""


class Began(msgspec.Struct, frozen=True):
    """The first eviction is about to be requested."""


class AllEvicted(msgspec.Struct, frozen=True):
    """No victim is left to be evicted, so that the victims may be decided again."""


class Freed(msgspec.Struct, frozen=True):
    """Every victim is gone, so that the unit fits now."""


class Waits(msgspec.Struct, frozen=True):
    """A budget does not allow the evictions any more, so what was nominated is released meanwhile."""


Step: TypeAlias = Announced | Evict | Evicted | Began | AllEvicted | Freed | Waits | Ending


@dataclass(slots=True)
class _Attempts:
    tries: int = 0
    """How often the eviction was requested."""
    at: float = -inf
    """When it may be requested again; infinite while an answer is awaited."""


@dataclass(slots=True)
class Preemption:
    """A plan and how far it has come."""

    plan: Plan
    limits: Limits
    deadline: float
    announce_at: float = -inf
    """When the plan is reported."""
    state: State = State.PLANNED
    announced: bool = False
    reported: bool = False
    evicted: dict[Key, None] = field(default_factory=dict)
    """Pods whose eviction was accepted."""
    freed: bool = False
    """Whether the unit was activated because every victim is gone."""
    in_vain: bool = False
    """Whether the unit was tried after that and not placed, so that what is nominated does not help it."""
    _attempts: dict[Key, _Attempts] = field(default_factory=dict)

    @classmethod
    def begun(
        cls, plan: Plan, limits: Limits, pods: PodStates, now: float, announce_at: float = -inf
    ) -> Preemption:
        """A new preemption; one without victims is nominated at once."""
        made = cls(plan, limits, now + limits.eviction_deadline, announce_at)
        if not plan.victims:
            made._nominate(pods, now)
        return made

    @property
    def has_begun(self) -> bool:
        """Whether an eviction was requested, so that the plan outlives changes of its preemptor."""
        return self.state in (State.EVICTING, State.NOMINATED)

    @property
    def nominates(self) -> bool:
        """Whether its victims count as leaving, and the placement is kept free for the preemptor.

        A plan that waits for a budget may never begin.
        """
        return self.has_begun or (self.state is State.PLANNED and not self.plan.waits_for)

    @property
    def is_announced(self) -> bool:
        """Whether the plan is, or is to be, in the report of its unit."""
        return self.announced or self.has_begun

    @property
    def pods_to_evict(self) -> Iterator[BoundPod]:
        """The pods of all victims."""
        return (pod for victim in self.plan.victims for pod in victim.pods)

    def requested(self) -> Iterator[BoundPod]:
        """Pods whose eviction was requested and not answered yet."""
        for pod in self.pods_to_evict:
            attempts = self._attempts.get(pod.key)
            if attempts is not None and attempts.at == inf and pod.key not in self.evicted:
                yield pod

    def victims_left(self) -> Iterator[Key]:
        """Units that must not be decided, because their pods are being evicted."""
        if self.state is State.EVICTING:
            yield from (victim.unit.workload.object.key for victim in self.plan.victims)

    def next_time(self) -> float:
        """When it is to be advanced though nothing happens."""
        if self.in_vain:
            return -inf
        times = [self.deadline, *(attempts.at for attempts in self._attempts.values())]
        if self.state is State.PLANNED and not self.announced:
            times.append(self.announce_at)
        return min(times)

    def advance(
        self, pods: PodStates, budgets: Budgets, in_flight: Sequence[BoundPod], now: float
    ) -> list[Step]:
        """Go as far as what is known allows; what follows, in order. An ending is the last of it."""
        steps: list[Step] = []
        if self.state is State.PLANNED and not self.announced and now >= self.announce_at:
            self.announced = True
            steps.append(Announced())
        if self.state in (State.PLANNED, State.WAITING) and self.reported:
            has_room = budgets.room_for(self.pods_to_evict, in_flight)
            if has_room and not self.nominates:
                # Others may have taken since what the plan counts on.
                return [*steps, Ending.CHANGED]
            if has_room:
                self.state = State.EVICTING
                steps.append(Began())
            else:
                if self.nominates:
                    steps.append(Waits())
                self.state = State.WAITING
        if self.state is State.EVICTING:
            steps += self._evict(pods, now)
        if self.state is State.NOMINATED and not self.freed and not any(self.holding_back(pods)):
            self.freed = True
            steps.append(Freed())
        if now >= self.deadline:
            steps = [step for step in steps if not isinstance(step, Evict)]
            steps.append(self._overdue())
        return steps

    def answered(self, pod: Key, answer: Answer, now: float) -> list[Step]:
        """A request to evict a pod was answered."""
        attempts = self._attempts.get(pod)
        if attempts is None or self.state is not State.EVICTING:
            return []
        if answer is Answer.REFUSED:
            return [Ending.EVICTION_REFUSED]
        if answer in (Answer.LATER, Answer.LOST):
            attempts.at = now + min(_FIRST_RETRY * 2 ** min(attempts.tries - 1, 10), _LONGEST_RETRY)
            return []
        # Done, or another pod of its name: the one that was meant is gone or on its way out.
        return self._accepted(pod)

    def holding_back(self, pods: PodStates) -> Iterator[tuple[BoundPod, Holding]]:
        """Pods whose capacity the plan counts on and which still hold it, with what they hold."""
        for pod in (*self.pods_to_evict, *self.plan.freeing):
            if (holding := pods.holding_of(pod)) is not None:
                yield pod, holding

    def describe(self, now: float) -> tuple[object, ...]:
        """How far it has come, as a value that distinguishes two moments."""
        attempts = ((pod, each.tries, each.at - now) for pod, each in sorted(self._attempts.items()))
        return (
            self.plan.key,
            self.state.value,
            (self.announced, max(self.announce_at - now, 0.0), self.reported, self.freed),
            self.deadline - now,
            tuple(self.evicted),
            tuple(attempts),
        )

    def _evict(self, pods: PodStates, now: float) -> Iterator[Step]:
        for victim in self.plan.victims:
            left = [pod for pod in victim.pods if pod.key not in self.evicted and pods.runs(pod)]
            for pod in victim.pods:
                if pod not in left and pod.key in self._attempts and pod.key not in self.evicted:
                    # The watch was faster than the answer.
                    yield from self._accepted(pod.key)
            for pod in left:
                attempts = self._attempts.setdefault(pod.key, _Attempts())
                if attempts.at <= now:
                    attempts.tries, attempts.at = attempts.tries + 1, inf
                    yield Evict(pod.key, pod.uid)
            if left:
                # No further unit is broken while one is refused.
                return
        self._nominate(pods, now)
        yield AllEvicted()

    def _accepted(self, key: Key) -> list[Step]:
        self._attempts[key].at = inf
        if key in self.evicted:
            return []
        victim, pod = next(
            (victim, pod) for victim in self.plan.victims for pod in victim.pods if pod.key == key
        )
        first = not any(pod.key in self.evicted for pod in victim.pods)
        self.evicted[key] = None
        return [Evicted(victim, pod, first)]

    def _nominate(self, pods: PodStates, now: float) -> None:
        self.state = State.NOMINATED
        self._attempts.clear()
        leaving = (*self.pods_to_evict, *self.plan.freeing)
        grace = max((pods.grace_period(pod) for pod in leaving), default=0.0)
        self.deadline = now + self.limits.nomination_deadline + grace

    def _overdue(self) -> Ending:
        match self.state:
            case State.PLANNED:
                return Ending.NOT_REPORTED
            case State.WAITING:
                return Ending.BUDGET_EXHAUSTED
            case State.EVICTING:
                return Ending.NOT_EVICTED
            case State.NOMINATED:
                return Ending.NOT_BOUND
