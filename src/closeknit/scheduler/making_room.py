"""What is done for units that do not fit: a place is kept for the first of them, and others are displaced.

Units that failed are considered one at a time, in the order of the queue, and not more often than what that
costs allows: both look at all that runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Protocol

from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Unplaceable
from closeknit.hub.quota import lacks_quota
from closeknit.hub.workload import Workload
from closeknit.scheduler.changes import NodeChanged
from closeknit.scheduler.deciding import Verdict
from closeknit.scheduler.displaceable import Running, displaceable_from
from closeknit.scheduler.needs import satisfied
from closeknit.scheduler.preemption import Displacement, displacement
from closeknit.scheduler.reservation import Leaving, Reservation, reserve
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


LONGEST = 600.0
"""How long a place is kept where nobody knows when it becomes free, and how long none is kept after that."""


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
    """The one reservation, and who has been displaced for whom."""

    def __init__(self, *, reserving: bool = True, displacing: bool = True) -> None:
        self._reserving, self._displacing = reserving, displacing
        self._until = inf
        """When the reservation is given up, because nobody knows when it would end."""
        self._free_until = -inf
        """Until when nothing is reserved after that."""
        self._kept: Reservation | None = None
        self._owner: Workload | None = None
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
        request = verdict.workload.request
        if isinstance(verdict.outcome, Unplaceable) and request is not None and not satisfied(request.root):
            self._failed[verdict.workload.object.key] = verdict
            self._later.pop(verdict.workload.object.key, None)

    def placed_or_gone(self, key: Key) -> list[NodeChanged]:
        """A unit needs no help any more; others may have what is left of a place that was kept for it."""
        self._failed.pop(key, None)
        self._later.pop(key, None)
        self._awaiting.pop(key, None)
        if self._owner is None or self._owner.object.key != key:
            return []
        nodes = self._kept.nodes if self._kept is not None else frozenset()
        self._kept = self._owner = None
        return [NodeChanged(node) for node in sorted(nodes)]

    def plan_of(self, key: Key) -> Displacement | None:
        """Who is displaced for a unit that waits."""
        return self._awaiting[key][1] if key in self._awaiting else None

    def drop(self, plan: Plan) -> None:
        """A plan is not carried out, since somebody has changed; its unit is considered anew."""
        self._awaiting.pop(plan.failed.workload.object.key, None)
        self.failed(plan.failed)

    def give_up(self, now: float) -> list[NodeChanged]:
        """Give up a reservation that has been held for long without anybody knowing for how long still."""
        if now < self._until or self._owner is None:
            return []
        self._free_until = now + LONGEST
        return self.placed_or_gone(self._owner.object.key)

    def delays(self, workload: Workload, now: float) -> bool:
        """Whether a unit could stand in the way of who has the reservation and goes before it."""
        if self._kept is None or self._owner is None or order(workload) <= order(self._owner):
            return False
        return self._kept.delayed_by(now + workload.run_seconds if workload.run_seconds is not None else inf)

    @contextmanager
    def behind_the_first(self, state: State) -> Iterator[None]:
        """Decide so that nobody delays who has the reservation."""
        kept = self._kept
        if kept is not None and not all(map(state.has_node, kept.nodes)):
            kept = self._kept = self._owner = None
        if kept is None:
            yield
            return
        with kept.kept(state.engine):
            yield

    def next_time(self) -> float | None:
        """When the next unit may be considered; None where nobody waits for that."""
        given_up = self._until if self._owner is not None else inf
        considered = -inf if self._failed else self._next_later()
        soonest = min(max(considered, self._not_before), given_up)
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

        Whoever displaces others keeps the place that they leave.
        """
        while self._next_later() <= now:
            key = heappop(self._times)[1]
            self._failed[key] = self._later.pop(key)[1]
        if not self._failed or now < self._not_before:
            return None
        verdict = self._failed.pop(min(self._failed, key=lambda key: order(self._failed[key].workload)))
        workload, key = verdict.workload, verdict.workload.object.key
        assert workload.request is not None
        running = {each.holder: (each, held) for each, held in self._runners(state)}
        self._not_before = now + PAUSE + PAUSE_FOR_A_POD * sum(each.pods for each, _ in running.values())
        plan = None
        units = [each for each, _ in running.values()]
        if self._displacing and now >= self._awaited(key):
            plan = displacement(state.engine, state.topologies, workload, units, accounts=accounts, now=now)
        if plan is not None and plan.victims:
            self._awaiting[key] = now + PATIENCE, plan
            self._consider_at(verdict, now + PATIENCE)
            left = [Leaving(held, now) for each in plan.victims for held in running[each.holder][1]]
            self._keep(workload, reserve(state.engine, workload.request, left, now), now)
            return Plan(verdict, plan)
        if self._displacing and now >= self._awaited(key):
            self._awaiting.pop(key, None)
        if self._displacing:
            self._consider_at(verdict, self._another_time(workload, units, now))
        assert verdict.outcome is not None
        first = self._owner is None or order(workload) <= order(self._owner)
        reserving = self._reserving and now >= self._free_until
        if reserving and first and not lacks_quota(verdict.outcome):
            ends = {holder: _end(each) for holder, (each, _) in running.items()}
            leaving = [
                Leaving(held, ends.get(held.workload, inf))
                for held in state.engine.holdings()
                if held.workload != workload.request.name
            ]
            self._keep(workload, reserve(state.engine, workload.request, leaving, now, self._kept), now)
        return None

    def _awaited(self, key: Key) -> float:
        return self._awaiting[key][0] if key in self._awaiting else -inf

    def _another_time(self, workload: Workload, running: Sequence[Running], now: float) -> float:
        """When others may be displaced for a unit though nothing happens to it; infinity for never."""
        if (awaited := self._awaited(workload.object.key)) > now:
            return awaited
        times = [at for each in running if (at := displaceable_from(workload, each)) < inf]
        # What units that it could not displace give up may be too little to wake it, and enough now.
        return min(at for at in (*times, now + PATIENCE) if at > now) if times else inf

    def _keep(self, workload: Workload, kept: Reservation | None, now: float) -> None:
        same = self._owner is not None and self._owner.object == workload.object
        if kept is None or kept.at < inf:
            self._until = inf
        elif not same or self._until == inf:
            self._until = now + LONGEST
        self._kept, self._owner = kept, workload if kept is not None else None

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
