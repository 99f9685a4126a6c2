"""What the status of a Workload says next, from what is seen of it and of its owner."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from closeknit.controllers.kueue.owners import Ended, Owner
from closeknit.controllers.kueue.readiness import ReadyWithin
from closeknit.controllers.kueue.workload_status import (
    Admit,
    Evict,
    Intent,
    Observed,
    Pend,
    decided,
)
from closeknit.controllers.runtime.writes import Decision, Patch, SetStatus
from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key
from closeknit.kube.clock import timestamp
from closeknit.live.entries import whole_entry_of
from tests.unit.dialects.kueue.workloads import admission, hosts, workload

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KIND = next(kind for kind in KUEUE.kinds if kind.kind == "Workload")
JOB = Key("batch", "Job", "default", "train")


def condition(kind: str, status: str, reason: str, age: float = 0) -> dict[str, Any]:
    time = timestamp(NOW - timedelta(seconds=age))
    return {"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": time}


ADMITTED = (
    condition("QuotaReserved", "True", "QuotaReserved", 500),
    condition("Admitted", "True", "Admitted", 500),
)


LATE = ReadyWithin(start=timedelta(seconds=600), recovery=timedelta(seconds=60), attempts=2)


def seen(
    *conditions: dict[str, Any], owner: Owner | None = None, stopped: Any = None, **more: Any
) -> Observed:
    """A Workload with these conditions; admitted where they say so."""
    has_quota = any(each["type"] == "QuotaReserved" and each["status"] == "True" for each in conditions)
    status = {**(admission(hosts({"n1": 4})) if has_quota else {}), **more.pop("status", {})}
    made = json.loads(workload(name="w", **more))
    made["metadata"] |= {"namespace": "default", "resourceVersion": "1", "generation": 1}
    made["status"] = {**status, "conditions": list(conditions)}
    entry = whole_entry_of(KIND, "kueue.x-k8s.io/v1beta2", made)
    assert isinstance(entry, Stored)
    return Observed(entry.key, entry, owner, stopped, LATE)


def job(**fields: Any) -> Owner:
    """A Job that runs, with all its pods ready."""
    return Owner(JOB, suspended=False, active=True, ready=4, pods=4)._replace(**fields)


def told(decision: Decision) -> dict[str, str]:
    """The conditions that are written, with their reasons."""
    found: dict[str, str] = {}
    for write in decision.writes:
        if isinstance(write, SetStatus):
            found |= {
                each["type"]: f"{each['status']} {each['reason']}" for each in write.fields["conditions"]
            }
        elif isinstance(write, Patch):
            found["spec"] = str(write.body["spec"])
    return found


LOST = condition("PodsReady", "False", "WaitForRecovery", 61)


@pytest.mark.parametrize(
    ("observed", "intent", "want"),
    [
        pytest.param(
            seen(), Admit("q", {"clusterQueue": "q"}),
            {"QuotaReserved": "True QuotaReserved", "Admitted": "True Admitted"}, id="it is admitted",
        ),
        pytest.param(
            seen(condition("Evicted", "True", "Preempted"), condition("Preempted", "True", "InClusterQueue")),
            Admit("q", {}),
            {
                "QuotaReserved": "True QuotaReserved", "Admitted": "True Admitted",
                "Evicted": "False QuotaReserved", "Preempted": "False QuotaReserved",
            },
            id="it is admitted again, and no longer evicted",
        ),
        pytest.param(seen(), Pend("WaitingForQuota", "m"), {"QuotaReserved": "False WaitingForQuota", "Admitted": "False NoReservation"}, id="it waits"),
        pytest.param(
            seen(*ADMITTED, owner=job(ended=Ended(succeeded=True, message="done"))), None,
            {"QuotaReserved": "True QuotaReserved", "Admitted": "True Admitted", "Finished": "True Succeeded"},
            id="its Job has succeeded",
        ),
        pytest.param(
            seen(*ADMITTED, owner=job()), Evict("Preempted", "m", "InClusterQueue"),
            {
                "QuotaReserved": "True QuotaReserved", "Admitted": "True Admitted",
                "Evicted": "True Preempted", "Preempted": "True InClusterQueue",
            },
            id="it makes room, and keeps its quota while pods run",
        ),
        pytest.param(
            seen(*ADMITTED, condition("Evicted", "True", "Preempted"), owner=job()), None, {},
            id="nothing is given back while pods run",
        ),
        pytest.param(
            seen(*ADMITTED, condition("Evicted", "True", "Preempted"), owner=job(suspended=True, active=False)), None,
            {
                "QuotaReserved": "False PendingEvaluation", "Admitted": "False NoReservation",
                "Evicted": "True Preempted", "Requeued": "True Preempted",
            },
            id="its quota is given back when no pod runs",
        ),
        pytest.param(
            seen(*ADMITTED, owner=job(), stopped=("ClusterQueueStopped", "m")), None,
            {
                "QuotaReserved": "True QuotaReserved", "Admitted": "True Admitted",
                "Evicted": "True ClusterQueueStopped",
            },
            id="its queue is drained",
        ),
        pytest.param(
            seen(*ADMITTED, LOST, owner=job(ready=3)), None,
            {
                "QuotaReserved": "True QuotaReserved", "Admitted": "True Admitted",
                "PodsReady": "False WaitForRecovery", "Evicted": "True PodsReadyTimeout",
            },
            id="a lost pod was not replaced in time",
            marks=pytest.mark.requirement("K20", "K21"),
        ),
        pytest.param(
            seen(*ADMITTED, LOST, owner=job(ready=3), status={"requeueState": {"count": 2}}), None,
            {"spec": "{'active': False}"}, id="it was too late too often",
        ),
        pytest.param(
            seen(condition("Requeued", "False", "PodsReadyTimeout"), status={"requeueState": {"count": 1, "requeueAt": timestamp(NOW)}}),
            None, {"Requeued": "True BackoffFinished"}, id="its pause is over",
        ),
    ],
)  # fmt: skip
def test_the_conditions_of_a_workload(
    observed: Observed, intent: Intent | None, want: dict[str, str]
) -> None:
    assert told(decided(observed, intent, NOW)) == want


@pytest.mark.requirement("K21")
def test_time_to_recover_runs_from_the_moment_when_not_all_were_ready() -> None:
    lost = condition("PodsReady", "False", "WaitForRecovery", 20)
    decision = decided(seen(*ADMITTED, lost, owner=job(ready=3)), None, NOW)

    assert decision.again_at == NOW + timedelta(seconds=40)
    assert "Evicted" not in told(decision)
