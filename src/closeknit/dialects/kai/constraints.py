"""Topology constraints of a PodGroup and its subgroups, as levels of one topology."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.dialects.compiling import KnownTopologies
from closeknit.dialects.core.levels import LevelField, Levels, PartFields, nested
from closeknit.dialects.kai.joint_topologies import joint_name
from closeknit.dialects.kai.subgroups import Tree
from closeknit.dialects.kai.topologies import depths
from closeknit.hub.many_problems import first_of
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
    given = {"": spec.topology_constraint} | {
        name: each.topology_constraint for name, each in tree.subgroups.items()
    }

    def fields(name: str) -> Fields:
        return elsewhere.get(name) or Fields.of(tree.path(name))

    found.extend(first_of(_topology_problems(given, fields, topologies)))
    topology = _one_topology(given, topologies)
    if topology is None:
        return Constraints(None, dict.fromkeys(given, Levels()))
    names = depths(topology)

    def part(name: str, parent: str | None) -> PartFields:
        if not given[name].topology:
            return PartFields(parent)
        return _fields(parent, fields(name), given[name], topology, topologies)

    parents, alike = _parts(tree, given)
    parts = {"": part("", None)} | {name: part(name, parent) for name, parent in parents.items()}
    levels, unknown, coarser = nested(parts, topology, names, called="level")
    if unknown or coarser:
        # What is wrong with one is wrong with all that are like it, each at its own field and in its turn.
        whole = {name: part(name, parent) for name, parent in tree.walk()}
        levels, unknown, coarser = nested(whole, topology, names, called="level")
    else:
        levels |= {name: levels[other] for name, other in alike.items()}
    found.extend(first_of(_unknown(each, topology, names) for each in unknown))
    found.extend(first_of(coarser))
    return Constraints(topology.name, levels)


def _unknown(field: LevelField, topology: Topology, names: Collection[str]) -> Problem:
    remedy = OneOf.among(field.value, names)
    return hub.UNKNOWN_LEVEL.at(field.path, topology=topology.name, level=field.value, remedy=remedy)


def _parts(tree: Tree, given: Mapping[str, wire.TopologyConstraint]) -> tuple[dict[str, str], dict[str, str]]:
    """Subgroups with their parents, parents first; and leaves that are like one of these, with that one.

    Alike are leaves of one parent with equal constraints. They are most of a large PodGroup.
    """
    parents: dict[str, str] = {}
    alike: dict[str, str] = {}
    children, pending = tree.children, [""]
    for parent in pending:
        first: dict[wire.TopologyConstraint, str] = {}
        for name in children[parent]:
            if children[name]:
                pending.append(name)
            elif (other := first.setdefault(given[name], name)) is not name:
                alike[name] = other
                continue
            parents[name] = parent
    return parents, alike


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
