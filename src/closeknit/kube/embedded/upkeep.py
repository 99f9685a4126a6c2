"""What a cluster does by itself: it keeps what is written, and does what follows from it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

import msgspec

from closeknit.kube.embedded import decoding, definitions, writing
from closeknit.kube.embedded.budgets import Budgets
from closeknit.kube.embedded.core import Core, Target, WriteOptions
from closeknit.kube.embedded.expiry import Expiry
from closeknit.kube.embedded.garbage import Garbage
from closeknit.kube.embedded.store import Event, Record, Store, Table
from closeknit.kube.errors import AlreadyExistsError
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


class Keeper(Protocol):
    """What keeps a store beyond the life of the process."""

    store: Store

    async def settled(self) -> None:
        """Return when every write so far is kept."""
        ...

    def flush_now(self) -> None:
        """Keep every write so far, before any event loop runs."""
        ...

    async def close(self) -> None:
        """Keep what is on its way, and let go."""
        ...


class Upkeep:
    """Keeps what is written, and does what follows from it."""

    def __init__(self, core: Core, keeper: Keeper | None) -> None:
        self._core = core
        self._keeper = keeper
        self._followers = (Garbage(core), Budgets(core), Expiry(core))
        self._writes = 0
        core.store.on_event = self._notice
        for table in list(core.store.tables.values()):
            for record in list(table.records()):
                self._notice(table, Event(record.version, None, record))

    def start(self, wanted: Iterable[Mapping[str, Any]]) -> None:
        """Make what has to be there from the start: namespaces, and definitions in the form that is given."""
        for name in _NAMESPACES:
            self._ensure(NAMESPACES, {"metadata": {"name": name}})
        for definition in wanted:
            self._ensure(CUSTOM_RESOURCE_DEFINITIONS, definition)
        self._sweep()
        if self._keeper is not None:
            self._keeper.flush_now()

    def _ensure(self, resource: Resource, obj: Mapping[str, Any]) -> None:
        kind, version = self._core.kinds.of(resource)
        key, options = ("", obj["metadata"]["name"]), WriteOptions(manager="closeknit")
        target = Target(kind=kind, version=version, key=key, options=options)
        with suppress(AlreadyExistsError):
            self._at_once(writing.create(self._core, target, decoding.copied(obj)))
            return
        if spec := obj.get("spec"):
            # What a file has kept from an earlier start may be older.
            self._at_once(
                writing.update(self._core, target, lambda old: decoding.copied({**old, "spec": spec}))
            )

    def _at_once(self, write: Coroutine[Any, Any, Record]) -> None:
        """Carry out a write before any event loop runs. Nothing waits: there are no hooks yet."""
        try:
            write.send(None)
        except StopIteration:
            if self._keeper is not None:
                self._keeper.flush_now()
            return
        raise RuntimeError("A write waited for something before the cluster was there.")

    async def written(self) -> None:
        """Return when a write counts, along with what follows from it."""
        if self._keeper is not None:
            await self._keeper.settled()
        while self._sweep():
            await self.settle()
        # A writer that never waits for anything must not keep watchers from their turn.
        self._writes += 1
        if not self._writes & 63:
            await asyncio.sleep(0)

    async def settle(self) -> None:
        """Return when every write so far counts."""
        if self._keeper is not None:
            await self._keeper.settled()

    async def close(self) -> None:
        """Keep what is on its way, and let go of the file that holds the state."""
        if self._keeper is not None:
            await self._keeper.close()

    def _notice(self, table: Table, event: Event) -> None:
        after = event.after
        if table.key == definitions.TABLE and after and "deletionTimestamp" not in after.obj["metadata"]:
            self._core.kinds.add(definitions.kind_of(msgspec.json.decode(after.raw)))
        for follower in self._followers:
            follower.notice(table, event)

    def _sweep(self) -> bool:
        """Do what follows from the writes so far; False where that is nothing."""
        busy = [follower for follower in self._followers if not follower.idle]
        for follower in busy:
            follower.sweep()
        return bool(busy)
