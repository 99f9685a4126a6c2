"""How one write is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from closeknit.apis.closeknit_keys import APPLIED
from closeknit.controllers.runtime.comparing import digest, without
from closeknit.controllers.runtime.writes import Apply, Create, Delete, Evict, Patch, SetStatus, Tell, Write
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Entry
from closeknit.hub.keys import Key
from closeknit.kube.errors import NotFoundError
from closeknit.kube.events import EventType, Recorder, Reference
from closeknit.kube.port import ApplyPatch, DeleteOptions, KubernetesApi, MergePatch, Propagation, Written
from closeknit.kube.resources import Resource


async def send(
    api: KubernetesApi, resource: Resource, write: Write, entry: Entry | None, manager: str
) -> str:
    """Send a write about an object as it was decided about; returns the version of the answer.

    The version is empty where there is none to wait for. Raises ``ApiError``.
    """
    match write:
        case Apply():
            patch = ApplyPatch(_applied(write, entry), manager, force=True)
            key = write.key
            written = await api.patch(resource, key.name, patch, namespace=key.namespace, into=Written)
            return written.resource_version
        case Create(body):
            made = await api.create(resource, body, field_manager=manager, into=Written)
            return made.resource_version
        case Patch(key, body, subresource, uid, version):
            known = {"uid": uid, "resourceVersion": version}
            guards = {field: value for field, value in known.items() if value}
            guarded = {**body, "metadata": {**(body.get("metadata") or {}), **guards}} if guards else body
            return await _patch(api, resource, key, guarded, to=subresource, by=manager)
        case SetStatus(key, fields):
            found = entry.written if isinstance(entry, Stored) else {}
            metadata = {"resourceVersion": found["metadata"]["resourceVersion"]}
            patch_body = {"metadata": metadata, "status": fields}
            return await _patch(api, resource, key, patch_body, to="status", by=manager)
        case Delete(key, uid, foreground, grace):
            propagation = Propagation.FOREGROUND if foreground else None
            options = DeleteOptions(uid=uid, propagation=propagation, grace_period=grace)
            await api.delete(resource, key.name, namespace=key.namespace, options=options)
        case Evict(key, uid):
            await api.evict(key.name, namespace=key.namespace, options=DeleteOptions(uid=uid))
        case Tell():
            pass
    return ""


def record(recorder: Recorder, told: Tell, entry: Entry | None, api_version: str) -> None:
    """Record an event about an object."""
    uid = entry.content.metadata.uid if isinstance(entry, Stored) else ""
    key = told.key
    regarding = Reference(api_version, key.kind, key.name, key.namespace, uid)
    kind = EventType.WARNING if told.warning else EventType.NORMAL
    recorder.record(regarding, told.reason, told.message, action=told.action, kind=kind)


async def _patch(
    api: KubernetesApi, resource: Resource, key: Key, body: Mapping[str, Any], *, to: str, by: str
) -> str:
    try:
        written = await api.patch(
            resource,
            key.name,
            MergePatch(body),
            namespace=key.namespace,
            subresource=to,
            field_manager=by,
            into=Written,
        )
    except NotFoundError:
        # It has gone, and with it what was to be changed.
        return ""
    return written.resource_version


def _applied(write: Apply, entry: Entry | None) -> Mapping[str, Any]:
    """The body with its digest, and with what it keeps as it was found; that must not have changed since."""
    body = write.body
    mark = digest(without(body, write.keeps))
    metadata = body["metadata"]
    found = entry.written if isinstance(entry, Stored) else {}
    if found and write.keeps:
        for path in write.keeps:
            body = _set(body, path, _at(found, path))
        metadata = {**body["metadata"], "resourceVersion": found["metadata"]["resourceVersion"]}
    annotations = {**(metadata.get("annotations") or {}), APPLIED: mark}
    return {**body, "metadata": {**metadata, "annotations": annotations}}


def _at(body: Any, path: Sequence[str]) -> Any:
    for step in path:
        body = body.get(step) if isinstance(body, Mapping) else None
    return body


def _set(body: Mapping[str, Any], path: Sequence[str], value: Any) -> Mapping[str, Any]:
    """The object with another value at a path; None takes the field away."""
    first, *rest = path
    inner = _set(body.get(first) or {}, rest, value) if rest else value
    if inner is None:
        return {name: each for name, each in body.items() if name != first}
    return {**body, first: inner}
