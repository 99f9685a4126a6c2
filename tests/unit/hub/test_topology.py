from __future__ import annotations

import pytest

from closeknit.hub.cluster import Cluster
from closeknit.hub.topology import Level, Topology

TOPOLOGY = Topology("default", (Level("zone"), Level("block"), Level("rack", "Rack")))


@pytest.mark.parametrize(
    ("labels", "path"),
    [
        pytest.param(
            {"zone": "z1", "block": "b1", "rack": "r1", "other": "x"},
            ("z1", "b1", "r1"),
            id="a node with all labels has the full path",
        ),
        pytest.param({"zone": "z1"}, ("z1",), id="a path ends at the first label that lacks"),
        pytest.param({"zone": "z1", "rack": "r1"}, ("z1",), id="a finer label below a gap does not count"),
        pytest.param({"block": "b1", "rack": "r1"}, (), id="without the coarsest label there is no domain"),
        pytest.param({"zone": "", "block": "b1"}, ("", "b1"), id="an empty label value is a value"),
    ],
)
def test_paths(labels: dict[str, str], path: tuple[str, ...]) -> None:
    assert TOPOLOGY.path(labels) == path


def test_racks_of_one_name_in_two_blocks_are_two_domains() -> None:
    one = TOPOLOGY.path({"zone": "z1", "block": "b1", "rack": "r1"})
    other = TOPOLOGY.path({"zone": "z1", "block": "b2", "rack": "r1"})

    assert one != other


def test_levels_are_found_by_label_and_not_by_name() -> None:
    assert [TOPOLOGY.index(label) for label in ("zone", "block", "rack", "Rack", "row")] == [
        0,
        1,
        2,
        None,
        None,
    ]
    assert TOPOLOGY.labels == ("zone", "block", "rack")


FINER = Topology("finer", (*TOPOLOGY.levels, Level("host")))


@pytest.mark.parametrize(
    ("topologies", "layout"),
    [
        pytest.param((), None, id="no topology"),
        pytest.param((TOPOLOGY,), TOPOLOGY, id="the only one"),
        pytest.param((TOPOLOGY, FINER), FINER, id="one that has the levels of the others, and more"),
        pytest.param(
            (Topology("one level", (Level("block"),)), TOPOLOGY), TOPOLOGY, id="one level of it by itself"
        ),
        pytest.param(
            (Topology("again", TOPOLOGY.levels), TOPOLOGY),
            Topology("again", TOPOLOGY.levels),
            id="the first by name of two that are alike",
        ),
        pytest.param((TOPOLOGY, Topology("other", (Level("row"),))), None, id="two of different labels"),
        pytest.param(
            (TOPOLOGY, Topology("other", (Level("rack"), Level("block")))), None, id="another order of labels"
        ),
    ],
)
def test_the_layout_is_the_topology_that_covers_all_others(
    topologies: tuple[Topology, ...], layout: Topology | None
) -> None:
    assert Cluster(topologies, ()).layout == Cluster(topologies[::-1], ()).layout == layout
