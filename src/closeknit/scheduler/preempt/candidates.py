"""Which waiting unit is considered for preemption next, and when.

| a unit is considered | not before |
|---|---|
| when it was tried and not placed, at once | its ``preemptionDelay`` has passed |
| again, if no set of victims helped | it was tried again, or something changed, and a rest has passed |
| again, if no set of victims helped | the first victim becomes old enough |
| again, after a plan was given up | its backoff has passed |

One unit at a time, in queue order: after units before it were tried, and before units behind it are, so
that these do not take what it needs. The core merges this order with that of the queue; here are the first
units of every lane. A search looks at everything that runs, so a few may be made at once, and later ones
with pauses: each costs an estimate of its time, and as much time passes for free.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf

from closeknit.hub.keys import Key
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.deciding import Verdict
from closeknit.scheduler.fairness import Lane, lane
from closeknit.scheduler.preempt.preemptions import Limits
from closeknit.scheduler.waiting import Order, order

PAUSE = 0.25
"""Seconds that a search costs at least."""
PAUSE_FOR_A_POD = 2e-5
"""Seconds more for each pod that runs."""
PAUSE_FOR_A_TRIAL = 0.02
"""Seconds more for each set of victims that is tried on the engine."""
CREDIT = 2.0
"""Seconds that may be spent in advance."""
_FIRST_REST, _LONGEST_REST = 1.0, 60.0
"""Seconds until a unit that no set of victims helped is considered again; doubled each time."""


@dataclass(slots=True)
class _Candidate:
    verdict: Verdict
    since: float
    """When it was first tried and not placed."""
    changed: float
    """When it was last another than before."""
    due: float = -inf
    """When it is considered; infinite while it rests until something changes."""
    retry_at: float = inf
    """When it is considered though nothing changes."""
    rests: int = 0
    """How often no set of victims helped since it changed."""
    considered_at: int = -1
    """The version of the cluster at which no set of victims helped; -1 if it is to be considered anyway."""


@dataclass(slots=True)
class _Backoff:
    failures: int = 0
    until: float = -inf


class Candidates:
    """Units that were tried and not placed."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._candidates: dict[Key, _Candidate] = {}
        self._ready: dict[Key, None] = {}
        self._lanes: dict[Lane, list[tuple[Order, Key]]] = {}
        """Those that are ready as a heap for each lane; entries of others are passed over."""
        self._dormant: dict[Key, None] = {}
        self._times: list[tuple[float, int, Key]] = []
        """When others are due, as a heap; entries of the past are passed over."""
        self._order = count()
        self._backoffs: dict[Key, _Backoff] = {}
        self._version = 0
        self._seen_version = 0
        """At which those that rest were last compared."""
        self._paid_at = -inf
        """When all searches that were made are paid for."""

    def something_changed(self) -> None:
        """Another set of victims may help than before."""
        self._version += 1

    def failed(self, verdict: Verdict, not_before: float, now: float) -> bool:
        """A unit was tried and not placed; it may be considered from ``not_before`` on.

        Returns whether it may be considered at once.
        """
        key = verdict.workload.object.key
        known = self._candidates.get(key)
        if known is None:
            known = self._candidates[key] = _Candidate(verdict, since=now, changed=now)
        elif known.verdict.workload != verdict.workload:
            known.changed, known.rests = now, 0
        elif known.rests and key not in self._dormant:
            known.verdict, known.considered_at = verdict, -1
            return False
        known.verdict, known.considered_at = verdict, -1
        backoff = self._backoffs.get(key)
        due = max(now, not_before, backoff.until if backoff is not None else -inf)
        self._consider_at(due, key)
        return due <= now

    def quiet_at(self, key: Key) -> float:
        """When a unit counts as complete: it has not changed for a while, or keeps changing for long."""
        candidate = self._candidates[key]
        return min(candidate.changed + self._limits.quiet, candidate.since + self._limits.longest_unrest)

    def planned(self, key: Key) -> None:
        """A plan was made for a unit."""
        self._ready.pop(key, None)
        self._dormant.pop(key, None)
        candidate = self._candidates[key]
        candidate.due, candidate.rests = inf, 0

    def rest(self, verdict: Verdict, retry_at: float, now: float) -> None:
        """No set of victims helped a unit; ``retry_at`` is when another victim becomes old enough."""
        key = verdict.workload.object.key
        candidate = self._candidates.setdefault(key, _Candidate(verdict, since=now, changed=now))
        candidate.considered_at, candidate.retry_at = self._version, retry_at
        rest = min(_FIRST_REST * 2 ** min(candidate.rests, 16), _LONGEST_REST)
        candidate.rests += 1
        self._consider_at(min(now + rest, retry_at), key)

    def drop(self, key: Key) -> None:
        """A unit is placed, is being helped, or waits no longer."""
        self._candidates.pop(key, None)
        self._ready.pop(key, None)
        self._dormant.pop(key, None)

    def forget(self, key: Key) -> None:
        """A unit was bound or is gone: its backoff starts anew."""
        self.drop(key)
        self._backoffs.pop(key, None)

    def back_off(self, key: Key, now: float) -> None:
        """A plan for a unit was given up."""
        self.drop(key)
        backoff = self._backoffs.setdefault(key, _Backoff())
        longer = self._limits.first_backoff * 2 ** min(backoff.failures, 32)
        backoff.until = now + min(longer, self._limits.longest_backoff)
        backoff.failures += 1

    def next_time(self) -> float:
        """When the next unit may be considered; infinity if none waits for that."""
        while self._times and self._is_past(*self._times[0]):
            heappop(self._times)
        if self._ready or self._may_wake:
            return self._paid_at - CREDIT
        return max(self._times[0][0], self._paid_at - CREDIT) if self._times else inf

    def spent(self, trials: int) -> None:
        """The last search tried so many sets."""
        self._paid_at += PAUSE_FOR_A_TRIAL * trials

    def firsts(self, now: float, but: AbstractSet[Key] = frozenset()) -> list[PlaceableWorkload]:
        """The first unit of every lane that may be considered now, without some; none until searches are
        paid.
        """
        while self._times and self._times[0][0] <= now:
            due, number, key = heappop(self._times)
            if not self._is_past(due, number, key):
                self._wake(key, now)
        if now < self._paid_at - CREDIT:
            return []
        if self._may_wake:
            for key in self._dormant:
                self._make_ready(key)
            self._dormant.clear()
        self._seen_version = self._version
        if not self._ready:
            self._lanes.clear()
            return []
        found = (self._first(own, but) for own in list(self._lanes))
        return [workload for workload in found if workload is not None]

    def take(self, key: Key, running_pods: int, now: float) -> Verdict:
        """Consider a unit that may be, as it was last tried."""
        del self._ready[key]
        self._paid_at = max(self._paid_at, now) + PAUSE + PAUSE_FOR_A_POD * running_pods
        return self._candidates[key].verdict

    def describe(self, now: float) -> tuple[object, ...]:
        """Which units wait to be considered, as a value that distinguishes two moments."""
        waiting = (
            (key, each.due - now, each.retry_at - now, each.rests, each.considered_at == self._version)
            for key, each in sorted(self._candidates.items())
        )
        backoffs = ((key, each.failures, each.until - now) for key, each in sorted(self._backoffs.items()))
        return (
            *waiting,
            *backoffs,
            tuple(self._ready),
            tuple(self._dormant),
            max(self._paid_at - now, 0.0),
        )

    @property
    def _may_wake(self) -> bool:
        return bool(self._dormant) and self._seen_version != self._version

    def _consider_at(self, due: float, key: Key) -> None:
        self._dormant.pop(key, None)
        self._ready.pop(key, None)
        self._candidates[key].due = due
        heappush(self._times, (due, next(self._order), key))

    def _make_ready(self, key: Key) -> None:
        workload = self._candidates[key].verdict.workload
        self._ready[key] = None
        heappush(self._lanes.setdefault(lane(workload), []), (order(workload), key))

    def _first(self, own: Lane, but: AbstractSet[Key]) -> PlaceableWorkload | None:
        """The first unit of a lane that is ready and not among some."""
        heap = self._lanes[own]
        kept: list[tuple[Order, Key]] = []
        first: PlaceableWorkload | None = None
        while heap and first is None:
            place, key = heap[0]
            workload = self._candidates[key].verdict.workload if key in self._ready else None
            if workload is None or order(workload) != place:
                heappop(heap)
            elif key in but:
                kept.append(heappop(heap))
            else:
                first = workload
        if kept:
            heap += kept
            heapify(heap)
        elif not heap:
            del self._lanes[own]
        return first

    def _wake(self, key: Key, now: float) -> None:
        candidate = self._candidates[key]
        candidate.due = inf
        if candidate.considered_at != self._version or candidate.retry_at <= now:
            self._make_ready(key)
        else:
            self._dormant[key] = None
            if candidate.retry_at < inf:
                candidate.due = candidate.retry_at
                heappush(self._times, (candidate.due, next(self._order), key))

    def _is_past(self, due: float, _: int, key: Key) -> bool:
        candidate = self._candidates.get(key)
        return candidate is None or candidate.due != due or key in self._ready
