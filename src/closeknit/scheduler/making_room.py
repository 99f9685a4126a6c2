"""What is done for units that do not fit: a place is kept for the first of them, and others are displaced.

Units that failed are considered one at a time, in the order of the queue, and not more often than what that
costs allows: both look at all that runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Protocol

from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.quota import lacks_quota
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.changes import NodeChanged
from closeknit.scheduler.deciding import Verdict
from closeknit.scheduler.displaceable import Running, displaceable_from
from closeknit.scheduler.kept_places import KeptPlaces
from closeknit.scheduler.needs import satisfied
from closeknit.scheduler.preemption import Displacement, displacement
from closeknit.scheduler.reservation import Leaving, Reservation, place_of, reserve
from closeknit.scheduler.waiting import order

if TYPE_CHECKING:
    from closeknit.engine import Engine

PAUSE = 0.25
"""Seconds between two units that are considered."""
PAUSE_FOR_A_POD = 0.001
"""Seconds more for each pod that runs."""
PATIENCE = 60.0
"""How long a unit waits for those it displaced, before others may be displaced for it.

So often it is also looked whether a unit that could displace nobody can do so now.
"""


class State(Protocol):
    """What is known of a cluster."""

    @property
    def engine(self) -> Engine:
        """Who holds what."""

    @property
    def topologies(self) -> Cluster:
        """The topologies."""

    def holdings(self, pods: Sequence[Key]) -> list[Holding]:
        """What these pods hold."""

    def has_node(self, name: str) -> bool:
        """Whether there is such a node."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A unit that does not fit, and who is to go for it."""

    failed: Verdict
    displacement: Displacement


@dataclass(slots=True)
class _Runner:
    workload: Workload
    since: float


class MakingRoom:
    """Who is to be helped, and who has been displaced for whom."""

    def __init__(self, *, reserving: bool = True, displacing: bool = True) -> None:
        self._reserving, self._displacing = reserving, displacing
        self._places = KeptPlaces()
        self._running: dict[Key, _Runner] = {}
        self._failed: dict[Key, Verdict] = {}
        self._later: dict[Key, tuple[float, Verdict]] = {}
        """Units that failed and are considered again at a time, whatever happens until then."""
        self._times: list[tuple[float, Key]] = []
        """Those times and others that have passed, as a heap."""
        self._awaiting: dict[Key, tuple[float, Displacement]] = {}
        """By unit for which others are displaced, until when it waits for them to leave, and who they are."""
        self._not_before = 0.0

    def saw(self, key: Key, workload: Workload | None, now: float) -> None:
        """Note what a unit is by now; None where it is no more."""
        if key in self._later and self._later[key][1].workload != workload:
            # It is decided again, or waits for something else.
            del self._later[key]
        before = self._running.get(key)
        if workload is None or not workload.running:
            self._running.pop(key, None)
        elif before is None or len(workload.running) > len(before.workload.running):
            self._running[key] = _Runner(workload, now)
        else:
            before.workload = workload

    def failed(self, verdict: Verdict) -> None:
        """A unit did not fit, and may be helped."""
        if isinstance(verdict.outcome, Unplaceable) and not satisfied(verdict.workload.request.root):
            self._failed[verdict.workload.object.key] = verdict
            self._later.pop(verdict.workload.object.key, None)

    def placed_or_gone(self, key: Key) -> None:
        """A unit needs no help any more."""
        self._failed.pop(key, None)
        self._later.pop(key, None)
        self._awaiting.pop(key, None)
        self._places.drop(key)

    def freed(self) -> list[NodeChanged]:
        """Where others may take what was kept until now, told once."""
        return self._places.freed()

    def plan_of(self, key: Key) -> Displacement | None:
        """Who is displaced for a unit that waits."""
        return self._awaiting[key][1] if key in self._awaiting else None

    def drop(self, plan: Plan) -> None:
        """A plan is not carried out, since somebody has changed; its unit is considered anew."""
        key = plan.failed.workload.object.key
        self._awaiting.pop(key, None)
        self._places.drop(key)
        self.failed(plan.failed)

    def kept_before(self, workload: PlaceableWorkload, state: State, now: float) -> list[Reservation]:
        """The places that a unit must leave free, since they are kept for others who go before it."""
        self._places.drop_lost(state.has_node)
        return self._places.before(workload, now)

    def kept(self, state: State) -> list[Reservation]:
        """All places that are kept: who has its minimum and wants more must leave them free."""
        self._places.drop_lost(state.has_node)
        return self._places.all()

    def next_time(self) -> float | None:
        """When the next unit may be considered; None where nobody waits for that."""
        considered = -inf if self._failed else min(self._next_later(), self._places.next_time())
        soonest = max(considered, self._not_before)
        return soonest if soonest < inf else None

    def _next_later(self) -> float:
        while self._times and self._later.get(self._times[0][1], (None,))[0] != self._times[0][0]:
            heappop(self._times)
        return self._times[0][0] if self._times else inf

    def _consider_at(self, verdict: Verdict, time: float) -> None:
        """Consider a unit again at a time, unless it is decided before."""
        if time < inf:
            key = verdict.workload.object.key
            self._later[key] = time, verdict
            heappush(self._times, (time, key))

    def consider(self, state: State, accounts: Accounts, now: float) -> Plan | None:
        """Help the first unit that failed, if it is time: keep a place for it, or say whom to displace.

        Whoever displaces others keeps the place that they leave. Nobody does so where a place is kept for
        somebody who goes before it.
        """
        self._places.give_up(now)
        while self._next_later() <= now:
            key = heappop(self._times)[1]
            self._failed[key] = self._later.pop(key)[1]
        if now < self._not_before:
            return None
        if (next_first := self._places.next_first(now)) is not None:
            self._failed.setdefault(next_first.workload.object.key, next_first)
        if not self._failed:
            return None
        verdict = self._failed.pop(min(self._failed, key=lambda key: order(self._failed[key].workload)))
        workload, key = verdict.workload, verdict.workload.object.key
        if (awaited := self._awaited(key)) > now:
            self._consider_at(verdict, awaited)
            return None
        self._awaiting.pop(key, None)
        pods = sum(len(each.workload.running) for each in self._running.values())
        self._not_before = now + PAUSE + PAUSE_FOR_A_POD * pods
        kept = self.kept_before(workload, state, now)
        if self._displacing and self._may_displace_any(workload):
            running = {each.holder: (each, held) for each, held in self._runners(state)}
            units = [each for each, _ in running.values()]
            plan = displacement(
                state.engine, state.topologies, workload, units, accounts=accounts, now=now, kept=kept
            )
            if plan is not None and plan.victims:
                self._awaiting[key] = now + PATIENCE, plan
                self._consider_at(verdict, now + PATIENCE)
                left = [Leaving(held, now) for each in plan.victims for held in running[each.holder][1]]
                assert isinstance(plan.verdict.outcome, Placed)
                self._places.keep(
                    verdict, place_of(plan.verdict.workload.request, plan.verdict.outcome, left, now)
                )
                return Plan(verdict, plan)
            self._consider_at(verdict, self._another_time(workload, units, now))
        if not self._reserving or (isinstance(verdict.outcome, Unplaceable) and lacks_quota(verdict.outcome)):
            self._places.drop(key)
        elif not self._places.may_reserve(workload, now):
            self._places.stand_behind(verdict)
        else:
            ends = {each.holder: _end(each) for each, _ in self._runners(state)}
            self._places.reserve(verdict, self._soonest(state, workload, ends, kept, now), now)
        return None

    def _may_displace_any(self, workload: PlaceableWorkload) -> bool:
        """Whether anybody runs who could be displaced for a unit at some time; most often nobody does."""
        return any(displaceable_from(workload, each.workload, 0.0) < inf for each in self._running.values())

    def _soonest(
        self,
        state: State,
        workload: PlaceableWorkload,
        ends: Mapping[str, float],
        kept: Sequence[Reservation],
        now: float,
    ) -> Reservation | None:
        """The place that a unit can have soonest; None where it fits on no empty cluster."""
        leaving = [
            Leaving(held, ends.get(held.workload, inf))
            for held in state.engine.holdings()
            if held.workload != workload.request.name
        ]
        before = self._places.of(workload.object.key)
        return reserve(state.engine, workload.request, leaving, now, before=before, kept=kept)

    def _awaited(self, key: Key) -> float:
        return self._awaiting[key][0] if key in self._awaiting else -inf

    def _another_time(self, workload: PlaceableWorkload, running: Sequence[Running], now: float) -> float:
        """When others may be displaced for a unit though nothing happens to it; infinity for never."""
        times = [
            at for each in running if (at := displaceable_from(workload, each.workload, each.since)) < inf
        ]
        # What units that it could not displace give up may be too little to wake it, and enough now.
        return min(at for at in (*times, now + PATIENCE) if at > now) if times else inf

    def _runners(self, state: State) -> Iterator[tuple[Running, list[Holding]]]:
        """All units that run, and what they hold."""
        for each in self._running.values():
            namespace = each.workload.object.namespace
            held = state.holdings([Key("", "Pod", namespace, pod.name) for pod in each.workload.running])
            if held:
                nodes = frozenset(holding.node for holding in held)
                yield Running(each.workload, held[0].workload, len(held), each.since, nodes), held


def _end(running: Running) -> float:
    """When a unit ends at the latest."""
    seconds = running.workload.run_seconds
    return running.since + seconds if seconds is not None else inf
