"""What Kueue would write about queues, Workloads, Jobs and JobSets, as far as objects alone tell.

Only a scheduler knows whether quota and nodes are free, so a workload that could be admitted has no condition
here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.family import Condition, Event, Status
from closeknit.dialects.kueue.admitted import has_quota
from closeknit.dialects.kueue.compile import Nominated, nominate
from closeknit.dialects.kueue.eligibility import Refusal, eligible
from closeknit.dialects.kueue.flavor_messages import kueue_message
from closeknit.dialects.kueue.owners import maker_of, workload_of
from closeknit.dialects.kueue.queued_workload import QueuedPodSet
from closeknit.dialects.kueue.queues import CHECKS, STOPPED, Queue, checks_named, cluster_queue
from closeknit.dialects.kueue.quotas import flavor_named
from closeknit.dialects.kueue.to_workload import workload_object_name
from closeknit.dialects.kueue.topologies import kueue_key
from closeknit.dialects.kueue.topology_request import slice_order_problems
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem
from closeknit.hub.workload import PlaceableWorkload


def cluster_queue_status(stored: Stored[wire.ClusterQueue], view: View) -> Status:
    """Whether workloads can be admitted to a ClusterQueue."""
    reasons = list(_inactive(stored.content.spec, view))
    if reasons:
        message = f"Can't admit new workloads: {', '.join(message for _, message in reasons)}."
        return _active("False", reasons[0][0], message)
    queue = view.derive(cluster_queue, stored.name)
    if queue is None or queue.inactive:
        return _active("False", "Unknown", "Can't admit new workloads.")
    return _active("True", "Ready", "Can admit new workloads")


def local_queue_status(stored: Stored[wire.LocalQueue], view: View) -> Status:
    """Whether workloads can be submitted to a LocalQueue."""
    spec = stored.content.spec
    if spec.stop_policy in STOPPED:
        return _active("False", "Stopped", "LocalQueue is stopped")
    behind = view.get(kueue_key("ClusterQueue", spec.cluster_queue))
    if behind is None:
        return _active("False", "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
    if cluster_queue_status(behind, view).conditions[0].status == "False":
        return _active("False", "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")
    return _active("True", "Ready", "Can submit new workloads to clusterQueue")


def workload_status(stored: Stored[wire.Workload], view: View) -> Status:
    """Whether a Workload has quota, and if it can have none, why not."""
    workload = stored.content
    before = {each.type: each.status for each in workload.status.conditions}
    if workload.status.admission is not None and has_quota(workload):
        queue = workload.status.admission.cluster_queue
        message = f"Quota reserved in ClusterQueue {queue}"
        conditions = [Condition("QuotaReserved", "True", "QuotaReserved", message)]
        if before.get("Admitted", "True") == "True":
            conditions.append(Condition("Admitted", "True", "Admitted", "The workload is admitted"))
        return Status(tuple(conditions))
    nominated = view.derive(nominate, view.derive(maker_of, stored.key) or stored.key)
    if nominated is None:
        return Status()
    conditions = [
        Condition("QuotaReserved", "False", reason, message) for reason, message in pending(nominated, view)
    ]
    if "Admitted" in before:
        conditions.append(Condition("Admitted", "False", "NoReservation", "The workload has no reservation"))
    return Status(tuple(conditions))


def job_status(stored: Stored[Any], view: View) -> Status:
    """Whether a Job or JobSet that queues is held back, and what becomes of its Workload."""
    nominated = view.derive(nominate, stored.key)
    if nominated is None:
        return Status()
    workload = workload_of(view, stored.key)
    admission = workload.content.status.admission if workload is not None else None
    of_job = stored.object.kind == "Job"
    if admission is not None and nominated.workload.admitted:
        reason, message = ("JobResumed", "Job resumed") if of_job else ("ResumeJobs", "jobset is resumed")
        started = Event("Normal", "Started", f"Admitted by clusterQueue {admission.cluster_queue}")
        return Status((Condition("Suspended", "False", reason, message),), (started,))
    reason, message = (
        ("JobSuspended", "Job suspended") if of_job else ("SuspendedJobs", "jobset is suspended")
    )
    events: list[Event] = []
    if workload is None:
        name = f"{stored.namespace}/{workload_object_name(nominated)}"
        events.append(Event("Normal", "CreatedWorkload", f"Created Workload: {name}"))
        # The Workload, which would carry the condition, is not there yet.
        events.extend(Event("Warning", "Pending", why) for _, why in pending(nominated, view))
    return Status((Condition("Suspended", "True", reason, message),), tuple(events))


def _active(status: str, reason: str, message: str) -> Status:
    return Status((Condition("Active", status, reason, message),))


def _inactive(spec: wire.ClusterQueueSpec, view: View) -> Iterator[tuple[str, str]]:
    """Reasons and messages for which Kueue admits nothing to a ClusterQueue."""
    if spec.stop_policy in STOPPED:
        yield "Stopped", "is stopped"
    names = [each.name for group in spec.resource_groups for each in group.flavors]
    if missing := [name for name in names if not view.has(kueue_key("ResourceFlavor", name))]:
        yield "FlavorNotFound", f"references missing ResourceFlavor(s): [{' '.join(missing)}]"
    checks = {each.name: each.content.spec.controller_name for each in view.of(wire.AdmissionCheck)}
    named = sorted({name for _, name in checks_named(spec)})
    if checks and (missing := [name for name in named if name not in checks]):
        yield "AdmissionCheckNotFound", f"references missing AdmissionCheck(s): [{' '.join(missing)}]"
    flavors = [stored for name in names if (stored := view.get(kueue_key("ResourceFlavor", name)))]
    over = {each.name: each.content.spec.topology_name for each in flavors if each.content.spec.topology_name}
    if over:
        for controller, called in CHECKS.items():
            if any(checks.get(name) == controller for name in named):
                message = f"TAS is not supported with {called} admission check"
                yield "NotSupportedWithTopologyAwareScheduling", message
    for name, topology in over.items():
        flavor = view.derive(flavor_named, name)
        if flavor is None or flavor.topology is None:
            yield "TopologyNotFound", f'there is no Topology "{topology}" for TAS flavor "{name}"'


def pending(nominated: Nominated, view: View) -> Iterator[tuple[str, str]]:
    """The reason and message for which a workload cannot be admitted, whatever is free; at most one.

    What is wrong with the workload itself comes before what is wrong with its queue.
    """
    queued, workload = nominated.queued, nominated.workload
    problems = () if isinstance(workload, PlaceableWorkload) else workload.problems
    wrong_itself = {*queued.problems, *_slice_order_problems(nominated)}
    own = [problem for problem in problems if problem in wrong_itself]
    if own:
        yield "Misconfigured", "; ".join(map(str, own))
        return
    local = view.get(kueue_key("LocalQueue", queued.queue, queued.object.namespace))
    if local is None:
        yield "Misconfigured", f"LocalQueue {queued.queue} doesn't exist"
        return
    if local.content.spec.stop_policy in STOPPED:
        yield "Suspended", f"LocalQueue {queued.queue} is inactive"
        return
    name = local.content.spec.cluster_queue
    behind, queue = view.get(kueue_key("ClusterQueue", name)), view.derive(cluster_queue, name)
    if behind is None or queue is None:
        yield "Misconfigured", f"ClusterQueue {name} doesn't exist"
        return
    if cluster_queue_status(behind, view).conditions[0].status == "False":
        yield "Suspended", f"ClusterQueue {name} is inactive"
        return
    reasons = [
        f"couldn't assign flavors to pod set {pod_set.name}: {', '.join(against)}"
        for pod_set in queued.pod_sets
        if (against := list(_without_flavor(pod_set, queue)))
    ]
    if reasons:
        yield "NoMatchingFlavor", "; ".join(reasons)
    elif problems:
        yield "Misconfigured", "; ".join(map(str, problems))


def _slice_order_problems(nominated: Nominated) -> Iterator[Problem]:
    """What is wrong with a workload itself, but shows only beside the levels of a topology of its queue."""
    for quota in nominated.queue.quotas() if nominated.queue is not None else ():
        if quota.flavor.topology is not None:
            for pod_set in nominated.queued.pod_sets:
                yield from slice_order_problems(pod_set.request, quota.flavor.topology)


def _without_flavor(pod_set: QueuedPodSet, queue: Queue) -> Iterator[str]:
    """Why no flavor can be assigned to a pod set; nothing where one can."""
    for resource in pod_set.shape.resources:
        covering = [each for each in queue.covered if resource in each.resources]
        if not covering:
            yield f"resource {resource} unavailable in ClusterQueue"
    for covered in queue.covered:
        if any(resource in covered.resources for resource in pod_set.shape.resources):
            refusals: list[Refusal] = []
            if not eligible(pod_set, covered, queue, refusals):
                yield from map(kueue_message, refusals)
