"""Workload objects that stand for themselves, because what they were made from is not at hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import msgspec

from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
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
from closeknit.dialects.kueue.ownership import owner_of
from closeknit.dialects.kueue.seats import job_pods, labels, number, seats
from closeknit.dialects.kueue.wishes import read_wish
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import join
from closeknit.hub.problems import Problem, as_told, between, shown

_FIELDS = {
    keys.SLICE_LAYERS: "podsetSliceRequiredTopologyConstraints",
    keys.SLICE_LEVEL: "podSetSliceRequiredTopology",
    keys.SLICE_SIZE: "podSetSliceSize",
    keys.UNCONSTRAINED: "unconstrained",
    keys.PREFERRED: "preferred",
    keys.REQUIRED: "required",
    keys.GROUP: "podSetGroupName",
}
"""The fields of a topology request for what annotations say; no key stands before one that begins with it."""


def is_over(workload: wire.Workload) -> bool:
    """Whether it has finished, or has been told not to run."""
    ended = any(each.type == "Finished" and each.status == "True" for each in workload.status.conditions)
    return ended or not workload.spec.active


def read_workload(manifest: Stored[wire.Workload], pods: Iterable[ReadPod]) -> Batch:
    """A Workload as it would be read from its owner."""
    spec = manifest.content.spec
    found: list[Problem] = []
    if not 1 <= len(spec.pod_sets) <= MOST_POD_SETS:
        message = f"There are {len(spec.pod_sets)} pod sets. Allowed are 1 to {MOST_POD_SETS}."
        found.append(as_told("spec.podSets", message))
    first: dict[str, int] = {}
    members = list(pods)
    pod_sets: list[Batched] = []
    for i, given in enumerate(spec.pod_sets):
        path = f"spec.podSets[{i}]"
        if (before := first.setdefault(given.name, i)) != i:
            message = f"{shown(given.name)} is already the name of spec.podSets[{before}]. Rename one."
            found.append(as_told(f"{path}.name", message))
        wrong = list(_count_problems(given, path))
        if not wrong and (excess := too_many(given.count, pod_sets)) is not None:
            wrong.append(as_told(f"{path}.count", excess))
        found.extend(wrong)
        own = [pod for pod in members if labels(pod).get(keys.POD_SET, given.name) == given.name]
        read = _pod_set(_without_pods(given) if wrong else given, path, manifest, own, found)
        if before == i:
            pod_sets.append(read)
    if sum(given.min_count is not None for given in spec.pod_sets) > 1:
        message = "Only one pod set can have minCount. Leave out the others."
        found.append(as_told("spec.podSets", message))
    found.extend(group_problems(tuple(pod_sets)))
    return Batch(
        manifest=manifest,
        object=manifest.object,
        queue=spec.queue_name,
        queue_path="spec.queueName",
        priority_class=_priority_class(spec),
        pod_sets=tuple(pod_sets),
        problems=tuple(found),
        finished=is_over(manifest.content),
        holder=owner_of(manifest)[1],
        called=manifest.name,
        priority=spec.priority,
    )


def in_fields(problem: Problem) -> Problem:
    """A problem in the words of a Workload, where it is told in those of annotations."""
    path, message = problem.where, problem.message
    for key, field in _FIELDS.items():
        path = path.replace(f'["{key}"]', f".{field}")
        message = message.replace(key, field)
    return as_told(path, message)


def _without_pods(given: wire.PodSet) -> wire.PodSet:
    """A pod set whose numbers cannot be, so that the rest of it can be looked at."""
    asked = msgspec.structs.replace(given.topology_request, sub_group_count=None)
    return msgspec.structs.replace(given, count=0, min_count=None, topology_request=asked)


def _count_problems(given: wire.PodSet, path: str) -> Iterator[Problem]:
    if not 0 <= given.count <= MOST_PODS:
        message = f"{given.count} is out of range. Allowed are 0 to {MOST_PODS}."
        yield as_told(f"{path}.count", message)
    elif given.min_count is not None and not 1 <= given.min_count <= max(given.count, 1):
        message = f"{given.min_count} is not possible. {between(1, max(given.count, 1))}"
        yield as_told(f"{path}.minCount", message)
    jobs = given.topology_request.sub_group_count
    if jobs is not None and (jobs < 0 or (jobs and given.count % jobs)):
        message = (
            f"{given.count} pods cannot be those of {jobs} equal Jobs. Write a number that divides them."
        )
        yield as_told(f"{path}.topologyRequest.subGroupCount", message)


def _pod_set(
    given: wire.PodSet,
    path: str,
    manifest: Stored[wire.Workload],
    pods: list[ReadPod],
    found: list[Problem],
) -> Batched:
    asked = given.topology_request
    read = read_template(given.template, manifest)
    where = f"{path}.template"
    found.extend(as_told(join(where, problem.where), problem.message) for problem in read.problems)
    jobs = asked.sub_group_count or 1
    each = given.count // jobs
    _, owner = owner_of(manifest)
    names = [f"{owner}-{given.name}-{i}" for i in range(given.count)]
    if asked.sub_group_index_label:
        names = job_pods(f"{owner}-{given.name}", given.count, each)
    return Batched(
        name=given.name,
        path=where,
        count=given.count,
        minimum=given.min_count if given.min_count != given.count else None,
        replicas=jobs,
        wish=read_wish(_annotations(asked), f"{path}.topologyRequest", given.count, found),
        shape=read.shape,
        unsayable=tuple(as_told(join(where, problem.where), problem.message) for problem in read.unsayable),
        seats=seats(names, [(pod, _rank(pod, asked, each)) for pod in pods]),
        template=step_into(manifest.written, where),
        index_label=asked.pod_index_label,
        sub_index_label=asked.sub_group_index_label,
        priority_class=given.template.spec.priority_class_name,
    )


def _annotations(asked: wire.PodSetTopologyRequest) -> dict[str, str]:
    """The annotations that ask for the same."""
    said = {
        keys.REQUIRED: asked.required,
        keys.PREFERRED: asked.preferred,
        keys.UNCONSTRAINED: "true" if asked.unconstrained else None,
        keys.SLICE_LEVEL: asked.pod_set_slice_required_topology,
        keys.SLICE_SIZE: str(asked.pod_set_slice_size) if asked.pod_set_slice_size is not None else None,
        keys.GROUP: asked.pod_set_group_name,
    }
    if layers := asked.podset_slice_required_topology_constraints:
        said[keys.SLICE_LAYERS] = json.dumps([{"topology": one.topology, "size": one.size} for one in layers])
    return {key: value for key, value in said.items() if value is not None}


def _rank(pod: ReadPod, asked: wire.PodSetTopologyRequest, each: int) -> int | None:
    index = number(pod, asked.pod_index_label) if asked.pod_index_label else None
    job = number(pod, asked.sub_group_index_label) if asked.sub_group_index_label else 0
    return None if index is None or job is None or index >= each else job * each + index


def _priority_class(spec: wire.WorkloadSpec) -> str:
    """The class of Kueue's own that it names; one of pods stands in its templates as well."""
    if spec.priority_class_ref.group == "kueue.x-k8s.io":
        return spec.priority_class_ref.name
    return spec.priority_class_name if spec.priority_class_source.startswith("kueue.x-k8s.io/") else ""
