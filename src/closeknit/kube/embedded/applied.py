"""Server-side apply: a configuration merged with the object that is there, or made into a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from closeknit.hub.copying import replace
from closeknit.kube.embedded import apply as applying
from closeknit.kube.embedded import decoding, patches
from closeknit.kube.embedded.checking import required
from closeknit.kube.embedded.core import Core, Target
from closeknit.kube.embedded.kinds import Object
from closeknit.kube.embedded.store import Key, Record
from closeknit.kube.embedded.writing import create, update
from closeknit.kube.errors import BadRequestError, invalid
from closeknit.kube.port import ApplyPatch


async def apply_patch(core: Core, target: Target, patch: ApplyPatch) -> tuple[Record, bool]:
    """Server-side apply: what becomes of the object, and whether it is new."""
    kind, key, options = target.kind, target.key, target.options
    if not patch.manager:
        causes = [required("fieldManager", "is required for apply patch")]
        raise invalid(causes, group="meta.k8s.io", kind="PatchOptions", name="")
    wanted = decoding.copied(patch.body)
    meta = wanted.get("metadata")
    if not isinstance(meta, dict):
        meta = wanted["metadata"] = {}
    if meta.get("managedFields"):
        raise BadRequestError("metadata.managedFields must be nil")
    if not wanted.get("apiVersion") or not wanted.get("kind"):
        raise BadRequestError("An applied object must say its apiVersion and kind.")
    writer = target.writer(core.now(), manager=patch.manager, operation="Apply")
    if core.table(kind).get(key) is None:
        if target.subresource:
            raise kind.not_found(key[1])
        return await _create_applied(core, target, wanted, writer), True
    _require_named(meta, key)

    def change(live: Object) -> Object:
        plain = _plain(target, decoding.copied(wanted))
        merged, owners = applying.apply(kind, live, plain, writer, force=patch.force)
        merged = {**merged, "metadata": {**merged["metadata"], "managedFields": owners}}
        applying.note_last_applied(merged, plain, writer)
        return patches.bounded(live, merged)

    # The owners are worked out already, so no further writer is noted.
    own = replace(options, manager="", field_validation="Ignore")
    return await update(core, replace(target, options=own), change), False


async def _create_applied(core: Core, target: Target, wanted: Object, writer: applying.Writer) -> Record:
    kind, key = target.kind, target.key
    meta = wanted["metadata"]
    if meta.get("resourceVersion"):
        raise kind.modified(key[1])
    if meta.get("uid"):
        detail = f"the applied object has the uid {meta['uid']}, and there is no object of this name"
        raise kind.conflict(key[1], detail)
    meta.setdefault("name", key[1])
    if kind.namespaced:
        meta.setdefault("namespace", key[0])
    _require_named(meta, key)
    plain = _plain(target, wanted)
    _, owners = applying.apply(kind, {}, plain, writer, force=True)
    return await create(core, target, decoding.copied(plain), owners=owners)


def _require_named(meta: Mapping[str, Any], key: Key) -> None:
    if meta.get("name", key[1]) != key[1]:
        raise BadRequestError(
            f"the name of the object ({meta.get('name')}) does not match the name on the URL ({key[1]})"
        )


def _plain(target: Target, wanted: Object) -> Object:
    """An applied configuration without unknown fields, and without what this write does not touch."""
    kind = target.kind
    decoding.refuse_undeclared(kind, target.version, wanted, target.options)
    if target.subresource == "status":
        touched = ("apiVersion", "kind", "metadata", "status")
        return {name: value for name, value in wanted.items() if name in touched}
    if kind.has_status and not kind.keeps_status:
        wanted.pop("status", None)
    return wanted
