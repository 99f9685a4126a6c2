"""The topology requirements of a workflow's resources, as wishes about levels of its pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis.osmo_workflow import ResourceSpec, TopologyRequirement, WorkflowFile
from closeknit.dialects.osmo.pools import ReadPool
from closeknit.dialects.osmo.tree import Wish
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem, shown
from closeknit.hub.sentences import osmo as sentences

DEFAULT = "default"
"""The resource of a task that names none."""
TYPES = {"required": True, "preferred": False}
LONGEST_GROUP = 253

_INSIDE: Path = ("spec", "workflow", "resources")
_BESIDE: Path = ("spec", "resources")
_UNASKED = ResourceSpec()


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource in its place."""

    name: str
    path: Path
    given: ResourceSpec


@dataclass(frozen=True, slots=True)
class PlacedWish:
    """A wish, and the entry that says so."""

    path: Path
    key: str
    wish: Wish


def resources(file: WorkflowFile, found: list[Problem]) -> tuple[dict[str, Resource], dict[str, Resource]]:
    """The resources by name, from inside ``workflow`` and from beside it; then those that stand in both
    places, as they are beside it.
    """
    read = {name: Resource(name, (*_INSIDE, name), given) for name, given in file.workflow.resources.items()}
    again: dict[str, Resource] = {}
    for name, given in file.resources.items():
        path = (*_BESIDE, name)
        if name in read:
            again[name] = Resource(name, path, given)
            found.append(sentences.RESOURCE_TWICE.at(path, resource=name, field=Field(_INSIDE)))
        else:
            read[name] = Resource(name, path, given)
    read.setdefault(DEFAULT, Resource(DEFAULT, (*_INSIDE, DEFAULT), _UNASKED))
    return read, again


def wishes(resource: Resource, pool: ReadPool | None, found: list[Problem]) -> dict[str, PlacedWish]:
    """The wishes of a resource by node label; what is wrong with them is added to ``found``.

    Without a pool only what does not need one is checked.
    """
    labels = {one.key: one.label for one in pool.keys} if pool is not None else {}
    read: dict[str, PlacedWish] = {}
    keys: dict[str, Path] = {}
    for i, requirement in enumerate(resource.given.topology):
        path = (*resource.path, "topology", i)
        found.extend(_entry_problems(path, requirement))
        if requirement.key in keys:
            other = Field(keys[requirement.key])
            found.append(sentences.REQUIREMENT_TWICE.at((*path, "key"), key=requirement.key, field=other))
            continue
        keys[requirement.key] = path
        if requirement.key in labels:
            wish = Wish(requirement.group, TYPES.get(requirement.requirement_type, True))
            read[labels[requirement.key]] = PlacedWish(path, requirement.key, wish)
        elif pool is not None:
            found.append(_unknown_key((*path, "key"), requirement.key, resource, pool))
    return read


def _entry_problems(path: Path, requirement: TopologyRequirement) -> Iterator[Problem]:
    if requirement.requirement_type not in TYPES:
        value = requirement.requirement_type
        code, remedy = sentences.UNKNOWN_REQUIREMENT_TYPE, OneOf.among(value, TYPES)
        yield code.at((*path, "requirementType"), value=value, remedy=remedy)
    if not requirement.group:
        yield sentences.EMPTY_GROUP_NAME.at((*path, "group"))
    elif len(requirement.group) > LONGEST_GROUP:
        length = len(requirement.group)
        yield sentences.GROUP_NAME_TOO_LONG.at((*path, "group"), length=length, most=LONGEST_GROUP)


def _unknown_key(path: Path, key: str, resource: Resource, pool: ReadPool) -> Problem:
    if not pool.keys:
        return sentences.POOL_WITHOUT_KEYS.at(path, key=key, resource=resource.name, pool=pool.name)
    remedy = OneOf.among(key, [one.key for one in pool.keys])
    code = sentences.KEY_NOT_IN_POOL
    return code.at(path, key=key, resource=resource.name, pool=pool.name, remedy=remedy)


def disagreements(used: Iterable[Mapping[str, PlacedWish]], labels: tuple[str, ...]) -> Iterator[Problem]:
    """Where resources of one task group contradict each other about a group.

    The same group name below two different groups means two groups. Below the same ones it is one, and
    all its tasks must agree on whether it is required. Whether groups are the same cannot be
    told where one task names a coarser key and another leaves it out, so that is refused too.
    """
    strict: dict[tuple[tuple[str, str], ...], PlacedWish] = {}
    coarser: dict[tuple[str, str], tuple[tuple[str, ...], PlacedWish]] = {}
    for wished in used:
        way: tuple[tuple[str, str], ...] = ()
        above: tuple[str, ...] = ()
        for label in labels:
            if (placed := wished.get(label)) is None:
                continue
            way = (*way, (label, placed.wish.group))
            first = strict.setdefault(way, placed)
            if first.wish.required != placed.wish.required:
                yield _two_types(placed, first)
            keys, whose = coarser.setdefault((label, placed.wish.group), (above, placed))
            if keys != above:
                yield _two_ways(placed, above, whose, keys)
            above = (*above, placed.key)


def _two_types(placed: PlacedWish, first: PlacedWish) -> Problem:
    mine, other = ("required", "preferred") if placed.wish.required else ("preferred", "required")
    return sentences.TWO_REQUIREMENT_TYPES.at(
        (*placed.path, "requirementType"),
        group=placed.wish.group,
        key=placed.key,
        mine=mine,
        other=other,
        field=Field(first.path),
    )


def _two_ways(
    placed: PlacedWish, above: tuple[str, ...], first: PlacedWish, keys: tuple[str, ...]
) -> Problem:
    return sentences.AMBIGUOUS_GROUP.at(
        placed.path,
        group=placed.wish.group,
        key=placed.key,
        mine=_listed(above),
        other=_listed(keys),
        field=Field(first.path),
    )


def _listed(keys: tuple[str, ...]) -> str:
    if not keys:
        return "no coarser key"
    return ("key " if len(keys) == 1 else "keys ") + ", ".join(shown(key) for key in keys)
