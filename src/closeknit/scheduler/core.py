"""Look, plan, act, without the waiting: what a scheduler makes of what it is told, at times that it is told.

Whoever runs it puts objects into its ``state``, tells ``acting`` what calls came to, and lets it ``look`` and
``decide``. All that must outlive it is in the cluster, so one that starts anew goes on where another ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from math import inf
from random import Random
from typing import Any

from closeknit.dialects.core.binding_volumes import Preparation
from closeknit.dialects.core.priority import queue_order
from closeknit.engine import Pace
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.failures import ObjectFailure, Step
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Assignment, Placed, Undecided
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import scheduler as sentences
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.live.containment import Containment
from closeknit.scheduler import wording
from closeknit.scheduler.acting import Acting, Counters, Settled
from closeknit.scheduler.changes import Change, Joined, NodeChanged
from closeknit.scheduler.claiming import claimed, preparations, to_give_back
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.commit import Answered, Bind, Call, Evict, Nominate
from closeknit.scheduler.decide.decision_time import DecisionTime, Search
from closeknit.scheduler.deciding import Failed, InvalidVerdict
from closeknit.scheduler.gangs.lifecycle import Gangs
from closeknit.scheduler.gangs.states import BelowMinimum, Stale
from closeknit.scheduler.known_failures import KnownFailures
from closeknit.scheduler.minimum_first import MinimumFirst
from closeknit.scheduler.needs import satisfied
from closeknit.scheduler.overcommitment import LaterBinding, Overcommitment
from closeknit.scheduler.planning import Verdict, decide, least, surplus
from closeknit.scheduler.preempt.active import Preemptions, StepOf
from closeknit.scheduler.preempt.fair_share import FairShares
from closeknit.scheduler.preempt.nominations import held
from closeknit.scheduler.preempt.preemptions import (
    AllEvicted,
    Announced,
    Began,
    Ending,
    Evicted,
    Freed,
    Plan,
    Waits,
)
from closeknit.scheduler.preempt.victim_order import ordered
from closeknit.scheduler.preempt.victims import choose_victims
from closeknit.scheduler.refusals import Refusals
from closeknit.scheduler.reporter import Observer, Reporter
from closeknit.scheduler.reservation import keeping
from closeknit.scheduler.reservations import Reservations
from closeknit.scheduler.settings import Settings
from closeknit.scheduler.status import reports
from closeknit.scheduler.waiting import WaitingQueue, next_unit


class Core:
    """One scheduler's beliefs, queue and deeds."""

    def __init__(
        self,
        settings: Settings,
        send: Callable[[Call, int], None],
        *,
        reporter: Reporter,
        observer: Observer,
        random: Random,
        wake: Callable[[], None] = lambda: None,
        clock_zero: float = 0.0,
        pause: Callable[[], bool] | None = None,
        spent: Callable[[], float] = lambda: 0.0,
        containment: Containment | None = None,
    ) -> None:
        """Make a core that knows no objects yet.

        ``clock_zero``: the moment, in seconds since 1970, at which the scheduler's clock was zero.
        ``pause``: called now and then during long decisions; it may let others run, as long as they change
        nothing here, and returns whether the decision has to end.
        ``spent``: how many seconds decisions have taken so far, without what others took meanwhile.
        ``containment``: what failed for one object stays with it there.
        """
        self._pace = Pace(pause)
        self._spent = spent
        self._decision_time = DecisionTime(settings.decision_time)
        self._protected_until = 0.0
        """How much time decisions may have spent in all when the current one has to end, if others wait."""
        self.containment = containment or Containment("scheduler")
        self.state = ClusterState(
            settings.families,
            settings.schedulers,
            clock_zero=clock_zero,
            pace=self._pace,
            containment=self.containment,
        )
        self.queue = WaitingQueue(random, puts_off=self._decision_time.exceeds_share)
        self.accounts = self.state.usage.accounts
        self.counters = Counters()
        self.acting = Acting(self.state, send, self.counters, observer)
        self._dry_run = settings.dry_run
        self._volume_deadline = settings.volume_deadline
        self._explaining = settings.explaining
        self._reporter = reporter
        self._observer = observer
        self.gangs = Gangs()
        self._evicting: dict[Key, tuple[Workload, BelowMinimum]] = {}
        """Gangs below their minimum of which pods are to be evicted, and none was yet."""
        self.overcommitment = Overcommitment(self.state)
        self._later_bindings: dict[Key, LaterBinding] = {}
        """By pod, the bindings that are being evicted because their nodes have no room for them."""
        self._refusals = Refusals()
        self.failures = KnownFailures(lambda: self._pace.stopped)
        self.reservations = Reservations(enabled=settings.reserving)
        self.preemptions = Preemptions(
            self.state,
            settings.preemption,
            choose_victims,
            enabled=settings.displacing and not settings.dry_run,
        )
        self._victim_order = ordered(settings.victim_order)
        self._send = send
        self._wake = wake
        self._answers: list[Answered] = []
        """What requests to evict and to nominate came to since the last look."""
        self._set_aside: list[Key] = []
        """Units to which something has happened since the last look; they are decided after the next."""
        self._minimum_first = MinimumFirst()
        self._since: dict[Key, float] = {}
        """By unit that waits, when it could first be decided."""

    def next_time(self, now: float) -> float | None:
        """When something is due though nothing happens."""
        deadlines = (self.gangs.deadlines, self._refusals.deadlines, self.acting.deadlines)
        held = self._holds_surplus(now)
        times = [
            self._minimum_first.holds_until(now) if held else None,
            self.queue.next_due() if held else self.queue.next_time(now),
            self.reservations.next_time(),
            self.preemptions.next_time(),
            self.overcommitment.next_time(),
            self.containment.next_time(),
            *(each.next_time() for each in deadlines),
        ]
        soonest = min(time for time in times if time is not None)
        return soonest if soonest < inf else None

    def answered(self, answered: Answered) -> None:
        """A call was answered."""
        if isinstance(answered.call, Nominate) or (
            isinstance(answered.call, Evict) and not self.acting.is_releasing(answered.call)
        ):
            self._answers.append(answered)
        else:
            self.acting.answered(answered)

    # ----------------------------------------------------------------------------------------- looking

    def look(self, now: float, *, hurried: bool = False) -> None:
        """Take in what has changed; in a ``hurried`` look, what can wait is left for the next one."""
        self.counters.looks += 1
        self.containment.now = now
        self._pace.begin()
        self._protected_until = self._spent() + self._decision_time.limits.first
        self.acting.told(self.state.told())
        if self.acting.deadlines:
            self.acting.look_at_volumes(now)
        news = self.state.news(self.acting.is_binding, now=now, hurried=hurried)
        if self.counters.looks == 1:
            self.preemptions.started(self.state.nominated, now)
        if self.state.postponed:
            self._wake()
        for key in news.touched:
            with self.containment.at(key, Step.REPORT):
                self._reporter.touched(key)
        again = dict.fromkeys(
            [*news.units, *self._set_aside, *self.acting.left(), *self._refusals.deadlines.take(now)]
        )
        self._set_aside.clear()
        for settled in self.acting.settled():
            again[settled.commit.unit] = None
            with self._contained(settled.verdict.workload, Step.BIND):
                self._settle(settled, now)
        self._take_evictions()
        self._evict_later_bindings(now)
        for key in again:
            with self.containment.at(key, Step.PREEMPT):
                workload_now = self.state.units.get(key)
                self.reservations.saw(key, workload_now)
                self.preemptions.saw(key, workload_now, now)
        if not all(isinstance(change, Joined) for change in news.changes):
            self.preemptions.candidates.something_changed()
        self._advance(now, again, moved=bool(news.changes))
        # Before anybody comes: who asks for the same does not overtake those who are woken.
        self.queue.wake(news.changes, self.state.engine)
        for key in again:
            if (unit := self.state.units.get(key)) is None:
                with self.containment.at(key, Step.QUEUE):
                    self._take_in(key, now)
            else:
                with self._contained(unit, Step.QUEUE):
                    self._take_in(key, now)
        self._reserve(now)

    def _take_in(self, key: Key, now: float) -> None:
        """Queue a unit of which something has changed, or remove it from the queue."""
        waited = self.queue.get(key)
        self._look_at(key, self.state.units.get(key), now)
        if (waits := self.queue.get(key)) is not waited and _has_queue(waited, waits):
            # Fair shares follow from what waits, too.
            self.preemptions.candidates.something_changed()
        if not self._lacks_room(key):
            self.reservations.drop(key)
        if self.queue.get(key) is None and not self.acting.is_binding(key):
            unit = self.state.units.get(key)
            is_bound = unit is None or isinstance(unit, PlaceableWorkload)
            self.preemptions.waits_no_longer(key, bound=is_bound)

    # -------------------------------------------------------------------------------------- containing

    @contextmanager
    def _contained(self, workload: Workload, step: Step) -> Iterator[None]:
        """Keep an error of a unit from all others: it leaves the queue, is reported, and backs off."""
        with self.containment.at(workload.object.key, step) as contained:
            yield
        if contained.failure is not None and contained.error is not None:
            if step is Step.BIND and self._is_half_bound(workload):
                # Only the cluster knows by now what is bound, so it is read again.
                raise contained.error
            self._withdraw(workload, contained.failure)

    def _is_half_bound(self, workload: Workload) -> bool:
        """Whether pods of a unit are assumed to be bound, or being bound."""
        pods = _pods_to_place(workload) if isinstance(workload, PlaceableWorkload) else ()
        return self.acting.is_binding(workload.object.key) or any(map(self.state.is_assumed, pods))

    def _withdraw(self, workload: Workload, failure: ObjectFailure) -> None:
        """Decide nothing about a unit until it changes or has backed off.

        What fails here is beyond one unit, and the scheduler begins again without it.
        """
        key, now = workload.object.key, self.containment.now
        self.queue.remove(key)
        self._refusals.note(key, now)
        with self.containment.at(key, Step.PREEMPT):
            self.reservations.drop(key)
        problem = sentences.NOT_UNDERSTOOD.at((), kind=workload.object.kind, error=failure.error)
        with self.containment.at(key, Step.REPORT):
            if isinstance(workload, PlaceableWorkload):
                self._reporter.waiting(Verdict(workload, Failed((problem,))))
            else:
                self._reporter.waiting(InvalidVerdict(workload.invalid((problem,)), None))

    def _settle(self, settled: Settled, now: float) -> None:
        unit, workload = settled.commit.unit, settled.verdict.workload
        self._reporter.pods_bound(settled.commit.bound_pods)
        if settled.commit.whole:
            self._refusals.clear(unit)
            # Only now may its pods be victims.
            self.preemptions.candidates.something_changed()
            self._reporter.placed(settled.verdict)
            self._observer.scheduled(workload, now - self._since.pop(unit, now))
            return
        if settled.commit.first:
            self.gangs.hurry(unit)
        if refused := settled.commit.refused:
            self._refusals.note(unit, now)
            problems = (
                sentences.NOT_BOUND.at((), why=why).of("Pod", pod.name) for pod, why in refused.items()
            )
            self._reporter.waiting(Verdict(workload, Failed(tuple(problems))))

    def _look_at(self, key: Key, workload: Workload | None, now: float) -> None:
        if workload is None:
            self.queue.remove(key)
            self._since.pop(key, None)
            self._decision_time.forget(key)
            self._refusals.clear(key)
            self._reporter.gone(key)
        if self._is_busy(key):
            return
        self._minimum_first.competes(key)
        state = self.gangs.observe(key, workload, now, ran=key in self.state.have_run)
        if workload is None or self._refusals.holds(key, now):
            return
        if not isinstance(workload, PlaceableWorkload):
            self.queue.remove(key)
            below = state if isinstance(state, BelowMinimum) else None
            self._reporter.waiting(InvalidVerdict(workload, below))
        elif any(self.state.is_open(pod) for pod in _pods_to_place(workload)):
            self._since.setdefault(key, now)
            self.queue.put(workload, by_labels=self.state.engine.keeps_away)
        else:
            self.queue.remove(key)
            self._reporter.running(workload)

    def _lacks_room(self, key: Key) -> bool:
        """Whether a unit waits for its minimum."""
        workload = self.queue.get(key)
        return workload is not None and not satisfied(workload.request.root)

    # ---------------------------------------------------------------------------------------- deciding

    def decide(self, now: float) -> Sequence[Verdict]:
        """Decide the next unit, or all that have their minimum and could have more; none if none is ready."""
        self.containment.now = now
        self._consider_preemptions(now)
        if self._holds_surplus(now) or (workload := self._next(now)) is None:
            return ()
        began = self._begin(workload, Search.PLACEMENT, now)
        if satisfied(workload.request.root):
            verdicts = self._decided_surplus(workload, now)
        else:
            verdicts = [self._decided_minimum(workload, now)]
        rest_until = self._charge(workload, Search.PLACEMENT, began, now)
        for verdict in verdicts:
            with self._contained(verdict.workload, Step.BIND):
                self._carry_out(verdict, now, rest_until)
        self.counters.decisions += len(verdicts)
        return verdicts

    def exceeds_protection(self) -> bool:
        """Whether the decision under way has taken so long that it has to end if others wait."""
        return self._spent() > self._protected_until

    def _begin(self, workload: Workload, search: Search, now: float) -> float:
        """Begin a search for a unit; returns how much time decisions have spent so far."""
        self._pace.begin()
        began = self._spent()
        self._protected_until = began + self._decision_time.protected(workload, search, now)
        return began

    def _charge(self, workload: Workload, search: Search, began: float, now: float) -> float | None:
        """Charge a search that has ended to its unit and tenant; returns until when the unit rests."""
        seconds, ended = self._spent() - began, self._pace.stopped
        self.counters.ended += ended
        return self._decision_time.charge(workload, search, seconds, now + seconds, ended=ended)

    def _decided_minimum(self, workload: PlaceableWorkload, now: float) -> Verdict:
        """Decide a unit that lacks its minimum; it gets its surplus too if no other unit competes for it."""
        verdict, key = self._decided_beside(workload, now), workload.object.key
        contended = self.queue.ready(now) or bool(self._minimum_first)
        if not contended or self.preemptions.plans_surplus(key):
            return verdict
        cut = least(self.state.engine, verdict)
        if cut is not verdict and cut.outcome is not verdict.outcome:
            self._minimum_first.cut(key, now)
        return cut

    def _decided_surplus(self, workload: PlaceableWorkload, now: float) -> list[Verdict]:
        """Decide the surplus of units that have their minimum, the least satisfied first.

        A unit that sees more free capacity than others, because of nominations, is decided alone, because two
        verdicts on the same free capacity must not both be committed. The others stay in the queue.
        """
        self._minimum_first.decided()
        units = [workload]
        while (another := self._next(now)) is not None:
            units.append(another)
        if self.preemptions and (alone := next(filter(self._sees_more, units), None)) is not None:
            for unit in units:
                if unit is not alone:
                    self.queue.put(unit, by_labels=self.state.engine.keeps_away)
            return [self._decided_beside(alone, now)]
        if len(units) == 1:
            return [self._decided_beside(workload, now)]
        units.sort(key=queue_order)
        nominated = self.preemptions.kept_from(units[0])
        with (
            keeping(self.state.engine, self.reservations.all(self.state)),
            held(self.state.engine, nominated),
        ):
            return surplus(self.state.engine, self.state.topologies, units, self.accounts)

    def _sees_more(self, workload: PlaceableWorkload) -> bool:
        """Whether a unit may use nominated capacity that other units must leave free."""
        preemptions = self.preemptions
        return preemptions.plan_of(workload.object.key) is not None or preemptions.is_outranking(workload)

    def _decided_beside(self, workload: PlaceableWorkload, now: float) -> Verdict:
        """What becomes of a unit, given what is reserved and nominated for others."""
        with ExitStack() as stack:
            if self.preemptions:
                stack.enter_context(self.preemptions.uncharged(workload))
            verdict = self._decided(workload)
            if not isinstance(verdict.outcome, Placed) or self.state.has_place(workload):
                return verdict
            nominated = self.preemptions.kept_from(workload) if self.preemptions else []
            reserved = (
                self.reservations.before(workload, self.state, now)
                if self.preemptions.plan_of(workload.object.key) is None
                else []
            )
            if not nominated and not reserved:
                return verdict
            with keeping(self.state.engine, reserved), held(self.state.engine, nominated):
                verdict = self._decided(workload)
        if isinstance(verdict.outcome, Placed):
            return verdict
        units = {place.unit for place in reserved} | set(self.preemptions.units_kept_for(workload))
        return replace(verdict, kept_for=tuple(sorted(units)))

    def ready(self, now: float) -> bool:
        """Whether a unit could be decided now."""
        return self.queue.ready(now) and not self._holds_surplus(now)

    def _holds_surplus(self, now: float) -> bool:
        """Whether the next unit only wants surplus, and others are still being bound with their minimum."""
        if not self._minimum_first or (following := self.queue.next(now, self.accounts)) is None:
            return False
        return satisfied(following.request.root) and self._minimum_first.holds_until(now) is not None

    def _next(self, now: float) -> PlaceableWorkload | None:
        while (workload := self.queue.take(now, self.accounts)) is not None and self.state.is_stale(workload):
            self._set_aside.append(workload.object.key)
        return workload

    def _decided(self, workload: PlaceableWorkload) -> Verdict:
        with (
            self.containment.at(workload.object.key, Step.DECIDE) as step,
            self.state.deciding(workload),
        ):
            return decide(
                self.state.engine,
                self.state.topologies,
                workload,
                self.accounts,
                explained=self._explaining,
                failures=self.failures,
            )
        return Verdict(workload, Failed((_not_understood(workload, step.failure),)))

    def _preparations(
        self, workload: Workload, claims: dict[Key, list[Bind]]
    ) -> tuple[Sequence[Preparation], Sequence[Problem]]:
        with self.containment.at(workload.object.key, Step.BIND) as step:
            return preparations(self.state, claims)
        return (), (_not_understood(workload, step.failure),)

    def _carry_out(self, verdict: Verdict, now: float, rest_until: float | None) -> None:
        """Bind what was placed, or let the unit wait, until ``rest_until`` if its decision took long."""
        workload, outcome = verdict.workload, verdict.outcome
        key = workload.object.key
        if isinstance(outcome, Placed) and self.preemptions and self.preemptions.must_wait(workload, outcome):
            self.queue.failed(key, outcome, now)
            return
        if isinstance(outcome, Placed) and self._commit(verdict, outcome, now):
            self._decision_time.forget(key)
            return
        # A search that had to end is made again, though nothing may have changed by then.
        unfinished = self._pace.stopped and isinstance(outcome, Undecided)
        self.queue.failed(key, outcome, now, rest_until=rest_until, retry=unfinished)
        self.reservations.failed(verdict)
        self.preemptions.failed(verdict, now)
        if (plan_under_way := self.preemptions.preemption_of(key)) is not None and plan_under_way.in_vain:
            self._wake()
        if isinstance(outcome, Placed):
            # Pods above its minimum are left, and none of them fits; others may still be to come.
            if not outcome.assignments:
                self._reporter.waiting(verdict, self.preemptions.announced_plan_of(key))
        else:
            if (below := self.gangs.below_minimum(key)) is not None:
                verdict = replace(verdict, below=below)
            self._reporter.waiting(verdict, self.preemptions.announced_plan_of(key))
            if not self._dry_run:
                self.acting.give_back(key, to_give_back(self.state, workload))
        self.gangs.cannot_complete(key, now)

    def _commit(self, verdict: Verdict, placed: Placed, now: float) -> bool:
        """Bind the pods of a placement; whether there is nothing more to do for the unit now.

        False if the placement binds no pod that exists.
        """
        workload, key = verdict.workload, verdict.workload.object.key
        pods = [bind for each in placed.assignments if (bind := self._bind(workload, each)) is not None]
        claims = claimed(self.state, pods)
        if claims and self.acting.is_preparing(claims):
            # Another unit has a claim in common, and it is not known yet whether it keeps it.
            self._set_aside.append(key)
            return True
        prepare, problems = self._preparations(workload, claims) if claims else ((), ())
        if problems:
            self.queue.remove(key)
            self._refusals.note(key, now)
            self._reporter.waiting(Verdict(workload, Failed(tuple(problems))))
            return True
        if not pods:
            return False
        self.queue.remove(key)
        if not self._dry_run:
            self.acting.commit(verdict, pods, prepare, now + self._volume_deadline)
        else:
            for bind in pods:
                self.state.assume(bind.pod, bind.node)
            self._reporter.placed(verdict)
        self.reservations.drop(key)
        self._wake_for_reservations()
        if self.preemptions:
            self.preemptions.recharge(key)
            if self.preemptions.is_outranking(workload):
                self._set_aside += self._take_up(self.preemptions.check_fits(now), now)
                self._wake()
        return True

    # -------------------------------------------------------------------------------------- preempting

    def _is_busy(self, key: Key) -> bool:
        """Whether something is under way for a unit, so that it must not be decided now."""
        return self.acting.busy_with(key) or self.preemptions.is_victim(key)

    def _advance(self, now: float, again: dict[Key, None], *, moved: bool) -> None:
        """Let preemptions go on; units that may be decided again are added to ``again``."""
        answers, self._answers = self._answers, []
        steps: list[StepOf] = []
        for answered in answers:
            match answered.call:
                case Evict(pod=pod):
                    steps += self.preemptions.eviction_answered(pod, answered.answer, now)
                case Nominate() as call:
                    if following := self.preemptions.nomination_answered(call, answered.answer):
                        self._send(*following)
                case _:
                    raise AssertionError(answered.call)
        if moved and self.preemptions:
            steps += self.preemptions.check_fits(now)
        steps += self.preemptions.advance(self.acting.is_binding, now)
        for key in self._take_up(steps, now):
            again[key] = None

    def _take_up(self, steps: Sequence[StepOf], now: float) -> list[Key]:
        """Do what follows for plans; the units that may be decided again."""
        again: list[Key] = []
        for preemption, step in steps:
            plan = preemption.plan
            match step:
                case Evict():
                    self._send(step, 0)
                case Announced():
                    self._reporter.waiting(plan.failed, plan, partial(self._reported, plan))
                    if preemption.reported:
                        again += self._take_up(self.preemptions.advance(self.acting.is_binding, now), now)
                case Began():
                    self._reporter.preempting(plan)
                case Evicted():
                    self.acting.evicted(step.pod.key, step.pod.uid)
                    if step.first:
                        victim = step.victim.unit.workload
                        if step.victim.is_broken:
                            self.preemptions.was_evicted(victim.object.key, now)
                        self._reporter.displaced(victim, plan.workload)
                        self._observer.let_go(victim, "displaced", reports.why_displaced(plan.workload))
                case AllEvicted():
                    again += [victim.unit.workload.object.key for victim in plan.victims]
                case Freed():
                    self.queue.activate(plan.key)
                case Waits():
                    self._nomination_released(plan)
                case Ending():
                    again += [victim.unit.workload.object.key for victim in plan.victims]
                    self.queue.activate(plan.key)
                    self._nomination_released(plan)
                    if step.is_failure:
                        self._reporter.gave_up(plan, step)
        for call in self.preemptions.nominations_to_write():
            self._send(call, 0)
        return again

    def _nomination_released(self, plan: Plan) -> None:
        """Let the units be tried that what was nominated for a plan kept out."""
        nodes = {assignment.node for assignment in plan.assignments}
        changes: list[Change] = [NodeChanged(node) for node in sorted(nodes)]
        self.queue.wake(changes, self.state.engine)
        self.preemptions.candidates.something_changed()

    def _reserve(self, now: float) -> None:
        """Reserve capacity for the first unit that waits."""
        if (verdict := self.reservations.due(now)) is not None:
            began = self._begin(verdict.workload, Search.RESERVATION, now)
            self.reservations.consider(
                verdict, self.state, self.preemptions.kept_from, now, had_to_end=lambda: self._pace.stopped
            )
            rest_until = self._charge(verdict.workload, Search.RESERVATION, began, now)
            if rest_until is not None:
                self.reservations.rest(rest_until)
        self._wake_for_reservations()

    def _wake_for_reservations(self) -> None:
        """Let the units be tried and considered that a reservation kept out which is gone."""
        if freed := self.reservations.freed():
            self.queue.wake(freed, self.state.engine)
            self.preemptions.candidates.something_changed()

    def _consider_preemptions(self, now: float) -> None:
        """Make plans for units that were tried and not placed, as far as they precede the next unit to try.

        Trying a unit and making a plan for it are one step of the queue order.
        """
        to_be_tried: set[Key] = set()
        while candidates := self.preemptions.candidates_now(now, to_be_tried):
            following = self.queue.next(now, self.accounts)
            entrants = candidates if following is None else [*candidates, following]
            first = next_unit(entrants, self.accounts)
            if first is following:
                return
            key = first.object.key
            if self.queue.is_to_be_tried(key):
                # Something changed that may help it; it backs off until it is tried.
                to_be_tried.add(key)
                continue
            began = self._begin(first, Search.VICTIMS, now)
            with self._contained(first, Step.PREEMPT):
                preemption = self.preemptions.consider(
                    key,
                    self._choosing,
                    self.acting.is_binding,
                    self._reserved_before(now),
                    now,
                    had_to_end=lambda: self._pace.stopped,
                )
                if preemption is not None:
                    self.reservations.drop(key)
                    self._wake()
            self._charge(first, Search.VICTIMS, began, now)
            if self.containment.failure(key, Step.PREEMPT) is not None:
                to_be_tried.add(key)

    def _reported(self, plan: Plan) -> None:
        self.preemptions.stored(plan)
        self._wake()

    def _reserved_before(self, now: float) -> Callable[[PlaceableWorkload], list[Holding]]:
        def reserved(workload: PlaceableWorkload) -> list[Holding]:
            places = self.reservations.before(workload, self.state, now)
            return [holding for place in places for holding in place.held(self.state.engine)]

        return reserved

    def _choosing(self, workload: PlaceableWorkload) -> dict[str, Any]:
        """What else victims are chosen by."""
        shares = None
        if workload.accounts:
            # Units that are being bound neither run nor wait yet, and their queues use what is assumed.
            units = [unit for unit in self.state.units.values() if unit.accounts]
            waiting = [unit for unit in self.queue if unit.accounts]
            # What is nominated for a unit is part of what it asks for, as long as it waits.
            with self.state.without_usage(self.preemptions.nominated_pods()):
                used = self.accounts.copy()
            shares = FairShares(self.state.queue_capacity(), used, units, waiting, self.acting.verdicts())
        return {"accounts": self.accounts, "shares": shares, "order": self._victim_order}

    def _bind(self, workload: Workload, assignment: Assignment) -> Bind | None:
        """The binding of a pod, if it exists and waits; some are only expected."""
        key = _pod_key(workload, assignment.pod)
        pod = self.state.pod(key)
        if pod is None or not self.state.is_open(key):
            return None
        return Bind(key, pod.content.metadata.uid, assignment.node)

    def evict_overdue(self, now: float) -> None:
        """Evict what runs of gangs that have been below their minimum for too long.

        Not while a replacement is on its way: while the gang is being bound, is still to be decided, or
        capacity is being freed for it.
        """
        for key in self.gangs.deadlines.take(now):
            workload, below = self.state.units.get(key), self.gangs.below_minimum(key)
            if workload is None or below is None or self._is_busy(key):
                # It is observed again when that ends.
                continue
            if self.queue.is_to_be_tried(key) or self.preemptions.plan_of(key) is not None:
                self.gangs.postpone(key, now)
                continue
            self.gangs.attempted(key, now)
            self.queue.remove(key)
            if self._dry_run:
                self._report_eviction(workload, below)
                continue
            self._evicting[key] = workload, below
            self.acting.release(workload, [_pod_key(workload, name) for name in below.running])

    def _take_evictions(self) -> None:
        """Take in which evictions of gangs below their minimum the server accepted, and which it did not."""
        accepted, refused = self.acting.evictions()
        for key in accepted:
            if (evicted := self._evicting.pop(key, None)) is not None:
                self._report_eviction(*evicted)
        for key, pods in refused.items():
            self.gangs.refused(key, pods)
        for pod, uid in self.acting.evicted_pods().items():
            later = self._later_bindings.pop(pod, None)
            if later is not None and later.uid == uid:
                self._reporter.overcommitted(later)
                self._observer.overcommitted(later)

    def _evict_later_bindings(self, now: float) -> None:
        """Evict pods that were bound to nodes without room for them, as by an instance that led before."""
        for later in self.overcommitment.look(now, self._is_busy):
            if not self._dry_run:
                self._later_bindings[later.pod] = later
                self.acting.evict(later.pod, later.unit)

    def _report_eviction(self, workload: Workload, below: BelowMinimum) -> None:
        self._reporter.released(workload, below)
        reason = "stale" if isinstance(below, Stale) else "released"
        self._observer.let_go(workload, reason, wording.evicted(below))


def _not_understood(workload: Workload, failure: ObjectFailure | None) -> Problem:
    error = failure.error if failure is not None else ""
    return sentences.NOT_UNDERSTOOD.at((), kind=workload.object.kind, error=error)


def _has_queue(*workloads: Workload | None) -> bool:
    """Whether any of these units, as far as they are there, has a queue."""
    return any(workload is not None and workload.accounts for workload in workloads)


def _pod_key(workload: Workload, name: str) -> Key:
    return Key("", "Pod", workload.object.namespace, name)


def _pods_to_place(workload: PlaceableWorkload) -> Iterator[Key]:
    for pods in workload.request.root.pod_sets():
        yield from (_pod_key(workload, name) for name in pods.pods)
