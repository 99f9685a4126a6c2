"""What becomes of a JobSet: which Jobs it makes, starts, stops and deletes, and what its status says. Pure.

Replicated jobs, suspension, start-up in order, ``dependsOn``, success policies, failure
policies with rules and ``maxRestarts``, and ``ttlSecondsAfterFinished``. Left out: the headless
Service (there are none here), restarts in place, recreation of single Jobs, and volume claim policies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from closeknit.kube.numbers import digits
from closeknit.kube.port import Object
from closeknit.kube.standins.conditions import Conditions

_PREFIX: Final = "jobset.sigs.k8s.io"
ATTEMPT: Final = f"{_PREFIX}/restart-attempt"
_NAME: Final = f"{_PREFIX}/replicatedjob-name"
_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_SCHEDULING: Final = ("nodeSelector", "tolerations", "schedulingGates")


@dataclass(slots=True)
class Plan:
    """What to do now."""

    creates: list[Object] = field(default_factory=list)
    deletes: list[Object] = field(default_factory=list)
    changes: list[tuple[Object, Object]] = field(default_factory=list)
    """Jobs, each with the merge patch that starts or stops it."""
    status: Object | None = None
    delete_set: bool = False
    again: float | None = None


def decide(job_set: Mapping[str, Any], jobs: Iterable[Object], now: datetime) -> Plan:
    """What to do about a JobSet, given its Jobs."""
    if "deletionTimestamp" in job_set["metadata"]:
        return Plan()
    old = job_set.get("status") or {}
    attempt = int(old.get("restarts", 0))
    own = list(jobs)
    current = [job for job in own if _attempt(job) == attempt]
    plan = Plan(deletes=[job for job in own if _attempt(job) < attempt and _is_there(job)])
    conditions = Conditions(old.get("conditions") or (), now)
    status: Object = {**old, "restarts": attempt}
    if (ended := conditions.met("Completed", "Failed")) is not None:
        plan.deletes += [job for job in current if _outcome(job) is None and _is_there(job)]
        _expire(job_set, ended, plan, now)
    elif any(_outcome(job) == "Failed" for job in current):
        _fail(job_set, current, status, conditions)
    elif _succeeded(job_set, current):
        conditions.set(
            "Completed", "True", reason="AllJobsCompleted", message="jobset completed successfully"
        )
        status["terminalState"] = "Completed"
    elif not plan.deletes:
        _steer(job_set, current, plan, conditions)
    status["replicatedJobsStatus"] = [
        _counted(replicated["name"], _of(current, replicated["name"]))
        for replicated in job_set["spec"].get("replicatedJobs") or ()
    ]
    if listed := conditions.written():
        status["conditions"] = listed
    if status != old:
        plan.status = status
    return plan


def _attempt(job: Mapping[str, Any]) -> int:
    text = (job["metadata"].get("labels") or {}).get(ATTEMPT, "0")
    return digits(text) or 0


def _is_there(job: Mapping[str, Any]) -> bool:
    return "deletionTimestamp" not in job["metadata"]


def _outcome(job: Mapping[str, Any]) -> str | None:
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return str(condition["type"])
    return None


def _failure_reason(job: Mapping[str, Any]) -> str:
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Failed" and condition.get("status") == "True":
            return str(condition.get("reason", ""))
    return ""


def _of(jobs: Iterable[Object], name: str) -> list[Object]:
    return [job for job in jobs if (job["metadata"].get("labels") or {}).get(_NAME) == name]


def _expire(job_set: Mapping[str, Any], ended: Mapping[str, Any], plan: Plan, now: datetime) -> None:
    keep = job_set["spec"].get("ttlSecondsAfterFinished")
    if keep is not None:
        over = datetime.fromisoformat(ended["lastTransitionTime"]).astimezone(UTC)
        left = keep - (now - over).total_seconds()
        plan.delete_set = left <= 0
        plan.again = left if left > 0 else None


def _fail(job_set: Mapping[str, Any], jobs: list[Object], status: Object, conditions: Conditions) -> None:
    """Fail, or begin anew, as the failure policy says."""
    policy = job_set["spec"].get("failurePolicy")
    failed = sorted(
        (job for job in jobs if _outcome(job) == "Failed"), key=lambda job: str(job["metadata"]["name"])
    )
    action = _action(policy or {}, failed[0])
    counted = int(status.get("restartsCountTowardsMax", 0))
    if policy is None or action == "FailJobSet":
        reason = "FailedJobs" if policy is None else "FailJobSetFailurePolicyAction"
        message = f"jobset failed due to one or more job failures, first {failed[0]['metadata']['name']}"
    elif action == "RestartJobSet" and counted >= policy.get("maxRestarts", 0):
        reason, message = "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts"
    else:
        status["restarts"] = int(status["restarts"]) + 1
        if action == "RestartJobSet":
            status["restartsCountTowardsMax"] = counted + 1
        return
    conditions.set("Failed", "True", reason=reason, message=message)
    status["terminalState"] = "Failed"


def _action(policy: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    name, reason = (job["metadata"].get("labels") or {}).get(_NAME), _failure_reason(job)
    for rule in policy.get("rules") or ():
        among, reasons = rule.get("targetReplicatedJobs"), rule.get("onJobFailureReasons")
        if (not among or name in among) and (not reasons or reason in reasons):
            return str(rule.get("action"))
    return "RestartJobSet"


def _succeeded(job_set: Mapping[str, Any], jobs: list[Object]) -> bool:
    policy = job_set["spec"].get("successPolicy") or {}
    replicated = job_set["spec"].get("replicatedJobs") or ()
    targets = set(policy.get("targetReplicatedJobs") or ()) or {one["name"] for one in replicated}
    done = sum(
        _outcome(job) == "Complete"
        for job in jobs
        if (job["metadata"].get("labels") or {}).get(_NAME) in targets
    )
    if policy.get("operator") == "Any":
        return done > 0
    expected = sum(one.get("replicas", 1) for one in replicated if one["name"] in targets)
    return bool(expected > 0 and done >= expected)


def _steer(job_set: Mapping[str, Any], jobs: list[Object], plan: Plan, conditions: Conditions) -> None:
    """Have every Job there, and running or suspended as the set is."""
    spec = job_set["spec"]
    suspended = bool(spec.get("suspend"))
    if suspended:
        conditions.set("Suspended", "True", reason="SuspendedJobs", message="jobset is suspended")
    elif "Suspended" in conditions:
        conditions.set("Suspended", "False", reason="ResumeJobs", message="jobset is resumed")
    in_order = (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    for replicated in spec.get("replicatedJobs") or ():
        there = {job["metadata"]["name"]: job for job in _of(jobs, replicated["name"])}
        if not suspended and not _may_start(replicated, jobs, spec):
            continue
        for index in range(replicated.get("replicas", 1)):
            made = _job(job_set, replicated, index)
            found = there.get(made["metadata"]["name"])
            if found is None:
                plan.creates.append(made)
            elif _is_there(found) and bool(found["spec"].get("suspend")) is not suspended:
                plan.changes.append((found, _switch(made, suspended=suspended)))
        if in_order and not suspended and not _all_ready(replicated, list(there.values())):
            break


def _may_start(replicated: Mapping[str, Any], jobs: list[Object], spec: Mapping[str, Any]) -> bool:
    by_name = {one["name"]: one for one in spec.get("replicatedJobs") or ()}
    for need in replicated.get("dependsOn") or ():
        other = by_name.get(need.get("name"))
        if other is None:
            continue
        theirs = _of(jobs, other["name"])
        if need.get("status") == "Complete":
            if sum(_outcome(job) == "Complete" for job in theirs) < other.get("replicas", 1):
                return False
        elif not _all_ready(other, theirs):
            return False
    return True


def _all_ready(replicated: Mapping[str, Any], jobs: list[Object]) -> bool:
    return bool(sum(_is_ready(job) for job in jobs) >= replicated.get("replicas", 1))


def _is_ready(job: Mapping[str, Any]) -> bool:
    spec, status = job["spec"], job.get("status") or {}
    parallelism = spec.get("parallelism", 1)
    wanted = min(parallelism, spec.get("completions", parallelism))
    return bool(int(status.get("ready", 0)) + int(status.get("succeeded", 0)) >= wanted)


def _counted(name: str, jobs: list[Object]) -> Object:
    outcomes = [_outcome(job) for job in jobs]
    return {
        "name": name,
        "ready": sum(outcome is None and _is_ready(job) for outcome, job in zip(outcomes, jobs, strict=True)),
        "succeeded": outcomes.count("Complete"),
        "failed": outcomes.count("Failed"),
        "active": sum(int((job.get("status") or {}).get("active", 0)) > 0 for job in jobs),
        "suspended": sum(bool(job["spec"].get("suspend")) for job in jobs),
    }


def _switch(made: Object, *, suspended: bool) -> Object:
    """The merge patch that suspends a Job, or starts it where its pods may go now."""
    if suspended:
        return {"spec": {"suspend": True}}
    template = made["spec"]["template"]
    pod = {name: template["spec"].get(name) for name in _SCHEDULING if template["spec"].get(name)}
    meta = {
        word: template["metadata"][word]
        for word in ("labels", "annotations")
        if template["metadata"].get(word)
    }
    return {"spec": {"suspend": False, "template": {"metadata": meta, "spec": pod}}}


def _job(job_set: Mapping[str, Any], replicated: Mapping[str, Any], index: int) -> Object:
    meta, spec = job_set["metadata"], job_set["spec"]
    name = f"{meta['name']}-{replicated['name']}-{index}"
    template = replicated["template"]
    marks = _marks(job_set, replicated, index, name)
    own, job_spec = template.get("metadata") or {}, template.get("spec") or {}
    pods = job_spec.get("template") or {}
    pod_meta, pod_spec = pods.get("metadata") or {}, dict(pods.get("spec") or {})
    annotations = dict(marks)
    if topology := (meta.get("annotations") or {}).get(_EXCLUSIVE):
        annotations[_EXCLUSIVE] = topology
    network = spec.get("network") or {}
    if network.get("enableDNSHostnames", True):
        pod_spec.setdefault("subdomain", network.get("subdomain") or meta["name"])
    pod_spec.setdefault("restartPolicy", "OnFailure")
    job_spec = {
        "completionMode": "Indexed",
        **job_spec,
        "suspend": bool(spec.get("suspend")),
        "template": {
            **pods,
            "metadata": {
                **pod_meta,
                "labels": {**(pod_meta.get("labels") or {}), **marks},
                "annotations": {**(pod_meta.get("annotations") or {}), **annotations},
            },
            "spec": pod_spec,
        },
    }
    job_spec.setdefault("parallelism", 1)
    if job_spec["completionMode"] == "Indexed":
        job_spec.setdefault("completions", job_spec["parallelism"])
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": {**(own.get("labels") or {}), **marks},
            "annotations": {**(own.get("annotations") or {}), **annotations},
            "ownerReferences": [
                {
                    "apiVersion": job_set["apiVersion"],
                    "kind": "JobSet",
                    "name": meta["name"],
                    "uid": meta["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": job_spec,
    }


def _marks(
    job_set: Mapping[str, Any], replicated: Mapping[str, Any], index: int, name: str
) -> dict[str, str]:
    meta = job_set["metadata"]
    everything = job_set["spec"].get("replicatedJobs") or ()
    before = 0
    for one in everything:
        if one["name"] == replicated["name"]:
            break
        before += one.get("replicas", 1)
    key = hashlib.sha1(f"{meta['namespace']}/{name}".encode(), usedforsecurity=False).hexdigest()
    marks = {
        "jobset-name": meta["name"],
        "jobset-uid": meta["uid"],
        "replicatedjob-name": replicated["name"],
        "replicatedjob-replicas": replicated.get("replicas", 1),
        "restart-attempt": int((job_set.get("status") or {}).get("restarts", 0)),
        "job-index": index,
        "job-global-index": before + index,
        "job-key": key,
        "global-replicas": sum(one.get("replicas", 1) for one in everything),
    }
    return {f"{_PREFIX}/{word}": str(value) for word, value in marks.items()}
