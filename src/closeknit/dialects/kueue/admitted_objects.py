"""Jobs and JobSets as they start once admitted, and the pods that their controllers make."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from closeknit.apis import job_keys
from closeknit.apis import kueue_keys as keys
from closeknit.apis.kueue_x_k8s_io_v1beta2 import PodSetTopologyRequest
from closeknit.dialects.core.kinds import new_object, owner_references, without_server_fields
from closeknit.dialects.core.pod_specs import toleration_object
from closeknit.dialects.family import Object
from closeknit.dialects.kueue.assignments import Assigned
from closeknit.dialects.kueue.compile import Nominated
from closeknit.dialects.kueue.flavor_assignment import Admission
from closeknit.dialects.kueue.flavors import Flavor
from closeknit.dialects.kueue.owners import workload_owner
from closeknit.dialects.kueue.queued_workload import QueuedPodSet
from closeknit.dialects.kueue.topology_request import to_annotations, to_fields
from closeknit.hub.topology import Topology

_LONGEST_NAME = 253


def workload_object_name(nominated: Nominated) -> str:
    """The Workload's own name: a group's is its own, others say what they are made from."""
    owner = nominated.queued.object
    if nominated.queued.workload:
        return nominated.queued.workload
    if owner.kind == "Pod":
        return owner.name
    uid = nominated.queued.stored.content.metadata.uid
    group = owner.api_version.rpartition("/")[0]
    digest = hashlib.sha256(f"{owner.kind}\n{group}\n{owner.name}\n{uid}".encode()).hexdigest()[:5]
    return f"{f'{owner.kind.lower()}-{owner.name}'[: _LONGEST_NAME - 6]}-{digest}"


def started(nominated: Nominated, admission: Admission, placed: Mapping[str, Assigned]) -> Object:
    """The Job or JobSet as it starts once admitted.

    Where all pods of a pod set go to one domain its labels are their node selector; else the pods
    are gated, and let go one by one. Without a placement they are gated.
    """
    made: Object = copy.deepcopy(dict(nominated.queued.stored.written))
    made.pop("status", None)
    made["metadata"] = without_server_fields(made["metadata"])
    annotations = made["metadata"].get("annotations", {})
    for key in keys.KEP_ANNOTATIONS:
        annotations.pop(key, None)
    if not annotations:
        made["metadata"].pop("annotations", None)
    for pod_set in nominated.queued.pod_sets:
        holder: Any = made
        *steps, last = pod_set.path
        for step in steps:
            holder = holder[step]
        holder[last] = _template(nominated, pod_set, admission, placed.get(pod_set.name))
    made["spec"]["suspend"] = False
    return made


def gated_pods(nominated: Nominated, admission: Admission) -> Iterator[Object]:
    """One pod for each that does not run yet, as its controller would make it."""
    owner = nominated.queued.object
    for pod_set in nominated.queued.pod_sets:
        template = _template(nominated, pod_set, admission, None)
        metadata = template["metadata"]
        each = pod_set.count // pod_set.replicas
        for rank, slot in enumerate(pod_set.slots):
            if slot.node:
                continue
            made: Object = {
                "name": slot.name,
                "namespace": owner.namespace,
                "labels": {**metadata["labels"], **_maker_labels(nominated, pod_set, *divmod(rank, each))},
                "annotations": dict(metadata["annotations"]),
            }
            if owner.kind == "Job":
                uid = nominated.queued.stored.content.metadata.uid
                made |= owner_references(owner.api_version, owner.kind, owner.name, uid)
            yield new_object("v1", "Pod", made, copy.deepcopy(template["spec"]))


def _maker_labels(nominated: Nominated, pod_set: QueuedPodSet, job: int, index: int) -> dict[str, str]:
    """The labels that the Job controllers give a pod, by which it is known as theirs."""
    owner = nominated.queued.key
    if owner.kind == "Workload":
        owner = workload_owner(nominated.queued.stored)
    kind, name = owner.kind, owner.name
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


def _template(
    nominated: Nominated, pod_set: QueuedPodSet, admission: Admission, placed: Assigned | None
) -> Object:
    made: Object = copy.deepcopy(dict(pod_set.template))
    metadata, spec = made.setdefault("metadata", {}), made.setdefault("spec", {})
    kept = {
        key: value
        for key, value in metadata.get("annotations", {}).items()
        if key not in keys.KEP_ANNOTATIONS
    }
    used = admission.used[pod_set.name]
    by_topology = any(flavor.topology for flavor in used)
    asked = _annotations(pod_set, admission.topology) if by_topology and admission.topology else {}
    metadata["labels"] = {**metadata.get("labels", {}), keys.POD_SET: pod_set.name}
    metadata["annotations"] = {**kept, **asked, keys.WORKLOAD: workload_object_name(nominated)}
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
            if (plain := toleration_object(toleration)) not in made:
                made.append(plain)
    return made


def topology_request(pod_set: QueuedPodSet, topology: Topology) -> PodSetTopologyRequest:
    """What a pod set asks for in today's words, as a Workload writes it."""
    given, each = pod_set.request, pod_set.count // pod_set.replicas
    required, preferred = given.required, given.preferred_in(topology)
    slices = [(layer.level, layer.size) for layer in given.layers]
    if given.early and required is not None and pod_set.replicas > 1 and each:
        # The early design means every Job by itself, which today is a slice.
        slices, required = [(required, each)], None
    return msgspec.structs.replace(
        to_fields(required, preferred, slices, given.group),
        unconstrained=None if required or preferred or slices else True,
        pod_index_label=pod_set.index_label,
        sub_group_index_label=pod_set.sub_index_label,
        sub_group_count=pod_set.replicas if pod_set.sub_index_label else None,
    )


def _annotations(pod_set: QueuedPodSet, topology: Topology) -> dict[str, str]:
    """The same as the annotations of a pod template, which may ask for nothing."""
    asked = topology_request(pod_set, topology)
    free = asked.unconstrained if pod_set.request.unconstrained else None
    return to_annotations(msgspec.structs.replace(asked, unconstrained=free))
