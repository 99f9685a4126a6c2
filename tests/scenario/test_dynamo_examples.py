"""The examples of Dynamo's proposal, each with the outcome that its text describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from typer.testing import CliRunner

from closeknit.cli.app import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "dynamo"
SCHEMA = json.loads((ROOT / "tests/unit/cli/outcomes.schema.json").read_text())
DEPTH = {level: depth for depth, level in enumerate(("zone", "block", "rack", "host"), start=1)}


def plan(name: str) -> dict[str, Any]:
    """The outcome of one example, which must be placed."""
    arguments = ["plan", "-o", "json"]
    for file in ("nodes.yaml", "topology.yaml", f"{name}.yaml"):
        arguments += ["-f", str(FOLDER / file)]
    result = CliRunner().invoke(app, arguments)
    output = json.loads(result.stdout)
    jsonschema.validate(output, SCHEMA)
    assert result.exit_code == 0
    (outcome,) = output["outcomes"]
    assert (outcome["dialect"], outcome["status"]) == ("dynamo", "placed")
    found: dict[str, Any] = outcome
    return found


def template(name: str) -> dict[str, Any]:
    """What an example becomes for Grove."""
    arguments = [
        "translate",
        "--to",
        "grove",
        "-f",
        str(FOLDER / "topology.yaml"),
        "-f",
        str(FOLDER / f"{name}.yaml"),
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    (made,) = (each for each in yaml.safe_load_all(result.stdout) if each["kind"] == "PodCliqueSet")
    found: dict[str, Any] = made["spec"]["template"]
    return found


def domains(outcome: dict[str, Any], prefix: str, level: str) -> set[tuple[str, ...]]:
    return {
        tuple(pod["domain"][: DEPTH[level]]) for pod in outcome["pods"] if pod["podSet"].startswith(prefix)
    }


def test_the_nodes_are_those_of_the_drawing() -> None:
    result = CliRunner().invoke(app, ["nodes", "--drawing", str(FOLDER / "cluster.txt")])

    assert result.stdout == (FOLDER / "nodes.yaml").read_text()


def test_every_example_is_valid_and_they_fit_together() -> None:
    result = CliRunner().invoke(app, ["plan", "-f", str(FOLDER)])

    assert (result.exit_code, result.stderr) == (0, "")
    assert "left out" not in result.stdout


def test_broad_deployment_level_constraint_only_services_inherit() -> None:
    outcome = plan("deployment-level")
    made = template("deployment-level")

    assert len(outcome["pods"]) == 3
    assert len(domains(outcome, "deployment-level-0", "zone")) == 1
    assert made["topologyConstraint"]["pack"] == {"required": "zone"}
    assert all("topologyConstraint" not in clique for clique in made["cliques"])


def test_mixed_deployment_level_default_with_a_per_service_override() -> None:
    outcome = plan("mixed")
    made = template("mixed")

    assert len(outcome["pods"]) == 2 * 4 + 1
    assert len(domains(outcome, "mixed-0", "zone")) == 1
    for replica in (0, 1):
        assert len(domains(outcome, f"mixed-0-vllmworker-{replica}", "block")) == 1
    (group,) = made["podCliqueScalingGroups"]
    assert group["topologyConstraint"] == {"pack": {"required": "block"}}
    assert all("topologyConstraint" not in clique for clique in made["cliques"])


def test_service_level_only_no_deployment_level_constraint() -> None:
    outcome = plan("service-level")
    made = template("service-level")

    assert len(outcome["pods"]) == 2 * 4 + 1
    for replica in (0, 1):
        assert len(domains(outcome, f"service-level-0-vllmworker-{replica}", "rack")) == 1
    assert "topologyConstraint" not in made
    (group,) = made["podCliqueScalingGroups"]
    assert group["topologyConstraint"] == {"topologyName": "grove-topology", "pack": {"required": "rack"}}


def test_req_5_a_service_broader_than_the_deployment_is_rejected(tmp_path: Path) -> None:
    given = yaml.safe_load((FOLDER / "mixed.yaml").read_text())
    given["spec"]["topologyConstraint"]["packDomain"] = "rack"
    (tmp_path / "broader.yaml").write_text(yaml.safe_dump(given))
    files = [FOLDER / "topology.yaml", tmp_path / "broader.yaml"]
    result = CliRunner().invoke(app, ["validate", *(word for file in files for word in ("-f", str(file)))])

    assert result.exit_code == 2
    assert 'spec.services[0].topologyConstraint.packDomain: "block" is coarser than "rack"' in result.stderr


def test_a_deployment_can_be_written_for_the_grove_of_the_proposal() -> None:
    arguments = [
        "translate",
        "--to",
        "grove",
        "--grove-version",
        "alpha8",
        "-f",
        str(FOLDER / "topology.yaml"),
    ]
    result = CliRunner().invoke(app, [*arguments, "-f", str(FOLDER / "mixed.yaml")])
    (made,) = yaml.safe_load_all(result.stdout)

    assert (result.exit_code, result.stderr) == (0, "")
    assert made["spec"]["template"]["topologyConstraint"] == {"packDomain": "zone"}
    assert made["spec"]["template"]["podCliqueScalingGroups"][0]["topologyConstraint"] == {
        "packDomain": "block"
    }
