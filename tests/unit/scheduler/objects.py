"""Objects of a cluster that is followed, as an API server would hand them out."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from closeknit.dialects.core.kinds import KINDS
from closeknit.dialects.kai import KAI
from closeknit.dialects.store.store import Entry
from closeknit.live.entries import entry_of

_KINDS = {kind.kind: kind for kind in (*KINDS, *KAI.kinds)}
GPU = "nvidia.com/gpu"
SETS = "jobset.sigs.k8s.io/"


def entry(obj: dict[str, Any]) -> Entry:
    """An object as the store keeps it."""
    return entry_of(_KINDS[obj["kind"]], obj["apiVersion"], obj)


def topology(*labels: str, name: str = "tree") -> dict[str, Any]:
    levels = [{"nodeLabel": label} for label in labels]
    return {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": name},
        "spec": {"levels": levels},
    }


def node(name: str, gpus: int = 8, *, ready: bool = True, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "allocatable": {GPU: str(gpus), "cpu": "64", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def pod(
    name: str,
    group: str = "",
    *,
    gpus: int = 1,
    on: str = "",
    subgroup: str = "",
    scheduler: str = "closeknit",
    phase: str = "Pending",
    **fields: Any,
) -> dict[str, Any]:
    """A pod; ``fields`` are more of its spec, and ``metadata`` more of its metadata."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    metadata |= fields.pop("metadata", {})
    if group:
        metadata["annotations"] = {"pod-group-name": group}
    if subgroup:
        metadata["labels"] = {"kai.scheduler/subgroup-name": subgroup}
    resources = {"requests": {GPU: str(gpus), "cpu": "1"}, "limits": {GPU: str(gpus)}}
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "containers": [{"name": "main", "image": "pause", "resources": resources}],
        **fields,
    }
    if on:
        spec["nodeName"] = on
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def owned(
    name: str, controller: str, labels: dict[str, str] | None = None, *, named: str = "", on: str = "n"
) -> dict[str, Any]:
    """A pod that a Job or a StatefulSet has made."""
    kind, _, own = controller.partition(" ")
    version = {"Job": "batch/v1", "StatefulSet": "apps/v1"}[kind]
    made = pod(name, named, on=on, phase="Running" if on else "Pending")
    made["metadata"]["labels"] = labels or {}
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": version, "kind": kind, "name": own, "uid": "u", "controller": True}
    ]
    return made


def of_set(
    name: str, replica: int, on: str = "n", more: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """A pod of a Job of the replicated job a of the JobSet x."""
    labels = {f"{SETS}replicatedjob-name": "a", f"{SETS}job-index": str(replica), **more}
    return owned(name, f"Job x-a-{replica}", labels, on=on)


def pod_group(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def queue(name: str, parent: str = "", **resources: dict[str, int]) -> dict[str, Any]:
    """A Queue of KAI; of a resource that is not given it may use as much as there is."""
    endless = {"quota": -1, "limit": -1}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {
            "parentQueue": parent,
            "resources": {each: resources.get(each, endless) for each in ("gpu", "cpu", "memory")},
        },
    }


def together(required: str, topology: str = "tree") -> dict[str, str]:
    return {"topology": topology, "requiredTopologyLevel": required}
