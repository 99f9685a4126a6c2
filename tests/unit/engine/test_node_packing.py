"""Packing pods on nodes that they nearly fill."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from closeknit.engine.exact_layout import LOOKS_A_STEP
from closeknit.engine.node_packing import Demand, Packing, patterns


def packing(
    left: list[list[int]],
    demand: list[list[int]],
    demands: list[tuple[int, int, list[int]]],
    *,
    most_looks: int = 1 << 60,
) -> Packing:
    """Nodes with what is left of each resource, shapes with what each takes, and what is asked for between nodes."""
    asked = [Demand(first, last, np.array(pods)) for first, last, pods in demands]
    usable = np.array(
        [[min(a // b for a, b in zip(node, each, strict=True) if b) for each in demand] for node in left]
    )
    return Packing(np.array(left), np.array(demand), usable, asked, most_looks=most_looks)


@pytest.mark.parametrize(
    ("free", "demand", "most", "expected"),
    [
        pytest.param([4], [[2], [1]], [9, 9], [[0, 4], [1, 2], [2, 0]], id="each fills the node"),
        pytest.param([4], [[2], [1]], [1, 9], [[0, 4], [1, 2]], id="no more than asked for"),
        pytest.param(
            [4, 4], [[2, 0], [0, 3]], [9, 9], [[2, 1]], id="shapes that share nothing stand side by side"
        ),
    ],
)
def test_patterns_are_those_to_which_nothing_can_be_added(
    free: list[int], demand: list[list[int]], most: list[int], expected: list[list[int]]
) -> None:
    assert patterns(np.array(free), np.array(demand), np.array(most)).tolist() == expected


def test_there_are_never_too_many_patterns() -> None:
    found = patterns(np.array([512]), np.array([[1], [2], [3], [5]]), np.array([512] * 4))

    assert len(found) < 5_000
    assert (found @ np.array([1, 2, 3, 5]) == 512).all()


@pytest.mark.parametrize(
    ("left", "demand", "demands"),
    [
        pytest.param([[3, 8], [8, 5]], [[1, 4], [3, 2]], [(0, 2, [2, 1])], id="two resources"),
        pytest.param([[6, 5], [8, 7]], [[3, 2], [4, 1]], [(0, 2, [2, 2])], id="large pods on two nodes"),
        pytest.param([[9], [9]], [[4], [3], [2]], [(0, 2, [2, 2, 2])], id="three sizes to the last unit"),
        pytest.param(
            [[4], [4]], [[3], [2]], [(0, 1, [0, 2]), (0, 2, [1, 2])], id="some confined to the first node"
        ),
        pytest.param(
            [[7], [7], [7], [7]],
            [[4], [3], [2]],
            [(0, 2, [1, 0, 2]), (0, 4, [3, 4, 2])],
            id="pods that have to move",
        ),
    ],
)
def test_all_pods_find_room(
    left: list[list[int]], demand: list[list[int]], demands: list[tuple[int, int, list[int]]]
) -> None:
    task = packing(left, demand, demands)

    assert task.fill()
    for first, last, pods in demands:
        assert (task.counts[first:last].sum(axis=0) >= pods).all()


@pytest.mark.parametrize(
    "most_looks",
    [
        pytest.param(0, id="for one node"),
        pytest.param(100, id="for some of the nodes"),
        pytest.param(2_000, id="for some changes"),
    ],
)
def test_patterns_are_looked_at_as_long_as_looks_are_left(most_looks: int) -> None:
    nodes = [[9 + node % 6] for node in range(40)]
    task = packing(nodes, [[4], [3], [2]], [(0, 40, [80, 80, 80])], most_looks=most_looks)

    assert not task.fill()
    assert most_looks < task.looks <= most_looks + LOOKS_A_STEP + 1
    assert (task.counts @ np.array([4, 3, 2]) <= np.array(nodes)[:, 0]).all()


def test_those_that_must_have_room_take_it_from_the_others_and_no_more() -> None:
    task = packing([[4], [4]], [[3], [1]], [(0, 2, [2, 4])])

    assert not task.fill()
    task.ask([Demand(0, 2, np.array([2, 0]))])
    assert task.fill()
    assert task.counts.sum(axis=0).tolist() == [2, 2]


def test_what_has_no_room_is_not_placed() -> None:
    assert not packing([[5], [5]], [[3]], [(0, 2, [3])]).fill()


@pytest.mark.parametrize("seed", range(40))
def test_no_node_gives_more_than_it_has(seed: int) -> None:
    rng = Random(seed)
    left = [[rng.randint(2, 12), rng.randint(2, 12)] for _ in range(rng.randint(2, 8))]
    demand = [[rng.randint(0, 4), rng.randint(1, 4)] for _ in range(rng.randint(2, 4))]
    wanted = [rng.randint(1, 2 * len(left)) for _ in demand]

    task = packing(left, demand, [(0, len(left), wanted)])
    found = task.fill()

    assert (task.counts >= 0).all()
    assert (task.counts @ np.array(demand) <= np.array(left)).all()
    assert found == bool((task.counts.sum(axis=0) >= wanted).all())
