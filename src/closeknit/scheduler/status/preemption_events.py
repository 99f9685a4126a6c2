"""Events about the plans of a unit: what happened, when it happened.

| reason | type | when |
|---|---|---|
| ``Preempting`` | Normal | the first pod is about to be evicted |
| ``PreemptionFailed`` | Warning | a plan was given up |

That a unit was evicted is its own report, made once its first eviction was accepted.
"""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.kube.events import EventType, Recorder, Reference
from closeknit.kube.resources import Resource
from closeknit.scheduler import wording
from closeknit.scheduler.preempt.preemptions import Ending, Plan
from closeknit.scheduler.status.reports import bounded

PREEMPTING, PREEMPTION_FAILED = "Preempting", "PreemptionFailed"
_NAMES = 5
_WHY: Mapping[Ending, str] = {
    Ending.NOT_REPORTED: "the plan could not be written to its status in time",
    Ending.BUDGET_EXHAUSTED: "a PodDisruptionBudget did not allow all evictions in time",
    Ending.EVICTION_REFUSED: "the API server refused an eviction",
    Ending.NOT_EVICTED: "not all pods could be evicted in time",
    Ending.NOT_BOUND: "it could not be bound in time",
    Ending.NO_LONGER_FITS: "the capacity that was freed for it is gone",
}


def preempting(recorder: Recorder, resource: Resource, meta: ObjectMeta, plan: Plan) -> None:
    """The first pod is about to be evicted for a unit."""
    about = _reference(resource, meta)
    note = bounded(preempting_text(plan))
    recorder.record(about, PREEMPTING, note, action="Preempting", kind=EventType.NORMAL)


def gave_up(recorder: Recorder, resource: Resource, meta: ObjectMeta, plan: Plan, ending: Ending) -> None:
    """A plan for a unit was given up."""
    about = _reference(resource, meta)
    note = bounded(gave_up_text(plan, ending))
    recorder.record(about, PREEMPTION_FAILED, note, action="Preempting", kind=EventType.WARNING)


def preempting_text(plan: Plan) -> str:
    """Which pods are evicted for a unit."""
    victims = [
        f"{wording.printable(victim.holder)} ({wording.counted(len(victim.pods), 'pod')})"
        for victim in plan.victims
    ]
    more = [f"{len(victims) - _NAMES} more"] if len(victims) > _NAMES else []
    return f"Evicting pods of {', '.join([*victims[:_NAMES], *more])} so that it fits."


def gave_up_text(plan: Plan, ending: Ending) -> str:
    """Why a plan was given up."""
    budgets = (
        f" ({', '.join(plan.waits_for)})" if ending is Ending.BUDGET_EXHAUSTED and plan.waits_for else ""
    )
    return f"Preemption was given up: {_WHY[ending]}{budgets}. It is tried again later."


def _reference(resource: Resource, meta: ObjectMeta) -> Reference:
    namespace = meta.namespace if resource.namespaced else ""
    return Reference(resource.api_version, resource.kind, meta.name, namespace, meta.uid)
