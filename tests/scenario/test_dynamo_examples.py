"""The folder of Dynamo's examples as a whole, for Grove and for Kueue."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.scenario.commands import EXAMPLES, planned, run, translated

FOLDER = EXAMPLES / "dynamo"
KUEUE = FOLDER / "kueue"
CLOUD = "cloud.provider.com/topology-"


def test_the_nodes_are_those_of_the_drawing() -> None:
    result = run("nodes", "--drawing", FOLDER / "cluster.txt")

    assert result.stdout == (FOLDER / "nodes.yaml").read_text(encoding="utf-8")


def test_the_nodes_for_kueue_are_those_of_their_drawing() -> None:
    result = run("nodes", "--drawing", KUEUE / "cluster.txt", "--levels", f"{CLOUD}block,{CLOUD}rack")

    assert result.stdout == (KUEUE / "nodes.yaml").read_text(encoding="utf-8")


def test_every_example_is_valid_and_they_fit_together() -> None:
    result = run("plan", "-f", FOLDER, "-o", "json")
    outcomes = json.loads(result.stdout)["outcomes"]

    assert (result.exit_code, result.stderr) == (0, "")
    # Blocks are the finest level that the second one names. Which racks it takes inside of them is chosen by
    # heuristics (criterion 6), and the third one finds one whole rack instead of two.
    assert [(outcome["status"], outcome["wishes"]["leftOut"]) for outcome in outcomes] == [
        ("placed", 0),
        ("placed", 0),
        ("placed", 4),
    ]


def test_what_a_deployment_becomes_for_kueue_is_placed_there(tmp_path: Path) -> None:
    """In a queue of the cluster, since the deployment only names one."""
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    quota = [{"name": "nvidia.com/gpu", "nominalQuota": 16}]
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "tas", "resources": quota}]}
    queues = [
        {
            **queue,
            "kind": "ResourceFlavor",
            "metadata": {"name": "tas"},
            "spec": {
                "nodeLabels": {"cloud.provider.com/node-group": "tas"},
                "topologyName": "dynamo-domains",
            },
        },
        {
            **queue,
            "kind": "ClusterQueue",
            "metadata": {"name": "serving"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {
            **queue,
            "kind": "LocalQueue",
            "metadata": {"name": "dynamo"},
            "spec": {"clusterQueue": "serving"},
        },
    ]
    (tmp_path / "queues.yaml").write_text(yaml.safe_dump_all(queues))
    files = (KUEUE / "operator.yaml", KUEUE / "service-level.yaml", tmp_path / "queues.yaml")
    (tmp_path / "kueue.yaml").write_text(yaml.safe_dump_all(translated("kueue", *files)))

    status, outcomes = planned(tmp_path, KUEUE / "nodes.yaml")

    assert status == 0
    workers = outcomes["service-level-vllmworker"]["pods"]
    assert len(workers) == 2 * 4
    for replica in {pod["podSet"] for pod in workers}:
        assert len({tuple(pod["domain"][:2]) for pod in workers if pod["podSet"] == replica}) == 1
    assert len(outcomes["service-level-frontend"]["pods"]) == 1
