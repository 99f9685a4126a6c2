"""Units that something is due for, each at a time of its own."""

from __future__ import annotations

from closeknit.hub.keys import Key


class Deadlines(dict[Key, float]):
    """By unit, when its time is over."""

    def take(self, now: float) -> list[Key]:
        """Units whose time is over; each is named once, until it is given a time anew."""
        found = [unit for unit, until in self.items() if until <= now]
        for unit in found:
            del self[unit]
        return found

    def next_time(self) -> float | None:
        """When the next unit's time is over."""
        return min(self.values(), default=None)
