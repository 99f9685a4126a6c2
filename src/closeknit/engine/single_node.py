"""The short path: equal pods that fit on one node, the commonest request, placed without a search.

Where a node takes a whole group, no placement uses fewer domains of any level, so the
first one that the search would come to is the best there is. This module finds the same
one from the sums and the largest counts of a table. Whatever is not as simple it leaves
to the search, which gives the same answer wherever both can give one.
"""

from __future__ import annotations

import numpy as np

from closeknit.engine.budget import Budget
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.ledger import Ledger
from closeknit.engine.tree import Flags, Ints
from closeknit.hub.outcome import Assignment, GroupReach, Outcome, Placed, Statistics, Unplaceable, Wishes
from closeknit.hub.request import Group, PodSet, Request

_STEPS = 2
"""What the search takes to give one group its domain and its members."""
_NONE = np.iinfo(np.int64).max


def single_set(root: Group) -> PodSet | None:
    """The pod set of a request that has no other, all of whose pods must still be placed."""
    pods = root.members[0] if len(root.members) == 1 else None
    if not isinstance(pods, PodSet) or root.least != 1 or pods.bound or not pods.count:
        return None
    return pods if pods.least == pods.count else None


def decide(
    request: Request, pods: PodSet, table: FitTable, ledger: Ledger, *, budget: Budget, touched: int
) -> Outcome | None:
    """Decide about the only pod set of a request, given the table of its shape; None leaves it to the search.

    ``touched`` is how many nodes had to be counted for the table.
    """
    tree, group = table.tree, request.root
    required, preferred = tree.level(group.required), tree.level(group.preferred)
    if required >= 0 and not _takers(table.sums, table, required, pods.count).any():
        return Unplaceable(request.name, (), Statistics(touched))
    if table.most < pods.count or budget.find < _STEPS:
        return None
    level, domain = _domain(table, pods.count, required, preferred)
    if domain is None:
        return None
    position = _node(table, level, domain, pods.count)
    node, path = ledger.nodes[tree.slots.item(position)], tree.node_path(position)
    assert node is not None
    satisfied = len(path) > preferred
    reached = len(path) - 1 if satisfied else preferred
    distances = [0] * tree.depth
    if preferred > level >= 0:
        distances[preferred] = preferred - level
    return Placed(
        request.name,
        tuple([Assignment(pod, pods.name, node.name, path) for pod in pods.pod_names()]),
        (
            GroupReach(
                group.name,
                None,
                group.required,
                group.preferred,
                tree.labels[reached] if reached >= 0 else None,
                (path,) if satisfied and path else (),
                satisfied,
                pods.count,
            ),
        ),
        Wishes(0, tuple(distances), (1,) * (tree.depth + 1)),
        proven=True,
        statistics=Statistics(touched, int(level >= 0), _STEPS),
    )


def _domain(table: FitTable, count: int, required: int, preferred: int) -> tuple[int, int | None]:
    """The level and domain that the search would choose first; no domain where it would divide the pods."""
    for level in range(max(required, preferred), max(required, 0) - 1, -1):
        domain = _best(table, level, count)
        if domain is not None or _takers(table.sums, table, level, count).any():
            return level, domain
    return -1, 0 if max(required, preferred) < 0 else None


def _takers(counts: list[Ints], table: FitTable, level: int, count: int) -> Flags:
    """Which domains of a level can be required or shared, and count at least so much."""
    takers: Flags = counts[level] >= count
    takers &= table.tree.real[level]
    return takers


def _best(table: FitTable, level: int, count: int) -> int | None:
    """The domain to choose among those with a node that takes all: the cheapest, tightest, first by path."""
    tree = table.tree
    room = _among(table, level, 0, tree.count(level), _takers(table.largest, table, level, count))
    least = room.min(initial=_NONE)
    if least == _NONE:
        return None
    equal = np.flatnonzero(room == least)
    for coarser in range(level - 1, -1, -1):
        if len(equal) == 1:
            break
        around = table.sums[coarser][tree.dom[coarser][tree.start[level][equal]]]
        equal = equal[around == around.min()]
    return int(equal[0])


def _node(table: FitTable, level: int, domain: int, count: int) -> int:
    """The node to choose in a domain that has one which takes all, going down level by level."""
    tree = table.tree
    while level < tree.depth:
        first, last = tree.span(level, domain, level + 1)
        level, domain = level + 1, first
        if last - first > 1:
            takes = table.largest[level][first:last] >= count
            domain += int(_among(table, level, first, last, takes).argmin())
    return domain


def _among(table: FitTable, level: int, first: int, last: int, takes: Flags) -> Ints:
    """The room of the cheapest of some domains; of all others, more than any has."""
    appeal = table.appeal(level)
    if appeal is not None:
        appealing = np.where(takes, appeal[first:last], np.iinfo(np.int64).min)
        takes = takes & (appealing == appealing.max(initial=np.iinfo(np.int64).min))
    return np.where(takes, table.sums[level][first:last], _NONE)
