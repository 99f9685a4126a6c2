"""Binding, eviction, scale, and the finalizers of namespaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from closeknit.kube.embedded import budgets, decoding, deleting, writing
from closeknit.kube.embedded.checking import bad_value
from closeknit.kube.embedded.core import Core, Target, WriteOptions
from closeknit.kube.embedded.kinds import Kind, Object, Scale
from closeknit.kube.embedded.store import Key, Record
from closeknit.kube.errors import (
    BadRequestError,
    Cause,
    ConflictError,
    invalid,
)
from closeknit.kube.port import DeleteOptions


def bind(core: Core, kind: Kind, key: Key, binding: Mapping[str, Any], *, dry_run: bool = False) -> None:
    """Put a pod on the node that a binding names."""
    target = binding.get("target") or {}
    node = target.get("name") if isinstance(target, Mapping) else None
    if not node or not isinstance(node, str):
        raise invalid(
            [Cause("target.name", "Required value", "FieldValueRequired")],
            group="",
            kind="Binding",
            name=key[1],
        )
    if target.get("kind", "Node") not in ("", "Node"):
        raise invalid(
            [bad_value("target.kind", target["kind"], "must be Node")], group="", kind="Binding", name=key[1]
        )
    record = core.find(kind, key)
    meta, spec = record.obj["metadata"], record.obj["spec"]
    wanted = binding.get("metadata") or {}
    annotations = wanted.get("annotations") or {} if isinstance(wanted, Mapping) else None
    if not isinstance(annotations, Mapping) or not all(
        isinstance(text, str) for text in annotations.values()
    ):
        raise BadRequestError("A Binding's metadata.annotations must be a map of strings.")
    if (uid := wanted.get("uid")) and uid != meta["uid"]:
        raise _refused(
            key[1], f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}"
        )
    if "deletionTimestamp" in meta:
        raise _refused(key[1], f"pod {key[1]} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _refused(key[1], f'pod {key[1]} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _refused(key[1], f"pod {key[1]} has non-empty .spec.schedulingGates")
    meta = dict(meta)
    if annotations:
        meta["annotations"] = {**(meta.get("annotations") or {}), **annotations}
    status = record.obj.get("status") or {}
    others = [one for one in status.get("conditions") or () if one.get("type") != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": core.now()}
    obj = {
        **record.obj,
        "metadata": meta,
        "spec": {**spec, "nodeName": node},
        "status": {**status, "conditions": [*others, scheduled]},
    }
    if not dry_run:
        core.store.write(core.table(kind), key, obj)


def _refused(name: str, detail: str) -> ConflictError:
    return ConflictError(
        f'Operation cannot be fulfilled on pods/binding "{name}": {detail}', kind="pods/binding", name=name
    )


async def evict(core: Core, target: Target, options: DeleteOptions) -> None:
    """Delete a pod, unless a disruption budget forbids it now."""
    kind = target.kind
    record = core.find(kind, target.key)
    status = record.obj.get("status") or {}
    meta = record.obj["metadata"]
    if status.get("phase") == "Running" and "deletionTimestamp" not in meta:
        budgets.respect(core, record)
    await deleting.delete(core, target, options)


def finalize(core: Core, target: Target, change: Callable[[Object], Object]) -> Record:
    """Change what holds a namespace that is being deleted."""
    record = core.find(target.kind, target.key)
    wanted = change(decoding.copied(record.obj))
    obj = decoding.copied(record.obj)
    spec = wanted.get("spec") or {}
    finalizers = spec.get("finalizers") or [] if isinstance(spec, Mapping) else None
    if not isinstance(finalizers, list) or not all(isinstance(name, str) for name in finalizers):
        raise BadRequestError("A namespace's spec.finalizers must be a list of strings.")
    obj["spec"] = {"finalizers": finalizers} if finalizers else {}
    return writing.store_change(core, target.kind, record, obj, WriteOptions())


def scale_of(kind: Kind, version: str, obj: Mapping[str, Any]) -> Object:
    """The scale subresource of an object."""
    scale = _scale(kind, version)
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": _at(obj, scale.status_replicas) or 0}
    if scale.selector and (selector := _at(obj, scale.selector)):
        status["selector"] = selector
    replicas = _at(obj, scale.spec_replicas)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _scale(kind: Kind, version: str) -> Scale:
    found = kind.scales.get(version)
    if found is None:
        raise kind.not_found("scale")
    return found


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        obj = obj.get(step) if isinstance(obj, Mapping) else None
    return obj


async def write_scale(core: Core, target: Target, change: Callable[[Object], Object]) -> Record:
    """Change an object by its scale subresource."""
    kind, version, key = target.kind, target.version, target.key
    scale = _scale(kind, version)

    def rescale(obj: Object) -> Object:
        wanted = change(scale_of(kind, version, obj))
        spec, meta = wanted.get("spec") or {}, wanted.get("metadata") or {}
        replicas = spec.get("replicas", 0) if isinstance(spec, Mapping) else None
        if replicas.__class__ is not int:
            raise BadRequestError("A Scale's spec.replicas must be a whole number.")
        if replicas < 0:
            causes = [bad_value("spec.replicas", replicas, "should be a non-negative integer")]
            raise invalid(causes, group="autoscaling", kind="Scale", name=key[1])
        given = meta.get("resourceVersion") if isinstance(meta, Mapping) else None
        if given and given != obj["metadata"]["resourceVersion"]:
            raise kind.modified(key[1])
        rescaled = inner = decoding.copied(obj)
        for step in scale.spec_replicas[:-1]:
            inner = inner.setdefault(step, {})
            if not isinstance(inner, dict):
                raise BadRequestError(f"There is no object at {'.'.join(scale.spec_replicas[:-1])}.")
        inner[scale.spec_replicas[-1]] = replicas
        return rescaled

    return await writing.update(core, target, rescale)
