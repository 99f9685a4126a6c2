"""Which groups of a workflow wait for which: those whose tasks take their input from tasks of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from closeknit.dialects.osmo.rules import GivenGroup
from closeknit.hub.problems import Choices, Problem
from closeknit.hub.sentences import core
from closeknit.hub.sentences import osmo as sentences

_OTHER_WORKFLOW = ":"
"""Stands in an input that names a task of a workflow that has ended before this one was written."""


def upstream(groups: Sequence[GivenGroup]) -> dict[str, tuple[str, ...]]:
    """By name of a group, the groups that it waits for, in the order in which it names them."""
    return {**dict.fromkeys([group.name for group in groups], ()), **_waiting(groups, _homes(groups))}


def input_problems(groups: Sequence[GivenGroup]) -> Iterator[Problem]:
    """Inputs from tasks that do not exist or that run at the same time, and groups that wait in a circle."""
    with_inputs = [group for group in groups if any(task.inputs for task in group.tasks)]
    if not with_inputs:
        return
    group_of = _homes(groups)
    choices = Choices(group_of)
    waiting: dict[str, tuple[str, ...]] = {}
    for group in with_inputs:
        own: frozenset[str] | None = None
        others: dict[str, None] = {}
        for i, j, name in _inputs(group):
            home = group_of.get(name)
            if home is not None and home != group.name:
                others[home] = None
                continue
            path = (*group.path_of(i), "inputs", j, "task")
            if home is not None:
                yield sentences.INPUT_FROM_OWN_GROUP.at(path, task=name, group=group.name)
                continue
            if own is None:
                own = frozenset(task.name for task in group.tasks if group_of[task.name] == group.name)
            remedy = choices.instead_of(name, but=own)
            yield core.NOT_FOUND.at(path, kind="task", name=name, remedy=remedy)
        waiting[group.name] = tuple(others)
    if _all_start(waiting):
        return
    try:
        order(waiting)
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        first = next(group for group in groups if group.name == circle[0])
        yield sentences.GROUPS_IN_A_CIRCLE.at((*first.path, "tasks"), groups=" waits for ".join(circle))


def _all_start(waits_for: Mapping[str, Sequence[str]]) -> bool:
    """Whether every group starts at some time; which do not, takes longer to find out."""
    left = {name: len(others) for name, others in waits_for.items() if others}
    followers: dict[str, list[str]] = {}
    for name, others in waits_for.items():
        for other in others:
            followers.setdefault(other, []).append(name)
    started = [name for name in followers if name not in left]
    for name in started:
        for follower in followers.get(name, ()):
            left[follower] -= 1
            if not left[follower]:
                started.append(follower)
    return not any(left.values())


def _homes(groups: Sequence[GivenGroup]) -> dict[str, str]:
    """By name of a task, its group."""
    return {task.name: group.name for group in groups for task in group.tasks}


def _waiting(groups: Sequence[GivenGroup], group_of: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        others = (home for _, _, name in _inputs(group) if (home := group_of.get(name)) is not None)
        found[group.name] = tuple(dict.fromkeys(home for home in others if home != group.name))
    return found


def order(waits_for: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The groups, each after those that it waits for; raises ``CycleError`` where that is impossible."""
    return tuple(TopologicalSorter(waits_for).static_order())


def _inputs(group: GivenGroup) -> Iterator[tuple[int, int, str]]:
    """The numbers of a task and of its input, and the task that the input comes from."""
    for i, task in enumerate(group.tasks):
        for j, each in enumerate(task.inputs):
            if each.task and _OTHER_WORKFLOW not in each.task:
                yield i, j, each.task
