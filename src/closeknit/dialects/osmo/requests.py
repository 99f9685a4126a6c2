"""A group of tasks as the hub's request: the same as KAI's PodGroup and pods for it would ask."""

from __future__ import annotations

from collections.abc import Iterable

from closeknit.dialects.naming import pod_set_name, workload_name
from closeknit.dialects.osmo.workflows import Task, TaskGroup
from closeknit.dialects.pods import Shape, rank
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.topology import Topology

WHOLE = "default"
"""What the pods of a PodGroup without subgroups are called."""


def to_request(group: TaskGroup, namespace: str, topology: Topology | None) -> Request:
    """All tasks or none: every subgroup of the tree becomes a group, every leaf the pod sets of its tasks."""
    name = workload_name(namespace, group.pod_group)
    tasks = {task.given.name: task for task in group.tasks}
    below: dict[str, list[Group]] = {}
    # Children come after their parents, so going backwards each finds all its members made.
    for subgroup in reversed(group.tree.subgroups):
        inner = sorted(below.pop(subgroup.name, ()), key=lambda child: child.name)
        members = inner or _pod_sets(subgroup.name, (tasks[task] for task in subgroup.tasks))
        made = Group(
            name=subgroup.name,
            members=tuple(members),
            required=subgroup.close.required,
            preferred=subgroup.close.preferred,
            minimum=len(inner) if inner else None,
        )
        below.setdefault(subgroup.parent, []).append(made)
    outer = sorted(below.get("", ()), key=lambda child: child.name)
    root = Group(
        name=name,
        members=tuple(outer) or _pod_sets(WHOLE, group.tasks),
        required=group.tree.close.required,
        preferred=group.tree.close.preferred,
    )
    spoken = any(
        member.required or member.preferred for member, _ in root.walk() if isinstance(member, Group)
    )
    return Request(name, root, topology.name if topology is not None and spoken else None)


def _pod_sets(group: str, tasks: Iterable[Task]) -> tuple[PodSet, ...]:
    """The pod sets of a leaf, one for each shape, in the order of the pods' names."""
    by_shape: dict[Shape, list[str]] = {}
    for task in sorted(tasks, key=lambda task: rank(task.pod)):
        by_shape.setdefault(task.asking.shape, []).append(task.pod)
    return tuple(
        PodSet(
            name=pod_set_name(group, number),
            count=len(pods),
            resources=shape.resources,
            filter=shape.filter,
            host_ports=shape.host_ports,
            pods=tuple(pods),
        )
        for number, (shape, pods) in enumerate(by_shape.items(), start=1)
    )
