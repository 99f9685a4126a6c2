"""The conditions of a Workload, as Kueue words them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.controllers.runtime.objects import conditions
from closeknit.dialects.family import Condition
from closeknit.dialects.store.objects import Stored

QUOTA_RESERVED, ADMITTED, EVICTED = "QuotaReserved", "Admitted", "Evicted"
PREEMPTED, REQUEUED, PODS_READY, FINISHED = "Preempted", "Requeued", "PodsReady", "Finished"

LONGEST_MESSAGE = 32 * 1024
NO_RESERVATION = Condition(ADMITTED, "False", "NoReservation", "The workload has no reservation")
IS_ADMITTED = Condition(ADMITTED, "True", "Admitted", "The workload is admitted")
_REQUEUED_AFTER = ("Preempted", "NodeFailures")
"""Reasons of an eviction after which a Workload queues again at once."""
_AFTER = {
    "Deactivated": "Deactivated",
    "ClusterQueueStopped": "Suspended",
    "LocalQueueStopped": "Suspended",
}
"""By the reason of an eviction, why a Workload has no quota after it."""


class Found(NamedTuple):
    """A condition as it stands in a status."""

    status: str
    reason: str
    message: str
    since: datetime | None


def status_of(workload: Stored[wire.Workload]) -> Mapping[str, Any]:
    """The status of a Workload as it is written."""
    found = workload.written.get("status")
    return found if isinstance(found, Mapping) else {}


def condition(workload: Stored[wire.Workload], kind: str) -> Found | None:
    """A condition of a Workload."""
    for each in status_of(workload).get("conditions") or ():
        if each.get("type") == kind:
            since = each.get("lastTransitionTime")
            time = datetime.fromisoformat(since) if since else None
            return Found(each.get("status", ""), each.get("reason", ""), each.get("message", ""), time)
    return None


def holds(workload: Stored[wire.Workload], kind: str) -> bool:
    """Whether a condition of a Workload is met."""
    found = condition(workload, kind)
    return found is not None and found.status == "True"


def reserves(workload: Stored[wire.Workload]) -> bool:
    """Whether it has quota, also where it has to give it back when its pods have gone."""
    admission = workload.content.status.admission
    return admission is not None and holds(workload, QUOTA_RESERVED) and not holds(workload, FINISHED)


def runs(workload: Stored[wire.Workload]) -> bool:
    """Whether its pods may run: admitted, and neither evicted nor finished."""
    return reserves(workload) and holds(workload, ADMITTED) and not holds(workload, EVICTED)


def with_conditions(
    workload: Stored[wire.Workload], wanted: Iterable[Condition], now: datetime
) -> list[dict[str, Any]]:
    """All conditions of a Workload, with these among them."""
    generation = int(workload.written["metadata"].get("generation", 0)) or None
    before = status_of(workload).get("conditions") or ()
    cut = (Condition(each.type, each.status, each.reason, each.message[:LONGEST_MESSAGE]) for each in wanted)
    return conditions(before, cut, now, generation=generation)


def reserved(workload: Stored[wire.Workload], queue: str) -> list[Condition]:
    """A Workload has quota; that it was evicted before is over."""
    made = [Condition(QUOTA_RESERVED, "True", "QuotaReserved", f"Quota reserved in ClusterQueue {queue}")]
    for kind in (EVICTED, PREEMPTED):
        before = condition(workload, kind)
        if before is not None and before.status == "True":
            made.append(Condition(kind, "False", "QuotaReserved", f"Previously: {before.message}"))
    return made


def released(why: Found) -> list[Condition]:
    """A Workload that was evicted has given back its quota."""
    again = why.reason in _REQUEUED_AFTER
    reason = _AFTER.get(why.reason, "PendingEvaluation")
    return [
        Condition(QUOTA_RESERVED, "False", reason, why.message),
        NO_RESERVATION,
        Condition(REQUEUED, "True" if again else "False", why.reason, why.message),
    ]
