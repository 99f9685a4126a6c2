"""Claims and volumes as they are believed to be: as the server says, with what is being written into them.

What is believed is put into the store in place of what the server says, so that nothing is given twice. It
is believed until the server says it too, or has said something later, or it was taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.dialects.core.binding_volumes import Preparation
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Entry
from closeknit.hub.keys import Key


@dataclass(slots=True)
class _Belief:
    what: Preparation
    said: Stored[Any]
    """What the server said last."""
    version: int = 0
    """In which the server has it; 0 while that is not known."""
    heard: int = 0
    """The version that the server told of last."""


class Beliefs:
    """What is being written into claims and volumes."""

    def __init__(self, get: Callable[[Key], Entry | None], put: Callable[[Entry], None]) -> None:
        self._get = get
        self._put = put
        self._beliefs: dict[Key, _Belief] = {}

    def __bool__(self) -> bool:
        return bool(self._beliefs)

    def describe(self) -> tuple[object, ...]:
        """All that is believed, as a value that tells two moments apart."""
        return tuple((key, each.what, each.version, each.heard) for key, each in self._beliefs.items())

    def believe(self, what: Preparation) -> None:
        """Believe that something is written, from before it is sent."""
        stored = self._get(what.claim)
        if what.allocation is not None and isinstance(stored, Stored):
            self._beliefs[what.claim] = _Belief(what, stored)
            self._put(_with(stored, what))

    def confirm(self, what: Preparation, version: str) -> None:
        """The server has written it, in this version."""
        belief = self._beliefs.get(what.claim)
        if belief is not None and version.isdigit():
            belief.version = int(version)
            if belief.heard >= belief.version:
                self.forget(what)

    def forget(self, what: Preparation) -> None:
        """Believe what the server says."""
        belief = self._beliefs.pop(what.claim, None)
        if belief is not None and self._get(what.claim) is not None:
            self._put(belief.said)

    def heard(self, key: Key, version: str) -> None:
        """The server is about to tell of an object in this version."""
        belief = self._beliefs.get(key)
        if belief is not None and version.isdigit():
            belief.heard = int(version)

    def gone(self, key: Key) -> None:
        """The server says that an object has gone."""
        self._beliefs.pop(key, None)

    def as_believed(self, said: Stored[Any]) -> Stored[Any]:
        """An object of which the server tells, as it is believed to be."""
        belief = self._beliefs.get(said.key)
        if belief is None:
            return said
        if (
            said.content.status.allocation is not None
            or said.content.metadata.uid != belief.what.uid
            or 0 < belief.version <= belief.heard
        ):
            del self._beliefs[said.key]
            return said
        belief.said = said
        return _with(said, belief.what)


def _with(stored: Stored[wire.ResourceClaim], what: Preparation) -> Stored[wire.ResourceClaim]:
    assert what.allocation is not None
    status = wire.ResourceClaimStatus(
        allocation=msgspec.convert(what.allocation, wire.Allocation),
        reserved_for=[wire.Consumer(resource="pods", name=name, uid=uid) for name, uid in what.pods],
    )
    return replace(stored, content=msgspec.structs.replace(stored.content, status=status))
