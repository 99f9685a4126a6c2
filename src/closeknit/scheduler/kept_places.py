"""Places that are kept for units that wait, so that those behind them in the queue do not take them.

One unit has a place, the reservation: the first in the queue that does not fit. Whoever comes later in the
queue is decided as if this place were taken, unless it surely ends in time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from closeknit.hub.keys import Key
from closeknit.hub.workload import Workload
from closeknit.scheduler.changes import NodeChanged
from closeknit.scheduler.deciding import Verdict
from closeknit.scheduler.reservation import Reservation
from closeknit.scheduler.waiting import order

LONGEST = 600.0
"""How long a reservation is kept where nobody knows when it becomes free, and how long there is none then."""


@dataclass(frozen=True, slots=True)
class _Kept:
    verdict: Verdict
    """The unit, as it failed."""
    place: Reservation


class KeptPlaces:
    """Who has a place kept, and who is next to have the reservation."""

    def __init__(self) -> None:
        self._kept: dict[Key, _Kept] = {}
        self._first: Key | None = None
        """Who has the reservation."""
        self._behind: dict[Key, Verdict] = {}
        """Units that failed and have no place, since another goes before them or none is reserved now."""
        self._until = inf
        """When the reservation is given up, because nobody knows when it becomes free."""
        self._none_until = -inf
        """Until when there is no reservation after that."""
        self._freed: dict[str, None] = {}

    def of(self, key: Key) -> Reservation | None:
        """The place that is kept for a unit."""
        return self._kept[key].place if key in self._kept else None

    def before(self, workload: Workload, now: float) -> list[Reservation]:
        """The places of those who go before a unit and whom it could delay if it starts now."""
        end = now + workload.run_seconds if workload.run_seconds is not None else inf
        return [
            each.place
            for each in self._kept.values()
            if each.place.delayed_by(end) and order(each.verdict.workload) < order(workload)
        ]

    def all(self) -> list[Reservation]:
        """All places that are kept."""
        return [each.place for each in self._kept.values()]

    def may_reserve(self, workload: Workload, now: float) -> bool:
        """Whether a unit may have the reservation: nobody has it who goes before it."""
        if now < self._none_until:
            return False
        first = self._kept[self._first].verdict.workload if self._first is not None else None
        return first is None or order(workload) <= order(first)

    def reserve(self, verdict: Verdict, place: Reservation | None, now: float) -> None:
        """Give a unit that may have it the reservation; None where it fits on no empty cluster."""
        key = verdict.workload.object.key
        until = inf if place is None or place.at < inf else now + LONGEST
        if key == self._first and until < inf:
            until = min(until, self._until)
        if place is None or place != self.of(key):
            self.drop(key)
        if place is None:
            return
        if self._first is not None and self._first != key:
            self._pass_over(self._first)
        self._kept[key], self._first, self._until = _Kept(verdict, place), key, until

    def stand_behind(self, verdict: Verdict) -> None:
        """Let a unit wait without a place until it may have the reservation."""
        key = verdict.workload.object.key
        self.drop(key)
        self._behind[key] = verdict

    def drop(self, key: Key) -> None:
        """Keep nothing for a unit any more, since it is placed, gone or another than it was."""
        self._behind.pop(key, None)
        if (kept := self._kept.pop(key, None)) is not None:
            self._freed |= dict.fromkeys(sorted(kept.place.nodes))
        if key == self._first:
            self._first, self._until = None, inf

    def drop_lost(self, has_node: Callable[[str], bool]) -> None:
        """Drop places with nodes that are no more; who had the reservation is to have another one."""
        for key, kept in list(self._kept.items()):
            if all(map(has_node, kept.place.nodes)):
                continue
            if key == self._first:
                self._pass_over(key)
            else:
                self.drop(key)

    def give_up(self, now: float) -> None:
        """Give up a reservation that was kept for long without anybody knowing for how long still."""
        if now >= self._until and self._first is not None:
            self._none_until = now + LONGEST
            self._pass_over(self._first)

    def _pass_over(self, key: Key) -> None:
        self.stand_behind(self._kept[key].verdict)

    def next_time(self) -> float:
        """When ``give_up`` or ``next_first`` has something to do; infinity for not by itself."""
        if self._first is not None:
            return self._until
        return self._none_until if self._behind else inf

    def next_first(self, now: float) -> Verdict | None:
        """Who is next to have the reservation, while nobody has it; told once."""
        if self._first is not None or now < self._none_until or not self._behind:
            return None
        return self._behind.pop(min(self._behind, key=lambda key: order(self._behind[key].workload)))

    def freed(self) -> list[NodeChanged]:
        """Where others may take what was kept, told once."""
        freed, self._freed = self._freed, {}
        return [NodeChanged(node) for node in freed]
