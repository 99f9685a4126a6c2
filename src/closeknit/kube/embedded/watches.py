"""Watches: a place in a table's log, seen through a selection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from closeknit.kube.embedded.selectors import Test
from closeknit.kube.embedded.store import Event, Record, Store, Table
from closeknit.kube.errors import GoneError
from closeknit.kube.port import ChangeType

_NO_LABELS: Final[Mapping[str, Any]] = {}


class Filter:
    """Which records of a table are seen."""

    __slots__ = ("fields", "labels", "namespace")

    def __init__(self, namespace: str = "", labels: Test | None = None, fields: Test | None = None) -> None:
        self.namespace = namespace
        self.labels = labels
        self.fields = fields

    def sees(self, record: Record) -> bool:
        """Whether a record is one of them."""
        if self.namespace and record.key[0] != self.namespace:
            return False
        if self.labels is None and self.fields is None:
            return True
        obj = record.peek()
        if self.labels is not None and not self.labels(obj["metadata"].get("labels") or _NO_LABELS):
            return False
        return self.fields is None or self.fields(obj)


class Watcher:
    """Reads a table's events one after the other, at its own pace."""

    def __init__(self, store: Store, table: Table, seen_through: Filter, place: int) -> None:
        self._store = store
        self._table = table
        self._filter = seen_through
        self._place = place
        self._everything = not (seen_through.namespace or seen_through.labels or seen_through.fields)

    def take(self, limit: int = 256) -> list[tuple[ChangeType, Record, int]]:
        """What has happened since, at most ``limit`` log entries; empty where nothing has.

        Who has fallen behind what the log remembers gets GoneError.
        """
        table = self._table
        start = self._place - table.dropped
        if start < 0:
            raise too_old(self._place, table.oldest)
        end = min(start + limit, len(table.log))
        changes: list[tuple[ChangeType, Record, int]] = []
        log = table.log
        for index in range(start, end):
            event = log[index]
            change = _plain(event) if self._everything else self._seen(event)
            if change is not None:
                changes.append(change)
        self._place = table.dropped + max(start, end)
        return changes

    @property
    def behind(self) -> bool:
        """Whether there is more to take."""
        return self._place < self._table.dropped + len(self._table.log)

    @property
    def ended(self) -> bool:
        """Whether nothing more can come, because the kind is served no longer."""
        return self._table.closed and not self.behind

    def version(self) -> int:
        """A version up to which nothing is missing, whatever came while the watcher waited."""
        if self.behind:
            return self._table.log[max(0, self._place - self._table.dropped)].version - 1
        return self._store.settled

    def _seen(self, event: Event) -> tuple[ChangeType, Record, int] | None:
        before, after = event.before, event.after
        was = before is not None and self._filter.sees(before)
        now = after is not None and self._filter.sees(after)
        if now:
            assert after is not None
            return (ChangeType.MODIFIED if was else ChangeType.ADDED, after, event.version)
        if was:
            assert before is not None
            # What leaves the selection is handed out as it was last seen, under the version of the event.
            return (ChangeType.DELETED, departed(before, event.version), event.version)
        return None

    async def wait(self, seconds: float) -> bool:
        """Wait until there is more to take; False when the time is over."""
        if self.behind:
            return True
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[bool] = loop.create_future()

        def wake(more: bool = True) -> None:  # noqa: FBT001, FBT002 (a callback)
            if not arrived.done():
                arrived.set_result(more)

        # A table with much traffic wakes thousands of times a second, for which asyncio.timeout is dear.
        limit = loop.call_later(seconds, wake, False)  # noqa: FBT003
        self._table.wake_on_event(wake)
        try:
            return await arrived
        finally:
            limit.cancel()
            self._table.wake_no_more(wake)


def _plain(event: Event) -> tuple[ChangeType, Record, int]:
    after = event.after
    if after is None:
        assert event.before is not None
        return (ChangeType.DELETED, departed(event.before, event.version), event.version)
    return (ChangeType.ADDED if event.before is None else ChangeType.MODIFIED, after, event.version)


def departed(record: Record, version: int) -> Record:
    """A record as it was last, under the version of its deletion."""
    metadata = {**record.obj["metadata"], "resourceVersion": str(version)}
    return Record(record.key, version, {**record.obj, "metadata": metadata})


def too_old(asked: int, oldest: int) -> GoneError:
    """The refusal to go on from a version that is forgotten."""
    return GoneError(f"too old resource version: {asked} ({oldest})")


def start(
    store: Store, table: Table, seen_through: Filter, version: int | None
) -> tuple[Watcher, list[Record]]:
    """A watcher after a version; without one, after now, and the records that are there now.

    Every write must be settled, or it would be seen twice.
    """
    if version is not None:
        place = table.place_after(version)
        if place is None:
            raise too_old(version, table.oldest)
        return Watcher(store, table, seen_through, place), []
    present = [record for record in table.records(seen_through.namespace) if seen_through.sees(record)]
    return Watcher(store, table, seen_through, table.dropped + len(table.log)), present
