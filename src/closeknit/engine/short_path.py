"""The short path: the most common requests, decided without a search.

These are requests of one pod set that some domain of the named level takes as a whole. No placement uses
fewer domains, so the best domain by score is chosen, and the pods are laid out in it. Everything else is left
to the search, which gives the same answer wherever both give one.
"""

from __future__ import annotations

from closeknit.engine import score
from closeknit.engine.budget import Budget
from closeknit.engine.criteria import best_of, domain_keys
from closeknit.engine.equal_layout import EqualLayout
from closeknit.engine.fit_tables import FitTable
from closeknit.hub.outcome import Outcome, Placed, Statistics, Unplaceable, Wishes
from closeknit.hub.request import Group, PodSet, Request

_STEPS = 2
"""Steps that the search takes to give one group its domain and its members."""


def single_set(root: Group) -> PodSet | None:
    """The pod set of a request that has no other, all of whose pods must still be placed."""
    pods = root.members[0] if len(root.members) == 1 else None
    if not isinstance(pods, PodSet) or root.least != 1 or pods.bound or not pods.count:
        return None
    return pods if pods.least == pods.count else None


def decide(
    request: Request, pods: PodSet, table: FitTable, plain: FitTable, *, budget: Budget, touched: int
) -> Outcome | None:
    """Decide about the only pod set of a request, given the table of its shape; None leaves it to the search.

    ``plain`` is the table without rules about other pods. ``touched`` is how many nodes had to be counted.
    """
    tree, group, count = table.tree, request.root, pods.count
    required = tree.level(group.required)
    wanted = max(required, tree.level(group.preferred))
    named = wanted if wanted >= 0 else tree.above_hosts
    takers = table.sums[named] >= count
    if wanted >= 0:
        takers &= tree.real[named]
    domains = takers.nonzero()[0]
    if not len(domains):
        placeable = required < 0 or any(
            (tree.real[level] & (table.sums[level] >= count)).any() for level in range(required, named)
        )
        return None if placeable else Unplaceable(request.name, (), Statistics(touched))
    if budget.find < _STEPS:
        return None
    domain = best_of(domains, domain_keys(table, named, named, count))
    positions, counts = EqualLayout(table, named).lay_out(named, domain, count)
    nodes = len(positions)
    inside = [nodes] * (tree.depth - named)
    for finer in range(named + 1, tree.depth):
        if not tree.single(finer):
            inside[finer - named - 1] = score.distinct(tree.dom[finer][positions])
    return Placed(
        request.name,
        tuple(score.assignments(tree, pods, positions.tolist(), counts.tolist())),
        (score.reach(tree, group, None, positions, count),),
        Wishes(0, (0,) * tree.depth, (1,) * (named + 1), 0, plain.sums[named].item(domain), tuple(inside)),
        proven=True,
        statistics=Statistics(touched, int(named < tree.depth), _STEPS),
    )
