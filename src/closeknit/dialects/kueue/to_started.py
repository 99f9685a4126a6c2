"""A Job or JobSet as it starts once admitted, and the template of its pods."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import msgspec

from closeknit.apis import kueue_keys as keys
from closeknit.dialects.core.kinds import without_server_fields
from closeknit.dialects.core.pod_specs import toleration_object
from closeknit.dialects.family import Object
from closeknit.dialects.kueue.assignments import Assigned
from closeknit.dialects.kueue.compile import Nominated
from closeknit.dialects.kueue.flavor_assignment import Admission
from closeknit.dialects.kueue.queued_workload import QueuedPodSet
from closeknit.dialects.kueue.quotas import Flavor
from closeknit.dialects.kueue.to_workload import asked_topology, prefers_by_job, workload_object_name
from closeknit.dialects.kueue.topology_request import to_annotations
from closeknit.hub.topology import Topology


def started(nominated: Nominated, admission: Admission, placed: Mapping[str, Assigned]) -> Object:
    """The Job or JobSet as it starts once admitted.

    Where all pods of a pod set go to one domain its labels are their node selector; else the pods
    are gated, and let go one by one. Without a placement they are gated.
    """
    made: Object = copy.deepcopy(dict(nominated.queued.stored.written))
    made.pop("status", None)
    made["metadata"] = without_server_fields(made["metadata"])
    annotations = made["metadata"].get("annotations", {})
    for key in () if any(map(prefers_by_job, nominated.queued.pod_sets)) else keys.KEP_ANNOTATIONS:
        annotations.pop(key, None)
    if not annotations:
        made["metadata"].pop("annotations", None)
    for pod_set in nominated.queued.pod_sets:
        holder: Any = made
        *steps, last = pod_set.path
        for step in steps:
            holder = holder[step]
        holder[last] = template_of(nominated, pod_set, admission, placed.get(pod_set.name))
    made["spec"]["suspend"] = False
    return made


def template_of(
    nominated: Nominated, pod_set: QueuedPodSet, admission: Admission, placed: Assigned | None
) -> Object:
    """The template of a pod set with which its pods run; gated where they are not placed."""
    name, used = workload_object_name(nominated), admission.used[pod_set.name]
    return started_template(name, pod_set, used, admission.topology, placed)


def started_template(
    workload: str,
    pod_set: QueuedPodSet,
    used: tuple[Flavor, ...],
    topology: Topology | None,
    placed: Assigned | None,
) -> Object:
    """The template of a pod set with which its pods run, on these flavors and in these domains."""
    made: Object = copy.deepcopy(dict(pod_set.template))
    metadata, spec = made.setdefault("metadata", {}), made.setdefault("spec", {})
    kept = {
        key: value
        for key, value in metadata.get("annotations", {}).items()
        if key not in keys.KEP_ANNOTATIONS or prefers_by_job(pod_set)
    }
    by_topology = any(flavor.topology for flavor in used)
    asked = _annotations(pod_set, topology) if by_topology and topology is not None else {}
    metadata["labels"] = {**metadata.get("labels", {}), keys.POD_SET: pod_set.name}
    metadata["annotations"] = {**kept, **asked, keys.WORKLOAD: workload}
    selector = dict(spec.get("nodeSelector", {}))
    for flavor in used:
        selector.update(flavor.labels)
    if by_topology:
        metadata["labels"][keys.TAS] = "true"
        # The Jobs of a JobSet keep the selectors of an earlier start, so theirs name no domain.
        if placed is not None and len(placed.domains) == 1 and pod_set.sub_index_label is None:
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


def _annotations(pod_set: QueuedPodSet, topology: Topology) -> dict[str, str]:
    """The same as the annotations of a pod template, which may ask for nothing."""
    asked = asked_topology(pod_set, topology)
    free = asked.unconstrained if pod_set.request.unconstrained else None
    return to_annotations(msgspec.structs.replace(asked, unconstrained=free))
