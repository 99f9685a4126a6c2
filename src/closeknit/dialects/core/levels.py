"""Required and preferred levels of parts that lie one within another.

A part's required level is equal to or finer than its parent's. A preference is never a reason to refuse: one
that is coarser than what is required anyway says nothing, and one that is coarser than its parent's
preference counts where that one cannot be had. Both get a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from closeknit.hub.paths import Path
from closeknit.hub.problems import Code, Field, Problem
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.sentences import core as sentences
from closeknit.hub.topology import HOSTNAME, Topology


@dataclass(frozen=True, slots=True)
class Levels:
    """The node labels of the levels that a part requires and prefers."""

    required: str | None = None
    preferred: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A level as somebody wrote it, and in which field."""

    path: Path
    word: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a part asks for, and the part that it lies in."""

    parent: str | None
    """None for the outermost part."""
    required: Written | None = None
    preferred: Written | None = None

    def words(self) -> Iterator[Written]:
        """Everything that is written, the requirement first."""
        return (each for each in (self.required, self.preferred) if each is not None)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A level that binds everything below, and who says so."""

    written: Written
    depth: int


def nested(
    asked: Mapping[str, Asked], topology: Topology, depths: Mapping[str, int], called: str = "domain"
) -> tuple[dict[str, Levels], list[Problem]]:
    """The levels of every part, and whatever is coarser than what lies around it; parents come first.

    A requirement that is coarser is left out of the levels, and so is a preference that says nothing. Both
    hold anyway, because what lies around them is finer. Among the problems are notes. ``hub.request`` checks
    the same for requests that no manifest was written for.

    ``depths`` says which level of the topology a word stands for; other words count for nothing.
    ``called`` is what the author of these words calls a level.
    """
    levels: dict[str, Levels] = {}
    problems: list[Problem] = []
    required: dict[str | None, _Bound | None] = {None: None}
    preferred: dict[str | None, _Bound | None] = {None: None}
    for name, part in asked.items():
        outer_required, outer_preferred = required[part.parent], preferred[part.parent]
        own_required, own_preferred = _bound(part.required, depths), _bound(part.preferred, depths)
        if own_required is not None and _is_coarser(own_required, outer_required):
            problems.append(_coarser(sentences.COARSER_LEVEL, own_required, outer_required, called=called))
            own_required = None
        bound = own_required or outer_required
        if own_preferred is not None and _is_coarser(own_preferred, bound):
            problems.append(_coarser(sentences.PREFERENCE_SAYS_NOTHING, own_preferred, bound))
            own_preferred = None
        elif own_preferred is not None and _is_coarser(own_preferred, outer_preferred):
            problems.append(_coarser(sentences.PREFERENCE_COARSER, own_preferred, outer_preferred))
        levels[name] = Levels(
            topology.labels[own_required.depth] if own_required else None,
            topology.labels[own_preferred.depth] if own_preferred else None,
        )
        required[name], preferred[name] = bound, own_preferred or outer_preferred
    return levels, problems


def _bound(written: Written | None, depths: Mapping[str, int]) -> _Bound | None:
    return _Bound(written, depths[written.word]) if written and written.word in depths else None


def _is_coarser(own: _Bound, above: _Bound | None) -> bool:
    return above is not None and own.depth < above.depth


def _coarser(code: Code, own: _Bound, above: _Bound | None, **facts: str) -> Problem:
    assert above is not None
    return code.at(
        own.written.path,
        level=own.written.word,
        bound=above.written.word,
        field=Field(above.written.path),
        **facts,
    )


def level_of_nodes(label: str, topology: Topology | None) -> str:
    """The label itself, or that of nodes where it lies below them."""
    if topology is None or topology.index(label) is None:
        return label
    return label if topology.down_to_nodes().index(label) is not None else HOSTNAME


def down_to_nodes(request: Request, topology: Topology | None) -> Request:
    """The same request in the words of ``topology.down_to_nodes()``."""
    if topology is None or topology.down_to_nodes() is topology:
        return request

    def meant(label: str | None) -> str | None:
        return level_of_nodes(label, topology) if label is not None else None

    def coarsened(member: Member) -> Member:
        return member if isinstance(member, PodSet) else group(member)

    def group(given: Group) -> Group:
        members = tuple(coarsened(member) for member in given.members)
        return replace(
            given, members=members, required=meant(given.required), preferred=meant(given.preferred)
        )

    return replace(request, root=group(request.root))
