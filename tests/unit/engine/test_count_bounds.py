"""The fewest domains that hold so many pods."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from closeknit.engine.count_bounds import fewest, fewest_inside
from closeknit.engine.tree import Tree
from closeknit.hub.nodes import Node
from closeknit.hub.topology import Level, Topology

THREE = Topology("t", (Level("zone"), Level("block"), Level("rack")))


@pytest.mark.parametrize("seed", range(30))
def test_the_fewest_pieces_are_the_largest_ones_however_they_are_counted(seed: int) -> None:
    rng = Random(seed)
    nodes = [Node(f"n{i}", {"zone": "z", "block": "b", "rack": str(rng.randrange(5))}) for i in range(30)]
    tree = Tree(THREE, enumerate(nodes))
    most = rng.choice([2, 9, 500])
    sizes = np.array([rng.randrange(most + 1) for _ in nodes], dtype=np.int64)
    racks = np.array(
        sorted(rng.sample(range(tree.count(2)), rng.randrange(1, tree.count(2) + 1))), dtype=np.int64
    )
    for count in (1, 2, 7, 40, 300):
        for rack, found in zip(
            racks.tolist(), fewest_inside(tree, 2, 3, racks, sizes=sizes, count=count).tolist(), strict=True
        ):
            inside = sorted(sizes[slice(*tree.bounds(2, rack))].tolist(), reverse=True)
            if sum(inside) < count:
                continue
            want = next(k for k in range(1, len(inside) + 1) if sum(inside[:k]) >= count)
            assert found == want
            assert fewest(np.array(inside, dtype=np.int64), count) == want
