"""What is written into a new object before it is checked and stored.

What queues in Kueue waits: a Job is suspended and a pod is gated, until a controller lets it start. A
PodCliqueSet states how many pods must run, so that this does not change with the number of replicas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from closeknit.admission.requests import Request
from closeknit.admission.reviewed import reviewed_by
from closeknit.apis import kueue_keys

Object: TypeAlias = dict[str, Any]

_STARTUP: Final = "CliqueStartupTypeAnyOrder"
_TERMINATION_DELAY: Final = "4h"


def defaulted(family: str, request: Request) -> Mapping[str, Any] | None:
    """The object of a write with its defaults; None where none is to be written.

    What is unchanged is shared with the object of the request.
    """
    row = reviewed_by(family, request.group, request.kind)
    if row is None or not row.defaulted or request.operation != "CREATE" or request.obj is None:
        return None
    made = _DEFAULTS[family, request.kind](request.obj)
    return None if made == request.obj else made


def _suspended(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """A Job or JobSet that queues, and is not part of something larger, starts when it is admitted."""
    metadata = obj.get("metadata") or {}
    spec = obj.get("spec")
    if kueue_keys.QUEUE not in (metadata.get("labels") or {}) or _has_controller(metadata):
        return obj
    return {**obj, "spec": {**spec, "suspend": True}} if isinstance(spec, Mapping) else obj


def _gated(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """A pod that queues by itself waits to be admitted; one that asks for a topology also for its domain."""
    metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
    labels = metadata.get("labels") or {}
    if kueue_keys.QUEUE not in labels or _has_controller(metadata) or spec.get("nodeName"):
        return obj
    asked = {*kueue_keys.KEP_ANNOTATIONS, *kueue_keys.POD_SET_ANNOTATIONS}
    wanted = [kueue_keys.ADMISSION_GATE]
    if not asked.isdisjoint(metadata.get("annotations") or {}):
        wanted.append(kueue_keys.GATE)
    gates = spec.get("schedulingGates") or []
    there = {gate.get("name") for gate in gates}
    return {
        **obj,
        "metadata": {**metadata, "labels": {**labels, kueue_keys.MANAGED: "true"}},
        "spec": {
            **spec,
            "schedulingGates": [*gates, *({"name": gate} for gate in wanted if gate not in there)],
        },
    }


def _has_controller(metadata: Mapping[str, Any]) -> bool:
    return any(owner.get("controller") for owner in metadata.get("ownerReferences") or ())


def _complete(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """A PodCliqueSet with the numbers that are meant where none is written."""
    spec = obj.get("spec")
    template = spec.get("template") if isinstance(spec, Mapping) else None
    if not isinstance(template, Mapping):
        return obj
    made = {"cliqueStartupType": _STARTUP, "terminationDelay": _TERMINATION_DELAY, **template}
    made["cliques"] = [_complete_clique(each) for each in template.get("cliques") or ()]
    if template.get("podCliqueScalingGroups"):
        made["podCliqueScalingGroups"] = [
            {"replicas": 1, "minAvailable": 1, **each} for each in template["podCliqueScalingGroups"]
        ]
    return {**obj, "spec": {**obj["spec"], "template": made}}


def _complete_clique(clique: Mapping[str, Any]) -> Mapping[str, Any]:
    spec = clique.get("spec") or {}
    replicas = spec.get("replicas") or 1
    return {**clique, "spec": {"minAvailable": replicas, **spec, "replicas": replicas}}


_DEFAULTS: Final[Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Mapping[str, Any]]]] = {
    ("kueue", "Job"): _suspended,
    ("kueue", "JobSet"): _suspended,
    ("kueue", "Pod"): _gated,
    ("grove", "PodCliqueSet"): _complete,
}
