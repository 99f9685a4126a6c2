"""Jobs and JobSets as pod sets that are admitted together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from closeknit.apis import batch_v1, core_v1, job_keys, jobset_x_k8s_io_v1alpha2
from closeknit.apis import kueue_keys as keys
from closeknit.dialects.core.kinds import value_at
from closeknit.dialects.core.pods import MOST_PODS, ReadPod, read_template
from closeknit.dialects.kueue.pod_slots import fill_slots, job_pod_names, labels_of, rank_of
from closeknit.dialects.kueue.queued_workload import (
    MOST_POD_SETS,
    QueuedPodSet,
    QueuedWorkload,
    group_problems,
    too_many,
)
from closeknit.dialects.kueue.slices import whole_number
from closeknit.dialects.kueue.topology_request import from_annotations, misplaced
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, Problem, Range
from closeknit.hub.sentences import core, hub
from closeknit.hub.sentences import kueue as sentences

_ANNOTATIONS = ("metadata", "annotations")
_TEMPLATE = ("spec", "template")
QUEUE_LABEL = ("metadata", "labels", keys.QUEUE)


def read_job(stored: Stored[batch_v1.Job], pods: Iterable[ReadPod]) -> QueuedWorkload:
    """A Job: one pod set, called ``main`` as Kueue does."""
    job = stored.content
    found: list[Problem] = []
    found.extend(misplaced(job.metadata.annotations, _ANNOTATIONS, Field((*_TEMPLATE, *_ANNOTATIONS))))
    given = _parallelism(job.spec, ("spec",), found)
    count = given or 0
    pod_set = _pod_set(
        _Source(
            name="main",
            path=_TEMPLATE,
            count=count,
            minimum=_minimum(job.metadata.annotations, given, found),
            replicas=1,
            each=count,
            stem=stored.name,
            pods=[(pod, rank_of(pod, count, job_label="")) for pod in pods],
            indexed=job.spec.completion_mode == "Indexed",
            of_job_set=False,
        ),
        job.spec.template,
        stored,
        found,
    )
    return _queued(stored, (pod_set,), found, finished=_is_finished(job.status))


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
    for i, job in enumerate(jobs):
        if (first := first_index.setdefault(job.name, i)) != i:
            taken = Field((*path, first))
            found.append(sentences.NAME_TAKEN.at((*path, i, "name"), name=job.name, first=taken))
        source = _replicated_job(job, (*path, i), stored.name, members, found)
        excess = list(too_many(source.count, pod_sets, (*path, i, "replicas")))
        found.extend(excess)
        source = replace(source, count=0) if excess else source
        read = _pod_set(source, job.template.spec.template, stored, found)
        if first == i:
            pod_sets.append(read)
    return _queued(stored, tuple(pod_sets), found, finished=_is_finished(job_set.status))


def _replicated_job(
    job: jobset_x_k8s_io_v1alpha2.ReplicatedJob,
    path: Path,
    job_set: str,
    pods: list[ReadPod],
    found: list[Problem],
) -> _Source:
    """How the pod set of a replicated job comes out of its JobSet."""
    replicas = 1 if job.replicas is None else job.replicas
    if replicas < 0:
        found.append(hub.NEGATIVE.at((*path, "replicas"), value=replicas))
    template = (*path, "template", "spec", "template")
    outer, right = (*path, "template", *_ANNOTATIONS), Field((*template, *_ANNOTATIONS))
    found.extend(misplaced(job.template.metadata.annotations, outer, right))
    each = _parallelism(job.template.spec, (*path, "template", "spec"), found) or 0
    count = max(replicas, 0) * each
    own = [pod for pod in pods if labels_of(pod).get(job_keys.REPLICATED_JOB) == job.name]
    return _Source(
        name=job.name,
        path=template,
        count=count,
        minimum=None,
        replicas=max(replicas, 1),
        each=each,
        stem=f"{job_set}-{job.name}",
        pods=[(pod, rank_of(pod, each)) for pod in own],
        indexed=True,
        of_job_set=True,
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """How a pod set comes out of its object."""

    name: str
    path: Path
    count: int
    minimum: int | None
    replicas: int
    each: int
    """How many pods each Job has."""
    stem: str
    """What the names of its pods begin with."""
    pods: list[tuple[ReadPod, int | None]]
    """Those that exist, with their ranks."""
    indexed: bool
    of_job_set: bool


def _pod_set(
    source: _Source, template: core_v1.PodTemplateSpec, stored: Stored[Any], found: list[Problem]
) -> QueuedPodSet:
    own: Mapping[str, str] = template.metadata.annotations
    # What the early design says on the Job or JobSet itself.
    outer = stored.content.metadata.annotations
    above = {key: outer[key] for key in keys.KEP_ANNOTATIONS if key in outer}
    path: Path = (*source.path, *_ANNOTATIONS)
    has_own = any(key in own for key in (*keys.KEP_ANNOTATIONS, *keys.POD_SET_ANNOTATIONS))
    if above and has_own and not source.of_job_set:
        key = next(iter(above))
        found.append(sentences.TOPOLOGY_TWICE.at((*_ANNOTATIONS, key)))
    if above and not has_own:
        own, path = above, _ANNOTATIONS
    request = from_annotations(own, path, source.count, found)
    names = job_pod_names(source.stem, source.count, source.each)
    if not source.of_job_set:
        names = [f"{source.stem}-{i}" for i in range(source.count)]
    read = read_template(template.spec, source.path)
    found.extend(read.problems)
    return QueuedPodSet(
        name=source.name,
        path=source.path,
        count=source.count,
        minimum=source.minimum,
        replicas=source.replicas,
        request=request,
        shape=read.shape,
        unsayable=read.unsayable,
        slots=fill_slots(names, source.pods),
        template=value_at(stored.written, source.path),
        index_label=job_keys.COMPLETION_INDEX if source.indexed else None,
        sub_index_label=job_keys.JOB_INDEX if source.of_job_set else None,
        priority_class=template.spec.priority_class_name,
    )


def _queued(
    stored: Stored[Any], pod_sets: tuple[QueuedPodSet, ...], found: list[Problem], *, finished: bool
) -> QueuedWorkload:
    labels = stored.content.metadata.labels
    return QueuedWorkload(
        stored=stored,
        object=stored.object,
        queue=labels.get(keys.QUEUE, ""),
        queue_path=QUEUE_LABEL,
        priority_class=labels.get(keys.PRIORITY_CLASS, ""),
        pod_sets=pod_sets,
        problems=(*found, *group_problems(pod_sets)),
        finished=finished,
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


def _is_finished(status: batch_v1.JobStatus) -> bool:
    ends = ("Complete", "Completed", "Failed", "SuccessCriteriaMet")
    return any(each.type in ends and each.status == "True" for each in status.conditions)
