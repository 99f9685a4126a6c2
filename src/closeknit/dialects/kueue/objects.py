"""What Kueue makes of a batch: the Workload, the Job or JobSet ready to start, and its gated pods."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import msgspec

from closeknit.apis import kueue_keys as keys
from closeknit.dialects.family import Object, Surroundings
from closeknit.dialects.kueue.asking import topology_request
from closeknit.dialects.kueue.assignments import Assigned, assigned, to_slices
from closeknit.dialects.kueue.batches import Batched
from closeknit.dialects.kueue.choices import Admission
from closeknit.dialects.kueue.ownership import said_owner
from closeknit.dialects.kueue.starting import OURS, gated_pods, owner_reference, started, workload_object_name
from closeknit.dialects.kueue.workloads import Read, read_all
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.outcome import Placed
from closeknit.hub.quantities import written
from closeknit.hub.topology import Topology

API_VERSION = "kueue.x-k8s.io/v1beta2"


def to_kueue(manifests: View, surroundings: Surroundings) -> Iterator[Object | Reported]:
    """The Workload of each batch, and its Job or JobSet as it waits: suspended, in today's words.

    The flavor shown is the first that the queue offers; pods are gated, because nobody has
    placed them yet.
    """
    for read in read_all(manifests, surroundings):
        if isinstance(read, Read) and read.admissions:
            yield workload_object(read)
            if read.batch.manifest.written and read.batch.object.kind != "Workload":
                waiting = started(read, read.admissions[0], {})
                waiting["spec"]["suspend"] = True
                yield waiting


def to_pods(manifests: View, surroundings: Surroundings) -> Iterator[Object | Reported]:
    """The pods of each Job and JobSet that do not run yet, gated; plain pods exist already."""
    for read in read_all(manifests, surroundings):
        if isinstance(read, Read) and read.admissions and read.batch.manifest.written:
            yield from gated_pods(read, read.admissions[0])


def workload_object(read: Read, admission: Admission | None = None, placed: Placed | None = None) -> Object:
    """The Workload; with what it was admitted to and where its pods go, if both are given."""
    batch, workload = read.batch, read.workload
    topology = read.admissions[0].topology if read.admissions else None
    spec: Object = {
        "podSets": [_pod_set(pod_set, topology) for pod_set in batch.pod_sets],
        "queueName": batch.queue,
        "priority": workload.priority,
    }
    named = next((each.priority_class for each in batch.pod_sets if each.priority_class), "")
    if batch.priority_class:
        spec["priorityClassRef"] = _class_ref("kueue.x-k8s.io", "WorkloadPriorityClass", batch.priority_class)
    elif named:
        spec["priorityClassRef"] = _class_ref("scheduling.k8s.io", "PriorityClass", named)
    if not batch.queue:
        del spec["queueName"]
    made: Object = {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": _metadata(read),
        "spec": spec,
    }
    if admission is not None and placed is not None and read.queue is not None:
        sets = [_assignment(each, admission, placed) for each in batch.pod_sets]
        made["status"] = {"admission": {"clusterQueue": read.queue.name, "podSetAssignments": sets}}
    return made


def assignments(read: Read, admission: Admission, placed: Placed) -> dict[str, Assigned]:
    """By pod set, where its pods go; empty for one without a topology."""
    found: dict[str, Assigned] = {}
    for pod_set in read.batch.pod_sets:
        topology = admission.topology
        if topology is not None and any(flavor.topology for flavor in admission.used[pod_set.name]):
            found[pod_set.name] = assigned(placed, _hub_sets(pod_set, admission), topology)
    return found


def _metadata(read: Read) -> Object:
    owner, given = read.batch.object, read.batch.manifest.content.metadata
    made: Object = {"name": workload_object_name(read), "namespace": owner.namespace}
    if owner.kind == "Workload":
        kept = read.batch.manifest.written["metadata"]
        return {**{key: kept[key] for key in OURS if key in kept}, **made}
    if owner.kind != "Pod" and not given.uid:
        # An owner reference is nothing without a uid, so the owner is named in Kueue's other way.
        made["annotations"] = said_owner(owner.api_version, owner.kind, owner.name)
    elif owner.kind != "Pod":
        made["labels"] = {keys.JOB_UID: given.uid}
        made["ownerReferences"] = [owner_reference(owner, given.uid)]
    return made


def _class_ref(group: str, kind: str, name: str) -> Object:
    return {"group": group, "kind": kind, "name": name}


def _pod_set(pod_set: Batched, topology: Topology | None) -> Object:
    made: Object = {"name": pod_set.name, "count": pod_set.count}
    if pod_set.minimum is not None:
        made["minCount"] = pod_set.minimum
    made["template"] = copy.deepcopy(dict(pod_set.template))
    asked = topology_request(pod_set, topology)
    if asked is not None:
        made["topologyRequest"] = msgspec.to_builtins(asked)
    return made


def _assignment(pod_set: Batched, admission: Admission, placed: Placed) -> Object:
    asked = pod_set.shape.resources * pod_set.count
    flavors = dict(admission.flavors[pod_set.name])
    made: Object = {
        "name": pod_set.name,
        "count": pod_set.count,
        "flavors": flavors,
        "resourceUsage": {name: written(name, asked.get(name, pod_set.count)) for name in flavors},
    }
    topology = admission.topology
    if topology is not None and any(flavor.topology for flavor in admission.used[pod_set.name]):
        where = assigned(placed, _hub_sets(pod_set, admission), topology)
        made["topologyAssignment"] = msgspec.to_builtins(to_slices(where))
    return made


def _hub_sets(pod_set: Batched, admission: Admission) -> list[str]:
    """The hub's pod sets that one of Kueue's was cut into, known by the pods that they name."""
    names = {seat.name for seat in pod_set.seats if not seat.node}
    return [
        each.name
        for each in admission.option.request.root.pod_sets()
        if each.resources == pod_set.shape.resources and names.issuperset(each.pods) and each.pods
    ]
