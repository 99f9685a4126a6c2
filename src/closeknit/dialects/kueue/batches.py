"""Jobs and JobSets as pod sets that are admitted together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from closeknit.apis import batch_v1, core_v1, jobset_x_k8s_io_v1alpha2
from closeknit.dialects.kueue import keys
from closeknit.dialects.kueue.seats import Seat, labels, number, rank, seats
from closeknit.dialects.kueue.wishes import Wish, misplaced, read_wish
from closeknit.dialects.manifests import Manifest
from closeknit.dialects.paths import join, within
from closeknit.dialects.pods import ReadPod, Shape, read_pod
from closeknit.hub.problems import Problem, shown
from closeknit.hub.workload import ObjectName

MOST_PODS = 150_000
"""How many pods one workload may have: as many as Kubernetes supports in a cluster."""

MOST_POD_SETS = 18


@dataclass(frozen=True, slots=True)
class Batched:
    """Equal pods that are admitted together."""

    name: str
    path: str
    """The pod template, as seen from the top of the object."""
    count: int
    minimum: int | None
    replicas: int
    """Jobs of a replicated job; each has ``count / replicas`` of the pods."""
    wish: Wish
    shape: Shape
    unsayable: tuple[Problem, ...]
    seats: tuple[Seat, ...]
    template: Mapping[str, Any] = field(default_factory=dict)
    """As written."""
    index_label: str | None = None
    sub_index_label: str | None = None
    priority_class: str = ""


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a workload was admitted to."""

    flavors: Mapping[str, Mapping[str, str]]
    """By pod set, the flavor of each resource."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Something that queues: its pod sets, and where it says what queue it is for."""

    manifest: Manifest[Any]
    object: ObjectName
    queue: str
    queue_path: str
    priority_class: str
    """Of WorkloadPriorityClass; empty where it names none."""
    pod_sets: tuple[Batched, ...]
    problems: tuple[Problem, ...]
    finished: bool = False
    holder: str = ""
    """The name under which it is booked; empty for that of the object."""
    called: str = ""
    """The name of its Workload object, if there is one."""
    priority: int | None = None
    """Where it is given as a number."""
    admitted: Admitted | None = None


def is_kueues(metadata: Any, *templates: Any) -> bool:
    """Whether a Job or JobSet speaks to Kueue: it names a queue, or asks for a topology in Kueue's words."""
    if keys.QUEUE in metadata.labels:
        return True
    asked = (*keys.EARLY, *keys.TODAYS)
    return any(key in each.annotations for each in (metadata, *templates) for key in asked)


def read_job(manifest: Manifest[batch_v1.Job], pods: Iterable[ReadPod]) -> Batch:
    """A Job: one pod set, called ``main`` as Kueue does."""
    job = manifest.content
    found: list[Problem] = []
    found.extend(
        misplaced(job.metadata.annotations, "metadata.annotations", "spec.template.metadata.annotations")
    )
    count = _parallelism(job.spec, "spec", found)
    minimum = _minimum(job.metadata.annotations, count, found)
    indexed = job.spec.completion_mode == "Indexed"
    names = [f"{manifest.name}-{i}" for i in range(count)]
    pod_set = _batched(
        _Cut("main", "spec.template", count, minimum, 1, names, indexed=indexed, nested=False),
        job.spec.template,
        _inherited(job.metadata.annotations),
        manifest=manifest,
        pods=[(pod, number(pod, keys.COMPLETION_INDEX)) for pod in pods],
        found=found,
    )
    return _batch(manifest, (pod_set,), found, finished=_is_finished(job.status))


def read_job_set(manifest: Manifest[jobset_x_k8s_io_v1alpha2.JobSet], pods: Iterable[ReadPod]) -> Batch:
    """A JobSet: a pod set for each replicated job, those without pods included."""
    job_set = manifest.content
    found: list[Problem] = []
    right = "the pod templates of spec.replicatedJobs"
    found.extend(misplaced(job_set.metadata.annotations, "metadata.annotations", right))
    if not job_set.spec.replicated_jobs:
        found.append(Problem("spec.replicatedJobs", "There is no replicated job. Give at least one."))
    if len(job_set.spec.replicated_jobs) > MOST_POD_SETS:
        given = len(job_set.spec.replicated_jobs)
        message = f"There are {given} replicated jobs. At most {MOST_POD_SETS} are queued."
        found.append(Problem("spec.replicatedJobs", message))
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
            found.append(Problem(f"{path}.name", message))
            continue
        replicas = 1 if replicated.replicas is None else replicated.replicas
        if replicas < 0:
            found.append(Problem(f"{path}.replicas", f"{replicas} is negative. Write zero or more."))
        annotations = replicated.template.metadata.annotations
        right = f"{path}.template.spec.template.metadata.annotations"
        found.extend(misplaced(annotations, f"{path}.template.metadata.annotations", right))
        each = _parallelism(replicated.template.spec, f"{path}.template.spec", found)
        count = max(replicas, 0) * each
        if count > MOST_PODS:
            message = f"These are {count} pods. At most {MOST_PODS} can be asked for."
            found.append(Problem(f"{path}.replicas", message))
            continue
        stem = f"{manifest.name}-{replicated.name}"
        cut = _Cut(
            replicated.name,
            f"{path}.template.spec.template",
            count,
            None,
            max(replicas, 1),
            [f"{stem}-{job}-{pod}" for job in range(replicas) for pod in range(each)],
            indexed=True,
            nested=True,
        )
        own = [(pod, rank(pod, each)) for pod in members if labels(pod).get(keys.REPLICATED_JOB) == cut.name]
        template = replicated.template.spec.template
        pod_sets.append(_batched(cut, template, inherited, manifest=manifest, pods=own, found=found))
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
    manifest: Manifest[Any],
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
        found.append(Problem(within("metadata.annotations", key), message))
    wish = read_wish(annotations, path, cut.count, found)
    read = read_template(template, manifest)
    found.extend(Problem(join(cut.path, problem.path), problem.message) for problem in read.problems)
    return Batched(
        name=cut.name,
        path=cut.path,
        count=cut.count,
        minimum=cut.minimum,
        replicas=cut.replicas,
        wish=wish,
        shape=read.shape,
        unsayable=tuple(Problem(join(cut.path, problem.path), problem.message) for problem in read.unsayable),
        seats=seats(cut.names, pods),
        template=step_into(manifest.written, cut.path),
        index_label=keys.COMPLETION_INDEX if cut.indexed else None,
        sub_index_label=keys.JOB_INDEX if cut.nested else None,
        priority_class=template.spec.priority_class_name,
    )


def _batch(
    manifest: Manifest[Any], pod_sets: tuple[Batched, ...], found: list[Problem], *, finished: bool
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


def group_problems(pod_sets: tuple[Batched, ...]) -> Iterator[Problem]:
    """A group is one leader and its workers, and both ask for the same."""
    groups: dict[str, list[Batched]] = {}
    for pod_set in pod_sets:
        if pod_set.wish.group:
            groups.setdefault(pod_set.wish.group, []).append(pod_set)
    for name, members in groups.items():
        where = [within(member.wish.path, keys.GROUP) for member in members]
        if len(members) != 2:
            message = f"Group {shown(name)} has {len(members)} pod sets. A group has exactly two."
            yield from (Problem(path, message) for path in where)
            continue
        if all(member.count != 1 for member in members):
            message = f"No pod set of group {shown(name)} has one pod. One of the two is the leader."
            yield Problem(where[1], message)
        first, second = (member.wish for member in members)
        if (first.required, first.preferred) != (second.required, second.preferred):
            message = f"Both pod sets of group {shown(name)} must require or prefer the same level."
            yield Problem(where[1], message)


def _inherited(annotations: Mapping[str, str]) -> dict[str, str]:
    """What the early design says on the Job or JobSet itself."""
    return {key: annotations[key] for key in keys.EARLY if key in annotations}


def _parallelism(spec: batch_v1.JobSpec, path: str, found: list[Problem]) -> int:
    """How many pods run side by side: never more than are left to complete."""
    for name, value in (("parallelism", spec.parallelism), ("completions", spec.completions)):
        if value is not None and not 0 <= value <= MOST_PODS:
            message = f"{value} is out of range. Allowed are 0 to {MOST_PODS}."
            found.append(Problem(f"{path}.{name}", message))
            return 0
    count = 1 if spec.parallelism is None else spec.parallelism
    return count if spec.completions is None else min(count, spec.completions)


def _minimum(annotations: Mapping[str, str], count: int, found: list[Problem]) -> int | None:
    written = annotations.get(keys.MIN_PARALLELISM)
    if written is None:
        return None
    if not written.isdecimal() or not 1 <= int(written[:9]) < max(count, 1):
        message = f"{shown(written)} is not possible. Allowed are 1 to {max(count - 1, 1)}."
        found.append(Problem(within("metadata.annotations", keys.MIN_PARALLELISM), message))
        return None
    return int(written)


def read_template(template: core_v1.PodTemplateSpec, manifest: Manifest[Any]) -> ReadPod:
    """What each pod of a template asks for."""
    pod = core_v1.Pod(api_version="v1", kind="Pod", metadata=template.metadata, spec=template.spec)
    return read_pod(Manifest(manifest.source, manifest.document, "", manifest.object, pod))


def _is_finished(status: batch_v1.JobStatus) -> bool:
    ends = ("Complete", "Completed", "Failed", "SuccessCriteriaMet")
    return any(each.type in ends and each.status == "True" for each in status.conditions)


def step_into(written: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """What stands at a path of names and places in lists."""
    value: Any = written
    for step in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(value, list):
            value = value[int(step)] if int(step) < len(value) else {}
        else:
            value = value.get(step, {}) if isinstance(value, Mapping) else {}
    return value if isinstance(value, Mapping) else {}
