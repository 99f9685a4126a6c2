"""Who is admitted next: quota and place are one decision over all Workloads that wait, in queue order.

The engine holds what reservations and other pods hold, and is changed in place. What was decided is believed
at once, and written until the server says the same; so nothing is given away twice, and one that starts anew
comes to the same. Time and dice come in as arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.controllers.kueue.bookings import Bookings
from closeknit.controllers.kueue.reservations import BY_WORKLOAD, Reservation, continued, unit
from closeknit.controllers.kueue.workload_status import (
    Admit,
    Evict,
    Intent,
    Observed,
    Pend,
    decided,
    observe,
)
from closeknit.controllers.runtime.controller import Controller
from closeknit.controllers.runtime.writes import Decision
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.kueue.compile import Nominated
from closeknit.dialects.kueue.render import admission_object
from closeknit.dialects.kueue.status import pending
from closeknit.dialects.kueue.topologies import FAMILY, kueue_key
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.accounts import Accounts
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.quantities import written
from closeknit.hub.quota import lacks_quota
from closeknit.hub.sentences import scheduler as sentences
from closeknit.hub.workload import ObjectName, Workload
from closeknit.scheduler.deciding import Verdict, decide
from closeknit.scheduler.preemption import Running, displacement
from closeknit.scheduler.reports import report
from closeknit.scheduler.waiting import WaitingQueue, order

_AT_ONCE = 64
"""So many are decided before what was decided is written."""
_Unit: TypeAlias = Reservation | Nominated | None


@dataclass(frozen=True, slots=True)
class _Policy:
    """What a ClusterQueue says of the order of its Workloads."""

    strict: bool = False
    preempts: str = "Never"


class AdmissionPlanner:
    """All Workloads and what is known of the nodes."""

    def __init__(self, random: Any) -> None:
        self.controller: Controller[Any] = Controller("kueue-workload", wire.Workload, observe, self._decide)
        self._books = Bookings()
        self._queue = WaitingQueue(random)
        self._units: dict[Key, _Unit] = {}
        self._intents: dict[Key, Intent] = {}
        self._preempting: dict[Key, frozenset[Key]] = {}
        """By Workload for which others have to go, those that were told to."""
        self._parked: dict[Key, Workload] = {}
        """Who stands behind one of them, and is not tried before it."""
        self._settled: dict[Key, None] = {}
        """Workloads whose assignments leave a choice of nodes."""
        self._lines: dict[str, dict[Key, Workload]] = {}
        """By ClusterQueue in which nobody is passed, who waits there."""
        self._broken: dict[Key, None] = {}
        """What could not be read for a mistake of ours; it is tried again at every look."""
        self._told: dict[Key, None] = {}

    def next_time(self, now: datetime) -> datetime | None:
        """When somebody may be tried again."""
        time = self._queue.next_time(now.timestamp())
        # A time is cut to microseconds, and must not lie before the moment that is meant.
        return datetime.fromtimestamp(time, UTC) + timedelta(milliseconds=1) if time is not None else None

    def look(self, view: View, changed: Mapping[Key, type[Any]], now: datetime) -> Iterable[Key]:
        """Take in what has changed, and decide who can be decided."""
        self._told = {}
        self._books.tracked.set_topologies(view.derive(topologies_of, FAMILY).values())
        self._books.follow(view, changed)
        again = [key for key, shape in changed.items() if shape is wire.Workload]
        broken, self._broken = self._broken, {}
        for key in dict.fromkeys([*again, *broken, *(key for (key,) in view.stale(unit))]):
            try:
                self._take_in(view, key)
            except Exception as error:  # noqa: BLE001 (one Workload must not stop the others)
                self._broken[key] = None
                self._leave_queue(key)
                self._intents[key] = Pend("Misconfigured", f"{type(error).__name__}: {error}")
                self._told[key] = None
        for key in [key for (key,) in view.stale(continued) if key in self._settled]:
            # Where an assignment leaves a choice of nodes, pods that run have made theirs.
            if isinstance(found := self._units.get(key), Reservation):
                self._settle(view, found)
        for node in self._books.overfull():
            self._make_way(view, node)
        if changes := self._books.changes():
            self._queue.wake(changes, self._books.tracked.engine)
        self._try_preemptors()
        self._admit_next(view, now)
        self._try_preemptors()
        return self._told

    def _decide(self, observed: Observed, now: datetime) -> Decision:
        return decided(observed, self._intents.get(observed.key), now)

    # -------------------------------------------------------------------------------------- taking in

    def _take_in(self, view: View, key: Key) -> None:
        """Book what a Workload has, or let it wait."""
        before, now = self._units.get(key), view.derive(unit, key)
        if before == now and key in self._units:
            return
        self._told[key] = None
        self._settled.pop(key, None)
        if now is None:
            self._units.pop(key, None)
        else:
            self._units[key] = now
        if isinstance(now, Reservation):
            self._leave_queue(key)
            if now.evicted or not isinstance(self._intents.get(key), Evict):
                self._intents.pop(key, None)
            self._books.book(key, now)
            if now.lost and not now.evicted:
                self._replace(view, now)
            elif not now.whole and not now.evicted:
                self._settle(view, now)
        else:
            self._intents.pop(key, None)
            self._books.give_back(key)
            if now is None:
                self._leave_queue(key)
            else:
                self._wait(view, key, now)

    # ---------------------------------------------------------------------------------------- waiting

    def _wait(self, view: View, key: Key, waiting: Nominated) -> None:
        if waiting.queue is None or not waiting.admissions:
            self._leave_queue(key)
            for reason, message in pending(waiting, view):
                looked = reason == "NoMatchingFlavor"
                self._intents[key] = Pend(reason, message, _requests(waiting) if looked else None)
            return
        name = waiting.queue.name
        if not _policy(view, name).strict:
            self._queue.put(waiting.workload)
            return
        line = self._lines.setdefault(name, {})
        line[key] = waiting.workload
        self._offer_first(name)

    def _offer_first(self, name: str) -> None:
        """Of those in a queue in which nobody is passed, only the first may be tried."""
        line = sorted(self._lines.get(name, {}).items(), key=lambda each: order(each[1]))
        for i, (key, workload) in enumerate(line):
            if i:
                self._queue.remove(key)
            else:
                self._queue.put(workload)

    def _leave_queue(self, key: Key) -> None:
        self._queue.remove(key)
        self._parked.pop(key, None)
        for name, line in self._lines.items():
            if line.pop(key, None) is not None:
                self._offer_first(name)

    # --------------------------------------------------------------------------------------- deciding

    def _admit_next(self, view: View, now: datetime) -> None:
        time = now.timestamp()
        for _ in range(_AT_ONCE):
            workload = self._queue.take(time)
            if workload is None:
                return
            key = workload.object.key
            waiting = self._units.get(key)
            if not isinstance(waiting, Nominated):
                self._queue.remove(key)
                continue
            if self._is_behind(key):
                self._queue.remove(key)
                self._parked[key] = workload
                continue
            self._told[key] = None
            self._preempting.pop(key, None)
            verdict = self._decided(waiting.workload)
            if isinstance(verdict.outcome, Placed):
                self._admit(view, key, waiting, verdict)
            else:
                self._queue.failed(key, verdict.outcome, time)
                self._intents[key] = self._refused(view, key, waiting, verdict, time)

    def _decided(self, workload: Workload) -> Verdict:
        try:
            return decide(
                self._books.tracked.engine, self._books.tracked.topologies, workload, self._books.accounts
            )
        except Exception as error:  # noqa: BLE001 (one Workload that breaks a rule of ours must not stop the others)
            said = f"{type(error).__name__}: {error}"
            return Verdict(workload, None, (sentences.NOT_UNDERSTOOD.at((), kind="Workload", error=said),))

    def _admit(self, view: View, key: Key, waiting: Nominated, verdict: Verdict) -> None:
        assert isinstance(verdict.outcome, Placed)
        assert waiting.queue is not None
        way = next(each for each in waiting.admissions if each.option is verdict.option)
        self._books.admit(key, verdict)
        self._leave_queue(key)
        admission = admission_object(waiting, way, verdict.outcome, view)
        self._intents[key] = Admit(waiting.queue.name, admission)

    def _refused(self, view: View, key: Key, waiting: Nominated, verdict: Verdict, now: float) -> Intent:
        told = report(verdict).message
        reason = "Misconfigured" if verdict.outcome is None else "TopologyPlacementFailed"
        if verdict.outcome is not None and lacks_quota(verdict.outcome):
            all_free = Accounts()
            ever = any(all_free.affordable(each) is not None for each in waiting.workload.options)
            reason = "WaitingForQuota" if ever else "ExceedsMaxQuota"
        victims = self._preempt(view, key, waiting, now) if verdict.outcome is not None else 0
        if victims:
            reason = "WaitingForPreemptedWorkloads"
            told += f" Pending the preemption of {victims} workload(s)"
        return Pend(reason, told, _requests(waiting))

    # ------------------------------------------------------------------------------------- preempting

    def _preempt(self, view: View, key: Key, waiting: Nominated, now: float) -> int:
        """Evict Workloads of lower priority from the same ClusterQueue; how many have to go.

        Until they have gone, nobody behind it in that queue is admitted.
        """
        assert waiting.queue is not None
        policy = _policy(view, waiting.queue.name).preempts
        if policy == "Never":
            return 0
        if self._fits_soon(view, waiting):
            self._preempting[key] = frozenset()
            return 0
        plan = displacement(
            self._books.tracked.engine,
            self._books.tracked.topologies,
            waiting.workload,
            list(self._candidates(waiting, policy)),
            accounts=self._books.accounts,
            now=now,
        )
        if plan is None:
            return 0
        uid = waiting.queued.stored.content.metadata.uid
        why = f"Preempted to accommodate a workload (UID: {uid}) due to prioritization in the ClusterQueue"
        for victim in (each.workload.object.key for each in plan.victims):
            self._intents[victim] = Evict("Preempted", why, "InClusterQueue")
            self._told[victim] = None
        self._preempting[key] = frozenset(each.workload.object.key for each in plan.victims)
        return len(plan.victims)

    def _fits_soon(self, view: View, waiting: Nominated) -> bool:
        """Whether a Workload fits as soon as those have gone that were told to go already."""
        engine, books, going = (
            self._books.tracked.engine,
            self._books.accounts.copy(),
            dict(self._books.leaving),
        )
        quota = False
        for key, each in self._units.items():
            if isinstance(each, Reservation) and (each.evicted or isinstance(self._intents.get(key), Evict)):
                books.forget(each.name)
                quota = True
                going |= self._books.held(key)
                for pod in view.found(BY_WORKLOAD, key):
                    if (held := self._books.tracked.holding(pod.key)) is not None:
                        going[pod.key] = held
        if not going and not quota:
            return False
        with engine.fork():
            for held in going.values():
                if held.node in self._books.tracked.nodes:
                    engine.release_pods(held)
            verdict = decide(engine, self._books.tracked.topologies, waiting.workload, books, explained=False)
        return isinstance(verdict.outcome, Placed)

    def _try_preemptors(self) -> None:
        """Try those again for whom others have gone, and let nobody wait behind those who wait no more."""
        for key, victims in list(self._preempting.items()):
            waiting = self._units.get(key)
            if not isinstance(waiting, Nominated) or isinstance(self._intents.get(key), Admit):
                del self._preempting[key]
            elif victims and not any(isinstance(self._units.get(each), Reservation) for each in victims):
                self._preempting[key] = frozenset()
                self._queue.remove(key)
                self._queue.put(waiting.workload)
        for key, workload in list(self._parked.items()):
            if not self._is_behind(key):
                del self._parked[key]
                self._queue.put(workload)

    def _is_behind(self, key: Key) -> bool:
        """Whether a Workload stands behind one in its queue for which others have to go."""
        mine = self._units.get(key)
        if not isinstance(mine, Nominated) or mine.queue is None:
            return False
        firsts = (each for each in self._preempting if each != key)
        return any(
            isinstance(first := self._units.get(each), Nominated)
            and first.queue is not None
            and first.queue.name == mine.queue.name
            and order(first.workload) < order(mine.workload)
            for each in firsts
        )

    def _candidates(self, waiting: Nominated, policy: str) -> Iterator[Running]:
        assert waiting.queue is not None
        mine = waiting.workload
        for key, each in self._units.items():
            if not isinstance(each, Reservation) or each.queue != waiting.queue.name or each.evicted:
                continue
            priority = each.priority
            if policy == "LowerOrNewerEqualPriority" and priority == mine.priority:
                priority -= _is_newer(each, mine)
            name = ObjectName("kueue.x-k8s.io/v1beta2", "Workload", key.namespace, key.name)
            workload = Workload(name, FAMILY, each.option.request, priority=priority)
            nodes = frozenset(held.node for held in self._books.held(key).values())
            yield Running(workload, each.name, each.option.pods, each.since, nodes)

    # -------------------------------------------------------------------------------------- replacing

    def _replace(self, view: View, lost: Reservation) -> None:
        """Give pods whose node is lost another place near the others, or evict the Workload."""
        names = ", ".join(lost.lost)
        evict = Evict(
            "NodeFailures", f"Workload was evicted as there was no replacement for unhealthy node(s): {names}"
        )
        found = view.derive(continued, lost.key)
        if lost.fixed or found is None or not found.admissions or found.queue is None:
            self._intents[lost.key] = evict
            return
        verdict = self._decided(found.workload)
        way = next((each for each in found.admissions if each.option is verdict.option), None)
        if not isinstance(verdict.outcome, Placed) or way is None:
            self._intents[lost.key] = evict
            return
        places = {slot.node for pods in found.queued.pod_sets for slot in pods.slots}
        kept = {name: held for name, held in self._books.held(lost.key).items() if held.node in places}
        self._books.hold_placed(lost.key, verdict, kept)
        admission = admission_object(found, way, verdict.outcome, view)
        self._intents[lost.key] = Admit(found.queue.name, admission)

    def _make_way(self, view: View, node: str) -> None:
        """Evict those, the last first, who were given a place that others have taken before their pods came.

        Who binds pods decides by itself, and two may give away the same place before each sees the other's.
        """
        mine = [
            each
            for each in self._units.values()
            if isinstance(each, Reservation) and not each.evicted and each.whole
            if sum(held.pods for held in each.holdings if held.node == node) > _bound(view, each.key, node)
        ]
        for last in sorted(mine, key=lambda each: (each.since, each.created, each.name), reverse=True):
            if not self._books.tracked.is_overfull(node):
                return
            message = f"Workload was evicted as other pods have taken its place on node {node}"
            self._intents[last.key] = Evict("NodeFailures", message)
            self._books.hold(last.key, {})
            self._told[last.key] = None

    def _settle(self, view: View, reservation: Reservation) -> None:
        """Hold a place for every pod of an assignment that leaves a choice of nodes."""
        found = view.derive(continued, reservation.key)
        if found is None or not found.admissions or not any(each.topology for each in found.admissions):
            return
        self._settled[reservation.key] = None
        self._books.hold(reservation.key, {})
        verdict = self._decided(found.workload)
        if isinstance(verdict.outcome, Placed):
            self._books.hold_placed(reservation.key, verdict)


def _bound(view: View, workload: Key, node: str) -> int:
    """How many pods of a Workload are on a node, or have been."""
    return sum(pod.content.spec.node_name == node for pod in view.found(BY_WORKLOAD, workload))


def _requests(waiting: Nominated) -> tuple[Mapping[str, Any], ...]:
    """By pod set, what it asks for."""
    asked = ((each.name, each.shape.resources * each.count) for each in waiting.queued.pod_sets)
    return tuple(
        {"name": name, "resources": {each: written(each, amount) for each, amount in resources.items()}}
        for name, resources in asked
    )


def _policy(view: View, name: str) -> _Policy:
    return view.derive(_policy_of, name)


def _policy_of(view: View, name: str) -> _Policy:
    stored = view.get(kueue_key("ClusterQueue", name))
    spec = stored.written.get("spec", {}) if isinstance(stored, Stored) else {}
    preemption = spec.get("preemption") or {}
    return _Policy(
        spec.get("queueingStrategy") == "StrictFIFO", preemption.get("withinClusterQueue") or "Never"
    )


def _is_newer(reservation: Reservation, workload: Workload) -> bool:
    """Whether a Workload that has quota is newer than one that waits."""
    created = workload.created
    return bool(created) and reservation.created > created
