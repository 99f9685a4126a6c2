"""Workloads that KAI groups by itself, each with the outcome that its comment describes."""

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
FOLDER = ROOT / "examples" / "grouped"
SCHEMA = json.loads((ROOT / "tests/unit/cli/outcomes.schema.json").read_text())
ZONE, RACK = 1, 2


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, Any]]:
    """The outcomes of a plan of the whole folder, by the name of the workload."""
    result = CliRunner().invoke(app, ["plan", "-f", str(FOLDER), "-o", "json"])
    output = json.loads(result.stdout)
    jsonschema.validate(output, SCHEMA)
    assert result.exit_code == 0
    return {outcome["workload"]["name"]: outcome for outcome in output["outcomes"]}


def domains(outcome: dict[str, Any], depth: int, *groups: str) -> set[tuple[str, ...]]:
    """The domains in which the pods of some groups lie; of all groups where none is named."""
    return {
        tuple(pod["domain"][:depth])
        for pod in outcome["pods"]
        if not groups or pod["podSet"].startswith(groups)
    }


def translated(target: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, ["translate", "--to", target, "-f", str(FOLDER)])
    assert (result.exit_code, result.stderr) == (0, "")
    return list(yaml.safe_load_all(result.stdout))


def test_the_nodes_are_those_of_the_drawing() -> None:
    drawing = ["--drawing", str(FOLDER / "cluster.txt"), "--topology", "cluster-topology"]
    result = CliRunner().invoke(app, ["nodes", *drawing, "--levels", "topology/zone,topology/rack"])

    assert result.stdout == (FOLDER / "nodes.yaml").read_text()


def test_every_example_is_valid() -> None:
    result = CliRunner().invoke(app, ["validate", "-f", str(FOLDER)])

    assert (result.exit_code, result.stderr) == (0, "")


def test_three_pods_of_a_job_share_a_rack(outcomes: dict[str, dict[str, Any]]) -> None:
    outcome = outcomes["finetune"]

    assert len(outcome["pods"]) == 3
    assert len(domains(outcome, RACK)) == 1


def test_each_job_of_a_job_set_keeps_to_one_rack_and_everything_to_one_zone(
    outcomes: dict[str, dict[str, Any]],
) -> None:
    outcome = outcomes["pretrain"]

    assert len(outcome["pods"]) == 9
    assert len(domains(outcome, ZONE)) == 1
    assert [len(domains(outcome, RACK, f"workers-replica-{i}")) for i in range(2)] == [1, 1]


def test_each_pair_of_a_model_server_shares_a_rack_and_the_leader_belongs_to_the_first(
    outcomes: dict[str, dict[str, Any]],
) -> None:
    for name in ("server.group-0", "server.group-1"):
        outcome = outcomes[name]
        assert len(outcome["pods"]) == 5
        assert len(domains(outcome, RACK, "leader", "workers")) == 1
        assert len(domains(outcome, RACK, "segment-1")) == 1


def test_workers_form_two_segments_each_in_one_rack(outcomes: dict[str, dict[str, Any]]) -> None:
    outcome = outcomes["tensor-parallel"]

    assert len(outcome["pods"]) == 9
    assert len(domains(outcome, ZONE)) == 1
    assert [len(domains(outcome, RACK, f"worker-{i}")) for i in range(2)] == [1, 1]


def test_five_pods_are_enough_to_start_the_master_and_the_first_segment() -> None:
    (group,) = (made for made in translated("kai") if made["metadata"]["name"] == "pg-tensor-parallel")

    assert {part["name"]: part.get("minMember") for part in group["spec"]["subGroups"]} == {
        "master": 1,
        "worker": None,
        "worker-0": 4,
        "worker-1": 0,
    }


def test_what_kai_would_create_is_placed_in_the_same_way(
    outcomes: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "kai.yaml"
    # The Topology stands beside the nodes already.
    path.write_text(yaml.safe_dump_all(made for made in translated("kai") if made["kind"] != "Topology"))
    files = ["-f", str(FOLDER / "nodes.yaml"), "-f", str(path)]
    result = CliRunner().invoke(app, ["plan", "-o", "json", *files])

    again = {one["workload"]["name"]: one for one in json.loads(result.stdout)["outcomes"]}
    assert result.exit_code == 0
    assert len(again) == len(outcomes)
    for name, outcome in outcomes.items():
        assert again[f"pg-{name.replace('.', '-')}"]["pods"] == outcome["pods"]
