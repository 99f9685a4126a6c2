"""All that can be asked of an embedded cluster, in records: what the port and HTTP both stand on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from closeknit.kube import port
from closeknit.kube.embedded import applied, decoding, deleting, patches, subresources, watches, writing
from closeknit.kube.embedded.core import Core, Target
from closeknit.kube.embedded.kinds import Kind, Object
from closeknit.kube.embedded.listing import Found, Lists, filter_of, read_version
from closeknit.kube.embedded.store import Key, Record
from closeknit.kube.embedded.upkeep import Upkeep
from closeknit.kube.errors import (
    BadRequestError,
    MethodNotAllowedError,
    NotFoundError,
    UnsupportedMediaTypeError,
)
from closeknit.kube.port import DeleteOptions, Patch, Selection
from closeknit.kube.resources import PODS


class Records:
    """Reads and writes. A write has returned when it counts, along with what follows from it."""

    def __init__(self, core: Core, upkeep: Upkeep) -> None:
        self._core = core
        self._upkeep = upkeep
        self._lists = Lists(core)

    async def find(self, kind: Kind, key: Key) -> Record:
        """One record that counts."""
        record = self._core.find(kind, key)
        if record.version > self._core.store.settled:
            await self._upkeep.settle()
            record = self._core.find(kind, key)
        return record

    async def find_all(self, kind: Kind, selection: Selection, **page: Any) -> Found:
        """Records that count, in pages."""
        await self._upkeep.settle()
        return self._lists.page(kind, selection, **page)

    async def watcher(
        self, kind: Kind, selection: Selection, resource_version: str
    ) -> tuple[watches.Watcher, Sequence[Record]]:
        """A watcher after a version, or what is there now and a watcher after that."""
        await self._upkeep.settle()
        after = None if resource_version in ("", "0") else read_version(resource_version)
        return watches.start(self._core.store, self._core.table(kind), filter_of(kind, selection), after)

    async def create(self, target: Target, sent: Object) -> Record:
        """Make an object of what was sent, which belongs to the store from here on."""
        record = await writing.create(self._core, target, sent)
        await self._upkeep.written()
        return record

    async def replace(self, target: Target, sent: Mapping[str, Any]) -> Record:
        """Write a whole object, or one of its subresources."""
        return await self._change(target, lambda _: decoding.copied(sent))

    async def patch(self, target: Target, patch: Patch) -> tuple[Record, bool]:
        """What a patch makes of an object or of one of its subresources, and whether the object is new."""
        if isinstance(patch, port.ApplyPatch):
            answer = await applied.apply_patch(self._core, target, patch)
            await self._upkeep.written()
            return answer
        change = _change_of(target.kind, target.version, patch)
        return await self._change(target, lambda old: patches.bounded(old, change(old))), False

    async def _change(self, target: Target, change: Callable[[Object], Object]) -> Record:
        kind = target.kind
        match target.subresource:
            case "scale":
                record = await subresources.write_scale(self._core, target, change)
            case "finalize" if kind.key == writing.NAMESPACES_TABLE:
                record = subresources.finalize(self._core, target, change)
            case "status" if not kind.has_status:
                raise NotFoundError("the server could not find the requested resource")
            case "" | "status":
                record = await writing.update(self._core, target, change)
            case _:
                raise MethodNotAllowedError("the server does not allow this method on the requested resource")
        await self._upkeep.written()
        return record

    async def delete(self, target: Target, options: DeleteOptions) -> tuple[Record, Object | None]:
        """Ask for an object to go: what is left of it, or was, and a Status where that is the answer."""
        record, gone = await deleting.delete(self._core, target, options)
        await self._upkeep.written()
        as_status = gone and not target.kind.returns_deleted
        return record, deleting.success(target.kind, record) if as_status else None

    async def delete_all(self, target: Target, selection: Selection, options: DeleteOptions) -> None:
        """Ask for every object of a selection to go."""
        if target.kind.namespaced and not selection.namespace:
            raise MethodNotAllowedError("A collection of all namespaces cannot be deleted. Name a namespace.")
        for record in (await self.find_all(target.kind, selection)).records:
            with suppress(NotFoundError):
                await self.delete(target.of(record.key), options)

    async def bind(self, pod: Key, binding: Mapping[str, Any], *, dry_run: bool = False) -> None:
        """Put a pod on the node that a Binding object names."""
        kind, _ = self._core.kinds.of(PODS)
        subresources.bind(self._core, kind, pod, binding, dry_run=dry_run)
        await self._upkeep.written()

    async def evict(self, target: Target, options: DeleteOptions) -> None:
        """Ask for a pod to go unless a disruption budget forbids it now."""
        await subresources.evict(self._core, target, options)
        await self._upkeep.written()


def key_of(kind: Kind, obj: Mapping[str, Any]) -> Key:
    """Under which key an object that was sent belongs."""
    meta = obj.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str) or not meta["name"]:
        raise BadRequestError("name must be provided")
    namespace = meta.get("namespace") or "default"
    if not isinstance(namespace, str):
        raise BadRequestError("metadata.namespace must be a string")
    return (namespace if kind.namespaced else "", meta["name"])


def _change_of(kind: Kind, version: str, patch: Patch) -> Callable[[Object], Object]:
    """What a patch makes of an object."""
    match patch:
        case port.MergePatch(body=body):
            return lambda old: patches.merge_patch(old, decoding.copied(body))
        case port.JsonPatch(operations=operations):
            return lambda old: decoding.copied(patches.json_patch(old, operations))
        case port.StrategicMergePatch(body=body):
            if not kind.builtin:
                raise UnsupportedMediaTypeError(
                    "the body of the request was in an unknown format - accepted media types include: "
                    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
                )
            schema = kind.schemas[version]
            return lambda old: patches.strategic_merge(schema, old, decoding.copied(body))
        case _:
            raise BadRequestError("An apply is not a change of its own.")
