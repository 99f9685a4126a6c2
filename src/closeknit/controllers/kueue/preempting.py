"""Who has to go for whom: Workloads of one ClusterQueue, by its preemption policy."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.controllers.kueue.admission_plan import AdmissionPlan
from closeknit.controllers.kueue.reservations import BY_WORKLOAD, Reservation
from closeknit.controllers.kueue.workload_status import Admit, Evict
from closeknit.dialects.kueue.compile import Nominated
from closeknit.dialects.kueue.topologies import FAMILY
from closeknit.dialects.store.view import View
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName, PlaceableWorkload, Workload
from closeknit.scheduler.deciding import decide
from closeknit.scheduler.preempt.running import BoundPod, RunningUnit
from closeknit.scheduler.preempt.victims import NoVictims, choose_victims
from closeknit.scheduler.waiting import WaitingQueue, order


class Preemptors:
    """Workloads for which others have to go, and who stands behind them until then."""

    def __init__(self, plan: AdmissionPlan, queue: WaitingQueue) -> None:
        self._plan, self._queue = plan, queue
        self._victims: dict[Key, frozenset[Key]] = {}
        """By Workload for which others have to go, those that were told to."""
        self._parked: dict[Key, PlaceableWorkload] = {}
        """Who stands behind one of them, and is not tried before it."""

    def preempt(
        self, view: View, key: Key, waiting: Nominated, workload: PlaceableWorkload, now: float
    ) -> int:
        """Evict Workloads of lower priority from the same ClusterQueue; how many have to go.

        Until they have gone, nobody behind it in that queue is admitted. ``workload`` is the nominated one.
        """
        assert waiting.queue is not None
        if waiting.queue.preempts == "Never":
            return 0
        if self._fits_soon(view, workload):
            self._victims[key] = frozenset()
            return 0
        chosen = choose_victims(
            self._plan.books.tracked.engine,
            self._plan.books.tracked.topologies,
            workload,
            list(self._candidates(view, waiting)),
            accounts=self._plan.books.accounts,
            now=now,
        )
        if isinstance(chosen, NoVictims):
            return 0
        uid = waiting.queued.stored.content.metadata.uid
        why = f"Preempted to accommodate a workload (UID: {uid}) due to prioritization in the ClusterQueue"
        victims = frozenset(victim.unit.workload.object.key for victim in chosen.victims)
        for victim in chosen.victims:
            self._plan.want(victim.unit.workload.object.key, Evict("Preempted", why, "InClusterQueue"))
        self._victims[key] = victims
        return len(victims)

    def try_again(self) -> None:
        """Try those again for whom others have gone, and let nobody wait behind those who wait no more."""
        units = self._plan.units
        for key, victims in list(self._victims.items()):
            waiting = self._plan.waiting(key)
            if waiting is None or isinstance(self._plan.intents.get(key), Admit):
                del self._victims[key]
            elif victims and not any(isinstance(units.get(each), Reservation) for each in victims):
                if not isinstance(waiting.workload, PlaceableWorkload):
                    # It became invalid meanwhile, so those behind it need not wait for it.
                    del self._victims[key]
                    continue
                self._victims[key] = frozenset()
                self._queue.remove(key)
                self._queue.put(waiting.workload)
        for key, workload in list(self._parked.items()):
            if not self.is_behind(key):
                del self._parked[key]
                self._queue.put(workload)

    def is_behind(self, key: Key) -> bool:
        """Whether a Workload stands behind one in its queue for which others have to go."""
        mine = self._plan.waiting(key)
        if mine is None or mine.queue is None:
            return False
        firsts = (self._plan.waiting(each) for each in self._victims if each != key)
        return any(
            first is not None
            and first.queue is not None
            and first.queue.name == mine.queue.name
            and order(first.workload) < order(mine.workload)
            for first in firsts
        )

    def park(self, key: Key, workload: PlaceableWorkload) -> None:
        """Do not try a Workload before the one that it stands behind."""
        self._queue.remove(key)
        self._parked[key] = workload

    def unpark(self, key: Key) -> None:
        """A Workload waits no more, or elsewhere."""
        self._parked.pop(key, None)

    def forget(self, key: Key) -> None:
        """A Workload is decided anew: nobody has to go for it, as far as is known."""
        self._victims.pop(key, None)

    def _fits_soon(self, view: View, workload: PlaceableWorkload) -> bool:
        """Whether a Workload fits as soon as those have gone that were told to go already."""
        books = self._plan.books
        accounts, going, quota = books.accounts.copy(), dict(books.leaving), False
        for key, each in self._plan.reservations():
            if self._plan.is_leaving(key, each):
                accounts.forget(each.name)
                quota = True
                going |= books.held(key)
                for pod in view.found(BY_WORKLOAD, key):
                    if (held := books.tracked.holding(pod.key)) is not None:
                        going[pod.key] = held
        if not going and not quota:
            return False
        engine, topologies = books.tracked.engine, books.tracked.topologies
        with engine.fork():
            for held in going.values():
                if held.node in books.tracked.nodes:
                    engine.release_pods(held)
            verdict = decide(engine, topologies, workload, accounts, explained=False)
        return isinstance(verdict.outcome, Placed)

    def _candidates(self, view: View, waiting: Nominated) -> Iterator[RunningUnit]:
        assert waiting.queue is not None
        mine, newer = waiting.workload, waiting.queue.preempts == "LowerOrNewerEqualPriority"
        for key, each in self._plan.reservations():
            if each.queue != waiting.queue.name or each.evicted:
                continue
            priority = each.priority
            if newer and priority == mine.priority:
                priority -= _is_newer(each, mine)
            name = ObjectName("kueue.x-k8s.io/v1beta2", "Workload", key.namespace, key.name)
            workload = PlaceableWorkload(name, FAMILY, each.option.request, priority=priority)
            yield RunningUnit(workload, each.name, tuple(self._pods(view, key, each)))

    def _pods(self, view: View, key: Key, reservation: Reservation) -> Iterator[BoundPod]:
        """The pods of a Workload that has quota: the places that are held for it, and others as they run.

        Those that have no place yet count as pods as well: they are admitted, and use quota.
        """
        tracked = self._plan.books.tracked
        holdings = [held for held in self._plan.books.held(key).values() if held.node in tracked.nodes]
        for pod in view.found(BY_WORKLOAD, key):
            held = tracked.holding(pod.key)
            if held is not None and held.node in tracked.nodes:
                holdings.append(held)
        places = [replace(held, pods=1) for held in holdings for _ in range(held.pods)]
        elsewhere = Holding(reservation.name, "", Resources(), 0)
        places += [elsewhere] * (reservation.option.pods - len(places))
        for number, held in enumerate(places):
            pod_key = Key("", "Pod", key.namespace, f"{key.name} {number}")
            yield BoundPod(pod_key, "", held, reservation.since)


def _is_newer(reservation: Reservation, workload: Workload) -> bool:
    """Whether a Workload that has quota is newer than one that waits."""
    created = workload.created
    return bool(created) and reservation.created > created
