"""Reconciles what objects show of their units: conditions, outcomes in objects of their own, and events.

The report of a unit follows from what the scheduler knows of it now: that its minimum runs, whoever bound
its pods, or else its last decision. It is compared with what the object shows at the start of a scheduler,
when the unit is decided, when its pods, its specification, nodes or topologies change, and when the object
changes; it is written if it differs. So a report that was lost, or that others overwrote, is written again.

The scheduler hands over reports and never waits. Only the latest report of an object counts. Another reason
is written at once; a change in the details alone is written once in a while. Why a unit waits is written
first; that one runs is written when no bindings are under way, or a few seconds later. What a server refuses
for now is tried again as long as it is true. An object that others keep changing is corrected less and less
often.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, TypeAlias

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.hub.failures import Step
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Group, Request, satisfied
from closeknit.hub.workload import IncompleteWorkload, PlaceableWorkload, Workload
from closeknit.kube.backoff import Backoff
from closeknit.kube.clock import SYSTEM_CLOCK, Clock, timestamp
from closeknit.kube.errors import TRANSIENT, ApiError, ConflictError, LeaseExpiredError, NotFoundError
from closeknit.kube.events import Recorder
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import Resource
from closeknit.live.containment import Containment
from closeknit.scheduler import wording
from closeknit.scheduler.commit import Bind
from closeknit.scheduler.deciding import Failed
from closeknit.scheduler.gangs.states import BelowMinimum
from closeknit.scheduler.overcommitment import LaterBinding
from closeknit.scheduler.planning import AnyVerdict, InvalidVerdict, Verdict
from closeknit.scheduler.preempt.preemptions import Ending, Plan
from closeknit.scheduler.status import events, preemption_events, reports
from closeknit.scheduler.status.conditions import is_reported, shows
from closeknit.scheduler.status.doubts import Doubts
from closeknit.scheduler.status.outcomes import NoOutcomes, Outcomes
from closeknit.scheduler.status.pod_events import PodEvents
from closeknit.scheduler.status.reports import ConstraintState, Report, State
from closeknit.scheduler.status.write_queue import Pace, Rank, ReportQueue, Subject
from closeknit.scheduler.status.writes import correct_pod, write_pod, write_unit

_LOOK = 0.05
"""How often it is checked whether bindings are still under way, while reports wait for them."""
_SLICE = 16
"""Units that are checked before others get a turn; checking one takes about as long as deciding it."""
_LONGEST_RETRY = 4.0
"""Seconds: a server that was away shows the truth soon after it is back."""
_FIRST_RIVALRY, _LONGEST_RIVALRY = 2.0, 300.0
_RIVALRY_ENDS = 600.0
"""Seconds without a correction after which the next one is not held back."""

Find: TypeAlias = Callable[[Key], ObjectMeta | None]
"""What is known of an object; None where it does not exist."""
Show: TypeAlias = Callable[[Key], Mapping[str, Any] | None]
"""An object with its status as the API server shows it; None where that is not known."""
Describe: TypeAlias = Callable[[Request], Placed | None]
"""Where the pods of a request run; None where that cannot be said now."""


@dataclass(slots=True)
class _Unit:
    subject: Subject
    pods: dict[Key, Subject] = field(default_factory=dict)
    """Those that wait."""
    ended: bool = False
    """Whether it is no unit any more, and only its last report is still to be written."""


class Reporter:
    """Reports what becomes of units. ``run`` does the writing, until cancelled.

    ``find``, ``show`` and ``resource`` answer for an object, ``denied`` whether a pod that is bound shows
    that it waits, ``pods`` which pods wait with a unit that is
    invalid, ``outdated`` whether a unit has changed since it was compiled, ``describe`` where its pods run,
    and ``busy`` whether bindings are under way.
    """

    def __init__(
        self,
        api: KubernetesApi,
        recorder: Recorder,
        *,
        find: Find,
        resource: Callable[[Key], Resource | None],
        random: Random,
        show: Show = lambda _: None,
        outcomes: Outcomes | None = None,
        denied: Callable[[Key], bool] = lambda _: False,
        ended_pods: Callable[[Workload], Iterable[str]] = lambda _: (),
        describe: Describe = lambda _: None,
        pods: Callable[[Workload], Iterable[str]] = lambda _: (),
        outdated: Callable[[Workload], bool] = lambda _: False,
        busy: Callable[[], bool] = lambda: False,
        pod_events: PodEvents | None = None,
        pace: Pace | None = None,
        clock: Clock = SYSTEM_CLOCK,
        containment: Containment | None = None,
    ) -> None:
        self._containment = containment or Containment("reports")
        self._api = api
        self._recorder = recorder
        self._pod_events = pod_events
        self._find = find
        self._show = show
        self._outcomes: Outcomes = outcomes or NoOutcomes()
        self._denied = denied
        self._ended_pods = ended_pods
        self._describe = describe
        self._resource = resource
        self._random = random
        self._pods = pods
        self._busy = busy
        self._pace = pace or Pace()
        self._clock = clock
        self._units: dict[Key, _Unit] = {}
        self._queue = ReportQueue(self._pace)
        self._doubts = Doubts(self._pace.patience, outdated)
        self._placed: dict[Key, tuple[float, Verdict]] = {}
        """Units that were placed while bindings were under way, and when."""
        self._running: dict[Key, Workload] = {}
        """Units whose minimum runs and of which no pod waits, as last compiled."""
        self._unchecked: dict[Key, float] = {}
        """Of these, those that are to be compared with their reports, and since when."""
        self._changed: dict[Key, float] = {}
        """Units whose objects have changed, and when these are compared with their reports."""
        self._dismissed: dict[Key, float] = {}
        """Pods to which nothing more is reported, and when these are checked."""
        self._recheck_at: float | None = None
        """When all that run are checked again; None while no node and no topology has changed."""
        self._rechecked_at = 0.0
        self._touched: dict[Key, float] = {}
        """Units of which pods have changed, though they ask for the same, and when these are checked."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._some = asyncio.Event()
        self.written = 0
        """How many reports the server took."""
        self.refused = 0
        """How many it refused for good, as for lack of permission."""
        self.failed = 0
        """How many could not be made or written because of a mistake of ours."""
        self.corrected = 0
        """How many were written again because an object showed something else."""

    # ------------------------------------------------------------------------------- what has happened

    def placed(self, verdict: Verdict) -> None:
        """A unit got its nodes; pods above its minimum may still wait."""
        key = verdict.workload.object.key
        if key in self._units or not self._busy() or reports.waiting_pods(verdict):
            self._decided(verdict)
            return
        # It is not urgent, and rendering it takes as long as a tenth of all that led to it.
        self._forget_unworded(key)
        self._placed[key] = self._clock.monotonic(), verdict
        self._some.set()

    def waiting(
        self, verdict: AnyVerdict, plan: Plan | None = None, stored: Callable[[], None] | None = None
    ) -> None:
        """Pods of a unit got no nodes, for lack of capacity or because of what is wrong with it.

        If the server never stores the report with the plan, ``stored`` is not called.
        """
        workload = verdict.workload
        if isinstance(verdict, InvalidVerdict) and runs(workload):
            self.running(workload)
            return
        self._running.pop(workload.object.key, None)
        if runs(workload):
            self._running[workload.object.key] = workload
        if not isinstance(verdict.outcome, Failed | None):
            self._decided(verdict, plan, stored)
            return
        # What is wrong is often right a moment later, and rendering it takes long.
        self._doubts.note(verdict, self._clock.monotonic())
        self._some.set()

    def running(self, workload: Workload) -> None:
        """No pod of a unit waits for a node that could be placed, whoever bound those that run."""
        key = workload.object.key
        if not runs(workload):
            self._running.pop(key, None)
            return
        self._doubts.forget(key)
        self._running[key] = workload
        self._unchecked.setdefault(key, self._clock.monotonic())
        self._some.set()

    def pods_bound(self, pods: Iterable[Bind]) -> None:
        """These pods were bound."""
        if self._pod_events is not None:
            self._pod_events.note(pods)

    def released(self, workload: Workload, below: BelowMinimum) -> None:
        """What ran of a gang below its minimum is evicted, because it could not be completed in time."""
        self._evicted(workload, reports.released(below))

    def preempting(self, plan: Plan) -> None:
        """The first pod is about to be evicted for a unit."""
        meta, resource = self._find(plan.workload.key), self._resource(plan.workload.key)
        if meta is not None and resource is not None:
            preemption_events.preempting(self._recorder, resource, meta, plan)

    def gave_up(self, plan: Plan, ending: Ending) -> None:
        """A plan ended without the unit being bound."""
        meta, resource = self._find(plan.workload.key), self._resource(plan.workload.key)
        if meta is not None and resource is not None:
            preemption_events.gave_up(self._recorder, resource, meta, plan, ending)

    def overcommitted(self, later: LaterBinding) -> None:
        """A pod was evicted from a node that has no room for it."""
        events.overcommitted(self._recorder, later)

    def displaced(self, workload: Workload, by: Workload) -> None:
        """A unit was preempted for another."""
        self._evicted(workload, reports.displaced(by))

    def gone(self, key: Key) -> None:
        """A unit (its ``object.key``) no longer exists; nothing more is reported about it."""
        placed = self._placed.get(key)
        self._forget_unworded(key)
        self._running.pop(key, None)
        self._changed.pop(key, None)
        unit = self._units.get(key)
        if unit is None:
            return
        wanted = unit.subject.wanted
        if placed is None and key.kind == "Pod" and wanted is not None and wanted.state is State.SCHEDULED:
            # A single pod is no unit any more once it is bound, and still shows why it waited.
            unit.ended = True
            return
        del self._units[key]
        self._dismiss(unit.subject, *unit.pods.values())

    def nodes_changed(self) -> None:
        """Nodes or topologies have changed, so running units may break what they require, or no longer do."""
        if self._recheck_at is None:
            again = self._rechecked_at + self._pace.recheck * len(self._running)
            self._recheck_at = max(self._clock.monotonic() + self._pace.settling / 2, again)
            self._some.set()

    def touched(self, key: Key) -> None:
        """Something that a unit is made of has changed, and it asks for the same as before."""
        unit = self._units.get(key)
        if unit is not None and (unit.pods or self._may_gain_waiting_pods(unit)):
            self._touched.setdefault(key, self._clock.monotonic() + self._pace.settling)
            self._some.set()

    def object_changed(self, key: Key) -> None:
        """An object has changed, by our own write or that of others."""
        if key in self._units:
            self._changed.setdefault(key, self._clock.monotonic() + self._pace.settling)
            self._some.set()

    @property
    def pending(self) -> int:
        """How many objects have something to be reported that is not written."""
        return (
            len(self._doubts)
            + len(self._placed)
            + len(self._unchecked)
            + len(self._pod_events or ())
            + sum(
                subject.wanted is not None or subject.writing
                for unit in self._units.values()
                for subject in (unit.subject, *unit.pods.values())
            )
        )

    def reasons(self) -> Iterator[str]:
        """Why each unit waits that does."""
        for unit in self._units.values():
            told = unit.subject.wanted or unit.subject.written
            if told is not None and told.state is not State.SCHEDULED:
                yield told.state.value

    def _may_gain_waiting_pods(self, unit: _Unit) -> bool:
        """Whether pods of a unit may wait that are not known by name."""
        told = unit.subject.wanted or unit.subject.written
        waits = told is not None and told.state is not State.SCHEDULED
        return waits or not isinstance(unit.subject.workload, PlaceableWorkload)

    # -------------------------------------------------------------------------- what should be reported

    def _decided(
        self,
        verdict: AnyVerdict,
        plan: Plan | None = None,
        stored: Callable[[], None] | None = None,
        *,
        since: float | None = None,
    ) -> None:
        told = reports.report(verdict, plan, self._date(verdict.below))
        workload, of_unit = verdict.workload, told
        if not isinstance(verdict.outcome, Placed) and runs(workload):
            # Only pods above its minimum got no nodes.
            of_unit = self._of_running(workload) or told
            if plan is not None and of_unit is not told:
                of_unit = reports.running_while_others_wait(of_unit, told)
        unit = self._tell(workload, of_unit, since)
        if stored is not None:
            unit.subject.awaited = told.plan, stored
            self._is_stored(unit.subject)
        names = self._pods(workload) if isinstance(verdict, InvalidVerdict) else reports.waiting_pods(verdict)
        self._tell_pods(unit, workload, names, told)

    def _tell_pods(
        self, unit: _Unit, workload: Workload, names: Iterable[str], told: Report, *, again: bool = True
    ) -> None:
        """Report to the pods that wait, and nothing more to others.

        Unless ``again``, those that were reported to keep what they show.
        """
        waiting = {Key("", "Pod", workload.object.namespace, name) for name in names}
        for key in unit.pods.keys() - waiting:
            self._dismiss(unit.pods.pop(key))
        for key in sorted(waiting):
            meta = self._find(key)
            uid = meta.uid if meta is not None else ""
            subject = unit.pods.get(key)
            if subject is None or subject.uid != uid:
                if subject is not None:
                    self._dismiss(subject)
                subject = unit.pods[key] = Subject(key, workload, uid)
            elif not again:
                continue
            if not told.says_the_same(subject.written):
                self._want(subject, Rank.POD, told)

    def _date(self, below: BelowMinimum | None) -> str | None:
        """When the running pods of a gang below its minimum are evicted; None for never."""
        if below is None or below.evicted_at is None:
            return None
        seconds = below.evicted_at - self._clock.monotonic()
        return timestamp(self._clock.now() + timedelta(seconds=seconds))

    def _evicted(self, workload: Workload, told: Report) -> None:
        self._running.pop(workload.object.key, None)
        self._tell(workload, told)

    def _dismiss(self, *subjects: Subject) -> None:
        """Report nothing more to these; those that are bound are checked later not to show that they wait."""
        for subject in subjects:
            # A write that was not answered may have arrived.
            if subject.uid and subject.since:
                self._dismissed[subject.key] = self._clock.monotonic() + self._pace.settling
            subject.dismissed, subject.wanted = True, None

    def _check_bound_pods(self, workload: Workload) -> None:
        """Have bound pods of a unit that is new to this scheduler checked not to show that they wait.

        A scheduler that was killed may have written that late, and not taken it back. Pods that have ended by
        now are checked as well.
        """
        names = dict.fromkeys([*(pod.name for pod in workload.running), *self._ended_pods(workload)])
        for name in names:
            if self._denied(pod_key := Key("", "Pod", workload.object.namespace, name)):
                self._dismissed.setdefault(pod_key, self._clock.monotonic())

    def _forget_unworded(self, key: Key) -> None:
        """Something else is to be reported of a unit, or nothing."""
        self._doubts.forget(key)
        self._placed.pop(key, None)

    def _tell(self, workload: Workload, told: Report, since: float | None = None) -> _Unit:
        key = workload.object.key
        self._forget_unworded(key)
        unit = self._units.get(key)
        if unit is None or unit.ended:
            unit = self._units[key] = _Unit(Subject(workload.key, workload))
            self._check_bound_pods(workload)
        subject = unit.subject
        subject.workload = workload
        self._want(subject, Rank.PLACED if told.state is State.SCHEDULED else Rank.UNIT, told, since)
        return unit

    def _is_stored(self, subject: Subject) -> None:
        """Call who waits for a plan as soon as it was written."""
        if subject.awaited is not None and subject.written is not None:
            plan, stored = subject.awaited
            if subject.written.plan == plan:
                subject.awaited = None
                stored()

    def _want(self, subject: Subject, rank: Rank, told: Report, since: float | None = None) -> None:
        """Report this of an object; ``since`` is when it became true, now unless it is set."""
        self._queue.want(subject, rank, told, self._clock.monotonic() if since is None else since)
        self._some.set()

    # ------------------------------------------------------------------------------------------ checking

    def _check_some(self, now: float, *, busy: bool) -> bool:
        """Compare some units with what they should show; whether others are left that are due.

        While bindings are under way, only those that have waited for long.
        """
        latest = now - self._pace.deferral if busy else now
        if self._recheck_at is not None and self._recheck_at <= latest:
            self._recheck_at, self._rechecked_at = None, now
            for key, workload in self._running.items():
                if isinstance(workload, PlaceableWorkload) and _requires(workload.request.root):
                    self._unchecked.setdefault(key, now)
        checks: tuple[tuple[dict[Key, float], Callable[[Key], None]], ...] = (
            (self._unchecked, self._check_running),
            (self._changed, self._check_shown),
            (self._touched, self._check_pods),
            (self._dismissed, self._check_dismissed),
        )
        left = _SLICE
        for keys, check in checks:
            while keys and keys[key := next(iter(keys))] <= latest:
                if not left:
                    return True
                left -= 1
                del keys[key]
                with self._containment.at(key, Step.REPORT) as step:
                    check(key)
                self.failed += step.failure is not None
        return False

    def _check_dismissed(self, pod: Key) -> None:
        """See to it that a pod that was bound does not show that it waits."""
        if self._denied(pod):
            self._start(self._correct_pod(pod))

    def _check_running(self, key: Key) -> None:
        """See to it that a unit whose minimum runs is reported so."""
        workload = self._running.get(key)
        if workload is None or key in self._placed:
            return
        unit = self._units.get(key)
        told = (unit.subject.wanted or unit.subject.written) if unit is not None else None
        reported = told is not None and told.state is State.SCHEDULED
        if (
            unit is not None
            and told is not None
            and (unit.pods or not isinstance(workload, PlaceableWorkload))
        ):
            # Of one that can be placed no pod waits; those of one that is invalid wait with it.
            self._tell_pods(unit, workload, self._pods(workload), told, again=False)
        requires = not isinstance(workload, PlaceableWorkload) or _requires(workload.request.root)
        if told is not None and reported and told.constraint is ConstraintState.SATISFIED and not requires:
            return
        if (wanted := self._of_running(workload)) is None:
            return
        if told is not None and reported and _same_constraint(told, wanted):
            return
        if unit is None:
            self._check_bound_pods(workload)
            shown = self._show(workload.key)
            if workload.key != key:
                # One object asks for several units, and so shows none of their reports.
                already = True
            elif shown is None:
                already = False
            else:
                outcome = self._outcome_of(workload.key, shown)
                already = self._shows(wanted, workload.key, shown) or not (
                    workload.running or is_reported(shown, outcome)
                )
            if already:
                made = self._units[key] = _Unit(Subject(workload.key, workload))
                made.subject.written, made.subject.written_at = wanted, self._clock.monotonic()
                if not isinstance(workload, PlaceableWorkload):
                    self._tell_pods(made, workload, self._pods(workload), wanted)
                return
        unit = self._tell(workload, wanted)
        self._tell_pods(unit, workload, self._pods(workload), wanted, again=False)

    def _of_running(self, workload: Workload) -> Report | None:
        """The report of a unit whose minimum runs; None if that cannot be said now."""
        if not isinstance(workload, PlaceableWorkload):
            return reports.running(workload, None)
        placed = self._describe(workload.request)
        return reports.running(workload, placed) if placed is not None else None

    def _check_shown(self, key: Key) -> None:
        """Write a report again if its object shows something else."""
        now = self._clock.monotonic()
        unit = self._units.get(key)
        subject = unit.subject if unit is not None else None
        if subject is None or subject.writing or subject.wanted is not None or subject.written is None:
            # Nothing was reported, or something is about to be.
            return
        if subject.key != subject.workload.object.key or (shown := self._show(subject.key)) is None:
            return
        if self._shows(subject.written, subject.key, shown):
            return
        self.corrected += 1
        if subject.rivalry is None or now - subject.corrected_at > _RIVALRY_ENDS:
            subject.rivalry = Backoff(self._random, _FIRST_RIVALRY, _LONGEST_RIVALRY)
        due = max(now, subject.correct_from)
        subject.corrected_at, subject.correct_from = due, due + subject.rivalry.wait()
        subject.correcting, subject.wanted = True, subject.written
        self._queue.put(subject, subject.rank, due)

    def _shows(self, told: Report, key: Key, shown: Mapping[str, Any]) -> bool:
        """Whether an object shows a report, with its outcome."""
        outcome = self._outcome_of(key, shown)
        annotated = self._outcomes.annotated(key.namespace)
        return shows(told, (key.group, key.kind), shown, outcome, annotated=annotated)

    def _outcome_of(self, key: Key, shown: Mapping[str, Any]) -> str | None:
        return self._outcomes.shown(key, str(shown["metadata"].get("uid", "")))

    def _check_pods(self, key: Key) -> None:
        """Report to pods of a unit that were created, or created again, without a change of the unit."""
        unit = self._units.get(key)
        told = (unit.subject.wanted or unit.subject.written) if unit is not None else None
        if unit is None or told is None:
            return
        workload = unit.subject.workload
        names = {pod.name for pod in unit.pods}
        if self._may_gain_waiting_pods(unit):
            names |= set(self._pods(workload))
        for pod in sorted(Key("", "Pod", workload.object.namespace, name) for name in names):
            meta, before = self._find(pod), unit.pods.get(pod)
            if meta is None or (before is not None and before.uid == meta.uid):
                continue
            if before is not None:
                self._dismiss(before)
                told = before.wanted or before.written or told
            subject = unit.pods[pod] = Subject(pod, workload, meta.uid)
            self._want(subject, Rank.POD, told)

    # ------------------------------------------------------------------------------------------- writing

    async def run(self) -> None:
        """Write reports and events until cancelled."""
        background = [asyncio.create_task(self._recorder.run())]
        if self._pod_events is not None:
            background.append(asyncio.create_task(self._pod_events.run()))
        try:
            while True:
                busy = self._busy()
                if self._check_some(self._clock.monotonic(), busy=busy):
                    await asyncio.sleep(0)
                await self._pause(self._begin(busy=busy))
        finally:
            for task in (*background, *self._tasks):
                task.cancel()
            await asyncio.gather(*background, *self._tasks, return_exceptions=True)

    async def flush(self) -> None:
        """Write what is due now, news that would wait for bindings included, and then the events."""
        while (
            self._check_some(self._clock.monotonic(), busy=False)
            or self._begin(busy=False) == 0
            or self._tasks
        ):
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._recorder.flush()
        if self._pod_events is not None:
            await self._pod_events.flush()

    def _begin(self, *, busy: bool) -> float | None:
        """Begin to write what is due, and return the seconds until the next call; None waits for news."""
        now = self._clock.monotonic()
        for verdict in self._doubts.due(now):
            self._contained(verdict)
        overdue = now - self._pace.deferral
        while (placed := next(iter(self._placed.values()), None)) and (not busy or placed[0] <= overdue):
            self._placed.pop(placed[1].workload.object.key, None)
            self._contained(placed[1], placed[0])
        due = self._queue.take(now, busy=busy)
        while len(self._tasks) < self._pace.writers:
            if (subject := next(due, None)) is None:
                at = min((each for each in self._times(placed, busy=busy) if each is not None), default=None)
                # Nothing happens when the last binding is done, so it is polled.
                return None if at is None else min(max(at - now, 0.0), _LOOK if busy else at)
            self._start(self._write(subject))
        return None

    def _contained(self, verdict: AnyVerdict, since: float | None = None) -> None:
        """Render the report of a verdict; one that cannot be rendered keeps no other from being written."""
        with self._containment.at(verdict.workload.object.key, Step.REPORT) as step:
            self._decided(verdict, since=since)
        self.failed += step.failure is not None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _times(self, placed: tuple[float, Verdict] | None, *, busy: bool) -> Iterator[float | None]:
        """When something is to be done although nothing happens."""
        later = self._pace.deferral if busy else 0.0
        yield self._queue.next_time(busy=busy)
        yield self._doubts.next_time()
        yield placed[0] + self._pace.deferral if placed is not None else None
        for waiting in (self._unchecked, self._changed, self._touched, self._dismissed):
            since = next(iter(waiting.values()), None)
            yield since + later if since is not None else None
        yield self._recheck_at + later if self._recheck_at is not None else None

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._some.set()

    async def _pause(self, seconds: float | None) -> None:
        """Return when something is to be done, at the latest after so many seconds."""
        self._some.clear()
        waits: list[asyncio.Future[object]] = [asyncio.ensure_future(self._some.wait())]
        if seconds is not None:
            waits.append(asyncio.ensure_future(self._clock.sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _write(self, subject: Subject) -> None:
        told, rank = subject.wanted, subject.rank
        if told is None:
            # It was gone, or had its node, before this began.
            subject.writing = False
            return
        again: float | None = None
        try:
            await self._written(subject, told, rank)
        except (ConflictError, *TRANSIENT) as error:
            subject.backoff = subject.backoff or Backoff(self._random, limit=_LONGEST_RETRY)
            again = self._clock.monotonic() + max(subject.backoff.wait(), error.retry_after or 0.0)
        except (NotFoundError, LeaseExpiredError):
            subject.wanted = None
        except ApiError:
            # No later attempt would fare better; the next reason is tried again.
            self.refused += 1
            subject.wanted = None if subject.wanted is told else subject.wanted
        except Exception as error:  # noqa: BLE001 (it is awaited by nothing that could contain it)
            self._containment.note(subject.key, Step.REPORT, error)
            self.failed += 1
            subject.wanted = None if subject.wanted is told else subject.wanted
        finally:
            subject.writing = False
        if rank is Rank.POD and subject.dismissed:
            # The pod may have been bound while this was under way.
            await self._correct_pod(subject.key)
        elif subject.wanted is not None and again is not None:
            self._queue.put(subject, subject.rank, again)
        elif (wanted := subject.wanted) is not None:
            subject.wanted = None
            self._want(subject, subject.rank, wanted)
        elif (unit := self._units.get(subject.workload.object.key)) is not None and unit.ended:
            del self._units[subject.workload.object.key]

    async def _correct_pod(self, key: Key) -> None:
        """Take back that a bound pod waits; tried until the server answers."""
        backoff = Backoff(self._random, limit=_LONGEST_RETRY)
        while True:
            try:
                await correct_pod(self._api, key, timestamp(self._clock.now()))
            except (ConflictError, *TRANSIENT) as error:
                await self._clock.sleep(max(backoff.wait(), error.retry_after or 0.0))
            except (ApiError, LeaseExpiredError):
                # It is gone, or nothing may be written to it, or by this instance.
                return
            else:
                return

    async def _written(self, subject: Subject, told: Report, rank: Rank) -> None:
        meta, now = self._find(subject.key), timestamp(self._clock.now())
        if meta is not None and rank is Rank.POD:
            if meta.uid == subject.uid:
                subject.since = subject.since or now
                owner = "" if subject.workload.key == subject.key else wording.title(subject.workload.object)
                await write_pod(self._api, meta, told, owner, subject.since)
                if owner:
                    events.pod_waits(self._recorder, meta, told, owner)
        elif meta is not None and (resource := self._resource(subject.key)) is not None:
            # One object may ask for several units; then its events report them all.
            if subject.workload.object.key == subject.key:
                await write_unit(
                    self._api,
                    resource,
                    meta,
                    told,
                    now,
                    outcomes=self._outcomes,
                    shown=self._show(subject.key),
                )
            if not told.says_the_same(subject.written):
                events.unit_decided(self._recorder, subject.workload, resource, meta, told)
        self.written += 1
        subject.correcting = False
        subject.written, subject.written_at, subject.backoff = told, self._clock.monotonic(), None
        self._is_stored(subject)
        if subject.wanted == told:
            subject.wanted = None


def runs(workload: Workload) -> bool:
    """Whether the minimum of a unit runs, or has succeeded."""
    if isinstance(workload, PlaceableWorkload):
        return satisfied(workload.request.root)
    return not isinstance(workload, IncompleteWorkload) and workload.complete


def _requires(root: Group) -> bool:
    """Whether any group requires a level."""
    return any(isinstance(member, Group) and member.required is not None for member, _ in root.walk())


def _same_constraint(one: Report, other: Report) -> bool:
    """Whether two reports of a running unit state the same of its constraint."""
    if one.constraint is not other.constraint:
        return False
    return one.constraint is ConstraintState.SATISFIED or one.constraint_message == other.constraint_message
