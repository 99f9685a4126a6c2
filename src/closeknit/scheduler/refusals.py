"""Units of which the server refused a pod: no change can be named that would help, so the clock does."""

from __future__ import annotations

from closeknit.hub.keys import Key

_FIRST, _LONGEST = 1.0, 60.0


class Refusals:
    """Who was refused how often, and when each may be tried again."""

    def __init__(self) -> None:
        self._times: dict[Key, int] = {}
        self._until: dict[Key, float] = {}

    def note(self, unit: Key, now: float) -> None:
        """A pod of a unit was refused."""
        times = self._times[unit] = self._times.get(unit, 0) + 1
        self._until[unit] = now + min(_FIRST * 2 ** min(times - 1, 10), _LONGEST)

    def clear(self, unit: Key) -> None:
        """A unit was bound, or has gone."""
        self._times.pop(unit, None)
        self._until.pop(unit, None)

    def holds(self, unit: Key, now: float) -> bool:
        """Whether a unit is not to be tried yet."""
        return now < self._until.get(unit, now)

    def due(self, now: float) -> list[Key]:
        """Units whose wait is over; each is named once."""
        found = [unit for unit, until in self._until.items() if until <= now]
        for unit in found:
            del self._until[unit]
        return found

    def next_time(self) -> float | None:
        """When the next unit's wait is over."""
        return min(self._until.values(), default=None)
