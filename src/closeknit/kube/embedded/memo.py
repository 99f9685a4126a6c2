"""What was worked out once for a spec serves every object with an equal one.

Objects come in great numbers from few templates, so most specs have been seen
before. They are told apart by their encoding, which costs next to nothing.
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

import msgspec

V = TypeVar("V")

encoded: Final = msgspec.json.Encoder().encode
_MOST: Final = 2_048


class Memo(Generic[V]):
    """Results by the encoding of what they were worked out from. It forgets all when it is full."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, V] = {}

    def get(self, key: bytes) -> V | None:
        """What is known."""
        return self._known.get(key)

    def put(self, key: bytes, value: V) -> None:
        """Remember a result. What is very long is not worth it."""
        if len(key) > 64 * 1024:
            return
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = value


def key_of(spec: Any, word: str) -> bytes:
    """The key of a spec within one use."""
    return word.encode() + encoded(spec)
