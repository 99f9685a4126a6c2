"""Events go after an hour, as they do on any cluster, or they would pile up for ever."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Final

from closeknit.kube.embedded.core import Core
from closeknit.kube.embedded.store import Event, Key, Table

TABLE: Final = ("", "events")
LIFETIME: Final = timedelta(hours=1)


class Expiry:
    """Knows which events are old. An event that is written again lives on from then."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._due: deque[tuple[datetime, Key, int]] = deque()
        """In the order in which they were written: when each is over, and in which version."""

    @property
    def idle(self) -> bool:
        """Whether none is over."""
        return not self._due or self._due[0][0] > self._core.clock.now()

    def notice(self, table: Table, event: Event) -> None:
        """Take note of a write."""
        if table.key == TABLE and event.after is not None:
            after = event.after
            written = self._core.clock.now()
            if event.before is None:
                # What comes from a file was written earlier.
                created = datetime.fromisoformat(after.obj["metadata"]["creationTimestamp"])
                written = min(written, created.astimezone(UTC))
            self._due.append((written + LIFETIME, after.key, after.version))

    def sweep(self) -> None:
        """Remove those that are over and were not written since."""
        table = self._core.store.table(TABLE)
        while not self.idle:
            _, key, version = self._due.popleft()
            record = table.get(key)
            if record is not None and record.version == version:
                self._core.store.write(table, key, None)
