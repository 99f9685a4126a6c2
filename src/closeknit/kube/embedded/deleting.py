"""Deletion: finalizers, grace periods, and what becomes of dependents."""

from __future__ import annotations

from typing import Any, Final

from closeknit.kube.embedded import decoding, hooks, writing
from closeknit.kube.embedded.core import Core, Target, WriteOptions
from closeknit.kube.embedded.kinds import Kind, Object
from closeknit.kube.embedded.store import Record
from closeknit.kube.errors import ForbiddenError
from closeknit.kube.port import DeleteOptions, Propagation

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
PODS_TABLE: Final = ("", "pods")
_IMMORTAL: Final = frozenset({"default", "kube-public", "kube-system"})


async def delete(core: Core, target: Target, options: DeleteOptions) -> tuple[Record, bool]:
    """Ask for an object to go: what is left of it, or was, and whether it is gone."""
    kind, key = target.kind, target.key
    if kind.key == writing.NAMESPACES_TABLE and key[1] in _IMMORTAL:
        raise ForbiddenError(
            f'namespaces "{key[1]}" is forbidden: this namespace may not be deleted',
            kind="namespaces",
            name=key[1],
        )
    record = core.find(kind, key)
    _require(kind, record, options)
    if core.mutating or core.validating:
        await hooks.admit_deletion(core, target, record.obj)
        record = core.find(kind, key)
        _require(kind, record, options)
    return remove(core, kind, record, options)


def success(kind: Kind, record: Record) -> Object:
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


def _require(kind: Kind, record: Record, options: DeleteOptions) -> None:
    meta = record.obj["metadata"]
    for word, given, found in (
        ("UID", options.uid, meta["uid"]),
        ("ResourceVersion", options.resource_version, meta["resourceVersion"]),
    ):
        if given and given != found:
            detail = f"{word} in precondition: {given}, {word} in object meta: {found}"
            raise kind.conflict(record.key[1], f"Precondition failed: {detail}")


def remove(core: Core, kind: Kind, record: Record, options: DeleteOptions) -> tuple[Record, bool]:
    """Delete, without asking hooks: at once, or by marking the object where something holds it."""
    meta = record.obj["metadata"]
    finalizers = _finalizers(kind, meta, options)
    grace = _grace(kind, record.obj, options)
    held = bool(finalizers) or grace > 0 or _is_full_namespace(kind, record.obj)
    if not held:
        if not options.dry_run:
            core.store.write(core.table(kind), record.key, None)
        return record, True
    obj = decoding.copied(record.obj)
    _mark(core, kind, obj, grace)
    obj["metadata"]["finalizers"] = finalizers
    left = writing.store_change(core, kind, record, obj, WriteOptions(dry_run=options.dry_run))
    return left, False


def _mark(core: Core, kind: Kind, obj: Object, grace: int) -> None:
    meta = obj["metadata"]
    earlier = meta.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" not in meta:
        if kind.counts_generations:
            meta["generation"] = meta.get("generation", 0) + 1
    elif earlier is not None and grace >= earlier:
        return
    meta["deletionTimestamp"] = core.later(grace)
    meta["deletionGracePeriodSeconds"] = grace
    if kind.key == writing.NAMESPACES_TABLE:
        meta.pop("deletionGracePeriodSeconds")
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}


def _finalizers(kind: Kind, meta: dict[str, Any], options: DeleteOptions) -> list[str]:
    kept = [one for one in meta.get("finalizers") or () if one not in (ORPHAN, FOREGROUND)]
    wish = options.propagation
    if wish is None and "deletionTimestamp" in meta:
        return list(meta.get("finalizers") or ())
    match wish or kind.propagation:
        case Propagation.ORPHAN:
            return [*kept, ORPHAN]
        case Propagation.FOREGROUND:
            return [*kept, FOREGROUND]
        case _:
            return kept


def _grace(kind: Kind, obj: Object, options: DeleteOptions) -> int:
    """For how many seconds the object stays; only pods that run somewhere do."""
    if kind.key != PODS_TABLE:
        return 0
    spec, status = obj["spec"], obj.get("status") or {}
    asked = options.grace_period
    if asked is None:
        asked = spec.get("terminationGracePeriodSeconds", 30)
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    return 1 if asked < 0 else asked


def _is_full_namespace(kind: Kind, obj: Object) -> bool:
    return kind.key == writing.NAMESPACES_TABLE and bool((obj.get("spec") or {}).get("finalizers"))
