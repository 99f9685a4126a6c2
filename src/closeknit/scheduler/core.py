"""Look, plan, act, without the waiting: what a scheduler makes of what it is told, at times that it is told.

Whoever runs it puts objects into its ``state``, tells ``acting`` what calls came to, and lets it ``look`` and
``decide``. All that must outlive it is in the cluster, so one that starts anew goes on where another ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random

from closeknit.dialects.core.binding_volumes import Preparation
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Assignment, Placed
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import scheduler as sentences
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler import wording
from closeknit.scheduler.acting import Acting, Counters, Settled
from closeknit.scheduler.claiming import claimed, preparations, to_give_back
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.commit import Bind, Call
from closeknit.scheduler.deciding import Failed, InvalidVerdict
from closeknit.scheduler.gangs.lifecycle import Gangs
from closeknit.scheduler.gangs.states import BelowMinimum, Stale
from closeknit.scheduler.known_failures import KnownFailures
from closeknit.scheduler.making_room import MakingRoom, Plan
from closeknit.scheduler.needs import satisfied
from closeknit.scheduler.planning import Verdict, decide, least, surplus
from closeknit.scheduler.refusals import Refusals
from closeknit.scheduler.reporter import Observer, Reporter
from closeknit.scheduler.reservation import keeping
from closeknit.scheduler.settings import Settings
from closeknit.scheduler.status import reports
from closeknit.scheduler.waiting import WaitingQueue


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
    ) -> None:
        self.state = ClusterState(settings.families, settings.schedulers)
        self.queue = WaitingQueue(random)
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
        self._refusals = Refusals()
        self.failures = KnownFailures()
        self._room = MakingRoom(
            reserving=settings.reserving, displacing=settings.displacing and not settings.dry_run
        )
        self._wake = wake
        self._planned: dict[Key, Plan] = {}
        """By unit, who is to go for it as soon as its explanation says so."""
        self._explained: list[Plan] = []
        """Plans that stand in the explanations of their units."""
        self._set_aside: list[Key] = []
        """Units to which something has happened since the last look; they are decided after the next."""
        self._since: dict[Key, float] = {}
        """By unit that waits, when it could first be decided."""

    def next_time(self, now: float) -> float | None:
        """When something is due though nothing happens."""
        waiting, room = self.queue.next_time(now), self._room.next_time()
        deadlines = (self.gangs.deadlines, self._refusals.deadlines, self.acting.deadlines)
        times = (waiting, room, *(each.next_time() for each in deadlines))
        return min((each for each in times if each is not None), default=None)

    # ----------------------------------------------------------------------------------------- looking

    def look(self, now: float, *, hurried: bool = False) -> None:
        """Take in what has changed; in a ``hurried`` look, what can wait is left for the next one."""
        self.counters.looks += 1
        self.acting.told(self.state.told())
        if self.acting.deadlines:
            self.acting.look_at_volumes(now)
        news = self.state.news(self.acting.is_binding, hurried=hurried)
        if self.state.postponed:
            self._wake()
        again = dict.fromkeys(
            [*news.units, *self._set_aside, *self.acting.left(), *self._refusals.deadlines.take(now)]
        )
        self._set_aside.clear()
        for settled in self.acting.settled():
            again[settled.commit.unit] = None
            self._settle(settled, now)
        self._take_evictions()
        for key in again:
            self._room.saw(key, self.state.units.get(key), now)
        # Before anybody comes: who asks for the same does not overtake those who are woken.
        self.queue.wake(news.changes, self.state.engine)
        for key in again:
            self._look_at(key, self.state.units.get(key), now)
            if not self._lacks_room(key):
                self._room.placed_or_gone(key)
                self._planned.pop(key, None)
        self._make_room(now)

    def _settle(self, settled: Settled, now: float) -> None:
        unit, workload = settled.commit.unit, settled.verdict.workload
        if settled.commit.whole:
            self._refusals.clear(unit)
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
            self._refusals.clear(key)
            self._reporter.gone(key)
        if self.acting.busy_with(key):
            return
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

    def _lacks_room(self, key: Key) -> bool:
        """Whether a unit waits for its minimum."""
        workload = self.queue.get(key)
        return workload is not None and not satisfied(workload.request.root)

    # ---------------------------------------------------------------------------------------- deciding

    def decide(self, now: float) -> Sequence[Verdict]:
        """Decide the next unit, or all that have their minimum and could have more; none if nobody waits."""
        workload = self._next(now)
        if workload is None:
            return ()
        if satisfied(workload.request.root) and self.queue.ready(now):
            units = [workload]
            while (another := self._next(now)) is not None:
                units.append(another)
            with keeping(self.state.engine, self._room.kept(self.state)):
                verdicts = surplus(self.state.engine, self.state.topologies, units, self.accounts)
        else:
            verdict = self._decided(workload)
            placed = isinstance(verdict.outcome, Placed) and not self.state.has_place(workload)
            if placed and (kept := self._room.kept_before(workload, self.state, now)):
                with keeping(self.state.engine, kept):
                    verdict = self._decided(workload)
                if not isinstance(verdict.outcome, Placed):
                    verdict = replace(verdict, kept_for=tuple(sorted(place.unit for place in kept)))
            contended = self.queue.ready(now) and not satisfied(workload.request.root)
            verdicts = [least(self.state.engine, verdict) if contended else verdict]
        for verdict in verdicts:
            self._carry_out(verdict, now)
        self.counters.decisions += len(verdicts)
        return verdicts

    def ready(self, now: float) -> bool:
        """Whether somebody could be decided now."""
        return self.queue.ready(now)

    def _next(self, now: float) -> PlaceableWorkload | None:
        while (workload := self.queue.take(now, self.accounts)) is not None and self.state.is_stale(workload):
            self._set_aside.append(workload.object.key)
        return workload

    def _decided(self, workload: PlaceableWorkload) -> Verdict:
        try:
            with self.state.deciding(workload):
                return decide(
                    self.state.engine,
                    self.state.topologies,
                    workload,
                    self.accounts,
                    explained=self._explaining,
                    failures=self.failures,
                )
        except Exception as error:  # noqa: BLE001 (one unit that breaks a rule of ours must not stop the others)
            return Verdict(workload, Failed((_not_understood(workload, error),)))

    def _preparations(
        self, workload: Workload, claims: dict[Key, list[Bind]]
    ) -> tuple[Sequence[Preparation], Sequence[Problem]]:
        try:
            return preparations(self.state, claims)
        except Exception as error:  # noqa: BLE001 (the same)
            return (), (_not_understood(workload, error),)

    def _carry_out(self, verdict: Verdict, now: float) -> None:
        workload, outcome = verdict.workload, verdict.outcome
        key = workload.object.key
        if isinstance(outcome, Placed):
            pods = [bind for each in outcome.assignments if (bind := self._bind(workload, each)) is not None]
            claims = claimed(self.state, pods)
            if claims and self.acting.is_preparing(claims):
                # Another unit has a claim in common, and it is not known yet what becomes of it.
                self._set_aside.append(key)
                return
            prepare, problems = self._preparations(workload, claims) if claims else ((), ())
            if problems:
                self.queue.remove(key)
                self._refusals.note(key, now)
                self._reporter.waiting(Verdict(workload, Failed(tuple(problems))))
                return
            if pods:
                self.queue.remove(key)
                if not self._dry_run:
                    self.acting.commit(verdict, pods, prepare, now + self._volume_deadline)
                else:
                    for each in pods:
                        self.state.assume(each.pod, each.node)
                    self._reporter.placed(verdict)
                self._room.placed_or_gone(key)
                self.queue.wake(self._room.freed(), self.state.engine)
                return
        self.queue.failed(key, outcome, now)
        self._room.failed(verdict)
        if not isinstance(outcome, Placed):
            if (below := self.gangs.below_minimum(key)) is not None:
                verdict = replace(verdict, below=below)
            self._reporter.waiting(verdict, self._room.plan_of(key))
            if not self._dry_run:
                self.acting.give_back(key, to_give_back(self.state, workload))
        self.gangs.cannot_complete(key, now)

    def _make_room(self, now: float) -> None:
        """Keep a place for the first that does not fit, or make others go for it: first told, then done."""
        if (plan := self._room.consider(self.state, self.accounts, now)) is not None:
            self._planned[plan.failed.workload.object.key] = plan
            self._reporter.waiting(plan.failed, plan.displacement, partial(self._told, plan))
        explained, self._explained = self._explained, []
        for told in explained:
            if self._planned.pop(told.failed.workload.object.key, None) is told:
                self._displace(told)
        self.queue.wake(self._room.freed(), self.state.engine)

    def _told(self, plan: Plan) -> None:
        self._explained.append(plan)
        self._wake()

    def _displace(self, plan: Plan) -> None:
        """Make others go, unless they or who needs their place have changed since."""
        by, gangs = plan.failed.workload, [each.workload for each in plan.displacement.victims]
        if self.queue.get(by.object.key) != by or any(
            self.state.units.get(gang.object.key) != gang or self.acting.busy_with(gang.object.key)
            for gang in gangs
        ):
            self._room.drop(plan)
            return
        for gang in gangs:
            self.acting.release(gang, [_pod_key(gang, pod.name) for pod in gang.running])
            self._reporter.displaced(gang, by)
            self._observer.let_go(gang, "displaced", reports.why_displaced(by))

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
            if workload is None or below is None or self.acting.busy_with(key):
                # It is observed again when that ends.
                continue
            if self.queue.is_to_be_tried(key) or self._room.plan_of(key) is not None:
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

    def _report_eviction(self, workload: Workload, below: BelowMinimum) -> None:
        self._reporter.released(workload, below)
        reason = "stale" if isinstance(below, Stale) else "released"
        self._observer.let_go(workload, reason, wording.evicted(below))


def _not_understood(workload: Workload, error: Exception) -> Problem:
    said = f"{type(error).__name__}: {error}"
    return sentences.NOT_UNDERSTOOD.at((), kind=workload.object.kind, error=said)


def _pod_key(workload: Workload, name: str) -> Key:
    return Key("", "Pod", workload.object.namespace, name)


def _pods_to_place(workload: PlaceableWorkload) -> Iterator[Key]:
    for pods in workload.request.root.pod_sets():
        yield from (_pod_key(workload, name) for name in pods.pods)
