"""What the status of a Workload says next. It is the only writer of that status.

What ends a Workload, or makes it give back its quota, comes before what a planner wants for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.controllers.kueue.conditions import (
    ADMITTED,
    EVICTED,
    FINISHED,
    IS_ADMITTED,
    NO_RESERVATION,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    Found,
    condition,
    holds,
    released,
    reserved,
    reserves,
    runs,
    status_of,
    with_conditions,
)
from closeknit.controllers.kueue.owners import Owner, owner_of
from closeknit.controllers.kueue.readiness import ReadyWithin, late, readiness, ready_within
from closeknit.controllers.runtime.writes import NOTHING, Decision, Patch, SetStatus, Tell, Write
from closeknit.dialects.family import Condition
from closeknit.dialects.kueue.topologies import kueue_key
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.kube.clock import timestamp


@dataclass(frozen=True, slots=True)
class Admit:
    """Quota and places; for a Workload that has quota already, other places."""

    queue: str
    admission: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pend:
    """Why a Workload is not admitted."""

    reason: str
    message: str
    requests: tuple[Mapping[str, Any], ...] | None = None
    """By pod set, what it asks for; None where nobody has looked for room for it."""


@dataclass(frozen=True, slots=True)
class Evict:
    """Give back the quota as soon as the pods have gone."""

    reason: str
    message: str
    preempted: str = ""
    """Where it has to make room: whose."""


Intent: TypeAlias = Admit | Pend | Evict


class Observed(NamedTuple):
    """A Workload with what decides about its status."""

    key: Key
    workload: Stored[wire.Workload] | None
    owner: Owner | None
    stopped: tuple[str, str] | None
    """The queue that lets nobody run, as reason and message of an eviction."""
    ready_within: ReadyWithin | None


def observe(view: View, key: Key) -> Observed:
    """A Workload, its owner, and whether its queues are stopped."""
    stored = view.get(key)
    if stored is None:
        return Observed(key, None, None, None, None)
    owner, stopped = view.derive(owner_of, key), _stopped(view, stored)
    return Observed(key, stored, owner, stopped, view.derive(ready_within))


def _stopped(view: View, workload: Stored[wire.Workload]) -> tuple[str, str] | None:
    admission = workload.content.status.admission
    local = view.get(kueue_key("LocalQueue", workload.content.spec.queue_name, workload.namespace))
    name = local.content.spec.cluster_queue if local is not None else ""
    queue = view.get(kueue_key("ClusterQueue", admission.cluster_queue if admission is not None else name))
    if queue is not None and queue.content.spec.stop_policy == "HoldAndDrain":
        return "ClusterQueueStopped", "The ClusterQueue is stopped"
    if local is not None and local.content.spec.stop_policy == "HoldAndDrain":
        return "LocalQueueStopped", "The LocalQueue is stopped"
    return None


def decided(observed: Observed, intent: Intent | None, now: datetime) -> Decision:
    """What is written of a Workload now."""
    workload, owner = observed.workload, observed.owner
    if workload is None or workload.content.metadata.deletion_timestamp or holds(workload, FINISHED):
        return NOTHING
    if owner is not None and owner.ended is not None:
        reason = "Succeeded" if owner.ended.succeeded else "Failed"
        return _write(workload, [Condition(FINISHED, "True", reason, owner.ended.message)], now)
    if holds(workload, EVICTED) and reserves(workload):
        return _release(workload, owner, now)
    if reserves(workload):
        return _running(observed, workload, intent, now)
    return _waiting(observed, workload, intent, now)


def _release(workload: Stored[wire.Workload], owner: Owner | None, now: datetime) -> Decision:
    """Give back the quota when no pod runs any more."""
    why = condition(workload, EVICTED)
    assert why is not None
    if owner is not None and (owner.active or not owner.suspended):
        return NOTHING
    fields: dict[str, Any] = {"admission": None, "unhealthyNodes": None, "reclaimablePods": None}
    admitted = condition(workload, ADMITTED)
    if admitted is not None and admitted.status == "True" and admitted.since is not None:
        before = int(status_of(workload).get("accumulatedPastExecutionTimeSeconds") or 0)
        ran = max(int((now - admitted.since).total_seconds()), 0)
        fields["accumulatedPastExecutionTimeSeconds"] = before + ran
    return _write(workload, released(why), now, fields)


def _running(
    observed: Observed, workload: Stored[wire.Workload], intent: Intent | None, now: datetime
) -> Decision:
    """What has quota, and keeps it unless something speaks against it."""
    if not workload.content.spec.active:
        return _evict(workload, Evict("Deactivated", "The workload is deactivated"), now)
    if observed.stopped is not None:
        return _evict(workload, Evict(*observed.stopped), now)
    if isinstance(intent, Evict):
        return _evict(workload, intent, now)
    wanted: list[Condition] = []
    fields: dict[str, Any] = {}
    if not holds(workload, ADMITTED):
        wanted.append(IS_ADMITTED)
    if isinstance(intent, Admit) and status_of(workload).get("admission") != intent.admission:
        fields |= {"admission": dict(intent.admission), "unhealthyNodes": None}
    if observed.owner is not None:
        spare = [{"name": name, "count": pods} for name, pods in observed.owner.reclaimable]
        if spare != (status_of(workload).get("reclaimablePods") or []):
            fields["reclaimablePods"] = spare
    again = None
    if observed.ready_within is not None and observed.owner is not None:
        ready = readiness(workload, observed.owner)
        if runs(workload):
            too_late, again = late(workload, ready, observed.ready_within, now)
            if too_late:
                return _too_late(workload, observed.ready_within, now)
        wanted.append(ready)
    made = _write(workload, wanted, now, fields) if wanted or fields else NOTHING
    return Decision(made.writes, again)


def _waiting(
    observed: Observed, workload: Stored[wire.Workload], intent: Intent | None, now: datetime
) -> Decision:
    """What has no quota."""
    ready = []
    if observed.ready_within is not None and observed.owner is not None:
        ready = [readiness(workload, observed.owner)]
    requeued = condition(workload, REQUEUED)
    if requeued is not None and requeued.status == "False":
        return _requeue(observed, workload, requeued, now)
    if isinstance(intent, Admit):
        wanted = [*reserved(workload, intent.queue), IS_ADMITTED, *ready]
        fields = {"admission": dict(intent.admission), "resourceRequests": None}
        told = Tell(workload.key, "QuotaReserved", f"Quota reserved in ClusterQueue {intent.queue}")
        return _write(workload, wanted, now, fields, told)
    if isinstance(intent, Pend):
        unreserved = Condition(QUOTA_RESERVED, "False", intent.reason, intent.message)
        wanted = [unreserved, NO_RESERVATION, *ready]
        told = Tell(workload.key, "Pending", intent.message, warning=True)
        requests = [dict(each) for each in intent.requests] if intent.requests is not None else None
        return _write(workload, wanted, now, {"resourceRequests": requests}, told)
    return _write(workload, ready, now) if ready else NOTHING


def _requeue(observed: Observed, workload: Stored[wire.Workload], why: Found, now: datetime) -> Decision:
    """Let a Workload queue again when what made it give back its quota is over."""
    if not workload.content.spec.active:
        return NOTHING
    state = status_of(workload).get("requeueState") or {}
    if state.get("requeueAt"):
        until = datetime.fromisoformat(state["requeueAt"])
        if now < until:
            return Decision((), until)
        fields = {"requeueState": {**state, "requeueAt": None}}
        message = "The workload backoff was finished"
        return _write(workload, [Condition(REQUEUED, "True", "BackoffFinished", message)], now, fields)
    if observed.stopped is not None:
        return NOTHING
    reason, message = {
        "ClusterQueueStopped": (
            "ClusterQueueRestarted",
            "The ClusterQueue was restarted after being stopped",
        ),
        "LocalQueueStopped": ("LocalQueueRestarted", "The LocalQueue was restarted after being stopped"),
        "Deactivated": ("Reactivated", "The workload was reactivated"),
    }.get(why.reason, ("BackoffFinished", "The workload backoff was finished"))
    return _write(workload, [Condition(REQUEUED, "True", reason, message)], now)


def _evict(
    workload: Stored[wire.Workload], why: Evict, now: datetime, fields: Mapping[str, Any] | None = None
) -> Decision:
    wanted = [Condition(EVICTED, "True", why.reason, why.message)]
    if why.preempted:
        wanted.append(Condition(PREEMPTED, "True", why.preempted, why.message))
    told = Tell(workload.key, f"EvictedDueTo{why.reason}", why.message)
    counted = {"schedulingStats": {"evictions": _evictions(workload, why.reason)}}
    return _write(workload, wanted, now, {**counted, **(fields or {})}, told)


def _evictions(workload: Stored[wire.Workload], reason: str) -> list[dict[str, Any]]:
    """How often it was evicted for each reason, with one more for this."""
    counts = [
        dict(each) for each in (status_of(workload).get("schedulingStats") or {}).get("evictions") or ()
    ]
    found = next((each for each in counts if each["reason"] == reason), None)
    if found is None:
        return [*counts, {"reason": reason, "underlyingCause": "", "count": 1}]
    found["count"] += 1
    return counts


def _too_late(workload: Stored[wire.Workload], within: ReadyWithin, now: datetime) -> Decision:
    message = f"Exceeded the PodsReady timeout {workload.namespace}/{workload.name}"
    state = status_of(workload).get("requeueState") or {}
    count = int(state.get("count") or 0) + 1
    if within.attempts is not None and count > within.attempts:
        told = "exceeding the maximum number of re-queuing retries"
        stop = Patch(workload.key, {"spec": {"active": False}})
        return Decision((stop, Tell(workload.key, "RequeuingLimitExceeded", told, warning=True)))
    pause = min(within.pause * 2 ** min(count - 1, 20), within.longest_pause)
    fields = {"requeueState": {"count": count, "requeueAt": timestamp(now + pause)}}
    return _evict(workload, Evict("PodsReadyTimeout", message), now, fields)


def _write(
    workload: Stored[wire.Workload],
    wanted: list[Condition],
    now: datetime,
    fields: Mapping[str, Any] | None = None,
    told: Tell | None = None,
) -> Decision:
    status = {"conditions": with_conditions(workload, wanted, now), **(fields or {})}
    writes: list[Write] = [SetStatus(workload.key, status)]
    return Decision((*writes, told) if told is not None else tuple(writes))
