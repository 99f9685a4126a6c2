"""The groups of a workflow as they are written: their tasks, names, leads and resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from closeknit.apis.osmo_workflow import TaskSpec, WorkflowSpec
from closeknit.dialects.osmo.naming import folded, is_name
from closeknit.dialects.osmo.requirements import Resource
from closeknit.dialects.wire.decoding import found as worded
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem
from closeknit.hub.sentences import core
from closeknit.hub.sentences import osmo as sentences

_WORKFLOW: Path = ("spec", "workflow")
_MOST_LOOKED_UP = 20
_LONGEST_NAME = 253
"""What Kubernetes allows for the object that a workflow is."""


@dataclass(frozen=True, slots=True)
class GivenGroup:
    """A group of tasks in its place."""

    path: Path
    name: str
    tasks: tuple[tuple[Path, TaskSpec], ...]
    """Each with its path."""


def given_groups(workflow: WorkflowSpec, found: list[Problem]) -> Iterator[GivenGroup]:
    """The groups; a task that stands alone is a group of its own."""
    if workflow.groups and workflow.tasks:
        found.append(sentences.TASKS_BESIDE_GROUPS.at((*_WORKFLOW, "tasks")))
    if not workflow.groups and not workflow.tasks:
        found.append(sentences.NO_TASKS.at((*_WORKFLOW, "groups")))
    for i, group in enumerate(workflow.groups):
        path = (*_WORKFLOW, "groups", i)
        if not group.tasks:
            found.append(sentences.EMPTY_GROUP.at((*path, "tasks"), group=group.name))
        tasks = tuple(((*path, "tasks", j), task) for j, task in enumerate(group.tasks))
        yield GivenGroup(path, group.name, tasks)
    for i, task in enumerate(workflow.tasks):
        path = (*_WORKFLOW, "tasks", i)
        yield GivenGroup(path, task.name, ((path, task),))


def name_problems(workflow: WorkflowSpec, groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """Names of groups and tasks must differ in the form that Kubernetes keeps of them."""
    named: list[tuple[Path, str]] = [(_WORKFLOW, workflow.name)]
    taken: dict[str, Path] = {}
    for group in groups:
        members = ((path, task.name) for path, task in group.tasks)
        for path, name in ((group.path, group.name), *members):
            named.append((path, name))
            first = taken.setdefault(folded(name), path)
            if first != path:
                yield sentences.NAME_TAKEN.at((*path, "name"), name=name, field=Field(first))
    if len(workflow.name) > _LONGEST_NAME:
        length = len(workflow.name)
        yield sentences.NAME_TOO_LONG.at((*_WORKFLOW, "name"), length=length, most=_LONGEST_NAME)
    for path, name in named:
        if not is_name(name):
            yield sentences.NOT_A_NAME.at((*path, "name"), name=name)


def missing_resources(groups: Sequence[GivenGroup], defined: Mapping[str, Resource]) -> Iterator[Problem]:
    """Tasks whose resource is not there. What was meant is looked up for a few names only: it takes long."""
    looked_up: dict[str, OneOf] = {}
    for group in groups:
        for path, task in group.tasks:
            name, where = task.resource, (*path, "resource")
            if name in defined:
                continue
            if name not in looked_up and len(looked_up) < _MOST_LOOKED_UP:
                looked_up[name] = OneOf.among(name, defined)
            if name in looked_up:
                yield core.NOT_FOUND.at(where, kind="resource", name=name, remedy=looked_up[name])
            else:
                yield sentences.UNDEFINED_RESOURCE.at(where, resource=name)


def text_problems(groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """A task's words are strings or numbers; in its environment truth values will do as well."""
    for group in groups:
        for path, task in group.tasks:
            for field, words in (("command", task.command), ("args", task.args)):
                for i, word in enumerate(words):
                    if type(word) not in (str, int, float):
                        yield _no_text((*path, field, i), word)
            for name, value in task.environment.items():
                if type(value) not in (str, int, float, bool):
                    yield _no_text((*path, "environment", name), value)


def _no_text(path: Path, value: object) -> Problem:
    return sentences.STRING_EXPECTED.at(path, found=worded(value))


def lead_problems(groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """A group has one lead at most; where none says so, the first task is taken."""
    for group in groups:
        leads = [path for path, task in group.tasks if task.lead]
        for path in leads[1:]:
            yield sentences.TWO_LEADS.at((*path, "lead"), field=Field(leads[0]), group=group.name)
