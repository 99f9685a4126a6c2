"""Volumes as provisioners and controllers see to them, and an auditor of who has which, that reads only the API."""

from __future__ import annotations

from contextlib import suppress

from closeknit.kube.errors import AlreadyExistsError
from closeknit.kube.port import KubernetesApi, MergePatch
from closeknit.kube.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
)
from closeknit.kube.standins.volumes import SELECTED_NODE, claims_for, made_for
from tests.scenario import bound

COMPLETED = "pv.kubernetes.io/bind-completed"


async def provide(api: KubernetesApi) -> None:
    """Make volumes as a provisioner would: for the node that was selected."""
    classes = {each["metadata"]["name"]: each for each in (await api.list(STORAGE_CLASSES)).items}
    nodes = {each["metadata"]["name"]: each for each in (await api.list(NODES)).items}
    for each in (await api.list(PERSISTENT_VOLUME_CLAIMS)).items:
        selected = each["metadata"].get("annotations", {}).get(SELECTED_NODE)
        if selected and not each["spec"].get("volumeName"):
            made = made_for(each, classes[each["spec"]["storageClassName"]], nodes[selected])
            with suppress(AlreadyExistsError):
                await api.create(PERSISTENT_VOLUMES, made)


async def bind(api: KubernetesApi) -> None:
    """Make claims for ephemeral volumes and bind claims as controllers would, one step at a time."""
    for pod in (await api.list(PODS)).items:
        for claim in claims_for(pod):
            with suppress(AlreadyExistsError):
                await api.create(PERSISTENT_VOLUME_CLAIMS, claim)
    volumes = (await api.list(PERSISTENT_VOLUMES)).items
    for each in volumes:
        phase = "Bound" if each["spec"].get("claimRef") else "Available"
        if (each.get("status") or {}).get("phase") != phase:
            patch = MergePatch({"status": {"phase": phase}})
            await api.patch(PERSISTENT_VOLUMES, each["metadata"]["name"], patch, subresource="status")
    claimed = {
        reference["uid"]: each["metadata"]["name"]
        for each in volumes
        if (reference := each["spec"].get("claimRef"))
    }
    for each in (await api.list(PERSISTENT_VOLUME_CLAIMS)).items:
        meta = each["metadata"]
        if meta["uid"] in claimed and not each["spec"].get("volumeName"):
            body = {
                "metadata": {"annotations": {COMPLETED: "yes"}},
                "spec": {"volumeName": claimed[meta["uid"]]},
            }
            patch = MergePatch(body)
            await api.patch(PERSISTENT_VOLUME_CLAIMS, meta["name"], patch, namespace=meta["namespace"])


async def check(api: KubernetesApi) -> None:
    """No volume is given twice; each pod that is bound has its volumes, where its node reaches them."""
    nodes = {each["metadata"]["name"]: each for each in (await api.list(NODES)).items}
    volumes = {each["metadata"]["name"]: each for each in (await api.list(PERSISTENT_VOLUMES)).items}
    claims = {each["metadata"]["name"]: each for each in (await api.list(PERSISTENT_VOLUME_CLAIMS)).items}
    given = [each["spec"]["volumeName"] for each in claims.values() if each["spec"].get("volumeName")]
    assert len(given) == len(set(given))
    for each in (await api.list(PODS)).items:
        where = each["spec"].get("nodeName")
        for volume in each["spec"].get("volumes") or () if where else ():
            named = volume.get("persistentVolumeClaim") or {
                "claimName": f"{each['metadata']['name']}-{volume['name']}"
            }
            claim = claims[named["claimName"]]
            assert COMPLETED in claim["metadata"]["annotations"]
            assert reached(volumes[claim["spec"]["volumeName"]], nodes[where])


def reached(volume: bound.Json, node: bound.Json) -> bool:
    """Whether a node is among those of a volume's affinity."""
    terms = volume["spec"].get("nodeAffinity", {}).get("required", {}).get("nodeSelectorTerms")
    labels = node["metadata"]["labels"]
    return terms is None or any(
        all(labels.get(each["key"]) in each["values"] for each in term["matchExpressions"]) for term in terms
    )
