"""Reports as events, where ``kubectl describe`` shows them.

Events of pods have kube-scheduler's form: ``FailedScheduling`` here, ``Scheduled`` in ``pod_events``. Those
of other objects have the reason of their condition.
"""

from __future__ import annotations

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.hub.workload import Workload
from closeknit.kube.events import EventType, Recorder, Reference
from closeknit.kube.resources import PODS, Resource
from closeknit.scheduler import wording
from closeknit.scheduler.overcommitment import LaterBinding
from closeknit.scheduler.status.reports import ConstraintState, Report, State, bounded

FAILED = "FailedScheduling"
"""The reason of every event about a pod that waits, as kube-scheduler has it."""
NODE_OVERCOMMITTED = "NodeOvercommitted"


def unit_decided(
    recorder: Recorder, workload: Workload, resource: Resource, meta: ObjectMeta, told: Report
) -> None:
    """What became of a unit, told of the object that asks for it; one of several is called by its name."""
    note = (
        told.message
        if workload.object.key == workload.key
        else f"{wording.title(workload.object)}: {told.message}"
    )
    reason = told.state.value
    if (resource.group, resource.kind) == (PODS.group, PODS.kind):
        if told.state is State.SCHEDULED:
            # The event of its binding states that.
            return
        reason = FAILED
    elif told.constraint is not ConstraintState.SATISFIED:
        reason = told.constraint.value
    recorder.record(_reference(resource, meta), reason, bounded(note), action="Scheduling", kind=_kind(told))


def pod_waits(recorder: Recorder, meta: ObjectMeta, told: Report, owner: str) -> None:
    """What a pod waits for with the rest of its unit."""
    recorder.record(
        _reference(PODS, meta),
        FAILED,
        bounded(f"{owner}: {told.brief}"),
        action="Scheduling",
        kind=EventType.WARNING,
    )


def overcommitted(recorder: Recorder, later: LaterBinding) -> None:
    """A pod was evicted, because its node had no room for it beside the pods that were bound before."""
    # The pod may be gone by now.
    about = Reference(PODS.api_version, PODS.kind, later.pod.name, later.pod.namespace, later.uid)
    note = bounded(overcommitted_text(later.node))
    recorder.record(about, NODE_OVERCOMMITTED, note, action="Evicting", kind=EventType.WARNING)


def overcommitted_text(node: str) -> str:
    """Why a pod was evicted from a node without room for it."""
    name = wording.printable(node)
    return f"Evicted: node {name} has no room for it beside pods that another instance bound there before."


def _reference(resource: Resource, meta: ObjectMeta) -> Reference:
    namespace = meta.namespace if resource.namespaced else ""
    return Reference(resource.api_version, resource.kind, meta.name, namespace, meta.uid)


def _kind(told: Report) -> EventType:
    fine = told.state in (State.SCHEDULED, State.NOT_READY)
    satisfied = told.constraint is ConstraintState.SATISFIED
    return EventType.NORMAL if fine and satisfied else EventType.WARNING
