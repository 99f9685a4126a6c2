"""Groups of plain pods, and single pods, that queue by themselves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from closeknit.apis import core_v1
from closeknit.apis import kueue_keys as keys
from closeknit.dialects.core.pods import ReadPod, Shape, Stage, by_rank
from closeknit.dialects.kueue.batches import MOST_PODS, Batch, Batched
from closeknit.dialects.kueue.seats import Seat, labels, seat
from closeknit.dialects.kueue.whole_numbers import whole
from closeknit.dialects.kueue.wishes import read_wish
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown
from closeknit.hub.workload import ObjectName


def read_pod_group(name: str, pods: list[ReadPod]) -> Batch:
    """Plain pods of one group, or a single pod that queues by itself; a pod set for each kind of pod.

    Pods of a group that are not there are a problem, unless it is admitted before they are, or some of it
    runs already; then they are taken to be like the first.
    """
    ordered = sorted(pods, key=by_rank)
    first = ordered[0].manifest
    found: list[Problem] = []
    marks, annotations = first.content.metadata.labels, first.content.metadata.annotations
    absent = 0
    found.extend(_lone_problems(marks, annotations))
    if keys.POD_GROUP in marks:
        total = _total(annotations, found)
        present = sum(pod.stage is not Stage.FAILED or not _is_retriable(pod) for pod in ordered)
        started = any(pod.stage in (Stage.RUNNING, Stage.LEAVING, Stage.SUCCEEDED) for pod in ordered)
        if present < total and (started or annotations.get(keys.POD_GROUP_FAST) == "true"):
            absent = total - present
        elif 0 < total != present:
            what = "Give the rest" if present < total else "Take some away"
            has, given = (
                f"{total} pod{'s' * (total != 1)}",
                f"{present} {'is' if present == 1 else 'are'} given",
            )
            message = f"The group has {has}, and {given}. {what}, or change the count."
            found.append(as_told(within("metadata.annotations", keys.POD_GROUP_COUNT), message))
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
                found.append(as_told(path, f"{message} All pods of a group agree."))
    kinds: dict[tuple[Shape, tuple[tuple[str, str], ...]], list[ReadPod]] = {}
    for pod in ordered:
        if pod.stage in (Stage.OPEN, Stage.RUNNING):
            kinds.setdefault((pod.shape, tuple(sorted(_asked(pod).items()))), []).append(pod)
    if absent and not kinds:
        kinds[ordered[0].shape, tuple(sorted(_asked(ordered[0]).items()))] = []
    pod_sets = tuple(
        _of_pods(
            "main" if len(kinds) == 1 else f"role-{number}",
            equal or ordered[:1],
            (*map(seat, equal), *_made_up(name, ordered, absent if number == 1 else 0)),
            shape,
            found,
        )
        for number, ((shape, _), equal) in enumerate(kinds.items(), start=1)
    )
    problems = (
        *found,
        *(as_told(f"Pod {pod.name}: {one.where}", one.message) for pod in ordered for one in pod.problems),
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


def _of_pods(
    name: str, pods: list[ReadPod], places: tuple[Seat, ...], shape: Shape, found: list[Problem]
) -> Batched:
    first = pods[0].manifest
    wish = read_wish(first.content.metadata.annotations, "metadata.annotations", len(places), found)
    return Batched(
        name=name,
        path="",
        count=len(places),
        minimum=None,
        replicas=1,
        wish=wish,
        shape=shape,
        unsayable=tuple(problem for pod in pods if pod.stage is Stage.OPEN for problem in pod.unsayable),
        seats=places,
        template={"spec": _spec(first.content)},
        index_label=first.content.metadata.annotations.get(keys.POD_GROUP_INDEX_LABEL),
        priority_class=first.content.spec.priority_class_name,
    )


def _made_up(name: str, pods: list[ReadPod], count: int) -> Iterator[Seat]:
    """Names for pods that are not there, none of which is taken."""
    taken = {pod.name for pod in pods}
    free = (each for i in itertools.count() if (each := f"{name}-{i}") not in taken)
    return (Seat(each) for each in itertools.islice(free, count))


def _lone_problems(marks: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[Problem]:
    """What is said of a group where there is none, and what cannot be said of one."""
    for key in (keys.POD_GROUP_COUNT, keys.POD_GROUP_FAST):
        if key in annotations and keys.POD_GROUP not in marks:
            message = f"{key} is given, but the group has no name. Name it, or leave that out."
            yield as_told(within("metadata.labels", keys.POD_GROUP), message)
    for key in (keys.POD_GROUP_FAST, keys.POD_GROUP_RETRIABLE):
        if (written := annotations.get(key, "true")) not in ("true", "false"):
            message = f'{shown(written)} is not a truth value. Write "true" or "false", or leave it out.'
            yield as_told(within("metadata.annotations", key), message)


def _is_retriable(pod: ReadPod) -> bool:
    return pod.manifest.content.metadata.annotations.get(keys.POD_GROUP_RETRIABLE) != "false"


def _spec(pod: core_v1.Pod) -> Mapping[str, Any]:
    """What placing the pod depends on; the pod itself exists, so the rest need not be told again."""
    spec: dict[str, Any] = msgspec.to_builtins(pod.spec)
    return {key: value for key, value in spec.items() if key not in ("nodeName", "schedulingGates")}


def _asked(pod: ReadPod) -> dict[str, str]:
    annotations = pod.manifest.content.metadata.annotations
    return {key: annotations[key] for key in (*keys.EARLY, *keys.TODAYS) if key in annotations}


def _total(annotations: Mapping[str, str], found: list[Problem]) -> int:
    written = annotations.get(keys.POD_GROUP_COUNT, "")
    pods = whole(written)
    if pods is not None and pods > MOST_PODS:
        message = f"{shown(written)} is out of range. Allowed are 1 to {MOST_PODS} pods."
        found.append(as_told(within("metadata.annotations", keys.POD_GROUP_COUNT), message))
        return 0
    if pods is not None and pods >= 1:
        return pods
    said = f"{shown(written)} is not a number of pods" if written else "The number of pods is missing"
    message = f"{said}. Write how many pods the group has, from 1 on, in quotes."
    found.append(as_told(within("metadata.annotations", keys.POD_GROUP_COUNT), message))
    return 0
