"""Jobs and JobSets as pod sets that are admitted together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from closeknit.apis import batch_v1, core_v1, job_keys, jobset_x_k8s_io_v1alpha2
from closeknit.apis import kueue_keys as keys
from closeknit.dialects.core.kinds import value_at
from closeknit.dialects.core.pods import MOST_PODS, ReadPod, read_template
from closeknit.dialects.kueue.queued_workload import (
    MOST_POD_SETS,
    QueuedPodSet,
    QueuedWorkload,
    fill_slots,
    group_problems,
    labels_of,
    queued_by_label,
    too_many,
)
from closeknit.dialects.kueue.slices import whole_number
from closeknit.dialects.kueue.topology_request import from_annotations, misplaced
from closeknit.dialects.store.objects import Stored
from closeknit.hub.many_problems import MOST_OF_A_RULE
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, Problem, Range
from closeknit.hub.sentences import core, hub
from closeknit.hub.sentences import kueue as sentences

_ANNOTATIONS = ("metadata", "annotations")
_TEMPLATE = ("spec", "template")


def read_job(stored: Stored[batch_v1.Job], pods: Iterable[ReadPod]) -> QueuedWorkload:
    """A Job: one pod set, called ``main`` as Kueue does."""
    job = stored.content
    found: list[Problem] = []
    found.extend(misplaced(job.metadata.annotations, _ANNOTATIONS, Field((*_TEMPLATE, *_ANNOTATIONS))))
    given = _parallelism(job.spec, ("spec",), found)
    pod_set = _pod_set(
        stored,
        job.spec.template,
        _TEMPLATE,
        pods,
        found,
        name="main",
        count=given or 0,
        minimum=_minimum(job.metadata.annotations, given, found),
        indexed=job.spec.completion_mode == "Indexed",
    )
    found.extend(group_problems([pod_set]))
    return queued_by_label(stored, [pod_set], found, finished=is_finished(job.status))


def read_job_set(stored: Stored[jobset_x_k8s_io_v1alpha2.JobSet], pods: Iterable[ReadPod]) -> QueuedWorkload:
    """A JobSet: a pod set for each replicated job, those without pods included."""
    job_set = stored.content
    found: list[Problem] = []
    right = "the pod templates of spec.replicatedJobs"
    found.extend(misplaced(job_set.metadata.annotations, _ANNOTATIONS, right))
    path: Path = ("spec", "replicatedJobs")
    jobs = job_set.spec.replicated_jobs
    if not jobs:
        found.append(core.NO_REPLICATED_JOB.at(path))
    if len(jobs) > MOST_POD_SETS:
        found.append(sentences.REPLICATED_JOBS_COUNT.at(path, given=len(jobs), most=MOST_POD_SETS))
    members = list(pods)
    pod_sets: list[QueuedPodSet] = []
    first_index: dict[str, int] = {}
    for i, job in enumerate(jobs[:MOST_OF_A_RULE]):
        if (first := first_index.setdefault(job.name, i)) != i:
            taken = Field((*path, first))
            found.append(sentences.NAME_TAKEN.at((*path, i, "name"), name=job.name, first=taken))
        read = _replicated_job(job, (*path, i), stored, members, found, before=pod_sets)
        if first == i:
            pod_sets.append(read)
    found.extend(group_problems(pod_sets))
    return queued_by_label(stored, pod_sets, found, finished=is_finished(job_set.status))


def _replicated_job(
    job: jobset_x_k8s_io_v1alpha2.ReplicatedJob,
    path: Path,
    stored: Stored[jobset_x_k8s_io_v1alpha2.JobSet],
    pods: list[ReadPod],
    found: list[Problem],
    *,
    before: list[QueuedPodSet],
) -> QueuedPodSet:
    """The pod set of a replicated job; without pods where there are too many with those before it."""
    replicas = 1 if job.replicas is None else job.replicas
    if replicas < 0:
        found.append(hub.NEGATIVE.at((*path, "replicas"), value=replicas))
    template = (*path, "template", "spec", "template")
    outer, right = (*path, "template", *_ANNOTATIONS), Field((*template, *_ANNOTATIONS))
    found.extend(misplaced(job.template.metadata.annotations, outer, right))
    each = _parallelism(job.template.spec, (*path, "template", "spec"), found) or 0
    count = max(replicas, 0) * each
    excess = list(too_many(count, before, (*path, "replicas")))
    found.extend(excess)
    return _pod_set(
        stored,
        job.template.spec.template,
        template,
        (pod for pod in pods if labels_of(pod).get(job_keys.REPLICATED_JOB) == job.name),
        found,
        name=job.name,
        count=0 if excess else count,
        replicas=max(replicas, 1),
    )


def _pod_set(
    stored: Stored[Any],
    template: core_v1.PodTemplateSpec,
    path: Path,
    pods: Iterable[ReadPod],
    found: list[Problem],
    *,
    name: str,
    count: int,
    replicas: int = 1,
    minimum: int | None = None,
    indexed: bool = True,
) -> QueuedPodSet:
    of_job_set = stored.object.kind == "JobSet"
    own: Mapping[str, str] = template.metadata.annotations
    # What the early design says on the Job or JobSet itself.
    outer = stored.content.metadata.annotations
    above = {key: outer[key] for key in keys.KEP_ANNOTATIONS if key in outer}
    annotations: Path = (*path, *_ANNOTATIONS)
    has_own = any(key in own for key in (*keys.KEP_ANNOTATIONS, *keys.POD_SET_ANNOTATIONS))
    # A template with which pods run repeats what the Job says, in today's words.
    if above and has_own and not of_job_set and keys.WORKLOAD not in own:
        key = next(iter(above))
        found.append(sentences.TOPOLOGY_TWICE.at((*_ANNOTATIONS, key)))
    if above and not has_own:
        own, annotations = above, _ANNOTATIONS
    request = from_annotations(own, annotations, count, found)
    stem = f"{stored.name}-{name}" if of_job_set else stored.name
    job_label = job_keys.JOB_INDEX if of_job_set else ""
    labels = template.metadata.labels
    read = read_template(template.spec, path, namespace=stored.namespace, labels=labels)
    found.extend(read.problems)
    return QueuedPodSet(
        name=name,
        path=path,
        count=count,
        minimum=minimum,
        replicas=replicas,
        request=request,
        shape=read.shape,
        slots=fill_slots(
            stem, count, count // replicas, pods, index_label=job_keys.COMPLETION_INDEX, job_label=job_label
        ),
        template=value_at(stored.written, path),
        index_label=job_keys.COMPLETION_INDEX if indexed else None,
        sub_index_label=job_label or None,
        priority_class=template.spec.priority_class_name,
    )


def _parallelism(spec: batch_v1.JobSpec, path: Path, found: list[Problem]) -> int | None:
    """How many pods run side by side: never more than are left to complete. None where that cannot be."""
    possible = True
    for name, number in (("parallelism", spec.parallelism), ("completions", spec.completions)):
        if number is not None and not 0 <= number <= MOST_PODS:
            allowed = Range(0, MOST_PODS)
            found.append(core.OUT_OF_RANGE.at((*path, name), value=number, allowed=allowed))
            possible = False
    if not possible:
        return None
    count = 1 if spec.parallelism is None else spec.parallelism
    return count if spec.completions is None else min(count, spec.completions)


def _minimum(annotations: Mapping[str, str], count: int | None, found: list[Problem]) -> int | None:
    written = annotations.get(keys.MIN_PARALLELISM)
    if written is None or count is None:
        return None
    pods = whole_number(written)
    if pods is not None and 1 <= pods < count:
        return pods
    path = (*_ANNOTATIONS, keys.MIN_PARALLELISM)
    if count < 2:
        found.append(sentences.NONE_TO_MISS.at(path, pods="is only one pod" if count else "are no pods"))
    else:
        found.append(core.NOT_POSSIBLE.at(path, value=written, allowed=Range(1, count - 1)))
    return None


def is_finished(status: batch_v1.JobStatus) -> bool:
    """Whether a Job or JobSet has ended, well or not."""
    ends = ("Complete", "Completed", "Failed", "SuccessCriteriaMet")
    return any(each.type in ends and each.status == "True" for each in status.conditions)
