"""What OSMO allows: topology keys of a pool, priorities, quantities, groups and tasks of a workflow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import NamedTuple

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import TaskSpec, TopologyKey, Workflow, WorkflowSpec
from closeknit.apis.wire import Quantity
from closeknit.dialects.core.naming import is_label_key
from closeknit.dialects.osmo.exit_actions import exit_actions
from closeknit.dialects.osmo.naming import (
    PRIORITIES,
    PRIORITY_LABEL,
    all_folded,
    are_names,
    folded,
    is_name,
)
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.wire.decoding import found as worded
from closeknit.hub import quantities
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Choices, Field, InvalidError, OneOf, Problem
from closeknit.hub.sentences import core, wire
from closeknit.hub.sentences import osmo as sentences
from closeknit.hub.topology import HOSTNAME

MOST_KEYS = 16
"""As many levels as a KAI Topology has."""
MOST_LABELS = 16
"""As many as OSMO keeps of a workflow."""

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_KEYS: Path = ("spec", "topology_keys")
_WORKFLOW: Path = ("spec", "workflow")
_MOST_LOOKED_UP = 20
_TEXT: AbstractSet[type] = {str, int, float}
_VALUE: AbstractSet[type] = {*_TEXT, bool}
_LONGEST_NAME = 253
"""What Kubernetes allows for the object that a workflow is."""


def key_problems(keys: Sequence[TopologyKey]) -> Iterator[Problem]:
    """Everything about the keys that users would stumble over, or that KAI would refuse in the Topology."""
    if len(keys) > MOST_KEYS:
        yield sentences.TOO_MANY_KEYS.at(_KEYS, count=len(keys), most=MOST_KEYS)
    words: dict[str, int] = {}
    labels: dict[str, int] = {}
    first_labels = {one.label: i for i, one in reversed(list(enumerate(keys)))}
    for i, one in enumerate(keys):
        path = (*_KEYS, i)
        for field, text in (("key", one.key), ("label", one.label)):
            if not is_label_key(text):
                yield sentences.NOT_A_KEY.at((*path, field), value=text)
        if (first := words.setdefault(one.key, i)) != i:
            yield _twice("key", one.key, i, first)
        elif first_labels.get(one.key, i) != i:
            other = Field((*_KEYS, first_labels[one.key]))
            yield sentences.KEY_IS_A_LABEL.at((*path, "key"), key=one.key, field=other)
        if (first := labels.setdefault(one.label, i)) != i:
            yield _twice("label", one.label, i, first)
        if one.label == HOSTNAME and i != len(keys) - 1:
            yield sentences.HOSTNAME_NOT_LAST.at((*path, "label"), label=HOSTNAME)


def _twice(what: str, value: str, own: int, first: int) -> Problem:
    other = Field((*_KEYS, first))
    return sentences.KEY_TWICE.at((*_KEYS, own, what), value=value, what=what, field=other)


def priority_of(stored: Stored[Workflow], found: list[Problem]) -> str:
    """``high``, ``normal`` or ``low``, by the label of the object; empty where it has none.

    A workflow's file does not say how urgent it is; whoever submits it does.
    """
    written = stored.content.metadata.labels.get(PRIORITY_LABEL, "")
    priority = written.lower()
    if priority and priority not in PRIORITIES:
        path = ("metadata", "labels", PRIORITY_LABEL)
        remedy = OneOf.among(written, PRIORITIES)
        found.append(sentences.UNKNOWN_PRIORITY.at(path, value=written, remedy=remedy))
    return priority


GPU = "nvidia.com/gpu"
RESOURCES = {"cpu": "cpu", "gpu": GPU, "memory": "memory", "storage": "ephemeral-storage"}
"""What a task may ask for, and what Kubernetes calls it."""

_SUFFIXES = {"TiB": "Ti", "GiB": "Gi", "MiB": "Mi", "KiB": "Ki", "K": "Ki", "B": ""}
"""OSMO's units that Kubernetes does not know. The others go into the pod as they are, and mean there what
Kubernetes takes them for: "1G" is a thousand million bytes."""
_IN_BYTES = ("memory", "storage")
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}(\.0+)?", re.ASCII)
_WITH_UNIT = re.compile(rf"([0-9]+(?:\.[0-9]+)?)({'|'.join(_SUFFIXES)})", re.ASCII)


def quantity(field: str, written: Quantity) -> str:
    """What a pod writes to ask for as much; raises ``InvalidError``."""
    meant = written
    if field in _IN_BYTES and (found := _WITH_UNIT.fullmatch(str(written))):
        meant = f"{found[1]}{_SUFFIXES[found[2]]}"
    quantities.amount(RESOURCES[field], meant)
    return str(meant)


def whole_cpus(written: Quantity) -> str:
    """The same for CPUs, of which OSMO counts whole ones."""
    text = quantity("cpu", written)
    if quantities.amount("cpu", text) % quantities.units("cpu"):
        raise InvalidError([sentences.FRACTION_OF_CPU.at((), value=written)])
    return text


def whole_gpus(written: Quantity) -> str:
    """The same for GPUs; OSMO reads a number in quotes as the number."""
    return quantity("gpu", whole(written))


def whole(written: Quantity) -> int:
    """A whole number, in quotes or without; raises ``InvalidError``."""
    text = str(written).strip()
    if not _INTEGER.fullmatch(text):
        remedy = " It looks like a template. Fill it in first." if "{{" in text else ""
        facts = {"found": worded(written), "expected": "a whole number", "remedy": remedy}
        raise InvalidError([wire.WRONG_TYPE.at((), **facts)])
    return int(float(text))


class GivenGroup(NamedTuple):
    """A group of tasks in its place."""

    number: int
    """Among the groups; of a task that stands alone, among the tasks."""
    name: str
    tasks: Sequence[TaskSpec]
    ignores_nonlead: bool = True
    """Whether only its lead decides how it ends."""
    alone: bool = False
    """Whether it is a task that stands alone."""

    @property
    def path(self) -> Path:
        """Where it is written."""
        return (*_WORKFLOW, "tasks" if self.alone else "groups", self.number)

    def path_of(self, task: int) -> Path:
        """Where one of its tasks is written."""
        return self.path if self.alone else (*self.path, "tasks", task)

    def named(self) -> Iterator[tuple[str, Path]]:
        """Its own name and those of its tasks, each with what carries it."""
        if not self.alone:
            yield self.name, self.path
        yield from ((task.name, self.path_of(i)) for i, task in enumerate(self.tasks))


def given_groups(workflow: WorkflowSpec, found: list[Problem]) -> Iterator[GivenGroup]:
    """The groups; a task that stands alone is a group of its own."""
    if workflow.groups and workflow.tasks:
        found.append(sentences.TASKS_BESIDE_GROUPS.at((*_WORKFLOW, "tasks")))
    if not workflow.groups and not workflow.tasks:
        found.append(sentences.NO_TASKS.at((*_WORKFLOW, "groups")))
    groups = enumerate(workflow.groups)
    made = [GivenGroup(i, each.name, each.tasks, each.ignore_nonlead_status) for i, each in groups]
    empty = (
        sentences.EMPTY_GROUP.at((*each.path, "tasks"), group=each.name) for each in made if not each.tasks
    )
    found.extend(first_of(empty))
    yield from made
    yield from (GivenGroup(i, task.name, (task,), alone=True) for i, task in enumerate(workflow.tasks))


def name_problems(workflow: WorkflowSpec, groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """Names of groups and tasks must differ in the form that Kubernetes keeps of them."""
    names = [group.name for group in groups if not group.alone]
    names += [task.name for group in groups for task in group.tasks]
    if names and len(set(all_folded(names))) < len(names):
        taken: dict[str, Path] = {}
        for name, path in (each for group in groups for each in group.named()):
            if (first := taken.setdefault(folded(name), path)) is not path:
                yield sentences.NAME_TAKEN.at((*path, "name"), name=name, field=Field(first))
    if len(workflow.name) > _LONGEST_NAME:
        length = len(workflow.name)
        yield sentences.NAME_TOO_LONG.at((*_WORKFLOW, "name"), length=length, most=_LONGEST_NAME)
    if not are_names([workflow.name, *names]):
        every = chain([(workflow.name, _WORKFLOW)], *(group.named() for group in groups))
        for name, path in every:
            if not is_name(name):
                yield sentences.NOT_A_NAME.at((*path, "name"), name=name)


def missing_resources(groups: Sequence[GivenGroup], defined: Mapping[str, object]) -> Iterator[Problem]:
    """Tasks whose resource is not there. What was meant is looked up for a few names only: it takes long."""
    if {task.resource for group in groups for task in group.tasks} <= defined.keys():
        return
    choices, looked_up = Choices(defined), dict[str, OneOf]()
    for group in groups:
        for i, task in enumerate(group.tasks):
            if (name := task.resource) in defined:
                continue
            where = (*group.path_of(i), "resource")
            if name not in looked_up and len(looked_up) < _MOST_LOOKED_UP:
                looked_up[name] = choices.instead_of(name)
            if name in looked_up:
                yield core.NOT_FOUND.at(where, kind="resource", name=name, remedy=looked_up[name])
            else:
                yield sentences.UNDEFINED_RESOURCE.at(where, resource=name)


def text_problems(groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """A task's words are strings or numbers; in its environment truth values will do as well."""
    tasks = [task for group in groups for task in group.tasks]
    words = chain.from_iterable([part for task in tasks for part in (task.command, task.args) if part])
    values = chain.from_iterable([task.environment.values() for task in tasks if task.environment])
    if set(map(type, words)) <= _TEXT and set(map(type, values)) <= _VALUE:
        return
    for group in groups:
        for j, task in enumerate(group.tasks):
            for field, parts in (("command", task.command), ("args", task.args)):
                for i, word in enumerate(parts):
                    if type(word) not in _TEXT:
                        yield _no_text((*group.path_of(j), field, i), word)
            for name, value in task.environment.items():
                if type(value) not in _VALUE:
                    yield _no_text((*group.path_of(j), "environment", name), value)


def _no_text(path: Path, value: object) -> Problem:
    return sentences.STRING_EXPECTED.at(path, found=worded(value))


def label_problems(labels: Mapping[str, str]) -> Iterator[Problem]:
    """The labels of a workflow, which its pods get, are such as Kubernetes allows, and not empty."""
    path = (*_WORKFLOW, "labels")
    if len(labels) > MOST_LABELS:
        yield sentences.TOO_MANY_LABELS.at(path, count=len(labels), most=MOST_LABELS)
    for key, value in labels.items():
        if not is_label_key(key):
            yield sentences.NOT_A_KEY.at((*path, key), value=key)
        if not _LABEL_VALUE.fullmatch(value):
            yield sentences.NOT_A_LABEL_VALUE.at((*path, key), value=value)


def lead_problems(groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """A group has one lead at most; where none says so, the first task is taken."""
    for group in groups:
        if len(group.tasks) > 1:
            first, *others = [i for i, task in enumerate(group.tasks) if task.lead] or [0]
            for i in others:
                field = Field(group.path_of(first))
                yield sentences.TWO_LEADS.at((*group.path_of(i), "lead"), field=field, group=group.name)


def exit_problems(groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """What is wrong with the exit actions of tasks."""
    for group in groups:
        for i, task in enumerate(group.tasks):
            if task.exit_actions:
                found: list[Problem] = []
                exit_actions(task.exit_actions, (*group.path_of(i), "exitActions"), found)
                yield from found
