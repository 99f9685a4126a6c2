"""The rules for a PodGang, which Grove keeps by making it, and others may break by writing it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.apis import scheduler_grove_io_v1alpha1 as wire
from closeknit.dialects.core.levels import Asked, Levels, Written, nested
from closeknit.dialects.grove.naming import TOPOLOGY_NAME
from closeknit.dialects.kai.keys import TOPOLOGY
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, parted, shown, suggestion
from closeknit.hub.topology import Topology

GANG = ""
"""Stands for the PodGang itself among the places of constraints."""
_GROUPS, _CONFIGS = "spec.podgroups", "spec.topologyConstraintGroupConfigs"
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Close:
    """The constraints of a gang, by the name of the pod group or configuration."""

    topology: str | None
    levels: Mapping[str, Levels]
    problems: tuple[Problem, ...]


def gang_rules(given: wire.PodGang, namespace: str) -> Iterator[Problem]:
    """Everything for which no PodGroup could be made of a gang, apart from its constraints."""
    groups = given.spec.podgroups
    if not groups:
        yield as_told(_GROUPS, "There are no pod groups. Describe at least one.")
    seen: dict[str, str] = {}
    referenced: dict[str, str] = {}
    for i, group in enumerate(groups):
        path = f"{_GROUPS}[{i}]"
        yield from _name_problems(path, group.name, seen)
        if group.min_replicas < 1:
            message = f"{group.min_replicas} pods are no group. Write one or more."
            yield as_told(f"{path}.minReplicas", message)
        for j, reference in enumerate(group.pod_references):
            yield from _reference_problems(f"{path}.podReferences[{j}]", reference, namespace, referenced)
        if 0 < len(group.pod_references) < group.min_replicas:
            missing = group.min_replicas - len(group.pod_references)
            message = (
                f"{group.min_replicas} pods must run at once, and {len(group.pod_references)} are referenced."
                f" Refer to {missing} more, or to none to have them assumed."
            )
            yield as_told(f"{path}.podReferences", message)
    yield from _config_problems(given, seen)


def gang_constraints(
    given: wire.PodGang, topologies: Mapping[str, Topology], unusable: AbstractSet[str]
) -> Close:
    """Read every constraint, with everything that is wrong with any of them.

    A gang speaks in node labels, and names the topology that they belong to by an annotation.
    """
    asked = _asked(given)
    if not any(list(place.words()) for place in asked.values()):
        return Close(None, {name: Levels() for name in asked}, ())
    name, path = topology_of(given)
    topology = topologies.get(name)
    if topology is None:
        if not name:
            message = "The topology whose levels are meant is missing."
        elif name in unusable:
            message = f"Topology {shown(name)} has problems of its own. Correct them first."
            return Close(None, {}, (as_told(path, message),))
        else:
            message = f"There is no topology {shown(name)}."
        return Close(None, {}, (as_told(path, f"{message} {suggestion(name, topologies)}"),))
    depths = {label: depth for depth, label in enumerate(topology.labels)}
    problems = [
        as_told(each.path, _unknown(each.word, topology))
        for place in asked.values()
        for each in place.words()
        if each.word not in depths
    ]
    levels, coarser = nested(asked, topology, depths, "level")
    return Close(name, levels, (*problems, *parted(coarser)[0]))


def topology_of(given: wire.PodGang) -> tuple[str, str]:
    """The topology that a gang names, and where; empty for none."""
    annotations = given.metadata.annotations
    key = TOPOLOGY if TOPOLOGY in annotations and TOPOLOGY_NAME not in annotations else TOPOLOGY_NAME
    return annotations.get(key, ""), within("metadata.annotations", key)


def _unknown(word: str, topology: Topology) -> str:
    meant = next((level.label for level in topology.levels if level.name == word), None)
    if meant is not None:
        return f"{shown(word)} is a domain, and a PodGang speaks of node labels. Write {shown(meant)}."
    message = f"Topology {shown(topology.name)} has no level {shown(word)}."
    return f"{message} {suggestion(word, topology.labels)}"


def _asked(given: wire.PodGang) -> dict[str, Asked]:
    """What the gang, its configurations and its pod groups ask for, parents first."""
    spec = given.spec
    found = {GANG: _written(None, "spec.topologyConstraint", spec.topology_constraint)}
    parents: dict[str, str] = {}
    for i, config in enumerate(spec.topology_constraint_group_configs):
        if config.pod_group_names:
            path = f"{_CONFIGS}[{i}].topologyConstraint"
            found.setdefault(config.name, _written(GANG, path, config.topology_constraint))
            parents.update((name, config.name) for name in config.pod_group_names)
    for i, group in enumerate(spec.podgroups):
        path = f"{_GROUPS}[{i}].topologyConstraint"
        above = parents.get(group.name, GANG)
        found.setdefault(group.name, _written(above, path, group.topology_constraint))
    return found


def _written(parent: str | None, path: str, given: wire.TopologyConstraint | None) -> Asked:
    pack = given.pack_constraint if given is not None else None
    if pack is None:
        return Asked(parent)
    required = Written(f"{path}.packConstraint.required", pack.required) if pack.required else None
    preferred = Written(f"{path}.packConstraint.preferred", pack.preferred) if pack.preferred else None
    return Asked(parent, required, preferred)


def _name_problems(path: str, name: str, seen: dict[str, str]) -> Iterator[Problem]:
    if not _DNS_LABEL.fullmatch(name) or len(name) > 63:
        yield as_told(
            f"{path}.name",
            f"{shown(name)} is not a valid name. Allowed are at most 63 lower-case letters, digits and"
            " dashes, with a letter or digit at both ends.",
        )
    if (first := seen.setdefault(name, path)) != path:
        message = f"{shown(name)} is already the name of {first}. Give each its own."
        yield as_told(f"{path}.name", message)


def _reference_problems(
    path: str, given: wire.NamespacedName, namespace: str, seen: dict[str, str]
) -> Iterator[Problem]:
    if given.namespace != namespace:
        message = f"{shown(given.namespace)} is not the gang's own namespace, {shown(namespace)}."
        yield as_told(f"{path}.namespace", f"{message} A gang has pods of its own namespace only.")
    elif (first := seen.setdefault(given.name, path)) != path:
        message = f"{shown(given.name)} is referenced by {first} already. Refer to each pod once."
        yield as_told(f"{path}.name", message)


def _config_problems(given: wire.PodGang, seen: dict[str, str]) -> Iterator[Problem]:
    names = [group.name for group in given.spec.podgroups]
    owners: dict[str, str] = {}
    for i, config in enumerate(given.spec.topology_constraint_group_configs):
        path = f"{_CONFIGS}[{i}]"
        yield from _name_problems(path, config.name, seen)
        for j, name in enumerate(config.pod_group_names):
            here = f"{path}.podGroupNames[{j}]"
            if name not in names:
                yield as_told(here, f"There is no pod group {shown(name)}. {suggestion(name, names)}")
            elif (first := owners.setdefault(name, here)) != here:
                message = (
                    f"{shown(name)} is listed by {first} already. A pod group lies in one group at most."
                )
                yield as_told(here, message)
