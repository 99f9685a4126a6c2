"""What any placement of a request costs at least, wish by wish, by counts over the whole cluster.

A placement that costs no more is best, and no search need prove it.
"""

from __future__ import annotations

import numpy as np

from closeknit.engine import score
from closeknit.engine.pool import Pool
from closeknit.engine.problem import Knot, Problem, formed
from closeknit.engine.tree import Ints


def fields(problem: Problem, pool: Pool) -> list[int]:
    """Pods left out, the distance for each preferred level, domains for each level, nodes."""
    root, tree, tables = problem.root, problem.tree, problem.tables
    left_out = sum(max(count - tables[shape].total, 0) for shape, count in enumerate(root.open))
    if len(tables) > 1:
        left_out = max(left_out, sum(root.open) - pool.total)
    preferences = [0] * tree.depth
    for knot in _certain(root):
        if knot.preferred >= 0:
            preferences[knot.preferred] += _distance(problem, knot)
    return [left_out, *preferences, *(_domains(problem, pool, level) for level in range(tree.depth + 1))]


def _certain(knot: Knot) -> list[Knot]:
    """Groups that every placement has to form."""
    found = [knot]
    if sum(formed(part) for part in knot.members) + sum(not formed(part) for part in knot.members) <= knot.least:
        for part in knot.members:
            if isinstance(part, Knot):
                found.extend(_certain(part))
    return found


def _distance(problem: Problem, knot: Knot) -> int:
    """How far from its preference a group stays at least."""
    tree = problem.tree
    if not knot.size and not knot.bound:
        return 0
    reachable = knot.preferred
    if knot.bound:
        reachable = min(reachable, score.shared_level(tree, np.array(knot.bound, dtype=np.int64)))
    while reachable >= 0 and not _holds_all(problem, knot, reachable):
        reachable -= 1
    if reachable >= 0:
        return knot.preferred - reachable
    pieces = 1
    for shape, need in enumerate(knot.need):
        pieces = max(pieces, fewest(problem.tables[shape].sums[knot.preferred], need) if not knot.bound else 1)
    return knot.preferred + 1 + pieces


def _holds_all(problem: Problem, knot: Knot, level: int) -> bool:
    """Whether counts leave a domain of a level that takes all that a group needs."""
    tree = problem.tree
    possible = tree.real[level].copy()
    for shape, need in enumerate(knot.need):
        if need:
            possible &= problem.tables[shape].sums[level] >= need
    if knot.bound:
        return bool(possible[tree.dom[level][knot.bound[0]]])
    return bool(possible.any())


def _domains(problem: Problem, pool: Pool, level: int) -> int:
    """How many domains of a level come into use at least."""
    tree, root = problem.tree, problem.root
    running = np.unique(tree.dom[level][np.array(root.bound, dtype=np.int64)])
    most = len(running)
    wanted = [(problem.tables[shape].sums[level], need) for shape, need in enumerate(root.need) if need]
    if len(wanted) > 1:
        wanted.append((pool.sums(level), root.size))
    for sums, need in wanted:
        if len(running):
            # Pods go to domains in use first; only what these cannot take needs others.
            rest = need - int(sums[running].sum())
            others = sums.copy()
            others[running] = 0
            most = max(most, len(running) + fewest(others, rest))
        else:
            most = max(most, fewest(sums, need))
    return most


def fewest(capacities: Ints, count: int) -> int:
    """The fewest pieces whose capacities add up to a count; one more than all where they do not."""
    if count <= 0:
        return 0
    if len(capacities) == 0:
        return 1
    most = int(capacities.max())
    if most >= count:
        return 1
    if most == 0:
        return len(capacities) + 1
    # At least this many are needed, so only the largest few have to be put in order when that is enough.
    guess = min(len(capacities), 2 * -(-count // most))
    largest = np.partition(capacities, len(capacities) - guess)[len(capacities) - guess :]
    if int(largest.sum()) < count:
        largest = capacities
    reached = np.cumsum(np.sort(largest)[::-1])
    return int(np.searchsorted(reached, count)) + 1
