"""``closeknit top`` tells which domains have most free, and the largest gang that fits into each."""

from __future__ import annotations

from pathlib import Path

from tests.unit.cli.running import Run


def test_domains_stand_by_what_is_free_with_a_bar(cluster: str) -> None:
    found = Run("top", "-f", cluster)

    assert found.status == 0
    assert found.out.splitlines() == [
        "t: cluster, by free nvidia.com/gpu",
        "  all nodes  ██░░░░░░░░░░░░░░░░░░  10% used, 36 of 40 free; largest gang: 36 pods of one, 4 of a whole node",
        "t: block, by free nvidia.com/gpu",
        "  b1  ██░░░░░░░░░░░░░░░░░░  12% used, 28 of 32 free; largest gang: 28 pods of one, 3 of a whole node",
        "  b2  ░░░░░░░░░░░░░░░░░░░░   0% used, 8 of 8 free; largest gang: 8 pods of one, 1 of a whole node",
        "t: rack, by free nvidia.com/gpu",
        "  b1/r2  ░░░░░░░░░░░░░░░░░░░░   0% used, 16 of 16 free; largest gang: 16 pods of one, 2 of a whole node",
        "  b1/r1  █████░░░░░░░░░░░░░░░  25% used, 12 of 16 free; largest gang: 12 pods of one, 1 of a whole node",
        "  b2/r1  ░░░░░░░░░░░░░░░░░░░░   0% used, 8 of 8 free; largest gang: 8 pods of one, 1 of a whole node",
    ]


def test_programs_get_the_same_numbers(cluster: str) -> None:
    told = Run("top", "-f", cluster, "-o", "json").json()

    assert told["resource"] == "nvidia.com/gpu"
    racks = told["levels"][2]
    assert (racks["topology"], racks["level"]) == ("t", "rack")
    assert racks["domains"][1] == {
        "domain": ["b1", "r1"],
        "nodes": 2,
        "total": 16,
        "free": 12,
        "wholeNodes": 1,
    }


def test_a_resource_that_no_node_has_is_refused(cluster: str) -> None:
    found = Run("top", "-f", cluster, "--resource", "nvidia.com/gpus")

    assert (found.status, found.out) == (2, "")
    assert found.err == (
        '--resource: No node has "nvidia.com/gpus". Did you mean "nvidia.com/gpu"? Allowed: "nvidia.com/gpu".\n'
    )


def test_without_nodes_there_is_nothing_to_show(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")

    run = Run("top", "-f", str(tmp_path / "empty.yaml"))

    assert (run.status, run.out) == (0, "The files hold no Node, so that there is no room to show.\n")
