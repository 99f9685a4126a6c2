"""Recognises what is older than what is known: events that are replayed, and lists of a server that lags.

Versions of one resource are compared as numbers (KEP-5504 promises that they can be). A version that is no
number is opaque: an event with one is taken as it comes, and objects with one have no entry here.

What is known of one object, and what an event makes of it:

| state | entry | event | next |
|---|---|---|---|
| unknown | none | added or modified above the floor | present |
| unknown | none | deleted above the floor | deleted |
| present | version | added or modified above the version | present |
| present | version | deleted at the version or above | deleted |
| deleted | tombstone | added or modified above the tombstone | present |
| deleted | tombstone | the floor passes the tombstone | unknown |

Every other event is old and changes nothing. The floor is the last version up to which every change is
known: that of a list or of a bookmark. An object that is unknown then did not exist, so no older event may
create it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

LONGEST: Final = 20
"""A version has fewer digits, for it is a number of 63 bits; and thousands of digits are slow to read."""

_MOST_TOMBSTONES: Final = 10_000
"""A server that sends no bookmarks never raises the floor; then the oldest tombstone does."""


def number_of(version: str) -> int | None:
    """A resource version as a number; None if it is opaque."""
    return int(version) if len(version) < LONGEST and version.isdecimal() else None


class Versions(Generic[K]):
    """The version in which each object of one resource is known."""

    __slots__ = ("_most", "_tombstones", "floor", "known")

    def __init__(self, most_tombstones: int = _MOST_TOMBSTONES) -> None:
        self.known: dict[K, int] = {}
        """The version of each object that is present."""
        self.floor = 0
        """Every change up to this version is known."""
        # Unlike a dict, it hands out its first entry in constant time however many were removed before.
        self._tombstones: OrderedDict[K, int] = OrderedDict()
        self._most = most_tombstones

    def put(self, key: K, version: int) -> bool:
        """Note an object that was added or modified; False if that is old."""
        known = self.known
        before = known.get(key)
        if before is None:
            if version <= self.floor:
                return False
            if key in self._tombstones:
                if version <= self._tombstones[key]:
                    return False
                del self._tombstones[key]
        elif version <= before:
            return False
        known[key] = version
        return True

    def delete(self, key: K, version: int) -> bool:
        """Note an object that was deleted; False if that is old.

        API servers before 1.9 sent a deleted object in its last version, so an equal one is not old.
        """
        tombstones = self._tombstones
        before = self.known.pop(key, None)
        if before is None:
            if version <= self.floor or version <= tombstones.get(key, 0):
                return False
            # The first tombstone is the one that was noted first.
            tombstones.pop(key, None)
        elif version < before:
            self.known[key] = before
            return False
        tombstones[key] = version
        if len(tombstones) > self._most:
            self.floor = max(self.floor, tombstones.popitem(last=False)[1])
        return True

    def forget(self, key: K) -> None:
        """Forget the version of an object, because an event of it had an opaque one."""
        self.known.pop(key, None)
        self._tombstones.pop(key, None)

    def complete(self, version: int) -> None:
        """Every change up to this version is known: raise the floor, and drop the tombstones below it."""
        if version > self.floor:
            self.floor = version
            if self._tombstones:
                above = ((key, at) for key, at in self._tombstones.items() if at > version)
                self._tombstones = OrderedDict(above)

    def replace(self, known: dict[K, int], version: int) -> None:
        """Begin again with the objects of a list."""
        self.known = known
        self.floor = version
        self._tombstones = OrderedDict()
