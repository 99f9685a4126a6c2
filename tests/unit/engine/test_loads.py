"""Counts by domain: domains in use, and pods confined to them."""

from __future__ import annotations

from closeknit.engine.choices import Loads, Tally
from closeknit.engine.tree import Tree
from closeknit.hub.nodes import Node
from closeknit.hub.topology import Level, Topology


def test_a_tally_knows_its_counts_and_how_many_are_not_zero() -> None:
    tally = Tally(4, once=[3])
    tally.add(1, 5)
    tally.add(2, 1)
    tally.add(2, -1)
    tally.add(3, -1)

    assert tally.counts.tolist() == [0, 5, 0, 0]
    assert (len(tally), tally[1], tally[2]) == (1, 5, 0)


def test_loads_that_come_to_nothing_are_as_if_they_had_never_been() -> None:
    nodes = [Node(f"x{i}", {"block": "b1", "rack": f"r{i}"}) for i in range(2)]
    loads = Loads(Tree(Topology("t", (Level("block"), Level("rack"))), enumerate(nodes)))
    loads.add(1, 0, 0, 2)
    assert (loads.count(1, 0, 0), loads.count(1, 1, 0), loads.count(0, 0, 0)) == (2, 0, 0)
    loads.add(1, 0, 0, -2)

    assert loads.at(1, 0) is None
