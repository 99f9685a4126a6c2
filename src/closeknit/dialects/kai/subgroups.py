"""The tree that a PodGroup's subgroups form by naming their parents."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.dialects.core.naming import all_match
from closeknit.hub.copying import replace
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Choices, Field, Problem, shown
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kai as sentences

DEEPEST = 64
"""How deep subgroups may nest. A topology has at most 16 levels, so deeper groups can be no closer."""
LONGEST_NAME = 63

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_MOST_LOOKED_UP = 20
"""Of how many parents that are not there it is looked up who was meant."""
_LONGEST_CIRCLE = 16
"""How many of the subgroups of a circle are named."""


@dataclass(frozen=True)
class Tree:
    """Subgroups by name, and who is whose child; the empty name stands for the PodGroup itself.

    Where problems were found, what stands twice is left out, and what has no valid parent counts as a
    child of the PodGroup.
    """

    field: str
    """The spelling that the author used."""
    subgroups: Mapping[str, wire.SubGroup]
    children: Mapping[str, tuple[str, ...]]
    given: Sequence[wire.SubGroup] = ()
    """All of them, as they are written."""
    repeated: tuple[int, ...] = ()
    """Places of those whose name an earlier one has already."""

    @cached_property
    def meant(self) -> AbstractSet[str | None]:
        """Who is named as a parent, or was probably meant.

        They are not taken for leaves on top of other mistakes.
        """
        named = {each.parent for each in self.given}
        unknown = sorted(named - self.subgroups.keys())
        return named | {self.choices.nearest(name) for name in unknown[:_MOST_LOOKED_UP]}

    @cached_property
    def choices(self) -> Choices:
        """What a parent may be."""
        return Choices(self.subgroups)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        if len(self.subgroups) == len(self.given):
            return dict(zip(self.subgroups, count(), strict=False))
        return {each.name: i for i, each in reversed(list(enumerate(self.given)))}

    def path(self, name: str, *steps: str) -> Path:
        """Where a subgroup is written, or a field of it."""
        return (*self.place(self._places[name]), *steps) if name else ("spec", *steps)

    def place(self, index: int) -> Path:
        """Where the subgroup with this number is written."""
        return ("spec", self.field, index)

    def leaves(self, name: str = "") -> list[str]:
        """The subgroups below this one that have pods, sorted."""
        children = self.children
        return sorted([each for row in self.rows(name) for each in row if not children[each]])

    def rows(self, name: str = "") -> Iterator[tuple[str, ...]]:
        """The children of a subgroup, then theirs, and so on."""
        row = self.children[name]
        while row:
            yield row
            row = tuple(chain.from_iterable(map(self.children.__getitem__, row)))

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
    field, given = "subGroups", spec.sub_groups or ()
    if spec.sub_groups is None and spec.subgroups is not None:
        field, given = "subgroups", spec.subgroups
    subgroups = {each.name: each for each in given}
    repeated: tuple[int, ...] = ()
    if len(subgroups) < len(given) or not all_match(_NAME, subgroups):
        subgroups, repeated = _well_named(field, given, found)
    made = Tree(field, subgroups, {}, given, repeated)
    named = {name: parent for name, each in subgroups.items() if (parent := each.parent)}
    parents = {name: parent for name, parent in named.items() if parent in subgroups}
    if len(parents) < len(named):
        strange = (name for name in named if name not in parents)
        wrong = (parent_problems(made, subgroups[name], made.path(name)) for name in strange)
        found.extend(first_of(chain.from_iterable(wrong)))
    made = replace(made, children=_children(subgroups, parents))
    rows = list(made.rows())
    if sum(map(len, rows)) < len(subgroups):
        # Whoever is not below the PodGroup is in a circle, or below one.
        found.extend(first_of(_without_circles(made, parents)))
        made = replace(made, children=_children(subgroups, parents))
        rows = list(made.rows())
    if len(rows) > DEEPEST:
        deepest = made.path(rows[DEEPEST][0], "parent")
        found.append(sentences.SUBGROUPS_TOO_DEEP.at(deepest, deepest=DEEPEST))
    return made


def _children(
    subgroups: Mapping[str, wire.SubGroup], parents: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Who is whose child; those without a parent are children of the PodGroup."""
    inner: dict[str, list[str]] = {}
    for name, parent in parents.items():
        inner.setdefault(parent, []).append(name)
    outer = tuple(name for name in subgroups if name not in parents) if parents else tuple(subgroups)
    children = {**dict.fromkeys(subgroups, ()), **{name: tuple(each) for name, each in inner.items()}}
    return {"": outer, **children}


def _well_named(
    field: str, given: Sequence[wire.SubGroup], found: list[Problem]
) -> tuple[dict[str, wire.SubGroup], tuple[int, ...]]:
    """The first subgroup of each name, and where others of the same names stand."""
    first: dict[str, int] = {}
    repeated: list[int] = []

    def problems() -> Iterator[Problem]:
        for i, each in enumerate(given):
            path = ("spec", field, i, "name")
            yield from name_problems(each.name, path)
            if each.name and first[each.name] != i:
                other = Field(("spec", field, first[each.name]))
                yield core.NAME_TAKEN.at(path, name=each.name, field=other)

    for i, each in enumerate(given):
        if each.name and first.setdefault(each.name, i) != i:
            repeated.append(i)
    found.extend(first_of(problems()))
    return {name: given[i] for name, i in first.items()}, tuple(repeated)


def are_names(names: Collection[str], longest: int = LONGEST_NAME) -> bool:
    """Whether none of these has a problem as the name of a subgroup."""
    return all_match(_NAME, names) and all(len(name) <= longest for name in names)


def name_problems(name: str, path: Path, longest: int = LONGEST_NAME) -> Iterator[Problem]:
    """A subgroup's name is the value of a label of its pods."""
    if len(name) > longest or not _NAME.fullmatch(name):
        yield sentences.NOT_A_SUBGROUP_NAME.at(path, name=name, longest=longest)


def parent_problems(made: Tree, given: wire.SubGroup, path: Path) -> Iterator[Problem]:
    """A parent must be there."""
    if given.parent and given.parent not in made.subgroups:
        others = made.choices.instead_of(given.parent, but=frozenset({given.name}))
        yield core.NOT_FOUND.at((*path, "parent"), kind="subgroup", name=given.parent, remedy=others)


def _without_circles(made: Tree, parents: dict[str, str]) -> Iterator[Problem]:
    """Break circles of parents."""
    circles: list[list[str]] = []
    settled = made.subgroups.keys() - parents.keys()
    for start in list(parents):
        trail: dict[str, None] = {}
        name = start
        while name not in settled and name not in trail:
            trail[name] = None
            name = parents[name]
        if name not in settled:
            steps = list(trail)
            circles.append(steps[steps.index(name) :])
            del parents[name]
        settled.update(trail)
    for circle in circles:
        path, first = made.path(circle[0], "parent"), shown(circle[0])
        steps = [*map(shown, circle[:_LONGEST_CIRCLE]), *(["…"] if len(circle) > _LONGEST_CIRCLE else ())]
        yield sentences.CIRCLE_OF_SUBGROUPS.at(path, circle=" > ".join([*steps, first]))
