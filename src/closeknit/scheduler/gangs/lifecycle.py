"""Follows gangs through their states (see ``states``): what has run, and what is to be evicted when.

That a gang ran is remembered while pods of it run. A scheduler that starts takes it from the conditions of
the gang's PodGroup (see ``history``); a gang below its minimum of which these state nothing counts as
partially bound, which makes no difference but to what is reported. The grace period starts again then.

Times are in seconds of the caller's clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from closeknit.hub.keys import Key
from closeknit.hub.workload import IncompleteWorkload, Workload
from closeknit.scheduler.deadlines import Deadlines
from closeknit.scheduler.gangs.states import (
    WHOLE,
    BelowMinimum,
    Complete,
    GangState,
    Incomplete,
    PartiallyBound,
    Stale,
    Waiting,
    parts_of,
)

POSTPONED = 1.0
"""Seconds after which an eviction is considered again that a replacement on its way has prevented."""
_FIRST_RETRY, _LONGEST_RETRY = 10.0, 600.0


@dataclass(slots=True)
class _Gang:
    ran: set[str] = field(default_factory=set)
    """The groups whose minimum ran, since pods of the gang run without interruption."""
    below_since: float | None = None
    state: BelowMinimum | None = None
    hurried: bool = False
    attempts: int = 0
    not_before: float = 0.0
    """When the next eviction may be attempted."""
    refused: int = 0


class Gangs:
    """All gangs of which pods run."""

    def __init__(self) -> None:
        self.deadlines = Deadlines()
        """By gang below its minimum, when its running pods are to be evicted."""
        self._gangs: dict[Key, _Gang] = {}

    def describe(self, now: float) -> tuple[object, ...]:
        """All that is remembered, as a value; what follows from two moments with equal values is the same."""
        return tuple(
            (
                key,
                tuple(sorted(gang.ran)),
                gang.hurried,
                gang.attempts,
                gang.refused,
                self.deadlines.get(key, now) - now,
            )
            for key, gang in sorted(self._gangs.items(), key=lambda each: each[0])
            if gang.state is not None or gang.ran
        )

    def observe(
        self, key: Key, workload: Workload | None, now: float, *, ran: bool = False
    ) -> GangState | None:
        """Follow a gang to its present state; None if it does not exist any more.

        ``ran``: whether the cluster shows that it ran; that counts if nothing is known of it yet.
        """
        if workload is None or not workload.running:
            if key in self._gangs:
                del self._gangs[key]
                self.deadlines.pop(key, None)
            if workload is None:
                return None
            return (
                Incomplete(workload.missing_pods) if isinstance(workload, IncompleteWorkload) else Waiting()
            )
        parts = parts_of(workload)
        gang = self._gangs.get(key)
        if gang is None:
            gang = self._gangs[key] = _Gang({WHOLE} if ran else set())
        gang.ran |= parts.formed
        if not parts.running:
            self.deadlines.pop(key, None)
            gang.state = gang.below_since = None
            gang.hurried, gang.attempts, gang.refused, gang.not_before = False, 0, 0, 0.0
            return Complete()
        if gang.below_since is None:
            gang.below_since = now
        at: float | None = None
        if workload.grace_period is not None:
            at = max(gang.below_since + workload.grace_period, gang.not_before)
            self.deadlines.setdefault(key, at)
        else:
            self.deadlines.pop(key, None)
        kind = Stale if parts.broken & gang.ran else PartiallyBound
        gang.state = kind(parts.running, at, gang.refused)
        return gang.state

    def below_minimum(self, key: Key) -> BelowMinimum | None:
        """The state of a gang that is below its minimum, as of when it was last observed."""
        gang = self._gangs.get(key)
        return gang.state if gang is not None else None

    def hurry(self, key: Key) -> None:
        """A part that never ran was bound by this scheduler: it is evicted as soon as the rest lacks room."""
        self._gangs.setdefault(key, _Gang()).hurried = True

    def cannot_complete(self, key: Key, now: float) -> None:
        """No room was found for the rest of a gang."""
        gang = self._gangs.get(key)
        if gang is None or gang.state is None or gang.state.evicted_at is None:
            return
        if gang.hurried or gang.state.evicted_at <= now:
            self.deadlines[key] = max(now, gang.not_before)

    def postpone(self, key: Key, now: float) -> None:
        """A replacement is on its way at the time of the eviction."""
        self.deadlines[key] = now + POSTPONED

    def attempted(self, key: Key, now: float) -> None:
        """The eviction was requested; if pods stay, it is requested again after a while that grows."""
        gang = self._gangs[key]
        gang.not_before = now + min(_FIRST_RETRY * 2 ** min(gang.attempts, 10), _LONGEST_RETRY)
        gang.attempts += 1
        gang.refused = 0
        self.deadlines[key] = gang.not_before

    def refused(self, key: Key, pods: int) -> None:
        """The server did not accept the eviction of so many pods; they stay until the next attempt."""
        if key in self._gangs:
            self._gangs[key].refused += pods
