"""The examples of Kueue's proposal, each with the outcome that its text describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from closeknit.cli.app import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "kueue"
SCHEMA = json.loads((ROOT / "tests/unit/cli/outcomes.schema.json").read_text())
BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def plan(folder: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status of a plan, and its outcomes by the name of the workload."""
    result = invoke("plan", "-f", str(FOLDER / folder), "-o", "json")
    output = json.loads(result.stdout)
    jsonschema.validate(output, SCHEMA)
    return result.exit_code, {outcome["workload"]["name"]: outcome for outcome in output["outcomes"]}


def translated(folder: str, target: str) -> list[dict[str, Any]]:
    result = invoke("translate", "-f", str(FOLDER / folder), "--to", target)
    assert result.exit_code == 0, result.stderr
    return [document for document in yaml.safe_load_all(result.stdout) if document is not None]


@pytest.mark.parametrize("folder", [".", "waiting", "jobset"])
def test_the_nodes_of_an_example_are_those_of_its_drawing(folder: str) -> None:
    drawing = str(FOLDER / folder / "cluster.txt")
    result = invoke("nodes", "--drawing", drawing, "--levels", f"{BLOCK},{RACK}")

    assert result.stdout == (FOLDER / folder / "nodes.yaml").read_text()


@pytest.mark.parametrize("folder", [".", "waiting", "jobset"])
def test_every_example_is_valid(folder: str) -> None:
    assert invoke("validate", "-f", str(FOLDER / folder)).exit_code == 0


def test_hierarchy_representation_racks_of_one_name_in_two_blocks_are_two_racks() -> None:
    nodes = {
        document["metadata"]["name"]: document["metadata"]["labels"]
        for document in yaml.safe_load_all((FOLDER / "nodes.yaml").read_text())
    }
    assert {name: (labels[BLOCK], labels[RACK]) for name, labels in nodes.items()} == {
        "node-1": ("block-1", "rack-1"),
        "node-2": ("block-1", "rack-2"),
        "node-3": ("block-2", "rack-1"),
        "node-4": ("block-2", "rack-3"),
    }

    # Two nodes carry the label rack-1, but the rack that is said to fit the most has one node's room.
    status, outcomes = plan("waiting")
    (shortfall, *_) = outcomes["too-large"]["shortfalls"]
    assert status == 3
    assert {(tuple(fit["domain"]), fit["fits"]) for fit in shortfall["best"]} >= {
        (("block-1", "rack-1"), 4),
        (("block-2", "rack-1"), 4),
    }


def test_story_1_all_pods_are_within_the_same_rack() -> None:
    status, outcomes = plan(".")
    outcome = outcomes["story-1"]

    assert status == 0
    assert len(outcome["pods"]) == 4
    assert len({tuple(pod["domain"]) for pod in outcome["pods"]}) == 1
    (group,) = outcome["groups"]
    assert (group["required"], group["satisfied"]) == (RACK, True)


def test_story_1_does_not_start_if_the_pods_cannot_be_placed_within_the_same_rack() -> None:
    status, outcomes = plan("waiting")
    outcome = outcomes["too-large"]

    assert (status, outcome["status"], outcome["pods"]) == (3, "unplaceable", [])
    (shortfall, *_) = outcome["shortfalls"]
    assert (shortfall["level"], shortfall["wanted"], shortfall["fits"]) == (RACK, 5, 4)


def test_story_2_the_pods_are_as_close_to_another_as_possible() -> None:
    outcome = plan(".")[1]["story-2"]

    assert len(outcome["pods"]) == 6
    assert {pod["domain"][0] for pod in outcome["pods"]} == {"block-2"}
    (group,) = outcome["groups"]
    assert (group["preferred"], group["satisfied"]) == (RACK, False)
    assert len(group["domains"]) == 2


def test_support_for_the_auto_mode_the_lowest_level_is_selected() -> None:
    (group,) = plan(".")[1]["auto"]["groups"]

    assert (group["preferred"], group["satisfied"]) == (RACK, True)


def test_internal_apis_the_workload_carries_the_topology_request() -> None:
    workloads = {
        each["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["name"]
        + each["metadata"]["name"]: each
        for each in translated(".", "kueue")
        if each["kind"] == "Workload"
    }
    requests = [workload["spec"]["podSets"][0]["topologyRequest"] for workload in workloads.values()]

    assert len(requests) == 3
    assert {"required": RACK} in requests
    assert requests.count({"preferred": RACK}) == 2


def test_enforcing_the_assignment_the_gate_is_added_to_the_pod_template() -> None:
    jobs = [each for each in translated(".", "kueue") if each["kind"] == "Job"]

    assert len(jobs) == 3
    for job in jobs:
        template = job["spec"]["template"]
        assert {"name": "kueue.x-k8s.io/topology"} in template["spec"]["schedulingGates"]
        assert template["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "main"
        assert template["metadata"]["annotations"]["kueue.x-k8s.io/workload"].startswith(
            f"job-{job['metadata']['name']}-"
        )
        assert template["spec"]["nodeSelector"] == {"cloud.provider.com/node-group": "tas"}
        assert job["spec"]["suspend"] is True


def test_a_jobset_of_four_slices_has_a_rack_for_each_in_one_block() -> None:
    status, outcomes = plan("jobset")
    pods = outcomes["training"]["pods"]

    assert status == 0
    assert len(pods) == 64
    assert {pod["domain"][0] for pod in pods} == {"block-2"}
    racks = {
        slice_: {tuple(pod["domain"][:2]) for pod in pods if pod["podSet"] == slice_}
        for slice_ in {pod["podSet"] for pod in pods}
    }
    assert sorted(racks) == ["workers-0", "workers-1", "workers-2", "workers-3"]
    assert all(len(used) == 1 for used in racks.values())
    assert len(set.union(*racks.values())) == 4


def test_gated_pods_of_the_jobset_know_their_job_and_their_index() -> None:
    pods = translated("jobset", "pods")
    labels = [pod["metadata"]["labels"] for pod in pods]

    assert len(pods) == 64
    assert {
        (each["jobset.sigs.k8s.io/job-index"], each["batch.kubernetes.io/job-completion-index"])
        for each in labels
    } == {(str(job), str(index)) for job in range(4) for index in range(16)}
    assert all(pod["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}] for pod in pods)
