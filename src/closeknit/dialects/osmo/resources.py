"""The resources of a workflow: what the pod of a task asks of a node, and of the levels of its pool."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from closeknit.apis.core_v1 import PodSpec
from closeknit.apis.osmo_closeknit_dev_v1alpha1 import ResourceSpec, TopologyRequirement, WorkflowFile
from closeknit.dialects.core.node_filters import node_filter
from closeknit.dialects.core.pods import Shape
from closeknit.dialects.core.resources import pod_resources
from closeknit.dialects.osmo.pools import ReadPool, platform_terms
from closeknit.dialects.osmo.rules import GPU, RESOURCES, quantity, whole_cpus, whole_gpus
from closeknit.dialects.osmo.tree import GroupRequirement
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, InvalidError, OneOf, Problem, shown
from closeknit.hub.sentences import osmo as sentences
from closeknit.hub.topology import HOSTNAME

DEFAULT = "default"
"""The resource of a task that names none."""
TYPES = {"required": True, "preferred": False}
LONGEST_GROUP = 253

_INSIDE: Path = ("spec", "workflow", "resources")
_BESIDE: Path = ("spec", "resources")
_UNASKED = ResourceSpec()
_WHOLE = {"cpu": whole_cpus, "gpu": whole_gpus}
"""Of these a task asks for a whole number."""


class Resource(NamedTuple):
    """A resource, and where it was written."""

    name: str
    path: Path
    given: ResourceSpec


class TaskTemplate(NamedTuple):
    """What each task of one resource asks for."""

    requirements: Mapping[str, GroupRequirement]
    """By node label."""
    requests: Mapping[str, str]
    """Quantities by resource name."""
    terms: Mapping[str, Any]
    """Fields of the pod's spec that say which nodes it accepts."""
    shape: Shape


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


class TaskTemplates:
    """Reads what resources ask for; most of them ask for the same, which is then worked out once."""

    def __init__(self, pool: ReadPool | None) -> None:
        self._pool = pool
        self._labels = {one.key: one.label for one in pool.keys} if pool is not None else {}
        self._worked_out: dict[Hashable, tuple[dict[str, str], dict[str, Any], Shape]] = {}

    def read_all(self, given: Mapping[str, Resource], read: dict[str, TaskTemplate]) -> Iterator[Problem]:
        """Add to ``read`` what resources ask for, until so much is wrong with them that nobody reads on."""
        for name, resource in given.items():
            found: list[Problem] = []
            read[name] = self.read(resource, found)
            yield from found

    def read(self, resource: Resource, found: list[Problem]) -> TaskTemplate:
        """What each task of a resource asks for; what is wrong with it is added to ``found``."""
        given = resource.given
        amounts = str(given.cpu), str(given.gpu), str(given.memory), str(given.storage)
        key = (amounts, given.platform, *given.nodes_excluded)
        before = len(found)
        if (known := self._worked_out.get(key)) is None:
            asked = _requests(resource, self._pool, found)
            terms = _node_terms(resource, self._pool, found)
            known = asked, terms, _shape(asked, terms)
            # A mistake is reported wherever it stands, so only what is right is remembered.
            if len(found) == before:
                self._worked_out[key] = known
        return TaskTemplate(_requirements(resource, self._pool, self._labels, found), *known)


def _requirements(
    resource: Resource, pool: ReadPool | None, labels: Mapping[str, str], found: list[Problem]
) -> dict[str, GroupRequirement]:
    """The requirements of a resource by node label; what is wrong with them is added to ``found``.

    ``labels`` gives these by key. Without a pool only what does not need one is checked.
    """
    read: dict[str, GroupRequirement] = {}
    keys: dict[str, Path] = {}
    for i, requirement in enumerate(resource.given.topology):
        path = (*resource.path, "topology", i)
        if requirement.requirement_type not in TYPES or not 0 < len(requirement.group) <= LONGEST_GROUP:
            found.extend(_entry_problems(path, requirement))
        if requirement.key in keys:
            other = Field(keys[requirement.key])
            found.append(sentences.REQUIREMENT_TWICE.at((*path, "key"), key=requirement.key, field=other))
            continue
        keys[requirement.key] = path
        if requirement.key in labels:
            required = TYPES.get(requirement.requirement_type, True)
            read[labels[requirement.key]] = GroupRequirement(
                requirement.group, required, requirement.key, path
            )
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


def disagreements(
    used: Iterable[Mapping[str, GroupRequirement]], labels: tuple[str, ...]
) -> Iterator[Problem]:
    """Where resources of one task group contradict each other about a group.

    The same group name below two different groups means two groups. Below the same ones it is one, and
    all its tasks must agree on whether it is required. It cannot be decided whether groups are the
    same where one task names a coarser key and another leaves it out, so that is refused too.
    """
    strict: dict[tuple[tuple[str, str], ...], GroupRequirement] = {}
    coarser: dict[tuple[str, str], tuple[tuple[str, ...], GroupRequirement]] = {}
    for by_label in used:
        way: tuple[tuple[str, str], ...] = ()
        above: tuple[str, ...] = ()
        for label in labels:
            if (entry := by_label.get(label)) is None:
                continue
            way = (*way, (label, entry.group))
            first = strict.setdefault(way, entry)
            if first.required != entry.required:
                yield _two_types(entry, first)
            keys, whose = coarser.setdefault((label, entry.group), (above, entry))
            if keys != above:
                yield _two_ways(entry, above, whose, keys)
            above = (*above, entry.key)


def _two_types(entry: GroupRequirement, first: GroupRequirement) -> Problem:
    mine, other = ("required", "preferred") if entry.required else ("preferred", "required")
    return sentences.TWO_REQUIREMENT_TYPES.at(
        (*entry.path, "requirementType"),
        group=entry.group,
        key=entry.key,
        mine=mine,
        other=other,
        field=Field(first.path),
    )


def _two_ways(
    entry: GroupRequirement, above: tuple[str, ...], first: GroupRequirement, keys: tuple[str, ...]
) -> Problem:
    return sentences.AMBIGUOUS_GROUP.at(
        entry.path,
        group=entry.group,
        key=entry.key,
        mine=_listed(above),
        other=_listed(keys),
        field=Field(first.path),
    )


def _listed(keys: tuple[str, ...]) -> str:
    if not keys:
        return "no coarser key"
    return ("key " if len(keys) == 1 else "keys ") + ", ".join(shown(key) for key in keys)


def _requests(resource: Resource, pool: ReadPool | None, found: list[Problem]) -> dict[str, str]:
    """Quantities by resource name: the resource's own, else the pool's default.

    Where neither says anything at all, a task is taken to need one GPU.
    """
    given = resource.given
    own = {"cpu": given.cpu, "gpu": given.gpu, "memory": given.memory, "storage": given.storage}
    defaults = pool.defaults if pool is not None else {}
    asked: dict[str, str] = {}
    for field, name in RESOURCES.items():
        written = own[field]
        if written is None:
            if name in defaults:
                asked[name] = defaults[name]
            continue
        try:
            whole = _WHOLE.get(field)
            asked[name] = whole(written) if whole is not None else quantity(field, written)
        except InvalidError as error:
            found.extend(problem.under(*resource.path, field) for problem in error.problems)
    return asked or {GPU: "1"}


def _node_terms(resource: Resource, pool: ReadPool | None, found: list[Problem]) -> dict[str, Any]:
    """The fields of a pod's spec that say which nodes it accepts."""
    terms: dict[str, Any] = {}
    platforms = pool.file.platforms if pool is not None else {}
    name = resource.given.platform or (pool.file.default_platform if pool is not None else "")
    if resource.given.platform and platforms and name not in platforms:
        remedy, path = OneOf.among(name, platforms), (*resource.path, "platform")
        owner = pool.name if pool is not None else ""
        found.append(sentences.UNKNOWN_PLATFORM.at(path, pool=owner, platform=name, remedy=remedy))
    if (platform := platforms.get(name)) is not None:
        terms.update(platform_terms(platform))
    if resource.given.nodes_excluded:
        expression = {
            "key": HOSTNAME,
            "operator": "NotIn",
            "values": sorted(set(resource.given.nodes_excluded)),
        }
        selector = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        terms["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
    return terms


def _shape(asked: Mapping[str, str], terms: Mapping[str, Any]) -> Shape:
    """What a pod with these fields asks for, read in the same way as any other pod.

    The quantities and the pool's platforms were checked before, so nothing is left to report.
    """
    container = {"name": "task", "resources": {"requests": dict(asked)}}
    spec = msgspec.convert({**terms, "containers": [container]}, PodSpec)
    return Shape(pod_resources(spec, []), node_filter(spec, []))
