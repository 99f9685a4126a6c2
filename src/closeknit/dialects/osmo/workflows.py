"""Workflows: each group of tasks with the tree it forms, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Workflow
from closeknit.apis.osmo_workflow import TaskGroupSpec, TaskSpec, WorkflowSpec
from closeknit.dialects.manifests import Manifest
from closeknit.dialects.osmo.naming import digest, fitted, folded, is_name, object_name
from closeknit.dialects.osmo.pod_specs import node_terms, requests, shape
from closeknit.dialects.osmo.pools import Pools, ReadPool
from closeknit.dialects.osmo.requirements import (
    DEFAULT,
    PlacedWish,
    Resource,
    disagreements,
    resources,
    wishes,
)
from closeknit.dialects.osmo.tree import Tree, tree
from closeknit.dialects.pods import Shape
from closeknit.hub.problems import Problem, shown, suggestion

_MOST_LOOKED_UP = 20
_ROOM = 48
"""What of a task's name is kept in its pod's, so that the digest and a number of retries fit behind it."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What each task of one resource asks for."""

    wishes: Mapping[str, PlacedWish]
    requests: Mapping[str, str]
    """Quantities by resource name."""
    terms: Mapping[str, Any]
    """Fields of the pod's spec that say which nodes it accepts."""
    shape: Shape


@dataclass(frozen=True, slots=True)
class Task:
    """A task, what it asks for and who it becomes."""

    given: TaskSpec
    asking: Asking
    lead: bool
    pod: str
    """The name of its pod."""


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Tasks that run at the same time, and so become one PodGroup."""

    name: str
    pod_group: str
    """The name of the PodGroup."""
    tasks: tuple[Task, ...]
    tree: Tree


@dataclass(frozen=True, slots=True)
class ReadWorkflow:
    """A workflow; its groups are complete only where it has no problems."""

    pool: ReadPool | None
    groups: tuple[TaskGroup, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class _GivenGroup:
    path: str
    name: str
    tasks: tuple[tuple[str, TaskSpec], ...]
    """Each with its path."""


def read_workflow(manifest: Manifest[Workflow], pools: Pools) -> ReadWorkflow:
    """Read one workflow, with every problem in it."""
    file = manifest.content.spec
    found: list[Problem] = []
    defined = resources(file, found)
    groups = tuple(_groups(file.workflow, found))
    found.extend(_name_problems(file.workflow, groups))
    found.extend(_lead_problems(groups))
    needs_keys = any(one.given.topology for one in defined.values())
    pool = _pool(file.workflow, pools, found, needs_keys=needs_keys)
    reader = _Askings(pool)
    askings = {name: reader.read(one, found) for name, one in defined.items()}
    found.extend(_missing_resources(groups, defined))
    topology = pool.topology if pool is not None else None
    labels = topology.labels if topology is not None else ()
    for group in groups:
        names = dict.fromkeys(task.resource for _, task in group.tasks if task.resource in askings)
        found.extend(disagreements([askings[name].wishes for name in names], labels))
    if found or manifest.problems:
        return ReadWorkflow(pool, (), tuple(dict.fromkeys(found)))
    read = tuple(_task_group(group, manifest, askings, pool) for group in groups)
    return ReadWorkflow(pool, read, ())


def _groups(workflow: WorkflowSpec, found: list[Problem]) -> Iterator[_GivenGroup]:
    """The groups; a task that stands alone is a group of its own."""
    if workflow.groups and workflow.tasks:
        message = "This stands beside groups. Put the tasks into a group, or write tasks only."
        found.append(Problem("spec.workflow.tasks", message))
    if not workflow.groups and not workflow.tasks:
        found.append(Problem("spec.workflow.groups", "A workflow needs at least one group, or one task."))
    for i, group in enumerate(workflow.groups):
        path = f"spec.workflow.groups[{i}]"
        if not group.tasks:
            found.append(Problem(f"{path}.tasks", f"Group {shown(group.name)} needs at least one task."))
        yield _GivenGroup(path, group.name, _tasks(path, group))
    for i, task in enumerate(workflow.tasks):
        path = f"spec.workflow.tasks[{i}]"
        yield _GivenGroup(path, task.name, ((path, task),))


def _tasks(path: str, group: TaskGroupSpec) -> tuple[tuple[str, TaskSpec], ...]:
    return tuple((f"{path}.tasks[{j}]", task) for j, task in enumerate(group.tasks))


def _name_problems(workflow: WorkflowSpec, groups: Sequence[_GivenGroup]) -> Iterator[Problem]:
    """Names of groups and tasks must differ in the form that Kubernetes keeps of them."""
    named = [("spec.workflow", workflow.name)]
    taken: dict[str, str] = {}
    for group in groups:
        members = [(path, task.name) for path, task in group.tasks if path != group.path]
        for path, name in ((group.path, group.name), *members):
            named.append((path, name))
            first = taken.setdefault(folded(name), path)
            if first != path:
                taken_by = f"{shown(name)} is already the name of {first.removeprefix('spec.')}."
                message = f'{taken_by} Give each its own; capitals do not count, and "_" is the same as "-".'
                yield Problem(f"{path}.name", message)
    for path, name in named:
        if not is_name(name):
            yield Problem(
                f"{path}.name",
                f"{shown(name)} is not a valid name. Allowed are letters, digits, '-' and '_', with a letter"
                " at the start and a letter or digit at the end.",
            )


def _missing_resources(groups: Sequence[_GivenGroup], defined: Mapping[str, Resource]) -> Iterator[Problem]:
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
            yield Problem(f"{path}.resource", message)


def _lead_problems(groups: Sequence[_GivenGroup]) -> Iterator[Problem]:
    for group in groups:
        leads = [path for path, task in group.tasks if task.lead]
        for path in leads[1:]:
            first = leads[0].removeprefix("spec.")
            message = f"{first} leads group {shown(group.name)} already. A group has one lead."
            yield Problem(f"{path}.lead", message)


def _pool(workflow: WorkflowSpec, pools: Pools, found: list[Problem], *, needs_keys: bool) -> ReadPool | None:
    """The pool that a workflow names; without a name the only one there is, or the one called default."""
    path = "spec.workflow.pool"
    known = {*pools.read, *pools.unreadable}
    name = object_name(workflow.pool)
    if not name:
        name = DEFAULT if DEFAULT in known or len(known) != 1 else next(iter(known))
    if name in pools.unreadable or (name in pools.read and pools.read[name].problems):
        found.append(Problem(path, f"Pool {shown(name)} has problems of its own. Correct them first."))
        return None
    if name in pools.read:
        return pools.read[name]
    if workflow.pool and (needs_keys or known):
        found.append(Problem(path, f"There is no pool {shown(workflow.pool)}. {suggestion(name, known)}"))
    elif needs_keys:
        message = "The workflow names topology keys, so it must name the pool that defines them."
        found.append(Problem(path, f"{message} {suggestion('', known)}"))
    return None


class _Askings:
    """Reads what resources ask for; most of them ask for the same, which is then worked out once."""

    def __init__(self, pool: ReadPool | None) -> None:
        self._pool = pool
        self._worked_out: dict[Hashable, tuple[dict[str, str], dict[str, Any], Shape]] = {}

    def read(self, resource: Resource, found: list[Problem]) -> Asking:
        given = resource.given
        amounts = tuple(str(each) for each in (given.cpu, given.gpu, given.memory, given.storage))
        key = (amounts, given.platform, tuple(given.nodes_excluded))
        before = len(found)
        if (known := self._worked_out.get(key)) is None:
            asked = requests(resource, self._pool, found)
            terms = node_terms(resource, self._pool, found)
            known = asked, terms, shape(asked, terms)
            # A mistake is told wherever it stands, so only what is right is remembered.
            if len(found) == before:
                self._worked_out[key] = known
        return Asking(wishes(resource, self._pool, found), *known)


def _task_group(
    group: _GivenGroup, manifest: Manifest[Workflow], askings: Mapping[str, Asking], pool: ReadPool | None
) -> TaskGroup:
    mark = digest(manifest.namespace, manifest.name, group.name)
    leads = [task.name for _, task in group.tasks if task.lead]
    lead = leads[0] if leads else group.tasks[0][1].name
    tasks = tuple(
        Task(task, askings[task.resource], task.name == lead, f"{fitted(task.name, _ROOM)}-{mark}")
        for _, task in group.tasks
    )
    topology = pool.topology if pool is not None else None
    by_resource = {
        name: {label: placed.wish for label, placed in asking.wishes.items()}
        for name, asking in askings.items()
    }
    return TaskGroup(
        name=group.name,
        pod_group=f"{fitted(group.name, _ROOM)}-{mark}",
        tasks=tasks,
        tree=tree(
            [(task.given.name, by_resource[task.given.resource]) for task in tasks],
            topology.levels if topology is not None else (),
        ),
    )
