"""What all parts of the embedded cluster share: the store, the kinds, the clock, the dice and the hooks."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from closeknit.hub.copying import replace
from closeknit.kube.clock import Clock, timestamp
from closeknit.kube.embedded.apply import Writer
from closeknit.kube.embedded.kinds import Kind, Kinds
from closeknit.kube.embedded.store import Key, Record, Store, Table

_SECOND: Final = timedelta(seconds=1)
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """A write that is about to happen. ``obj`` may be changed in place; ``old`` may not."""

    operation: str
    """``CREATE``, ``UPDATE``, ``DELETE`` or ``CONNECT``."""
    kind: str
    group: str
    version: str
    plural: str
    subresource: str
    namespace: str
    name: str
    obj: dict[str, Any] | None
    old: Mapping[str, Any] | None
    dry_run: bool
    user: str = ""
    """Who writes."""
    warnings: list[str] = field(default_factory=list)
    """What the writer is told beside the answer."""


Hook: TypeAlias = Callable[[AdmissionRequest], Awaitable[None] | None]
"""Looks at a write and may change its object, or refuse it by raising an ApiError."""


@dataclass(slots=True, kw_only=True)
class WriteOptions:
    """How a write is made."""

    manager: str = "unknown"
    user: str = ""
    dry_run: bool = False
    field_validation: str = "Warn"
    """``Strict`` refuses unknown and repeated fields, ``Warn`` lists them, ``Ignore`` drops them silently."""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a write is about, in which version its writer speaks, and how it is made."""

    kind: Kind
    version: str
    key: Key = ("", "")
    subresource: str = ""
    options: WriteOptions = field(default_factory=WriteOptions)

    def of(self, key: Key) -> Target:
        """The same, about another object."""
        return replace(self, key=key)

    def writer(self, time: str, *, manager: str = "", operation: str = "Update") -> Writer:
        """Who owns what is written."""
        return Writer(
            manager=manager or self.options.manager,
            api_version=self.kind.resources[self.version].api_version,
            time=time,
            subresource=self.subresource,
            operation=operation,
        )


class Core:
    """Shared by reference; owns no rules."""

    def __init__(self, store: Store, kinds: Kinds, clock: Clock, dice: random.Random) -> None:
        self.store = store
        self.kinds = kinds
        self.clock = clock
        self.dice = dice
        self.mutating: list[Hook] = []
        self.validating: list[Hook] = []
        self._second: datetime | None = None
        self._stamp = ""

    def now(self) -> str:
        """The time as objects carry it, in whole seconds."""
        now = self.clock.now()
        if self._second is None or not self._second <= now < self._second + _SECOND:
            self._second = now.replace(microsecond=0)
            self._stamp = timestamp(self._second)
        return self._stamp

    def later(self, seconds: int) -> str:
        """A time to come."""
        return timestamp(self.clock.now() + timedelta(seconds=seconds))

    def uid(self) -> str:
        """A new uid."""
        # The bits of a random UUID, version 4, RFC 9562.
        bits = self.dice.getrandbits(128) & ~(0xF << 76) & ~(0x3 << 62) | (4 << 76) | (0x2 << 62)
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def suffix(self) -> str:
        """Five letters that make a name one of its own."""
        return "".join(self.dice.choices(_LETTERS, k=5))

    def table(self, kind: Kind) -> Table:
        """Where a kind's objects are."""
        return self.store.table(kind.key)

    def find(self, kind: Kind, key: Key) -> Record:
        """One object."""
        record = self.table(kind).get(key)
        if record is None:
            raise kind.not_found(key[1])
        return record
