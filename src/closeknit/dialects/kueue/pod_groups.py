"""Groups of plain pods, and single pods, that queue by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from closeknit.apis import core_v1
from closeknit.dialects.kueue import keys
from closeknit.dialects.kueue.batches import MOST_PODS, Batch, Batched
from closeknit.dialects.kueue.seats import labels, seat
from closeknit.dialects.kueue.wishes import read_wish
from closeknit.dialects.paths import within
from closeknit.dialects.pods import ReadPod, Shape, Stage, by_rank
from closeknit.hub.problems import Problem, shown
from closeknit.hub.workload import ObjectName


def read_pod_group(name: str, pods: list[ReadPod]) -> Batch:
    """Plain pods of one group, or a single pod that queues by itself; a pod set for each kind of pod."""
    ordered = sorted(pods, key=by_rank)
    first = ordered[0].manifest
    found: list[Problem] = []
    marks, annotations = first.content.metadata.labels, first.content.metadata.annotations
    total = len(ordered)
    if keys.POD_GROUP in marks:
        total = _total(annotations, found)
        present = sum(pod.stage is not Stage.FAILED for pod in ordered)
        if 0 < total != present:
            what = "Give the rest" if present < total else "Take some away"
            message = f"The group has {total} pods, and {present} are given. {what}, or change the count."
            found.append(Problem(within("metadata.annotations", keys.POD_GROUP_COUNT), message))
    for pod in ordered[1:]:
        for key, where, mine, theirs in (
            (keys.QUEUE, "metadata.labels", marks, labels(pod)),
            (
                keys.POD_GROUP_COUNT,
                "metadata.annotations",
                annotations,
                pod.manifest.content.metadata.annotations,
            ),
        ):
            if mine.get(key) != theirs.get(key):
                own, common = shown(theirs.get(key, "")), shown(mine.get(key, ""))
                message = f"{own} differs from {common} of pod {first.name}."
                path = f"Pod {pod.name}: {within(where, key)}"
                found.append(Problem(path, f"{message} All pods of a group agree."))
    kinds: dict[tuple[Shape, tuple[tuple[str, str], ...]], list[ReadPod]] = {}
    for pod in ordered:
        if pod.stage in (Stage.OPEN, Stage.RUNNING):
            kinds.setdefault((pod.shape, tuple(sorted(_asked(pod).items()))), []).append(pod)
    pod_sets = tuple(
        _of_pods("main" if len(kinds) == 1 else f"role-{number}", equal, shape, found)
        for number, ((shape, _), equal) in enumerate(kinds.items(), start=1)
    )
    problems = (
        *found,
        *(Problem(f"Pod {pod.name}: {one.path}", one.message) for pod in ordered for one in pod.problems),
    )
    return Batch(
        manifest=first,
        object=ObjectName("v1", "Pod", first.namespace, name),
        queue=marks.get(keys.QUEUE, ""),
        queue_path=within("metadata.labels", keys.QUEUE),
        priority_class=marks.get(keys.PRIORITY_CLASS, ""),
        pod_sets=pod_sets,
        problems=problems,
        finished=not pod_sets,
    )


def _of_pods(name: str, pods: list[ReadPod], shape: Shape, found: list[Problem]) -> Batched:
    first = pods[0].manifest
    wish = read_wish(first.content.metadata.annotations, "metadata.annotations", len(pods), found)
    return Batched(
        name=name,
        path="",
        count=len(pods),
        minimum=None,
        replicas=1,
        wish=wish,
        shape=shape,
        unsayable=tuple(problem for pod in pods if pod.stage is Stage.OPEN for problem in pod.unsayable),
        seats=tuple(seat(pod) for pod in pods),
        template={"spec": _spec(first.content)},
        index_label=first.content.metadata.annotations.get(keys.POD_GROUP_INDEX_LABEL),
        priority_class=first.content.spec.priority_class_name,
    )


def _spec(pod: core_v1.Pod) -> Mapping[str, Any]:
    """What placing the pod depends on; the pod itself exists, so the rest need not be told again."""
    spec: dict[str, Any] = msgspec.to_builtins(pod.spec)
    return {key: value for key, value in spec.items() if key not in ("nodeName", "schedulingGates")}


def _asked(pod: ReadPod) -> dict[str, str]:
    annotations = pod.manifest.content.metadata.annotations
    return {key: annotations[key] for key in (*keys.EARLY, *keys.TODAYS) if key in annotations}


def _total(annotations: Mapping[str, str], found: list[Problem]) -> int:
    written = annotations.get(keys.POD_GROUP_COUNT, "")
    if written.isdecimal() and 1 <= int(written[:9]) <= MOST_PODS:
        return int(written)
    said = f"{shown(written)} is not a number of pods" if written else "The number of pods is missing"
    message = f"{said}. Write how many pods the group has, from 1 on, in quotes."
    found.append(Problem(within("metadata.annotations", keys.POD_GROUP_COUNT), message))
    return 0
