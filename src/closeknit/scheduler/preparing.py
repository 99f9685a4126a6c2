"""Writes what makes claims ready for pods, and takes it back.

Each may be called again, whatever became of the call before: it looks at what is there first. A write that
was lost and is still on its way comes too late once anything else was written: all name the version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from closeknit.dialects.core.binding_volumes import (
    Preparation,
    VolumeBinding,
    claiming_volume,
    selecting_node,
    taking_back,
)
from closeknit.dialects.core.reserving import FINALIZER, letting_go, reserving
from closeknit.kube.errors import ConflictError
from closeknit.kube.port import KubernetesApi, MergePatch, Object, StrategicMergePatch
from closeknit.kube.resources import Resource
from closeknit.scheduler.answers import Answer


class Written(NamedTuple):
    """What a write came to."""

    answer: Answer
    why: str = ""
    version: str = ""
    """Of the object that was written, where somebody waits to be told of it."""


Served: TypeAlias = Mapping[tuple[str, str], Resource]
"""What the server serves, by group and kind."""


async def prepare(api: KubernetesApi, resources: Served, what: Preparation) -> Written:
    """Make ready what pods claim: give a claim devices and reserve it for them, or see to its volume."""
    if isinstance(what, VolumeBinding):
        return await _bind_volume(api, resources, what)
    resource = resources[what.claim.group, what.claim.kind]
    # Adds the finalizer where it is missing, and says what the claim is like in any case.
    protected = StrategicMergePatch({"metadata": {"uid": what.uid, "finalizers": [FINALIZER]}})
    try:
        claim = await api.patch(resource, what.claim.name, protected, namespace=what.claim.namespace)
    except ConflictError:
        claim = await api.get(resource, what.claim.name, namespace=what.claim.namespace)
    if claim["metadata"]["uid"] != what.uid:
        return Written(Answer.GONE)
    change = reserving(claim, what)
    if isinstance(change, str):
        return Written(Answer.REFUSED, change)
    if change:
        patch = MergePatch({"metadata": _version(claim), "status": change})
        claim = await api.patch(
            resource, what.claim.name, patch, namespace=what.claim.namespace, subresource="status"
        )
    return Written(Answer.DONE, version=claim["metadata"]["resourceVersion"])


async def undo(api: KubernetesApi, resources: Served, what: Preparation) -> Written:
    """Take back what was made ready, as far as nobody else uses it."""
    if isinstance(what, VolumeBinding):
        return await _unbind_volume(api, resources, what)
    resource = resources[what.claim.group, what.claim.kind]
    name, namespace = what.claim.name, what.claim.namespace
    claim = await api.get(resource, name, namespace=namespace)
    if claim["metadata"]["uid"] != what.uid:
        return Written(Answer.GONE)
    if change := letting_go(claim, what):
        patch = MergePatch({"metadata": _version(claim), "status": change})
        claim = await api.patch(resource, name, patch, namespace=namespace, subresource="status")
    finalizers = claim["metadata"].get("finalizers") or []
    if FINALIZER in finalizers and not (claim.get("status") or {}).get("allocation"):
        others = [each for each in finalizers if each != FINALIZER]
        metadata = {**_version(claim), "finalizers": others or None}
        await api.patch(resource, name, MergePatch({"metadata": metadata}), namespace=namespace)
    return Written(Answer.DONE)


async def _bind_volume(api: KubernetesApi, resources: Served, what: VolumeBinding) -> Written:
    resource, name, namespace = _volume_written(resources, what)
    found = await api.get(resource, name, namespace=namespace)
    if not what.volume and found["metadata"]["uid"] != what.uid:
        return Written(Answer.GONE)
    change = claiming_volume(found, what) if what.volume else selecting_node(found, what)
    if isinstance(change, str):
        return Written(Answer.REFUSED, change)
    await _merge(api, resource, found, change)
    return Written(Answer.DONE)


async def _unbind_volume(api: KubernetesApi, resources: Served, what: VolumeBinding) -> Written:
    claims = resources[what.claim.group, what.claim.kind]
    claim = await api.get(claims, what.claim.name, namespace=what.claim.namespace)
    if claim["metadata"]["uid"] != what.uid:
        return Written(Answer.GONE)
    resource, name, namespace = _volume_written(resources, what)
    volume = await api.get(resource, name, namespace=namespace) if what.volume else None
    await _merge(api, resource, volume or claim, taking_back(claim, volume, what))
    return Written(Answer.DONE)


def _volume_written(resources: Served, what: VolumeBinding) -> tuple[Resource, str, str]:
    """What is written for a claim to a volume: the volume, or the claim where the volume is made."""
    if what.volume:
        return resources["", "PersistentVolume"], what.volume, ""
    return resources["", "PersistentVolumeClaim"], what.claim.name, what.claim.namespace


async def _merge(api: KubernetesApi, resource: Resource, found: Object, change: Mapping[str, Any]) -> None:
    if change:
        patch = MergePatch({**change, "metadata": {**change.get("metadata", {}), **_version(found)}})
        meta = found["metadata"]
        await api.patch(resource, meta["name"], patch, namespace=meta.get("namespace", ""))


def _version(claim: Object) -> dict[str, str]:
    return {"resourceVersion": claim["metadata"]["resourceVersion"]}
