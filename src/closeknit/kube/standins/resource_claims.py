"""A stand-in for the resource claim controller of kube-controller-manager.

Makes the claims that pods get from templates, and names them in the pods' status. Claims whose pods have
ended are no longer reserved for them, give their devices back when nobody uses them, and go with the pod that
they were made for. Claims of pods that somebody bound without reserving them are left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from closeknit.kube.clock import Clock
from closeknit.kube.errors import NotFoundError
from closeknit.kube.mirror import Key, Mirror
from closeknit.kube.owners import identity_of
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch, Object
from closeknit.kube.resources import PODS, RESOURCE_CLAIMS
from closeknit.kube.standins.reconciling import Reconciler, own_key

MANAGER: Final = "closeknit-resource-claim-controller"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
"""The annotation of a claim that was made for a pod: under which name the pod knows it."""


def is_done(pod: Mapping[str, Any] | None) -> bool:
    """Whether a pod uses nothing any more."""
    if pod is None or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return True
    # A pod that is deleted before it has a node will never get one.
    return bool(pod["metadata"].get("deletionTimestamp")) and not pod["spec"].get("nodeName")


def pod_claim(claim: Object) -> str:
    """Under which name a pod knows a claim that was made for it; empty for claims of other origin."""
    return str((claim["metadata"].get("annotations") or {}).get(POD_CLAIM, ""))


def missing(pod: Object, made: Sequence[Object], templates: Mapping[str, Object]) -> list[Object]:
    """The claims that a pod is to get from templates and has not got."""
    known = {pod_claim(each) for each in made}
    meta = pod["metadata"]
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    found: list[Object] = []
    for each in pod["spec"].get("resourceClaims") or ():
        template = templates.get(each.get("resourceClaimTemplateName", ""))
        if template is None or each["name"] in known:
            continue
        given = template["spec"].get("metadata") or {}
        metadata = {
            "generateName": f"{meta['name']}-{each['name']}-",
            "namespace": meta["namespace"],
            "labels": given.get("labels"),
            "annotations": {**(given.get("annotations") or {}), POD_CLAIM: each["name"]},
            "ownerReferences": [owner],
        }
        found.append(
            {
                "apiVersion": RESOURCE_CLAIMS.api_version,
                "kind": "ResourceClaim",
                "metadata": {name: value for name, value in metadata.items() if value},
                "spec": template["spec"]["spec"],
            }
        )
    return found


class ClaimController:
    """Looks after claims that pods get from templates, and after what claims of ended pods have got."""

    def __init__(
        self,
        api: KubernetesApi,
        pods: Mirror[Object],
        claims: Mirror[Object],
        templates: Mirror[Object],
        *,
        clock: Clock,
    ) -> None:
        """The claims must have the index ``owner``: ``controllers_of``."""
        self._api = api
        self._pods = pods
        self._claims = claims
        self._templates = templates
        self._for_pods = Reconciler(self._reconcile_pod, clock)
        self._for_claims = Reconciler(self._reconcile_claim, clock)

    async def run(self) -> None:
        """Look after claims until cancelled."""
        for mirror in (self._pods, self._claims, self._templates):
            await mirror.synced()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._for_pods.follow(self._pods, _with_templates))
            tasks.create_task(self._for_pods.follow(self._templates, self._waiting_for))
            tasks.create_task(self._for_claims.follow(self._pods, self._used_by))
            tasks.create_task(self._for_claims.follow(self._claims, own_key))
            tasks.create_task(self._for_pods.run())
            tasks.create_task(self._for_claims.run())

    def _waiting_for(self, template: Object) -> list[Key]:
        namespace = template["metadata"]["namespace"]
        pods = (each for each in self._pods if each["metadata"]["namespace"] == namespace)
        return [key for each in pods for key in _with_templates(each)]

    def _used_by(self, pod: Object) -> list[Key]:
        """The claims that a pod names itself or in its status."""
        listed = [*(pod["spec"].get("resourceClaims") or ())]
        if not listed:
            return []
        listed += pod.get("status", {}).get("resourceClaimStatuses") or ()
        names = (each.get("resourceClaimName") for each in listed)
        return [Key(pod["metadata"]["namespace"], name) for name in names if name]

    async def _reconcile_pod(self, key: Key) -> float | None:
        pod = self._pods.get(key.name, key.namespace)
        if pod is None or is_done(pod) or pod["metadata"].get("deletionTimestamp"):
            return None
        made = [each for each in self._claims.by("owner", identity_of(PODS, pod)) if pod_claim(each)]
        templates = {
            each["metadata"]["name"]: each
            for each in self._templates
            if each["metadata"]["namespace"] == key.namespace
        }
        for claim in missing(pod, made, templates):
            created = await self._api.create(RESOURCE_CLAIMS, claim, field_manager=MANAGER)
            made.append(created)
            await self._claims.reached(created["metadata"]["resourceVersion"])
        named = sorted((pod_claim(each), each["metadata"]["name"]) for each in made)
        statuses = [{"name": name, "resourceClaimName": claim} for name, claim in named]
        if statuses and statuses != pod.get("status", {}).get("resourceClaimStatuses"):
            body = {
                "metadata": {"uid": pod["metadata"]["uid"]},
                "status": {"resourceClaimStatuses": statuses},
            }
            patch = MergePatch(body)
            await self._api.patch(
                PODS, key.name, patch, namespace=key.namespace, subresource="status", field_manager=MANAGER
            )
        return None

    async def _reconcile_claim(self, key: Key) -> float | None:
        claim = self._claims.get(key.name, key.namespace)
        if claim is None:
            return None
        meta, status = claim["metadata"], claim.get("status") or {}
        reserved = status.get("reservedFor") or []
        valid = [each for each in reserved if not is_done(self._consumer(key.namespace, each))]
        if len(valid) < len(reserved):
            change = {"reservedFor": valid or None} | ({} if valid else {"allocation": None})
            body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": change}
            claim = await self._patch(key, body, "status")
            meta, status = claim["metadata"], claim.get("status") or {}
        going = bool(meta.get("deletionTimestamp"))
        if going and not valid and status.get("allocation"):
            body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": {"allocation": None}}
            claim = await self._patch(key, body, "status")
            meta, status = claim["metadata"], claim.get("status") or {}
        finalizers = meta.get("finalizers") or []
        if FINALIZER in finalizers and not status.get("allocation") and (going or len(valid) < len(reserved)):
            left = [each for each in finalizers if each != FINALIZER] or None
            body = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left}}
            claim = await self._patch(key, body)
        owners = meta.get("ownerReferences") or ()
        owner = next((each for each in owners if (each["apiVersion"], each["kind"]) == ("v1", "Pod")), None)
        unused = owner is not None and not valid and not going
        if owner is not None and unused and is_done(self._consumer(key.namespace, owner)):
            options = DeleteOptions(uid=meta["uid"])
            with suppress(NotFoundError):
                await self._api.delete(RESOURCE_CLAIMS, key.name, namespace=key.namespace, options=options)
        return None

    def _consumer(self, namespace: str, reference: Mapping[str, Any]) -> Object | None:
        pod = self._pods.get(reference["name"], namespace)
        return pod if pod is not None and pod["metadata"]["uid"] == reference["uid"] else None

    async def _patch(self, key: Key, body: Mapping[str, Any], subresource: str = "") -> Object:
        written: Object = await self._api.patch(
            RESOURCE_CLAIMS,
            key.name,
            MergePatch(body),
            namespace=key.namespace,
            subresource=subresource,
            field_manager=MANAGER,
        )
        return written


def _with_templates(pod: Object) -> list[Key]:
    claims = pod["spec"].get("resourceClaims") or ()
    return own_key(pod) if any(each.get("resourceClaimTemplateName") for each in claims) else []
