"""Units of which the server refused a pod: no change can be named that would help, so the clock does."""

from __future__ import annotations

from closeknit.hub.keys import Key
from closeknit.scheduler.deadlines import Deadlines

_FIRST, _LONGEST = 1.0, 60.0


class Refusals:
    """Who was refused how often, and when each may be tried again."""

    def __init__(self) -> None:
        self._times: dict[Key, int] = {}
        self.deadlines = Deadlines()

    def note(self, unit: Key, now: float) -> None:
        """A pod of a unit was refused."""
        times = self._times[unit] = self._times.get(unit, 0) + 1
        self.deadlines[unit] = now + min(_FIRST * 2 ** min(times - 1, 10), _LONGEST)

    def clear(self, unit: Key) -> None:
        """A unit was bound, or has gone."""
        self._times.pop(unit, None)
        self.deadlines.pop(unit, None)

    def holds(self, unit: Key, now: float) -> bool:
        """Whether a unit is not to be tried yet."""
        return now < self.deadlines.get(unit, now)
