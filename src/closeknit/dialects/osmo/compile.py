"""Compile a workflow: each group of its tasks is a workload, the PodGroup that it will become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Workflow
from closeknit.dialects.core.pods import pod_problems
from closeknit.dialects.core.priority import created, priority_of
from closeknit.dialects.family import Compiled
from closeknit.dialects.kai.implicit_groups import pod_group_key
from closeknit.dialects.osmo.naming import PRIORITIES, class_of
from closeknit.dialects.osmo.requests import to_request
from closeknit.dialects.osmo.workflows import ReadWorkflow, TaskGroup, workflow_of
from closeknit.dialects.ownership import pods_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.workload import ObjectName, Workload

FAMILY = "osmo"
_CLASSES = {class_of(priority): value for priority, value in PRIORITIES.items()}


def compile_workflow(stored: Stored[Workflow], view: View) -> Compiled:
    """The workloads of a workflow, or everything that is wrong with it.

    A group whose PodGroup is there already asks for nothing more: the PodGroup is the workload.
    """
    workflow = view.derive(workflow_of, stored.key)
    assert workflow is not None
    found = list(workflow.problems)
    base = Workload(
        stored.object,
        FAMILY,
        request=None,
        created=created(stored, found),
        priority=priority_of(view, class_of(workflow.priority), (), [], _CLASSES),
        maker=stored.key,
    )
    if found or stored.problems:
        return Compiled((replace(base, problems=(*stored.problems, *found)),), tuple(found))
    return Compiled(tuple(_workloads(base, workflow, view)))


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


def _workloads(base: Workload, workflow: ReadWorkflow, view: View) -> Iterator[Workload]:
    topology = workflow.pool.topology if workflow.pool is not None else None
    for group in open_groups(workflow, view):
        pods = pods_of(view, _pod_group(workflow, group), "kai")
        of_pods = tuple(pod_problems(pods))
        request = None if of_pods else to_request(group, workflow.namespace, topology, pods)
        yield replace(base, object=_named(workflow, group), request=request, problems=of_pods)


def _pod_group(workflow: ReadWorkflow, group: TaskGroup) -> Key:
    return pod_group_key(workflow.namespace, group.pod_group)


def _named(workflow: ReadWorkflow, group: TaskGroup) -> ObjectName:
    """The workflow's own name, and behind a dot that of the group if there are several."""
    name = workflow.stored.object
    return name if len(workflow.groups) == 1 else replace(name, name=f"{name.name}.{group.name}")
