"""Required and preferred levels of parts that lie one within another.

A part's required level is equal to or finer than its parent's. A preference is never a reason to refuse: one
that is coarser than what is required anyway has no effect, and one that is coarser than its parent's
preference counts where that one cannot be had. Both get a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from closeknit.hub.copying import replace
from closeknit.hub.paths import Path
from closeknit.hub.problems import Fact, Field, Problem
from closeknit.hub.request import Group, Member, Request
from closeknit.hub.sentences import core as sentences
from closeknit.hub.topology import HOSTNAME, Topology


class Levels(msgspec.Struct, frozen=True, gc=False):
    """The node labels of the levels that a part requires and prefers."""

    required: str | None = None
    preferred: str | None = None

    def group(self, name: str, members: Sequence[Member], minimum: int | None = None) -> Group:
        """A group that is kept together at these levels."""
        return Group(name, tuple(members), self.required, self.preferred, minimum)


Wish: TypeAlias = Literal["required", "preferred"]
"""Which of the two fields of a part is meant: what must be, or what should be."""
_FIELDS: Final[tuple[Wish, ...]] = ("required", "preferred")


class Part(NamedTuple):
    """What one part of an object says, and the part that it lies in."""

    parent: str | None
    """None for the outermost part."""
    required: str = ""
    """As its field names the level; empty where the field is not set."""
    preferred: str = ""


@dataclass(frozen=True, slots=True)
class LevelField:
    """A field of a manifest that names a level."""

    path: Path
    value: str


class _Bound(NamedTuple):
    """A level that binds everything below, and the part whose field names it."""

    part: str
    depth: int


class _Coarser(NamedTuple):
    """A field that names a coarser level than another field."""

    field: Wish
    finer: Wish
    within: str | None
    """The part of the finer one; None for the same part."""


class _Judged(NamedTuple):
    """What holds for all parts that mean the same within the same part."""

    levels: Levels
    coarser: tuple[_Coarser, ...] = ()


_Meaning: TypeAlias = tuple[str | None, int | None, int | None]
"""The nearest part around that says something, and the depths of what is required and preferred; None for no
level."""
_NOTHING: Final = Levels()


@dataclass(frozen=True)
class Nested:
    """The levels of every part. What is wrong with them is put into words where somebody reads it."""

    levels: Mapping[str, Levels]
    strange: AbstractSet[str]
    """The names that fields give to levels which are not there."""
    _parts: Mapping[str, Part]
    _meanings: Mapping[str, _Meaning]
    """Of all parts that say something."""
    _judged: Mapping[_Meaning, _Judged]
    _path: Callable[[str, Wish], Path]
    _called: str

    def unknown(self) -> Iterator[LevelField]:
        """The fields that name no level."""
        for name, part in self._parts.items() if self.strange else ():
            for field in _FIELDS:
                if (value := getattr(part, field)) in self.strange:
                    yield LevelField(self._path(name, field), value)

    def coarser(self) -> Iterator[Problem]:
        """Levels coarser than what lies around them. Among these are notes."""
        if not any(judged.coarser for judged in self._judged.values()):
            return
        for name, meaning in self._meanings.items():
            for coarser in self._judged[meaning].coarser:
                yield self._problem(name, coarser)

    def _problem(self, name: str, coarser: _Coarser) -> Problem:
        field, finer, within = coarser
        other = name if within is None else within
        path = self._path(name, field)
        facts: dict[str, Fact] = {
            "level": getattr(self._parts[name], field),
            "bound": getattr(self._parts[other], finer),
            "field": Field(self._path(other, finer)),
        }
        if field == "required":
            return sentences.COARSER_LEVEL.at(path, called=self._called, **facts)
        if finer == "required":
            return sentences.PREFERENCE_SAYS_NOTHING.at(path, **facts)
        return sentences.PREFERENCE_COARSER.at(path, **facts)


def nested(
    parts: Mapping[str, Part],
    topology: Topology,
    depths: Mapping[str, int],
    path: Callable[[str, Wish], Path],
    called: str = "domain",
) -> Nested:
    """The levels of every part, fields that name no level, and levels coarser than what lies around them.

    ``parts`` lists parents first. ``depths`` gives the level of the topology for each name that a field may
    hold, ``path`` tells where a part's field is written, and ``called`` is what the author of the fields
    calls a level. A requirement that is coarser is left out of the levels, and so is a preference without
    effect: both hold anyway, because what lies around them is finer. ``hub.request`` checks the same for
    requests without a manifest.

    Of a large object most parts say nothing, or mean the same within the same part and are judged once.
    """
    levels: dict[str, Levels] = {}
    judged: dict[_Meaning, _Judged] = {}
    meanings: dict[str, _Meaning] = {}
    nearest: dict[str | None, str | None] = {None: None}
    bounds: dict[str | None, tuple[_Bound | None, _Bound | None]] = {None: (None, None)}

    def around(name: str | None) -> tuple[_Bound | None, _Bound | None]:
        """What is required and preferred within a part; those around it were asked about before."""
        if (known := bounds.get(name)) is not None or name is None:
            return known or (None, None)
        part, own = parts[name], levels[name]
        required, preferred = around(meanings[name][0])
        if own.required is not None:
            required = _Bound(name, depths[part.required])
        if own.preferred is not None:
            preferred = _Bound(name, depths[part.preferred])
        return bounds.setdefault(name, (required, preferred))

    for name, (parent, required, preferred) in parts.items():
        above = nearest[parent]
        if not required and not preferred:
            levels[name], nearest[name] = _NOTHING, above
            continue
        nearest[name] = name
        meaning = meanings[name] = above, depths.get(required), depths.get(preferred)
        if (known := judged.get(meaning)) is None:
            known = judged[meaning] = _judge(meaning, *around(above), topology)
        levels[name] = known.levels
    named = {each.required for each in parts.values()} | {each.preferred for each in parts.values()}
    return Nested(levels, named - depths.keys() - {""}, parts, meanings, judged, path, called)


def _judge(meaning: _Meaning, around: _Bound | None, wished: _Bound | None, topology: Topology) -> _Judged:
    """``around`` and ``wished`` are the finest that is required and preferred around the part."""
    _, required, preferred = meaning
    coarser: list[_Coarser] = []
    if required is not None and around is not None and required < around.depth:
        coarser.append(_Coarser("required", "required", around.part))
        required = None
    bound = around if required is None else _Bound("", required)
    if preferred is not None and bound is not None and preferred < bound.depth:
        within = bound.part if bound is around else None
        coarser.append(_Coarser("preferred", "required", within))
        preferred = None
    elif preferred is not None and wished is not None and preferred < wished.depth:
        coarser.append(_Coarser("preferred", "preferred", wished.part))
    return _Judged(Levels(_label(topology, required), _label(topology, preferred)), tuple(coarser))


def _label(topology: Topology, depth: int | None) -> str | None:
    return None if depth is None else topology.levels[depth].label


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
