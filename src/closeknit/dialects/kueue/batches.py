"""What queues, whatever it was read from: pod sets that are admitted together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from closeknit.apis import core_v1
from closeknit.apis import kueue_keys as keys
from closeknit.dialects.core.pods import ReadPod, Shape, read_pod
from closeknit.dialects.kueue.seats import Seat
from closeknit.dialects.kueue.wishes import Wish
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown
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

    manifest: Stored[Any]
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


def too_many(count: int, before: Iterable[Batched]) -> str | None:
    """What is wrong with so many more pods in a workload, None where nothing is."""
    sooner = sum(pod_set.count for pod_set in before)
    if sooner + count <= MOST_PODS:
        return None
    added = f" with the {sooner} before them" if sooner else ""
    return f"These are {sooner + count} pods{added}. At most {MOST_PODS} can be asked for."


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
            yield from (as_told(path, message) for path in where)
            continue
        if all(member.count != 1 for member in members):
            message = f"No pod set of group {shown(name)} has one pod. One of the two is the leader."
            yield as_told(where[1], message)
        first, second = (member.wish for member in members)
        if (first.required, first.preferred) != (second.required, second.preferred):
            message = f"Both pod sets of group {shown(name)} must require or prefer the same level."
            yield as_told(where[1], message)


def read_template(template: core_v1.PodTemplateSpec, manifest: Stored[Any]) -> ReadPod:
    """What each pod of a template asks for."""
    pod = core_v1.Pod(api_version="v1", kind="Pod", metadata=template.metadata, spec=template.spec)
    return read_pod(Stored(manifest.key, manifest.object, pod))


def step_into(written: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """What stands at a path of names and places in lists."""
    value: Any = written
    for step in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(value, list):
            value = value[int(step)] if int(step) < len(value) else {}
        else:
            value = value.get(step, {}) if isinstance(value, Mapping) else {}
    return value if isinstance(value, Mapping) else {}
