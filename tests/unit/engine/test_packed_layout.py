"""Packing pods on nodes that they nearly fill."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from closeknit.engine.packed_layout import Packing


def packing(
    left: list[list[int]], demand: list[list[int]], allowed: list[list[bool]] | None = None
) -> Packing:
    """Nodes with what is left of each resource, items with what each takes; all may go anywhere unless told otherwise."""
    anywhere = [[True] * len(left)] * len(demand)
    return Packing(np.array(left), np.array(demand), np.array(allowed or anywhere, dtype=np.bool_))


@pytest.mark.parametrize(
    ("left", "demand", "wanted"),
    [
        pytest.param(
            [[3, 8], [8, 5]],
            [[1, 4], [3, 2]],
            [2, 1],
            id="a pod goes where resources are left in its proportions",
        ),
        pytest.param([[5, 6], [6, 7]], [[1, 3], [2, 2]], [3, 2], id="or else to the tightest node"),
        pytest.param([[6, 5], [8, 7]], [[3, 2], [4, 1]], [2, 2], id="or else it displaces another"),
        pytest.param(
            [[9], [9]], [[4], [3], [2]], [2, 2, 2], id="three sizes fill two nodes to the last unit"
        ),
    ],
)
def test_all_pods_find_room(left: list[list[int]], demand: list[list[int]], wanted: list[int]) -> None:
    counts = packing(left, demand).placed(np.array(wanted))

    assert counts is not None
    assert counts.sum(axis=1).tolist() == wanted


def test_pods_stay_where_they_may_go() -> None:
    counts = packing([[4], [4]], [[3], [2]], [[True, True], [True, False]]).placed(np.array([1, 2]))

    assert counts is not None
    assert counts.tolist() == [[0, 1], [2, 0]]


def test_what_has_no_room_is_not_placed() -> None:
    assert packing([[5], [5]], [[3]]).placed(np.array([3])) is None


def test_more_pods_are_added_where_there_is_room() -> None:
    task = packing([[5], [5]], [[3], [1]])
    counts = task.placed(np.array([2, 1]))

    assert counts is not None
    assert task.extended(counts, np.array([1, 9])).sum(axis=1).tolist() == [2, 4]


@pytest.mark.parametrize("seed", range(60))
def test_no_node_gives_more_than_it_has(seed: int) -> None:
    rng = Random(seed)
    left = [[rng.randint(2, 12), rng.randint(2, 12)] for _ in range(rng.randint(2, 8))]
    demand = [[rng.randint(0, 4), rng.randint(1, 4)] for _ in range(rng.randint(2, 4))]
    allowed = [[rng.random() < 0.8 for _ in left] for _ in demand]
    wanted = np.array([rng.randint(0, 2 * len(left)) for _ in demand])

    counts = packing(left, demand, allowed).placed(wanted)

    if counts is not None:
        assert counts.sum(axis=1).tolist() == wanted.tolist()
        assert (counts >= 0).all()
        assert (counts.T @ np.array(demand) <= np.array(left)).all()
        assert not counts[~np.array(allowed)].any()
