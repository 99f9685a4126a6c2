"""Jobs and JobSets that queue: their Workload, kept in step, and when they run.

A Job waits suspended. When its Workload is admitted, its pod templates get node selectors, tolerations and
the gate, and it is resumed; when the Workload is evicted it is suspended, and then gets its own templates
back, which the Workload has kept.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.controllers.kueue.conditions import EVICTED, FINISHED, condition, holds, reserves, runs
from closeknit.controllers.kueue.reservations import continued
from closeknit.controllers.runtime.writes import NOTHING, Create, Decision, Patch, SetStatus, Tell
from closeknit.dialects.core.kinds import value_at
from closeknit.dialects.kueue import owners
from closeknit.dialects.kueue.assignments import Assigned, from_written
from closeknit.dialects.kueue.compile import Nominated, nominated, queued_workload
from closeknit.dialects.kueue.jobs import is_finished
from closeknit.dialects.kueue.to_started import started_template
from closeknit.dialects.kueue.to_workload import workload_object
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import InvalidError

_KEPT = ("podSets", "queueName", "priority", "priorityClassRef")
"""What a Workload takes from its owner."""


class Observed(NamedTuple):
    """A Job or JobSet, and what it should look like."""

    job: Stored[Any] | None
    """None where it does not queue, or has ended."""
    workload: Stored[wire.Workload] | None = None
    wanted: Mapping[str, Any] | None = None
    """The Workload that is made from it."""
    templates: tuple[tuple[tuple[str | int, ...], Mapping[str, Any]], ...] = ()
    """By the place of each, the templates with which it runs, or its own where it waits."""
    parallelism: int | None = None
    """Of a Job of which fewer pods run than it asks for."""


def observe(view: View, key: Key) -> Observed:
    """A Job or JobSet, its Workload, and the templates that it should have now."""
    stored = owners.queued_object(view, key)
    if stored is None or is_finished(stored.content.status):
        return Observed(None)
    workload = owners.workload_of(view, key)
    if workload is not None and runs(workload):
        # While it runs its pods change all the time, which changes nothing here.
        found = view.derive(continued, workload.key) if stored.content.spec.suspend else None
        return _running(stored, workload, found) if found is not None else Observed(stored, workload)
    queued = view.derive(queued_workload, key)
    assert queued is not None
    if workload is None:
        return Observed(stored, None, workload_object(nominated(queued, view, list(queued.problems))))
    own = tuple(
        (pod_set.path, given["template"])
        for pod_set in queued.pod_sets
        for given in workload.written["spec"]["podSets"]
        if given["name"] == pod_set.name and _is_started(pod_set.template, workload)
    )
    if own or reserves(workload):
        return Observed(stored, workload, templates=own)
    made = nominated(queued, view, list(queued.problems))
    return Observed(stored, workload, workload_object(made))


def _running(job: Stored[Any], workload: Stored[wire.Workload], found: Nominated) -> Observed:
    """What an admitted Job runs with."""
    admission = workload.content.status.admission
    assert admission is not None
    given = {each.name: each for each in admission.pod_set_assignments}
    used = found.admissions[0].used if found.admissions else {}
    topology = found.admissions[0].topology if found.admissions else None
    paths = _paths(job)
    templates = []
    parallelism = None
    for pod_set in found.queued.pod_sets:
        assigned = given.get(pod_set.name)
        path = paths.get(pod_set.name)
        if assigned is None or path is None or pod_set.name not in used:
            continue
        places = _places(assigned)
        made = started_template(workload.name, pod_set, used[pod_set.name], topology, places)
        templates.append((path, made))
        asked = next(each.count for each in workload.content.spec.pod_sets if each.name == pod_set.name)
        if assigned.count is not None and assigned.count < asked:
            parallelism = assigned.count
    return Observed(job, workload, None, tuple(templates), parallelism)


def _places(assigned: wire.PodSetAssignment) -> Assigned | None:
    try:
        return from_written(assigned.topology_assignment) if assigned.topology_assignment else None
    except InvalidError:
        return None


def _paths(job: Stored[Any]) -> dict[str, tuple[str | int, ...]]:
    """By pod set, where its template stands."""
    if job.object.kind == "Job":
        return {"main": ("spec", "template")}
    return {
        each.name: ("spec", "replicatedJobs", i, "template", "spec", "template")
        for i, each in enumerate(job.content.spec.replicated_jobs)
    }


def _is_started(template: Mapping[str, Any], workload: Stored[wire.Workload]) -> bool:
    """Whether a template is one with which pods run, and not the owner's own."""
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return annotations.get(keys.WORKLOAD) == workload.name


def decide(observed: Observed, _: datetime) -> Decision:
    """What is written of a Job, or for it."""
    job, workload = observed.job, observed.workload
    if job is None or job.content.metadata.deletion_timestamp:
        return NOTHING
    suspended = bool(job.written["spec"].get("suspend"))
    if workload is not None and runs(workload):
        return _resume(job, workload, observed) if suspended else NOTHING
    if not suspended:
        return _suspend(job, workload)
    if workload is None:
        assert observed.wanted is not None
        name = f"{job.namespace}/{observed.wanted['metadata']['name']}"
        told = Tell(job.key, "CreatedWorkload", f"Created Workload: {name}")
        return Decision((Create(observed.wanted), told))
    if observed.templates and not reserves(workload):
        return _restore(job, observed)
    if observed.wanted is not None and not holds(workload, FINISHED):
        return _keep_in_step(workload, observed.wanted)
    return NOTHING


def _resume(job: Stored[Any], workload: Stored[wire.Workload], observed: Observed) -> Decision:
    assert workload.content.status.admission is not None
    if not observed.templates:
        return NOTHING
    if _has_started(job):
        return Decision((SetStatus(job.key, {"startTime": None}),))
    body = _with_templates(job, observed)
    body["spec"]["suspend"] = False
    if observed.parallelism is not None:
        body["spec"]["parallelism"] = observed.parallelism
    queue = workload.content.status.admission.cluster_queue
    told = Tell(job.key, "Started", f"Admitted by clusterQueue {queue}")
    return Decision((_patch(job, body), told))


def _suspend(job: Stored[Any], workload: Stored[wire.Workload] | None) -> Decision:
    why = condition(workload, EVICTED) if workload is not None else None
    message = why.message if why is not None and why.status == "True" else "Not admitted by cluster queue"
    body = {"spec": {"suspend": True}}
    return Decision((_patch(job, body), Tell(job.key, "Stopped", message)))


def _restore(job: Stored[Any], observed: Observed) -> Decision:
    """Give a Job that waits its own templates back, which it may get only where it counts as not started."""
    if _has_started(job):
        return Decision((SetStatus(job.key, {"startTime": None}),))
    body = _with_templates(job, observed)
    workload = observed.workload
    assert workload is not None
    asked = workload.content.spec.pod_sets[0]
    if job.object.kind == "Job" and asked.min_count is not None:
        body["spec"]["parallelism"] = asked.count
    return Decision((_patch(job, body),))


def _has_started(job: Stored[Any]) -> bool:
    """Whether a Job has a time of start; it keeps its templates as long as it has one."""
    return job.object.kind == "Job" and "startTime" in (job.written.get("status") or {})


def _keep_in_step(workload: Stored[wire.Workload], wanted: Mapping[str, Any]) -> Decision:
    """Let a Workload that waits ask for what its owner asks for now."""
    spec = {name: wanted["spec"].get(name) for name in _KEPT}
    body: dict[str, Any] = {"spec": spec}
    if annotations := wanted["metadata"].get("annotations"):
        body["metadata"] = {"annotations": annotations}
    return Decision((Patch(workload.key, body),))


def _patch(job: Stored[Any], body: Mapping[str, Any]) -> Patch:
    return Patch(job.key, body, resource_version=str(job.written["metadata"]["resourceVersion"]))


def _with_templates(job: Stored[Any], observed: Observed) -> dict[str, Any]:
    """A merge patch that makes templates what they should be."""
    if job.object.kind == "Job":
        ((path, wanted),) = observed.templates
        return {"spec": {"template": _difference(value_at(job.written, path), wanted)}}
    jobs = copy.deepcopy(job.written["spec"]["replicatedJobs"])
    for (_, _, i, *steps, last), wanted in observed.templates:
        holder: Any = jobs[i]
        for step in steps:
            holder = holder[step]
        holder[last] = copy.deepcopy(dict(wanted))
    return {"spec": {"replicatedJobs": jobs}}


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that makes one object the other."""
    made: dict[str, Any] = {name: None for name in found if name not in wanted}
    for name, value in wanted.items():
        before = found.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := _difference(before, value):
                made[name] = inner
        elif before != value:
            made[name] = value
    return made
