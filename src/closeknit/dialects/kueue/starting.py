"""Jobs and JobSets as they start once admitted, and the pods that their controllers make."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from closeknit.apis import job_keys
from closeknit.apis import kueue_keys as keys
from closeknit.dialects.family import Object
from closeknit.dialects.kueue.asking import todays_annotations
from closeknit.dialects.kueue.assignments import Assigned
from closeknit.dialects.kueue.batches import Batched
from closeknit.dialects.kueue.choices import Admission
from closeknit.dialects.kueue.flavors import Flavor
from closeknit.dialects.kueue.ownership import owner_of
from closeknit.dialects.kueue.workloads import Read
from closeknit.hub.nodes import Toleration
from closeknit.hub.workload import ObjectName

_LONGEST_NAME = 253
OURS = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
"""What of an object's metadata is written again; the server keeps the rest."""


def workload_object_name(read: Read) -> str:
    """The Workload's own name: a group's is its own, others say what they are made from."""
    owner = read.batch.object
    if read.batch.called:
        return read.batch.called
    if owner.kind == "Pod":
        return owner.name
    uid = read.batch.manifest.content.metadata.uid
    group = owner.api_version.rpartition("/")[0]
    digest = hashlib.sha256(f"{owner.kind}\n{group}\n{owner.name}\n{uid}".encode()).hexdigest()[:5]
    return f"{f'{owner.kind.lower()}-{owner.name}'[: _LONGEST_NAME - 6]}-{digest}"


def started(read: Read, admission: Admission, placed: Mapping[str, Assigned]) -> Object:
    """The Job or JobSet as it starts once admitted.

    Where all pods of a pod set go to one domain its labels are their node selector; else the pods
    are gated, and let go one by one. Without a placement they are gated.
    """
    made: Object = copy.deepcopy(dict(read.batch.manifest.written))
    made.pop("status", None)
    made["metadata"] = {key: made["metadata"][key] for key in OURS if key in made["metadata"]}
    annotations = made["metadata"].get("annotations", {})
    for key in keys.EARLY:
        annotations.pop(key, None)
    if not annotations:
        made["metadata"].pop("annotations", None)
    for pod_set in read.batch.pod_sets:
        holder: Any = made
        *steps, last = pod_set.path.replace("[", ".").replace("]", "").split(".")
        for step in steps:
            holder = holder[int(step)] if isinstance(holder, list) else holder[step]
        holder[last] = _template(read, pod_set, admission, placed.get(pod_set.name))
    made["spec"]["suspend"] = False
    return made


def gated_pods(read: Read, admission: Admission) -> Iterator[Object]:
    """One pod for each that does not run yet, as its controller would make it."""
    owner = read.batch.object
    for pod_set in read.batch.pod_sets:
        template = _template(read, pod_set, admission, None)
        metadata = template["metadata"]
        each = pod_set.count // pod_set.replicas
        for rank, seat in enumerate(pod_set.seats):
            if seat.node:
                continue
            made: Object = {
                "name": seat.name,
                "namespace": owner.namespace,
                "labels": {**metadata["labels"], **_maker_labels(read, pod_set, *divmod(rank, each))},
                "annotations": dict(metadata["annotations"]),
            }
            uid = read.batch.manifest.content.metadata.uid
            if owner.kind == "Job" and uid:
                made["ownerReferences"] = [owner_reference(owner, uid)]
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": made,
                "spec": copy.deepcopy(template["spec"]),
            }


def owner_reference(owner: ObjectName, uid: str) -> Object:
    """How an object names the one that made it."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _maker_labels(read: Read, pod_set: Batched, job: int, index: int) -> dict[str, str]:
    """The labels that the Job controllers give a pod, by which it is known as theirs."""
    kind, name = read.batch.object.kind, read.batch.object.name
    if kind == "Workload":
        kind, name = owner_of(read.batch.manifest)
    labels: dict[str, str] = {}
    if kind == "Job":
        labels[job_keys.JOB_NAME] = name
    if pod_set.index_label:
        labels[pod_set.index_label] = str(index)
    if pod_set.sub_index_label:
        labels[pod_set.sub_index_label] = str(job)
    if kind == "JobSet":
        labels |= {
            job_keys.JOB_NAME: f"{name}-{pod_set.name}-{job}",
            job_keys.JOB_SET: name,
            job_keys.REPLICATED_JOB: pod_set.name,
        }
    return labels


def _template(read: Read, pod_set: Batched, admission: Admission, placed: Assigned | None) -> Object:
    made: Object = copy.deepcopy(dict(pod_set.template))
    metadata, spec = made.setdefault("metadata", {}), made.setdefault("spec", {})
    kept = {key: value for key, value in metadata.get("annotations", {}).items() if key not in keys.EARLY}
    used = admission.used[pod_set.name]
    by_topology = any(flavor.topology for flavor in used)
    annotations = {**kept, **todays_annotations(pod_set, admission.topology if by_topology else None)}
    metadata["labels"] = {**metadata.get("labels", {}), keys.POD_SET: pod_set.name}
    metadata["annotations"] = {**annotations, keys.WORKLOAD: workload_object_name(read)}
    selector = dict(spec.get("nodeSelector", {}))
    for flavor in used:
        selector.update(flavor.labels)
    if by_topology:
        metadata["labels"][keys.TAS] = "true"
        if placed is not None and len(placed.domains) == 1:
            ((values, _),) = placed.domains
            selector.update(zip(placed.levels, values, strict=True))
        else:
            gates = [gate for gate in spec.get("schedulingGates", []) if gate.get("name") != keys.GATE]
            spec["schedulingGates"] = [*gates, {"name": keys.GATE}]
    if selector:
        spec["nodeSelector"] = selector
    if tolerations := _tolerations(spec.get("tolerations", []), used):
        spec["tolerations"] = tolerations
    return made


def _tolerations(given: list[Any], flavors: tuple[Flavor, ...]) -> list[Any]:
    made = list(given)
    for flavor in flavors:
        for toleration in flavor.tolerations:
            if (plain := written_toleration(toleration)) not in made:
                made.append(plain)
    return made


def written_toleration(given: Toleration) -> Object:
    """A toleration as Kubernetes writes it."""
    made: Object = {"operator": "Exists" if given.value is None else "Equal"}
    if given.key:
        made = {"key": given.key, **made}
    if given.value:
        made["value"] = given.value
    if given.effect is not None:
        made["effect"] = given.effect.value
    return made
