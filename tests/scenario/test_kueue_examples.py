"""The folders of Kueue's examples as a whole, and the JobSet of four slices."""

from __future__ import annotations

import pytest

from tests.scenario.commands import EXAMPLES, journey, planned, run, translated

FOLDER = EXAMPLES / "kueue"
LEVELS = "cloud.provider.com/topology-block,cloud.provider.com/topology-rack"


@pytest.mark.parametrize("folder", [".", "waiting", "jobset"])
def test_the_nodes_of_an_example_are_those_of_its_drawing(folder: str) -> None:
    result = run("nodes", "--drawing", FOLDER / folder / "cluster.txt", "--levels", LEVELS)

    assert result.stdout == (FOLDER / folder / "nodes.yaml").read_text(encoding="utf-8")


def test_the_stories_are_placed_together_in_the_order_in_which_they_came() -> None:
    status, outcomes = planned(FOLDER)

    assert status == 0
    assert list(outcomes) == ["story-1", "story-2", "auto"]
    assert {outcome["status"] for outcome in outcomes.values()} == {"placed"}


def test_a_jobset_of_four_slices_has_a_rack_for_each_in_one_block() -> None:
    """Its first flavor has too little quota, and one rack of the other block is in use."""
    made = journey(FOLDER / "jobset", to="kueue")

    (workload,) = made.made("Workload")
    (pod_set,) = workload["spec"]["podSets"]
    assert pod_set["count"] == 64
    assert pod_set["topologyRequest"]["podSetSliceSize"] == 16
    assert made.placed
    assert len(made.pods()) == 64
    assert made.domains(1) == {("block-2",)}
    racks = [made.domains(2, f"workers-{index}") for index in range(4)]
    assert [len(each) for each in racks] == [1, 1, 1, 1]
    assert len(set.union(*racks)) == 4


@pytest.mark.requirement("K103")
def test_gated_pods_of_the_jobset_know_their_job_and_their_index() -> None:
    pods = translated("pods", FOLDER / "jobset")
    labels = [pod["metadata"]["labels"] for pod in pods]

    assert len(pods) == 64
    assert {
        (each["jobset.sigs.k8s.io/job-index"], each["batch.kubernetes.io/job-completion-index"])
        for each in labels
    } == {(str(job), str(index)) for job in range(4) for index in range(16)}
    assert all(pod["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}] for pod in pods)
