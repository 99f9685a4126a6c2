"""A workflow in a cluster: PodGroups and pods, group after group, and how far each task has come. Pure.

What was seen is recorded before anything follows from it, so that a process that dies in between goes on
where it was. Pods that have ended stay for whoever wants to look at them, until the workflow is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from closeknit.apis.core_v1 import Pod
from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Workflow
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.controllers.runtime.objects import children, conditions, owned
from closeknit.controllers.runtime.writes import (
    NOTHING,
    Apply,
    Create,
    Decision,
    Delete,
    Patch,
    SetStatus,
    Tell,
    Write,
    key_of,
)
from closeknit.dialects.core.owner_references import is_controlled_by
from closeknit.dialects.family import Condition, Object
from closeknit.dialects.osmo.exit_actions import BACKEND_ERROR, EVICTED, PREEMPTED
from closeknit.dialects.osmo.naming import CANCEL
from closeknit.dialects.osmo.progress import GroupState, Phase, TaskPod, WorkflowState, progress, recorded
from closeknit.dialects.osmo.render import priority_class, to_pod_group, to_pods
from closeknit.dialects.osmo.status import accepted
from closeknit.dialects.osmo.workflows import ReadWorkflow, TaskGroup, pod_name, workflow_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key

FINISHED = "Finished"
_DISRUPTED = "DisruptionTarget"
_OUTSIDE = {
    "Evicted": EVICTED,
    "NodeLost": BACKEND_ERROR,
    "Preempting": PREEMPTED,
    "PreemptionByScheduler": PREEMPTED,
}
"""By the reason of a pod's status or of that condition, what happened to it."""


class Seen(NamedTuple):
    """A workflow and what there is of it."""

    stored: Stored[Workflow]
    workflow: ReadWorkflow
    priority_class: Object | None
    """What its priority needs and is missing."""
    pods: tuple[Stored[Pod], ...]
    pod_groups: tuple[Stored[PodGroup], ...]
    taken: frozenset[Key]
    """PodGroups of its names that are another's, such as of a deleted workflow of its name."""


def observe(view: View, key: Key) -> Seen | None:
    """A workflow and all that it depends on; None where it is gone, going or unreadable."""
    stored = view.get(key)
    workflow = view.derive(workflow_of, key)
    if stored is None or workflow is None or stored.content.metadata.deletion_timestamp:
        return None
    names = (key_of(to_pod_group(group, workflow)) for group in workflow.groups)
    found = (view.get(each) for each in names)
    return Seen(
        stored,
        workflow,
        priority_class(workflow, view),
        tuple(children(view, Pod, stored)),
        tuple(children(view, PodGroup, stored)),
        frozenset(each.key for each in found if each is not None and not is_controlled_by(each, stored)),
    )


def decide(seen: Seen | None, now: datetime) -> Decision:
    """What is written for a workflow.

    While it has problems, such as a pool that is gone, what runs goes on, and nothing is started or recorded.
    """
    if seen is None:
        return NOTHING
    stored, workflow = seen.stored, seen.workflow
    canceled = stored.content.metadata.annotations.get(CANCEL, "").lower() == "true"
    problems = (*stored.problems, *workflow.problems)
    if problems:
        condition = accepted(problems)
        ends = (
            tuple(Delete(each.key, each.content.metadata.uid) for each in _unfinished(seen))
            if canceled
            else ()
        )
        status = _status(stored, [condition], now)
        return Decision(
            (
                SetStatus(stored.key, status),
                *ends,
                Tell(stored.key, condition.reason, condition.message, warning=True),
            )
        )
    before = recorded(stored.content.status)
    state = progress(workflow, before, map(task_pod, seen.pods), canceled=canceled)
    told = [accepted(()), *_finished(state)]
    status = {**_status(stored, told, now), "phase": state.phase.value, "groups": _groups(workflow, state)}
    writes: list[Write] = [SetStatus(stored.key, status), *_tell(stored, state)]
    if seen.priority_class is not None and not state.phase.ended:
        writes.append(Create(seen.priority_class))
    return Decision((*writes, *_follow(seen, state)))


def task_pod(stored: Stored[Pod]) -> TaskPod:
    """A pod, as far as it tells how its task is doing."""
    status = stored.content.status
    codes = [each.state.terminated.exit_code for each in status.container_statuses if each.state.terminated]
    disrupted = {
        each.reason for each in status.conditions if each.type == _DISRUPTED and each.status == "True"
    }
    happened = next((each for each in (status.reason, *disrupted) if each in _OUTSIDE), "")
    code = _OUTSIDE.get(happened, max(codes, default=None))
    return TaskPod(
        stored.name,
        status.phase or "Pending",
        stored.content.spec.node_name,
        code,
        leaving=bool(stored.content.metadata.deletion_timestamp),
    )


def _follow(seen: Seen, state: WorkflowState) -> Iterator[Write]:
    """What follows from a state that is recorded: what has to go first, then what has to be there."""
    wanted: list[tuple[Object, list[Object]]] = [
        _objects(seen, group, reached)
        for group, reached in zip(seen.workflow.groups, state.groups, strict=True)
        if reached.started
    ]
    groups = [group for group, _ in wanted if key_of(group) not in seen.taken]
    pods = {key_of(pod): pod for group, of_group in wanted if group in groups for pod in of_group}
    names = {key_of(group) for group in groups}
    for each in (*(one for one in seen.pod_groups if one.key not in names), *_unfinished(seen)):
        if each.key not in pods:
            yield Delete(each.key, each.content.metadata.uid)
    yield from map(Apply, groups)
    there = {each.key: each for each in seen.pods}
    for key, pod in pods.items():
        if key in there:
            yield from _mended(there[key], pod)
    yield from (Create(pod) for pod in pods.values())


def _unfinished(seen: Seen) -> Iterator[Stored[Pod]]:
    return (pod for pod in seen.pods if not task_pod(pod).ended)


def _objects(seen: Seen, group: TaskGroup, reached: GroupState) -> tuple[Object, list[Object]]:
    """The PodGroup of a group that has started, and a pod for each task that has not ended."""
    succeeded = {pod.name for pod in seen.pods if task_pod(pod).succeeded}
    open_tasks = {task.name: task.retries for task in reached.tasks if not task.phase.ended}
    without = [
        given.given.name
        for given, task in zip(group.tasks, reached.tasks, strict=True)
        if task.name not in open_tasks and pod_name(given, task.retries) not in succeeded
    ]
    pods = zip(group.tasks, to_pods(group, seen.workflow, open_tasks), strict=True)
    return (
        owned(to_pod_group(group, seen.workflow, without), seen.stored.content),
        [owned(pod, seen.stored.content) for task, pod in pods if task.given.name in open_tasks],
    )


def _mended(there: Stored[Pod], wanted: Object) -> Iterator[Patch]:
    """Labels and annotations that a pod needs to be known as its task's."""
    metadata = there.content.metadata
    missing = {
        field: dict(wanted["metadata"][field])
        for field, found in (("labels", metadata.labels), ("annotations", metadata.annotations))
        if not wanted["metadata"][field].items() <= found.items()
    }
    if missing and not metadata.deletion_timestamp:
        yield Patch(there.key, {"metadata": missing}, uid=metadata.uid)


def _status(stored: Stored[Workflow], told: Sequence[Condition], now: datetime) -> dict[str, Any]:
    before = (stored.written.get("status") or {}).get("conditions") or ()
    return {
        "observedGeneration": stored.written["metadata"].get("generation"),
        "conditions": conditions(before, told, now),
    }


def _groups(workflow: ReadWorkflow, state: WorkflowState) -> list[dict[str, Any]]:
    return [
        {
            "name": reached.name,
            "phase": reached.phase.value,
            "podGroup": group.pod_group,
            "tasks": [
                {
                    "name": task.name,
                    "phase": task.phase.value,
                    "pod": pod_name(given, task.retries),
                    "retries": task.retries,
                    **({"node": task.node} if task.node else {}),
                    **({"exitCode": task.exit_code} if task.exit_code is not None else {}),
                    **({"message": task.message} if task.message else {}),
                }
                for given, task in zip(group.tasks, reached.tasks, strict=True)
            ],
        }
        for group, reached in zip(workflow.groups, state.groups, strict=True)
    ]


def _finished(state: WorkflowState) -> Iterator[Condition]:
    if not state.phase.ended:
        yield Condition(FINISHED, "False", "InProgress", "There are tasks that have not ended")
    elif state.phase is Phase.COMPLETED:
        yield Condition(FINISHED, "True", "Completed", "All groups are complete")
    else:
        reason = "Canceled" if state.phase is Phase.FAILED_CANCELED else "Failed"
        failed = [f"{group.name} ({group.phase})" for group in state.groups if group.phase.failed]
        yield Condition(FINISHED, "True", reason, f"Groups that failed: {', '.join(failed)}")


def _tell(stored: Stored[Workflow], state: WorkflowState) -> Iterator[Tell]:
    """The end of a workflow is told when it is recorded, and not again."""
    if state.phase.ended and stored.content.status.phase != state.phase:
        (condition,) = _finished(state)
        warning = state.phase is not Phase.COMPLETED
        yield Tell(stored.key, condition.reason, condition.message, warning=warning)
