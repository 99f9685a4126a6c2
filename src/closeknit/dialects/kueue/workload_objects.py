"""Workload objects that stand for themselves, because what they were made from is not at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.core.kinds import value_at
from closeknit.dialects.core.pods import MOST_PODS, ReadPod, read_template
from closeknit.dialects.kueue.owners import workload_owner
from closeknit.dialects.kueue.queued_workload import (
    MOST_POD_SETS,
    QueuedPodSet,
    QueuedWorkload,
    fill_slots,
    group_problems,
    labels_of,
    too_many,
)
from closeknit.dialects.kueue.topology_request import from_fields
from closeknit.dialects.store.objects import Stored
from closeknit.hub.copying import replace
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, Problem, Range
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kueue as sentences


def is_over(workload: wire.Workload) -> bool:
    """Whether it has finished, or is set not to run."""
    ended = any(each.type == "Finished" and each.status == "True" for each in workload.status.conditions)
    return ended or not workload.spec.active


def read_workload(stored: Stored[wire.Workload], pods: Iterable[ReadPod]) -> QueuedWorkload:
    """A Workload as it would be read from its owner."""
    spec = stored.content.spec
    found: list[Problem] = []
    path: Path = ("spec", "podSets")
    if not 1 <= len(spec.pod_sets) <= MOST_POD_SETS:
        given, allowed = len(spec.pod_sets), Range(1, MOST_POD_SETS)
        found.append(core.NUMBER_OF.at(path, given=given, what=" pod sets", allowed=allowed))
    first_index: dict[str, int] = {}
    members = list(pods)
    pod_sets: list[QueuedPodSet] = []
    for i, pod_set in enumerate(spec.pod_sets):
        if (first := first_index.setdefault(pod_set.name, i)) != i:
            taken = Field((*path, first))
            found.append(sentences.NAME_TAKEN.at((*path, i, "name"), name=pod_set.name, first=taken))
        wrong = list(_count_problems(pod_set, (*path, i)))
        wrong = wrong or list(too_many(pod_set.count, pod_sets, (*path, i, "count")))
        found.extend(wrong)
        own = [pod for pod in members if labels_of(pod).get(keys.POD_SET, pod_set.name) == pod_set.name]
        read = _pod_set(_without_pods(pod_set) if wrong else pod_set, (*path, i), stored, own, found)
        if first == i:
            pod_sets.append(read)
    if sum(each.min_count is not None for each in spec.pod_sets) > 1:
        found.append(sentences.ONE_MIN_COUNT.at(path))
    found.extend(group_problems(pod_sets))
    return QueuedWorkload(
        stored=stored,
        object=stored.object,
        queue=spec.queue_name,
        queue_path=("spec", "queueName"),
        priority_class=_priority_class(spec),
        pod_sets=tuple(pod_sets),
        problems=tuple(found),
        finished=is_over(stored.content),
        holder=workload_owner(stored).name,
        workload=stored.name,
        priority=spec.priority,
    )


def _without_pods(given: wire.PodSet) -> wire.PodSet:
    """A pod set whose numbers cannot be, so that the rest of it can be looked at."""
    asked = msgspec.structs.replace(given.topology_request, sub_group_count=None)
    return msgspec.structs.replace(given, count=0, min_count=None, topology_request=asked)


def _count_problems(given: wire.PodSet, path: Path) -> Iterator[Problem]:
    least = given.min_count
    if not 0 <= given.count <= MOST_PODS:
        allowed = Range(0, MOST_PODS)
        yield core.OUT_OF_RANGE.at((*path, "count"), value=given.count, allowed=allowed)
    elif least is not None and not 1 <= least <= max(given.count, 1):
        allowed = Range(1, max(given.count, 1))
        yield core.NOT_POSSIBLE.at((*path, "minCount"), value=least, allowed=allowed)
    jobs = given.topology_request.sub_group_count
    if jobs is not None and (jobs < 0 or (jobs and given.count % jobs)):
        where = (*path, "topologyRequest", "subGroupCount")
        yield sentences.UNEQUAL_JOBS.at(where, pods=given.count, jobs=jobs)


def _pod_set(
    given: wire.PodSet,
    path: Path,
    stored: Stored[wire.Workload],
    pods: list[ReadPod],
    found: list[Problem],
) -> QueuedPodSet:
    asked = given.topology_request
    template = (*path, "template")
    read = read_template(
        given.template.spec,
        template,
        namespace=stored.namespace,
        labels=given.template.metadata.labels,
    )
    found.extend(read.problems)
    jobs = asked.sub_group_count or 1
    stem = f"{workload_owner(stored).name}-{given.name}"
    index_label, job_label = asked.pod_index_label or "", asked.sub_group_index_label or ""
    request = from_fields(asked, (*path, "topologyRequest"), given.count, found)
    marks = (given.template.metadata.annotations, stored.content.metadata.annotations)
    early = next((each[keys.PREFER] for each in marks if each.get(keys.PREFER)), None)
    if early is not None and jobs > 1 and not request.names_levels:
        request = replace(request, preferred=early, early=True)
    return QueuedPodSet(
        name=given.name,
        path=template,
        count=given.count,
        minimum=given.min_count if given.min_count != given.count else None,
        replicas=jobs,
        request=request,
        shape=read.shape,
        slots=fill_slots(
            stem, given.count, given.count // jobs, pods, index_label=index_label, job_label=job_label
        ),
        template=value_at(stored.written, template),
        index_label=asked.pod_index_label,
        sub_index_label=asked.sub_group_index_label,
        priority_class=given.template.spec.priority_class_name,
    )


def _priority_class(spec: wire.WorkloadSpec) -> str:
    """The class of Kueue's own that it names; one of pods stands in its templates as well."""
    if spec.priority_class_ref.group == "kueue.x-k8s.io":
        return spec.priority_class_ref.name
    return spec.priority_class_name if spec.priority_class_source.startswith("kueue.x-k8s.io/") else ""
