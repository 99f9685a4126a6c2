"""OSMO's use cases end as their document says. Each test is named after the passage that it checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from closeknit.cli.app import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "osmo"
SCHEMA = json.loads((ROOT / "tests/unit/cli/outcomes.schema.json").read_text())

ZONE, SPINE, RACK = (f"topology.kubernetes.io/{key}" for key in ("zone", "spine", "rack"))
CLIQUE = "nvidia.com/gpu-clique"
DEPTH = {ZONE: 1, SPINE: 2, RACK: 3, CLIQUE: 4}

WORKFLOWS = (
    "best-effort-topology",
    "multiple-nvl72-racks",
    "multiple-nvl72-same-zone",
    "single-nvl72-rack",
)


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def planned(workflow: str, cluster: str) -> tuple[int, dict[str, Any]]:
    """The exit status of a plan of one workflow on one of the drawn clusters, and its outcome."""
    files = (FOLDER / "pool.yaml", FOLDER / f"{workflow}.yaml", FOLDER / "clusters" / f"{cluster}.yaml")
    result = run("plan", *(word for file in files for word in ("-f", file)), "-o", "json")
    output = json.loads(result.stdout)
    jsonschema.validate(output, SCHEMA)
    (outcome,) = output["outcomes"]
    assert outcome["dialect"] == "osmo"
    assert outcome["workload"]["name"] == workflow
    return result.exit_code, outcome


def places(outcome: dict[str, Any], level: str, model: str = "") -> set[tuple[str, ...]]:
    """The domains of a level that the tasks of one model, or all of them, are in."""
    return {
        tuple(pod["domain"][: DEPTH[level]])
        for pod in outcome["pods"]
        if pod["name"].startswith(f"model{model}")
    }


def test_use_case_1_all_tasks_are_in_gpu_clique_a_or_all_in_gpu_clique_b() -> None:
    status, outcome = planned("single-nvl72-rack", "use-case-1")

    assert (status, outcome["status"], len(outcome["pods"])) == (0, "placed", 4)
    assert len(places(outcome, CLIQUE)) == 1
    assert len({pod["node"] for pod in outcome["pods"]}) == 4


def test_use_case_2_all_shards_of_a_model_instance_are_in_the_same_gpu_clique() -> None:
    status, outcome = planned("multiple-nvl72-racks", "use-case-2")

    assert (status, outcome["status"], len(outcome["pods"])) == (0, "placed", 8)
    assert len(places(outcome, CLIQUE, "1")) == len(places(outcome, CLIQUE, "2")) == 1
    assert places(outcome, CLIQUE, "1") != places(outcome, CLIQUE, "2")


def test_use_case_3_the_entire_workflow_is_in_zone_a_because_only_zone_a_is_large_enough() -> None:
    status, outcome = planned("multiple-nvl72-same-zone", "use-case-3")

    assert (status, outcome["status"], len(outcome["pods"])) == (0, "placed", 8)
    assert places(outcome, ZONE) == {("zone-a",)}
    assert len(places(outcome, CLIQUE, "1")) == len(places(outcome, CLIQUE, "2")) == 1


def test_use_case_4_the_topology_can_be_satisfied_and_is() -> None:
    status, outcome = planned("best-effort-topology", "use-case-4-one-spine")

    assert (status, outcome["status"], len(outcome["pods"])) == (0, "placed", 8)
    assert len(places(outcome, SPINE)) == 1
    assert len(places(outcome, RACK, "1")) == len(places(outcome, RACK, "2")) == 1
    assert all(group["satisfied"] for group in outcome["groups"])


def test_use_case_4_models_keep_their_racks_where_one_spine_for_both_cannot_be_had() -> None:
    status, outcome = planned("best-effort-topology", "use-case-4-two-spines")
    satisfied = {group["name"]: group["satisfied"] for group in outcome["groups"]}

    assert (status, outcome["status"], len(outcome["pods"])) == (0, "placed", 8)
    assert len(places(outcome, RACK, "1")) == len(places(outcome, RACK, "2")) == 1
    assert len(places(outcome, SPINE)) == 2
    assert satisfied.pop("model-1-group")
    assert satisfied.pop("model-2-group")
    assert list(satisfied.values()) == [False]


@pytest.mark.parametrize("cluster", ["use-case-4-one-spine", "use-case-4-two-spines"])
def test_a_required_topology_is_not_scheduled_unless_it_can_be_satisfied(cluster: str) -> None:
    # These clusters have no NVLink, and so no clique that the workflow could be in.
    status, outcome = planned("single-nvl72-rack", cluster)

    assert (status, outcome["status"]) == (3, "unplaceable")


def test_use_case_3_is_not_scheduled_where_no_zone_is_large_enough() -> None:
    status, outcome = planned("multiple-nvl72-same-zone", "use-case-1")
    assert (status, outcome["status"]) == (0, "placed")

    nodes = (FOLDER / "clusters" / "use-case-3.yaml").read_text(encoding="utf-8")
    without_one_rack = [node for node in nodes.split("---\n") if "clique-b" not in node]
    files = [FOLDER / "pool.yaml", FOLDER / "multiple-nvl72-same-zone.yaml"]
    arguments = [word for file in files for word in ("-f", str(file))]
    result = CliRunner().invoke(
        app, ["plan", *arguments, "-f", "-", "-o", "json"], input="---\n".join(without_one_rack)
    )

    assert result.exit_code == 3


def test_all_workflows_of_the_folder_are_placed_together() -> None:
    result = run("plan", "-f", FOLDER, "-o", "json")
    outcomes = json.loads(result.stdout)["outcomes"]

    assert result.exit_code == 0
    assert sorted(outcome["workload"]["name"] for outcome in outcomes) == list(WORKFLOWS)
    assert {outcome["status"] for outcome in outcomes} == {"placed"}
    assert all(outcome["proven"] for outcome in outcomes)


def test_a_training_run_gets_two_whole_nvl72_racks_of_one_zone() -> None:
    result = run("plan", "-f", FOLDER / "nvl72", "-o", "json")
    (outcome,) = json.loads(result.stdout)["outcomes"]

    assert (result.exit_code, outcome["status"], outcome["proven"]) == (0, "placed", True)
    assert len(outcome["pods"]) == 2 * 18 + 2 + 1
    assert places(outcome, ZONE) == {("zone-a",)}
    assert len(places(outcome, CLIQUE, "1")) == len(places(outcome, CLIQUE, "2")) == 1
    where = {pod["name"].rpartition("-")[0]: pod["podSet"] for pod in outcome["pods"]}
    assert (where["loader-1"], where["monitor"]) == ("training-catch-all", "catch-all-gpu-clique")


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_is_valid_and_can_be_translated(workflow: str) -> None:
    files: list[str | Path] = ["-f", FOLDER / "pool.yaml", "-f", FOLDER / f"{workflow}.yaml"]

    assert run("validate", *files).exit_code == 0
    result = run("translate", *files, "--to", "kai", "-o", "json")
    kinds = [item["kind"] for item in json.loads(result.stdout)["items"]]
    assert result.exit_code == 0
    assert kinds[:4] == ["Topology", "Queue", "Queue", "PodGroup"]
    assert set(kinds[4:]) == {"Pod"}


def test_what_is_translated_is_placed_like_the_workflow(tmp_path: Path) -> None:
    files: list[str | Path] = ["-f", FOLDER / "pool.yaml", "-f", FOLDER / "multiple-nvl72-same-zone.yaml"]
    translated = tmp_path / "objects.yaml"
    translated.write_text(run("translate", *files, "--to", "kai").stdout, encoding="utf-8")
    nodes = FOLDER / "clusters" / "use-case-3.yaml"

    result = run("plan", "-f", translated, "-f", nodes, "-o", "json")
    (again,) = json.loads(result.stdout)["outcomes"]
    _, first = planned("multiple-nvl72-same-zone", "use-case-3")

    assert again["workload"]["kind"] == "PodGroup"
    assert (again["pods"], again["groups"]) == (first["pods"], first["groups"])


@pytest.mark.parametrize(
    "drawing", sorted(FOLDER.rglob("*.txt")), ids=lambda path: str(path.relative_to(FOLDER))
)
def test_the_nodes_of_a_cluster_are_those_of_its_drawing(drawing: Path) -> None:
    deepest = 3 if "use-case-4" in drawing.name else 4
    manifests = drawing.with_name("nodes.yaml" if drawing.stem == "cluster" else f"{drawing.stem}.yaml")

    result = run("nodes", "--drawing", drawing, "--levels", ",".join(list(DEPTH)[:deepest]))

    assert result.stdout == manifests.read_text(encoding="utf-8")
