"""The embedded cluster behind the port."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

import msgspec

from closeknit.kube import port
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.embedded import (
    builtin,
    decoding,
    definitions,
    deleting,
    patches,
    subresources,
    watches,
    writing,
)
from closeknit.kube.embedded.budgets import Budgets
from closeknit.kube.embedded.core import Core, Hook, Target, WriteOptions
from closeknit.kube.embedded.expiry import Expiry
from closeknit.kube.embedded.garbage import Garbage
from closeknit.kube.embedded.kinds import Kind, Kinds, Object
from closeknit.kube.embedded.listing import Found, Lists, filter_of, read_version
from closeknit.kube.embedded.store import Event, Key, Record, Store, Table
from closeknit.kube.errors import (
    AlreadyExistsError,
    BadRequestError,
    MethodNotAllowedError,
    NotFoundError,
    UnsupportedMediaTypeError,
)
from closeknit.kube.port import (
    DELETE,
    EVERYTHING,
    Bookmark,
    Change,
    ChangeType,
    DeleteOptions,
    Page,
    Patch,
    Selection,
    WatchEvent,
)
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource

VERSION: Final = "v1.36.4"
"""The version of Kubernetes whose behaviour is the model."""

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_BOOKMARK_EVERY: Final = 60.0
R = TypeVar("R")


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


class EmbeddedCluster:
    """A Kubernetes API in this process.

    Its state is in memory, unless a keeper has it. ``definitions`` are created at
    the start, where they are not there yet.
    Everything happens in one event loop; writes are seen by the next read.
    """

    def __init__(
        self,
        definitions: Iterable[Mapping[str, Any]] = (),
        *,
        clock: Clock = SYSTEM_CLOCK,
        dice: random.Random | None = None,
        history: int = 10_000,
        keeper: Keeper | None = None,
        bookmark_every: float = _BOOKMARK_EVERY,
    ) -> None:
        # Names and uids need to be distinct, not secret, and a simulation wants the same ones again.
        dice = dice or random.Random()  # noqa: S311
        store = keeper.store if keeper is not None else Store(history=history)
        self.core = Core(store, Kinds(), clock, dice)
        self.lists = Lists(self.core)
        self._followers = (Garbage(self.core), Budgets(self.core), Expiry(self.core))
        self._keeper = keeper
        self.bookmark_every = bookmark_every
        """Seconds after which a quiet watch is told that it has missed nothing."""
        self._writes = 0
        for kind in builtin.kinds():
            self.core.kinds.add(kind)
        self.core.store.on_event = self._on_event
        for table in list(self.core.store.tables.values()):
            for record in list(table.records()):
                self._on_event(table, Event(record.version, None, record))
        for name in _NAMESPACES:
            self._ensure(NAMESPACES, {"metadata": {"name": name}})
        for definition in definitions:
            self._ensure(CUSTOM_RESOURCE_DEFINITIONS, definition)
            self._renew(definition)
        self._sweep()
        if keeper is not None:
            keeper.flush_now()

    # ------------------------------------------------------------------------------------ admission

    def admit(self, hook: Hook, *, mutating: bool = False) -> None:
        """Ask a function about every write to come. Mutating ones come first and may change the object."""
        (self.core.mutating if mutating else self.core.validating).append(hook)

    # ----------------------------------------------------------------------------------------- reads

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str = "",
        subresource: str = "",
        into: type[Any] | None = None,
    ) -> Any:
        """One object."""
        kind, version = self.core.kinds.of(resource)
        record = await self.find(kind, (namespace if kind.namespaced else "", name))
        if subresource == "scale":
            return subresources.scale_of(kind, version, record.obj)
        if subresource not in ("", "status"):
            raise MethodNotAllowedError("the server does not allow this method on the requested resource")
        return self._handed_out(kind, version, record, into)

    async def find(self, kind: Kind, key: Key) -> Record:
        """One record that counts."""
        record = self.core.find(kind, key)
        if record.version > self.core.store.settled:
            await self.settle()
            record = self.core.find(kind, key)
        return record

    async def list(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        token: str = "",
        resource_version: str = "",
        into: type[Any] | None = None,
    ) -> Page[Any]:
        """Objects in the order of namespace and name."""
        kind, version = self.core.kinds.of(resource)
        found = await self.find_all(
            kind, selection, limit=limit, token=token, resource_version=resource_version
        )
        items = [self._handed_out(kind, version, record, into) for record in found.records]
        return Page(items, str(found.version), found.token, found.remaining)

    async def find_all(self, kind: Kind, selection: Selection, **page: Any) -> Found:
        """Records that count, in pages."""
        await self.settle()
        return self.lists.page(kind, selection, **page)

    @staticmethod
    def _handed_out(kind: Kind, version: str, record: Record, into: type[Any] | None) -> Any:
        """A copy that belongs to the caller."""
        if version == kind.storage:
            return (
                msgspec.json.decode(record.raw)
                if into is None
                else msgspec.json.decode(record.raw, type=into)
            )
        raw = msgspec.json.encode(kind.read_as(record.obj, version))
        return msgspec.json.decode(raw) if into is None else msgspec.json.decode(raw, type=into)

    async def watch(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        timeout: float | None = None,  # noqa: ASYNC109 (how long the server watches, not how long we wait)
        into: type[Any] | None = None,
    ) -> AsyncGenerator[WatchEvent[Any], None]:
        """Changes after a resource version, in order, with bookmarks between them."""
        kind, version = self.core.kinds.of(resource)
        watcher, present = await self.watcher(kind, selection, resource_version)
        for record in present:
            yield Change(
                ChangeType.ADDED,
                _shown(kind, version, record, into),
                record.obj["metadata"]["resourceVersion"],
            )
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        while True:
            while changes := watcher.take():
                for what, record, number in changes:
                    yield Change(what, _shown(kind, version, record, into), str(number))
            if watcher.ended:
                return
            left = self.bookmark_every if end is None else min(end - loop.time(), self.bookmark_every)
            if left <= 0 or not await watcher.wait(left):
                yield Bookmark(str(watcher.version()))
            if end is not None and loop.time() >= end and not watcher.behind:
                return

    async def watcher(
        self, kind: Kind, selection: Selection, resource_version: str
    ) -> tuple[watches.Watcher, Sequence[Record]]:
        """A watcher after a version, or what is there now and a watcher after that."""
        await self.settle()
        after = None if resource_version in ("", "0") else read_version(resource_version)
        return watches.start(self.core.store, self.core.table(kind), filter_of(kind, selection), after)

    # ---------------------------------------------------------------------------------------- writes

    async def create(
        self, resource: Resource, obj: Mapping[str, Any], *, field_manager: str = "", dry_run: bool = False
    ) -> Object:
        """Make an object, and return it as it is stored."""
        kind, version = self.core.kinds.of(resource)
        target = Target(kind=kind, version=version, options=_options(field_manager, dry_run=dry_run))
        record = await writing.create(self.core, target, decoding.copied(obj))
        made = kind.read_as(record.handed_over(), version)
        await self._written()
        return made

    async def replace(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Write a whole object."""
        kind, version = self.core.kinds.of(resource)
        sent = decoding.copied(obj)
        options = _options(field_manager, dry_run=dry_run)
        target = Target(
            kind=kind, version=version, key=key_of(kind, sent), subresource=subresource, options=options
        )
        return await self._change(target, lambda _: decoding.copied(sent))

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Patch,
        *,
        namespace: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Change a part of an object."""
        kind, version = self.core.kinds.of(resource)
        key = (namespace if kind.namespaced else "", name)
        options = _options(field_manager, dry_run=dry_run)
        target = Target(kind=kind, version=version, key=key, subresource=subresource, options=options)
        if isinstance(patch, port.ApplyPatch):
            record, _ = await self.write(writing.apply_patch(self.core, target, patch))
            return self._answer(kind, version, record)
        return await self._change(target, change_of(kind, version, patch))

    async def _change(self, target: Target, change: Callable[[Object], Object]) -> Object:
        record = await self.write(self.changed(target, change))
        if target.subresource == "scale":
            return subresources.scale_of(target.kind, target.version, record.obj)
        return self._answer(target.kind, target.version, record)

    def changed(self, target: Target, change: Callable[[Object], Object]) -> Coroutine[Any, Any, Record]:
        """The change of an object, or of one of its subresources, to be awaited by ``write``."""
        kind, subresource = target.kind, target.subresource
        if subresource == "scale":
            return subresources.write_scale(self.core, target, change)
        if subresource == "finalize" and kind.key == writing.NAMESPACES_TABLE:
            return self._finalize(kind, target.key, change)
        if subresource == "status" and not kind.has_status:
            raise NotFoundError("the server could not find the requested resource")
        if subresource not in ("", "status"):
            raise MethodNotAllowedError("the server does not allow this method on the requested resource")
        return writing.update(self.core, target, change)

    async def _finalize(self, kind: Kind, key: Key, change: Callable[[Object], Object]) -> Record:
        record = self.core.find(kind, key)
        wanted = change(decoding.copied(record.obj))
        obj = decoding.copied(record.obj)
        finalizers = (wanted.get("spec") or {}).get("finalizers") or []
        obj["spec"] = {"finalizers": finalizers} if finalizers else {}
        return writing.store_change(self.core, kind, record, obj, WriteOptions())

    @staticmethod
    def _answer(kind: Kind, version: str, record: Record) -> Object:
        """What a writer gets back: a copy, since the store keeps the original."""
        return EmbeddedCluster._handed_out(kind, version, record, None)  # type: ignore[no-any-return]

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", options: DeleteOptions = DELETE
    ) -> Object:
        """Ask for an object to go."""
        kind, version = self.core.kinds.of(resource)
        key = (namespace if kind.namespaced else "", name)
        target = Target(kind=kind, version=version, key=key, options=WriteOptions(dry_run=options.dry_run))
        record, gone = await self.write(deleting.delete(self.core, target, options))
        if gone and not kind.returns_deleted:
            return deleted_status(kind, record)
        return self._answer(kind, version, record)

    async def delete_collection(
        self, resource: Resource, selection: Selection, *, options: DeleteOptions = DELETE
    ) -> None:
        """Ask for every object of a selection to go."""
        kind, version = self.core.kinds.of(resource)
        if kind.namespaced and not selection.namespace:
            raise MethodNotAllowedError("A collection of all namespaces cannot be deleted. Name a namespace.")
        how = WriteOptions(dry_run=options.dry_run)
        for record in (await self.find_all(kind, selection)).records:
            target = Target(kind=kind, version=version, key=record.key, options=how)
            with suppress(NotFoundError):
                await self.write(deleting.delete(self.core, target, options))

    async def bind(
        self,
        pod: str,
        node: str,
        *,
        namespace: str,
        uid: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Put a pod on a node."""
        binding = {
            "metadata": {"name": pod, "uid": uid, "annotations": dict(annotations or {})},
            "target": {"kind": "Node", "name": node},
        }
        await self.bind_as((namespace, pod), binding)

    async def bind_as(self, pod: Key, binding: Mapping[str, Any], *, dry_run: bool = False) -> None:
        """Put a pod on the node that a Binding object names."""
        kind, _ = self.core.kinds.of(PODS)
        subresources.bind(self.core, kind, pod, binding, dry_run=dry_run)
        await self._written()

    async def evict(self, pod: str, *, namespace: str, options: DeleteOptions = DELETE) -> None:
        """Ask for a pod to go unless a disruption budget forbids it now."""
        kind, version = self.core.kinds.of(PODS)
        how = WriteOptions(dry_run=options.dry_run)
        target = Target(kind=kind, version=version, key=(namespace, pod), subresource="eviction", options=how)
        await self.write(subresources.evict(self.core, target, options))

    async def write(self, writing_it: Coroutine[Any, Any, R]) -> R:
        """Carry out a write, and return when it counts, along with what follows from it."""
        result = await writing_it
        await self._written()
        return result

    async def _written(self) -> None:
        if self._keeper is not None:
            await self._keeper.settled()
        while self._sweep():
            if self._keeper is not None:
                await self._keeper.settled()
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

    # ------------------------------------------------------------------------------------- discovery

    async def resources(self) -> tuple[Resource, ...]:
        """Everything that is served."""
        return tuple(resource for _, resource in self.core.kinds.served())

    async def version(self) -> str:
        """The version of Kubernetes whose behaviour is the model."""
        return VERSION

    def forget_history(self) -> None:
        """Forget what watches could resume from, as a compaction does: they have to list again."""
        for table in self.core.store.tables.values():
            table.forget()
            table.oldest = max(table.oldest, self.core.store.settled)

    # -------------------------------------------------------------------------------------- innards

    def _on_event(self, table: Table, event: Event) -> None:
        after = event.after
        if table.key == definitions.TABLE and after and "deletionTimestamp" not in after.obj["metadata"]:
            self.core.kinds.add(definitions.kind_of(msgspec.json.decode(after.raw)))
        for follower in self._followers:
            follower.notice(table, event)

    def _sweep(self) -> bool:
        """Do what follows from the writes so far; False where that is nothing."""
        busy = [follower for follower in self._followers if not follower.idle]
        for follower in busy:
            follower.sweep()
        return bool(busy)

    def _ensure(self, resource: Resource, obj: Mapping[str, Any]) -> None:
        """Create what has to be there from the start."""
        kind, version = self.core.kinds.of(resource)
        target = Target(kind=kind, version=version, options=_options(""))
        with suppress(AlreadyExistsError):
            self._at_once(writing.create(self.core, target, decoding.copied(obj)))

    def _renew(self, definition: Mapping[str, Any]) -> None:
        """Bring a definition that a file kept from an earlier start up to date."""
        kind, version = self.core.kinds.of(CUSTOM_RESOURCE_DEFINITIONS)
        key = ("", str(definition["metadata"]["name"]))
        target = Target(kind=kind, version=version, key=key, options=_options(""))
        self._at_once(
            writing.update(
                self.core, target, lambda old: {**old, **decoding.copied({"spec": definition["spec"]})}
            )
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


def _options(manager: str, *, dry_run: bool = False) -> WriteOptions:
    return WriteOptions(manager=manager or "closeknit", dry_run=dry_run)


def _shown(kind: Kind, version: str, record: Record, into: type[Any] | None) -> Any:
    """What a watcher sees, shared by all of them unless it has a type of its own."""
    obj = kind.read_as(record.obj, version)
    if into is None:
        return obj
    return msgspec.json.decode(record.raw if obj is record.obj else msgspec.json.encode(obj), type=into)


def key_of(kind: Kind, obj: Object) -> Key:
    """Under which key an object that was sent belongs."""
    meta = obj.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str) or not meta["name"]:
        raise BadRequestError("name must be provided")
    namespace = meta.get("namespace") or "default"
    if not isinstance(namespace, str):
        raise BadRequestError("metadata.namespace must be a string")
    return (namespace if kind.namespaced else "", meta["name"])


def change_of(kind: Kind, version: str, patch: Patch) -> Callable[[Object], Object]:
    """What a patch makes of an object."""
    match patch:
        case port.MergePatch(body=body):
            return lambda old: decoding.copied(patches.merge_patch(old, body))
        case port.JsonPatch(operations=operations):
            return lambda old: decoding.copied(patches.json_patch(old, operations))
        case port.StrategicMergePatch(body=body):
            if not kind.builtin:
                raise UnsupportedMediaTypeError(
                    "the body of the request was in an unknown format - accepted media types include: "
                    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
                )
            schema = kind.schemas[version]
            return lambda old: decoding.copied(patches.strategic_merge(schema, old, body))
        case _:
            raise BadRequestError("An apply is not a change of its own.")


def deleted_status(kind: Kind, record: Record) -> Object:
    """The answer to the deletion of an object that is gone."""
    details = {
        "name": record.key[1],
        "group": kind.group,
        "kind": kind.key[1],
        "uid": record.obj["metadata"]["uid"],
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {name: value for name, value in details.items() if value},
    }
