"""Who is admitted next: quota and place are one decision over all Workloads that wait, in queue order.

The engine holds what reservations and other pods hold, and is changed in place. What was decided is believed
at once, and written until the server says the same; so nothing is given away twice, and one that starts anew
comes to the same. Time and dice come in as arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from closeknit.apis import core_v1
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.controllers.kueue.admission_plan import AdmissionPlan
from closeknit.controllers.kueue.bookings import Bookings
from closeknit.controllers.kueue.preempting import Preemptors
from closeknit.controllers.kueue.replacing import make_way, replace, settle
from closeknit.controllers.kueue.reservations import Reservation, continued, unit
from closeknit.controllers.kueue.strict_lines import StrictLines
from closeknit.controllers.kueue.workload_status import (
    Admit,
    Evict,
    Observed,
    Pend,
    decided,
    observe,
)
from closeknit.controllers.runtime.controller import Controller
from closeknit.controllers.runtime.writes import Decision
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.kueue.compile import Nominated
from closeknit.dialects.kueue.status import pending
from closeknit.dialects.kueue.to_workload import admission_object
from closeknit.dialects.kueue.topologies import FAMILY
from closeknit.dialects.store.view import View
from closeknit.engine import UNPACED, Pace
from closeknit.hub.accounts import Accounts
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.quantities import written
from closeknit.hub.quota import lacks_quota
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.deciding import Failed, Verdict
from closeknit.scheduler.status.reports import report
from closeknit.scheduler.waiting import WaitingQueue

_AT_ONCE = 64
"""So many are decided before what was decided is written."""


class AdmissionPlanner:
    """All Workloads and what is known of the nodes."""

    def __init__(self, random: Any, pace: Pace = UNPACED) -> None:
        """``pace`` interrupts long decisions; nothing may change the view meanwhile."""
        self.controller: Controller[Any] = Controller("kueue-workload", wire.Workload, observe, self._decide)
        self._plan = AdmissionPlan(Bookings(pace))
        self._queue = WaitingQueue(random)
        self._lines = StrictLines(self._queue)
        self._preemptors = Preemptors(self._plan, self._queue)
        self._booking = False
        """Whether there has been a Workload; until then nobody asks what pods hold, and nothing is booked."""
        self._settled: dict[Key, None] = {}
        """Workloads whose assignments leave a choice of nodes."""
        self._broken: dict[Key, None] = {}
        """What could not be read for a mistake of ours; it is tried again at every look."""

    def next_time(self, now: datetime) -> datetime | None:
        """When somebody may be tried again."""
        time = self._queue.next_time(now.timestamp())
        # A time is cut to microseconds, and must not lie before the moment that is meant.
        return datetime.fromtimestamp(time, UTC) + timedelta(milliseconds=1) if time is not None else None

    def look(self, view: View, changed: Mapping[Key, type[Any]], now: datetime) -> Iterable[Key]:
        """Take in what has changed, and decide who can be decided."""
        if not self._booking:
            if not view.keys(wire.Workload):
                return ()
            self._booking = True
            there = {key: shape for shape in (core_v1.Node, core_v1.Pod) for key in view.keys(shape)}
            changed = {**there, **changed}
        plan, books = self._plan, self._plan.books
        plan.changed = {}
        books.tracked.set_topologies(view.derive(topologies_of, FAMILY).values())
        books.follow(view, changed)
        again = [key for key, shape in changed.items() if shape is wire.Workload]
        broken, self._broken = self._broken, {}
        for key in dict.fromkeys([*again, *broken, *(key for (key,) in view.stale(unit))]):
            try:
                self._take_in(view, key)
            except Exception as error:  # noqa: BLE001 (one Workload must not stop the others)
                self._broken[key] = None
                self._leave_queue(key)
                plan.want(key, Pend("Misconfigured", f"{type(error).__name__}: {error}"))
        for key in [key for (key,) in view.stale(continued) if key in self._settled]:
            # Where an assignment leaves a choice of nodes, pods that run have made theirs.
            if isinstance(found := plan.units.get(key), Reservation):
                settle(plan, view, found)
        for node in books.overfull():
            make_way(plan, view, node)
        if changes := books.changes():
            self._queue.wake(changes, books.tracked.engine)
        self._preemptors.try_again()
        self._admit_next(view, now)
        self._preemptors.try_again()
        return plan.changed

    def _decide(self, observed: Observed, now: datetime) -> Decision:
        return decided(observed, self._plan.intents.get(observed.key), now)

    # -------------------------------------------------------------------------------------- taking in

    def _take_in(self, view: View, key: Key) -> None:
        """Book what a Workload has, or let it wait."""
        plan = self._plan
        before, now = plan.units.get(key), view.derive(unit, key)
        if before == now and key in plan.units:
            return
        plan.changed[key] = None
        self._settled.pop(key, None)
        if now is None:
            plan.units.pop(key, None)
        else:
            plan.units[key] = now
        if isinstance(now, Reservation):
            self._leave_queue(key)
            if now.evicted or not isinstance(plan.intents.get(key), Evict):
                plan.intents.pop(key, None)
            plan.books.book(key, now)
            if now.lost and not now.evicted:
                replace(plan, view, now)
            elif not now.whole and not now.evicted and settle(plan, view, now):
                self._settled[key] = None
        else:
            plan.intents.pop(key, None)
            plan.books.give_back(key)
            if now is None:
                self._leave_queue(key)
            else:
                self._wait(view, key, now)

    def _wait(self, view: View, key: Key, waiting: Nominated) -> None:
        if waiting.queue is None or not isinstance(waiting.workload, PlaceableWorkload):
            self._leave_queue(key)
            for reason, message in pending(waiting, view):
                looked = reason == "NoMatchingFlavor"
                self._plan.want(key, Pend(reason, message, _requests(waiting) if looked else None))
        elif waiting.queue.strict:
            self._lines.line_up(waiting.queue.name, waiting.workload)
        else:
            self._lines.leave(key)
            self._queue.put(waiting.workload)

    def _leave_queue(self, key: Key) -> None:
        self._queue.remove(key)
        self._lines.leave(key)
        self._preemptors.unpark(key)

    # --------------------------------------------------------------------------------------- deciding

    def _admit_next(self, view: View, now: datetime) -> None:
        time = now.timestamp()
        for _ in range(_AT_ONCE):
            workload = self._queue.take(time)
            if workload is None:
                return
            key = workload.object.key
            waiting = self._plan.waiting(key)
            if waiting is None or not isinstance(waiting.workload, PlaceableWorkload):
                self._queue.remove(key)
                continue
            if self._preemptors.is_behind(key):
                self._preemptors.park(key, workload)
                continue
            self._plan.changed[key] = None
            self._preemptors.forget(key)
            verdict = self._plan.decide(waiting.workload)
            if isinstance(verdict.outcome, Placed):
                self._admit(view, key, waiting, verdict)
            else:
                self._queue.failed(key, verdict.outcome, time)
                victims = 0
                if not isinstance(verdict.outcome, Failed):
                    victims = self._preemptors.preempt(view, key, waiting, waiting.workload, time)
                self._plan.want(key, _refused(waiting, verdict, victims))

    def _admit(self, view: View, key: Key, waiting: Nominated, verdict: Verdict) -> None:
        assert isinstance(verdict.outcome, Placed)
        assert waiting.queue is not None
        way = next(each for each in waiting.admissions if each.option is verdict.option)
        self._plan.books.admit(key, verdict)
        self._leave_queue(key)
        admission = admission_object(waiting, way, verdict.outcome, view)
        self._plan.want(key, Admit(waiting.queue.name, admission))


def _refused(waiting: Nominated, verdict: Verdict, victims: int) -> Pend:
    """Why a Workload waits; ``victims`` is how many others have to go for it."""
    told = report(verdict).message
    reason = "Misconfigured" if isinstance(verdict.outcome, Failed) else "TopologyPlacementFailed"
    if isinstance(verdict.outcome, Unplaceable) and lacks_quota(verdict.outcome):
        all_free = Accounts()
        ever = any(all_free.affordable(each) is not None for each in waiting.workload.options)
        reason = "WaitingForQuota" if ever else "ExceedsMaxQuota"
    if victims:
        reason = "WaitingForPreemptedWorkloads"
        told += f" Pending the preemption of {victims} workload(s)"
    return Pend(reason, told, _requests(waiting))


def _requests(waiting: Nominated) -> tuple[Mapping[str, Any], ...]:
    """By pod set, what it asks for."""
    asked = ((each.name, each.shape.resources * each.count) for each in waiting.queued.pod_sets)
    return tuple(
        {"name": name, "resources": {each: written(each, amount) for each, amount in resources.items()}}
        for name, resources in asked
    )
