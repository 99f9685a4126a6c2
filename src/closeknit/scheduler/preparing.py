"""Writes what makes claims ready for pods, and takes it back.

Each may be called again, whatever became of the call before: it looks at what is there first. A write that
was lost and is still on its way comes too late once anything else was written: all name the version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from closeknit.dialects.core.allocating import FINALIZER, letting_go, reserving
from closeknit.dialects.core.binding_volumes import Preparation
from closeknit.kube.errors import ConflictError
from closeknit.kube.port import KubernetesApi, MergePatch, Object, StrategicMergePatch
from closeknit.kube.resources import Resource
from closeknit.scheduler.answers import Answer


class Written(NamedTuple):
    """What a write came to, in the order of the fields of an answer."""

    answer: Answer
    why: str = ""
    uid: str = ""
    node: str = ""
    seconds: float = 0.0
    version: str = ""


async def prepare(
    api: KubernetesApi, resources: Mapping[tuple[str, str], Resource], what: Preparation
) -> Written:
    """Give a claim its devices, and reserve it for pods."""
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


async def undo(
    api: KubernetesApi, resources: Mapping[tuple[str, str], Resource], what: Preparation
) -> Written:
    """Reserve a claim for pods no longer, and give its devices back where nobody else uses them."""
    resource, name, namespace = (
        resources[what.claim.group, what.claim.kind],
        what.claim.name,
        what.claim.namespace,
    )
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


def _version(claim: Object) -> dict[str, str]:
    return {"resourceVersion": claim["metadata"]["resourceVersion"]}
