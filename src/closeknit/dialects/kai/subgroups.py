"""The tree that a PodGroup's subgroups form by naming their parents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem, shown
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kai as sentences

DEEPEST = 64
"""How deep subgroups may nest. A topology has at most 16 levels, so deeper groups can be no closer."""
LONGEST_NAME = 63

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class SubGroup:
    """A subgroup, and where it stands in its PodGroup."""

    path: Path
    given: wire.SubGroup

    @property
    def name(self) -> str:
        """Its name, unique within the PodGroup."""
        return self.given.name


@dataclass(frozen=True, slots=True)
class Tree:
    """Subgroups by name, and who is whose child; the empty name stands for the PodGroup itself.

    Where problems were found, what stands twice is left out, and what has no valid parent counts as a
    child of the PodGroup.
    """

    field: str
    """The spelling that the author used."""
    subgroups: Mapping[str, SubGroup]
    children: Mapping[str, tuple[str, ...]]
    repeated: tuple[SubGroup, ...]
    """Those whose name an earlier one has already."""
    named: frozenset[str]
    """Every name in a field ``parent``, be it there or not."""

    def leaves(self, name: str = "") -> list[str]:
        """The subgroups below this one that have pods, sorted."""
        found, pending = [], list(self.children[name])
        while pending:
            inner = pending.pop()
            pending.extend(self.children[inner])
            if not self.children[inner]:
                found.append(inner)
        return sorted(found)

    def walk(self) -> Iterator[tuple[str, str | None]]:
        """Every name with its parent's, the PodGroup itself included, parents first."""
        pending: list[tuple[str, str | None]] = [("", None)]
        while pending:
            name, parent = pending.pop()
            yield name, parent
            pending.extend((child, name) for child in reversed(self.children[name]))


def tree(spec: wire.PodGroupSpec, found: list[Problem]) -> Tree:
    """The subgroups of a PodGroup, under the spelling that its author used."""
    if spec.sub_groups is not None and spec.subgroups is not None:
        found.append(sentences.TWO_SPELLINGS.at(("spec", "subgroups")))
    field, given = "subGroups", spec.sub_groups
    if given is None and spec.subgroups is not None:
        field, given = "subgroups", spec.subgroups
    subgroups: dict[str, SubGroup] = {}
    repeated: list[SubGroup] = []
    for i, each in enumerate(given or ()):
        subgroup = SubGroup(("spec", field, i), each)
        found.extend(name_problems(subgroup.name, (*subgroup.path, "name")))
        if not subgroup.name:
            continue
        first = subgroups.setdefault(subgroup.name, subgroup)
        if first is not subgroup:
            path = (*subgroup.path, "name")
            found.append(core.NAME_TAKEN.at(path, name=subgroup.name, field=Field(first.path)))
            repeated.append(subgroup)
    children: dict[str, list[str]] = {name: [] for name in ("", *subgroups)}
    for name, parent in _parents(subgroups, found).items():
        children[parent].append(name)
    made = Tree(
        field,
        subgroups,
        {name: tuple(inner) for name, inner in children.items()},
        tuple(repeated),
        frozenset(each.parent for each in given or ()),
    )
    found.extend(_depth_problems(made))
    return made


def name_problems(name: str, path: Path, longest: int = LONGEST_NAME) -> Iterator[Problem]:
    """A subgroup's name is the value of a label of its pods."""
    if len(name) > longest or not _DNS_LABEL.fullmatch(name):
        yield sentences.NOT_A_SUBGROUP_NAME.at(path, name=name, longest=longest)


def parent_problems(subgroup: SubGroup, subgroups: Mapping[str, SubGroup]) -> Iterator[Problem]:
    """A parent must be there."""
    parent = subgroup.given.parent
    if parent and parent not in subgroups:
        others = OneOf.among(parent, [name for name in subgroups if name != subgroup.name])
        yield core.NOT_FOUND.at((*subgroup.path, "parent"), kind="subgroup", name=parent, remedy=others)


def _parents(subgroups: Mapping[str, SubGroup], found: list[Problem]) -> dict[str, str]:
    """The parent of each subgroup."""
    parents: dict[str, str] = {}
    for name, subgroup in subgroups.items():
        parents[name] = subgroup.given.parent
        if unknown := list(parent_problems(subgroup, subgroups)):
            found.extend(unknown)
            parents[name] = ""
    settled = {""}
    for start in subgroups:
        trail: dict[str, None] = {}
        name = start
        while name not in settled and name not in trail:
            trail[name] = None
            name = parents[name]
        if name not in settled:
            steps = list(trail)
            circle = " > ".join(shown(step) for step in (*steps[steps.index(name) :], name))
            path = (*subgroups[name].path, "parent")
            found.append(sentences.CIRCLE_OF_SUBGROUPS.at(path, circle=circle))
            parents[name] = ""
        settled.update(trail)
    return parents


def _depth_problems(made: Tree) -> Iterator[Problem]:
    row = list(made.children[""])
    depth = 0
    while row and depth < DEEPEST:
        row = [inner for outer in row for inner in made.children[outer]]
        depth += 1
    if row:
        path = (*made.subgroups[row[0]].path, "parent")
        yield sentences.SUBGROUPS_TOO_DEEP.at(path, deepest=DEEPEST)
