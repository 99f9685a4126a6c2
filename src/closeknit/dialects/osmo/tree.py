"""The tree of subgroups that tasks form by their topology requirements.

Levels that all tasks share become the constraint of the whole; from the first branch
on every level is a row of subgroups. All leaves lie equally deep, because a scheduler
that knows subgroups forgets pods that are in none: a task that says nothing about
the finer levels is padded with preferences, one that says nothing at all is caught by
a subgroup of its own kind, and a coarser level that a task leaves out is an empty step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from closeknit.dialects.core.levels import Levels
from closeknit.dialects.osmo.naming import folded, unique_names
from closeknit.hub.paths import Path
from closeknit.hub.topology import Level

CATCH_ALL = "catch-all"
"""What a subgroup is called that nobody asked for."""
ANYWHERE = "anywhere"
"""What a step is called for tasks that leave out a level, but name a finer one."""


class GroupRequirement(NamedTuple):
    """The group that a task joins at one level, and whether the group must or should share a domain."""

    group: str
    required: bool = True
    key: str = ""
    """As its author names the level."""
    path: Path = ()
    """The entry of ``topology`` that it was written in."""


Requirements: TypeAlias = Mapping[str, GroupRequirement]
"""A task's requirements by node label."""


@dataclass(frozen=True, slots=True)
class Subgroup:
    """Part of the tree. A leaf has tasks, any other has children."""

    name: str
    parent: str
    """Empty where it hangs below the whole."""
    levels: Levels
    tasks: tuple[str, ...] = ()
    children: int = 0


@dataclass(frozen=True, slots=True)
class Tree:
    """All tasks of a group in their places."""

    levels: Levels
    """What holds for all of them."""
    subgroups: tuple[Subgroup, ...]
    """Parents before their children; none where all tasks share all levels."""

    def subgroup_of(self) -> dict[str, str]:
        """The name of each task's leaf; empty where there are no subgroups."""
        return {task: subgroup.name for subgroup in self.subgroups for task in subgroup.tasks}


class _Step(NamedTuple):
    """One level of a task's way down. Named groups sort first, and what nobody asked for last."""

    filled: int
    group: str
    required: bool


_OPEN = _Step(1, "", required=False)
_PADDED = _Step(2, "", required=False)

_Path: TypeAlias = tuple[_Step, ...]


def tree(tasks: Sequence[tuple[str, Requirements]], levels: Sequence[Level]) -> Tree:
    """Build the tree. ``levels`` are all that exist, coarsest first; those that no task names play no part.

    Tasks of one group agree on whether it is required; who calls this has made sure.
    """
    named = {label for _, requirements in tasks for label in requirements}
    at_play = [level for level in levels if level.label in named]
    members: dict[_Path, list[str]] = {}
    paths: dict[int, _Path] = {}
    for task, requirements in tasks:
        # Tasks of one resource share their requirements, so their path is computed once.
        if (path := paths.get(id(requirements))) is None:
            path = paths[id(requirements)] = _path(requirements, at_play)
        members.setdefault(path, []).append(task)
    children: dict[_Path, set[_Path]] = {}
    for path in members:
        for depth in range(len(path)):
            children.setdefault(path[:depth], set()).add(path[: depth + 1])
    shared: _Path = ()
    while len(below := children.get(shared, set())) == 1:
        (shared,) = below
    names = _names([*children, *members], len(shared), at_play)
    return Tree(
        levels=_shared(shared, at_play),
        subgroups=tuple(
            Subgroup(
                name=name,
                parent=names.get(path[:-1], ""),
                levels=_levels(path[-1], at_play[len(path) - 1]),
                tasks=tuple(members.get(path, ())),
                children=len(children.get(path, ())),
            )
            for path, name in sorted(names.items())
        ),
    )


def _path(requirements: Requirements, at_play: Sequence[Level]) -> _Path:
    finest = max((depth for depth, level in enumerate(at_play) if level.label in requirements), default=-1)
    steps = []
    for depth, level in enumerate(at_play):
        own = requirements.get(level.label)
        if own is not None:
            steps.append(_Step(0, own.group, required=own.required))
        else:
            steps.append(_OPEN if depth < finest else _PADDED)
    return tuple(steps)


def _levels(step: _Step, level: Level) -> Levels:
    if step == _OPEN:
        return Levels()
    return Levels(required=level.label) if step.required else Levels(preferred=level.label)


def _shared(path: _Path, at_play: Sequence[Level]) -> Levels:
    """What levels in a row come to: the finest that is required, and a preference if it is finer still."""
    found = Levels()
    for step, level in zip(path, at_play, strict=False):
        found = Levels(level.label) if step.required else Levels(found.required, level.label)
    return found


def _names(paths: Sequence[_Path], shared: int, at_play: Sequence[Level]) -> dict[_Path, str]:
    """A name for every subgroup: the groups on the way down to it, those that all tasks share left out."""
    own = {path for path in paths if len(path) > shared}
    return unique_names({path: "-".join(_words(path, shared, at_play)) for path in own})


def _words(path: _Path, shared: int, at_play: Sequence[Level]) -> Iterator[str]:
    for depth in range(shared, len(path)):
        step = path[depth]
        if step == _OPEN:
            yield ANYWHERE
        elif step != _PADDED:
            yield folded(step.group) or "group"
        elif depth == shared or path[depth - 1] != _PADDED:
            yield CATCH_ALL
        else:
            yield folded(at_play[depth].name or at_play[depth].label)
