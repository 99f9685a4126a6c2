"""Short ways to write objects whose pods KAI groups by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

TOPOLOGY = "kai.scheduler/topology"
REQUIRED = "kai.scheduler/topology-required-placement"
PREFERRED = "kai.scheduler/topology-preferred-placement"
SEGMENT = "kai.scheduler/segment-size"
SEGMENT_REQUIRED = "kai.scheduler/segment-topology-required-placement"
MINIMUM = "kai.scheduler/batch-min-member"
RACK = {TOPOLOGY: "tree", REQUIRED: "topology/rack"}
ZONE = {TOPOLOGY: "tree", REQUIRED: "topology/zone"}


def template(gpus: int = 1, annotations: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "train", "resources": {"requests": {"nvidia.com/gpu": gpus}}}
    metadata = {"metadata": {"annotations": dict(annotations)}} if annotations else {}
    return {**metadata, "spec": {"schedulerName": "kai-scheduler", "containers": [container], **spec}}


def job(annotations: Mapping[str, str] | None = None, gpus: int = 1, **spec: Any) -> str:
    return written(
        "batch/v1", "Job", {"annotations": annotations or {}}, {"template": template(gpus), **spec}
    )


def replicated(
    name: str, replicas: int | None, pods: int | None, annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    spec = {"template": template()} | ({} if pods is None else {"parallelism": pods})
    made: dict[str, Any] = {
        "name": name,
        "template": {"metadata": {"annotations": annotations or {}}, "spec": spec},
    }
    return made if replicas is None else {**made, "replicas": replicas}


def job_set(*jobs: dict[str, Any], annotations: Mapping[str, str] | None = None, **spec: Any) -> str:
    return written(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {"annotations": annotations or {}},
        {"replicatedJobs": list(jobs), **spec},
    )


def leader_worker_set(
    replicas: int | None,
    size: int | None,
    worker: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    policy: Mapping[str, Any] | None = None,
    **spec: Any,
) -> str:
    inner: dict[str, Any] = {"workerTemplate": template(annotations=worker)}
    inner |= {} if size is None else {"size": size}
    inner |= {} if policy is None else {"subGroupPolicy": policy}
    return written(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {"annotations": annotations or {}},
        {"leaderWorkerTemplate": inner, **({} if replicas is None else {"replicas": replicas}), **spec},
    )


def pytorch_job(
    masters: int | None,
    workers: int | None,
    worker: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> str:
    roles: dict[str, Any] = {}
    if masters is not None:
        roles["Master"] = {"replicas": masters, "template": template()}
    if workers is not None:
        roles["Worker"] = {"replicas": workers, "template": template(annotations=worker)}
    return written(
        "kubeflow.org/v1",
        "PyTorchJob",
        {"annotations": annotations or {}},
        {"pytorchReplicaSpecs": roles, **spec},
    )


def written(api_version: str, kind: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    whole = {"name": "x", **metadata}
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": whole, "spec": spec})


def changed(text: str, **metadata: Any) -> str:
    """The same object with other labels, another uid or the like."""
    content = json.loads(text)
    content["metadata"] |= metadata
    return json.dumps(content)
