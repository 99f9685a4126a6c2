"""How long to wait before trying again."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass(slots=True)
class Backoff:
    """Waits that grow with each failure up to a limit, and start over after a success.

    Each wait is drawn between half of its length and the whole, so that clients which failed together
    do not come back together.
    """

    random: Random
    first: float = 0.25
    limit: float = 30.0
    factor: float = 2.0
    _next: float = field(default=0.0, init=False)

    def wait(self) -> float:
        """Seconds to wait after one more failure."""
        length = min(self._next or self.first, self.limit)
        self._next = length * self.factor
        return length * (0.5 + self.random.random() / 2)

    def reset(self) -> None:
        """Note a success."""
        self._next = 0.0
