"""How far a workflow has come: from what was recorded of it and from its pods. Pure.

A group starts when those before it are complete. Its lead decides how it ends: tasks that still run
then end with it. A task whose exit action says so runs again as another pod, with the number of
retries in its name; where the lead does, or the group does not ignore its other tasks, all of the group does.

What is recorded counts: a task that has ended stays so when its pod is gone. A pod that is deleted before
it has ended is made again, and that is no retry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from closeknit.apis import osmo_closeknit_dev_v1alpha1 as wire
from closeknit.dialects.osmo.dependencies import order
from closeknit.dialects.osmo.exit_actions import (
    BACKEND_ERROR,
    EVICTED,
    PREEMPTED,
    Action,
    ExitActions,
    action_for,
)
from closeknit.dialects.osmo.workflows import ReadWorkflow, Task, TaskGroup, pod_name
from closeknit.hub.copying import replace

MOST_RETRIES = 5
"""How often a task runs again before its failure counts."""


class Phase(StrEnum):
    """How far a task, a group or a workflow has come, in OSMO's words."""

    PENDING = "PENDING"
    WAITING = "WAITING"
    SCHEDULING = "SCHEDULING"
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    FAILED_UPSTREAM = "FAILED_UPSTREAM"
    FAILED_CANCELED = "FAILED_CANCELED"
    FAILED_BACKEND_ERROR = "FAILED_BACKEND_ERROR"
    FAILED_EVICTED = "FAILED_EVICTED"
    FAILED_PREEMPTED = "FAILED_PREEMPTED"

    @property
    def failed(self) -> bool:
        """Whether it has ended badly."""
        return self.name.startswith("FAILED")

    @property
    def ended(self) -> bool:
        """Whether it will not change any more."""
        return self is Phase.COMPLETED or self.failed


_FAILURES = {
    BACKEND_ERROR: Phase.FAILED_BACKEND_ERROR,
    EVICTED: Phase.FAILED_EVICTED,
    PREEMPTED: Phase.FAILED_PREEMPTED,
}


@dataclass(frozen=True, slots=True)
class TaskPod:
    """A pod of a workflow, as far as it tells how its task is doing."""

    name: str
    phase: str
    """As Kubernetes has it."""
    node: str = ""
    exit_code: int | None = None
    """How it ended; one of OSMO's own codes where something happened to it from outside."""
    leaving: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether it counts for its PodGroup although it has ended."""
        return self.phase == "Succeeded"

    @property
    def ended(self) -> bool:
        """Whether its containers have ended by themselves: of one that is deleted, success alone counts."""
        return self.succeeded or (self.phase == "Failed" and not self.leaving)


@dataclass(frozen=True, slots=True)
class TaskState:
    """How far a task has come."""

    name: str
    phase: Phase
    retries: int = 0
    node: str = ""
    exit_code: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class GroupState:
    """How far a group has come; its tasks are in the order of the workflow."""

    name: str
    phase: Phase
    tasks: tuple[TaskState, ...]

    @property
    def started(self) -> bool:
        """Whether its PodGroup and pods are wanted now."""
        return self.phase is not Phase.WAITING and not self.phase.ended


@dataclass(frozen=True, slots=True)
class WorkflowState:
    """How far a workflow has come; its groups are in its own order."""

    phase: Phase
    groups: tuple[GroupState, ...] = ()


def recorded(status: wire.WorkflowStatus) -> dict[str, GroupState]:
    """What was recorded, by group; words that nobody here knows are left out."""
    return {
        group.name: GroupState(
            group.name,
            _phase(group.phase),
            tuple(
                TaskState(
                    task.name, _phase(task.phase), task.retries, task.node, task.exit_code, task.message
                )
                for task in group.tasks
            ),
        )
        for group in status.groups
    }


def _phase(text: str) -> Phase:
    return Phase.__members__.get(text, Phase.PENDING)


def progress(
    workflow: ReadWorkflow,
    before: Mapping[str, GroupState],
    pods: Iterable[TaskPod],
    *,
    canceled: bool = False,
    most_retries: int = MOST_RETRIES,
) -> WorkflowState:
    """How far a workflow without problems has come since ``before``, by its pods."""
    by_name = {pod.name: pod for pod in pods}
    groups = {group.name: group for group in workflow.groups}
    default = workflow.pool.exit_actions if workflow.pool is not None else ()
    reached: dict[str, GroupState] = {}
    for name in order({group.name: group.after for group in workflow.groups}):
        group, known = groups[name], before.get(name)
        if known is not None and known.phase.ended:
            reached[name] = known
            continue
        ahead = [reached[each].phase for each in group.after]
        tasks = _recorded_tasks(group, known)
        if any(phase.failed for phase in ahead):
            first = next(each for each in group.after if reached[each].phase.failed)
            state = _ended(group, tasks, Phase.FAILED_UPSTREAM, f"Group {first} failed")
        elif not all(phase is Phase.COMPLETED for phase in ahead):
            state = GroupState(name, Phase.WAITING, tasks)
        else:
            seen = (
                _seen(given, task, by_name, default, most_retries)
                for given, task in zip(group.tasks, tasks, strict=True)
            )
            state = _together(group, tasks, tuple(seen))
        if canceled and not state.phase.ended:
            state = _ended(group, state.tasks, Phase.FAILED_CANCELED, "The workflow was canceled")
        reached[name] = state
    states = tuple(reached[group.name] for group in workflow.groups)
    return WorkflowState(_whole([state.phase for state in states]), states)


def _recorded_tasks(group: TaskGroup, known: GroupState | None) -> tuple[TaskState, ...]:
    by_name = {task.name: task for task in known.tasks} if known is not None else {}
    return tuple(
        by_name.get(task.given.name) or TaskState(task.given.name, Phase.WAITING) for task in group.tasks
    )


def _ended(group: TaskGroup, tasks: Sequence[TaskState], phase: Phase, why: str) -> GroupState:
    """All tasks that have not ended end like this."""
    return GroupState(group.name, phase, tuple(_end(task, phase, why) for task in tasks))


def _end(task: TaskState, phase: Phase, why: str) -> TaskState:
    return task if task.phase.ended else replace(task, phase=phase, message=why)


def _seen(
    given: Task, task: TaskState, pods: Mapping[str, TaskPod], default: ExitActions, most_retries: int
) -> TaskState:
    """A task by its pod."""
    if task.phase.ended:
        return task
    # A pod of a later try shows that the ones before it have ended, whatever was recorded.
    tries = [task.retries]
    while pod_name(given, tries[-1] + 1) in pods:
        tries.append(tries[-1] + 1)
    task = replace(task, retries=tries[-1])
    pod = pods.get(pod_name(given, task.retries))
    if pod is None or not pod.ended:
        phase = Phase.SCHEDULING
        if pod is not None and pod.node and not pod.leaving:
            phase = Phase.INITIALIZING if pod.phase == "Pending" else Phase.RUNNING
        return replace(task, phase=phase, node=pod.node if pod is not None else "")
    code = pod.exit_code if pod.exit_code is not None else 0 if pod.succeeded else BACKEND_ERROR
    ended = replace(task, node=pod.node, exit_code=code, message="")
    action, why = action_for(code, given.exit_actions, default), f"Ended with exit code {code}"
    if action is Action.COMPLETE:
        return replace(ended, phase=Phase.COMPLETED)
    if action is Action.RESCHEDULE and task.retries < most_retries:
        why = f"Rescheduled after exit code {code}"
        return replace(ended, phase=Phase.SCHEDULING, retries=task.retries + 1, node="", message=why)
    if action is Action.RESCHEDULE:
        why = f"{why} after {most_retries} retries, which is the most"
    return replace(ended, phase=_FAILURES.get(code, Phase.FAILED), message=why)


def _together(group: TaskGroup, before: Sequence[TaskState], seen: tuple[TaskState, ...]) -> GroupState:
    """The tasks of a group that has started, each as it was seen, and what that means for the others."""
    lead = next(task for given, task in zip(group.tasks, seen, strict=True) if given.lead)
    if lead.phase.ended:
        phase = Phase.FAILED if lead.phase.failed else Phase.COMPLETED
        tasks = tuple(_end(task, phase, "The lead task has ended") for task in seen)
        return GroupState(group.name, _outcome(lead, tasks, ignores=group.ignores_nonlead), tasks)
    failed = [task for task in seen if task.phase.failed]
    if failed and not group.ignores_nonlead:
        tasks = tuple(_end(task, Phase.FAILED, f"Task {failed[0].name} failed") for task in seen)
        return GroupState(group.name, _outcome(lead, tasks, ignores=False), tasks)
    again = [
        task.name
        for was, task in zip(before, seen, strict=True)
        if task.exit_code is not None and task.retries > was.retries and not task.phase.ended
    ]
    if lead.name in again or (again and not group.ignores_nonlead):
        why = f"Started again with task {again[0]}"
        seen = tuple(
            task
            if task.phase.ended or task.name in again
            else replace(task, phase=Phase.SCHEDULING, retries=task.retries + 1, node="", message=why)
            for task in seen
        )
    phases = {task.phase for task in seen}
    if Phase.RUNNING in phases or any(phase.ended for phase in phases):
        return GroupState(group.name, Phase.RUNNING, seen)
    return GroupState(
        group.name, Phase.INITIALIZING if Phase.INITIALIZING in phases else Phase.SCHEDULING, seen
    )


def _outcome(lead: TaskState, tasks: Sequence[TaskState], *, ignores: bool) -> Phase:
    counted = {task.phase for task in ([lead] if ignores else tasks)}
    for special in (Phase.FAILED_PREEMPTED, Phase.FAILED_EVICTED, Phase.FAILED_BACKEND_ERROR):
        if special in counted:
            return special
    return Phase.FAILED if any(phase.failed for phase in counted) else Phase.COMPLETED


def _whole(phases: Collection[Phase]) -> Phase:
    if not all(phase.ended for phase in phases):
        if Phase.RUNNING in phases:
            return Phase.RUNNING
        return Phase.WAITING if any(phase.ended for phase in phases) else Phase.PENDING
    if Phase.FAILED_CANCELED in phases:
        return Phase.FAILED_CANCELED
    return Phase.FAILED if any(phase.failed for phase in phases) else Phase.COMPLETED
