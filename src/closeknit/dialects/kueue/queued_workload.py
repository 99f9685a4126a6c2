"""What queues, whatever it was read from: pod sets that are admitted together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from closeknit.apis import kueue_keys as keys
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import MOST_PODS, Shape
from closeknit.dialects.kueue.pod_slots import PodSlot
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
    unsayable: tuple[Problem, ...]
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

    @property
    def name(self) -> str:
        """The name of its request."""
        return workload_name(self.object.namespace, self.holder or self.object.name)

    @property
    def key(self) -> Key:
        """The Job, JobSet or Workload, or the group of pods, that queues."""
        return self.object.key


def queued_by_label(
    stored: Stored[Any], pod_sets: Iterable[QueuedPodSet], found: Iterable[Problem], *, finished: bool
) -> QueuedWorkload:
    """Something that says by its labels where it queues."""
    labels = stored.content.metadata.labels
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
