"""Objects in versions: one counter for all, one log of events for each table.

A stored object is never changed: a write stores another one. So reading,
listing and watching hand out what is there, without copies, and a watcher is
a place in the log. Who falls behind what the log remembers has to list again.

Writes happen between two awaits and are therefore atomic. Where a journal
keeps them, they count once it says so: until then nobody but a writer sees
them, and where it fails they never happened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from closeknit.kube.embedded.schema import Schema

Key: TypeAlias = tuple[str, str]
"""Namespace and name; the namespace is empty where a kind has none."""

TableKey: TypeAlias = tuple[str, str]
"""Group and plural."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_MOST_RECENT: Final = 8192
"""How many objects are kept as they are; pods take 60 MB then. Whoever starts thousands of pods writes each
four times, and to decode it before each write would take a sixth of all time."""


class Record:
    """One object in one version.

    It is kept encoded, which takes a quarter of the memory and nothing of the garbage collector's
    time. What was used last is kept as it is beside, until others have been used.
    """

    __slots__ = ("_obj", "_raw", "key", "schema", "version")

    def __init__(self, key: Key, version: int, obj: dict[str, Any] | None, raw: bytes | None = None) -> None:
        self.key = key
        self.version = version
        self.schema: Schema | None = None
        """The schema that has settled the object, where it is known. The next version of it keeps that."""
        self._obj = obj
        self._raw = raw

    @property
    def obj(self) -> dict[str, Any]:
        """The object, which nobody may change."""
        found = self._obj
        if found is None:
            assert self._raw is not None
            found = self._obj = _decode(self._raw)
            _noted(self)
        return found

    def peek(self) -> dict[str, Any]:
        """The same, for who looks at many and comes back to few."""
        if self._obj is not None:
            return self._obj
        assert self._raw is not None
        return _decode(self._raw)  # type: ignore[no-any-return]

    @property
    def raw(self) -> bytes:
        """The object as JSON."""
        if self._raw is None:
            self._raw = _encode(self._obj)
        return self._raw

    def handed_over(self) -> dict[str, Any]:
        """The object, which belongs to the caller from here on, where nobody has seen it yet."""
        found = self.obj
        self.rest()
        return found

    def rest(self) -> None:
        """Keep it encoded only."""
        if self._raw is None:
            self._raw = _encode(self._obj)
        self._obj = None


_recent: deque[Record] = deque()


def _noted(record: Record) -> Record:
    """The record, counted among those that were used last."""
    _recent.append(record)
    if len(_recent) > _MOST_RECENT:
        _recent.popleft().rest()
    return record


class Event:
    """One write: what was there, and what is there now. One of them may be None."""

    __slots__ = ("after", "before", "version")

    def __init__(self, version: int, before: Record | None, after: Record | None) -> None:
        self.version = version
        self.before = before
        self.after = after


class Journal(Protocol):
    """What keeps writes beyond the life of the process."""

    def write(self, table: TableKey, key: Key, record: Record | None, version: int) -> None:
        """Take note of a write; ``None`` removes the object."""
        ...


class Table:
    """All objects of one kind, in all namespaces, and the log of what happened to them."""

    def __init__(self, key: TableKey, *, history: int, oldest: int) -> None:
        self.key = key
        self.spaces: dict[str, dict[str, Record]] = {}
        self.log: deque[Event] = deque()
        self.oldest = oldest
        """Events up to this version are forgotten, or never were."""
        self.dropped = 0
        """How many events were forgotten, so that a place in the log has a number that stays."""
        self.count = 0
        self.closed = False
        """Whether the kind is served no longer."""
        self._history = history
        self._waiting: dict[Callable[[], None], None] = {}

    def get(self, key: Key) -> Record | None:
        """The object of this name."""
        space = self.spaces.get(key[0])
        return None if space is None else space.get(key[1])

    def records(self, namespace: str = "") -> Iterator[Record]:
        """All objects, or those of one namespace, in the order of namespace and name."""
        chosen = [namespace] if namespace else sorted(self.spaces)
        for name in chosen:
            space = self.spaces.get(name)
            if space:
                for key in sorted(space):
                    yield space[key]

    def put(self, key: Key, record: Record | None) -> Record | None:
        """Store or remove, and return what was there."""
        namespace, name = key
        if record is None:
            space = self.spaces.get(namespace)
            before = None if space is None else space.pop(name, None)
            if space is not None and not space:
                del self.spaces[namespace]
            self.count -= before is not None
            return before
        space = self.spaces.get(namespace)
        if space is None:
            space = self.spaces[namespace] = {}
        before = space.get(name)
        space[name] = record
        self.count += before is None
        return before

    def announce(self, event: Event) -> None:
        """Add to the log, and wake those who wait for more."""
        log = self.log
        log.append(event)
        if len(log) > self._history:
            self.oldest = log.popleft().version
            self.dropped += 1
        if self._waiting:
            self._wake()

    def forget(self) -> None:
        """Drop the log, as a compaction does."""
        if self.log:
            self.oldest = self.log[-1].version
            self.dropped += len(self.log)
            self.log.clear()

    def close(self) -> None:
        """Let go of those who wait: nothing more will happen here."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for wake in waiting:
            wake()

    def wake_on_event(self, wake: Callable[[], None]) -> None:
        """Call once when the next event is there."""
        self._waiting[wake] = None

    def wake_no_more(self, wake: Callable[[], None]) -> None:
        """Whoever waited has given up."""
        self._waiting.pop(wake, None)

    @property
    def waiting(self) -> int:
        """How many wait for the next event."""
        return len(self._waiting)

    def place_after(self, version: int) -> int | None:
        """The number of the first event after a version; None where some of those are forgotten."""
        if version < self.oldest:
            return None
        # Versions rise along the log; most watches start at its end.
        low, high = 0, len(self.log)
        if high and self.log[-1].version <= version:
            low = high
        while low < high:
            middle = (low + high) // 2
            if self.log[middle].version <= version:
                low = middle + 1
            else:
                high = middle
        return self.dropped + low


class Store:
    """All tables, and the version that counts writes."""

    def __init__(self, *, history: int = 10_000, version: int = 0, journal: Journal | None = None) -> None:
        self.version = version
        """The version of the last write."""
        self.tables: dict[TableKey, Table] = {}
        self._history = history
        self._start = version
        self._journal = journal
        self._pending: deque[tuple[Table, Event]] = deque()
        self.on_event: Callable[[Table, Event], None] = lambda _table, _event: None
        """Called for every write that counts."""

    def table(self, key: TableKey) -> Table:
        """The table of a kind, made when first asked for."""
        found = self.tables.get(key)
        if found is None:
            found = self.tables[key] = Table(key, history=self._history, oldest=self._start)
        return found

    def drop(self, key: TableKey) -> None:
        """Forget a table whose kind is gone."""
        table = self.tables.pop(key, None)
        if table is not None:
            table.close()

    @property
    def settled(self) -> int:
        """Every write up to this version counts."""
        return self._pending[0][1].version - 1 if self._pending else self.version

    def write(self, table: Table, key: Key, obj: dict[str, Any] | None) -> Record | None:
        """Store an object under the next version, which is written into it, or remove it.

        The object belongs to the store from here on. What is returned is what was stored or removed.
        """
        version = self.version = self.version + 1
        record = None
        if obj is not None:
            obj["metadata"]["resourceVersion"] = str(version)
            record = _noted(Record(key, version, obj, _encode(obj)))
        before = table.put(key, record)
        if record is not None and before is not None:
            record.schema = before.schema
        event = Event(version, before, record)
        if self._journal is None:
            table.announce(event)
            self.on_event(table, event)
        else:
            self._pending.append((table, event))
            self._journal.write(table.key, key, record, version)
        return before if record is None else record

    def settle(self, version: int) -> None:
        """The journal has kept all writes up to a version."""
        pending = self._pending
        while pending and pending[0][1].version <= version:
            table, event = pending.popleft()
            table.announce(event)
            self.on_event(table, event)

    def undo(self) -> None:
        """The journal has failed: no write since the last settled one happened. Versions are not reused."""
        while self._pending:
            table, event = self._pending.pop()
            record = event.after or event.before
            assert record is not None
            table.put(record.key, event.before)
