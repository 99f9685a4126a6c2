"""Answers as bytes: browsers that ask for the same at once get the same ones, made and compressed once."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec

from closeknit.server.documents import Document
from closeknit.server.live_map import LiveMap


class Encoded:
    """A document in JSON; compressed when that is first asked for."""

    def __init__(self, document: Document | dict[str, Any]) -> None:
        self.plain = msgspec.json.encode(document)

    @cached_property
    def compressed(self) -> bytes:
        """By gzip. A low level takes a fifth of the time and makes the map hardly larger."""
        return gzip.compress(self.plain, compresslevel=3, mtime=0)


class Shared:
    """Answers that the newest version of a map determines, except for the time that they tell.

    They are kept for the second in which they were made, so that this time is right.
    """

    def __init__(self, live: LiveMap, seconds: Callable[[], float]) -> None:
        self._live = live
        self._seconds = seconds
        self._made: dict[tuple[str, str], Encoded] = {}
        """By what is asked for and topology."""
        self._newest = (0, 0, 0)

    def get(self, path: str, topology: str, make: Callable[[], Document]) -> Encoded:
        """What is asked for at a path, of a topology that exists; ``make`` is called where it is new."""
        newest = (self._live.generation, self._live.version, int(self._seconds()))
        if newest != self._newest:
            self._made, self._newest = {}, newest
        if (path, topology) not in self._made:
            self._made[path, topology] = Encoded(make())
        return self._made[path, topology]
