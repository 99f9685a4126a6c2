"""The folder of Grove's examples as a whole, in both spellings, and a model server of two replicas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.scenario.commands import EXAMPLES, journey, planned, run

FOLDER = EXAMPLES / "grove"
CONFIGURATION, NODES = FOLDER / "operator-configuration.yaml", FOLDER / "nodes.yaml"
LABEL = "topology.kubernetes.io/"
LEVELS = ("region", "zone", "datacenter", "block", "rack")
DEPTH = {level: depth for depth, level in enumerate((*LEVELS, "host"), start=1)}


def test_the_nodes_are_those_of_the_drawing() -> None:
    levels = ",".join(f"{LABEL}{level}" for level in LEVELS)
    result = run("nodes", "--drawing", FOLDER / "cluster.txt", "--levels", levels)

    assert result.stdout == NODES.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["hierarchical-inference", "disaggregated-inference"])
def test_a_set_in_todays_spelling_is_placed_alike(name: str, tmp_path: Path) -> None:
    """``pack.required`` and a ClusterTopologyBinding in place of ``packDomain`` and the configuration."""
    old = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    template = old["spec"]["template"]
    for place in (template, *template["cliques"], *template["podCliqueScalingGroups"]):
        if given := place.pop("topologyConstraint", None):
            place["topologyConstraint"] = {
                "topologyName": "grove-topology",
                "pack": {"required": given["packDomain"]},
            }
    keys = {**{level: f"{LABEL}{level}" for level in LEVELS}, "host": "kubernetes.io/hostname"}
    binding = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": "grove-topology"},
        "spec": {"levels": [{"domain": domain, "key": key} for domain, key in keys.items()]},
    }
    (tmp_path / "new.yaml").write_text(yaml.safe_dump_all([binding, old]))

    assert planned(tmp_path, NODES) == planned(CONFIGURATION, FOLDER / f"{name}.yaml", NODES)


def test_a_gang_by_itself() -> None:
    """Each pod group gets a rack, and the only rack with three free nodes goes to the larger one."""
    made = journey(FOLDER / "gang", to="kai")

    assert made.placed
    assert made.domains(2, "prefill") == {("block-1", "rack-1")}
    assert made.domains(2, "decode") == {("block-1", "rack-2")}
    (group,) = made.made("PodGroup")
    assert {each["name"]: each["minMember"] for each in group["spec"]["subGroups"]} == {
        "prefill": 2,
        "decode": 3,
    }


def test_a_disaggregated_deployment_of_two_replicas() -> None:
    made = journey(CONFIGURATION, FOLDER / "disaggregated-serving.yaml", to="podgang", nodes=NODES)

    assert [gang["metadata"]["name"] for gang in made.made("PodGang")] == [
        "serving-0",
        "serving-0-prefill-0",
        "serving-1",
        "serving-1-prefill-0",
    ]
    assert made.placed
    assert len(made.pods()) == 2 * (2 + 2 * 2 + 4)
    for replica in (0, 1):
        assert len(made.domains(DEPTH["block"], f"serving-{replica}-")) == 1
        assert len(made.domains(DEPTH["rack"], f"serving-{replica}-decode-0")) == 1
        for scaled in (0, 1):
            assert len(made.domains(DEPTH["host"], f"serving-{replica}-prefill-{scaled}")) == 1


def test_all_examples_fit_on_the_cluster_together() -> None:
    result = run("plan", "-f", FOLDER, "-o", "json")
    outcomes = json.loads(result.stdout)["outcomes"]

    assert (result.exit_code, result.stderr) == (0, "")
    assert [(outcome["status"], outcome["wishes"]["leftOut"]) for outcome in outcomes] == [("placed", 0)] * 3
