"""Short ways to write Kueue's objects in tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from closeknit.dialects import DIALECTS, Source
from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.kueue.compile import Nominated, nominations
from closeknit.dialects.reading import load
from closeknit.dialects.store.view import View

K = "kueue.x-k8s.io/"
BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"


def topology(name: str = "tree", *levels: str, version: str = "v1beta2") -> str:
    spec = {"levels": [{"nodeLabel": label} for label in levels or (BLOCK, RACK, HOST)]}
    return written("Topology", name, spec, version=version)


def flavor(name: str = "tas", over: str | None = "tree", **spec: Any) -> str:
    named = {"topologyName": over} if over else {}
    return written("ResourceFlavor", name, {"nodeLabels": {"pool": name}, **named, **spec})


def cluster_queue(
    name: str = "research", *flavors: str, quota: Mapping[str, Any] | None = None, **spec: Any
) -> str:
    amounts = {"nvidia.com/gpu": 64} if quota is None else quota
    given = [
        {
            "name": each,
            "resources": [{"name": key, "nominalQuota": amount} for key, amount in amounts.items()],
        }
        for each in flavors or ("tas",)
    ]
    groups = [{"coveredResources": list(amounts), "flavors": given}]
    return written("ClusterQueue", name, {"resourceGroups": groups, **spec})


def local_queue(name: str = "team", to: str = "research", **spec: Any) -> str:
    return written("LocalQueue", name, {"clusterQueue": to, **spec})


def written(kind: str, name: str, spec: Mapping[str, Any], version: str = "v1beta2", **metadata: Any) -> str:
    if kind == "ClusterQueue":
        spec = {"namespaceSelector": {}, **spec}
    return json.dumps(
        {
            "apiVersion": f"{K}{version}",
            "kind": kind,
            "metadata": {"name": name, **metadata},
            "spec": spec,
        }
    )


def template(gpus: int = 1, annotations: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "train", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {
        "metadata": {"annotations": {f"{K}{key}": value for key, value in (annotations or {}).items()}},
        "spec": {"containers": [container], "restartPolicy": "Never", **spec},
    }


def job(
    count: int = 4,
    *,
    name: str = "train",
    queue: str | None = "team",
    gpus: int = 1,
    own: Mapping[str, str] | None = None,
    pod: Mapping[str, Any] | None = None,
    **annotations: str,
) -> str:
    """A Job; the annotations of its pod template are written with underscores."""
    asked = {key.replace("_", "-"): value for key, value in annotations.items()}
    metadata: dict[str, Any] = {"name": name}
    if queue is not None:
        metadata["labels"] = {f"{K}queue-name": queue}
    if own:
        metadata["annotations"] = {f"{K}{key}": value for key, value in own.items()}
    spec = {"parallelism": count, "completions": count, "completionMode": "Indexed"}
    made = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {**spec, "template": template(gpus, asked, **(pod or {}))},
    }
    return json.dumps(made)


def replicated(
    name: str, replicas: int, each: int, gpus: int = 1, pod: Mapping[str, Any] | None = None, **asked: str
) -> dict[str, Any]:
    annotations = {key.replace("_", "-"): value for key, value in asked.items()}
    spec = {"parallelism": each, "completions": each, "template": template(gpus, annotations, **(pod or {}))}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}}


def job_set(*jobs: dict[str, Any], name: str = "set", own: Mapping[str, str] | None = None) -> str:
    annotations = {f"{K}{key}": value for key, value in (own or {}).items()}
    metadata = {"name": name, "labels": {f"{K}queue-name": "team"}, "annotations": annotations}
    return json.dumps(
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": metadata,
            "spec": {"replicatedJobs": list(jobs)},
        }
    )


def queued_pod(name: str, group: str = "", total: int = 0, gpus: int = 1, **asked: str) -> str:
    labels = {f"{K}queue-name": "team"} | ({f"{K}pod-group-name": group} if group else {})
    annotations = {f"{K}{key.replace('_', '-')}": value for key, value in asked.items()}
    if total:
        annotations[f"{K}pod-group-total-count"] = str(total)
    containers = [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}]
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": labels, "annotations": annotations},
            "spec": {"containers": containers},
        }
    )


def running_pod(node: str) -> str:
    """A pod of the Job that ``job`` makes, which runs on a node."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    container = {"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    metadata = {"name": "train-0-x", "ownerReferences": [owner]}
    spec = {"nodeName": node, "containers": [container]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def node(name: str, block: str, rack: str, gpus: int = 8, pool: str = "tas", **labels: str) -> str:
    marks = {BLOCK: block, RACK: rack, HOST: name, "pool": pool, **labels}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": marks},
            "status": {"allocatable": {"nvidia.com/gpu": gpus, "pods": 110}},
        }
    )


def view_of(*texts: str, lenient: bool = False) -> View:
    """A store that holds these objects."""
    source = Source("f", "\n---\n".join(texts).encode())
    return load(DIALECTS, [source], lenient=lenient).view


def nominated(view: View) -> Iterator[Nominated]:
    """All that queues."""
    for shape in KUEUE.compile:
        for stored in view.of(shape):
            yield from nominations(stored, view)


def queues(queue: str = "", *, levels: Sequence[str] = (), **spec: Any) -> tuple[str, ...]:
    """A LocalQueue of a ClusterQueue, which is given or of this ``spec``, over one flavor with a topology."""
    return (topology("tree", *levels), flavor(), queue or cluster_queue(**spec), local_queue())


QUEUES = queues()
"""A queue over one flavor with blocks, racks and hosts."""
