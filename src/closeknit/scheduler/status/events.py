"""Reports as events, where ``kubectl describe`` shows them.

That a pod got its node is told once for its whole unit: an event a pod would cost an API server as much as
all the bindings did.
"""

from __future__ import annotations

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.hub.workload import Workload
from closeknit.kube.events import EventType, Recorder, Reference
from closeknit.kube.resources import PODS, Resource
from closeknit.scheduler import wording
from closeknit.scheduler.status.reports import Report, State, bounded


def unit_decided(
    recorder: Recorder, workload: Workload, resource: Resource, meta: ObjectMeta, told: Report
) -> None:
    """What became of a unit, told of the object that asks for it; one of several is called by its name."""
    note = (
        told.message
        if workload.object.key == workload.key
        else f"{wording.title(workload.object)}: {told.message}"
    )
    recorder.record(
        _reference(resource, meta), told.state.value, bounded(note), action="Scheduling", kind=_kind(told)
    )


def pod_waits(recorder: Recorder, meta: ObjectMeta, told: Report, owner: str) -> None:
    """What a pod waits for with the rest of its unit."""
    # Its unit runs without it, but it has no node.
    reason = State.UNSCHEDULABLE if told.state is State.SCHEDULED else told.state
    recorder.record(
        _reference(PODS, meta),
        reason.value,
        bounded(f"{owner}: {told.brief}"),
        action="Scheduling",
        kind=_kind(told),
    )


def _reference(resource: Resource, meta: ObjectMeta) -> Reference:
    namespace = meta.namespace if resource.namespaced else ""
    return Reference(resource.api_version, resource.kind, meta.name, namespace, meta.uid)


def _kind(told: Report) -> EventType:
    fine = told.state in (State.SCHEDULED, State.NOT_READY)
    return EventType.NORMAL if fine else EventType.WARNING
