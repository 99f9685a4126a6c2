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
from datetime import UTC, datetime
from typing import Any, Final

from closeknit.kube.clock import timestamp
from closeknit.kube.port import Object
from closeknit.kube.standins import indexes
from closeknit.kube.standins.conditions import Conditions

FINALIZER: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
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


@dataclass(slots=True)
class _Tally:
    """The pods of a Job, sorted, and what is counted of them."""

    active: list[Object]
    terminating: list[Object]
    waiting: dict[str, set[str]]
    """By ``succeeded`` and ``failed``, the uids that stand in the status until their finalizer is gone."""
    counts: dict[str, int]
    completed: set[int]
    last_failure: datetime | None

    @property
    def succeeded(self) -> int:
        """How many pods have succeeded, counted for good or not yet."""
        return self.counts["succeeded"] + len(self.waiting["succeeded"])

    @property
    def failed(self) -> int:
        """How many pods have failed, likewise."""
        return self.counts["failed"] + len(self.waiting["failed"])


def decide(job: Mapping[str, Any], pods: Iterable[Object], now: datetime) -> Plan:
    """What to do about a Job, given its pods."""
    own = list(pods)
    if "deletionTimestamp" in job["metadata"]:
        return Plan(releases=[pod for pod in own if holds(pod)])
    conditions = _conditions(job, now)
    if (ended := conditions.met("Complete", "Failed")) is not None:
        return _after_the_end(job, own, ended, now)
    spec = job["spec"]
    tally = _tally(job, own)
    plan = Plan(releases=_released(job, own))
    verdict = _verdict(job, own, tally, now)
    if verdict is not None:
        _finish(tally, plan, conditions, verdict)
    else:
        _steer(job, tally, plan, conditions, now)
    status = _status(job, tally, conditions, now)
    deadline = spec.get("activeDeadlineSeconds")
    if verdict is None and deadline is not None and status.get("startTime"):
        left = deadline - (now - _moment(status["startTime"])).total_seconds()
        plan.again = min(plan.again, left) if plan.again is not None else left
    if status != (job.get("status") or {}):
        plan.status = status
    return plan


def holds(pod: Mapping[str, Any]) -> bool:
    """Whether a pod stays until it is counted."""
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _conditions(job: Mapping[str, Any], now: datetime) -> Conditions:
    return Conditions((job.get("status") or {}).get("conditions") or (), now, probed=True)


def _after_the_end(
    job: Mapping[str, Any], pods: list[Object], ended: Mapping[str, Any], now: datetime
) -> Plan:
    plan = Plan(releases=[pod for pod in pods if holds(pod)])
    keep = job["spec"].get("ttlSecondsAfterFinished")
    if keep is not None:
        left = keep - (now - _moment(ended["lastTransitionTime"])).total_seconds()
        plan.delete_job = left <= 0
        plan.again = left if left > 0 else None
    return plan


def _phase(pod: Mapping[str, Any]) -> str:
    return str((pod.get("status") or {}).get("phase", "Pending"))


def index_of(pod: Mapping[str, Any]) -> int | None:
    """A pod's completion index."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdigit() else None


def _tally(job: Mapping[str, Any], pods: list[Object]) -> _Tally:
    spec, status = job["spec"], job.get("status") or {}
    recorded = status.get("uncountedTerminatedPods") or {}
    counts = {word: int(status.get(word, 0)) for word in ("succeeded", "failed")}
    waiting = {word: set(recorded.get(word) or ()) for word in ("succeeded", "failed")}
    by_uid = {pod["metadata"]["uid"]: pod for pod in pods}
    for word, uids in waiting.items():
        settled = {uid for uid in uids if uid not in by_uid or not holds(by_uid[uid])}
        counts[word] += len(settled)
        uids.difference_update(settled)
    completed = indexes.parse(str(status.get("completedIndexes", "")))
    failures: list[datetime] = []
    active: list[Object] = []
    terminating: list[Object] = []
    for pod in pods:
        phase = _phase(pod)
        if phase not in ("Succeeded", "Failed"):
            going = "deletionTimestamp" in pod["metadata"]
            (terminating if going else active).append(pod)
            if going and holds(pod) and not spec.get("suspend"):
                # Somebody else has deleted it, or the Job has ended before; it may never say how it ended.
                waiting["failed"].add(pod["metadata"]["uid"])
            continue
        if phase == "Failed":
            failures.append(_finished_at(pod))
        if holds(pod) and not (phase == "Failed" and _ignored(job, pod)):
            waiting[phase.lower()].add(pod["metadata"]["uid"])
        if phase == "Succeeded" and (index := index_of(pod)) is not None:
            completed.add(index)
    return _Tally(active, terminating, waiting, counts, completed, max(failures, default=None))


def _finished_at(pod: Mapping[str, Any]) -> datetime:
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended.get("finishedAt"):
            return _moment(ended["finishedAt"])
    return _moment(pod["metadata"]["creationTimestamp"])


def _released(job: Mapping[str, Any], pods: list[Object]) -> list[Object]:
    """Pods whose uid is in the status as it is stored, and those that do not count."""
    recorded = (job.get("status") or {}).get("uncountedTerminatedPods") or {}
    noted = {uid for word in ("succeeded", "failed") for uid in recorded.get(word) or ()}
    return [
        pod
        for pod in pods
        if holds(pod)
        and (pod["metadata"]["uid"] in noted or (_phase(pod) == "Failed" and _ignored(job, pod)))
    ]


def _rule_for(job: Mapping[str, Any], pod: Mapping[str, Any]) -> str:
    """The action of the first rule of the failure policy that fits a failed pod."""
    status = pod.get("status") or {}
    codes = [
        (one["name"], int(((one.get("state") or {}).get("terminated") or {}).get("exitCode", 0)))
        for one in status.get("containerStatuses") or ()
    ]
    met = {(one.get("type"), one.get("status")) for one in status.get("conditions") or ()}
    for rule in (job["spec"].get("podFailurePolicy") or {}).get("rules") or ():
        if wanted := rule.get("onExitCodes"):
            for name, code in codes:
                inside = code in (wanted.get("values") or ())
                named = wanted.get("containerName") in (None, "", name)
                if named and code and inside is (wanted.get("operator") == "In"):
                    return str(rule.get("action"))
        for condition in rule.get("onPodConditions") or ():
            if (condition.get("type"), condition.get("status", "True")) in met:
                return str(rule.get("action"))
    return "Count"


def _ignored(job: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    return _rule_for(job, pod) == "Ignore"


@dataclass(frozen=True, slots=True)
class _Verdict:
    """How a Job ends."""

    reason: str
    message: str
    announced: str = "FailureTarget"
    ending: str = "Failed"


def _success(reason: str, message: str) -> _Verdict:
    return _Verdict(reason, message, "SuccessCriteriaMet", "Complete")


def _verdict(job: Mapping[str, Any], pods: list[Object], tally: _Tally, now: datetime) -> _Verdict | None:
    """Whether the Job is over, and why."""
    spec, status = job["spec"], job.get("status") or {}
    for pod in pods:
        if _phase(pod) == "Failed" and _rule_for(job, pod) == "FailJob":
            name = f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
            return _Verdict("PodFailurePolicy", f"Pod {name} failed in a way that fails the Job.")
    if tally.failed > spec.get("backoffLimit", 6):
        return _Verdict("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if (seconds := spec.get("activeDeadlineSeconds")) is not None:
        started = _moment(status["startTime"]) if status.get("startTime") else now
        if (now - started).total_seconds() >= seconds:
            return _Verdict("DeadlineExceeded", "Job was active longer than specified deadline")
    if _policy_met(spec, tally.completed):
        return _success("SuccessPolicy", "Matched rules of the success policy")
    if "completions" not in spec:
        done = tally.succeeded > 0 and not tally.active
    elif spec.get("completionMode") == "Indexed":
        done = len(tally.completed) >= spec["completions"]
    else:
        done = tally.succeeded >= spec["completions"]
    return _success("CompletionsReached", "Reached expected number of succeeded pods") if done else None


def _policy_met(spec: Mapping[str, Any], completed: set[int]) -> bool:
    for rule in (spec.get("successPolicy") or {}).get("rules") or ():
        among = indexes.parse(rule["succeededIndexes"]) if "succeededIndexes" in rule else None
        counted = completed if among is None else completed & among
        needed = rule.get("succeededCount", len(among) if among is not None else None)
        if needed is not None and len(counted) >= needed:
            return True
    return False


def _finish(tally: _Tally, plan: Plan, conditions: Conditions, verdict: _Verdict) -> None:
    """Delete what still runs. That it is over is said first; that it has ended, when all pods are counted."""
    plan.deletes = list(tally.active)
    conditions.set(verdict.announced, "True", reason=verdict.reason, message=verdict.message)
    open_ends = tally.active or tally.terminating or tally.waiting["succeeded"] or tally.waiting["failed"]
    if not open_ends:
        conditions.set(verdict.ending, "True", reason=verdict.reason, message=verdict.message)


def _steer(job: Mapping[str, Any], tally: _Tally, plan: Plan, conditions: Conditions, now: datetime) -> None:
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
        ordered = sorted(tally.active, key=lambda pod: (_is_ready(pod), pod["metadata"]["name"]))
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
    plan.creates = [_pod(job, index) for index in _next_indexes(spec, tally, missing)]


def _next_indexes(spec: Mapping[str, Any], tally: _Tally, missing: int) -> list[int | None]:
    if spec.get("completionMode") != "Indexed":
        return [None] * missing
    busy = {index_of(pod) for pod in tally.active} | tally.completed
    if spec.get("podReplacementPolicy") == "Failed":
        busy |= {index_of(pod) for pod in tally.terminating}
    free = (index for index in range(spec["completions"]) if index not in busy)
    return [index for index, _ in zip(free, range(missing), strict=False)]


def _pause(tally: _Tally, now: datetime) -> float:
    """Seconds to wait before the next pod after failures: longer each time."""
    if not tally.failed or tally.last_failure is None:
        return 0.0
    pause: float = min(FIRST_PAUSE * 2 ** min(tally.failed - 1, 10), LONGEST_PAUSE)
    return pause - (now - tally.last_failure).total_seconds()


def _is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _pod(job: Mapping[str, Any], index: int | None) -> Object:
    meta, template = job["metadata"], job["spec"]["template"]
    made = template.get("metadata") or {}
    name = meta["name"] if index is None else f"{meta['name']}-{index}"
    labels, annotations = dict(made.get("labels") or {}), dict(made.get("annotations") or {})
    spec = dict(template["spec"])
    if index is not None:
        labels[INDEX] = annotations[INDEX] = str(index)
        spec.setdefault("hostname", name[:63])
        spec["containers"] = [_with_index(one) for one in spec["containers"]]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{name}-",
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": annotations,
            "finalizers": [FINALIZER],
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": meta["name"],
                    "uid": meta["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": spec,
    }


def _with_index(container: Mapping[str, Any]) -> Object:
    variable = {
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}},
    }
    return {**container, "env": [*(container.get("env") or ()), variable]}


def _status(job: Mapping[str, Any], tally: _Tally, conditions: Conditions, now: datetime) -> Object:
    old = job.get("status") or {}
    status: Object = {
        "active": len(tally.active),
        "ready": sum(_is_ready(pod) for pod in tally.active),
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
