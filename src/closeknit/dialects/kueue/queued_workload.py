"""What queues, whatever it was read from: pod sets that are admitted together, and their pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from closeknit.apis import kueue_keys as keys
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import MOST_PODS, ReadPod, Shape, Stage, by_rank
from closeknit.dialects.kueue.topology_request import TopologyRequest
from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.workload import ObjectName

MOST_POD_SETS = 18
QUEUE_LABEL = ("metadata", "labels", keys.QUEUE)


@dataclass(frozen=True, slots=True)
class PodSlot:
    """One pod of a pod set: running on a node, or to be placed under a name."""

    name: str
    node: str = ""
    held: bool = False
    """Whether the node is kept for a pod that is not there yet."""
    pin: tuple[tuple[str, str], ...] = ()
    """Labels that its node must have: those of the domain that is kept for it, or that the pod selects."""


def fill_slots(
    stem: str, count: int, each: int, pods: Iterable[ReadPod], *, index_label: str, job_label: str
) -> tuple[PodSlot, ...]:
    """The slots of ``count`` pods, of which each Job has so many; one Job where no label tells Jobs apart.

    Pods get their slots by rank; those without one take what is left, running ones first. There may be any
    number of Jobs without pods, so it is the pods that are counted.
    """
    names = [f"{stem}-{i // each}-{i % each}" if job_label else f"{stem}-{i}" for i in range(count)]
    slots: list[PodSlot | None] = [None] * len(names)
    unranked: list[ReadPod] = []
    present = (pod for pod in pods if pod.stage in (Stage.RUNNING, Stage.OPEN))
    for pod in sorted(present, key=lambda pod: (pod.stage is Stage.OPEN, by_rank(pod))):
        rank = _rank(pod, each, index_label, job_label)
        if rank is not None and rank < len(slots) and slots[rank] is None:
            slots[rank] = slot_of(pod)
        else:
            unranked.append(pod)
    left = iter(unranked)
    for i, name in enumerate(names):
        if slots[i] is None:
            following = next(left, None)
            slots[i] = slot_of(following) if following is not None else PodSlot(name)
    return tuple(slot for slot in slots if slot is not None)


def slot_of(pod: ReadPod) -> PodSlot:
    """The slot of a pod that exists; one that waits keeps to its own selector, which may name a domain."""
    if pod.stage is Stage.RUNNING:
        return PodSlot(pod.name, pod.node)
    return PodSlot(pod.name, pin=pod.shape.filter.selector)


def labels_of(pod: ReadPod) -> Mapping[str, str]:
    """The labels of a pod."""
    return pod.stored.content.metadata.labels


def _index(pod: ReadPod, key: str) -> int | None:
    """The index that a pod carries as a label or annotation."""
    metadata = pod.stored.content.metadata
    written = metadata.labels.get(key) or metadata.annotations.get(key) or ""
    return int(written) if written.isdecimal() and len(written) < 9 else None


def _rank(pod: ReadPod, each: int, index_label: str, job_label: str) -> int | None:
    """The rank of a pod in its pod set, which has Jobs of so many pods each."""
    index = _index(pod, index_label) if index_label else None
    job = _index(pod, job_label) if job_label else 0
    return None if index is None or job is None or index >= each else job * each + index


@dataclass(frozen=True, slots=True)
class QueuedPodSet:
    """Equal pods that are admitted together."""

    name: str
    path: Path
    """The pod template, as seen from the top of the object."""
    count: int
    minimum: int | None
    replicas: int
    """Jobs of a replicated job; each has ``count / replicas`` of the pods."""
    request: TopologyRequest
    shape: Shape
    slots: tuple[PodSlot, ...]
    template: Mapping[str, Any] = field(default_factory=dict)
    """As written."""
    index_label: str | None = None
    sub_index_label: str | None = None
    priority_class: str = ""

    @property
    def share(self) -> str:
        """Pod sets that give the same here share a flavor and a domain; no group's name has a line break."""
        return self.request.group or f"\n{self.name}"


@dataclass(frozen=True, slots=True)
class QueuedWorkload:
    """Something that queues: its pod sets, and where it says what queue it is for."""

    stored: Stored[Any]
    """The object that it was read from; of a group of pods, the first."""
    object: ObjectName
    queue: str
    queue_path: Path
    priority_class: str
    """Of WorkloadPriorityClass; empty where it names none."""
    pod_sets: tuple[QueuedPodSet, ...]
    problems: tuple[Problem, ...]
    finished: bool = False
    holder: str = ""
    """The name under which it is booked; empty for that of the object."""
    workload: str = ""
    """The name of its Workload object, if there is one."""
    priority: int | None = None
    """Where it is given as a number."""
    flavors: Mapping[str, Mapping[str, str]] | None = None
    """Where it is admitted: by pod set, the flavor of each resource."""
    grown_from: Mapping[str, Mapping[str, str]] | None = None
    """Where a smaller slice of it is admitted already: by pod set, the flavor of each resource of that."""
    avoided: frozenset[str] = frozenset()
    """Nodes on which it cannot go on, and gets no new place."""

    @property
    def name(self) -> str:
        """The name of its request."""
        return workload_name(self.object.namespace, self.holder or self.object.name)

    @property
    def key(self) -> Key:
        """The Job, JobSet or Workload, or the group of pods, that queues."""
        return self.object.key


def queued_by_label(
    stored: Stored[Any],
    pod_sets: Iterable[QueuedPodSet],
    found: Iterable[Problem],
    *,
    finished: bool,
    labels: Mapping[str, str] | None = None,
) -> QueuedWorkload:
    """Something that says by its labels where it queues: its own, unless others are given."""
    labels = stored.content.metadata.labels if labels is None else labels
    return QueuedWorkload(
        stored=stored,
        object=stored.object,
        queue=labels.get(keys.QUEUE, ""),
        queue_path=QUEUE_LABEL,
        priority_class=labels.get(keys.PRIORITY_CLASS, ""),
        pod_sets=tuple(pod_sets),
        problems=tuple(found),
        finished=finished,
    )


def too_many(count: int, before: Iterable[QueuedPodSet], path: Path) -> Iterator[Problem]:
    """Whether so many more pods in a workload are too many."""
    sooner = sum(pod_set.count for pod_set in before)
    if sooner + count > MOST_PODS:
        more = f" with the {sooner} before them" if sooner else ""
        yield sentences.TOO_MANY_PODS.at(path, pods=sooner + count, more=more, most=MOST_PODS)


def group_problems(pod_sets: Iterable[QueuedPodSet]) -> Iterator[Problem]:
    """A group is one leader and its workers, and both ask for the same."""
    groups: dict[str, list[QueuedPodSet]] = {}
    for pod_set in pod_sets:
        if pod_set.request.group:
            groups.setdefault(pod_set.request.group, []).append(pod_set)
    for name, members in groups.items():
        paths = [member.request.spelling.path(keys.GROUP) for member in members]
        if len(members) != 2:
            yield from (sentences.GROUP_OF_TWO.at(path, group=name, members=len(members)) for path in paths)
            continue
        if all(member.count != 1 for member in members):
            yield sentences.GROUP_LEADER.at(paths[1], group=name)
        first, second = (member.request for member in members)
        if (first.required, first.preferred) != (second.required, second.preferred):
            yield sentences.GROUP_LEVELS.at(paths[1], group=name)
