"""What a Workload was made from, as far as its life is concerned: whether it runs, is ready, or has ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from closeknit.apis import core_v1
from closeknit.controllers.kueue.pod_groups import is_gated
from closeknit.dialects.core.pods import ReadPod, Stage
from closeknit.dialects.kueue import owners
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key


class Ended(NamedTuple):
    """How something has ended."""

    succeeded: bool
    message: str


class Owner(NamedTuple):
    """A Job, JobSet or group of pods."""

    key: Key
    suspended: bool
    active: bool
    """Whether any of its pods runs or may begin to."""
    ready: int
    """Pods that are ready or have done their work."""
    pods: int
    ended: Ended | None = None
    reclaimable: tuple[tuple[str, int], ...] = ()
    """By pod set, how many pods are not needed any more."""


def owner_of(view: View, workload: Key) -> Owner | None:
    """What a Workload was made from; None where that is not there, or it was made by itself."""
    stored = view.get(workload)
    if stored is None:
        return None
    key = owners.workload_owner(stored)
    found = view.derive(owners.maker_of, workload) or (key if key != workload else None)
    if found is None:
        return None
    if found.kind == "Pod":
        return _group(view, found)
    owner = view.get(found)
    if owner is None:
        return None
    return _job(owner) if found.kind == "Job" else _job_set(owner)


def _job(stored: Stored[Any]) -> Owner:
    spec, status = stored.written["spec"], stored.written.get("status") or {}
    parallelism = spec.get("parallelism", 1)
    completions = spec.get("completions")
    pods = parallelism if completions is None else min(parallelism, completions)
    succeeded = status.get("succeeded", 0)
    uncounted = (status.get("uncountedTerminatedPods") or {}).get("succeeded") or ()
    spare: tuple[tuple[str, int], ...] = ()
    if parallelism > 1 and succeeded and completions is not None and completions - succeeded < parallelism:
        spare = (("main", parallelism - (completions - succeeded)),)
    return Owner(
        stored.key,
        bool(spec.get("suspend")),
        bool(status.get("active")),
        status.get("ready", 0) + succeeded + len(uncounted),
        pods,
        _ended(status, ("Complete", "Failed")),
        spare,
    )


def _job_set(stored: Stored[Any]) -> Owner:
    status = stored.written.get("status") or {}
    counted = {each.get("name"): each for each in status.get("replicatedJobsStatus") or ()}
    ready = pods = 0
    spare: list[tuple[str, int]] = []
    for each in stored.written["spec"].get("replicatedJobs") or ():
        spec = each["template"]["spec"]
        parallelism = spec.get("parallelism", 1)
        size = min(parallelism, spec.get("completions", parallelism))
        replicas, found = each.get("replicas", 1), counted.get(each["name"], {})
        succeeded = found.get("succeeded", 0)
        pods += replicas * size
        ready += (found.get("ready", 0) + succeeded) * size
        if 0 < succeeded < replicas:
            spare.append((each["name"], succeeded * size))
    return Owner(
        stored.key,
        bool(stored.written["spec"].get("suspend")),
        any(each.get("active") for each in counted.values()),
        ready,
        pods,
        _ended(status, ("Completed", "Failed")),
        tuple(spare),
    )


def _group(view: View, group: Key) -> Owner | None:
    pods = view.derive(owners.group_pods, group)
    if not pods:
        return None
    open_ones = [pod for pod in pods if pod.stage in (Stage.OPEN, Stage.RUNNING, Stage.LEAVING)]
    waiting = [pod for pod in open_ones if pod.stage is Stage.OPEN and is_gated(pod.stored)]
    ready = sum(pod.stage is Stage.SUCCEEDED or is_ready(pod) for pod in pods)
    ended = None
    if not open_ones:
        failed = sum(pod.stage is Stage.FAILED for pod in pods)
        message = f"Pods succeeded: {len(pods) - failed}/{len(pods)}." if len(pods) > 1 else ""
        ended = Ended(not failed, message or ("Pod failed" if failed else "Pod succeeded"))
    stopped = len(waiting) == len(open_ones)
    return Owner(group, stopped, not stopped, ready, len(pods), ended)


def is_ready(pod: ReadPod) -> bool:
    """Whether a pod runs; nobody tells more of it here."""
    content: core_v1.Pod = pod.stored.content
    return pod.stage is Stage.RUNNING and content.status.phase == "Running"


def _ended(status: Mapping[str, Any], kinds: tuple[str, str]) -> Ended | None:
    for each in status.get("conditions") or ():
        if each.get("type") in kinds and each.get("status") == "True":
            return Ended(each["type"] != "Failed", each.get("message", ""))
    return None
