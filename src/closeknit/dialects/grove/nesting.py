"""What places ask for, one within another: a child's level is equal to or finer than its parent's.

Like is compared with like: requirements with requirements, and preferences with preferences. A
preference that is coarser than what is required anyway says nothing; Grove accepts it with
a warning, and here it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from closeknit.hub.problems import Problem, as_told, shown
from closeknit.hub.topology import Topology


@dataclass(frozen=True, slots=True)
class Levels:
    """The node labels of the levels that a place requires and prefers."""

    required: str | None = None
    preferred: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A level as somebody wrote it, and in which field."""

    path: str
    word: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a place asks for, and the place that it lies in."""

    parent: str | None
    """None for the outermost place."""
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
    """The levels of every place, and whatever is coarser than what lies around it; parents come first.

    What is coarser is left out of the levels. It holds anyway, because what lies around it is finer.

    ``depths`` says which level of the topology a word stands for; other words count for nothing.
    ``called`` is what the author of these words calls a level.
    """
    levels: dict[str, Levels] = {}
    problems: list[Problem] = []
    required: dict[str | None, _Bound | None] = {None: None}
    preferred: dict[str | None, _Bound | None] = {None: None}
    for name, place in asked.items():
        must, wish = required[place.parent], preferred[place.parent]
        own_must = _fitting(_bound(place.required, depths), must, called, problems)
        own_wish = _fitting(_bound(place.preferred, depths), wish, called, problems)
        must, wish = own_must or must, own_wish or wish
        if own_wish is not None and must is not None and own_wish.depth < must.depth:
            own_wish = None
        levels[name] = Levels(
            topology.labels[own_must.depth] if own_must else None,
            topology.labels[own_wish.depth] if own_wish else None,
        )
        required[name], preferred[name] = must, wish
    return levels, problems


def _bound(written: Written | None, depths: Mapping[str, int]) -> _Bound | None:
    return _Bound(written, depths[written.word]) if written and written.word in depths else None


def _fitting(own: _Bound | None, above: _Bound | None, called: str, problems: list[Problem]) -> _Bound | None:
    if own is None or above is None or own.depth >= above.depth:
        return own
    bound = shown(above.written.word)
    message = f"{shown(own.written.word)} is coarser than {bound}, which {above.written.path} names."
    remedy = f"Name {bound} or a finer {called}, or leave it out."
    problems.append(as_told(own.written.path, f"{message} {remedy}"))
    return None
