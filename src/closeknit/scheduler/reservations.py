"""A reservation for the first unit that does not fit, so that those behind it do not starve it.

Units that failed are considered one at a time, in the order of the queue, and not more often than what that
costs allows: each looks at all that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Protocol

from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Unplaceable
from closeknit.hub.quota import lacks_quota
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.changes import NodeChanged
from closeknit.scheduler.deciding import Verdict
from closeknit.scheduler.kept_places import KeptPlaces
from closeknit.scheduler.needs import satisfied
from closeknit.scheduler.reservation import Leaving, Reservation, reserve
from closeknit.scheduler.waiting import order

if TYPE_CHECKING:
    from closeknit.engine import Engine

PAUSE = 0.25
"""Seconds between two units that are considered."""
PAUSE_FOR_A_POD = 0.001
"""Seconds more for each pod that runs."""


class State(Protocol):
    """What is known of a cluster."""

    @property
    def engine(self) -> Engine:
        """Who holds what."""

    def holdings(self, pods: Sequence[Key]) -> list[Holding]:
        """What these pods hold."""

    def started(self, key: Key, now: float) -> float:
        """When a pod started."""

    def has_node(self, name: str) -> bool:
        """Whether there is such a node."""


class Reservations:
    """Which units failed, and for which of them capacity is reserved."""

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self._places = KeptPlaces()
        self._running: dict[Key, Workload] = {}
        self._failed: dict[Key, Verdict] = {}
        self._not_before = 0.0

    def saw(self, key: Key, workload: Workload | None) -> None:
        """Note what a unit is by now; None if it is gone."""
        if workload is None or not workload.running:
            self._running.pop(key, None)
        else:
            self._running[key] = workload

    def failed(self, verdict: Verdict) -> None:
        """A unit did not fit."""
        if isinstance(verdict.outcome, Unplaceable) and not satisfied(verdict.workload.request.root):
            self._failed[verdict.workload.object.key] = verdict

    def drop(self, key: Key) -> None:
        """A unit is placed or gone, or capacity is nominated for it."""
        self._failed.pop(key, None)
        self._places.drop(key)

    def freed(self) -> list[NodeChanged]:
        """Where others may take what was reserved until now, reported once."""
        return self._places.freed()

    def before(self, workload: PlaceableWorkload, state: State, now: float) -> list[Reservation]:
        """The reservations that a unit must leave free, since they are for units that precede it."""
        self._places.drop_lost(state.has_node)
        return self._places.before(workload, now)

    def all(self, state: State) -> list[Reservation]:
        """All reservations: a unit that has its minimum and wants more must leave them free."""
        self._places.drop_lost(state.has_node)
        return self._places.all()

    def next_time(self) -> float:
        """When the next unit may be considered; infinity if none waits for that."""
        considered = -inf if self._failed else self._places.next_time()
        return max(considered, self._not_before) if considered < inf else inf

    def due(self, now: float) -> Verdict | None:
        """The first unit that failed, if it is time to consider it; None if not."""
        self._places.give_up(now)
        if now < self._not_before:
            return None
        if (next_first := self._places.next_first(now)) is not None:
            self._failed.setdefault(next_first.workload.object.key, next_first)
        if not self._failed:
            return None
        return self._failed.pop(min(self._failed, key=lambda key: order(self._failed[key].workload)))

    def consider(
        self,
        verdict: Verdict,
        state: State,
        nominated: Callable[[PlaceableWorkload], Sequence[Holding]],
        now: float,
        *,
        had_to_end: Callable[[], bool] = lambda: False,
    ) -> None:
        """Reserve capacity for the unit that is ``due``, if it may have it.

        ``nominated`` is what a unit must leave free for plans of others, ``had_to_end`` whether the search
        was ended because others wait: its result is then not used, and the unit is due again.
        """
        workload, key = verdict.workload, verdict.workload.object.key
        pods = sum(len(unit.running) for unit in self._running.values())
        self._not_before = now + PAUSE + PAUSE_FOR_A_POD * pods
        if not self._enabled or (isinstance(verdict.outcome, Unplaceable) and lacks_quota(verdict.outcome)):
            self._places.drop(key)
        elif not self._places.may_reserve(workload, now):
            self._places.stand_behind(verdict)
        else:
            kept = self.before(workload, state, now)
            place = self._soonest(state, workload, kept, nominated(workload), now)
            if had_to_end():
                self._failed.setdefault(key, verdict)
            else:
                self._places.reserve(verdict, place, now)

    def rest(self, until: float) -> None:
        """Consider no unit before a moment, because the last search took long."""
        self._not_before = max(self._not_before, until)

    def _soonest(
        self,
        state: State,
        workload: PlaceableWorkload,
        kept: Sequence[Reservation],
        nominated: Sequence[Holding],
        now: float,
    ) -> Reservation | None:
        """The placement that a unit can have soonest; None if it fits on no empty cluster."""
        ends = self._ends(state, now)
        leaving = [
            Leaving(held, ends.get(held.workload, inf))
            for held in state.engine.holdings()
            if held.workload != workload.request.name
        ]
        before = self._places.of(workload.object.key)
        return reserve(
            state.engine, workload.request, leaving, now, before=before, kept=kept, nominated=nominated
        )

    def _ends(self, state: State, now: float) -> dict[str, float]:
        """By holder, when a unit that limits its run time ends at the latest."""
        ends: dict[str, float] = {}
        for unit in self._running.values():
            if unit.run_seconds is None:
                continue
            pods = [Key("", "Pod", unit.object.namespace, pod.name) for pod in unit.running]
            if held := state.holdings(pods):
                ends[held[0].workload] = max(state.started(pod, now) for pod in pods) + unit.run_seconds
        return ends
