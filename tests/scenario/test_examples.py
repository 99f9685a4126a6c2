"""Every example does what its comments say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from closeknit.cli.app import app

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SCHEMA = json.loads((ROOT / "tests/unit/cli/outcomes.schema.json").read_text())
OF_FAMILIES = {path.name.split("_")[1] for path in Path(__file__).parent.glob("test_*_examples.py")}
"""Folders that have a test module of their own beside this one."""
FOLDERS = sorted({path.parent.name for path in EXAMPLES.glob("*/*.yaml")})
DRAWN = sorted({path.parent.name for path in EXAMPLES.glob("*/cluster.txt")} - OF_FAMILIES)
TESTED = {"invalid", "kai", "pending", "preferred"}


def plan(folder: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status of a plan, and its outcomes by the name of the workload."""
    result = CliRunner().invoke(app, ["plan", "-f", str(EXAMPLES / folder), "-o", "json"])
    output = json.loads(result.stdout)
    jsonschema.validate(output, SCHEMA)
    return result.exit_code, {outcome["workload"]["name"]: outcome for outcome in output["outcomes"]}


def test_no_example_is_without_a_test() -> None:
    assert set(FOLDERS) == TESTED | OF_FAMILIES


@pytest.mark.parametrize("folder", DRAWN)
def test_the_nodes_of_an_example_are_those_of_its_drawing(folder: str) -> None:
    arguments = [
        "nodes",
        "--drawing",
        str(EXAMPLES / folder / "cluster.txt"),
        "--topology",
        "cluster-topology",
    ]
    result = CliRunner().invoke(app, arguments)

    assert result.stdout == (EXAMPLES / folder / "nodes.yaml").read_text()


def test_the_samples_of_the_kai_design_are_placed_together() -> None:
    status, outcomes = plan("kai")

    assert status == 0
    assert set(outcomes) == {"sample1", "sample2"}
    assert {outcome["status"] for outcome in outcomes.values()} == {"placed"}
    assert all(outcome["proven"] for outcome in outcomes.values())


def test_the_pending_example_says_what_is_missing_and_what_would_help() -> None:
    status, outcomes = plan("pending")
    (shortfall, *_) = outcomes["training-run"]["shortfalls"]

    assert status == 3
    assert (shortfall["group"], shortfall["level"]) == ("trainers", "topology/rack")
    assert (shortfall["wanted"], shortfall["fits"]) == (3, 2)
    assert {"change": "level", "group": "trainers", "to": "topology/block"} in shortfall["relaxations"]
    assert {"change": "count", "podSet": "trainers", "to": 2} in shortfall["relaxations"]
    assert any(change["change"] == "departure" for change in shortfall["relaxations"])
    assert any(each["reason"] == "taint" and each["nodes"] == 1 for each in shortfall["excluded"])


def test_the_preferred_example_falls_back_to_one_block() -> None:
    status, outcomes = plan("preferred")
    outcome = outcomes["batch-inference"]

    assert status == 0
    assert {pod["domain"][0] for pod in outcome["pods"]} == {"block-2"}
    (group,) = outcome["groups"]
    assert (group["level"], group["satisfied"]) == ("topology/rack", False)
    assert group["domains"] == [["block-2", "rack-3"], ["block-2", "rack-4"]]


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("output", ["text", "json", "svg"])
def test_every_example_can_be_shown_in_every_form(folder: str, output: str) -> None:
    for command in ("plan", "topology"):
        result = CliRunner().invoke(app, [command, "-f", str(EXAMPLES / folder), "-o", output])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert result.stdout
