"""How long decisions may take, and which tenants wait because theirs took long.

A scheduler decides one unit at a time, so a unit that takes long to decide keeps all others waiting. Three
rules limit that; none of them matters for units that are decided within ``Limits.cheap`` seconds.

| rule       | what it limits                                                                             |
|------------|--------------------------------------------------------------------------------------------|
| protection | While others wait, a search ends after ``first`` seconds, and its unit is undecided. With  |
|            | each attempt that was ended it gets twice as long, up to ``longest`` (``longest_choice``   |
|            | for choosing victims). If nothing else waits, only the search budget ends it.              |
| rest       | A unit is not tried again before ``rest`` times as long as its last search took, and a     |
|            | greater multiple if that was longer than ``longest``.                                      |
| share      | A tenant whose searches took more than ``share`` of the last ``window`` seconds is tried   |
|            | after all others, and its searches are protected for ``first`` seconds only.               |

A tenant is a namespace and a queue, because neither alone may let its units keep out those of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import exp
from typing import TypeAlias

from closeknit.hub.keys import Key
from closeknit.hub.workload import Workload
from closeknit.scheduler.fairness import Lane, lane

Tenant: TypeAlias = tuple[str, Lane]
"""A namespace and a queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much time decisions may take, in seconds."""

    cheap: float = 0.05
    """Decisions of this length are not limited by protection and rest."""
    first: float = 0.25
    """How long the first decision about a unit may go on while others wait."""
    longest: float = 1.0
    """The same after attempts that were ended."""
    longest_choice: float = 4.0
    """The same for choosing victims, which on large clusters takes seconds and is done seldom."""
    rest: float = 10.0
    """How many times as long as its last decision took a unit rests."""
    share: float = 0.25
    """The part of the time that the decisions of one tenant may take while others wait."""
    window: float = 2.0
    """The time over which the share is measured: older decisions count less by a factor of e."""


@dataclass(slots=True)
class _Attempts:
    """The last decisions about one unit."""

    ended: int = 0
    """How many in a row had to end."""


@dataclass(slots=True)
class _Usage:
    seconds: float = 0.0
    at: float = 0.0


class Search(Enum):
    """What is searched for."""

    PLACEMENT = "placement"
    VICTIMS = "victims"
    RESERVATION = "reservation"


class DecisionTime:
    """What the decisions about units and of tenants took."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._attempts: dict[tuple[Key, Search], _Attempts] = {}
        """By unit and search, if the last one was not cheap."""
        self._used: dict[Tenant, _Usage] = {}

    def protected(self, workload: Workload, search: Search, now: float) -> float:
        """How many seconds the next search for a unit may take although others wait."""
        limits = self.limits
        attempts = self._attempts.get((workload.object.key, search))
        if self.exceeds_share(workload, now):
            return limits.first
        longest = limits.longest_choice if search is Search.VICTIMS else limits.longest
        return min(limits.first * 2.0 ** min(attempts.ended if attempts else 0, 16), longest)

    def charge(
        self, workload: Workload, search: Search, seconds: float, now: float, *, ended: bool
    ) -> float | None:
        """Note what a search took, and whether it had to end; return until when its unit rests.

        None if it was cheap.
        """
        key, limits = (workload.object.key, search), self.limits
        used = self._used.setdefault(tenant_of(workload), _Usage(at=now))
        used.seconds, used.at = self._decayed(used, now) + seconds, now
        if seconds <= limits.cheap and not ended:
            self._attempts.pop(key, None)
            return None
        attempts = self._attempts.setdefault(key, _Attempts())
        attempts.ended = attempts.ended + 1 if ended else 0
        return now + limits.rest * seconds * max(seconds / limits.longest, 1.0)

    def forget(self, key: Key) -> None:
        """A unit is gone, or was placed."""
        for search in Search:
            self._attempts.pop((key, search), None)

    def exceeds_share(self, workload: Workload, now: float) -> bool:
        """Whether the decisions of the tenant of a unit took more than their share lately."""
        used = self._used.get(tenant_of(workload))
        if used is None:
            return False
        seconds, limits = self._decayed(used, now), self.limits
        if seconds < limits.cheap / 10:
            # Tenants come and go; one that used nothing lately need not be remembered.
            del self._used[tenant_of(workload)]
            return False
        return seconds > limits.share * limits.window

    def _decayed(self, used: _Usage, now: float) -> float:
        return used.seconds * exp(-max(now - used.at, 0.0) / self.limits.window)


def tenant_of(workload: Workload) -> Tenant:
    """The namespace and the queue to which the decisions about a unit are charged."""
    return workload.object.namespace, lane(workload)
