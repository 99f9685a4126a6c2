"""What becomes of a Job: which pods it makes and deletes, and what its status says. Pure.

Parallelism, completions, Indexed completion, suspension, ``backoffLimit`` with growing
pauses, ``activeDeadlineSeconds``, ``successPolicy``, ``podFailurePolicy`` (FailJob, Ignore and
Count) and ``ttlSecondsAfterFinished``. Left out: ``backoffLimitPerIndex``, ``maxFailedIndexes`` and
FailIndex; restarts of containers do not count as failures, because no container runs.

A pod counts once, whatever crashes: it holds a finalizer until its uid stands in the
status, and its uid stands there until the finalizer is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from closeknit.kube.clock import timestamp
from closeknit.kube.port import Object
from closeknit.kube.standins import indexes
from closeknit.kube.standins.conditions import Conditions
from closeknit.kube.standins.job_endings import Verdict, verdict_on
from closeknit.kube.standins.job_pods import holds, index_of, is_ready, moment, new_pod, phase_of
from closeknit.kube.standins.job_tally import Tally, is_ignored, tallied

FIRST_PAUSE: Final = 10.0
LONGEST_PAUSE: Final = 600.0


@dataclass(slots=True)
class Plan:
    """What to do now."""

    creates: list[Object] = field(default_factory=list)
    deletes: list[Object] = field(default_factory=list)
    releases: list[Object] = field(default_factory=list)
    """Pods whose finalizer is no longer needed."""
    status: Object | None = None
    """The status to write, where it differs."""
    delete_job: bool = False
    again: float | None = None
    """Seconds after which time alone may have changed something."""


def decide(job: Mapping[str, Any], pods: Iterable[Object], now: datetime) -> Plan:
    """What to do about a Job, given its pods."""
    own = list(pods)
    if "deletionTimestamp" in job["metadata"]:
        return Plan(releases=[pod for pod in own if holds(pod)])
    conditions = _conditions(job, now)
    if (ended := conditions.met("Complete", "Failed")) is not None:
        return _after_the_end(job, own, ended, now)
    spec = job["spec"]
    tally = tallied(job, own)
    plan = Plan(releases=_released(job, own))
    verdict = verdict_on(job, own, tally, now)
    if verdict is not None:
        _finish(tally, plan, conditions, verdict)
    else:
        _steer(job, tally, plan, conditions, now)
    status = _status(job, tally, conditions, now)
    deadline = spec.get("activeDeadlineSeconds")
    if verdict is None and deadline is not None and status.get("startTime"):
        left = deadline - (now - moment(status["startTime"])).total_seconds()
        plan.again = min(plan.again, left) if plan.again is not None else left
    if status != (job.get("status") or {}):
        plan.status = status
    return plan


def _conditions(job: Mapping[str, Any], now: datetime) -> Conditions:
    return Conditions((job.get("status") or {}).get("conditions") or (), now, probed=True)


def _after_the_end(
    job: Mapping[str, Any], pods: list[Object], ended: Mapping[str, Any], now: datetime
) -> Plan:
    plan = Plan(releases=[pod for pod in pods if holds(pod)])
    keep = job["spec"].get("ttlSecondsAfterFinished")
    if keep is not None:
        left = keep - (now - moment(ended["lastTransitionTime"])).total_seconds()
        plan.delete_job = left <= 0
        plan.again = left if left > 0 else None
    return plan


def _released(job: Mapping[str, Any], pods: list[Object]) -> list[Object]:
    """Pods whose uid is in the status as it is stored, and those that do not count."""
    recorded = (job.get("status") or {}).get("uncountedTerminatedPods") or {}
    noted = {uid for word in ("succeeded", "failed") for uid in recorded.get(word) or ()}
    return [
        pod
        for pod in pods
        if holds(pod)
        and (pod["metadata"]["uid"] in noted or (phase_of(pod) == "Failed" and is_ignored(job, pod)))
    ]


def _finish(tally: Tally, plan: Plan, conditions: Conditions, verdict: Verdict) -> None:
    """Delete what still runs. That it is over is said first; that it has ended, when all pods are counted."""
    plan.deletes = list(tally.active)
    conditions.set(verdict.announced, "True", reason=verdict.reason, message=verdict.message)
    open_ends = tally.active or tally.terminating or tally.waiting["succeeded"] or tally.waiting["failed"]
    if not open_ends:
        conditions.set(verdict.ending, "True", reason=verdict.reason, message=verdict.message)


def _steer(job: Mapping[str, Any], tally: Tally, plan: Plan, conditions: Conditions, now: datetime) -> None:
    """Have as many pods active as are wanted."""
    spec = job["spec"]
    if spec.get("suspend"):
        plan.deletes = list(tally.active)
        # Whom the Job itself sends away has not failed, and need not be counted.
        plan.releases += [pod for pod in (*tally.active, *tally.terminating) if holds(pod)]
        conditions.set("Suspended", "True", reason="JobSuspended", message="Job suspended")
        return
    if "Suspended" in conditions:
        conditions.set("Suspended", "False", reason="JobResumed", message="Job resumed")
    parallelism = spec.get("parallelism", 1)
    if "completions" not in spec:
        wanted = parallelism if not tally.succeeded else min(len(tally.active), parallelism)
    else:
        done = len(tally.completed) if spec.get("completionMode") == "Indexed" else tally.succeeded
        wanted = max(0, min(parallelism, spec["completions"] - done))
    if len(tally.active) > wanted:
        # Those that are not ready yet have the least to lose.
        ordered = sorted(tally.active, key=lambda pod: (is_ready(pod), pod["metadata"]["name"]))
        plan.deletes = ordered[: len(tally.active) - wanted]
        plan.releases += [pod for pod in plan.deletes if holds(pod)]
        return
    standing = len(tally.active)
    if spec.get("podReplacementPolicy") == "Failed":
        standing += len(tally.terminating)
    missing = wanted - standing
    if missing <= 0:
        return
    if (pause := _pause(tally, now)) > 0:
        plan.again = pause
        return
    plan.creates = [new_pod(job, index) for index in _next_indexes(spec, tally, missing)]


def _next_indexes(spec: Mapping[str, Any], tally: Tally, missing: int) -> list[int | None]:
    if spec.get("completionMode") != "Indexed":
        return [None] * missing
    busy = {index_of(pod) for pod in tally.active} | tally.completed
    if spec.get("podReplacementPolicy") == "Failed":
        busy |= {index_of(pod) for pod in tally.terminating}
    free = (index for index in range(spec["completions"]) if index not in busy)
    return [index for index, _ in zip(free, range(missing), strict=False)]


def _pause(tally: Tally, now: datetime) -> float:
    """Seconds to wait before the next pod after failures: longer each time."""
    if not tally.failed or tally.last_failure is None:
        return 0.0
    pause: float = min(FIRST_PAUSE * 2 ** min(tally.failed - 1, 10), LONGEST_PAUSE)
    return pause - (now - tally.last_failure).total_seconds()


def _status(job: Mapping[str, Any], tally: Tally, conditions: Conditions, now: datetime) -> Object:
    old = job.get("status") or {}
    status: Object = {
        "active": len(tally.active),
        "ready": sum(is_ready(pod) for pod in tally.active),
        "terminating": len(tally.terminating),
        "uncountedTerminatedPods": {word: sorted(uids) for word, uids in tally.waiting.items() if uids},
        **{word: number for word, number in tally.counts.items() if number},
    }
    if not status["active"]:
        del status["active"]
    if job["spec"].get("completionMode") == "Indexed":
        status["completedIndexes"] = indexes.written(tally.completed)
        if not status["completedIndexes"]:
            del status["completedIndexes"]
    if listed := conditions.written():
        status["conditions"] = listed
    if not job["spec"].get("suspend"):
        status["startTime"] = old.get("startTime") or timestamp(now)
    if "Complete" in conditions:
        status["completionTime"] = old.get("completionTime") or timestamp(now)
    return status
