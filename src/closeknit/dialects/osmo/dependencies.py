"""Which groups of a workflow wait for which: those whose tasks take their input from tasks of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from closeknit.dialects.osmo.rules import GivenGroup
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem
from closeknit.hub.sentences import core
from closeknit.hub.sentences import osmo as sentences

_OTHER_WORKFLOW = ":"
"""Stands in an input that names a task of a workflow that has ended before this one was written."""


def upstream(groups: Sequence[GivenGroup]) -> dict[str, tuple[str, ...]]:
    """By name of a group, the groups that it waits for, in the order in which it names them."""
    group_of = {task.name: group.name for group in groups for _, task in group.tasks}
    return {
        group.name: tuple(
            dict.fromkeys(
                group_of[name]
                for _, name in _inputs(group)
                if name in group_of and group_of[name] != group.name
            )
        )
        for group in groups
    }


def input_problems(groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """Inputs from tasks that do not exist or that run at the same time, and groups that wait in a circle."""
    group_of = {task.name: group.name for group in groups for _, task in group.tasks}
    for group in groups:
        for path, name in _inputs(group):
            if name not in group_of:
                remedy = OneOf.among(name, [task for task, home in group_of.items() if home != group.name])
                yield core.NOT_FOUND.at(path, kind="task", name=name, remedy=remedy)
            elif group_of[name] == group.name:
                yield sentences.INPUT_FROM_OWN_GROUP.at(path, task=name, group=group.name)
    try:
        order(upstream(groups))
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        first = next(group for group in groups if group.name == circle[0])
        yield sentences.GROUPS_IN_A_CIRCLE.at((*first.path, "tasks"), groups=" waits for ".join(circle))


def order(waits_for: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The groups, each after those that it waits for; raises ``CycleError`` where that is impossible."""
    return tuple(TopologicalSorter(waits_for).static_order())


def _inputs(group: GivenGroup) -> Iterator[tuple[Path, str]]:
    for path, task in group.tasks:
        for i, each in enumerate(task.inputs):
            if each.task and _OTHER_WORKFLOW not in each.task:
                yield (*path, "inputs", i, "task"), each.task
