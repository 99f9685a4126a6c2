"""The criteria by which placements are compared, and how each part of the engine applies them.

Short path, search, layouts, greedy passes, equal pods and explanations take the order from this module.
Criteria 1 to 4 are exact within the search budget. Criteria 5 to 7 choose between placements that are equal
by these: exactly if the pods are equal and one domain of the named level takes all of them, by heuristics
otherwise. ``docs/reference/semantics.md`` defines each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from closeknit.engine.count_bounds import MOST_COUNTED, fewest_domains, fewest_pieces
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.tree import Ints, Tree
from closeknit.hub.outcome import Wishes
from closeknit.hub.request import Group


class Criterion(NamedTuple):
    """One criterion; ``field`` is the field of ``Wishes`` that counts it, None where nothing does."""

    description: str
    field: str | None


CRITERIA = (
    Criterion("More pods above the minimum.", "left_out"),
    Criterion("Groups closer to their preferred levels, coarser levels first.", "preferences"),
    Criterion("Pods closer to their preferred rules about other pods of the request.", "rules"),
    Criterion("Fewer domains of each level down to the named one, coarsest first.", "domains"),
    Criterion("A better score of the domains of the named level: price, then room (``score_keys``).", "room"),
    Criterion("The same inside them, level by level: fewer domains, then their score; hosts last.", "inside"),
    Criterion("The first by path.", None),
)

_MORE = np.iinfo(np.int64).max

Key: TypeAlias = Callable[[Ints], "Ints | NDArray[np.float64] | int"]
"""Values by which some domains compare, less is better; a single number where they are all equal."""

Room: TypeAlias = Callable[[int, Ints], Ints]
"""How many pods domains of a level take."""


def named_level(root: Group, tree: Tree) -> int:
    """The level at which domains are scored: the finest one that any group of a request requires or prefers.

    If no group names a level, the finest level above hosts.
    """
    labels = {
        label
        for member, _ in root.walk()
        if isinstance(member, Group)
        for label in (member.required, member.preferred)
        if label is not None
    }
    return max(map(tree.level, labels), default=tree.above_hosts)


def fields(wishes: Wishes) -> list[int]:
    """Criteria 1 to 4 as a list: of two placements the better one has the list that comes first in order."""
    return [wishes.left_out, *wishes.preferences, wishes.rules, *wishes.domains]


def ranking(wishes: Wishes) -> list[int]:
    """Criteria 1 to 6 as a list that compares like ``fields``, as far as they are counted."""
    return [*fields(wishes), wishes.room or 0, *wishes.inside]


def score_keys(table: FitTable, level: int, *, inside: int = -1, room: Room | None = None) -> Iterator[Key]:
    """Criterion 5: how to compare single domains of a level for the pods of a table.

    The price comes first: nodes that preferences of the pods favour and that strand no scarce resource. After
    the room it would never count, since hardly any two domains have room for equally many pods. Then the
    least room, which keeps emptier domains whole for larger gangs, and the least room of the domains around,
    finest first, below the level ``inside`` of a domain that holds all of them. ``room`` replaces that of the
    table.
    """
    appeal = table.appeal(level)
    if appeal is not None:
        yield lambda domains: -appeal[domains]
    for coarser in range(level, inside, -1):
        yield partial(_room_around, table, room, level, coarser)


def _room_around(table: FitTable, room: Room | None, level: int, coarser: int, domains: Ints) -> Ints:
    tree = table.tree
    around = domains if coarser == level else tree.dom[coarser][tree.start[level][domains]]
    return table.sums[coarser][around] if room is None else room(coarser, around)


def domain_keys(
    table: FitTable, level: int, named: int, count: int, *, inside: int = -1, room: Room | None = None
) -> Iterator[Key]:
    """Criteria 4 to 6 for single domains of a level that each take ``count`` pods of a table."""
    tree = table.tree
    for finer in levels_inside(tree, level):
        if finer <= named:
            yield partial(fewest_domains, table, level, finer, count=count)
    yield from score_keys(table, level, inside=inside, room=room)
    for finer in levels_inside(tree, level):
        if finer > named:
            yield partial(fewest_domains, table, level, finer, count=count)


def levels_inside(tree: Tree, level: int) -> Iterator[int]:
    """The levels inside domains of a level, then nodes; a level of one node a domain counts like these."""
    if level < tree.depth and not tree.single(level):
        yield from (finer for finer in range(level + 1, tree.depth) if not tree.single(finer))
        yield tree.depth


def least_room_inside(table: FitTable, level: int, named: int, domains: Ints, *, count: int) -> Ints:
    """For domains of a level, the room of the fewest and tightest domains of the named level for all pods."""
    tree, sizes = table.tree, table.sums[named]
    first, last = (
        tree.dom[named][ends] for ends in (tree.start[level][domains], tree.end[level][domains] - 1)
    )
    enough = np.where(sizes >= count, sizes, _MORE)
    room: Ints = np.minimum.reduceat(enough, tree.dom[named][tree.start[level]])[domains]
    several = np.flatnonzero(room == _MORE)
    if len(several) * (tree.count(named) // tree.count(level) + 1) > MOST_COUNTED:
        room[several] = table.sums[level][domains[several]]
        return room
    for at in several.tolist():
        inside = sizes[first[at] : last[at] + 1]
        if int(inside.sum()) >= count:
            room[at] = inside[fewest_pieces(inside, None, count)[1]].sum()
    return room


def narrowed(domains: Ints, keys: Iterable[Key]) -> Ints:
    """Those of some domains that are best by keys of which the first counts most, in path order."""
    for key in keys:
        if len(domains) == 1:
            break
        values = key(domains)
        if not isinstance(values, int):
            domains = domains[values == values.min()]
    return domains


def best_of(domains: Ints, keys: Iterable[Key]) -> int:
    """The first by path of those."""
    return int(narrowed(domains, keys)[0])
