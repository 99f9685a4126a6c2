"""Compile a workflow: each group of its tasks is a workload, the PodGroup that it will become.

Its request is the same as that of KAI's PodGroup and pods for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Workflow
from closeknit.dialects.core.naming import pod_set_name, workload_name
from closeknit.dialects.core.pods import ReadPod, Shape, Stage, pod_problems, rank
from closeknit.dialects.core.priority import created, priority_of
from closeknit.dialects.family import Compiled
from closeknit.dialects.kai.implicit_groups import pod_group_key
from closeknit.dialects.osmo.naming import PRIORITIES, TASK_LABEL, class_of, fitted
from closeknit.dialects.osmo.workflows import ReadWorkflow, Task, TaskGroup, workflow_of
from closeknit.dialects.ownership import pods_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.workload import ObjectName, Workload, WorkloadBase

FAMILY = "osmo"
_CLASSES = {class_of(priority): value for priority, value in PRIORITIES.items()}
_WHOLE = "default"
"""What the pods of a PodGroup without subgroups are called."""
_COUNTS = (Stage.RUNNING, Stage.OPEN, Stage.SUCCEEDED)
"""Of several pods of one task, as after a retry, the furthest one that is of use counts."""


def compile_workflow(stored: Stored[Workflow], view: View) -> Compiled:
    """The workloads of a workflow, or everything that is wrong with it.

    A group whose PodGroup is there already asks for nothing more: the PodGroup is the workload.
    """
    workflow = view.derive(workflow_of, stored.key)
    assert workflow is not None
    found = list(workflow.problems)
    base = WorkloadBase(
        stored.object,
        FAMILY,
        created=created(stored, found),
        priority=priority_of(view, class_of(workflow.priority), (), [], _CLASSES),
        maker=stored.key,
    )
    if found or stored.problems:
        return Compiled((base.invalid((*stored.problems, *found)),), tuple(found))
    return Compiled(() if view.judging else tuple(_workloads(base, workflow, view)))


def makes(view: View) -> frozenset[Key]:
    """The PodGroups that workflows will have, which their pods name already."""
    workflows = (view.derive(workflow_of, stored.key) for stored in view.of(Workflow))
    return frozenset(
        _pod_group(workflow, group)
        for workflow in workflows
        if workflow is not None
        for group in workflow.groups
    )


def open_groups(workflow: ReadWorkflow, view: View) -> Iterator[TaskGroup]:
    """The groups of tasks whose PodGroup is not there yet."""
    return (group for group in workflow.groups if not view.has(_pod_group(workflow, group)))


def _workloads(base: WorkloadBase, workflow: ReadWorkflow, view: View) -> Iterator[Workload]:
    for group in open_groups(workflow, view):
        pods = pods_of(view, _pod_group(workflow, group), "kai")
        of_pods = tuple(pod_problems(pods))
        named = replace(base, object=_named(workflow, group))
        yield named.invalid(of_pods) if of_pods else named.placeable(_request(group, workflow, pods))


def _pod_group(workflow: ReadWorkflow, group: TaskGroup) -> Key:
    return pod_group_key(workflow.namespace, group.pod_group)


def _named(workflow: ReadWorkflow, group: TaskGroup) -> ObjectName:
    """The workflow's own name, and behind a dot that of the group if there are several."""
    name = workflow.stored.object
    return name if len(workflow.groups) == 1 else replace(name, name=f"{name.name}.{group.name}")


def _request(group: TaskGroup, workflow: ReadWorkflow, pods: Sequence[ReadPod]) -> Request:
    """All tasks or none: every subgroup of the tree becomes a group, every leaf the pod sets of its tasks.

    Tasks whose ``pods`` run stay where they are, and those whose pods succeeded have had their turn.
    """
    name = workload_name(workflow.namespace, group.pod_group)
    topology = workflow.pool.topology if workflow.pool is not None else None
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
        members=tuple(outer) or _pod_sets(_WHOLE, group.tasks, there),
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
