"""``closeknit top`` tells which domains have most free, and the largest gang that fits into each."""

from __future__ import annotations

from pathlib import Path

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import cli
from tests.kit.problems import line
from tests.unit.cli.running import Run, numbers


def test_domains_stand_by_what_is_free_with_a_bar(cluster: str) -> None:
    found = Run("top", "-f", cluster)

    assert found.status == 0
    lines = found.out.splitlines()
    headings = [heading for heading in lines if not heading.startswith(" ")]
    for heading, level in zip(headings, ("cluster", "block", "rack"), strict=True):
        assert heading.startswith(f"t: {level}")
        assert heading.endswith("nvidia.com/gpu")
    domains = [domain.split("  ")[1:] for domain in lines if domain.startswith(" ")]
    # Percent in use, free, total, the largest gang of one device a pod, and of a whole node a pod.
    assert [(name, bar.count("█"), numbers(" ".join(load))) for name, bar, *load in domains] == [
        ("all nodes", 2, [10, 36, 40, 36, 4]),
        ("b1", 2, [12, 28, 32, 28, 3]),
        ("b2", 0, [0, 8, 8, 8, 1]),
        ("b1/r2", 0, [0, 16, 16, 16, 2]),
        ("b1/r1", 5, [25, 12, 16, 12, 1]),
        ("b2/r1", 0, [0, 8, 8, 8, 1]),
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
    known = OneOf.among("nvidia.com/gpus", ["nvidia.com/gpu"])
    assert found.err == (
        line(cli.UNKNOWN_RESOURCE_NAME, "--resource", resource="nvidia.com/gpus", known=known) + "\n"
    )


def test_without_nodes_there_is_nothing_to_show(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")

    run = Run("top", "-f", str(tmp_path / "empty.yaml"))

    assert (run.status, run.out.count("\n")) == (0, 1)
    assert "Node" in run.out
