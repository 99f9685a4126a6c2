"""The groups that a search has yet to give a domain.

Groups that can be exchanged for each other wait as one: a thousand alike cost no
more to keep in order than one, and what one of them has tried no other tries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from closeknit.engine.compiled_request import GroupVar
from closeknit.hub.copying import replace


@dataclass(frozen=True, slots=True)
class Waiting:
    """Groups alike that wait for their domains inside a domain already decided."""

    groups: list[GroupVar]
    """Never empty, in name order, and never changed."""
    level: int
    domain: int
    colors: tuple[int, ...]
    begun: int = 0
    """How many of the groups have had their turn."""
    tried: dict[int, frozenset[int]] = field(default_factory=dict)
    """By level, domains that an exchangeable group has been through already."""

    @property
    def group(self) -> GroupVar:
        """The group whose turn it is."""
        return self.groups[self.begun]

    @property
    def count(self) -> int:
        """How many still wait."""
        return len(self.groups) - self.begun

    def beside(self, other: Waiting) -> bool:
        """Whether both wait inside the same domain."""
        return (self.level, self.domain) == (other.level, other.domain)


OpenGroups: TypeAlias = list[Waiting]


def waiting(groups: Iterable[GroupVar], level: int, domain: int, colors: tuple[int, ...]) -> OpenGroups:
    """Groups that begin to wait inside a domain, those alike together."""
    alike: dict[str, list[GroupVar]] = {}
    for group in groups:
        alike.setdefault(group.twin, []).append(group)
    return [Waiting(twins, level, domain, colors) for twins in alike.values()]


def pick(open_groups: OpenGroups, urgency: Callable[[Waiting], Any]) -> tuple[Waiting, OpenGroups]:
    """The most urgent group, and all the others."""
    chosen = min(open_groups, key=urgency)
    rest = [other for other in open_groups if other is not chosen]
    if chosen.count > 1:
        rest.append(replace(chosen, begun=chosen.begun + 1))
    return chosen, rest


def needed_beside(chosen: Waiting, rest: OpenGroups, shapes: int) -> list[int]:
    """Per shape, the fewest pods that the others inside the same domain must place there."""
    needed = [0] * shapes
    for other in rest:
        if other.beside(chosen):
            needed = [a + other.count * b for a, b in zip(needed, other.group.need, strict=True)]
    return needed


def without_tried(chosen: Waiting, rest: OpenGroups, tried: dict[int, set[int]]) -> OpenGroups:
    """The others, spared what a group that can be exchanged for them has been through."""
    if not tried:
        return rest
    return [
        replace(other, tried=_joined(other.tried, tried))
        if other.group.twin == chosen.group.twin and other.beside(chosen) and other.colors == chosen.colors
        else other
        for other in rest
    ]


def _joined(before: dict[int, frozenset[int]], now: dict[int, set[int]]) -> dict[int, frozenset[int]]:
    return {level: before.get(level, frozenset()) | now.get(level, set()) for level in {*before, *now}}
