"""The tree of domains for people, and the remarks of ``--check``."""

from __future__ import annotations

import pytest

from closeknit.cli import occupancy, shapes, topology_check, topology_tree
from closeknit.cli.display import indented
from closeknit.hub import drawing
from closeknit.hub.cluster import Cluster
from closeknit.hub.natural_order import natural
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from tests.unit.cli.running import domains


def told(cluster: Cluster, depth: int | None = None) -> str:
    root = occupancy.tree(cluster, cluster.topologies[0], occupancy.uses_by_node(cluster.holdings))
    matter = occupancy.resources_that_matter(cluster)
    return "\n".join(indented(topology_tree.drawn(root, cluster.topologies[0], matter, depth)))


@pytest.mark.requirement("O44")
def test_capacity_and_use_are_added_up_and_equal_neighbours_share_a_line() -> None:
    cluster = drawing.parse(
        """
        b1
          r1
            x1: 8
            x2: 8
            x10: 8
            x3: 8 used=3:default/a
          r2
            x4: 8
            x5: 8 not-ready
        b2
          r1
            x6: 8
          r2
            x7: 8
        """,
        host_level=True,
    )
    shown = told(cluster)
    assert shown.splitlines()[0] == "default: block > rack > host (kubernetes.io/hostname)"
    assert domains(shown) == [
        (2, "cluster", [8, 3, 64]),
        (4, "b1", [6, 3, 48]),
        (6, "r1", [4, 3, 32]),
        (8, "x1, x2", [2, 0, 8]),
        (8, "x3", [3, 8]),
        (8, "x10", [0, 8]),
        (6, "r2", [2, 0, 16]),
        (8, "x4", [0, 8]),
        (8, "x5", [0, 8]),
        (4, "b2", [2, 0, 16]),
        (6, "r1, r2", [2, 1, 0, 8]),
        (8, "x6", [0, 8]),
    ]
    assert [words.split(":")[0].strip() for words in shown.splitlines() if "default/a" in words] == ["x3"]


def test_nodes_that_are_no_level_come_in_natural_order_too() -> None:
    lines = told(drawing.parse("r\n  x10: 1\n  x9: 2\n  x1: 3\n")).splitlines()

    assert [line.split(":")[0].strip() for line in lines[3:]] == ["x1", "x9", "x10"]


def test_levels_are_told_with_the_words_that_people_use_for_them() -> None:
    """Workflows of OSMO name keys, which no node label shows."""
    levels = (Level("t/zone", "zone"), Level("rack", "rack"), Level("t/host"))
    cluster = Cluster(topologies=(Topology("pool", levels),), nodes=())

    assert told(cluster).splitlines()[0] == "pool: zone (t/zone) > rack > t/host"


def test_depth_cuts_the_tree() -> None:
    cluster = drawing.parse("b1\n  r1\n    x1: 8\n  r2\n    x2: 4\n")

    assert told(cluster, 0).count("\n") == 1
    assert domains(told(cluster, 1))[-1] == (4, "b1", [2, 0, 12])
    assert domains(told(cluster, 3))[-1] == (8, "x2", [0, 4])


def test_a_large_cluster_is_told_in_a_screenful_or_two() -> None:
    steps = shapes.parse("zone=3,block=8,rack=16,host=16")
    offered = Resources({"nvidia.com/gpu": 8})
    cluster = Cluster((shapes.topology(steps, "t", ""),), tuple(shapes.nodes(steps, "", offered)))

    assert told(cluster).count("\n") < 10


def test_a_machine_without_devices_shows_cpu_and_memory() -> None:
    *_, node = told(drawing.parse("r\n  x: cpu=4 memory=8Gi\n")).splitlines()
    assert [word for word in node.split() if word in ("x:", "4", "cpu", "8Gi", "memory")] == [
        "x:", "4", "cpu", "8Gi", "memory",
    ]  # fmt: skip


def test_natural_order_counts() -> None:
    names = ["rack-10", "rack-2", "rack", "10", "9", "rack-2a"]

    assert sorted(names, key=natural) == ["9", "10", "rack", "rack-2", "rack-2a", "rack-10"]


@pytest.mark.parametrize(
    ("drawn", "remarks", "names"),
    [
        pytest.param(
            "b1\n  r1\n    x1: 8\n  x2: 8\n  x3: 8\nb2\n  r2\n    x4: 8\n  r3\n    x5: 8\n",
            [("unlabelled", "rack", ("x2", "x3"))],
            ["x2, x3"],
            id="nodes without a label are counted once, and named",
        ),
        pytest.param(
            "b1\n  r1\n    x1: 8\nb2\n  r1\n    x2: 8\n",
            [("crossing", "rack", ())],
            ["r1", "b1, b2"],
            id="the same rack name in two blocks makes two racks",
        ),
        pytest.param(
            "b1\n  r1\n    x1: 8\n  r2\n    x2: 8\n",
            [("single", "block", ())],
            ["b1"],
            id="a level with one domain says nothing",
        ),
        pytest.param(
            "b1\n  r1\n    x1: 8\nb2\n  r2\n    x2: 8\nx3: 8\n",
            [("unlabelled", "block", ("x3",))],
            ["x3"],
            id="a node that lacks all labels is reported once",
        ),
        pytest.param("b1\n  r1\n    x1: 8\nb2\n  r2\n    x2: 8\n", [], [], id="nothing is odd"),
    ],
)
def test_check_remarks_on_what_surprises_people(
    drawn: str, remarks: list[tuple[str, str, tuple[str, ...]]], names: list[str]
) -> None:
    """A remark is of a kind, at a level, and about nodes; its text names them."""
    cluster = drawing.parse(drawn)

    reported = list(topology_check.findings(cluster, cluster.topologies[0]))
    assert [(remark.kind, remark.level, remark.nodes) for remark in reported] == remarks
    for remark in reported:
        assert remark.level in remark.message
        assert [name for name in names if name not in remark.message] == []


def test_a_level_that_no_node_has_can_never_be_required() -> None:
    cluster = drawing.parse("x1: 8\n", levels=["rack"])

    kinds = [each.kind for each in topology_check.findings(cluster, cluster.topologies[0])]
    assert kinds == ["unlabelled", "unused"]
