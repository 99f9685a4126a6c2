"""Counts by domain: domains in use, and pods confined to them."""

from __future__ import annotations

import pytest

from closeknit.engine.tallies import Loads, Tally
from closeknit.engine.tree import Tree
from closeknit.hub.nodes import Node
from closeknit.hub.topology import Level, Topology


@pytest.mark.parametrize("asked_early", [True, False], ids=["asked before", "asked after"])
def test_a_tally_as_an_array_follows_later_changes(asked_early: bool) -> None:
    tally = Tally(4, once=[3])
    early = tally.all() if asked_early else None
    tally.add(1, 5)
    tally.add(2, 1)
    tally.add(2, -1)
    tally.add(3, -1)

    assert tally.all().tolist() == [0, 5, 0, 0]
    assert early is None or early is tally.all()
    assert (len(tally), 1 in tally, 2 in tally, tally[1], tally[2]) == (1, True, False, 5, 0)


def test_loads_that_come_to_nothing_are_as_if_they_had_never_been() -> None:
    nodes = [Node(f"x{i}", {"block": "b1", "rack": f"r{i}"}) for i in range(2)]
    loads = Loads(Tree(Topology("t", (Level("block"), Level("rack"))), enumerate(nodes)))
    loads.add(1, 0, 0, 2)
    assert (loads.count(1, 0, 0), loads.count(1, 1, 0), loads.count(0, 0, 0)) == (2, 0, 0)
    loads.add(1, 0, 0, -2)

    assert loads.at(1, 0) is None
