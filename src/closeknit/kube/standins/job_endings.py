"""Whether a Job is over, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from closeknit.kube.port import Object
from closeknit.kube.standins import indexes
from closeknit.kube.standins.job_pods import moment, phase_of
from closeknit.kube.standins.job_tally import Tally, rule_for


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a Job ends."""

    reason: str
    message: str
    announced: str = "FailureTarget"
    ending: str = "Failed"


def _success(reason: str, message: str) -> Verdict:
    return Verdict(reason, message, "SuccessCriteriaMet", "Complete")


def verdict_on(job: Mapping[str, Any], pods: list[Object], tally: Tally, now: datetime) -> Verdict | None:
    """Whether the Job is over, and why."""
    spec, status = job["spec"], job.get("status") or {}
    for pod in pods:
        if phase_of(pod) == "Failed" and rule_for(job, pod) == "FailJob":
            name = f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
            return Verdict("PodFailurePolicy", f"Pod {name} failed in a way that fails the Job.")
    if tally.failed > spec.get("backoffLimit", 6):
        return Verdict("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if (seconds := spec.get("activeDeadlineSeconds")) is not None:
        started = moment(status["startTime"]) if status.get("startTime") else now
        if (now - started).total_seconds() >= seconds:
            return Verdict("DeadlineExceeded", "Job was active longer than specified deadline")
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
