"""How much is free in the domains of each level."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from closeknit.engine.ledger import Ledger
from closeknit.engine.tree import Tree
from closeknit.hub.capacity import LevelCapacity
from closeknit.hub.nodes import CORDON


def level_capacities(ledger: Ledger, tree: Tree, resource: str) -> Iterator[LevelCapacity]:
    """By level of a topology, coarsest first. A node that lacks a level's label is in no domain of it."""
    row = ledger.resources.get(resource)
    if tree.topology is None or row is None or not len(tree):
        return
    cordoned = np.array([CORDON in taints for taints in ledger.taint_sets], dtype=np.bool_)
    usable = ledger.ready[tree.slots] & ~cordoned[ledger.taints[tree.slots]]
    offered = np.where(usable, ledger.allocatable[row, tree.slots], 0)
    free = np.where(usable, np.maximum(ledger.free[row, tree.slots], 0), 0)
    whole = ((free == offered) & (offered > 0)).astype(np.int64)
    for level, label in enumerate(tree.labels):
        start, real = tree.start[level], tree.real[level]
        if not real.any():
            continue
        sums = [np.add.reduceat(amounts, start)[real] for amounts in (free, offered, whole)]
        free_in, offered_in, whole_in = sums
        yield LevelCapacity(
            tree.topology.name,
            label,
            resource,
            free=int(free_in.sum()),
            largest_free=int(free_in.max()),
            largest_size=int(offered_in.max()),
            whole_nodes=int(whole_in.max()),
        )
