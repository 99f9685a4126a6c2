"""The tree that a PodGroup's subgroups form by naming their parents, and the rules for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.hub.problems import Problem, as_told, between, nearest, shown, suggestion

DEEPEST = 64
"""How deep subgroups may nest. A topology has at most 16 levels, so more says nothing about closeness."""

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    """A subgroup in its place."""

    path: str
    given: wire.SubGroup

    @property
    def name(self) -> str:
        """Its name, unique within the PodGroup."""
        return self.given.name


@dataclass(frozen=True, slots=True)
class Tree:
    """Subgroups by name, and who is whose child; the empty name stands for the PodGroup itself.

    Complete only where ``problems`` is empty. Otherwise what stands twice is left
    out, and what has no valid parent counts as a child of the PodGroup.
    """

    parts: Mapping[str, Part]
    children: Mapping[str, tuple[str, ...]]
    problems: tuple[Problem, ...]

    def leaves(self, name: str = "") -> list[str]:
        """The subgroups below this one that have pods, sorted."""
        found, pending = [], list(self.children[name])
        while pending:
            inner = pending.pop()
            pending.extend(self.children[inner])
            if not self.children[inner]:
                found.append(inner)
        return sorted(found)


def tree(spec: wire.PodGroupSpec) -> Tree:
    """Read the subgroups of a PodGroup, under the spelling that its author used."""
    problems: list[Problem] = []
    if spec.sub_groups is not None and spec.subgroups is not None:
        problems.append(as_told("spec.subgroups", "This stands beside subGroups. Keep subGroups only."))
    field, given = "subGroups", spec.sub_groups
    if given is None and spec.subgroups is not None:
        field, given = "subgroups", spec.subgroups
    parts: dict[str, Part] = {}
    again: list[Part] = []
    for i, subgroup in enumerate(given or ()):
        part = Part(f"spec.{field}[{i}]", subgroup)
        problems.extend(_name_problems(part))
        if not part.name:
            continue
        first = parts.setdefault(part.name, part)
        if first is not part:
            message = f"{shown(part.name)} is already the name of {first.path}. Give each its own."
            problems.append(as_told(f"{part.path}.name", message))
            again.append(part)
    parents, lost = _parents(parts)
    children: dict[str, list[str]] = {name: [] for name in ("", *parts)}
    for name, parent in parents.items():
        children[parent].append(name)
    frozen = {name: tuple(inner) for name, inner in children.items()}
    problems.extend(lost)
    problems.extend(_depth_problems(parts, frozen))
    problems.extend(_root_minimum_problems(spec, frozen[""], field))
    # Who is named as a parent, or was probably meant, is not taken for a leaf on top of other mistakes.
    named = {subgroup.parent for subgroup in given or ()}
    meant = named | {nearest(name, parts) for name in named if name not in parts}
    for part in parts.values():
        problems.extend(_minimum_problems(part, frozen[part.name], looks_like_parent=part.name in meant))
    for part in again:
        # Whose the children are is not clear where a name stands twice, so nobody is told to have none.
        problems.extend(_unknown_parent(part, parts))
        problems.extend(_minimum_problems(part, (), looks_like_parent=part.name in meant))
    return Tree(parts, frozen, tuple(problems))


def _name_problems(part: Part) -> Iterator[Problem]:
    if len(part.name) > 63 or not _DNS_LABEL.fullmatch(part.name):
        yield as_told(
            f"{part.path}.name",
            f"{shown(part.name)} is not a valid name. Allowed are at most 63 lower-case letters, digits and"
            " dashes, with a letter or digit at both ends.",
        )


def _parents(parts: Mapping[str, Part]) -> tuple[dict[str, str], list[Problem]]:
    """The parent of each subgroup, and what is wrong with those that have none."""
    problems: list[Problem] = []
    parents: dict[str, str] = {}
    for name, part in parts.items():
        parents[name] = part.given.parent
        if unknown := list(_unknown_parent(part, parts)):
            problems.extend(unknown)
            parents[name] = ""
    settled = {""}
    for start in parts:
        trail: list[str] = []
        name = start
        while name not in settled and name not in trail:
            trail.append(name)
            name = parents[name]
        if name not in settled:
            circle = trail[trail.index(name) :]
            written = " > ".join(shown(step) for step in (*circle, name))
            message = f"These subgroups are each other's parents: {written}. Let one of them have no parent."
            problems.append(as_told(f"{parts[name].path}.parent", message))
            parents[name] = ""
        settled.update(trail)
    return parents, problems


def _unknown_parent(part: Part, parts: Mapping[str, Part]) -> Iterator[Problem]:
    if part.given.parent and part.given.parent not in parts:
        remedy = suggestion(part.given.parent, [other for other in parts if other != part.name])
        message = f"There is no subgroup {shown(part.given.parent)}. {remedy}"
        yield as_told(f"{part.path}.parent", message)


def _depth_problems(parts: Mapping[str, Part], children: Mapping[str, tuple[str, ...]]) -> Iterator[Problem]:
    row = list(children[""])
    for _ in range(DEEPEST):
        row = [inner for outer in row for inner in children[outer]]
    if row:
        message = f"Subgroups are nested more than {DEEPEST} deep here. Leave some of them out."
        yield as_told(f"{parts[row[0]].path}.parent", message)


def _root_minimum_problems(
    spec: wire.PodGroupSpec, children: tuple[str, ...], field: str
) -> Iterator[Problem]:
    yield from _both_or_negative("spec", spec.min_member, spec.min_sub_group)
    if spec.min_sub_group is not None and not children:
        yield as_told(
            "spec.minSubGroup", f"This counts subgroups, and there are none in {field}. Use minMember."
        )
    elif spec.min_sub_group is not None and spec.min_sub_group > len(children):
        yield _too_many("spec.minSubGroup", spec.min_sub_group, len(children))


def _minimum_problems(part: Part, children: tuple[str, ...], *, looks_like_parent: bool) -> Iterator[Problem]:
    """Leaves say how many pods must run at once; all others may say how many of their children."""
    given = part.given
    yield from _both_or_negative(part.path, given.min_member, given.min_sub_group)
    both = given.min_member is not None and given.min_sub_group is not None
    if children:
        if given.min_member is not None and not both:
            message = f"{shown(part.name)} has subgroups, and so no pods of its own. Use minSubGroup."
            yield as_told(f"{part.path}.minMember", message)
        if given.min_sub_group is not None and given.min_sub_group > len(children):
            yield _too_many(f"{part.path}.minSubGroup", given.min_sub_group, len(children))
    elif not looks_like_parent:
        if given.min_sub_group is not None and not both:
            message = f"No subgroup has {shown(part.name)} as its parent. Use minMember, which counts pods."
            yield as_told(f"{part.path}.minSubGroup", message)
        elif given.min_member is None:
            message = f"{shown(part.name)} needs minMember: how many of its pods must run at once."
            yield as_told(f"{part.path}.minMember", message)


def _both_or_negative(path: str, min_member: int | None, min_sub_group: int | None) -> Iterator[Problem]:
    if min_member is not None and min_sub_group is not None:
        message = "minMember, which counts pods, stands here as well. Only one of the two can be given."
        yield as_told(f"{path}.minSubGroup", message)
    for field, value in (("minMember", min_member), ("minSubGroup", min_sub_group)):
        if value is not None and value < 0:
            yield as_told(f"{path}.{field}", f"{value} is negative. Write zero or more.")


def _too_many(path: str, wanted: int, children: int) -> Problem:
    return as_told(path, f"{wanted} is more than there are children. {between(0, children)}")
