"""KAI's rule for one gang of equal pods, as its design of topology awareness states it.

Domains that fit the whole gang are tried from the finest of the levels allowed (from the preferred up to the
required one, or to the whole cluster) and within a level the tightest first. Inside, pods are put one by one
onto the node with the fewest free devices; where the preferred level is not reached, nodes of its emptier
domains come first. Nodes outside the topology's tree are left out where a level is named.
"""

from __future__ import annotations

import numpy as np

from closeknit.simulator.room import Counts, Placement, Room, filled
from closeknit.simulator.scenario import Ask


def kai(room: Room, ask: Ask) -> Placement | None:
    """Where a gang goes."""
    fits = room.fits(ask)
    if int(fits.sum()) < ask.pods:
        return None
    if ask.required is None and ask.preferred is None:
        return filled(fits, _fullest_first(room), ask.pods)
    labels = list(room.levels)
    fits = np.where(room.levels[labels[-1]].inside, fits, 0)
    finest = labels.index(ask.preferred or ask.required or labels[0])
    coarsest = labels.index(ask.required) if ask.required is not None else 0
    for depth in range(finest, coarsest - 1, -1):
        level = room.levels[labels[depth]]
        counts = level.sums(fits)
        enough = np.flatnonzero(counts >= ask.pods)
        if len(enough):
            free = level.sums(room.scarce)[enough]
            tightest = int(enough[np.argmin(free)])
            return _inside(room, ask, np.where(level.of_node == tightest, fits, 0))
    return None if ask.required is not None else _inside(room, ask, fits)


def _inside(room: Room, ask: Ask, fits: Counts) -> Placement | None:
    order = _fullest_first(room)
    if ask.preferred is not None:
        level = room.levels[ask.preferred]
        emptiest = np.argsort(-level.sums(np.where(fits > 0, room.scarce, 0)), kind="stable")
        rank = np.empty(len(emptiest), dtype=np.int64)
        rank[emptiest] = np.arange(len(emptiest))
        order = order[np.argsort(rank[level.of_node[order]], kind="stable")]
    return filled(fits, order, ask.pods)


def _fullest_first(room: Room) -> Counts:
    return np.argsort(room.scarce, kind="stable")
