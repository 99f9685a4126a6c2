"""The fewest domains that hold so many pods."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from closeknit.engine import Engine
from closeknit.engine.compiled_request import Goal
from closeknit.engine.count_bounds import MixedBound, fewest, fewest_inside
from closeknit.engine.floor import Floor
from closeknit.engine.tree import Tree
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.nodes import Node
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse

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


@pytest.mark.parametrize(
    ("small", "large", "expected"),
    [
        pytest.param(4, 2, 3, id="twelve GPUs"),
        pytest.param(3, 2, 3, id="eleven GPUs"),
        pytest.param(0, 2, 2, id="pods of one shape"),
        pytest.param(4, 1, 2, id="eight GPUs"),
    ],
)
def test_pods_of_several_shapes_need_nodes_for_the_sum_of_what_they_take(
    small: int, large: int, expected: int
) -> None:
    # By shape, and for all pods together, two nodes of four GPUs would do.
    cluster = parse("""
        r1
          x1: 4
          x2: 4
          x3: 4
          x4: 4
    """)
    engine = Engine(replace(cluster, topologies=()))
    asked = replace(request("w", pods("a", small), pods("b", large, gpus=4)), topology=None)
    compiled = engine._compile(asked, Goal.WISHES)
    floor = Floor(compiled, MixedBound(compiled, engine._ledger.free), [])

    assert floor.fields([1 << 20] * 5)[-1] == expected


@pytest.mark.parametrize("seed", range(30))
def test_large_amounts_are_bounded_as_closely_as_small_ones_and_never_from_above(seed: int) -> None:
    rng = Random(seed)
    free = [rng.randint(4, 40) for _ in range(12)]
    asked = [(rng.randint(5, 20), units) for units in rng.sample(range(1, 5), 2)]
    taken = sum(count * each for count, each in asked)
    want = fewest(np.array(free, dtype=np.int64), taken)
    for unit in (1, 10**3, 10**12, 10**17):
        nodes = [
            Node(f"n{i}", {}, Resources({"example.com/x": amount * unit})) for i, amount in enumerate(free)
        ]
        engine = Engine(Cluster((Topology("default", ()),), tuple(nodes)))
        sets = [
            pods(f"p{i}", count, 0, resources={"example.com/x": each * unit})
            for i, (count, each) in enumerate(asked)
        ]
        compiled = engine._compile(request("w", *sets), Goal.WISHES)
        bounds = [
            fewest(sizes, count)
            for sizes, count in MixedBound(compiled, engine._ledger.free).amounts(
                compiled.root.open, compiled.tree.depth
            )
        ]
        assert bounds == [want]
