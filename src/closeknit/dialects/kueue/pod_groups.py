"""Groups of plain pods, and single pods, that queue by themselves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from closeknit.apis import core_v1
from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.wire import plain
from closeknit.dialects.core.pods import MOST_PODS, ReadPod, Shape, Stage, read_template
from closeknit.dialects.kueue.queued_workload import (
    QUEUE_LABEL,
    PodSlot,
    QueuedPodSet,
    QueuedWorkload,
    labels_of,
    queued_by_label,
    slot_of,
)
from closeknit.dialects.kueue.slices import whole_number
from closeknit.dialects.kueue.topology_request import from_annotations
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.wire.registry import is_name
from closeknit.hub.copying import replace
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.sentences import wire as wire_sentences

_ANNOTATIONS = ("metadata", "annotations")
_COUNT = (*_ANNOTATIONS, keys.POD_GROUP_COUNT)


def read_pod_group(
    name: str, pods: Sequence[ReadPod], workload: Stored[wire.Workload] | None = None
) -> QueuedWorkload:
    """Plain pods of one group, or a single pod that queues by itself; a pod set for each kind of pod.

    They come in the order of their names. Pods of a group that are not there are a problem, unless it is
    admitted before they are, or some of it runs already; then they are taken to be like the first. Pods that
    were let go select a domain each, so it is the label of their pod set that tells what they have in common;
    others are known by the templates of their Workload.
    """
    first = pods[0].stored
    found: list[Problem] = []
    absent = _absent(pods, found)
    found.extend(_disagreements(pods))
    given = workload.content.spec.pod_sets if workload is not None else []
    known = {
        each.name: read_template(
            each.template.spec, namespace=first.namespace, labels=each.template.metadata.labels
        ).shape
        for each in given
    }
    kinds: dict[tuple[str, Shape, tuple[tuple[str, str], ...]], list[ReadPod]] = {}
    for pod in sorted(pods, key=_number):
        if pod.stage in (Stage.OPEN, Stage.RUNNING):
            alike = [each for each, shape in known.items() if shape.asks_like(pod.shape)]
            label = labels_of(pod).get(keys.POD_SET, "")
            called = label if label in known else alike[0] if len(alike) == 1 else ""
            kinds.setdefault((called, known.get(called, pod.shape), _asked(pod)), []).append(pod)
    if absent and not kinds:
        kinds["", pods[0].shape, _asked(pods[0])] = []
    pod_sets = tuple(
        _pod_set(
            called or ("main" if len(kinds) == 1 else f"role-{number}"),
            equal or pods[:1],
            (*map(slot_of, equal), *_made_up(name, pods, absent if number == 1 else 0)),
            shape,
            found,
        )
        for number, ((called, shape, _), equal) in enumerate(kinds.items(), start=1)
    )
    found.extend(problem.of("Pod", pod.name) for pod in pods for problem in pod.problems)
    queued = queued_by_label(first, pod_sets, found, finished=not pod_sets)
    return replace(queued, object=replace(first.object, name=name))


def _absent(pods: Sequence[ReadPod], found: list[Problem]) -> int:
    """How many pods the group has beside these, and may have; what is wrong with its size is added."""
    labels, annotations = labels_of(pods[0]), _annotations(pods[0])
    found.extend(_lone_problems(labels, annotations))
    if keys.POD_GROUP not in labels:
        return 0
    total = _total(annotations, found)
    present = sum(
        pod.stage is not Stage.FAILED or _annotations(pod).get(keys.POD_GROUP_RETRIABLE) == "false"
        for pod in pods
    )
    started = any(pod.stage in (Stage.RUNNING, Stage.LEAVING, Stage.SUCCEEDED) for pod in pods)
    if present < total and (started or annotations.get(keys.POD_GROUP_FAST) == "true"):
        return total - present
    if 0 < total != present:
        what = "Give the rest" if present < total else "Take some away"
        has, are = f"{total} pod{'s' * (total != 1)}", f"{present} {'is' if present == 1 else 'are'}"
        found.append(sentences.GROUP_INCOMPLETE.at(_COUNT, total=has, present=are, what=what))
    return 0


def _disagreements(pods: Sequence[ReadPod]) -> Iterator[Problem]:
    """Where a pod names another queue or another size of the group than the first."""
    first = pods[0]
    for pod in pods[1:]:
        for path, mine, theirs in (
            (QUEUE_LABEL, labels_of(first), labels_of(pod)),
            (_COUNT, _annotations(first), _annotations(pod)),
        ):
            own, common = theirs.get(path[-1], ""), mine.get(path[-1], "")
            if mine.get(path[-1]) != theirs.get(path[-1]):
                problem = sentences.GROUP_DIFFERS.at(path, own=own, common=common, pod=first.name)
                yield problem.of("Pod", pod.name)


def _pod_set(
    name: str, pods: Sequence[ReadPod], slots: tuple[PodSlot, ...], shape: Shape, found: list[Problem]
) -> QueuedPodSet:
    annotations = _annotations(pods[0])
    return QueuedPodSet(
        name=name,
        path=(),
        count=len(slots),
        minimum=None,
        replicas=1,
        request=from_annotations(annotations, _ANNOTATIONS, len(slots), found),
        shape=shape,
        slots=slots,
        template={"spec": _spec(pods[0].stored.content)},
        index_label=_index_label(pods[0]),
        priority_class=pods[0].stored.content.spec.priority_class_name,
    )


def _index_label(pod: ReadPod) -> str | None:
    """The label that holds a pod's number: one that it names, or Kueue's own where it has that."""
    own = keys.POD_GROUP_INDEX in labels_of(pod) or keys.POD_GROUP_INDEX in _annotations(pod)
    return _annotations(pod).get(keys.POD_GROUP_INDEX_LABEL) or (keys.POD_GROUP_INDEX if own else None)


def _number(pod: ReadPod) -> int:
    """The number of a pod in its group; those without one come last, in the order of their names."""
    key = _index_label(pod) or ""
    written = labels_of(pod).get(key) or _annotations(pod).get(key) or ""
    number = whole_number(written)
    return MOST_PODS if number is None else number


def _made_up(name: str, pods: Sequence[ReadPod], count: int) -> Iterator[PodSlot]:
    """Names for pods that are not there, none of which is taken."""
    taken = {pod.name for pod in pods}
    free = (each for i in itertools.count() if (each := f"{name}-{i}") not in taken)
    return (PodSlot(each) for each in itertools.islice(free, count))


def _lone_problems(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[Problem]:
    """Fields of a group where there is none, and values that they cannot have."""
    path = ("metadata", "labels", keys.POD_GROUP)
    if not is_name(name := labels.get(keys.POD_GROUP, "x")):
        # The Workload of the group gets its name.
        yield wire_sentences.INVALID_NAME.at(path, name=name)
    for key in (keys.POD_GROUP_COUNT, keys.POD_GROUP_FAST):
        if key in annotations and keys.POD_GROUP not in labels:
            yield sentences.GROUP_UNNAMED.at(path, field=key)
    for key in (keys.POD_GROUP_FAST, keys.POD_GROUP_RETRIABLE):
        if (written := annotations.get(key, "true")) not in ("true", "false"):
            yield sentences.NOT_TRUE_OR_FALSE.at((*_ANNOTATIONS, key), written=written)


def _total(annotations: Mapping[str, str], found: list[Problem]) -> int:
    written = annotations.get(keys.POD_GROUP_COUNT, "")
    pods = whole_number(written)
    if pods is not None and 1 <= pods <= MOST_PODS:
        return pods
    if pods is not None and pods > MOST_PODS:
        found.append(sentences.PODS_OUT_OF_RANGE.at(_COUNT, number=written, most=MOST_PODS))
    elif written:
        found.append(sentences.GROUP_COUNT.at(_COUNT, written=written))
    else:
        found.append(sentences.GROUP_COUNT_MISSING.at(_COUNT))
    return 0


def _annotations(pod: ReadPod) -> Mapping[str, str]:
    return pod.stored.content.metadata.annotations


def _asked(pod: ReadPod) -> tuple[tuple[str, str], ...]:
    """What a pod asks of the topology; pods of one pod set ask for the same."""
    annotations = _annotations(pod)
    asked = {
        key: annotations[key]
        for key in (*keys.KEP_ANNOTATIONS, *keys.POD_SET_ANNOTATIONS)
        if key in annotations
    }
    return tuple(sorted(asked.items()))


def _spec(pod: core_v1.Pod) -> Mapping[str, Any]:
    """What placing the pod depends on; the pod itself exists, so the rest need not be written again."""
    spec: dict[str, Any] = plain(pod.spec)
    return {key: value for key, value in spec.items() if key not in ("nodeName", "schedulingGates")}
