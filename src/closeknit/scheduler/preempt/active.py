"""All preemptions that are under way: who is considered, what is nominated, and how each one goes on.

The core reports what it sees and does what is returned; ``preemptions`` is the state machine of one plan,
``candidates`` decides which unit is considered next, ``victims`` which pods are evicted for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple, Protocol

from closeknit.engine import Engine
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Assignment, Placed, Unplaceable
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.commit import Nominate
from closeknit.scheduler.deciding import Verdict
from closeknit.scheduler.fairness import lane
from closeknit.scheduler.needs import satisfied
from closeknit.scheduler.portions import minimum
from closeknit.scheduler.preempt.budgets import Budgets
from closeknit.scheduler.preempt.candidates import PAUSE, Candidates
from closeknit.scheduler.preempt.eligibility import Kind, may_preempt_from
from closeknit.scheduler.preempt.nominated_nodes import NominatedNodes, NominatedPod
from closeknit.scheduler.preempt.nominations import (
    held,
    kept_on_nodes,
    left_to_bind,
    with_replacements,
)
from closeknit.scheduler.preempt.preemptions import (
    Ending,
    Evicted,
    Limits,
    Plan,
    PodStates,
    Preemption,
    State,
    Step,
    Waits,
)
from closeknit.scheduler.preempt.running import BoundPod, RunningUnit, Victim
from closeknit.scheduler.preempt.victims import NoVictims, VictimSet
from closeknit.scheduler.waiting import next_unit

Choose = Callable[..., VictimSet | NoVictims]


class ClusterView(PodStates, Protocol):
    """What is known of a cluster."""

    @property
    def engine(self) -> Engine:
        """Holds what every pod with a node holds."""

    @property
    def topologies(self) -> Cluster:
        """The topologies."""

    @property
    def units(self) -> Mapping[Key, Workload]:
        """Everything to schedule."""

    def node_of(self, pod: Key) -> str | None:
        """The node of a pod, empty while it waits; None if there is no such pod, or it is being deleted."""

    def uid_of(self, pod: Key) -> str:
        """The uid of a pod that is there."""

    def created(self, unit: Workload, now: float) -> float:
        """When a unit was created, on the scheduler's clock."""

    def bound_pod(self, pod: Key, group: str, now: float) -> BoundPod | None:
        """A pod that holds its node and is not being deleted."""

    def has_node(self, name: str) -> bool:
        """Whether there is such a node."""

    def leaving_pods(self, now: float) -> Iterable[BoundPod]:
        """Pods that are being deleted and still hold their node."""

    def holder(self, unit: Workload) -> str:
        """The name under which the pods of a unit hold something."""

    def lone_units(self, now: float, below: int) -> Iterator[RunningUnit]:
        """Single pods of ours that run, of a lower priority than this."""

    def budgets(self) -> Budgets:
        """All PodDisruptionBudgets."""

    @property
    def budgets_version(self) -> int:
        """Changes whenever a budget does."""

    def charge_nomination(self, pod: Key, holding: Holding | None) -> None:
        """Count what is nominated for a pod as usage of its unit's queue, None to release it."""

    def without_usage(self, pods: Iterable[Key]) -> AbstractContextManager[None]:
        """Decide as if these pods, or what is nominated for them, used no quota."""

    @property
    def accounts(self) -> Accounts:
        """What every queue uses."""


class StepOf(NamedTuple):
    """Something that follows for a plan."""

    preemption: Preemption
    step: Step


@dataclass(slots=True)
class _Nomination:
    """What is kept for the unit of a plan."""

    workload: PlaceableWorkload
    """The unit as it was when the plan was made or extended."""
    assignments: tuple[Assignment, ...]
    has_victims: bool
    """Whether pods were, or are to be, evicted for it; else it uses what others free anyway."""
    restored: bool = False
    """Whether it was read from pods at the start: then the plan is not known any more."""
    charged: dict[Key, Holding] = field(default_factory=dict)


_REST_OF_AN_ENDED_SEARCH = 10.0
"""Seconds until victims are chosen again for a unit for which that was ended because others waited."""


class Preemptions:
    """All plans, and the units that may get one."""

    def __init__(self, state: ClusterView, limits: Limits, choose: Choose, *, enabled: bool = True) -> None:
        self._state = state
        self._limits = limits
        self._choose = choose
        self._enabled = enabled
        self.candidates = Candidates(limits)
        self._active: dict[Key, Preemption] = {}
        self._nominations: dict[Key, _Nomination] = {}
        self._running: dict[Key, Workload] = {}
        """Units of which pods have nodes."""
        self._running_pods = 0
        self._unseen: dict[Key, tuple[BoundPod, int]] = {}
        """Pods whose eviction was accepted, and the version of the budgets that cannot count it yet."""
        self._refused_at: dict[str, float] = {}
        """By uid of a pod that was not evicted (refused, or no answer until the deadline), when that was.

        The oldest come first.
        """
        self._accepted: dict[str, BoundPod] = {}
        """By uid, pods whose eviction was accepted and that still hold their node."""
        self._evicted_at: dict[Key, float] = {}
        """By unit that was evicted, when that was."""
        self._nodes = NominatedNodes()
        self._restorable: dict[Key, NominatedPod] | None = None
        """Nominated nodes that were found in pods at the start; None before the first look."""
        self._restorable_until = inf
        """When those are forgotten that no unit took up, because its pods do not all exist."""
        self._budgets_seen = -1

    def __bool__(self) -> bool:
        """Whether a plan is under way."""
        return bool(self._active)

    # ----------------------------------------------------------------------------------------- questions

    def under_way(self) -> Iterable[Preemption]:
        """All preemptions that have not ended."""
        return self._active.values()

    def is_kept(self, key: Key) -> bool:
        """Whether what is nominated for a unit is there, once the pods that leave are gone."""
        return self._fits(key)

    def preemption_of(self, key: Key) -> Preemption | None:
        """The preemption for a unit that has not ended."""
        return self._active.get(key)

    def plan_of(self, key: Key) -> Plan | None:
        """The plan for a unit."""
        preemption = self._active.get(key)
        return preemption.plan if preemption is not None else None

    def plans_surplus(self, key: Key) -> bool:
        """Whether the plan for a unit has capacity for more than the minimum that the unit lacks."""
        preemption = self._active.get(key)
        if preemption is None:
            return False
        plan, outcome = preemption.plan, preemption.plan.verdict.outcome
        assert isinstance(outcome, Placed)
        return len(minimum(plan.workload.request, outcome)) < len(outcome.assignments)

    def announced_plan_of(self, key: Key) -> Plan | None:
        """The plan for a unit, once it is to be reported."""
        preemption = self._active.get(key)
        return preemption.plan if preemption is not None and preemption.is_announced else None

    def is_victim(self, key: Key) -> bool:
        """Whether a unit must not be decided, because its pods are being evicted."""
        return bool(self._active) and any(key in each.victims_left() for each in self._active.values())

    def must_wait(self, workload: PlaceableWorkload, outcome: Placed) -> bool:
        """Whether a placement is not worth taking yet: more pods fit as soon as the victims are gone.

        A part of an elastic unit could pin its domain to another one than that of the plan.
        """
        preemption = self._active.get(workload.object.key)
        if preemption is None or not preemption.has_begun or preemption.freed:
            return False
        return len(outcome.assignments) < len(self._left(workload.object.key))

    def kept_from(self, workload: PlaceableWorkload) -> list[Holding]:
        """What a unit must leave free, because it is nominated for others."""
        return [
            holding
            for key in self._active
            if self._precedes(key, workload)
            for holding in self._kept(key, leaving_gone=False)
        ]

    def units_kept_for(self, workload: PlaceableWorkload) -> tuple[str, ...]:
        """The units for which capacity is nominated that a unit must leave free."""
        return tuple(
            sorted(
                self._nominations[key].workload.request.name
                for key in self._active
                if self._precedes(key, workload)
            )
        )

    def is_outranking(self, workload: PlaceableWorkload) -> bool:
        """Whether a unit may take capacity that is nominated for another one."""
        return any(
            key != workload.object.key and preemption.nominates and not self._precedes(key, workload)
            for key, preemption in self._active.items()
        )

    def next_time(self) -> float:
        """When something is due though nothing happens; infinity if nothing is."""
        times = [self.candidates.next_time() if self._enabled else inf]
        times += (preemption.next_time() for preemption in self._active.values())
        return min(times)

    # ------------------------------------------------------------------------------------------- changes

    def saw(self, key: Key, workload: Workload | None, now: float) -> None:
        """Note what a unit is by now; None if it is gone."""
        before = self._running.get(key)
        has = workload is not None and bool(workload.running)
        if before is not None or has:
            self._running_pods += (len(workload.running) if workload is not None else 0) - (
                len(before.running) if before is not None else 0
            )
            if workload is not None and has:
                self._running[key] = workload
            else:
                del self._running[key]
            if before is None or workload is None or _matters(before) != _matters(workload):
                self.candidates.something_changed()
        if workload is None:
            self._evicted_at.pop(key, None)
            if key not in self._active:
                self.candidates.forget(key)
        if self._restorable and now >= self._restorable_until:
            self._restorable.clear()
        if self._restorable and isinstance(workload, PlaceableWorkload):
            self._restore(workload, now)
        nomination = self._nominations.get(key)
        if nomination is not None and isinstance(workload, PlaceableWorkload):
            nomination.assignments = with_replacements(
                nomination.assignments, workload.request, lambda name: self._exists(key, name)
            )

    def started(self, nominated: Mapping[Key, str], now: float) -> None:
        """The first look is about to begin: these pods have a nominated node from an earlier scheduler."""
        if self._restorable is None:
            self._restorable = {
                pod: NominatedPod(self._state.uid_of(pod), node) for pod, node in nominated.items()
            }
            self._restorable_until = now + self._limits.nomination_deadline
            for pod, node in nominated.items():
                self._nodes.found(pod, self._state.uid_of(pod), node)

    def failed(self, verdict: Verdict, now: float) -> bool:
        """A unit was tried and not placed, or got no more pods; whether it may be considered at once."""
        workload = verdict.workload
        if not self._enabled or not workload.preempts or not _may_be_helped(verdict):
            return False
        key = workload.object.key
        if key in self._active:
            nomination, preemption = self._nominations[key], self._active[key]
            unchanged = nomination.restored or nomination.workload == workload
            if not preemption.has_begun or unchanged:
                preemption.in_vain = preemption.freed
                return False
        not_before = now
        if workload.preemption_delay:
            since = self._evicted_at.get(key, self._state.created(workload, now))
            not_before = may_preempt_from(workload, since)
        return self.candidates.failed(verdict, not_before, now)

    def waits_no_longer(self, key: Key, *, bound: bool) -> None:
        """A unit has no pods that wait; ``bound`` if all that it needs have nodes."""
        if key in self._active:
            return
        if bound:
            self.candidates.forget(key)
        else:
            self.candidates.drop(key)

    def was_evicted(self, key: Key, now: float) -> None:
        """A unit was evicted: its preemption delay begins anew."""
        self._evicted_at[key] = now

    # ----------------------------------------------------------------------------------------- considering

    def candidates_now(self, now: float, but: AbstractSet[Key]) -> list[PlaceableWorkload]:
        """The first unit of every lane that may be considered now, without some."""
        return self.candidates.firsts(now, but) if self._enabled else []

    def consider(
        self,
        key: Key,
        choosing: Callable[[PlaceableWorkload], Mapping[str, Any]],
        is_binding: Callable[[Key], bool],
        kept: Callable[[PlaceableWorkload], Sequence[Holding]],
        now: float,
        *,
        had_to_end: Callable[[], bool] = lambda: False,
    ) -> Preemption | None:
        """Make a plan for one of ``candidates_now``, if any set of victims helps it.

        ``choosing`` returns further arguments of ``choose_victims``, ``kept`` what is reserved for others,
        ``had_to_end`` whether the search was ended because others wait: its result is then not used.
        """
        self._forget_refusals(now)
        self._accepted = {
            uid: pod for uid, pod in self._accepted.items() if self._state.holding_of(pod) is not None
        }
        verdict = self.candidates.take(key, self._running_pods, now)
        workload = verdict.workload
        own = self._active.get(key)
        if own is not None and any(own.requested()):
            # Whether these pods leave is known in a moment.
            self.candidates.rest(verdict, now + PAUSE, now)
            return None
        evicted = [pod for pod in self._being_evicted(key) if self._state.runs(pod)]
        leaving = [*self._state.leaving_pods(now), *evicted]
        gone = {pod.key for pod in evicted}
        running = list(self._running_units(workload, gone, is_binding, now))
        if not running and not leaving:
            self._rest(verdict, inf, now)
            return None
        more = choosing(workload)
        # Pods that other plans evict are gone in all questions, and so is the usage of their queues.
        with self._state.without_usage(gone):
            chosen = self._choose(
                self._state.engine,
                self._state.topologies,
                workload,
                running,
                now=now,
                budgets=self._state.budgets().without(self._refused_at.keys()),
                leaving=[pod.holding for pod in leaving],
                nominated_for_others=[*kept(workload), *self._nominated_for_others(workload)],
                in_flight=self._in_flight(),
                resumed=own is not None and self._nominations[key].has_victims,
                **more,
            )
        self.candidates.spent(chosen.trials)
        if had_to_end():
            self.candidates.rest(verdict, now + _REST_OF_AN_ENDED_SEARCH, now)
            return None
        if isinstance(chosen, NoVictims):
            self._rest(verdict, chosen.retry_at, now)
            return None
        return self._begin(verdict, chosen, leaving, now)

    def _rest(self, verdict: Verdict, retry_at: float, now: float) -> None:
        """No set of victims helps a unit now, nor what was freed for it."""
        self.candidates.rest(verdict, retry_at, now)
        if (own := self._active.get(verdict.workload.object.key)) is not None:
            own.in_vain = own.freed

    def _begin(
        self, verdict: Verdict, chosen: VictimSet, leaving: Sequence[BoundPod], now: float
    ) -> Preemption:
        workload, key = verdict.workload, verdict.workload.object.key
        assert isinstance(chosen.verdict.outcome, Placed)
        nodes = {assignment.node for assignment in chosen.verdict.outcome.assignments}
        plan = Plan(
            verdict,
            chosen.verdict,
            chosen.kind,
            chosen.victims,
            tuple(pod for pod in leaving if pod.node in nodes),
            tuple(f"{budget.namespace}/{budget.name}" for budget in chosen.waits_for),
            chosen.exact,
        )
        quiet = self.candidates.quiet_at(key)
        self.candidates.planned(key)
        before = self._nominations.get(key)
        has_victims = bool(plan.victims) or (before is not None and before.has_victims)
        self._release(key)
        preemption = self._active[key] = Preemption.begun(plan, self._limits, self._state, now, quiet)
        self._nominations[key] = _Nomination(workload, plan.assignments, has_victims)
        self._charge(key)
        if plan.victims:
            # What it frees may also help units for which no set of victims did.
            self.candidates.something_changed()
        return preemption

    # ------------------------------------------------------------------------------------------- advancing

    def advance(self, is_binding: Callable[[Key], bool], now: float) -> list[StepOf]:
        """Let every plan go on; what follows, in order. Plans that end are forgotten."""
        if not self._active:
            if self._state.budgets_version != self._budgets_seen:
                self._budgets_seen = self._state.budgets_version
                self.candidates.something_changed()
            return []
        steps: list[StepOf] = []
        budgets = self._state.budgets()
        if self._state.budgets_version != self._budgets_seen:
            self._budgets_seen = self._state.budgets_version
            self.candidates.something_changed()
        for key, preemption in list(self._active.items()):
            if not self._left(key) and is_binding(key):
                continue
            if (ending := self._ending_of(key, is_binding)) is not None:
                steps.append(self._end(preemption, ending, now))
                continue
            following = preemption.advance(self._state, budgets, self._in_flight(), now)
            steps.extend(self._taken(preemption, step, now) for step in following)
        if any(isinstance(step.step, Ending | Waits) for step in steps):
            # Other plans may count on pods that these were about to evict.
            steps += self.check_fits(now)
        for key in self._active:
            self._charge(key)
        return steps

    def stored(self, plan: Plan) -> None:
        """The report of a plan was stored: its victims may be evicted."""
        preemption = self._active.get(plan.key)
        if preemption is not None and preemption.plan is plan:
            preemption.reported = True

    def eviction_answered(self, pod: Key, answer: Answer, now: float) -> list[StepOf]:
        """A request to evict a pod was answered."""
        if answer is Answer.REFUSED:
            for preemption in self._active.values():
                self._refused_at |= {
                    victim.uid: now for victim in preemption.requested() if victim.key == pod
                }
        return [
            self._taken(preemption, step, now)
            for preemption in list(self._active.values())
            for step in preemption.answered(pod, answer, now)
        ]

    def check_fits(self, now: float) -> list[StepOf]:
        """End plans whose placement has become impossible, and then those that count on their victims."""
        steps: list[StepOf] = []
        while ended := [
            self._end(preemption, self._no_longer_fits(key), now)
            for key, preemption in list(self._active.items())
            if not self._fits(key)
        ]:
            steps += ended
        return steps

    def _no_longer_fits(self, key: Key) -> Ending:
        """How a plan ends that does not fit: with a backoff only if pods were evicted for it, as is known."""
        nomination = self._nominations[key]
        lost = self._active[key].has_begun and nomination.has_victims and not nomination.restored
        return Ending.NO_LONGER_FITS if lost else Ending.CHANGED

    def nominations_to_write(self) -> Iterator[Nominate]:
        """Calls that write nominated nodes into the status of pods, or clear them."""
        # Those of incomplete units stay until their pods are there, or the deadline has passed.
        wanted = {
            pod: nominated
            for pod, nominated in (self._restorable or {}).items()
            if self._state.node_of(pod) == "" and self._state.uid_of(pod) == nominated.uid
        }
        for key, preemption in self._active.items():
            if preemption.has_begun:
                for assignment in self._left(key):
                    pod = self._pod_key(key, assignment.pod)
                    if self._state.node_of(pod) == "":
                        wanted[pod] = NominatedPod(self._state.uid_of(pod), assignment.node)
        yield from self._nodes.calls(
            wanted, lambda pod, uid: self._state.node_of(pod) == "" and self._state.uid_of(pod) == uid
        )

    def nomination_answered(self, call: Nominate, answer: Answer) -> tuple[Nominate, int] | None:
        """A write of a nominated node was answered; what to send next."""
        return self._nodes.answered(call, answer)

    def uncharged(self, workload: PlaceableWorkload) -> AbstractContextManager[None]:
        """Let a unit be decided without the usage that is nominated for units that it precedes."""
        return self._state.without_usage(
            pod
            for key, nomination in self._nominations.items()
            if key != workload.object.key and not self._precedes(key, workload)
            for pod in nomination.charged
        )

    def nominated_pods(self) -> Iterator[Key]:
        """The names under which nominations are charged to queues."""
        return (pod for nomination in self._nominations.values() for pod in nomination.charged)

    def recharge(self, key: Key) -> None:
        """Pods of a unit were assumed: what is nominated for them is not charged on top."""
        if key in self._active:
            self._charge(key)

    def describe(self, now: float) -> tuple[object, ...]:
        """All plans, as a value that distinguishes two moments."""
        return (
            tuple(preemption.describe(now) for preemption in self._active.values()),
            tuple((key, nomination.assignments) for key, nomination in sorted(self._nominations.items())),
            self.candidates.describe(now),
            self._nodes.describe(),
        )

    # -------------------------------------------------------------------------------------------- inside

    def _precedes(self, key: Key, workload: PlaceableWorkload) -> bool:
        """Whether a unit must leave free what is nominated for another one."""
        if key == workload.object.key or not self._active[key].nominates:
            return False
        nominee, own = self._nominations[key].workload, self._nominations.get(workload.object.key)
        if not self._nominations[key].has_victims:
            if own is not None and own.has_victims:
                # What was freed for a unit is kept for it first.
                return False
            return next_unit([nominee, workload], self._state.accounts) is nominee
        if lane(nominee) != lane(workload) or workload.priority <= nominee.priority:
            return True
        # Minimum before surplus: priority comes later in the queue order.
        return satisfied(workload.request.root) and not satisfied(nominee.request.root)

    def _nominated_for_others(self, workload: PlaceableWorkload) -> Iterator[Holding]:
        for key in self._active:
            if self._precedes(key, workload):
                yield from self._kept(key, leaving_gone=True)

    def _kept(self, key: Key, *, leaving_gone: bool) -> list[Holding]:
        """What is kept for a unit on each node, beside what its victims still hold.

        ``leaving_gone``: as it is once all pods that leave are gone.
        """
        held_by_victims = () if leaving_gone else self._active[key].holding_back(self._state)
        return kept_on_nodes(
            self._nominations[key].workload.request,
            self._left(key),
            (holding for _, holding in held_by_victims),
        )

    def _left(self, key: Key) -> tuple[Assignment, ...]:
        nomination = self._nominations[key]
        return left_to_bind(
            nomination.assignments, lambda name: self._state.node_of(self._pod_key(key, name))
        )

    def _pod_key(self, unit: Key, name: str) -> Key:
        return Key("", "Pod", unit.namespace, name)

    def _exists(self, unit: Key, name: str) -> bool:
        return self._state.node_of(self._pod_key(unit, name)) is not None

    def _fits(self, key: Key) -> bool:
        """Whether the nominated capacity is there once the victims are gone, in the domains of the plan."""
        engine, nomination = self._state.engine, self._nominations[key]
        if any(self._has_moved(nomination.workload, assignment) for assignment in self._left(key)):
            return False
        sets = {pods.name: pods for pods in nomination.workload.request.root.pod_sets()}
        with engine.fork():
            for pod, holding in self._active[key].holding_back(self._state):
                if self._goes(pod, key):
                    engine.release_pods(holding)
            for assignment in self._left(key):
                pods = sets[assignment.pod_set]
                if not engine.fits(pods, assignment.node):
                    return False
                engine.hold(Holding(nomination.workload.request.name, assignment.node, pods.resources))
        return True

    def _goes(self, pod: BoundPod, unit: Key) -> bool:
        """Whether a pod is being deleted, or the plan of a unit or another one that is about to evicts it."""
        return (
            not self._state.runs(pod)
            or pod.uid in self._accepted
            or any(
                (preemption.nominates or key == unit)
                and any(victim.key == pod.key for victim in preemption.pods_to_evict)
                for key, preemption in self._active.items()
            )
        )

    def _has_moved(self, workload: PlaceableWorkload, assignment: Assignment) -> bool:
        """Whether a node lies in another domain than when it was chosen, or not in the topology any more."""
        request, state = workload.request, self._state
        if request.topology is None or not assignment.domain or not state.has_node(assignment.node):
            return False
        if state.topologies.topology_of(request) is None:
            return True
        return state.engine.path(assignment.node, request.topology) != assignment.domain

    def _ending_of(self, key: Key, is_binding: Callable[[Key], bool]) -> Ending | None:
        """How a plan ended, as far as that follows from the unit and the victims."""
        preemption, workload = self._active[key], self._state.units.get(key)
        if is_binding(key):
            return None
        if not self._left(key):
            return Ending.BOUND
        if workload is None:
            return Ending.PREEMPTOR_GONE
        if (
            isinstance(workload, PlaceableWorkload)
            and not any(
                self._exists(key, name) for pods in workload.request.root.pod_sets() for name in pods.pods
            )
            and satisfied(workload.request.root)
        ):
            return Ending.BOUND
        if not preemption.has_begun and self._has_changed(preemption, workload, is_binding):
            return Ending.CHANGED
        if preemption.in_vain:
            return Ending.CHANGED if self._nominations[key].restored else Ending.NO_LONGER_FITS
        if preemption.state is State.EVICTING and any(
            self._is_protected(victim, preemption) for victim in preemption.plan.victims
        ):
            return Ending.NO_LONGER_FITS
        return None

    def _is_protected(self, victim: Victim, preemption: Preemption) -> bool:
        """Whether a victim of which no pod was evicted yet may not be evicted any more."""
        if any(pod.key in preemption.evicted or not self._state.runs(pod) for pod in victim.pods):
            return False
        unit = self._state.units.get(victim.unit.workload.object.key)
        return unit is not None and not _may_be_victim(unit, preemption.plan.workload)

    def _forget_refusals(self, now: float) -> None:
        """Let pods be victims again of which the eviction was refused long ago."""
        while (
            self._refused_at and next(iter(self._refused_at.values())) + self._limits.longest_backoff <= now
        ):
            del self._refused_at[next(iter(self._refused_at))]

    def _has_changed(
        self, preemption: Preemption, workload: Workload, is_binding: Callable[[Key], bool]
    ) -> bool:
        if preemption.plan.workload != workload:
            return True
        for victim in preemption.plan.victims:
            key, before = victim.unit.workload.object.key, victim.unit.workload
            now = self._state.units.get(key)
            if is_binding(key) or not all(map(self._state.runs, victim.unit.pods)):
                return True
            if key in self._running and (now is None or _matters(now) != _matters(before)):
                return True
        return False

    def _taken(self, preemption: Preemption, step: Step, now: float) -> StepOf:
        if isinstance(step, Ending):
            return self._end(preemption, step, now)
        if isinstance(step, Evicted):
            self._unseen[step.pod.key] = step.pod, self._state.budgets_version
            self._accepted[step.pod.uid] = step.pod
        return StepOf(preemption, step)

    def _end(self, preemption: Preemption, ending: Ending, now: float) -> StepOf:
        key = preemption.plan.key
        self._active.pop(key, None)
        self._release(key)
        if ending is Ending.NOT_EVICTED:
            for pod in preemption.pods_to_evict:
                if pod.key not in preemption.evicted:
                    self._refused_at[pod.uid] = now
        if ending.is_failure:
            self.candidates.back_off(key, now)
        elif ending is not Ending.CHANGED:
            self.candidates.forget(key)
        return StepOf(preemption, ending)

    def _charge(self, key: Key) -> None:
        """Charge exactly what is nominated and not bound."""
        nomination = self._nominations[key]
        workload = nomination.workload
        if not workload.accounts:
            return
        sets = {pods.name: pods for pods in workload.request.root.pod_sets()}
        now = {
            nominated_key(self._pod_key(key, assignment.pod)): Holding(
                workload.request.name, assignment.node, sets[assignment.pod_set].resources
            )
            for assignment in (self._left(key) if self._active[key].nominates else ())
        }
        for pod in nomination.charged.keys() - now.keys():
            self._state.charge_nomination(pod, None)
        for pod, holding in now.items():
            if nomination.charged.get(pod) != holding:
                self._state.charge_nomination(pod, holding)
        nomination.charged = now

    def _release(self, key: Key) -> None:
        nomination = self._nominations.pop(key, None)
        if nomination is not None:
            for pod in nomination.charged:
                self._state.charge_nomination(pod, None)

    def _being_evicted(self, unit: Key) -> Iterator[BoundPod]:
        """Pods that other plans evict, and those that the plan of a unit itself has evicted already.

        A plan that has to wait for a budget evicts nothing, perhaps never.
        """
        for key, preemption in self._active.items():
            if not preemption.nominates:
                continue
            for pod in preemption.pods_to_evict:
                if key != unit or pod.key in preemption.evicted:
                    yield pod

    def _in_flight(self) -> list[BoundPod]:
        """Pods whose eviction the budgets do not count yet."""
        for key, (pod, version) in list(self._unseen.items()):
            if version != self._state.budgets_version or self._state.holding_of(pod) is None:
                del self._unseen[key]
        requested = (pod for preemption in self._active.values() for pod in preemption.requested())
        return [*requested, *(pod for pod, _ in self._unseen.values())]

    def _running_units(
        self,
        workload: PlaceableWorkload,
        gone: AbstractSet[Key],
        is_binding: Callable[[Key], bool],
        now: float,
    ) -> Iterator[RunningUnit]:
        """Units of which pods may be evicted for a unit; those that another plan evicts are left out."""
        planned = {
            victim.unit.workload.object.key
            for key, preemption in self._active.items()
            if key != workload.object.key and preemption.nominates
            for victim in preemption.plan.victims
        }
        for key, unit in self._running.items():
            if key in planned or not _may_be_victim(unit, workload):
                continue
            names = ((self._pod_key(key, running.name), running.group) for running in unit.running)
            pods = tuple(
                pod
                for name, group in names
                if name not in gone and (pod := self._state.bound_pod(name, group, now)) is not None
            )
            if pods:
                yield RunningUnit(unit, self._state.holder(unit), pods, is_binding(key))
        if not workload.accounts:
            for lone in self._state.lone_units(now, workload.priority):
                name = lone.workload.object.key
                if name not in planned and name not in gone and not is_binding(name):
                    yield lone

    def _restored_node(self, pod: Key) -> str:
        """Take the node that an earlier scheduler nominated for a pod; empty for another pod of its name."""
        assert self._restorable is not None
        nominated = self._restorable.pop(pod, None)
        return nominated.node if nominated is not None and nominated.uid == self._state.uid_of(pod) else ""

    def _restore(self, workload: PlaceableWorkload, now: float) -> None:
        """Take up a nomination that an earlier scheduler wrote into the pods of a unit."""
        assert self._restorable is not None
        key = workload.object.key
        assignments = [
            Assignment(name, pods.name, node, ())
            for pods in workload.request.root.pod_sets()
            for name in pods.pods
            if (node := self._restored_node(self._pod_key(key, name))) and self._state.has_node(node)
        ]
        if not assignments or key in self._active:
            return
        placed = self._state.engine.describe(workload.request, assignments)
        verdict = Verdict(workload, placed, self._state.topologies.topology_of(workload.request))
        nodes = {assignment.node for assignment in assignments}
        freeing = tuple(pod for pod in self._state.leaving_pods(now) if pod.node in nodes)
        plan = Plan(verdict, verdict, Kind.FREED, (), freeing)
        self._active[key] = Preemption.begun(plan, self._limits, self._state, now)
        self._nominations[key] = _Nomination(workload, tuple(assignments), has_victims=True, restored=True)
        self._charge(key)


def nominated_key(pod: Key) -> Key:
    """A key under which the usage is charged that is nominated for a pod."""
    return Key("closeknit.dev", "Nominated", pod.namespace, pod.name)


def _matters(unit: Workload) -> tuple[object, ...]:
    """What of a running unit decides whether and how it may be a victim."""
    return unit.running, unit.priority, unit.preemptible, unit.accounts


def _may_be_helped(verdict: Verdict) -> bool:
    """Whether a unit found no capacity or quota for pods that wait."""
    outcome = verdict.outcome
    if isinstance(outcome, Placed):
        return outcome.wishes.left_out > 0
    return isinstance(outcome, Unplaceable)


def _may_be_victim(unit: Workload, workload: PlaceableWorkload) -> bool:
    """Whether a running unit could ever lose pods to another one; cheap, because it is asked about all."""
    if not unit.preemptible or unit.object == workload.object:
        return False
    if lane(unit) == lane(workload):
        return unit.priority < workload.priority
    return bool(unit.accounts and workload.accounts)


__all__ = ["Choose", "ClusterView", "Preemptions", "StepOf", "held", "nominated_key"]
