"""What is being written into claims: believed from before it is sent until the server says it too.

While its pod is believed to be on its node, the pod holds what the claim is given. Where the pod is not, the
claim is put into the store as it is believed to be, until that was taken back. So nothing is given twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.dialects.core.binding_volumes import Preparation, VolumeBinding
from closeknit.dialects.core.devices import Id
from closeknit.dialects.core.reserving import Reservation
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Entry
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key


@dataclass(slots=True)
class _Belief:
    what: Reservation
    said: Stored[Any]
    """What the server said last."""
    stored: bool = False
    """Whether the store has the claim as it is believed to be."""
    version: int = 0
    """In which the server has it; 0 while that is not known."""
    heard: int = 0
    """The version that the server told of last."""


class Beliefs:
    """What is being written into claims, by claim."""

    def __init__(self, get: Callable[[Key], Entry | None], put: Callable[[Entry], None]) -> None:
        self._get = get
        self._put = put
        self._beliefs: dict[Key, _Belief] = {}
        self._volumes: dict[Key, str] = {}
        """By claim, the volume that it is to get."""

    def __bool__(self) -> bool:
        return bool(self._beliefs)

    def describe(self) -> tuple[object, ...]:
        """All that is believed, as a value that tells two moments apart."""
        return tuple(
            (key, each.what, each.stored, bool(each.version)) for key, each in sorted(self._beliefs.items())
        )

    def devices(self) -> frozenset[Id]:
        """All devices that are being given to claims."""
        return frozenset(device for each in self._beliefs.values() for device in each.what.exclusive)

    def held_by(self, pod: Key) -> frozenset[Id]:
        """The devices that are being given to claims whose first pod this is."""
        return frozenset(
            device
            for key, each in self._beliefs.items()
            if key.namespace == pod.namespace and each.what.pods[0][0] == pod.name and not each.stored
            for device in each.what.exclusive
        )

    def volumes(self) -> frozenset[str]:
        """All volumes that are being given to claims."""
        return frozenset(self._volumes.values())

    def believe(self, what: Preparation) -> None:
        """Believe that something is written, from before it is sent."""
        if isinstance(what, VolumeBinding):
            self._volumes[what.claim] = what.volume
            return
        stored = self._get(what.claim)
        if what.allocation is not None and isinstance(stored, Stored):
            self._beliefs[what.claim] = _Belief(what, stored)

    def keep(self, pod: Key) -> None:
        """A pod is not on its node after all: what its claims are given stays so until it is taken back."""
        for key, each in self._beliefs.items():
            if key.namespace == pod.namespace and not each.stored and (pod.name in dict(each.what.pods)):
                each.stored = True
                self._put(_with(each.said, each.what))

    def confirm(self, what: Preparation, version: str) -> None:
        """The server has written it, in this version."""
        belief = self._beliefs.get(what.claim)
        if belief is not None and version.isdigit():
            belief.version = int(version)
            if belief.heard >= belief.version:
                self.forget(what)

    def forget(self, what: Preparation) -> None:
        """Believe what the server says."""
        self._volumes.pop(what.claim, None)
        belief = self._beliefs.pop(what.claim, None)
        if belief is not None and belief.stored and self._get(what.claim) is not None:
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
        return _with(said, belief.what) if belief.stored else said


def _with(stored: Stored[wire.ResourceClaim], what: Reservation) -> Stored[wire.ResourceClaim]:
    assert what.allocation is not None
    status = wire.ResourceClaimStatus(
        allocation=msgspec.convert(what.allocation, wire.Allocation),
        reserved_for=tuple(wire.Consumer(resource="pods", name=name, uid=uid) for name, uid in what.pods),
    )
    return replace(stored, content=msgspec.structs.replace(stored.content, status=status))
