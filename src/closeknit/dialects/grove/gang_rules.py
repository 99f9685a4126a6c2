"""The rules for a PodGang, which Grove keeps by making it, and others may break by writing it."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis import scheduler_grove_io_v1alpha1 as wire
from closeknit.apis.grove_keys import TOPOLOGY_NAME
from closeknit.apis.kai_keys import TOPOLOGY
from closeknit.dialects.compiling import KnownTopologies
from closeknit.dialects.core.levels import LevelField, Levels, Part, Wish, nested
from closeknit.dialects.core.pods import MOST_PODS
from closeknit.dialects.grove.constraints import Constraints
from closeknit.dialects.grove.names import part_name_problems
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Choices, Field, OneOf, Problem, parted
from closeknit.hub.sentences import core
from closeknit.hub.sentences import grove as sentences
from closeknit.hub.sentences.hub import UNKNOWN_LEVEL
from closeknit.hub.topology import Topology

GANG = ""
"""Stands for the PodGang itself among the places of constraints."""
_GROUPS: Path = ("spec", "podgroups")
_CONFIGS: Path = ("spec", "topologyConstraintGroupConfigs")


def gang_rules(given: wire.PodGang, namespace: str) -> Iterator[Problem]:
    """Everything for which no PodGroup could be made of a gang, apart from its constraints."""
    groups = given.spec.podgroups
    if not groups:
        yield sentences.NO_POD_GROUPS.at(_GROUPS)
    seen: dict[str, Path] = {}
    referenced: dict[str, Path] = {}
    for i, group in enumerate(groups):
        path = (*_GROUPS, i)
        yield from part_name_problems(path, group.name, seen)
        if group.min_replicas < 1:
            yield sentences.POD_GROUP_WITHOUT_PODS.at((*path, "minReplicas"), least=group.min_replicas)
        for j, reference in enumerate(group.pod_references):
            yield from _reference_problems((*path, "podReferences", j), reference, namespace, referenced)
        if 0 < len(group.pod_references) < group.min_replicas:
            yield sentences.TOO_FEW_REFERENCES.at(
                (*path, "podReferences"),
                least=group.min_replicas,
                referenced=len(group.pod_references),
                missing=group.min_replicas - len(group.pod_references),
            )
    yield from _config_problems(given, seen)


def size_problems(given: wire.PodGang) -> Iterator[Problem]:
    """A gang of more pods than a cluster can have."""
    pods = sum(max(group.min_replicas, len(group.pod_references)) for group in given.spec.podgroups)
    if pods > MOST_PODS:
        yield sentences.TOO_MANY_PODS.at(_GROUPS, pods=pods, most=MOST_PODS, kind="PodGang")


def gang_constraints(given: wire.PodGang, known: KnownTopologies) -> Constraints:
    """Read every constraint, with everything that is wrong with any of them.

    A gang names levels by node label, and the topology that they belong to by an annotation.
    """
    parts, places = _parts(given)
    empty = dict.fromkeys(parts, Levels())
    if not any(part.required or part.preferred for part in parts.values()):
        return Constraints(None, empty)
    name, path = topology_of(given)
    topology = known.usable.get(name)
    if topology is None:
        remedy = OneOf(name, tuple(known.usable))
        wrong = core.NOT_FOUND.at(path, kind="topology", name=name, remedy=remedy)
        if name in known.broken:
            wrong = core.HAS_PROBLEMS.at(path, kind="Topology", name=name)
        elif not name:
            wrong = core.TOPOLOGY_MISSING.at(path, allowed=remedy)
        return Constraints(None, empty, problems=(wrong,))
    depths = {label: depth for depth, label in enumerate(topology.labels)}

    def field(name: str, wish: Wish) -> Path:
        return (*places[name], "topologyConstraint", "packConstraint", wish)

    close = nested(parts, topology, depths, field, "level")
    refused, notes = parted(first_of(close.coarser()))
    problems = (*first_of(_unknown(each, topology) for each in close.unknown()), *refused)
    return Constraints(topology, close.levels, problems=problems, notes=notes)


def topology_of(given: wire.PodGang) -> tuple[str, Path]:
    """The topology that a gang names, and where; empty for none."""
    annotations = given.metadata.annotations
    key = TOPOLOGY if TOPOLOGY in annotations and TOPOLOGY_NAME not in annotations else TOPOLOGY_NAME
    return annotations.get(key, ""), ("metadata", "annotations", key)


def _unknown(field: LevelField, topology: Topology) -> Problem:
    meant = next((level.label for level in topology.levels if level.name == field.value), None)
    if meant is not None:
        return sentences.DOMAIN_FOR_LABEL.at(field.path, word=field.value, label=meant)
    remedy = OneOf(field.value, topology.labels)
    return UNKNOWN_LEVEL.at(field.path, topology=topology.name, level=field.value, remedy=remedy)


def _parts(given: wire.PodGang) -> tuple[dict[str, Part], dict[str, Path]]:
    """The gang, its configurations and its pod groups, parents first; and where each is written."""
    spec = given.spec
    found = {GANG: _part(None, spec.topology_constraint)}
    places: dict[str, Path] = {GANG: ("spec",)}
    parents: dict[str, str] = {}
    for i, config in enumerate(spec.topology_constraint_group_configs):
        if config.pod_group_names:
            if config.name not in found:
                found[config.name] = _part(GANG, config.topology_constraint)
                places[config.name] = (*_CONFIGS, i)
            parents.update((name, config.name) for name in config.pod_group_names)
    for i, group in enumerate(spec.podgroups):
        if group.name not in found:
            found[group.name] = _part(parents.get(group.name, GANG), group.topology_constraint)
            places[group.name] = (*_GROUPS, i)
    return found, places


def _part(parent: str | None, given: wire.TopologyConstraint | None) -> Part:
    pack = given.pack_constraint if given is not None else None
    return Part(parent) if pack is None else Part(parent, pack.required, pack.preferred)


def _reference_problems(
    path: Path, given: wire.NamespacedName, namespace: str, seen: dict[str, Path]
) -> Iterator[Problem]:
    if given.namespace != namespace:
        yield sentences.FOREIGN_NAMESPACE.at((*path, "namespace"), namespace=given.namespace, own=namespace)
    elif (first := seen.setdefault(given.name, path)) != path:
        yield sentences.REFERENCED_TWICE.at((*path, "name"), name=given.name, first=Field(first))


def _config_problems(given: wire.PodGang, seen: dict[str, Path]) -> Iterator[Problem]:
    names = Choices(group.name for group in given.spec.podgroups)
    owners: dict[str, Path] = {}
    for i, config in enumerate(given.spec.topology_constraint_group_configs):
        path = (*_CONFIGS, i)
        yield from part_name_problems(path, config.name, seen)
        for j, name in enumerate(config.pod_group_names):
            here = (*path, "podGroupNames", j)
            if name not in names:
                yield core.NOT_FOUND.at(here, kind="pod group", name=name, remedy=names.instead_of(name))
            elif (first := owners.setdefault(name, here)) != here:
                yield sentences.POD_GROUP_LISTED_TWICE.at(here, name=name, first=Field(first))
