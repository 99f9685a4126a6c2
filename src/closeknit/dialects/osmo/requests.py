"""A group of tasks as the hub's request: the same as KAI's PodGroup and pods for it would ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from closeknit.dialects.core.naming import pod_set_name, workload_name
from closeknit.dialects.core.pods import ReadPod, Shape, Stage, rank
from closeknit.dialects.osmo.naming import TASK_LABEL, fitted
from closeknit.dialects.osmo.workflows import Task, TaskGroup
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.topology import Topology

WHOLE = "default"
"""What the pods of a PodGroup without subgroups are called."""


_COUNTS = (Stage.RUNNING, Stage.OPEN, Stage.SUCCEEDED)
"""Of several pods of one task, as after a retry, the furthest one that is of use counts."""


def to_request(
    group: TaskGroup, namespace: str, topology: Topology | None, pods: Sequence[ReadPod] = ()
) -> Request:
    """All tasks or none: every subgroup of the tree becomes a group, every leaf the pod sets of its tasks.

    Tasks whose ``pods`` run stay where they are, and those whose pods succeeded have had their turn.
    """
    name = workload_name(namespace, group.pod_group)
    there = _by_task(group.tasks, pods)
    tasks = {task.given.name: task for task in group.tasks}
    below: dict[str, list[Group]] = {}
    # Children come after their parents, so going backwards each finds all its members made.
    for subgroup in reversed(group.tree.subgroups):
        inner = sorted(below.pop(subgroup.name, ()), key=lambda child: child.name)
        members = inner or _pod_sets(subgroup.name, (tasks[task] for task in subgroup.tasks), there)
        made = Group(
            name=subgroup.name,
            members=tuple(members),
            required=subgroup.levels.required,
            preferred=subgroup.levels.preferred,
            minimum=len(inner) if inner else None,
        )
        below.setdefault(subgroup.parent, []).append(made)
    outer = sorted(below.get("", ()), key=lambda child: child.name)
    root = Group(
        name=name,
        members=tuple(outer) or _pod_sets(WHOLE, group.tasks, there),
        required=group.tree.levels.required,
        preferred=group.tree.levels.preferred,
    )
    spoken = any(
        member.required or member.preferred for member, _ in root.walk() if isinstance(member, Group)
    )
    return Request(name, root, topology.name if topology is not None and spoken else None)


def _by_task(tasks: Iterable[Task], pods: Sequence[ReadPod]) -> dict[str, ReadPod]:
    """By the name of a task's pod, the pod that counts: one of that name, or a later one with its label."""
    of_use = sorted((pod for pod in pods if pod.stage in _COUNTS), key=lambda pod: _COUNTS.index(pod.stage))
    named = {pod.name: pod for pod in of_use}
    labelled: dict[str, ReadPod] = {}
    for pod in of_use:
        labelled.setdefault(pod.stored.content.metadata.labels.get(TASK_LABEL, ""), pod)
    found = {}
    for task in tasks if of_use else ():
        # Names that differ may make one label, and then it tells nothing; a pod is never counted twice.
        its_own = named.get(task.pod) or labelled.pop(fitted(task.given.name), None)
        if its_own is not None:
            found[task.pod] = its_own
    return found


def _pod_sets(group: str, tasks: Iterable[Task], there: Mapping[str, ReadPod]) -> tuple[PodSet, ...]:
    """The pod sets of a leaf, one for each shape, in the order of the pods' names."""
    bound: dict[Shape, list[str]] = {}
    waiting: dict[Shape, list[str]] = {}
    for task in sorted(tasks, key=lambda task: rank(task.pod)):
        pod, shape = there.get(task.pod), task.template.shape
        if pod is None or pod.stage is Stage.OPEN:
            waiting.setdefault(shape, []).append(pod.name if pod is not None else task.pod)
        elif pod.stage is Stage.RUNNING:
            bound.setdefault(shape, []).append(pod.node)
    return tuple(
        shape.pod_set(pod_set_name(group, number), bound=bound.get(shape, ()), waiting=waiting.get(shape, ()))
        for number, shape in enumerate(dict.fromkeys([*waiting, *bound]), start=1)
    )
