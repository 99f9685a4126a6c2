"""Required and preferred levels of parts that lie one within another.

A part's required level is equal to or finer than its parent's. A preference is never a reason to refuse: one
that is coarser than what is required anyway has no effect, and one that is coarser than its parent's
preference counts where that one cannot be had. Both get a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from closeknit.hub.paths import Path
from closeknit.hub.problems import Code, Field, Problem
from closeknit.hub.request import Group, Member, Request
from closeknit.hub.sentences import core as sentences
from closeknit.hub.topology import HOSTNAME, Topology


@dataclass(frozen=True, slots=True)
class Levels:
    """The node labels of the levels that a part requires and prefers."""

    required: str | None = None
    preferred: str | None = None

    def group(self, name: str, members: Sequence[Member], minimum: int | None = None) -> Group:
        """A group that is kept together at these levels."""
        return Group(name, tuple(members), self.required, self.preferred, minimum)


@dataclass(frozen=True, slots=True)
class LevelField:
    """A field of a manifest that names a level."""

    path: Path
    value: str
    """Empty where the field is not set."""


_UNSET = LevelField((), "")


@dataclass(frozen=True, slots=True)
class PartFields:
    """The fields of one part that name its levels, and the part that it lies in."""

    parent: str | None
    """None for the outermost part."""
    required: LevelField = _UNSET
    preferred: LevelField = _UNSET

    def set_fields(self) -> Iterator[LevelField]:
        """Those that name a level, the requirement first."""
        return (each for each in (self.required, self.preferred) if each.value)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A level that binds everything below, and the field that names it."""

    field: LevelField
    depth: int


def nested(
    parts: Mapping[str, PartFields], topology: Topology, depths: Mapping[str, int], called: str = "domain"
) -> tuple[dict[str, Levels], list[LevelField], list[Problem]]:
    """The levels of every part, fields that name no level, and levels coarser than what lies around them.

    ``parts`` lists parents first. ``depths`` gives the level of the topology for each name that a field may
    hold, and ``called`` is what the author of the fields calls a level. A requirement that is coarser is
    left out of the levels, and so is a preference without effect: both hold anyway, because what lies
    around them is finer. Among the problems are notes. ``hub.request`` checks the same for requests
    without a manifest.
    """
    levels: dict[str, Levels] = {}
    problems: list[Problem] = []
    required: dict[str | None, _Bound | None] = {None: None}
    preferred: dict[str | None, _Bound | None] = {None: None}
    for name, part in parts.items():
        outer_required, outer_preferred = required[part.parent], preferred[part.parent]
        own_required, own_preferred = _bound(part.required, depths), _bound(part.preferred, depths)
        if own_required and outer_required and own_required.depth < outer_required.depth:
            problems.append(_coarser(sentences.COARSER_LEVEL, own_required, outer_required, called=called))
            own_required = None
        bound = own_required or outer_required
        if own_preferred and bound and own_preferred.depth < bound.depth:
            problems.append(_coarser(sentences.PREFERENCE_SAYS_NOTHING, own_preferred, bound))
            own_preferred = None
        elif own_preferred and outer_preferred and own_preferred.depth < outer_preferred.depth:
            problems.append(_coarser(sentences.PREFERENCE_COARSER, own_preferred, outer_preferred))
        levels[name] = Levels(
            topology.levels[own_required.depth].label if own_required else None,
            topology.levels[own_preferred.depth].label if own_preferred else None,
        )
        required[name], preferred[name] = bound, own_preferred or outer_preferred
    unknown = [each for part in parts.values() for each in part.set_fields() if each.value not in depths]
    return levels, unknown, problems


def _bound(field: LevelField, depths: Mapping[str, int]) -> _Bound | None:
    return _Bound(field, depths[field.value]) if field.value in depths else None


def _coarser(code: Code, own: _Bound, above: _Bound, **facts: str) -> Problem:
    field = Field(above.field.path)
    return code.at(own.field.path, level=own.field.value, bound=above.field.value, field=field, **facts)


def level_of_nodes(label: str, topology: Topology | None) -> str:
    """The label itself, or that of nodes where it lies below them."""
    if topology is None or topology.index(label) is None:
        return label
    return label if topology.down_to_nodes().index(label) is not None else HOSTNAME


def down_to_nodes(request: Request, topology: Topology | None) -> Request:
    """The same request in the words of ``topology.down_to_nodes()``."""
    if topology is None or topology.down_to_nodes() is topology:
        return request

    def coarsened(group: Group) -> Group:
        required, preferred = (
            None if label is None else level_of_nodes(label, topology)
            for label in (group.required, group.preferred)
        )
        return replace(group, required=required, preferred=preferred)

    return replace(request, root=request.root.mapped(groups=coarsened))
