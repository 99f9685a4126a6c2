"""The short path: the commonest requests, decided without a search.

These are requests of one pod set whose pods all fit on one node, or whose pods fill a
node each. Then every domain that takes the pods needs the same number of nodes, so no
placement is better than the first that the search would come to. This module finds that
one from the sums and the largest counts of a table. Whatever is not as simple it leaves
to the search, which gives the same answer wherever both can give one.
"""

from __future__ import annotations

import numpy as np

from closeknit.engine import score
from closeknit.engine.budget import Budget
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.tree import Flags, Ints, Tree
from closeknit.hub.outcome import Outcome, Placed, Statistics, Unplaceable, Wishes
from closeknit.hub.request import Group, PodSet, Request

_STEPS = 2
"""What the search takes to give one group its domain and its members."""
_MORE, _LESS = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def single_set(root: Group) -> PodSet | None:
    """The pod set of a request that has no other, all of whose pods must still be placed."""
    pods = root.members[0] if len(root.members) == 1 else None
    if not isinstance(pods, PodSet) or root.least != 1 or pods.bound or not pods.count:
        return None
    return pods if pods.least == pods.count else None


def decide(
    request: Request, pods: PodSet, table: FitTable, *, budget: Budget, touched: int
) -> Outcome | None:
    """Decide about the only pod set of a request, given the table of its shape; None leaves it to the search.

    ``touched`` is how many nodes had to be counted for the table.
    """
    tree, group = table.tree, request.root
    required, preferred = tree.level(group.required), tree.level(group.preferred)
    places = _places(table, pods.count, required, preferred)
    if places is None:
        return Unplaceable(request.name, (), Statistics(touched)) if required >= 0 else None
    level, positions = places
    if positions is None or budget.find < _STEPS:
        return None
    nodes = len(positions)
    distances = [0] * tree.depth
    if preferred > level >= 0:
        distances[preferred] = preferred - level
    return Placed(
        request.name,
        tuple(score.assignments(tree, pods, positions.tolist(), [pods.count // nodes] * nodes)),
        (score.reach(tree, group, None, positions, pods.count),),
        Wishes(0, tuple(distances), (*(1,) * (level + 1), *(nodes,) * (tree.depth - level))),
        proven=True,
        statistics=Statistics(touched, int(level >= 0), _STEPS),
    )


def _places(table: FitTable, count: int, required: int, preferred: int) -> tuple[int, Ints | None] | None:
    """The level of the domain that the search would choose first, and its nodes that take an equal part each.

    No nodes where it is for the search to say how the pods are divided; None where no
    domain takes them, from the preferred level up to the required one.
    """
    tree = table.tree
    finest = max(required, preferred)
    if finest < 0:
        return -1, _node(table, -1, 0, count) if table.most >= count else None
    for level in range(finest, max(required, 0) - 1, -1):
        if table.most >= count:
            domain = _best(table, level, _takers(tree, table.largest, level, count))
            if domain is not None:
                return level, _node(table, level, domain, count)
        takers = _takers(tree, table.sums, level, count)
        if takers.any():
            if tree.count(level + 1) < len(tree) or (takers & (table.largest[level] > 1)).any():
                return level, None
            domain = _best(table, level, takers)
            assert domain is not None
            return level, _one_each(table, level, domain, count)
    return None


def _takers(tree: Tree, counts: list[Ints], level: int, count: int) -> Flags:
    """Which domains of a level can be required or shared, and count at least so much."""
    takers: Flags = counts[level] >= count
    takers &= tree.real[level]
    return takers


def _best(table: FitTable, level: int, takers: Flags) -> int | None:
    """Of domains that are equal by wishes 1 to 4, the cheapest, then the tightest, then the first by path."""
    tree = table.tree
    room = _cheapest_room(table, level, 0, tree.count(level), takers)
    least = room.min(initial=_MORE)
    if least == _MORE:
        return None
    equal = np.flatnonzero(room == least)
    for coarser in range(level - 1, -1, -1):
        if len(equal) == 1:
            break
        around = table.sums[coarser][tree.dom[coarser][tree.start[level][equal]]]
        equal = equal[around == around.min()]
    return int(equal[0])


def _node(table: FitTable, level: int, domain: int, count: int) -> Ints:
    """The node to choose in a domain that has one which takes all pods, going down level by level."""
    tree = table.tree
    while level < tree.depth:
        first, last = tree.span(level, domain, level + 1)
        level, domain = level + 1, first
        if last - first > 1:
            takers = table.largest[level][first:last] >= count
            domain += int(_cheapest_room(table, level, first, last, takers).argmin())
    return np.array([domain], dtype=np.int64)


def _one_each(table: FitTable, level: int, domain: int, count: int) -> Ints:
    """So many nodes of a domain that take a pod each: the cheapest, then the first by path."""
    start, end = table.tree.bounds(level, domain)
    nodes = np.flatnonzero(table.fit[start:end]) + start
    if table.price is not None:
        nodes = np.sort(nodes[np.argsort(table.price[nodes], kind="stable")[:count]])
    return nodes[:count]


def _cheapest_room(table: FitTable, level: int, first: int, last: int, takers: Flags) -> Ints:
    """How many pods the cheapest of the takers take in all; for all other domains, more than any takes."""
    appeal = table.appeal(level)
    if appeal is not None:
        appealing = np.where(takers, appeal[first:last], _LESS)
        takers = takers & (appealing == appealing.max(initial=_LESS))
    return np.where(takers, table.sums[level][first:last], _MORE)
