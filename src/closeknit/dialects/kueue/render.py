"""What Kueue makes of what queues: the Workload, the Job or JobSet ready to start, and its gated pods."""

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
from closeknit.dialects.family import Object, Rendered
from closeknit.dialects.kueue.admitted import domain_of
from closeknit.dialects.kueue.assignments import Assigned, assigned, to_slices
from closeknit.dialects.kueue.compile import Nominated, nominations
from closeknit.dialects.kueue.flavor_assignment import Admission
from closeknit.dialects.kueue.made_workloads import MADE, suspended
from closeknit.dialects.kueue.owners import owner_annotations, workload_owner
from closeknit.dialects.kueue.queued_workload import QueuedPodSet
from closeknit.dialects.kueue.quotas import Flavor
from closeknit.dialects.kueue.topologies import GROUP
from closeknit.dialects.kueue.topology_request import to_annotations, to_fields
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.quantities import written
from closeknit.hub.topology import Topology

_LONGEST_NAME = 253


def render_kueue(stored: Stored[Any], view: View) -> Rendered:
    """The Workload, and the Job or JobSet as it waits: suspended, in today's words.

    The flavor shown is the first that the queue offers; pods are gated, because nobody has
    placed them yet.
    """
    every = _nominated(stored, view)
    made = [workload_object(each) for each in every]
    if every and stored.shape in MADE:
        made.append(suspended(stored))
    elif every and every[0].queued.object.kind in ("Job", "JobSet"):
        waiting = started(every[0], every[0].admissions[0], {})
        waiting["spec"]["suspend"] = True
        made.append(waiting)
    return Rendered(tuple(made))


def render_pods(stored: Stored[Any], view: View) -> Rendered:
    """The pods of a Job, JobSet or Workload that do not run yet, gated."""
    every = _nominated(stored, view)
    return Rendered(tuple(pod for each in every for pod in _gated_pods(each, each.admissions[0])))


def _nominated(stored: Stored[Any], view: View) -> list[Nominated]:
    """What queues as an object, and can be admitted."""
    return [each for each in nominations(stored, view) if each.admissions]


def workload_object(nominated: Nominated) -> Object:
    """The Workload as it is made from what queues, without a status."""
    queued, workload = nominated.queued, nominated.workload
    topology = nominated.admissions[0].topology if nominated.admissions else None
    spec: Object = {
        "podSets": [_pod_set(pod_set, topology) for pod_set in queued.pod_sets],
        "queueName": queued.queue,
        "priority": workload.priority,
    }
    named = next((each.priority_class for each in queued.pod_sets if each.priority_class), "")
    if queued.priority_class:
        name = queued.priority_class
        spec["priorityClassRef"] = {"group": GROUP, "kind": "WorkloadPriorityClass", "name": name}
    elif named:
        spec["priorityClassRef"] = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": named}
    if not queued.queue:
        del spec["queueName"]
    return new_object(keys.API_VERSION, "Workload", _metadata(nominated), spec)


def admission_object(nominated: Nominated, admission: Admission, placed: Placed, view: View) -> Object:
    """What the status of a Workload says of its admission: pods that run count with those just placed."""
    assert nominated.queue is not None
    places = assignments(nominated, admission, placed, view)
    sets = [
        _assignment(each, admission, len(_places(each, admission, placed)), places.get(each.name))
        for each in nominated.queued.pod_sets
    ]
    return {"clusterQueue": nominated.queue.name, "podSetAssignments": sets}


def assignments(
    nominated: Nominated, admission: Admission, placed: Placed, view: View
) -> dict[str, Assigned]:
    """By pod set, where its pods are and go; empty for one without a topology."""
    found: dict[str, Assigned] = {}
    for pod_set in nominated.queued.pod_sets:
        topology = admission.topology
        if topology is not None and any(flavor.topology for flavor in admission.used[pod_set.name]):
            nodes = (view.get(Key("", "Node", "", name)) for name in _places(pod_set, admission, placed))
            domains = (domain_of(node, topology.labels) for node in nodes if node is not None)
            found[pod_set.name] = assigned(domains, topology)
    return found


def _places(pod_set: QueuedPodSet, admission: Admission, placed: Placed) -> list[str]:
    """The node of each pod of a pod set that has one or gets one."""
    names = _hub_sets(pod_set, admission)
    running = (slot.node for slot in pod_set.slots if slot.node)
    return [*running, *(each.node for each in placed.assignments if each.pod_set in names)]


def _metadata(nominated: Nominated) -> Object:
    owner, given = nominated.queued.object, nominated.queued.stored.content.metadata
    made: Object = {"name": workload_object_name(nominated), "namespace": owner.namespace}
    early = given.annotations.get(keys.PREFER)
    if early is not None and any(map(_prefers_by_job, nominated.queued.pod_sets)):
        made["annotations"] = {keys.PREFER: early}
    if owner.kind == "Workload":
        return {**without_server_fields(nominated.queued.stored.written["metadata"]), **made}
    if owner.kind != "Pod" and not given.uid:
        # An owner reference is nothing without a uid, so the owner is named in Kueue's other way.
        named = owner_annotations(owner.api_version, owner.kind, owner.name)
        made["annotations"] = {**made.get("annotations", {}), **named}
    elif owner.kind != "Pod":
        made["labels"] = {keys.JOB_UID: given.uid}
        made |= owner_references(owner.api_version, owner.kind, owner.name, given.uid)
    return made


def _pod_set(pod_set: QueuedPodSet, topology: Topology | None) -> Object:
    made: Object = {"name": pod_set.name, "count": pod_set.count}
    if pod_set.minimum is not None:
        made["minCount"] = pod_set.minimum
    made["template"] = copy.deepcopy(dict(pod_set.template))
    if topology is not None or pod_set.request.explicit:
        made["topologyRequest"] = msgspec.to_builtins(_topology_request(pod_set, topology))
    return made


def _assignment(pod_set: QueuedPodSet, admission: Admission, count: int, places: Assigned | None) -> Object:
    asked = pod_set.shape.resources * count
    flavors = dict(admission.flavors[pod_set.name])
    made: Object = {
        "name": pod_set.name,
        "count": count,
        "flavors": flavors,
        "resourceUsage": {name: written(name, asked.get(name, count)) for name in flavors},
    }
    if places is not None:
        made["topologyAssignment"] = msgspec.to_builtins(to_slices(places))
    return made


def _hub_sets(pod_set: QueuedPodSet, admission: Admission) -> set[str]:
    """The hub's pod sets that one of Kueue's was cut into, known by the pods that they name."""
    names = {slot.name for slot in pod_set.slots if not slot.node}
    return {
        each.name
        for each in admission.option.request.root.pod_sets()
        if each.resources == pod_set.shape.resources and names.issuperset(each.pods) and each.pods
    }


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
    for key in () if any(map(_prefers_by_job, nominated.queued.pod_sets)) else keys.KEP_ANNOTATIONS:
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


def _gated_pods(nominated: Nominated, admission: Admission) -> Iterator[Object]:
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
        if key not in keys.KEP_ANNOTATIONS or _prefers_by_job(pod_set)
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


def _topology_request(pod_set: QueuedPodSet, topology: Topology | None) -> PodSetTopologyRequest:
    """What a pod set asks for in today's words, as a Workload writes it, whether a topology has it or not."""
    given, each = pod_set.request, pod_set.count // pod_set.replicas
    required = given.required
    preferred = None if _prefers_by_job(pod_set) else given.preferred_in(topology)
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


def _prefers_by_job(pod_set: QueuedPodSet) -> bool:
    """Whether a level is preferred for each of several Jobs by itself: only the early design can say it."""
    return pod_set.request.early and pod_set.request.preferred is not None and pod_set.replicas > 1


def _annotations(pod_set: QueuedPodSet, topology: Topology) -> dict[str, str]:
    """The same as the annotations of a pod template, which may ask for nothing."""
    asked = _topology_request(pod_set, topology)
    free = asked.unconstrained if pod_set.request.unconstrained else None
    return to_annotations(msgspec.structs.replace(asked, unconstrained=free))
