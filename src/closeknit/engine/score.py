"""How a finished placement does by criteria 1 to 6, and how close each group came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest, GroupVar, PodSetVar
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.preferred_rules import Take, cost
from closeknit.engine.tree import Ints, Tree
from closeknit.hub.outcome import Assignment, GroupReach, RuleReach, Wishes
from closeknit.hub.request import Group, PodSet

_NOWHERE: Ints = np.zeros(0, dtype=np.int64)
Spread = dict[int, tuple[Ints, Ints]]
"""By pod set index: positions, and how many new pods go to each."""


def positions_of(pod_sets: list[PodSetVar], spread: Spread) -> Ints:
    """Every position that the leaves use, running pods included, each once."""
    parts = [spread[pod_set.index][0] for pod_set in pod_sets if pod_set.index in spread]
    running = [position for pod_set in pod_sets for position in pod_set.bound]
    if len(parts) == 1 and not running:
        # What one pod set got is in order already, and each position stands there once.
        return parts[0]
    return np.unique(np.concatenate([*parts, np.array(running, dtype=np.int64)]))


def new_pods(spread: Spread, *pod_sets: PodSetVar) -> int:
    """How many pods of these sets a spread places."""
    return sum(int(spread[each.index][1].sum()) for each in pod_sets if each.index in spread)


def shared_level(tree: Tree, positions: Ints) -> int:
    """The finest declared level at which all positions lie in one real domain, or -1."""
    first, last = positions.item(0), positions.item(-1)
    for level in range(tree.depth - 1, -1, -1):
        # Positions are in tree order, so the outermost two decide for all between them.
        domain = tree.dom[level].item(first)
        if domain == tree.dom[level].item(last) and tree.real[level].item(domain):
            return level
    return -1


def broken_by_running(tree: Tree, group: GroupVar) -> bool:
    """Whether running pods already break what a group requires."""
    if group.required < 0 or not group.bound:
        return False
    return shared_level(tree, np.array(group.bound, dtype=np.int64)) < group.required


def distance(tree: Tree, preferred: int, positions: Ints) -> int:
    """How far a group is from its preferred level; 0 where it got it."""
    shared = shared_level(tree, positions)
    if shared >= 0:
        return max(preferred - shared, 0)
    return preferred + 1 + len(np.unique(tree.dom[preferred][positions]))


def wishes(compiled: CompiledRequest, spread: Spread) -> Wishes:
    """Score a placement."""
    tree = compiled.tree
    left_out = sum(compiled.root.open) - new_pods(spread, *compiled.pod_sets)
    preferences = [0] * tree.depth
    for group in compiled.groups:
        if group.preferred >= 0:
            positions = positions_of(group.pod_sets, spread)
            if len(positions):
                preferences[group.preferred] += distance(tree, group.preferred, positions)
    used = positions_of(compiled.pod_sets, spread)
    rules = 0
    if compiled.neighbours is not None and compiled.neighbours.preferred:
        rules = cost(compiled.neighbours.preferred, takes_of(compiled, spread))
    domains, inside = domains_of(tree, compiled.named, used)
    return Wishes(
        left_out, tuple(preferences), domains, rules, room_of(compiled.room, compiled.named, used), inside
    )


def domains_of(tree: Tree, named: int, used: Ints) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many domains of each level some positions use: down to the named level, and of the finer ones."""
    # Sorted positions give sorted domains, so a domain is new where it differs from the one before.
    domains = [*(distinct(tree.dom[level][used]) for level in range(tree.depth)), len(used)]
    return tuple(domains[: named + 1]), tuple(domains[named + 1 :])


def room_of(table: FitTable | None, named: int, used: Ints) -> int:
    """How many pods of a table the domains of the named level around some positions take."""
    if table is None:
        return 0
    around = table.tree.dom[named][used]
    return int(table.sums[named][around[np.flatnonzero(np.diff(around, prepend=-1))]].sum())


def takes_of(compiled: CompiledRequest, spread: Spread) -> list[Take]:
    """A role, positions and counts for every pod set that got pods."""
    return [(compiled.pod_sets[index].shape, *take) for index, take in spread.items()]


def rule_reaches(compiled: CompiledRequest, spread: Spread) -> tuple[RuleReach, ...]:
    """For how many pods preferred rules are kept."""
    found: list[RuleReach] = []
    takes = takes_of(compiled, spread)
    rules = compiled.neighbours.preferred if compiled.neighbours is not None else []
    known = {(each.subject, each.rule): each for each in rules}
    for pod_set in compiled.pod_sets if known else ():
        positions, counts = spread.get(pod_set.index, (_NOWHERE, _NOWHERE))
        for rule in dict.fromkeys(pod_set.pods.neighbour.rules):
            preference = known.get((pod_set.shape, rule))
            if preference is not None and len(positions):
                kept = preference.distances(takes)[preference.domains[positions]] == 0
                placed = (int(counts.sum()), int(counts[kept].sum()))
                found.append(RuleReach(pod_set.name, rule, *placed))
    return tuple(found)


def distinct(ordered: Ints) -> int:
    """How many different numbers there are, given in order."""
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + 1 if len(ordered) else 0


def reaches(compiled: CompiledRequest, spread: Spread) -> tuple[GroupReach, ...]:
    """How close every group came, parents first, then by name."""
    found = []
    for group in compiled.groups:
        parent = group.parent.name if group.parent is not None else None
        positions = positions_of(group.pod_sets, spread)
        pods = new_pods(spread, *group.pod_sets) + len(group.bound)
        found.append(reach(compiled.tree, group.group, parent, positions, pods))
    return tuple(found)


def reach(tree: Tree, group: Group, parent: str | None, positions: Ints, pods: int) -> GroupReach:
    """How close a group came with its pods on these positions."""
    level, preferred = -1, tree.level(group.preferred)
    domains: list[int] = []
    satisfied, violated = True, False
    if len(positions):
        level = shared_level(tree, positions)
        violated = level < tree.level(group.required)
        if level < preferred:
            level, satisfied = preferred, False
            used = np.unique(tree.dom[level][positions])
            domains = used[tree.real[level][used]].tolist()
        elif level >= 0:
            domains = [int(tree.dom[level][positions[0]])]
    return GroupReach(
        group.name,
        parent,
        group.required,
        group.preferred,
        tree.labels[level] if level >= 0 else None,
        tuple(tree.path(level, domain) for domain in domains),
        satisfied,
        pods,
        violated,
    )


def assignments(
    tree: Tree, pods: PodSet, positions: Iterable[int], counts: Iterable[int]
) -> Iterator[Assignment]:
    """The node of each pod of a set, in rank order."""
    names = iter(pods.pod_names())
    for position, count in zip(positions, counts, strict=True):
        node, path = tree.node(position), tree.node_path(position)
        for _ in range(count):
            yield Assignment(next(names), pods.name, node, path)
