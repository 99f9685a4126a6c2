"""The Workload of what queues, and what its status says of its admission."""

from __future__ import annotations

import copy
import hashlib

import msgspec

from closeknit.apis import kueue_keys as keys
from closeknit.apis.kueue_x_k8s_io_v1beta2 import PodSetTopologyRequest
from closeknit.apis.wire import plain
from closeknit.dialects.core.kinds import new_object, owner_references, without_server_fields
from closeknit.dialects.family import Object
from closeknit.dialects.kueue.admitted import domain_of
from closeknit.dialects.kueue.assignments import Assigned, assigned, to_slices
from closeknit.dialects.kueue.compile import Nominated
from closeknit.dialects.kueue.flavor_assignment import Admission
from closeknit.dialects.kueue.owners import owner_annotations
from closeknit.dialects.kueue.queued_workload import QueuedPodSet
from closeknit.dialects.kueue.topologies import GROUP
from closeknit.dialects.kueue.topology_request import to_fields
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.quantities import written
from closeknit.hub.topology import Topology

_LONGEST_NAME = 253


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
    if early is not None and any(map(prefers_by_job, nominated.queued.pod_sets)):
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
        made["topologyRequest"] = plain(asked_topology(pod_set, topology))
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
        made["topologyAssignment"] = plain(to_slices(places))
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


def asked_topology(pod_set: QueuedPodSet, topology: Topology | None) -> PodSetTopologyRequest:
    """What a pod set asks for in today's words, as a Workload writes it, whether a topology has it or not."""
    given, each = pod_set.request, pod_set.count // pod_set.replicas
    required = given.required
    preferred = None if prefers_by_job(pod_set) else given.preferred_in(topology)
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


def prefers_by_job(pod_set: QueuedPodSet) -> bool:
    """Whether a level is preferred for each of several Jobs by itself: only the early design can say it."""
    return pod_set.request.early and pod_set.request.preferred is not None and pod_set.replicas > 1
