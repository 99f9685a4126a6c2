"""Workflows: each group of tasks with the tree it forms, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import TaskSpec, Workflow, WorkflowSpec
from closeknit.dialects.osmo import rules
from closeknit.dialects.osmo.dependencies import input_problems, upstream
from closeknit.dialects.osmo.exit_actions import ExitActions, exit_actions
from closeknit.dialects.osmo.naming import digest, fitted, object_name
from closeknit.dialects.osmo.policy import policy_problems
from closeknit.dialects.osmo.pools import ReadPool, pool_named, pool_names
from closeknit.dialects.osmo.resources import DEFAULT, TaskTemplate, TaskTemplates, disagreements, resources
from closeknit.dialects.osmo.rules import GivenGroup
from closeknit.dialects.osmo.tree import Tree, tree
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.many_problems import first_of
from closeknit.hub.problems import OneOf, Problem, shown
from closeknit.hub.sentences import core
from closeknit.hub.sentences import osmo as sentences

VERSION = 2
"""The version of OSMO's files."""
_VERSIONS = (str(VERSION), f"{VERSION}.0")

_ROOM = 48
"""What of a task's name is kept in its pod's, so that the digest and a number of retries fit behind it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task, what it asks for and who it becomes."""

    given: TaskSpec
    template: TaskTemplate
    lead: bool
    pod: str
    """The name of its pod."""
    exit_actions: ExitActions = ()
    """Its own."""


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Tasks that run at the same time, and so become one PodGroup."""

    name: str
    pod_group: str
    """The name of the PodGroup."""
    tasks: tuple[Task, ...]
    tree: Tree
    after: tuple[str, ...] = ()
    """The groups that must be complete before it starts."""
    ignores_nonlead: bool = True
    """Whether only its lead decides how it ends."""

    @property
    def lead(self) -> Task:
        """The task that decides how the group ends."""
        return next(task for task in self.tasks if task.lead)


@dataclass(frozen=True, slots=True)
class ReadWorkflow:
    """A workflow; its groups are complete only where it has no problems."""

    stored: Stored[Workflow]
    namespace: str
    """Where its PodGroups and pods live."""
    pool: ReadPool | None
    groups: tuple[TaskGroup, ...]
    problems: tuple[Problem, ...]
    priority: str = ""
    """As it is labelled: ``high``, ``normal`` or ``low``; empty where there is no label."""


def pod_name(task: Task, retries: int) -> str:
    """The name of the pod in which a task runs after so many retries."""
    return f"{task.pod}-{retries}" if retries else task.pod


def workflow_of(view: View, key: Key) -> ReadWorkflow | None:
    """A workflow with every problem in it; None where it cannot be read."""
    stored = view.get(key)
    return _read(stored, view) if stored is not None else None


def _read(stored: Stored[Workflow], view: View) -> ReadWorkflow:
    file = stored.content.spec
    found: list[Problem] = []
    defined, again = resources(file, found)
    groups = tuple(rules.given_groups(file.workflow, found))
    found.extend(first_of(rules.name_problems(file.workflow, groups)))
    found.extend(rules.label_problems(file.workflow.labels))
    found.extend(first_of(rules.lead_problems(groups)))
    found.extend(first_of(rules.text_problems(groups)))
    found.extend(first_of(input_problems(groups)))
    found.extend(first_of(rules.exit_problems(groups)))
    if str(file.version) not in _VERSIONS:
        code = sentences.UNKNOWN_FILE_VERSION
        found.append(code.at(("spec", "version"), version=shown(file.version), known=VERSION))
    needs_keys = any(one.given.topology for one in (*defined.values(), *again.values()))
    pool = _pool(file.workflow, view, found, needs_keys=needs_keys)
    reader = TaskTemplates(pool)
    templates, twice = dict[str, TaskTemplate](), dict[str, TaskTemplate]()
    # Of a resource that stands twice either may be the one to keep, so both are checked.
    for kept, given in ((templates, defined), (twice, again)):
        found.extend(first_of(reader.read_all(given, kept)))
    found.extend(first_of(rules.missing_resources(groups, defined)))
    if pool is not None or not (found or view.partial):
        # A few files may do without the pool; where it cannot be read, that is a problem already.
        found.extend(first_of(policy_problems(groups, defined, pool)))
    topology = pool.topology if pool is not None else None
    labels = topology.labels if topology is not None else ()
    either = (templates, {**templates, **twice}) if twice else (templates,)
    found.extend(first_of(_disagreements(groups, either, labels)))
    home = _namespace(stored, pool)
    priority = rules.priority_of(stored, found)
    if found or stored.problems:
        return ReadWorkflow(stored, home, pool, (), tuple(dict.fromkeys(found)))
    if view.judging:
        return ReadWorkflow(stored, home, pool, (), (), priority)
    after = upstream(groups)
    read = tuple(_task_group(group, stored, templates, pool, after[group.name]) for group in groups)
    return ReadWorkflow(stored, home, pool, read, (), priority)


def _disagreements(
    groups: Iterable[GivenGroup], either: Iterable[Mapping[str, TaskTemplate]], labels: tuple[str, ...]
) -> Iterator[Problem]:
    for group in groups:
        if len(group.tasks) > 1:
            names = dict.fromkeys([task.resource for task in group.tasks])
            for read in either if len(names) > 1 else ():
                yield from disagreements([read[name].requirements for name in names if name in read], labels)


def _namespace(stored: Stored[Workflow], pool: ReadPool | None) -> str:
    """A file says nothing of namespaces, so its pods go where the backend has them; those of an object
    stay beside it.
    """
    if stored.bare and pool is not None and pool.backend.k8s_namespace:
        return pool.backend.k8s_namespace
    return stored.namespace


def _pool(workflow: WorkflowSpec, view: View, found: list[Problem], *, needs_keys: bool) -> ReadPool | None:
    """The pool that a workflow names; without a name the only one there is, or the one called default."""
    path = ("spec", "workflow", "pool")
    names = view.derive(pool_names)
    name = object_name(workflow.pool)
    if not name:
        name = DEFAULT if DEFAULT in names or len(names) != 1 else names[0]
    pool = view.derive(pool_named, name)
    if name in names and (pool is None or pool.problems):
        found.append(core.HAS_PROBLEMS.at(path, kind="Pool", name=name))
        return None
    if pool is not None:
        return pool
    if workflow.pool and (needs_keys or names):
        remedy = OneOf(name, names)
        found.append(core.NOT_FOUND.at(path, kind="pool", name=workflow.pool, remedy=remedy))
    elif needs_keys:
        found.append(sentences.KEYS_WITHOUT_POOL.at(path, remedy=OneOf("", names)))
    elif names:
        found.append(sentences.SEVERAL_POOLS.at(path, count=len(names), remedy=OneOf("", names)))
    return None


def _task_group(
    group: GivenGroup,
    stored: Stored[Workflow],
    templates: Mapping[str, TaskTemplate],
    pool: ReadPool | None,
    after: tuple[str, ...],
) -> TaskGroup:
    mark = digest(stored.namespace, stored.name, group.name)
    leads = [task.name for task in group.tasks if task.lead]
    lead = leads[0] if leads else group.tasks[0].name
    tasks = tuple(
        Task(
            task,
            templates[task.resource],
            task.name == lead,
            f"{fitted(task.name, _ROOM)}-{mark}",
            exit_actions(task.exit_actions, (), []),
        )
        for task in group.tasks
    )
    topology = pool.topology if pool is not None else None
    return TaskGroup(
        name=group.name,
        pod_group=f"{fitted(group.name, _ROOM)}-{mark}",
        tasks=tasks,
        tree=tree(
            [(task.given.name, task.template.requirements) for task in tasks],
            topology.levels if topology is not None else (),
        ),
        after=after,
        ignores_nonlead=group.ignores_nonlead,
    )
