"""A stand-in for the volume controllers of kube-controller-manager, and for provisioners of volumes.

A claim gets the volume that was claimed for it, or one that is made: at once, or as soon as a node was
selected for it where its class waits for the first consumer. A volume that is made can be used where its
class allows it, in the domain of that node. Claims are made for ephemeral volumes of pods. Nothing is
stored, and volumes outlive their claims.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from closeknit.kube.clock import Clock
from closeknit.kube.errors import AlreadyExistsError
from closeknit.kube.mirror import Key, Mirror
from closeknit.kube.port import KubernetesApi, MergePatch, Object
from closeknit.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, Resource
from closeknit.kube.standins.reconciling import Reconciler, own_key

MANAGER: Final = "closeknit-volume-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_NOT_MADE: Final = "kubernetes.io/no-provisioner"


def made_for(claim: Object, storage_class: Object, node: Object | None) -> Object:
    """The volume that a provisioner makes for a claim, in the domain of a node where one was selected."""
    meta, spec = claim["metadata"], claim["spec"]
    resources = spec.get("resources") or {}
    requirements = [
        {"key": each["key"], "operator": "In", "values": [node["metadata"]["labels"][each["key"]]]}
        for term in (storage_class.get("allowedTopologies") or ())[:1]
        for each in term.get("matchLabelExpressions") or ()
        if node is not None and each["key"] in (node["metadata"].get("labels") or {})
    ]
    terms = [{"matchExpressions": requirements}]
    reached = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if requirements else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pvc-{meta['uid']}"},
        "spec": {
            "capacity": resources.get("requests") or {},
            "accessModes": spec.get("accessModes") or [],
            "storageClassName": storage_class["metadata"]["name"],
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "csi": {"driver": storage_class["provisioner"], "volumeHandle": meta["uid"]},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                **{name: meta[name] for name in ("namespace", "name", "uid")},
            },
            **reached,
        },
    }


def claims_for(pod: Object) -> list[Object]:
    """The claims of a pod's ephemeral volumes; they go with it."""
    meta = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "controller": True, "blockOwnerDeletion": True}
    owner |= {name: meta[name] for name in ("name", "uid")}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                **(each["ephemeral"]["volumeClaimTemplate"].get("metadata") or {}),
                "name": f"{meta['name']}-{each['name']}",
                "namespace": meta["namespace"],
                "ownerReferences": [owner],
            },
            "spec": each["ephemeral"]["volumeClaimTemplate"]["spec"],
        }
        for each in pod["spec"].get("volumes") or ()
        if each.get("ephemeral")
    ]


class VolumeController:
    """Looks after volumes and claims to them."""

    def __init__(
        self,
        api: KubernetesApi,
        claims: Mirror[Object],
        volumes: Mirror[Object],
        classes: Mirror[Object],
        nodes: Mirror[Object],
        *,
        pods: Mirror[Object],
        clock: Clock,
    ) -> None:
        """The volumes must have the index ``claim``: ``claim_of``."""
        self._api = api
        self._claims = claims
        self._volumes = volumes
        self._classes = classes
        self._nodes = nodes
        self._pods = pods
        self._for_pods = Reconciler(self._reconcile_pod, clock)
        self._for_claims = Reconciler(self._reconcile_claim, clock)
        self._for_volumes = Reconciler(self._reconcile_volume, clock)

    async def run(self) -> None:
        """Look after volumes until cancelled."""
        for mirror in (self._claims, self._volumes, self._classes, self._nodes, self._pods):
            await mirror.synced()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._for_claims.follow(self._claims, own_key))
            tasks.create_task(self._for_claims.follow(self._volumes, claim_of))
            tasks.create_task(self._for_claims.follow(self._classes, self._claims_of_class))
            tasks.create_task(self._for_volumes.follow(self._volumes, own_key))
            tasks.create_task(self._for_pods.follow(self._pods, _with_ephemeral_volumes))
            tasks.create_task(self._for_pods.run())
            tasks.create_task(self._for_claims.run())
            tasks.create_task(self._for_volumes.run())

    async def _reconcile_pod(self, key: Key) -> float | None:
        pod = self._pods.get(key.name, key.namespace)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            return None
        for claim in claims_for(pod):
            if self._claims.get(claim["metadata"]["name"], key.namespace) is None:
                with suppress(AlreadyExistsError):
                    await self._api.create(PERSISTENT_VOLUME_CLAIMS, claim, field_manager=MANAGER)
        return None

    def _claims_of_class(self, storage_class: Object) -> list[Key]:
        name = storage_class["metadata"]["name"]
        claims = (each for each in self._claims if _spec(each).get("storageClassName") == name)
        return [key for each in claims for key in own_key(each)]

    async def _reconcile_volume(self, key: Key) -> float | None:
        volume = self._volumes.get(key.name)
        if volume is not None and not _spec(volume).get("claimRef"):
            await self._set_phase(PERSISTENT_VOLUMES, volume, "Available")
        return None

    async def _reconcile_claim(self, key: Key) -> float | None:
        claim = self._claims.get(key.name, key.namespace)
        if claim is None or (claim.get("status") or {}).get("phase") == "Bound":
            return None
        meta = claim["metadata"]
        for volume in self._volumes.by("claim", key):
            # Whoever makes a volume for a claim by hand names no uid.
            if (volume["spec"]["claimRef"].get("uid") or meta["uid"]) == meta["uid"]:
                await self._bind(claim, volume)
                return None
        given = self._classes.get(_spec(claim).get("storageClassName") or "")
        if given is None or given["provisioner"] == _NOT_MADE:
            return None
        selected = (meta.get("annotations") or {}).get(SELECTED_NODE)
        waits = given.get("volumeBindingMode") == "WaitForFirstConsumer"
        if selected or not waits:
            made = made_for(claim, given, self._nodes.get(selected or ""))
            await self._api.create(PERSISTENT_VOLUMES, made, field_manager=MANAGER)
        return None

    async def _bind(self, claim: Object, volume: Object) -> None:
        if not volume["spec"]["claimRef"].get("uid"):
            named = {"spec": {"claimRef": {"uid": claim["metadata"]["uid"]}}}
            volume = await self._patch(PERSISTENT_VOLUMES, volume, named)
        await self._set_phase(PERSISTENT_VOLUMES, volume, "Bound")
        body = {
            "metadata": {"annotations": {_COMPLETED: "yes"}},
            "spec": {"volumeName": volume["metadata"]["name"]},
        }
        written = await self._patch(PERSISTENT_VOLUME_CLAIMS, claim, body)
        await self._set_phase(PERSISTENT_VOLUME_CLAIMS, written, "Bound")

    async def _set_phase(self, resource: Resource, obj: Object, phase: str) -> None:
        if (obj.get("status") or {}).get("phase") != phase:
            await self._patch(resource, obj, {"status": {"phase": phase}}, "status")

    async def _patch(
        self, resource: Resource, obj: Object, body: Mapping[str, Any], subresource: str = ""
    ) -> Object:
        meta = obj["metadata"]
        version = {"resourceVersion": meta["resourceVersion"], **body.get("metadata", {})}
        written: Object = await self._api.patch(
            resource,
            meta["name"],
            MergePatch({**body, "metadata": version}),
            namespace=meta.get("namespace", ""),
            subresource=subresource,
            field_manager=MANAGER,
        )
        return written


def _with_ephemeral_volumes(pod: Object) -> list[Key]:
    return own_key(pod) if any(each.get("ephemeral") for each in pod["spec"].get("volumes") or ()) else []


def claim_of(volume: Object) -> list[Key]:
    """The claim that a volume is for; none where that is not said in full."""
    reference = _spec(volume).get("claimRef")
    if not isinstance(reference, Mapping) or not (reference.get("namespace") and reference.get("name")):
        return []
    return [Key(str(reference["namespace"]), str(reference["name"]))]


def _spec(obj: Object) -> Mapping[str, Any]:
    """What is asked of a volume or a claim, of which the server has checked little."""
    return obj.get("spec") or {}
