"""Kueue's rule for one pod set of equal pods, as its documentation of topology-aware scheduling states it.

Pods that fit are counted from the nodes up. A required level takes the domain of that level with the smallest
sufficient count. A preferred one does the same, and goes up level by level until one domain is enough; at the
top several are taken, the largest first. On the way down, at every level, the largest domains come first, and
the last one is the smallest that is enough. Without a level, nodes with the least room are filled first.
Kueue has no word for a required and a preferred level at once; such a gang is placed by the required one.
"""

from __future__ import annotations

import numpy as np

from closeknit.simulator.room import Counts, Level, Placement, Room, filled
from closeknit.simulator.scenario import Ask


def kueue(room: Room, ask: Ask) -> Placement | None:
    """Where a gang goes."""
    fits = room.fits(ask)
    if int(fits.sum()) < ask.pods:
        return None
    labels = list(room.levels)
    asked = ask.required or ask.preferred
    if asked is None:
        return filled(fits, _least_first(fits, ask.pods), ask.pods)
    depth = labels.index(asked)
    chosen = _level(room, labels, depth, fits, ask)
    if chosen is None:
        return None
    depth, domains = chosen
    for label in labels[depth + 1 :]:
        below = room.levels[label]
        inside = np.isin(room.levels[labels[depth]].of_node, domains)
        domains = _largest_first(below.sums(np.where(inside, fits, 0)), ask.pods)
        depth += 1
    inside = np.isin(room.levels[labels[depth]].of_node, domains)
    nodes = _largest_first(np.where(inside, fits, 0), ask.pods)
    return filled(fits, nodes, ask.pods)


def _level(room: Room, labels: list[str], depth: int, fits: Counts, ask: Ask) -> tuple[int, Counts] | None:
    """The level at which the gang is placed, and its domains there."""
    while True:
        level: Level = room.levels[labels[depth]]
        counts = level.sums(fits)
        if len(counts) and int(counts.max()) >= ask.pods:
            return depth, np.array([_smallest_enough(counts, ask.pods)])
        if ask.required is not None:
            return None
        if depth == 0:
            taken = _largest_first(counts, ask.pods)
            return (depth, taken) if int(counts[taken].sum()) >= ask.pods else None
        depth -= 1


def _smallest_enough(counts: Counts, pods: int) -> int:
    enough = np.flatnonzero(counts >= pods)
    return int(enough[np.argmin(counts[enough])])


def _largest_first(counts: Counts, pods: int) -> Counts:
    """Domains in the order in which they are used: the largest, and last the smallest that is enough."""
    used: list[int] = []
    for number in np.argsort(-counts, kind="stable").tolist():
        if counts[number] >= pods:
            left = counts.copy()
            left[used] = 0
            used.append(_smallest_enough(left, pods))
            break
        if not counts[number]:
            break
        used.append(number)
        pods -= int(counts[number])
    return np.array(used, dtype=np.int64)


def _least_first(fits: Counts, pods: int) -> Counts:
    """One node that is enough, the one with least room; else nodes from the least room up."""
    if int(fits.max()) >= pods:
        return np.array([_smallest_enough(fits, pods)])
    order = np.argsort(fits, kind="stable")
    return order[fits[order] > 0]
