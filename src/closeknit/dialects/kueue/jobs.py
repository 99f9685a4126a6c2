"""Jobs and JobSets as pod sets that are admitted together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from closeknit.apis import batch_v1, core_v1, job_keys, jobset_x_k8s_io_v1alpha2
from closeknit.apis import kueue_keys as keys
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.kueue.batches import (
    MOST_POD_SETS,
    MOST_PODS,
    Batch,
    Batched,
    group_problems,
    read_template,
    step_into,
    too_many,
)
from closeknit.dialects.kueue.seats import job_pods, labels, number, rank, seats
from closeknit.dialects.kueue.whole_numbers import whole
from closeknit.dialects.kueue.wishes import misplaced, read_wish
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import join, within
from closeknit.hub.problems import Problem, as_told, between, shown


def read_job(manifest: Stored[batch_v1.Job], pods: Iterable[ReadPod]) -> Batch:
    """A Job: one pod set, called ``main`` as Kueue does."""
    job = manifest.content
    found: list[Problem] = []
    found.extend(
        misplaced(job.metadata.annotations, "metadata.annotations", "spec.template.metadata.annotations")
    )
    given = _parallelism(job.spec, "spec", found)
    count = given or 0
    minimum = _minimum(job.metadata.annotations, given, found)
    indexed = job.spec.completion_mode == "Indexed"
    names = [f"{manifest.name}-{i}" for i in range(count)]
    pod_set = _batched(
        _Cut("main", "spec.template", count, minimum, 1, names, indexed=indexed, nested=False),
        job.spec.template,
        _inherited(job.metadata.annotations),
        manifest=manifest,
        pods=[(pod, number(pod, job_keys.COMPLETION_INDEX)) for pod in pods],
        found=found,
    )
    return _batch(manifest, (pod_set,), found, finished=_is_finished(job.status))


def read_job_set(manifest: Stored[jobset_x_k8s_io_v1alpha2.JobSet], pods: Iterable[ReadPod]) -> Batch:
    """A JobSet: a pod set for each replicated job, those without pods included."""
    job_set = manifest.content
    found: list[Problem] = []
    right = "the pod templates of spec.replicatedJobs"
    found.extend(misplaced(job_set.metadata.annotations, "metadata.annotations", right))
    if not job_set.spec.replicated_jobs:
        found.append(as_told("spec.replicatedJobs", "There is no replicated job. Give at least one."))
    if len(job_set.spec.replicated_jobs) > MOST_POD_SETS:
        given = len(job_set.spec.replicated_jobs)
        message = f"There are {given} replicated jobs. At most {MOST_POD_SETS} are queued."
        found.append(as_told("spec.replicatedJobs", message))
    inherited = _inherited(job_set.metadata.annotations)
    members = list(pods)
    pod_sets: list[Batched] = []
    first: dict[str, int] = {}
    for i, replicated in enumerate(job_set.spec.replicated_jobs):
        path = f"spec.replicatedJobs[{i}]"
        if (before := first.setdefault(replicated.name, i)) != i:
            message = (
                f"{shown(replicated.name)} is already the name of spec.replicatedJobs[{before}]. Rename one."
            )
            found.append(as_told(f"{path}.name", message))
        replicas = 1 if replicated.replicas is None else replicated.replicas
        if replicas < 0:
            found.append(as_told(f"{path}.replicas", f"{replicas} is negative. Write zero or more."))
        annotations = replicated.template.metadata.annotations
        right = f"{path}.template.spec.template.metadata.annotations"
        found.extend(misplaced(annotations, f"{path}.template.metadata.annotations", right))
        each = _parallelism(replicated.template.spec, f"{path}.template.spec", found) or 0
        count = max(replicas, 0) * each
        if (wrong := too_many(count, pod_sets)) is not None:
            found.append(as_told(f"{path}.replicas", wrong))
            count = 0
        stem = f"{manifest.name}-{replicated.name}"
        cut = _Cut(
            replicated.name,
            f"{path}.template.spec.template",
            count,
            None,
            max(replicas, 1),
            job_pods(stem, count, each),
            indexed=True,
            nested=True,
        )
        own = [
            (pod, rank(pod, each)) for pod in members if labels(pod).get(job_keys.REPLICATED_JOB) == cut.name
        ]
        template = replicated.template.spec.template
        read = _batched(cut, template, inherited, manifest=manifest, pods=own, found=found)
        if before == i:
            pod_sets.append(read)
    return _batch(manifest, tuple(pod_sets), found, finished=_is_finished(job_set.status))


@dataclass(frozen=True, slots=True)
class _Cut:
    """How a pod set comes out of its object."""

    name: str
    path: str
    count: int
    minimum: int | None
    replicas: int
    names: list[str]
    indexed: bool
    nested: bool


def _batched(
    cut: _Cut,
    template: core_v1.PodTemplateSpec,
    inherited: Mapping[str, str],
    *,
    manifest: Stored[Any],
    pods: list[tuple[ReadPod, int | None]],
    found: list[Problem],
) -> Batched:
    own = template.metadata.annotations
    has_own = any(key in own for key in (*keys.EARLY, *keys.TODAYS))
    annotations: Mapping[str, str] = own
    path = f"{cut.path}.metadata.annotations"
    if inherited and not has_own:
        annotations, path = inherited, "metadata.annotations"
    elif inherited and not cut.nested:
        (key, *_) = inherited
        message = "The pod template asks for a topology as well. Leave out one of the two."
        found.append(as_told(within("metadata.annotations", key), message))
    wish = read_wish(annotations, path, cut.count, found)
    read = read_template(template, manifest)
    found.extend(as_told(join(cut.path, problem.where), problem.message) for problem in read.problems)
    return Batched(
        name=cut.name,
        path=cut.path,
        count=cut.count,
        minimum=cut.minimum,
        replicas=cut.replicas,
        wish=wish,
        shape=read.shape,
        unsayable=tuple(
            as_told(join(cut.path, problem.where), problem.message) for problem in read.unsayable
        ),
        seats=seats(cut.names, pods),
        template=step_into(manifest.written, cut.path),
        index_label=job_keys.COMPLETION_INDEX if cut.indexed else None,
        sub_index_label=job_keys.JOB_INDEX if cut.nested else None,
        priority_class=template.spec.priority_class_name,
    )


def _batch(
    manifest: Stored[Any], pod_sets: tuple[Batched, ...], found: list[Problem], *, finished: bool
) -> Batch:
    marks = manifest.content.metadata.labels
    found.extend(group_problems(pod_sets))
    return Batch(
        manifest=manifest,
        object=manifest.object,
        queue=marks.get(keys.QUEUE, ""),
        queue_path=within("metadata.labels", keys.QUEUE),
        priority_class=marks.get(keys.PRIORITY_CLASS, ""),
        pod_sets=pod_sets,
        problems=tuple(found),
        finished=finished,
    )


def _inherited(annotations: Mapping[str, str]) -> dict[str, str]:
    """What the early design says on the Job or JobSet itself."""
    return {key: annotations[key] for key in keys.EARLY if key in annotations}


def _parallelism(spec: batch_v1.JobSpec, path: str, found: list[Problem]) -> int | None:
    """How many pods run side by side: never more than are left to complete. None where that cannot be."""
    possible = True
    for name, value in (("parallelism", spec.parallelism), ("completions", spec.completions)):
        if value is not None and not 0 <= value <= MOST_PODS:
            message = f"{value} is out of range. Allowed are 0 to {MOST_PODS}."
            found.append(as_told(f"{path}.{name}", message))
            possible = False
    if not possible:
        return None
    count = 1 if spec.parallelism is None else spec.parallelism
    return count if spec.completions is None else min(count, spec.completions)


def _minimum(annotations: Mapping[str, str], count: int | None, found: list[Problem]) -> int | None:
    written = annotations.get(keys.MIN_PARALLELISM)
    if written is None or count is None:
        return None
    pods = whole(written)
    if pods is not None and 1 <= pods < count:
        return pods
    message = f"{shown(written)} is not possible. {between(1, count - 1)}"
    if count < 2:
        message = (
            f"There {'is only one pod' if count else 'are no pods'}, so none can be missing. Leave it out."
        )
    found.append(as_told(within("metadata.annotations", keys.MIN_PARALLELISM), message))
    return None


def _is_finished(status: batch_v1.JobStatus) -> bool:
    ends = ("Complete", "Completed", "Failed", "SuccessCriteriaMet")
    return any(each.type in ends and each.status == "True" for each in status.conditions)
