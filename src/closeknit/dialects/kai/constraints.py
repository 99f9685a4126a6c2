"""Topology constraints of a PodGroup and its subgroups, as levels of one topology."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.dialects.compiling import KnownTopologies
from closeknit.dialects.core.levels import LevelField, Levels, PartFields, nested
from closeknit.dialects.kai.joint_topologies import joint_name
from closeknit.dialects.kai.subgroups import Tree
from closeknit.dialects.kai.topologies import depths
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem
from closeknit.hub.sentences import core, hub
from closeknit.hub.sentences import kai as sentences
from closeknit.hub.topology import Topology


@dataclass(frozen=True, slots=True)
class Fields:
    """Where the author of a constraint wrote its topology and levels."""

    topology: Path
    required: Path
    preferred: Path

    @classmethod
    def of(cls, path: Path) -> Fields:
        """The fields of the ``topologyConstraint`` of what stands at this path."""
        path = (*path, "topologyConstraint")
        return cls((*path, "topology"), (*path, "requiredTopologyLevel"), (*path, "preferredTopologyLevel"))


@dataclass(frozen=True, slots=True)
class Constraints:
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
    given = {"": (elsewhere.get("") or Fields.of(("spec",)), spec.topology_constraint)} | {
        name: (elsewhere.get(name) or Fields.of(each.path), each.given.topology_constraint)
        for name, each in tree.subgroups.items()
    }
    topology = _one_topology(given.values(), topologies, found)
    if topology is None:
        return Constraints(None, dict.fromkeys(given, Levels()))
    names = depths(topology)
    parts = {name: _fields(parent, *given[name], topology, topologies) for name, parent in tree.walk()}
    levels, unknown, coarser = nested(parts, topology, names, called="level")
    for each in unknown:
        remedy = OneOf.among(each.value, names)
        found.append(hub.UNKNOWN_LEVEL.at(each.path, topology=topology.name, level=each.value, remedy=remedy))
    found.extend(coarser)
    return Constraints(topology.name, levels)


def _one_topology(
    given: Iterable[tuple[Fields, wire.TopologyConstraint]], known: KnownTopologies, found: list[Problem]
) -> Topology | None:
    """The topology that all constraints name, or the tree that several make together."""
    first: tuple[str, Path] | None = None
    every = list(given)
    joint = known.usable.get(joint_name(each.topology for _, each in every if each.topology))
    for fields, constraint in every:
        name, path = constraint.topology, fields.topology
        if name and not (constraint.required_topology_level or constraint.preferred_topology_level):
            found.append(sentences.TOPOLOGY_WITHOUT_LEVEL.at(path))
        if not name:
            if constraint.required_topology_level or constraint.preferred_topology_level:
                found.append(core.TOPOLOGY_MISSING.at(path, allowed=OneOf.among("", known.usable)))
            continue
        if first is not None and name != first[0] and joint is None:
            field = Field(first[1])
            found.append(sentences.TWO_TOPOLOGIES.at(path, topology=name, other=first[0], field=field))
        # A name that is wrong everywhere is reported once, where it stands first.
        if first is None or name != first[0]:
            if name in known.broken:
                found.append(core.HAS_PROBLEMS.at(path, kind="Topology", name=name))
            elif name not in known.usable:
                allowed = OneOf.among(name, known.usable)
                found.append(sentences.TOPOLOGY_NOT_THERE.at(path, topology=name, allowed=allowed))
        first = first or (name, path)
    return joint or (known.usable.get(first[0]) if first else None)


def _fields(
    parent: str | None,
    fields: Fields,
    constraint: wire.TopologyConstraint,
    topology: Topology,
    known: KnownTopologies,
) -> PartFields:
    own = known.usable.get(constraint.topology)
    if own is None or constraint.topology not in topology.name.split("+"):
        return PartFields(parent)
    # In a tree of several topologies, an alias means what it means in its own.
    labels = {each.name: each.label for each in own.levels if each.name} if own is not topology else {}
    required, preferred = constraint.required_topology_level, constraint.preferred_topology_level
    return PartFields(
        parent,
        LevelField(fields.required, labels.get(required, required)),
        LevelField(fields.preferred, labels.get(preferred, preferred)),
    )
