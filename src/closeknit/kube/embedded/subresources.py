"""Binding, eviction and scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from closeknit.kube.embedded import deleting, writing
from closeknit.kube.embedded.checking import bad_value
from closeknit.kube.embedded.core import Core, Target
from closeknit.kube.embedded.kinds import Kind, Object, Scale
from closeknit.kube.embedded.selectors import label_selector_text, label_test
from closeknit.kube.embedded.store import Key, Record
from closeknit.kube.errors import (
    BadRequestError,
    Cause,
    ConflictError,
    InternalServerError,
    TooManyRequestsError,
    invalid,
)
from closeknit.kube.port import DeleteOptions

_BUDGETS: Final = ("policy", "poddisruptionbudgets")


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
    if annotations := wanted.get("annotations"):
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
        _respect_budgets(core, kind, record)
    await deleting.delete(core, target, options)


def _respect_budgets(core: Core, kind: Kind, record: Record) -> None:
    namespace = record.key[0]
    labels = record.obj["metadata"].get("labels") or {}
    budgets = []
    for budget in core.store.table(_BUDGETS).records(namespace):
        selector = (budget.obj.get("spec") or {}).get("selector")
        test = label_test(label_selector_text(selector)) if selector is not None else None
        if selector is not None and (test is None or test(labels)):
            budgets.append((budget, test))
    if len(budgets) > 1:
        raise InternalServerError(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    for budget, test in budgets:
        pods = [
            one
            for one in core.table(kind).records(namespace)
            if test is None or test(one.obj["metadata"].get("labels") or {})
        ]
        spec = budget.obj["spec"]
        healthy = sum(_is_healthy(one.obj) for one in pods)
        if "maxUnavailable" in spec:
            needed = len(pods) - _share(spec["maxUnavailable"], len(pods))
        else:
            needed = _share(spec.get("minAvailable", 1), len(pods))
        if healthy - 1 < needed and _is_healthy(record.obj):
            name = budget.key[1]
            detail = f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
            raise TooManyRequestsError(
                "Cannot evict pod as it would violate the pod's disruption budget.",
                causes=(Cause("", detail, "DisruptionBudget"),),
            )


def _is_healthy(pod: Mapping[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def _share(amount: int | str, of: int) -> int:
    if isinstance(amount, int):
        return amount
    return math.ceil(int(amount.rstrip("%") or 0) * of / 100)


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
            raise writing.modified(kind, key[1])
        inner = obj
        for step in scale.spec_replicas[:-1]:
            inner = inner.setdefault(step, {})
        inner[scale.spec_replicas[-1]] = replicas
        return obj

    return await writing.update(core, target, rescale)
