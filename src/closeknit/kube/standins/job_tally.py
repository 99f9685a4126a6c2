"""How many pods of a Job are active, have ended and have been counted; which failures count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from closeknit.kube.port import Object
from closeknit.kube.standins import indexes
from closeknit.kube.standins.job_pods import holds, index_of, moment, phase_of


@dataclass(slots=True)
class Tally:
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


def tallied(job: Mapping[str, Any], pods: list[Object]) -> Tally:
    """Sort a Job's pods, and count those that have ended: once each, by what its status says already."""
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
        phase = phase_of(pod)
        if phase not in ("Succeeded", "Failed"):
            going = "deletionTimestamp" in pod["metadata"]
            (terminating if going else active).append(pod)
            if going and holds(pod) and not spec.get("suspend"):
                # Somebody else has deleted it, or the Job has ended before; it may never say how it ended.
                waiting["failed"].add(pod["metadata"]["uid"])
            continue
        if phase == "Failed":
            failures.append(_finished_at(pod))
        if holds(pod) and not (phase == "Failed" and is_ignored(job, pod)):
            waiting[phase.lower()].add(pod["metadata"]["uid"])
        if phase == "Succeeded" and (index := index_of(pod)) is not None:
            completed.add(index)
    return Tally(active, terminating, waiting, counts, completed, max(failures, default=None))


def _finished_at(pod: Mapping[str, Any]) -> datetime:
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended.get("finishedAt"):
            return moment(ended["finishedAt"])
    return moment(pod["metadata"]["creationTimestamp"])


def rule_for(job: Mapping[str, Any], pod: Mapping[str, Any]) -> str:
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


def is_ignored(job: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Whether a failed pod does not count."""
    return rule_for(job, pod) == "Ignore"
