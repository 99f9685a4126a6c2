from __future__ import annotations

import pytest

from closeknit.engine import Engine
from closeknit.hub.cluster import Holding
from closeknit.hub.resources import Resources
from closeknit.testing.drawings import GPU, parse

CASES = [
    pytest.param(
        "z1\n  r1\n    n1: 8\n    n2: 8\n  r2\n    n3: 8\n",
        (24, 16, 16, 2),
        0.0,
        id="an empty cluster is whole",
    ),
    pytest.param(
        "z1\n  r1\n    n1: 8 used=4\n    n2: 8 used=4\n  r2\n    n3: 8 used=2\n    n4: 8 used=6\n",
        (16, 8, 16, 0),
        0.5,
        id="what is free is scattered over two racks where one could have it all",
    ),
    pytest.param(
        "z1\n  r1\n    n1: 8 unschedulable\n    n2: 8 not-ready\n  r2\n    n3: 4\n",
        (4, 4, 4, 1),
        0.0,
        id="nodes that take no pods offer nothing",
    ),
    pytest.param(
        "z1\n  r1\n    n1: 8\n  n9: 8\n", (8, 8, 8, 1), 0.0, id="a node without a rack is in no rack"
    ),
    pytest.param("z1\n  r1\n    n1: 8 used=8\n", (0, 0, 8, 0), 0.0, id="a full cluster is not scattered"),
]


@pytest.mark.parametrize(("drawing", "rack", "fragmentation"), CASES)
def test_the_racks_of(drawing: str, rack: tuple[int, ...], fragmentation: float) -> None:
    capacity = Engine(parse(drawing)).capacity(GPU)

    (found,) = (each for each in capacity if each.level == "rack")
    assert (found.free, found.largest_free, found.largest_size, found.whole_nodes) == rack
    assert found.fragmentation == fragmentation


def test_a_level_above_holds_what_its_racks_hold() -> None:
    block, rack = Engine(parse("z1\n  r1\n    n1: 8\n  r2\n    n2: 8\nz2\n  r1\n    n3: 8\n")).capacity(GPU)

    assert (block.level, block.free, block.largest_free) == ("block", 24, 16)
    assert (rack.level, rack.free, rack.largest_free) == ("rack", 24, 8)


def test_nothing_is_said_of_a_resource_that_no_node_offers() -> None:
    assert Engine(parse("r1\n  n1: 8\n")).capacity("example.com/none") == ()


def test_a_node_that_is_overcommitted_takes_nothing_away_from_others() -> None:
    engine = Engine(parse("r1\n  n1: 8\n  n2: 8\n"))
    engine.hold(Holding("other", "n1", Resources({GPU: 11})))

    (rack,) = engine.capacity(GPU)
    assert (rack.free, rack.largest_free) == (8, 8)
