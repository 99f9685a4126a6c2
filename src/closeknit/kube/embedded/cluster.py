"""The embedded cluster behind the port."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any, Final, Self

import msgspec

from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.embedded import builtin, decoding, subresources, writing
from closeknit.kube.embedded.core import Core, Hook, Target, WriteOptions
from closeknit.kube.embedded.kinds import Kind, Kinds, Object
from closeknit.kube.embedded.records import Records, key_of
from closeknit.kube.embedded.store import Key, Record, Store
from closeknit.kube.embedded.upkeep import Keeper, Upkeep
from closeknit.kube.errors import MethodNotAllowedError
from closeknit.kube.port import (
    DELETE,
    EVERYTHING,
    Bookmark,
    Change,
    ChangeType,
    DeleteOptions,
    Identity,
    KubernetesApi,
    Page,
    Patch,
    Selection,
    WatchEvent,
    Written,
)
from closeknit.kube.resources import PODS, Resource

VERSION: Final = "v1.36.4"
"""The version of Kubernetes whose behaviour is the model."""

ADMINISTRATOR: Final = "kubernetes-admin"
"""Who writes, unless somebody says otherwise; so does everybody who comes over HTTP."""

_BOOKMARK_EVERY: Final = 60.0


class EmbeddedCluster(KubernetesApi):
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
        user: str = ADMINISTRATOR,
        gang_api: bool = False,
    ) -> None:
        # Names and uids need to be distinct, not secret, and a simulation wants the same ones again.
        dice = dice or random.Random()  # noqa: S311
        store = keeper.store if keeper is not None else Store(history=history)
        self.core = Core(store, Kinds(), clock, dice)
        for kind in (*builtin.kinds(), *(builtin.gang_kinds() if gang_api else ())):
            self.core.kinds.add(kind)
        self._upkeep = Upkeep(self.core, keeper)
        self.records = Records(self.core, self._upkeep)
        self.user = user
        """Who writes by this object, as admission hooks are told."""
        self.bookmark_every = bookmark_every
        """Seconds after which a quiet watch is told that it has missed nothing."""
        self._upkeep.start(definitions)

    def admit(self, hook: Hook, *, mutating: bool = False) -> None:
        """Ask a function about every write to come. Mutating ones come first and may change the object."""
        (self.core.mutating if mutating else self.core.validating).append(hook)

    def acting_as(self, user: str) -> Self:
        """The same cluster, for somebody else."""
        other = copy.copy(self)
        other.user = user
        return other

    def forget_history(self) -> None:
        """Forget what watches could resume from, as a compaction does: they have to list again."""
        for table in self.core.store.tables.values():
            table.forget()
            table.oldest = max(table.oldest, self.core.store.settled)

    async def close(self) -> None:
        """Keep what is on its way, and let go of the file that holds the state."""
        await self._upkeep.close()

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
        kind, version = self.core.kinds.of(resource)
        if subresource not in ("", "scale", "status"):
            raise MethodNotAllowedError("the server does not allow this method on the requested resource")
        record = await self.records.find(kind, _key(kind, namespace, name))
        return _answered(kind, version, record, subresource, into)

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
        kind, version = self.core.kinds.of(resource)
        found = await self.records.find_all(
            kind, selection, limit=limit, token=token, resource_version=resource_version
        )
        items = [_answered(kind, version, record, into=into) for record in found.records]
        versions = [str(record.version) for record in found.records]
        return Page(items, str(found.version), found.token, found.remaining, versions)

    async def identities(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str,
        limit: int = 0,
        token: str = "",
    ) -> Page[Identity]:
        kind, _ = self.core.kinds.of(resource)
        found = await self.records.find_all(
            kind, selection, limit=limit, token=token, resource_version=resource_version, exact=True
        )
        items = [_read_identified(record.raw).metadata for record in found.records]
        versions = [str(record.version) for record in found.records]
        return Page(items, str(found.version), found.token, found.remaining, versions)

    async def watch(
        self,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        timeout: float | None = None,  # noqa: ASYNC109 (how long the server watches, not how long we wait)
        opened: Callable[[], None] | None = None,
        into: type[Any] | None = None,
    ) -> AsyncGenerator[WatchEvent[Any], None]:
        kind, version = self.core.kinds.of(resource)
        watcher, present = await self.records.watcher(kind, selection, resource_version)
        if opened is not None:
            opened()
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

    # ---------------------------------------------------------------------------------------- writes

    async def create(
        self,
        resource: Resource,
        obj: Mapping[str, Any],
        *,
        field_manager: str = "",
        dry_run: bool = False,
        into: type[Any] | None = None,
    ) -> Any:
        target = self._target(resource, manager=field_manager, dry_run=dry_run)
        record = await writing.create(self.core, target, decoding.copied(obj))
        if into is None:
            # Nobody has seen it yet, so its writer needs no copy.
            made = target.kind.read_as(record.handed_over(), target.version)
        else:
            made = _answered(target.kind, target.version, record, into=into)
        await self._upkeep.written()
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
        sent = decoding.copied(obj)
        key = key_of(self.core.kinds.of(resource)[0], sent)
        target = self._target(resource, key, subresource, manager=field_manager, dry_run=dry_run)
        return _written(target, await self.records.replace(target, sent))

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
        into: type[Any] | None = None,
    ) -> Any:
        target = self._target(
            resource, (namespace, name), subresource, manager=field_manager, dry_run=dry_run
        )
        record, _ = await self.records.patch(target, patch)
        return _answered(target.kind, target.version, record, subresource, into)

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", options: DeleteOptions = DELETE
    ) -> Object:
        target = self._target(resource, (namespace, name), dry_run=options.dry_run)
        record, status = await self.records.delete(target, options)
        return status or _written(target, record)

    async def delete_collection(
        self, resource: Resource, selection: Selection, *, options: DeleteOptions = DELETE
    ) -> None:
        target = self._target(resource, dry_run=options.dry_run)
        await self.records.delete_all(target, selection, options)

    async def bind(
        self,
        pod: str,
        node: str,
        *,
        namespace: str,
        uid: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        binding = {
            "metadata": {"name": pod, "uid": uid, "annotations": dict(annotations or {})},
            "target": {"kind": "Node", "name": node},
        }
        await self.records.bind((namespace, pod), binding)

    async def evict(self, pod: str, *, namespace: str, options: DeleteOptions = DELETE) -> None:
        target = self._target(PODS, (namespace, pod), "eviction", dry_run=options.dry_run)
        await self.records.evict(target, options)

    def _target(
        self,
        resource: Resource,
        key: Key = ("", ""),
        subresource: str = "",
        *,
        manager: str = "",
        dry_run: bool = False,
    ) -> Target:
        kind, version = self.core.kinds.of(resource)
        options = WriteOptions(manager=manager or "closeknit", user=self.user, dry_run=dry_run)
        return Target(
            kind=kind, version=version, key=_key(kind, *key), subresource=subresource, options=options
        )

    # ------------------------------------------------------------------------------------- discovery

    async def resources(self) -> tuple[Resource, ...]:
        return tuple(resource for _, resource in self.core.kinds.served())

    async def version(self) -> str:
        return VERSION


class _Identified(msgspec.Struct, frozen=True):
    metadata: Identity


_read_identified = msgspec.json.Decoder(_Identified).decode


def _key(kind: Kind, namespace: str, name: str) -> Key:
    return (namespace if kind.namespaced else "", name)


def _written(target: Target, record: Record) -> Object:
    answer: Object = _answered(target.kind, target.version, record, target.subresource)
    return answer


def _answered(
    kind: Kind, version: str, record: Record, subresource: str = "", into: type[Any] | None = None
) -> Any:
    """A copy that belongs to the caller."""
    if subresource == "scale":
        return subresources.scale_of(kind, version, record.obj)
    if into is Written:
        # Thousands of writers ask for no more than this, and need not have the object read for it.
        return Written.of(record.obj["metadata"].get("resourceVersion", ""))
    raw = record.raw if version == kind.storage else msgspec.json.encode(kind.read_as(record.obj, version))
    return msgspec.json.decode(raw) if into is None else msgspec.json.decode(raw, type=into)


def _shown(kind: Kind, version: str, record: Record, into: type[Any] | None) -> Any:
    """What a watcher sees, shared by all of them unless it has a type of its own."""
    return kind.read_as(record.obj, version) if into is None else _answered(kind, version, record, into=into)
