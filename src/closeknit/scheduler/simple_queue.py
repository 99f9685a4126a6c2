# ruff: noqa: ARG002
"""Units that wait, in queue order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from closeknit.dialects.core.priority import queue_order
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Outcome
from closeknit.hub.workload import Workload
from closeknit.scheduler.changes import Change


class WaitingQueue:
    """Everything that waits; whatever changes wakes all."""

    def __init__(self) -> None:
        self._waiting: dict[Key, Workload] = {}
        self._failed: set[Key] = set()

    def put(self, workload: Workload, now: float) -> None:
        """A unit waits."""
        self._waiting[workload.object.key] = workload
        self._failed.discard(workload.object.key)

    def remove(self, key: Key) -> None:
        """A unit waits no longer."""
        self._waiting.pop(key, None)
        self._failed.discard(key)

    def failed(self, key: Key, outcome: Outcome, now: float) -> None:
        """No room was found for a unit."""
        self._failed.add(key)

    def wake(self, changes: Iterable[Change], now: float) -> None:
        """Something may help."""
        if any(True for _ in changes):
            self._failed.clear()

    def ready(self, now: float) -> Sequence[Workload]:
        """Units to decide, in order."""
        return sorted(
            (each for key, each in self._waiting.items() if key not in self._failed), key=queue_order
        )

    def next_time(self, now: float) -> float | None:
        """When the next unit is ready."""
        return None
