"""The groups of a workflow as they are written: their tasks, names, leads and resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from closeknit.apis.osmo_workflow import TaskGroupSpec, TaskSpec, WorkflowSpec
from closeknit.dialects.osmo.naming import folded, is_name
from closeknit.dialects.osmo.requirements import Resource
from closeknit.dialects.wire.spelling import found as worded
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown, suggestion

_MOST_LOOKED_UP = 20
_LONGEST_NAME = 253
"""What Kubernetes allows for the object that a workflow is."""


@dataclass(frozen=True, slots=True)
class GivenGroup:
    """A group of tasks in its place."""

    path: str
    name: str
    tasks: tuple[tuple[str, TaskSpec], ...]
    """Each with its path."""


def given_groups(workflow: WorkflowSpec, found: list[Problem]) -> Iterator[GivenGroup]:
    """The groups; a task that stands alone is a group of its own."""
    if workflow.groups and workflow.tasks:
        message = "This stands beside groups. Put the tasks into a group, or write tasks only."
        found.append(as_told("spec.workflow.tasks", message))
    if not workflow.groups and not workflow.tasks:
        found.append(as_told("spec.workflow.groups", "A workflow needs at least one group, or one task."))
    for i, group in enumerate(workflow.groups):
        path = f"spec.workflow.groups[{i}]"
        if not group.tasks:
            found.append(as_told(f"{path}.tasks", f"Group {shown(group.name)} needs at least one task."))
        yield GivenGroup(path, group.name, _tasks(path, group))
    for i, task in enumerate(workflow.tasks):
        path = f"spec.workflow.tasks[{i}]"
        yield GivenGroup(path, task.name, ((path, task),))


def _tasks(path: str, group: TaskGroupSpec) -> tuple[tuple[str, TaskSpec], ...]:
    return tuple((f"{path}.tasks[{j}]", task) for j, task in enumerate(group.tasks))


def name_problems(workflow: WorkflowSpec, groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """Names of groups and tasks must differ in the form that Kubernetes keeps of them."""
    named = [("spec.workflow", workflow.name)]
    taken: dict[str, str] = {}
    for group in groups:
        members = ((path, task.name) for path, task in group.tasks)
        for path, name in ((group.path, group.name), *members):
            named.append((path, name))
            first = taken.setdefault(folded(name), path)
            if first != path:
                taken_by = f"{shown(name)} is already the name of {first.removeprefix('spec.')}."
                message = f'{taken_by} Give each its own; capitals do not count, and "_" is the same as "-".'
                yield as_told(f"{path}.name", message)
    if len(workflow.name) > _LONGEST_NAME:
        message = f"The name has {len(workflow.name)} characters. Allowed are at most {_LONGEST_NAME}."
        yield as_told("spec.workflow.name", message)
    for path, name in named:
        if not is_name(name):
            yield as_told(
                f"{path}.name",
                f"{shown(name)} is not a valid name. Allowed are letters, digits, '-' and '_', with a letter"
                " at the start and a letter or digit at the end.",
            )


def missing_resources(groups: Sequence[GivenGroup], defined: Mapping[str, Resource]) -> Iterator[Problem]:
    """Tasks whose resource is not there. What was meant is looked up for a few names only: it takes long."""
    remedies: dict[str, str] = {}
    for group in groups:
        for path, task in group.tasks:
            if task.resource in defined:
                continue
            if task.resource not in remedies:
                few = len(remedies) < _MOST_LOOKED_UP
                remedies[task.resource] = (
                    suggestion(task.resource, defined) if few else "Define it in resources."
                )
            message = f"There is no resource {shown(task.resource)}. {remedies[task.resource]}"
            yield as_told(f"{path}.resource", message)


def as_tolds(groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """A task's words are strings or numbers; in its environment truth values will do as well."""
    for group in groups:
        for path, task in group.tasks:
            for field, words in (("command", task.command), ("args", task.args)):
                for i, word in enumerate(words):
                    if type(word) not in (str, int, float):
                        yield _no_text(f"{path}.{field}[{i}]", word)
            for name, value in task.environment.items():
                if type(value) not in (str, int, float, bool):
                    yield _no_text(within(f"{path}.environment", name), value)


def _no_text(path: str, value: object) -> Problem:
    return as_told(path, f"Found {worded(value)} where a string is expected.")


def lead_problems(groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """A group has one lead at most; where none says so, the first task is taken."""
    for group in groups:
        leads = [path for path, task in group.tasks if task.lead]
        for path in leads[1:]:
            first = leads[0].removeprefix("spec.")
            message = f"{first} leads group {shown(group.name)} already. A group has one lead."
            yield as_told(f"{path}.lead", message)
