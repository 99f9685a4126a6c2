"""What `closeknit explain` prints, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import cli
from tests.kit.problems import line
from tests.unit.cli.running import TOPOLOGY, Run, outcomes, pod_group


def explained(cluster: str, name: str, stdin: str) -> tuple[Run, dict[str, Any]]:
    """The explanation of a workload for people, and as JSON, which end alike."""
    arguments = ("explain", "-f", cluster, "-f", "-", name)
    run, in_json = Run(*arguments, stdin=stdin), Run(*arguments, "-o", "json", stdin=stdin)
    (entry,) = outcomes(in_json)
    assert in_json.status == run.status
    return run, entry


@pytest.mark.requirement("A49")
def test_explain_a_placed_workload(cluster: str) -> None:
    run, entry = explained(cluster, "a", pod_group("a", 2, "rack") + pod_group("0", 1))

    assert run.status == 0
    assert entry["status"] == "placed"
    assert {pod["name"]: pod["node"] for pod in entry["pods"]} == {"a-0": "x3", "a-1": "x4"}
    (group,) = entry["groups"]
    assert (group["required"], group["level"], group["domains"]) == ("rack", "rack", [["b1", "r2"]])
    assert entry["choices"] == [
        {
            "group": "default/a",
            "level": "rack",
            "inside": [],
            "domain": ["b1", "r2"],
            "room": 2,
            "fitting": 1,
            "of": 3,
            "runnersUp": [],
        }
    ]
    wishes = entry["wishes"]
    assert (entry["proven"], wishes["leftOut"], wishes["nodes"]) == (True, 0, 2)
    assert [domain["used"] for domain in wishes["domains"]] == [1, 1, 2]
    # The text names all of it, and the workload that was placed before.
    for name in ("PodGroup default/a", "PodGroup default/0", "b1/r2", "x3", "a-0", "x4", "a-1"):
        assert name in run.out


def test_explain_a_workload_that_cannot_be_placed(cluster: str) -> None:
    run, entry = explained(cluster, "default/a", pod_group("a", 3, "rack"))

    assert run.status == 3
    assert entry["status"] == "unplaceable"
    (short,) = entry["shortfalls"]
    assert (short["group"], short["level"], short["wanted"], short["fits"]) == ("default/a", "rack", 3, 2)
    best = short["best"][0]
    assert (best["domain"], best["fits"], best["limiting"]) == (["b1", "r2"], 2, "nvidia.com/gpu")
    assert short["relaxations"] == [
        {"change": "level", "group": "default/a", "to": "block"},
        {"change": "count", "podSet": "default", "to": 2},
    ]
    for name in ("PodGroup default/a", "b1/r2", "nvidia.com/gpu", "block"):
        assert name in run.out


def test_explain_says_why_a_preference_does_not_hold(cluster: str) -> None:
    constraint = {"topology": "t", "requiredTopologyLevel": "block", "preferredTopologyLevel": "rack"}
    run, entry = explained(cluster, "a", pod_group("a", 3, topologyConstraint=constraint))

    assert run.status == 0
    assert entry["groups"][0]["satisfied"] is False
    assert entry["groups"][0]["domains"] == [["b1", "r1"], ["b1", "r2"]]
    assert "b1/r1, b1/r2" in run.out
    (missed,) = entry["missedPreferences"]
    assert (missed["group"], missed["preferred"], missed["why"]) == ("default/a", "rack", "lacking")
    (short,) = missed["shortfalls"]
    assert (short["group"], short["level"], short["wanted"], short["fits"]) == ("default/a", "rack", 3, 2)
    assert short["relaxations"] == []


def test_explain_says_nothing_of_preferences_that_hold(cluster: str) -> None:
    constraint = {"topology": "t", "preferredTopologyLevel": "rack"}
    run, entry = explained(cluster, "a", pod_group("a", 2, topologyConstraint=constraint))

    assert run.status == 0
    (group,) = entry["groups"]
    assert (group["preferred"], group["domains"], group["satisfied"]) == ("rack", [["b1", "r2"]], True)
    distances = {level["level"]: level["distance"] for level in entry["wishes"]["preferences"]}
    assert distances["rack"] == 0
    assert entry["missedPreferences"] == []


def test_a_workload_that_shares_no_level_is_shown_by_its_nodes(cluster: str) -> None:
    run, entry = explained(cluster, "a", pod_group("a", 4))

    (group,) = entry["groups"]
    assert (group["level"], group["domains"]) == (None, [])
    shown = [words.strip() for words in run.out.splitlines() if words.startswith("    x")]
    assert [(words.partition(":")[0], words.partition("(")[2]) for words in shown] == [
        ("x1", "a-0)"),
        ("x3", "a-1)"),
        ("x4", "a-2)"),
        ("x5", "a-3)"),
    ]
    assert "b1" not in run.out


def test_explain_says_that_a_coarser_preference_went_before(tmp_path: Path) -> None:
    # Block b1 takes the whole tree, but only b2 has a rack for the child's four pods.
    drawing = tmp_path / "cluster.txt"
    drawing.write_text("b1\n  r1\n    x1: 3\n  r2\n    x2: 3\nb2\n  r3\n    x3: 4\n")
    nodes = Run("nodes", "--drawing", str(drawing), "--prefix", "").out
    child = {"topology": "t", "preferredTopologyLevel": "rack"}
    stdin = pod_group(
        "a",
        None,
        gpus=1,
        topologyConstraint={"topology": "t", "preferredTopologyLevel": "block"},
        subGroups=[{"name": "c", "minMember": 4, "topologyConstraint": child}, {"name": "d", "minMember": 2}],
    )
    (entry,) = outcomes(Run("explain", "-f", "-", "a", "-o", "json", stdin=TOPOLOGY + nodes + stdin))

    assert entry["missedPreferences"] == [
        {"group": "c", "preferred": "rack", "why": "outweighed", "shortfalls": []}
    ]


def unknown(name: str, *known: str) -> str:
    """The line about a name that no workload has."""
    remedy = OneOf.among(name, known)
    return line(cli.UNKNOWN_WORKLOAD, "WORKLOAD", name=name, place="the files", remedy=remedy)


@pytest.mark.parametrize("name", ["a", "default/a", "PodGroup/default/a"])
def test_a_workload_is_found_by_each_of_its_names(cluster: str, name: str) -> None:
    assert Run("explain", "-f", cluster, "-f", "-", name, stdin=pod_group("a", 1)).status == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(
            "trian",
            unknown("trian", "train", "twice"),
            id="a slip is met with the nearest name",
        ),
        pytest.param(
            "default/trian",
            unknown("default/trian", "default/train", "default/twice", "other/twice"),
            id="and in the spelling that was used",
        ),
        pytest.param(
            "twice",
            line(
                cli.AMBIGUOUS_WORKLOAD,
                "WORKLOAD",
                name="twice",
                count=2,
                names=("PodGroup/default/twice", "PodGroup/other/twice"),
            ),
            id="a name that two share is told apart",
        ),
    ],
)
def test_an_unknown_or_ambiguous_name_is_refused_with_what_was_meant(
    cluster: str, name: str, message: str
) -> None:
    groups = [
        pod_group("train", 1),
        pod_group("twice", 1),
        pod_group("twice", 1, metadata={"name": "twice", "namespace": "other"}),
    ]
    run = Run("explain", "-f", cluster, "-f", "-", name, stdin="".join(groups))

    assert run.status == 2
    assert run.err == f"{message}\n"
