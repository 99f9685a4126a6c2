"""What Kueue makes of what queues: the Workload, the Job or JobSet ready to start, and its gated pods."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from closeknit.apis import kueue_keys as keys
from closeknit.dialects.core.kinds import new_object, owner_references, without_server_fields
from closeknit.dialects.family import Object, Rendered
from closeknit.dialects.kueue.admitted_objects import (
    gated_pods,
    started,
    topology_request,
    workload_object_name,
)
from closeknit.dialects.kueue.assignments import Assigned, assigned, to_slices
from closeknit.dialects.kueue.compile import Nominated, nominated_as
from closeknit.dialects.kueue.flavor_assignment import Admission
from closeknit.dialects.kueue.owners import owner_annotations
from closeknit.dialects.kueue.queued_workload import QueuedPodSet
from closeknit.dialects.kueue.topologies import GROUP
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.outcome import Placed
from closeknit.hub.quantities import written
from closeknit.hub.topology import Topology


def render_kueue(stored: Stored[Any], view: View) -> Rendered:
    """The Workload, and the Job or JobSet as it waits: suspended, in today's words.

    The flavor shown is the first that the queue offers; pods are gated, because nobody has
    placed them yet.
    """
    nominated = _nominated(stored, view)
    if nominated is None:
        return Rendered()
    made = [workload_object(nominated)]
    if nominated.queued.object.kind in ("Job", "JobSet"):
        suspended = started(nominated, nominated.admissions[0], {})
        suspended["spec"]["suspend"] = True
        made.append(suspended)
    return Rendered(tuple(made))


def render_pods(stored: Stored[Any], view: View) -> Rendered:
    """The pods of a Job, JobSet or Workload that do not run yet, gated."""
    nominated = _nominated(stored, view)
    return Rendered(tuple(gated_pods(nominated, nominated.admissions[0]))) if nominated else Rendered()


def _nominated(stored: Stored[Any], view: View) -> Nominated | None:
    """What queues as an object, if it can be admitted."""
    nominated = nominated_as(stored, view)
    return nominated if nominated is not None and nominated.admissions else None


def workload_object(
    nominated: Nominated, admission: Admission | None = None, placed: Placed | None = None
) -> Object:
    """The Workload; with what it was admitted to and where its pods go, if both are given."""
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
    made = new_object(keys.API_VERSION, "Workload", _metadata(nominated), spec)
    if admission is not None and placed is not None and nominated.queue is not None:
        places = assignments(nominated, admission, placed)
        sets = [_assignment(each, admission, places.get(each.name)) for each in queued.pod_sets]
        made["status"] = {"admission": {"clusterQueue": nominated.queue.name, "podSetAssignments": sets}}
    return made


def assignments(nominated: Nominated, admission: Admission, placed: Placed) -> dict[str, Assigned]:
    """By pod set, where its pods go; empty for one without a topology."""
    found: dict[str, Assigned] = {}
    for pod_set in nominated.queued.pod_sets:
        topology = admission.topology
        if topology is not None and any(flavor.topology for flavor in admission.used[pod_set.name]):
            found[pod_set.name] = assigned(placed, _hub_sets(pod_set, admission), topology)
    return found


def _metadata(nominated: Nominated) -> Object:
    owner, given = nominated.queued.object, nominated.queued.stored.content.metadata
    made: Object = {"name": workload_object_name(nominated), "namespace": owner.namespace}
    if owner.kind == "Workload":
        return {**without_server_fields(nominated.queued.stored.written["metadata"]), **made}
    if owner.kind != "Pod" and not given.uid:
        # An owner reference is nothing without a uid, so the owner is named in Kueue's other way.
        made["annotations"] = owner_annotations(owner.api_version, owner.kind, owner.name)
    elif owner.kind != "Pod":
        made["labels"] = {keys.JOB_UID: given.uid}
        made |= owner_references(owner.api_version, owner.kind, owner.name, given.uid)
    return made


def _pod_set(pod_set: QueuedPodSet, topology: Topology | None) -> Object:
    made: Object = {"name": pod_set.name, "count": pod_set.count}
    if pod_set.minimum is not None:
        made["minCount"] = pod_set.minimum
    made["template"] = copy.deepcopy(dict(pod_set.template))
    if topology is not None:
        made["topologyRequest"] = msgspec.to_builtins(topology_request(pod_set, topology))
    return made


def _assignment(pod_set: QueuedPodSet, admission: Admission, places: Assigned | None) -> Object:
    asked = pod_set.shape.resources * pod_set.count
    flavors = dict(admission.flavors[pod_set.name])
    made: Object = {
        "name": pod_set.name,
        "count": pod_set.count,
        "flavors": flavors,
        "resourceUsage": {name: written(name, asked.get(name, pod_set.count)) for name in flavors},
    }
    if places is not None:
        made["topologyAssignment"] = msgspec.to_builtins(to_slices(places))
    return made


def _hub_sets(pod_set: QueuedPodSet, admission: Admission) -> list[str]:
    """The hub's pod sets that one of Kueue's was cut into, known by the pods that they name."""
    names = {slot.name for slot in pod_set.slots if not slot.node}
    return [
        each.name
        for each in admission.option.request.root.pod_sets()
        if each.resources == pod_set.shape.resources and names.issuperset(each.pods) and each.pods
    ]
