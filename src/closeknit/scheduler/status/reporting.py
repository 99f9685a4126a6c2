"""Tells people what became of units: conditions, the outcome as an annotation, and events.

The scheduler hands over reports and never waits. Of each object only the latest report counts, and it is
written when its reason changed; a change in the details alone is written once in a while. Why a unit waits
goes first, since somebody wants to know; that one was placed is told when no bindings are under way, or a
few seconds later. What a server refuses for now is tried again for as long as it is true.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import TypeAlias

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.hub.keys import Key
from closeknit.hub.workload import Workload
from closeknit.kube.backoff import Backoff
from closeknit.kube.clock import SYSTEM_CLOCK, Clock, timestamp
from closeknit.kube.errors import TRANSIENT, ApiError, ConflictError, NotFoundError
from closeknit.kube.events import Recorder
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import Resource
from closeknit.scheduler import wording
from closeknit.scheduler.deciding import Failed
from closeknit.scheduler.gangs.states import BelowMinimum
from closeknit.scheduler.planning import AnyVerdict, InvalidVerdict, Verdict
from closeknit.scheduler.preempt.preemptions import Ending, Plan
from closeknit.scheduler.status import events, preemption_events, reports
from closeknit.scheduler.status.doubts import Doubts
from closeknit.scheduler.status.reports import Report, State
from closeknit.scheduler.status.write_queue import Pace, Rank, ReportQueue, Subject
from closeknit.scheduler.status.writes import correct_pod, write_pod, write_unit

_LOOK = 0.05
"""How often it is looked whether bindings are still under way, while good news waits."""

Find: TypeAlias = Callable[[Key], ObjectMeta | None]
"""What is known of an object; None where it does not exist."""


@dataclass(slots=True)
class _Unit:
    subject: Subject
    pods: dict[Key, Subject] = field(default_factory=dict)
    """Those that wait."""


class Reporter:
    """Tells what became of units. ``run`` does the writing, until cancelled.

    ``find`` and ``resource`` say what is known of an object, ``pods`` which pods wait with a unit that could
    not be read, ``outdated`` whether something was heard of a unit since it was judged, and ``busy`` whether
    bindings are under way.
    """

    def __init__(
        self,
        api: KubernetesApi,
        recorder: Recorder,
        *,
        find: Find,
        resource: Callable[[Key], Resource | None],
        random: Random,
        pods: Callable[[Workload], Iterable[str]] = lambda _: (),
        outdated: Callable[[Workload], bool] = lambda _: False,
        busy: Callable[[], bool] = lambda: False,
        pace: Pace | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._api = api
        self._recorder = recorder
        self._find = find
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
        self._tasks: set[asyncio.Task[None]] = set()
        self._some = asyncio.Event()
        self.written = 0
        """How many reports the server took."""
        self.refused = 0
        """How many it refused for good, as for lack of permission."""

    def placed(self, verdict: Verdict) -> None:
        """A unit got its nodes; pods above its minimum may still wait."""
        key = verdict.workload.object.key
        if key in self._units or not self._busy() or reports.waiting_pods(verdict):
            self._decided(verdict)
            return
        # Nobody waits for these words, and they take as long as a tenth of all that led to them.
        self._forget_unworded(key)
        self._placed[key] = self._clock.monotonic(), verdict
        self._some.set()

    def waiting(
        self, verdict: AnyVerdict, plan: Plan | None = None, stored: Callable[[], None] | None = None
    ) -> None:
        """A unit got no nodes, for lack of room or because of what is wrong with it.

        Where the server never takes the report with the plan, ``stored`` is not called.
        """
        if not isinstance(verdict.outcome, Failed | None):
            self._decided(verdict, plan, stored)
            return
        # What is wrong is often right a moment later, and takes long to put into words.
        self._doubts.note(verdict, self._clock.monotonic())
        self._some.set()

    def released(self, workload: Workload, below: BelowMinimum) -> None:
        """What ran of a gang below its minimum is evicted, because it could not be completed in time."""
        self._tell(workload, reports.released(below))

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

    def displaced(self, workload: Workload, by: Workload) -> None:
        """A unit has to make room for another."""
        self._tell(workload, reports.displaced(by))

    def gone(self, key: Key) -> None:
        """A unit (its ``object.key``) no longer exists; nothing more is told about it."""
        self._forget_unworded(key)
        if (unit := self._units.pop(key, None)) is not None:
            for subject in (unit.subject, *unit.pods.values()):
                subject.dismissed, subject.wanted = True, None

    @property
    def pending(self) -> int:
        """How many objects have something to be told that is not written."""
        return (
            len(self._doubts)
            + len(self._placed)
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

    # ------------------------------------------------------------------------------- what should be told

    def _decided(
        self,
        verdict: AnyVerdict,
        plan: Plan | None = None,
        stored: Callable[[], None] | None = None,
        *,
        since: float | None = None,
    ) -> None:
        told = reports.report(verdict, plan, self._date(verdict.below))
        workload = verdict.workload
        unit = self._tell(workload, told, since)
        if stored is not None:
            unit.subject.awaited = told.plan, stored
            self._is_stored(unit.subject)
        names = self._pods(workload) if isinstance(verdict, InvalidVerdict) else reports.waiting_pods(verdict)
        waiting = {Key("", "Pod", workload.object.namespace, name) for name in names}
        for key in unit.pods.keys() - waiting:
            subject = unit.pods.pop(key)
            subject.dismissed, subject.wanted = True, None
        for key in sorted(waiting):
            subject = unit.pods.setdefault(key, Subject(key, workload))
            if not told.says_the_same(subject.written):
                self._want(subject, Rank.POD, told)

    def _date(self, below: BelowMinimum | None) -> str | None:
        """When the running pods of a gang below its minimum are evicted; None for never."""
        if below is None or below.evicted_at is None:
            return None
        seconds = below.evicted_at - self._clock.monotonic()
        return timestamp(self._clock.now() + timedelta(seconds=seconds))

    def _forget_unworded(self, key: Key) -> None:
        """Something else is to be told of a unit, or nothing."""
        self._doubts.forget(key)
        self._placed.pop(key, None)

    def _tell(self, workload: Workload, told: Report, since: float | None = None) -> _Unit:
        self._forget_unworded(workload.object.key)
        unit = self._units.setdefault(workload.object.key, _Unit(Subject(workload.key, workload)))
        subject = unit.subject
        subject.workload = workload
        self._want(subject, Rank.PLACED if told.state is State.SCHEDULED else Rank.UNIT, told, since)
        return unit

    def _is_stored(self, subject: Subject) -> None:
        """Tell who waits for a plan that it was written."""
        if subject.awaited is not None and subject.written is not None:
            plan, stored = subject.awaited
            if subject.written.plan == plan:
                subject.awaited = None
                stored()

    def _want(self, subject: Subject, rank: Rank, told: Report, since: float | None = None) -> None:
        """Tell this of an object; ``since`` is when it became true, now unless it is given."""
        self._queue.want(subject, rank, told, self._clock.monotonic() if since is None else since)
        self._some.set()

    # ------------------------------------------------------------------------------------------- writing

    async def run(self) -> None:
        """Write reports and events until cancelled."""
        events = asyncio.create_task(self._recorder.run())
        try:
            while True:
                await self._pause(self._begin(busy=self._busy()))
        finally:
            for task in (events, *self._tasks):
                task.cancel()
            await asyncio.gather(events, *self._tasks, return_exceptions=True)

    async def flush(self) -> None:
        """Write what is due now, news that would wait for bindings included, and then the events."""
        while self._begin(busy=False) == 0 or self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._recorder.flush()

    def _begin(self, *, busy: bool) -> float | None:
        """Begin to write what is due, and return the seconds until the next look; None waits for news."""
        now = self._clock.monotonic()
        for verdict in self._doubts.due(now):
            self._decided(verdict)
        overdue = now - self._pace.deferral
        while (placed := next(iter(self._placed.values()), None)) and (not busy or placed[0] <= overdue):
            self._decided(placed[1], since=placed[0])
        due = self._queue.take(now, busy=busy)
        while len(self._tasks) < self._pace.writers:
            if (subject := next(due, None)) is None:
                times = (
                    self._queue.next_time(busy=busy),
                    self._doubts.next_time(),
                    placed[0] + self._pace.deferral if placed is not None else None,
                )
                at = min((each for each in times if each is not None), default=None)
                # Nobody says when the last binding is done, so it is looked.
                return None if at is None else min(max(at - now, 0.0), _LOOK if busy else at)
            task = asyncio.create_task(self._write(subject))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        return None

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
            subject.backoff = subject.backoff or Backoff(self._random)
            again = self._clock.monotonic() + max(subject.backoff.wait(), error.retry_after or 0.0)
        except NotFoundError:
            subject.wanted = None
        except ApiError:
            # No later attempt would fare better; the next reason is tried again.
            self.refused += 1
            subject.wanted = None if subject.wanted is told else subject.wanted
        finally:
            subject.writing = False
        if rank is Rank.POD and subject.dismissed:
            # The pod may have been bound while this was under way.
            with suppress(ApiError):
                await correct_pod(self._api, subject.key, timestamp(self._clock.now()))
        elif subject.wanted is not None and again is not None:
            self._queue.put(subject, subject.rank, again)
        elif (wanted := subject.wanted) is not None:
            subject.wanted = None
            self._want(subject, subject.rank, wanted)

    async def _written(self, subject: Subject, told: Report, rank: Rank) -> None:
        meta, now = self._find(subject.key), timestamp(self._clock.now())
        if meta is not None and rank is Rank.POD:
            subject.since = subject.since or now
            owner = "" if subject.workload.key == subject.key else wording.title(subject.workload.object)
            await write_pod(self._api, meta, told, owner, subject.since)
            if owner:
                events.pod_waits(self._recorder, meta, told, owner)
        elif meta is not None and (resource := self._resource(subject.key)) is not None:
            # One object may ask for several units; then its events tell of them all.
            if subject.workload.object.key == subject.key:
                await write_unit(self._api, resource, meta, told, now)
            if not told.says_the_same(subject.written):
                events.unit_decided(self._recorder, subject.workload, resource, meta, told)
        self.written += 1
        subject.written, subject.written_at, subject.backoff = told, self._clock.monotonic(), None
        self._is_stored(subject)
        if subject.wanted == told:
            subject.wanted = None
