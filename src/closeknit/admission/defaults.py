"""What is written into a new object before it is checked and stored.

What queues in Kueue waits: a Job is suspended and a pod is gated, until a controller lets it start. A part
of something that queues waits with the whole, and not for itself; that the whole is there and queues is
looked up, since anybody may write a controller reference to anything. A PodCliqueSet states how many pods
must run, so that this does not change with the number of replicas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from closeknit.admission.requests import Request
from closeknit.admission.reviewed import reviewed_by
from closeknit.apis import kueue_keys
from closeknit.kube.resources import JOB_SETS, JOBS, Resource

Object: TypeAlias = dict[str, Any]

_QUEUING: Final = (JOBS, JOB_SETS)
"""What queues and has parts with objects of their own."""
_STARTUP: Final = "CliqueStartupTypeAnyOrder"
_TERMINATION_DELAY: Final = "4h"


def defaulted(family: str, request: Request, *, waits_with_owner: bool = False) -> Mapping[str, Any] | None:
    """The object of a write with its defaults; None where none is to be written.

    ``waits_with_owner``: it queues by way of an owner, which was looked up (``may_wait_with_owner``). What is
    unchanged is shared with the object of the request.
    """
    if not _gets_defaults(family, request) or request.obj is None or waits_with_owner:
        return None
    made = _DEFAULTS[family, request.kind](request.obj)
    return None if made == request.obj else made


def _gets_defaults(family: str, request: Request) -> bool:
    row = reviewed_by(family, request.group, request.kind)
    return row is not None and row.defaulted and request.operation == "CREATE" and request.obj is not None


def may_wait_with_owner(family: str, request: Request) -> bool:
    """Whether the defaults of an object depend on its owners: it names a queue, and a controller."""
    if family != "kueue" or not _gets_defaults(family, request):
        return False
    return queues(request.content) and controller_reference(request.content) is not None


def queues(obj: Mapping[str, Any]) -> bool:
    """Whether an object names its queue."""
    return kueue_keys.QUEUE in ((obj.get("metadata") or {}).get("labels") or {})


def controller_reference(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The reference to the controller of an object; None where it has none."""
    owners = (obj.get("metadata") or {}).get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def resource_of(reference: Mapping[str, Any]) -> Resource | None:
    """The resource of an owner that may queue; None where its kind never does."""
    named = (str(reference.get("apiVersion", "")).rpartition("/")[0], reference.get("kind"))
    return next((each for each in _QUEUING if (each.group, each.kind) == named), None)


def _suspended(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """A Job or JobSet that queues starts when it is admitted."""
    spec = obj.get("spec")
    if not queues(obj):
        return obj
    return {**obj, "spec": {**spec, "suspend": True}} if isinstance(spec, Mapping) else obj


def _gated(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """A pod that queues waits to be admitted; one that asks for a topology also for its domain."""
    metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
    labels = metadata.get("labels") or {}
    if kueue_keys.QUEUE not in labels or spec.get("nodeName"):
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
