"""The topology requirements of a workflow's resources, as wishes about levels of its pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis.osmo_workflow import ResourceSpec, TopologyRequirement, WorkflowFile
from closeknit.dialects.osmo.pools import ReadPool
from closeknit.dialects.osmo.tree import Wish
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown, suggestion

DEFAULT = "default"
"""The resource of a task that names none."""
TYPES = {"required": True, "preferred": False}
LONGEST_GROUP = 253

_PLACES = ("spec.workflow.resources", "spec.resources")
_UNASKED = ResourceSpec()


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource in its place."""

    name: str
    path: str
    given: ResourceSpec


@dataclass(frozen=True, slots=True)
class PlacedWish:
    """A wish, and the entry that says so."""

    path: str
    key: str
    wish: Wish


def resources(file: WorkflowFile, found: list[Problem]) -> tuple[dict[str, Resource], dict[str, Resource]]:
    """The resources by name, from inside ``workflow`` and from beside it; then those that stand in both
    places, as they are beside it.
    """
    inside, beside = _PLACES
    read = {
        name: Resource(name, within(inside, name), given) for name, given in file.workflow.resources.items()
    }
    again: dict[str, Resource] = {}
    for name, given in file.resources.items():
        path = within(beside, name)
        if name in read:
            again[name] = Resource(name, path, given)
            message = f"Resource {shown(name)} stands in workflow.resources as well. Keep one of the two."
            found.append(as_told(path, message))
        else:
            read[name] = Resource(name, path, given)
    read.setdefault(DEFAULT, Resource(DEFAULT, within(inside, DEFAULT), _UNASKED))
    return read, again


def wishes(resource: Resource, pool: ReadPool | None, found: list[Problem]) -> dict[str, PlacedWish]:
    """The wishes of a resource by node label; what is wrong with them is added to ``found``.

    Without a pool only what does not need one is checked.
    """
    labels = {one.key: one.label for one in pool.keys} if pool is not None else {}
    read: dict[str, PlacedWish] = {}
    keys: dict[str, str] = {}
    for i, requirement in enumerate(resource.given.topology):
        path = f"{resource.path}.topology[{i}]"
        found.extend(_entry_problems(path, requirement))
        if requirement.key in keys:
            message = (
                f"Key {shown(requirement.key)} stands in {_seen(keys[requirement.key])} as well."
                " A task is in one group of a key; keep one entry."
            )
            found.append(as_told(f"{path}.key", message))
            continue
        keys[requirement.key] = path
        if requirement.key in labels:
            wish = Wish(requirement.group, TYPES.get(requirement.requirement_type, True))
            read[labels[requirement.key]] = PlacedWish(path, requirement.key, wish)
        elif pool is not None:
            found.append(as_told(f"{path}.key", _unknown_key(requirement.key, resource, pool)))
    return read


def _seen(path: str) -> str:
    return path.removeprefix("spec.")


def _entry_problems(path: str, requirement: TopologyRequirement) -> Iterator[Problem]:
    if requirement.requirement_type not in TYPES:
        remedy = suggestion(requirement.requirement_type, TYPES)
        message = f"{shown(requirement.requirement_type)} is not a type of requirement. {remedy}"
        yield as_told(f"{path}.requirementType", message)
    if not requirement.group:
        yield as_told(f"{path}.group", 'The name of the group is empty. Leave it out to have "default".')
    elif len(requirement.group) > LONGEST_GROUP:
        message = f"The name of the group has {len(requirement.group)} characters."
        yield as_told(f"{path}.group", f"{message} Allowed are at most {LONGEST_GROUP}.")


def _unknown_key(key: str, resource: Resource, pool: ReadPool) -> str:
    where = f"in resource {shown(resource.name)} is not available in pool {shown(pool.name)}"
    if not pool.keys:
        remedy = ", which has no topology keys. Remove it, or choose a pool that has some."
    else:
        remedy = f". {suggestion(key, [one.key for one in pool.keys])}"
    return f"Topology key {shown(key)} {where}{remedy}"


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
                yield as_told(f"{placed.path}.requirementType", _two_types(placed, first))
            keys, whose = coarser.setdefault((label, placed.wish.group), (above, placed))
            if keys != above:
                yield as_told(placed.path, _two_ways(placed, above, whose, keys))
            above = (*above, placed.key)


def _two_types(placed: PlacedWish, first: PlacedWish) -> str:
    mine, other = ("required", "preferred") if placed.wish.required else ("preferred", "required")
    return (
        f"Group {shown(placed.wish.group)} of key {shown(placed.key)} is {mine} here and {other} in"
        f" {_seen(first.path)}. Write the same in both, or name another group."
    )


def _two_ways(placed: PlacedWish, above: tuple[str, ...], first: PlacedWish, keys: tuple[str, ...]) -> str:
    return (
        f"Group {shown(placed.wish.group)} of key {shown(placed.key)} comes with {_listed(above)} here and"
        f" with {_listed(keys)} in {_seen(first.path)}, so it is not clear whether it is one group or two."
        " Name the same coarser keys in both, or another group."
    )


def _listed(keys: tuple[str, ...]) -> str:
    if not keys:
        return "no coarser key"
    return ("key " if len(keys) == 1 else "keys ") + ", ".join(shown(key) for key in keys)
