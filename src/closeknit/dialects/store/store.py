"""All objects by key, with indexes. Files fill it once; a watch changes it object by object."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from closeknit.dialects.store.objects import Stored, Unreadable
from closeknit.hub.keys import Key

Entry: TypeAlias = Stored[Any] | Unreadable
Change: TypeAlias = tuple[str, Any]
"""Something that can be asked of a store, and whose answer has changed."""


@dataclass(frozen=True, slots=True)
class Index:
    """Finds the objects of one shape by values that each of them has."""

    name: str
    shape: type[Any]
    values: Callable[[Stored[Any]], Iterable[Hashable]]
    """Pure: depends on the object alone."""
    of_metadata: bool = False
    """Whether they depend on its metadata alone, and so need not be asked for where that stays the same."""


class Store:
    """Objects by key. Every change returns the questions that have another answer now."""

    def __init__(self, indexes: Iterable[Index] = ()) -> None:
        self._entries: dict[Key, Entry] = {}
        self._by_shape: dict[type[Any], dict[Key, Stored[Any]]] = {}
        self._unreadable: dict[type[Any], dict[Key, Unreadable]] = {}
        self._indexes: dict[type[Any], list[Index]] = {}
        self._values: dict[str, dict[Key, tuple[Hashable, ...]]] = {}
        self._found: dict[str, dict[Hashable, dict[Key, Stored[Any]]]] = {}
        for index in indexes:
            self._indexes.setdefault(index.shape, []).append(index)
            self._values[index.name], self._found[index.name] = {}, {}

    def put(self, entry: Entry) -> list[Change]:
        """Add an object, or replace the one of its key in its place."""
        key, shape = entry.key, entry.shape
        before = self._entries.get(key)
        # What may fail for one object comes before anything is changed.
        indexed = self._indexed(before, entry) if isinstance(entry, Stored) else ()
        changes: list[Change] = [("key", key), ("shape", shape)]
        if before is None:
            changes += (("content", key), ("exists", key))
        elif before.shape is not shape or before.__class__ is not entry.__class__:
            changes += self.remove(key)
            before = None
        elif isinstance(before, Stored) and isinstance(entry, Stored) and before.content != entry.content:
            changes.append(("content", key))
        elif before == entry:
            return []
        self._entries[key] = entry
        if isinstance(entry, Unreadable):
            self._unreadable.setdefault(shape, {})[key] = entry
            return changes
        self._by_shape.setdefault(shape, {})[key] = entry
        for index, now in indexed:
            name = index.name
            values = self._values[name].get(key, ())
            if now is not None and now != values:
                self._take_out(index, key, changes)
                self._values[name][key] = values = now
            for value in values:
                self._found[name].setdefault(value, {})[key] = entry
                changes.append((name, value))
        return changes

    def _indexed(
        self, before: Entry | None, entry: Stored[Any]
    ) -> Sequence[tuple[Index, tuple[Hashable, ...] | None]]:
        """The indexes of an object with its values; None for values that are what they were."""
        indexes = self._indexes.get(entry.shape)
        if not indexes:
            return ()
        known = (
            isinstance(before, Stored)
            and before.shape is entry.shape
            and before.content.metadata == entry.content.metadata
        )
        return [
            (index, None if known and index.of_metadata else tuple(index.values(entry))) for index in indexes
        ]

    def remove(self, key: Key) -> list[Change]:
        """Forget an object, if it is there."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return []
        changes: list[Change] = [
            ("key", key),
            ("content", key),
            ("exists", key),
            ("shape", entry.shape),
        ]
        if isinstance(entry, Unreadable):
            del self._unreadable[entry.shape][key]
            return changes
        del self._by_shape[entry.shape][key]
        for index in self._indexes.get(entry.shape, ()):
            self._take_out(index, key, changes)
        return changes

    def get(self, key: Key) -> Entry | None:
        """The object of this key."""
        return self._entries.get(key)

    def of(self, shape: type[Any]) -> Mapping[Key, Stored[Any]]:
        """The objects of this shape that could be read, in the order in which they came."""
        return self._by_shape.get(shape, {})

    def unreadable(self, shape: type[Any]) -> Mapping[Key, Unreadable]:
        """The objects that should have had this shape."""
        return self._unreadable.get(shape, {})

    def found(self, index: str, value: Hashable) -> Mapping[Key, Stored[Any]]:
        """The objects that have this value, in the order in which they came."""
        return self._found[index].get(value, {})

    def values(self, index: str, key: Key) -> tuple[Any, ...]:
        """The values that an object is found by."""
        return self._values[index].get(key, ())

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def _take_out(self, index: Index, key: Key, changes: list[Change]) -> None:
        every = self._found[index.name]
        for value in self._values[index.name].pop(key, ()):
            del every[value][key]
            if not every[value]:
                del every[value]
            changes.append((index.name, value))
