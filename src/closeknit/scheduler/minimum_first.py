"""Minimum before surplus, also while the minimum of some units is being bound.

While several units wait, each is bound with its minimum first, and its surplus waits until that is confirmed.
Surplus is shared out to the least satisfied unit, so it is decided only when all units that were cut down
to their minimum before are in the queue again. That takes a few milliseconds; a call that is not answered,
or a volume that takes minutes, must not keep the surplus of others, so a unit is waited for at most a
second. Units that are cut down while surplus waits already are not waited for: else arriving units could
keep surplus from being placed for ever.
"""

from __future__ import annotations

from closeknit.hub.keys import Key

LONGEST_WAIT = 1.0
"""Seconds for which a unit that is being bound keeps the surplus of others waiting."""


class MinimumFirst:
    """Units that got only their minimum and whose surplus does not compete yet."""

    def __init__(self) -> None:
        self._since: dict[Key, float] = {}
        """By unit, when it was cut down to its minimum."""
        self._holding_since: float | None = None
        """When surplus was first held back since it was last decided."""

    def __bool__(self) -> bool:
        """Whether there are such units."""
        return bool(self._since)

    def cut(self, unit: Key, now: float) -> None:
        """A unit was decided with no more than its minimum."""
        self._since[unit] = now

    def competes(self, unit: Key) -> None:
        """The surplus of a unit waits in the queue, or it has none any more."""
        self._since.pop(unit, None)

    def decided(self) -> None:
        """Surplus was decided."""
        self._holding_since = None

    def holds_until(self, now: float) -> float | None:
        """Until when surplus must not be decided, unless the queue changes; None if it may be."""
        for unit in [unit for unit, since in self._since.items() if since + LONGEST_WAIT <= now]:
            del self._since[unit]
        if not self._since:
            return None
        if self._holding_since is None:
            self._holding_since = now
        before = [since for since in self._since.values() if since <= self._holding_since]
        return max(before) + LONGEST_WAIT if before else None
