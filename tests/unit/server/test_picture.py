"""The columns of a tree are worked out with effort that follows the number of names."""

from __future__ import annotations

import pytest

from closeknit.hub import natural_order
from closeknit.hub.nodes import Node
from closeknit.hub.topology import HOSTNAME, Level, Topology
from closeknit.server.picture import tree


def test_each_name_is_taken_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    natural = natural_order.natural

    def counted(name: str) -> natural_order.Key:
        taken.append(name)
        return natural(name)

    monkeypatch.setattr(natural_order, "natural", counted)
    racks = Topology("t", (Level("zone"), Level("rack"), Level(HOSTNAME)))
    nodes = [
        Node(f"n{i}", labels={"zone": "z", "rack": f"r{i // 8}", HOSTNAME: f"n{i}"})
        for i in reversed(range(96))
    ]
    found = tree(racks, nodes, "cpu")

    assert found.nodes.name == [f"n{i}" for i in range(96)]
    assert sorted(taken) == sorted(["z", *(f"r{i}" for i in range(12)), *found.nodes.name])
