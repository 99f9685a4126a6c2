"""How one report is written to the object that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from closeknit.apis.closeknit_keys import OUTCOME
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.hub.keys import Key
from closeknit.kube.errors import ForbiddenError
from closeknit.kube.port import ApplyPatch, KubernetesApi, MergePatch, StrategicMergePatch, Written
from closeknit.kube.resources import PODS, Resource
from closeknit.scheduler.status.conditions import STATUSES, pod_condition
from closeknit.scheduler.status.outcomes import Outcomes, has_outcome, outcome_object
from closeknit.scheduler.status.reports import Report

FIELD_MANAGER = "closeknit-scheduler"


async def write_unit(
    api: KubernetesApi,
    resource: Resource,
    meta: ObjectMeta,
    told: Report,
    now: str,
    *,
    outcomes: Outcomes,
    shown: Mapping[str, Any] | None,
) -> None:
    """Write the outcome, and for a PodGroup its conditions, where they are not there yet.

    ``shown`` is the object as an informer has it; the server is asked only where that is none or another one.
    """
    namespace = meta.namespace if resource.namespaced else ""
    status_of = STATUSES.get((resource.group, resource.kind))
    found = shown if shown is not None and shown["metadata"].get("uid") == meta.uid else None
    if status_of is not None and found is None:
        found = await api.get(resource, meta.name, namespace=namespace)
    if outcomes.annotated(namespace):
        found = await _annotate(api, resource, meta, told) or found
    await _apply_outcome(api, resource, meta, told, outcomes)
    if status_of is None or found is None or found["metadata"].get("uid") != meta.uid:
        return
    status = status_of(told, found, now)
    if status is None:
        return
    # Lists of conditions are replaced as a whole, so nobody may have written in between.
    version = found["metadata"]["resourceVersion"]
    await api.patch(
        resource,
        meta.name,
        MergePatch({"metadata": {"resourceVersion": version}, "status": status}),
        namespace=namespace,
        subresource="status",
        field_manager=FIELD_MANAGER,
    )


async def _apply_outcome(
    api: KubernetesApi, resource: Resource, meta: ObjectMeta, told: Report, outcomes: Outcomes
) -> None:
    own = outcomes.resource()
    if own is None or not has_outcome(resource) or not meta.uid:
        return
    body = outcome_object(resource, meta, told.outcome)
    patch = ApplyPatch(body, FIELD_MANAGER, force=True)
    # In a namespace that is going nothing can be made, and the conditions are written all the same.
    with suppress(ForbiddenError):
        await api.patch(own, body["metadata"]["name"], patch, namespace=meta.namespace, into=Written)


async def _annotate(
    api: KubernetesApi, resource: Resource, meta: ObjectMeta, told: Report
) -> Mapping[str, Any] | None:
    """The object with its annotation; None where the role does not allow it, which is off by default."""
    # The server does not write a patch that changes nothing, and answers with the whole object all the same.
    patch = MergePatch({"metadata": {"uid": meta.uid, "annotations": {OUTCOME: told.outcome}}})
    try:
        written: Mapping[str, Any] = await api.patch(
            resource, meta.name, patch, namespace=meta.namespace, field_manager=FIELD_MANAGER
        )
    except ForbiddenError:
        return None
    return written


async def write_pod(api: KubernetesApi, meta: ObjectMeta, told: Report, owner: str, since: str) -> None:
    """Write why a pod has no node; other conditions stay as they are."""
    condition = pod_condition(told, owner, since)
    await _patch_condition(api, meta.name, meta.namespace, meta.uid, condition)


async def correct_pod(api: KubernetesApi, key: Key, now: str) -> None:
    """Take back that a pod has no node, where that was written while it was bound."""
    pod = await api.get(PODS, key.name, namespace=key.namespace)
    conditions = (pod.get("status") or {}).get("conditions") or ()
    denied = any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)
    if denied and (pod.get("spec") or {}).get("nodeName"):
        condition = {
            "type": "PodScheduled",
            "status": "True",
            "reason": None,
            "message": None,
            "lastTransitionTime": now,
        }
        await _patch_condition(api, key.name, key.namespace, pod["metadata"]["uid"], condition)


async def _patch_condition(
    api: KubernetesApi, name: str, namespace: str, uid: str, condition: Mapping[str, Any]
) -> None:
    patch = StrategicMergePatch({"metadata": {"uid": uid}, "status": {"conditions": [condition]}})
    await api.patch(PODS, name, patch, namespace=namespace, subresource="status", field_manager=FIELD_MANAGER)
