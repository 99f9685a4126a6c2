"""What `closeknit explain` prints, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.running import TOPOLOGY, Run, outcomes, pod_group


@pytest.mark.requirement("A49")
def test_explain_a_placed_workload(cluster: str) -> None:
    run = Run("explain", "-f", cluster, "-f", "-", "a", stdin=pod_group("a", 2, "rack") + pod_group("0", 1))

    assert run.status == 0
    assert run.out == (
        "PodGroup default/a: placed, 2 pods on 2 nodes\n"
        "  Before it in the queue, 1 of 1 placed: PodGroup default/0.\n"
        "  Where its groups are\n"
        "    all pods in one rack: b1/r2 (required)\n"
        "    x3: 1 pod (a-0)\n"
        "    x4: 1 pod (a-1)\n"
        "  What they could choose from\n"
        "    default/a: of 3 rack only b1/r2 has room for it, where 2 pods would fit.\n"
        "  How good that is\n"
        "    No pod is left out.\n"
        "    It uses 1 of block, 1 of rack, 2 nodes.\n"
        "    No placement does better on these points.\n"
    )


def test_explain_a_workload_that_cannot_be_placed(cluster: str) -> None:
    run = Run("explain", "-f", cluster, "-f", "-", "default/a", stdin=pod_group("a", 3, "rack"))

    assert run.status == 3
    assert run.out.startswith(
        "PodGroup default/a: cannot be placed\n"
        "  default/a needs room for 3 pods in one rack; the best has room for 2.\n"
        "    Where most would fit\n"
        "      b1/r2: room for 2 pods; nvidia.com/gpu runs out.\n"
    )
    assert "Require block instead of rack for default/a, and it can be placed." in run.out
    assert "Ask for 2 pods of default/a instead of 3, and it can be placed." in run.out


def test_explain_says_why_a_preference_does_not_hold(cluster: str) -> None:
    constraint = {"topology": "t", "requiredTopologyLevel": "block", "preferredTopologyLevel": "rack"}
    stdin = pod_group("a", 3, topologyConstraint=constraint)
    run = Run("explain", "-f", cluster, "-f", "-", "a", stdin=stdin)
    entry = outcomes(Run("explain", "-f", cluster, "-f", "-", "a", "-o", "json", stdin=stdin))[0]

    assert run.status == 0
    assert "all pods over 2 domains of rack, where one is preferred: b1/r1, b1/r2" in run.out
    assert "  Why default/a does not get one rack\n" in run.out
    assert "default/a needs room for 3 pods in one rack; the best has room for 2." in run.out
    assert entry["groups"][0]["satisfied"] is False
    (missed,) = entry["missedPreferences"]
    assert missed["why"] == "lacking"
    assert missed["shortfalls"][0]["relaxations"] == []


def test_explain_says_nothing_of_preferences_that_hold(cluster: str) -> None:
    constraint = {"topology": "t", "preferredTopologyLevel": "rack"}
    run = Run(
        "explain", "-f", cluster, "-f", "-", "a", stdin=pod_group("a", 2, topologyConstraint=constraint)
    )

    assert "all pods in one rack: b1/r2 (preferred)" in run.out
    assert "Every preference for rack is met." in run.out
    assert "Why" not in run.out


def test_a_workload_that_shares_no_level_is_shown_by_its_nodes(cluster: str) -> None:
    run = Run("explain", "-f", cluster, "-f", "-", "a", stdin=pod_group("a", 4))

    assert "  Where its groups are\n    x1: 1 pod (a-0)\n" in run.out
    assert "all pods" not in run.out


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
    run = Run("explain", "-f", "-", "a", stdin=TOPOLOGY + nodes + stdin)

    assert (
        "Why c does not get one rack\n    It could, but a wish that goes before this one would suffer.\n"
        in run.out
    )


@pytest.mark.parametrize("name", ["a", "default/a", "PodGroup/default/a"])
def test_a_workload_is_found_by_each_of_its_names(cluster: str, name: str) -> None:
    assert Run("explain", "-f", cluster, "-f", "-", name, stdin=pod_group("a", 1)).status == 0


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("trian", 'Did you mean "train"?', id="a slip is met with the nearest name"),
        pytest.param(
            "default/trian", 'Did you mean "default/train"?', id="and in the spelling that was used"
        ),
        pytest.param(
            "twice",
            'could be 2 workloads. Name one of them: "PodGroup/default/twice", "PodGroup/other/twice".',
            id="a name that two share is told apart",
        ),
    ],
)
def test_an_unknown_or_ambiguous_name_is_refused_with_what_was_meant(
    cluster: str, name: str, told: str
) -> None:
    groups = [
        pod_group("train", 1),
        pod_group("twice", 1),
        pod_group("twice", 1, metadata={"name": "twice", "namespace": "other"}),
    ]
    run = Run("explain", "-f", cluster, "-f", "-", name, stdin="".join(groups))

    assert run.status == 2
    assert told in run.err
