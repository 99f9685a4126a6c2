"""Topology constraints of a PodGroup and its subgroups, as levels of one topology."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache

import msgspec

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.dialects.compiling import KnownTopologies
from closeknit.dialects.core.levels import LevelField, Levels, Part, nested
from closeknit.dialects.kai.joint_topologies import joint_name
from closeknit.dialects.kai.subgroups import Tree
from closeknit.dialects.kai.topologies import depths
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem
from closeknit.hub.sentences import core, hub
from closeknit.hub.sentences import kai as sentences
from closeknit.hub.topology import Topology


class Fields(msgspec.Struct, frozen=True, gc=False):
    """Where the author of a constraint wrote its topology and levels."""

    topology: Path
    required: Path
    preferred: Path

    @classmethod
    def of(cls, path: Path) -> Fields:
        """The fields of the ``topologyConstraint`` of what stands at this path."""
        path = (*path, "topologyConstraint")
        return cls((*path, "topology"), (*path, "requiredTopologyLevel"), (*path, "preferredTopologyLevel"))


class Constraints(msgspec.Struct, frozen=True, gc=False):
    """All constraints of a PodGroup; the empty name stands for the PodGroup itself."""

    topology: str | None
    levels: Mapping[str, Levels]


def constraints(
    spec: wire.PodGroupSpec,
    tree: Tree,
    topologies: KnownTopologies,
    elsewhere: Mapping[str, Fields],
    found: list[Problem],
) -> Constraints:
    """Every constraint; what is wrong with them is complete even where the tree is not.

    ``elsewhere`` gives the fields that hold the constraints of the PodGroup (the empty name) and of its
    subgroups, where these are fields of another object.
    """
    given = {"": spec.topology_constraint} | {
        name: constraint
        for name, each in tree.subgroups.items()
        if (constraint := each.topology_constraint) is not wire.UNCONSTRAINED
    }

    def fields(name: str) -> Fields:
        return elsewhere.get(name) or Fields.of(tree.path(name))

    found.extend(first_of(_topology_problems(given, fields, topologies)))
    topology = _one_topology(given, topologies)
    unconstrained = dict.fromkeys(("", *tree.subgroups), Levels())
    if topology is None:
        return Constraints(None, unconstrained)
    names, read = depths(topology), _reader(topology, topologies)
    parts = {name: Part(above, *read(given[name])) for name, above in _within(tree, given)}
    levels = nested(parts, topology, names, lambda name, field: getattr(fields(name), field), called="level")
    found.extend(first_of(_unknown(each, topology, names) for each in levels.unknown()))
    found.extend(first_of(levels.coarser()))
    return Constraints(topology.name, {**unconstrained, **levels.levels})


def _within(tree: Tree, constrained: Collection[str]) -> Iterator[tuple[str, str | None]]:
    """The constrained subgroups and the PodGroup itself, parents first, each with the nearest above it."""
    children = tree.children
    pending: list[tuple[str, str | None]] = [("", None)]
    left = len(constrained)
    while left:
        name, above = pending.pop()
        if name in constrained:
            yield name, above
            above, left = name, left - 1
        inner = [each for each in children[name] if each in constrained or children[each]]
        if any(children[each] for each in inner):
            pending.extend((each, above) for each in reversed(inner))
        else:
            # Most subgroups of a large PodGroup are leaves of one parent.
            yield from ((each, above) for each in inner)
            left -= len(inner)


def _unknown(field: LevelField, topology: Topology, names: Collection[str]) -> Problem:
    remedy = OneOf.among(field.value, names)
    return hub.UNKNOWN_LEVEL.at(field.path, topology=topology.name, level=field.value, remedy=remedy)


def _one_topology(given: Mapping[str, wire.TopologyConstraint], known: KnownTopologies) -> Topology | None:
    """The topology that all constraints name, or the tree that several make together."""
    names = dict.fromkeys(each.topology for each in given.values())
    names.pop("", None)
    return known.usable.get(joint_name(names)) or known.usable.get(next(iter(names), ""))


def _topology_problems(
    given: Mapping[str, wire.TopologyConstraint], fields: Callable[[str], Fields], known: KnownTopologies
) -> Iterator[Problem]:
    first = ""
    named_first = ""
    joint = joint_name({each.topology for each in given.values()} - {""}) in known.usable
    for subgroup, constraint in given.items():
        name = constraint.topology
        level = constraint.required_topology_level or constraint.preferred_topology_level
        if (name == first != "") if level else not name:
            continue
        path = fields(subgroup).topology
        if name and not level:
            yield sentences.TOPOLOGY_WITHOUT_LEVEL.at(path)
        if not name:
            yield core.TOPOLOGY_MISSING.at(path, allowed=OneOf.among("", known.usable))
            continue
        if first and name != first and not joint:
            field = Field(fields(named_first).topology)
            yield sentences.TWO_TOPOLOGIES.at(path, topology=name, other=first, field=field)
        # A name that is wrong everywhere is reported once, where it stands first.
        if name != first:
            if name in known.broken:
                yield core.HAS_PROBLEMS.at(path, kind="Topology", name=name)
            elif name not in known.usable:
                allowed = OneOf.among(name, known.usable)
                yield sentences.TOPOLOGY_NOT_THERE.at(path, topology=name, allowed=allowed)
        if not first:
            first, named_first = name, subgroup


def _reader(
    topology: Topology, known: KnownTopologies
) -> Callable[[wire.TopologyConstraint], tuple[str, str]]:
    """Reads which levels a constraint requires and prefers; a constraint of another topology says nothing."""
    joined = topology.name.split("+")

    @cache
    def labels(name: str) -> Mapping[str, str] | None:
        own = known.usable.get(name)
        if own is None or name not in joined:
            return None
        # In a tree of several topologies, an alias means what it means in its own.
        return {each.name: each.label for each in own.levels if each.name} if own is not topology else {}

    def read(constraint: wire.TopologyConstraint) -> tuple[str, str]:
        meant = labels(constraint.topology)
        if meant is None:
            return "", ""
        required, preferred = constraint.required_topology_level, constraint.preferred_topology_level
        return meant.get(required, required), meant.get(preferred, preferred)

    return read
