"""Creating and changing objects: the one way in which any write reaches the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from closeknit.kube.embedded import apply as applying
from closeknit.kube.embedded import decoding, ownership
from closeknit.kube.embedded.checking import bad_value, forbidden
from closeknit.kube.embedded.core import Core, Target, WriteOptions
from closeknit.kube.embedded.hooks import admit
from closeknit.kube.embedded.kinds import Kind, Object
from closeknit.kube.embedded.store import Record
from closeknit.kube.errors import AlreadyExistsError, BadRequestError, Cause, ForbiddenError, NotFoundError

NAMESPACES_TABLE: Final = ("", "namespaces")
_TRIES: Final = 5
_SERVERS_OWN: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)
_NOT_FOR_NEW: Final = (*_SERVERS_OWN, "selfLink", "managedFields")


async def create(
    core: Core, target: Target, sent: Object, *, owners: list[applying.Entry] | None = None
) -> Record:
    """Make an object. What was sent belongs to the store from here on.

    ``owners`` says who owns its fields; without it, the writer owns them all.
    """
    kind, version, options = target.kind, target.version, target.options
    obj, causes = decoding.read(kind, version, sent, options)
    meta = obj["metadata"]
    if meta.pop("resourceVersion", "") not in ("", "0"):
        raise BadRequestError("resourceVersion should not be set on objects to be created")
    given_name = meta.get("name", "")
    _prepare_new(core, kind, obj)
    obj = kind.stored_as(obj, version)
    meta = obj["metadata"]
    if kind.namespaced:
        require_namespace(core, kind, meta.get("namespace", ""), meta["name"])
    kind.rules.creating(obj, core)
    if core.mutating or core.validating:
        causes = await admit(core, target, "CREATE", obj, None) or causes
    decoding.refuse_invalid(kind, obj, None, causes)
    table = core.table(kind)
    key = (meta.get("namespace", ""), meta["name"])
    tries = 0
    while table.get(key) is not None:
        tries += 1
        if given_name or tries > 8:
            raise AlreadyExistsError(
                f'{kind.qualified} "{key[1]}" already exists', group=kind.group, kind=kind.key[1], name=key[1]
            )
        meta["name"] = meta["generateName"][:58] + core.suffix()
        key = (key[0], meta["name"])
    if owners is None:
        owners = applying.updated(kind, {}, obj, [], target.writer(meta["creationTimestamp"]))
    meta["managedFields"] = owners
    if options.dry_run:
        return Record(key, 0, obj)
    record = _stored(core.store.write(table, key, obj))
    record.schema = kind.schemas[version]
    return record


def _stored(record: Record | None) -> Record:
    assert record is not None
    return record


def _prepare_new(core: Core, kind: Kind, obj: Object) -> None:
    meta = obj["metadata"]
    for name in _NOT_FOR_NEW:
        meta.pop(name, None)
    if kind.namespaced:
        meta["namespace"] = meta.get("namespace") or "default"
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = meta["generateName"][:58] + core.suffix()
    meta.setdefault("name", "")
    meta["uid"] = core.uid()
    meta["creationTimestamp"] = core.now()
    if kind.counts_generations:
        meta["generation"] = 1
    if kind.has_status and not kind.keeps_status:
        obj.pop("status", None)
    kind.rules.default(obj)


def require_namespace(core: Core, kind: Kind, namespace: str, name: str) -> None:
    """Refuse new objects in a namespace that is not there, or that is going."""
    record = core.store.table(NAMESPACES_TABLE).get(("", namespace))
    if record is None:
        raise NotFoundError(f'namespaces "{namespace}" not found', kind="namespaces", name=namespace)
    if "deletionTimestamp" in record.obj["metadata"]:
        raise ForbiddenError(
            f'{kind.qualified} "{name}" is forbidden: unable to create new content in namespace {namespace} '
            "because it is being terminated",
            group=kind.group,
            kind=kind.key[1],
            name=name,
            causes=(
                Cause(
                    "metadata.namespace", f"namespace {namespace} is being terminated", "NamespaceTerminating"
                ),
            ),
        )


async def update(core: Core, target: Target, change: Callable[[Object], Object]) -> Record:
    """Change an object. ``change`` gets it in the target's version, and returns what it becomes.

    What ``change`` gets belongs to the store, and it returns another object, which may share parts with it.
    Nothing is written where nothing changes. An object that is being deleted goes
    once its last finalizer is taken away.
    """
    kind, version, key = target.kind, target.version, target.key
    for _ in range(_TRIES):
        record = core.find(kind, key)
        known = record.schema is kind.schemas[kind.storage]
        old = decoding.stored(kind, record)
        if version == kind.storage:
            obj, causes = decoding.read(kind, version, change(old), target.options, settled=old)
        else:
            live = decoding.copied(kind.read_as(old, version))
            obj, causes = decoding.read(kind, version, change(live), target.options)
        _require_same(kind, record, obj)
        obj = _next_version(core, kind, kind.stored_as(obj, version), old, target.subresource)
        if core.mutating or core.validating:
            # Hooks may change any part of it, also those that it shares with the old one.
            obj = decoding.copied(obj)
            causes = await admit(core, target, "UPDATE", obj, old) or causes
            if core.table(kind).get(key) is not record:
                continue
        decoding.refuse_invalid(kind, obj, old, causes, known=known)
        record = _commit(core, target, record, obj)
        record.schema = kind.schemas[version]
        return record
    raise kind.modified(key[1])


def _require_same(kind: Kind, record: Record, obj: Object) -> None:
    meta, old = obj["metadata"], record.obj["metadata"]
    name = meta.setdefault("name", record.key[1])
    if name != record.key[1]:
        raise BadRequestError(
            f"the name of the object ({name}) does not match the name on the URL ({record.key[1]})"
        )
    namespace = meta.get("namespace") or record.key[0]
    if namespace != record.key[0]:
        raise BadRequestError(
            f"the namespace of the object ({namespace}) does not match "
            f"the namespace on the request ({record.key[0]})"
        )
    given = meta.get("resourceVersion")
    if given and given != old["resourceVersion"]:
        raise kind.modified(record.key[1])
    if not given and not kind.unconditional:
        causes = [bad_value("metadata.resourceVersion", given or "", "must be specified for an update")]
        raise kind.invalid(causes, record.key[1])
    if (uid := meta.get("uid")) and uid != old["uid"]:
        detail = f"UID in precondition: {uid}, UID in object meta: {old['uid']}"
        raise kind.conflict(record.key[1], f"Precondition failed: {detail}")


def _next_version(core: Core, kind: Kind, obj: Object, old: Mapping[str, Any], subresource: str) -> Object:
    """The next version of an object, with what this way of writing must not touch taken from the old one.

    What is taken is shared: only the metadata's own fields are changed here, and whole fields of the object.
    """
    old_meta = old["metadata"]
    if subresource == "status":
        sent = obj
        obj = {**old, "metadata": dict(old_meta)}
        obj.pop("status", None)
        if "status" in sent:
            obj["status"] = sent["status"]
        if kind.builtin:
            obj["metadata"] = sent["metadata"]
        elif "managedFields" in sent["metadata"]:
            obj["metadata"]["managedFields"] = sent["metadata"]["managedFields"]
    elif kind.has_status:
        obj.pop("status", None)
        if "status" in old:
            obj["status"] = old["status"]
    meta = obj["metadata"]
    for name in ("namespace", *_SERVERS_OWN):
        if name in old_meta:
            meta[name] = old_meta[name]
        else:
            meta.pop(name, None)
    meta["resourceVersion"] = old_meta["resourceVersion"]
    meta.pop("selfLink", None)
    if generate := old_meta.get("generateName"):
        meta.setdefault("generateName", generate)
    if subresource == "":
        kind.rules.default(obj)
    kind.rules.updating(obj, old, core)
    if "deletionTimestamp" in old_meta:
        added = set(meta.get("finalizers") or ()) - set(old_meta.get("finalizers") or ())
        if added:
            cause = forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers {sorted(added)}",
            )
            raise kind.invalid([cause], meta["name"])
    if kind.counts_generations and subresource != "status" and _differs(kind, obj, old):
        meta["generation"] = old_meta.get("generation", 0) + 1
    return obj


def _differs(kind: Kind, obj: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether what a user asks for has changed: all but the metadata, and the status where it is apart."""
    if kind.builtin:
        return bool(obj.get("spec") != old.get("spec"))
    apart = {"metadata", "apiVersion", *(("status",) if kind.has_status else ())}
    return any(obj.get(name) != old.get(name) for name in {*obj, *old} - apart)


def _commit(core: Core, target: Target, record: Record, obj: Object) -> Record:
    meta, old = obj["metadata"], record.obj
    if target.options.manager:
        owners = _owners_sent(meta.get("managedFields"), old["metadata"].get("managedFields") or [])
        meta["managedFields"] = applying.updated(target.kind, old, obj, owners, target.writer(core.now()))
    return store_change(core, target.kind, record, obj, target.options)


def _owners_sent(sent: Any, old: list[applying.Entry]) -> list[applying.Entry]:
    """The record of owners that a client sent along, where it is one; else the old one.

    An empty list, or one empty entry, is how a client throws the record away.
    """
    if sent in ([], [{}]):
        return []
    if sent == old:
        return old
    if isinstance(sent, list) and all(
        isinstance(entry.get("manager"), str) and ownership.is_set(entry.get("fieldsV1")) for entry in sent
    ):
        return list(sent)
    return old


def store_change(core: Core, kind: Kind, record: Record, obj: Object, options: WriteOptions) -> Record:
    """Store the next version of an object, unless it is the same; remove it where nothing holds it."""
    meta, old_meta = obj["metadata"], record.obj["metadata"]
    meta["resourceVersion"] = old_meta["resourceVersion"]
    for name in ("managedFields", "finalizers", "labels", "annotations", "ownerReferences"):
        if name in meta and not meta[name]:
            del meta[name]
    if obj == record.obj:
        return record
    if options.dry_run:
        return Record(record.key, record.version, obj)
    table = core.table(kind)
    gone = (
        "deletionTimestamp" in meta
        and not meta.get("finalizers")
        and meta.get("deletionGracePeriodSeconds", 0) == 0
        and not (kind.key == NAMESPACES_TABLE and obj.get("spec", {}).get("finalizers"))
    )
    if gone:
        # The last version is the one that watchers see go.
        core.store.write(table, record.key, None)
        return Record(record.key, record.version, obj)
    return _stored(core.store.write(table, record.key, obj))
