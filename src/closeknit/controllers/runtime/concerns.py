"""Who wants an object to be otherwise, so that a change of it by others is noticed."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

from closeknit.hub.keys import Key

_I = TypeVar("_I", bound=Hashable)


class Concerns(Generic[_I]):
    """By object, those whose last decision would have written it, and the other way round."""

    def __init__(self) -> None:
        self._concerned: dict[Key, dict[_I, None]] = {}
        self._wanted: dict[_I, frozenset[Key]] = {}

    def note(self, item: _I, wanted: frozenset[Key]) -> None:
        """The last decision of an item is about these objects, and no others."""
        before = self._wanted.get(item, frozenset())
        for gone in before - wanted:
            items = self._concerned[gone]
            del items[item]
            if not items:
                del self._concerned[gone]
        for new in wanted - before:
            self._concerned.setdefault(new, {})[item] = None
        if wanted:
            self._wanted[item] = wanted
        else:
            self._wanted.pop(item, None)

    def about(self, key: Key) -> Collection[_I]:
        """Those whose last decision would have written an object."""
        return self._concerned.get(key, {}).keys()

    def everybody(self) -> list[_I]:
        """All whose last decision would have written something."""
        return list(self._wanted)
