"""Topology constraints of a PodGroup and its subgroups, as levels of one topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.dialects.kai.subgroups import Tree
from closeknit.dialects.kai.topologies import label_of, level_names
from closeknit.hub.problems import Problem, as_told, shown, suggestion
from closeknit.hub.topology import Topology


@dataclass(frozen=True, slots=True)
class Levels:
    """The node labels of the levels that a group requires and prefers."""

    required: str | None = None
    preferred: str | None = None


@dataclass(frozen=True, slots=True)
class Fields:
    """Where the author of a constraint wrote its three parts."""

    topology: str
    required: str
    preferred: str

    @classmethod
    def of(cls, path: str) -> Fields:
        """The fields of a ``topologyConstraint``."""
        return cls(f"{path}.topology", f"{path}.requiredTopologyLevel", f"{path}.preferredTopologyLevel")


@dataclass(frozen=True, slots=True)
class Constraints:
    """All constraints of a PodGroup; the empty name stands for the PodGroup itself."""

    topology: str | None
    levels: Mapping[str, Levels]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class _Bound:
    """A level that binds everything below, and the field that says so."""

    label: str
    path: str


@dataclass(frozen=True, slots=True)
class _Above:
    required: _Bound | None = None
    preferred: _Bound | None = None


def constraints(
    spec: wire.PodGroupSpec,
    tree: Tree,
    topologies: Mapping[str, Topology],
    unusable: AbstractSet[str],
    written: Mapping[str, Fields] | None = None,
) -> Constraints:
    """Read every constraint; what is wrong with them is complete even where the tree is not.

    ``unusable`` names topologies that exist but have problems of their own. ``written``
    says where the constraints of the PodGroup (the empty name) and of its subgroups stand, where
    that is not the PodGroup itself.
    """
    elsewhere = written or {}
    given = {"": (elsewhere.get("") or Fields.of("spec.topologyConstraint"), spec.topology_constraint)} | {
        name: (
            elsewhere.get(name) or Fields.of(f"{part.path}.topologyConstraint"),
            part.given.topology_constraint,
        )
        for name, part in tree.parts.items()
    }
    problems: list[Problem] = []
    topology = _one_topology(given, topologies, unusable, problems)
    levels = {name: Levels() for name in given}
    if topology is not None:
        for name, (fields, constraint) in given.items():
            levels[name] = _levels(fields, constraint, topology, problems)
        problems.extend(_order_problems(given, levels, tree, topology))
    return Constraints(topology.name if topology else None, levels, tuple(problems))


def _one_topology(
    given: Mapping[str, tuple[Fields, wire.TopologyConstraint]],
    topologies: Mapping[str, Topology],
    unusable: AbstractSet[str],
    problems: list[Problem],
) -> Topology | None:
    """The topology that all constraints speak of; a request cannot speak of two."""
    first: tuple[str, str] | None = None
    for fields, constraint in given.values():
        name, path = constraint.topology, fields.topology
        if not name:
            if constraint.required_topology_level or constraint.preferred_topology_level:
                message = f"The topology whose levels are meant is missing. {suggestion('', topologies)}"
                problems.append(as_told(path, message))
            continue
        if first is not None and name != first[0]:
            message = f"{shown(name)} is not {shown(first[0])}, which {first[1]} names."
            problems.append(as_told(path, f"{message} A PodGroup can speak of one topology only."))
        # A name that is wrong everywhere is told once, at its first place.
        if name not in topologies and (first is None or name != first[0]):
            remedy = suggestion(name, topologies)
            wrong = (
                "has problems of its own. Correct them first."
                if name in unusable
                else f"is not there. {remedy}"
            )
            problems.append(as_told(path, f"Topology {shown(name)} {wrong}"))
        first = first or (name, path)
    return topologies.get(first[0]) if first else None


def _levels(
    fields: Fields, constraint: wire.TopologyConstraint, topology: Topology, problems: list[Problem]
) -> Levels:
    if constraint.topology != topology.name:
        return Levels()
    labels: list[str | None] = []
    for path, written in (
        (fields.required, constraint.required_topology_level),
        (fields.preferred, constraint.preferred_topology_level),
    ):
        label = label_of(topology, written) if written else None
        if written and label is None:
            remedy = suggestion(written, level_names(topology))
            message = f"Topology {shown(topology.name)} has no level {shown(written)}. {remedy}"
            problems.append(as_told(path, message))
        labels.append(label)
    required, preferred = labels
    return Levels(required, preferred)


def _order_problems(
    given: Mapping[str, tuple[Fields, wire.TopologyConstraint]],
    levels: Mapping[str, Levels],
    tree: Tree,
    topology: Topology,
) -> Iterator[Problem]:
    """A child's level is equal to or finer than its parent's, like kind with like kind.

    A preference that is coarser than what is required anyway says nothing, so
    it is taken for a mistake as well.
    """
    pending = [("", _Above())]
    while pending:
        name, above = pending.pop()
        fields = given[name][0]
        mine, here = levels[name], above
        if mine.required is not None:
            where = fields.required
            yield from _coarser(where, mine.required, above.required, topology)
            here = replace(here, required=_Bound(mine.required, where))
        if mine.preferred is not None:
            where = fields.preferred
            found = [*_coarser(where, mine.preferred, here.required, topology)]
            yield from found or _coarser(where, mine.preferred, above.preferred, topology)
            here = replace(here, preferred=_Bound(mine.preferred, where))
        pending.extend((child, here) for child in reversed(tree.children[name]))


def _coarser(path: str, label: str, bound: _Bound | None, topology: Topology) -> Iterator[Problem]:
    labels = topology.labels
    if bound is not None and labels.index(label) < labels.index(bound.label):
        yield as_told(
            path,
            f"{shown(label)} is coarser than {shown(bound.label)}, which {bound.path} names."
            f" Name {shown(bound.label)} or a finer level, or leave it out.",
        )
