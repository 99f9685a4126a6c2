"""What `closeknit plan` prints, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import hub
from tests.kit.problems import text
from tests.unit.cli.running import TOPOLOGY, Run, numbers, outcomes, pod_group

URGENT = """
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 9
"""


def test_plan_places_each_workload_beside_the_earlier_ones(cluster: str) -> None:
    run = Run(
        "plan",
        "-f",
        cluster,
        "-f",
        "-",
        "-o",
        "json",
        stdin=pod_group("a", 2, "rack") + pod_group("b", 2, "rack"),
    )

    first, second = outcomes(run)
    assert run.status == 3
    assert [pod["node"] for pod in first["pods"]] == ["x3", "x4"]
    assert first["pods"][0]["domain"] == ["b1", "r2", "x3"]
    assert first["groups"][0]["domains"] == [["b1", "r2"]]
    assert second["status"] == "unplaceable"
    assert second["shortfalls"][0]["wanted"] == 2
    assert run.err == ""


def test_plan_places_all_and_ends_with_zero(cluster: str) -> None:
    run = Run("plan", "-f", cluster, "-f", "-", stdin=pod_group("a", 2, "rack"))

    assert run.status == 0
    heading, group, first, second, total = run.out.splitlines()
    for words in (heading, group, first, second):
        assert words.startswith("PodGroup default/a: ")
    assert numbers(heading) == [2, 2]
    assert "b1/r2" in group
    assert (first.split()[-1], second.split()[-1]) == ("x3", "x4")
    assert "a-0" in first
    assert "a-1" in second
    assert numbers(total) == [1, 1]


@pytest.mark.parametrize(
    ("groups", "order"),
    [
        pytest.param([pod_group("b", 1), pod_group("a", 1)], ["a", "b"], id="names decide last"),
        pytest.param(
            [
                pod_group("a", 1, metadata={"creationTimestamp": "2025-01-01T12:00:00+02:00"}),
                pod_group("b", 1, metadata={"creationTimestamp": "2025-01-01T09:00:00Z"}),
                pod_group("c", 1, metadata={"creationTimestamp": "2024-01-01T00:00:00Z"}),
                pod_group("d", 1),
            ],
            ["c", "b", "a", "d"],
            id="the older goes first, whatever the offset of its time, and an unknown age last",
        ),
        pytest.param(
            [
                pod_group("a", 1, metadata={"creationTimestamp": "2024-01-01T00:00:00Z"}),
                pod_group("b", 1, priorityClassName="urgent"),
                URGENT,
            ],
            ["b", "a"],
            id="priority goes before age",
        ),
    ],
)
def test_the_queue_has_an_order(cluster: str, groups: list[str], order: list[str]) -> None:
    run = Run("plan", "-f", cluster, "-f", "-", "-o", "json", stdin="".join(groups))
    again = Run("plan", "-f", "-", "-f", cluster, "-o", "json", stdin="".join(reversed(groups)))

    names = [name.removesuffix("-0") for name in (pod["workload"]["name"] for pod in outcomes(run))]
    assert names == order
    assert again.out == run.out


def test_an_invalid_workload_is_listed_and_the_others_are_still_planned(cluster: str) -> None:
    run = Run(
        "plan", "-f", cluster, "-f", "-", "-o", "json", stdin=pod_group("a", 2, "rock") + pod_group("b", 1)
    )

    first, second = outcomes(run)
    assert run.status == 2
    assert (first["status"], second["status"]) == ("invalid", "placed")
    (problem,) = first["problems"]
    assert problem["path"] == "spec.topologyConstraint.requiredTopologyLevel"
    remedy = OneOf.among("rock", ["block", "rack", "kubernetes.io/hostname"])
    assert problem["message"] == text(hub.UNKNOWN_LEVEL, topology="t", level="rock", remedy=remedy)
    assert run.err == f"<stdin>:1:{problem['path']}: {problem['message']}\n"


def test_plan_draws(cluster: str) -> None:
    run = Run("plan", "-f", cluster, "-f", "-", "-o", "svg", stdin=pod_group("a", 2, "rack"))

    assert run.status == 0
    assert run.out.startswith("<svg ")
    assert run.out.count('class="w0" x=') == 16 + 1
    assert "PodGroup default/a: " in run.out


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    drawing = tmp_path / "cluster.txt"
    drawing.write_text("[bold]r[/bold]\n  x1: 8\n<script>\n  x2: 1\n")
    nodes = Run("nodes", "--drawing", str(drawing), "--prefix", "").out
    topology = TOPOLOGY.replace("{nodeLabel: block}, ", "")
    run = Run("topology", "-f", "-", stdin=topology + nodes)

    assert "    [bold]r[/bold]: " in run.out
    picture = Run("topology", "-f", "-", "-o", "svg", stdin=topology + nodes).out
    assert "[bold]r[/bold]" in picture
    assert "<script>" not in picture
