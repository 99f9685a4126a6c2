"""``closeknit pool`` lists the topology keys that workflows may name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import cli
from tests.kit.problems import line
from tests.scenario.commands import run
from tests.unit.dialects.osmo.kit import pool


def node(name: str, **labels: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    racks = {"t/zone": "z", "t/rack": "r"}
    a100 = {"labels": {"gpu": "a100"}}
    texts = (
        pool("plain", keys=()),
        pool("training", keys=("zone", "rack"), backend="b", platforms={"a100": a100}),
        node("n1", gpu="a100", **racks),
        node("n2", gpu="a100", **{"t/zone": "z"}),
        node("n3", gpu="h100"),
    )
    path = tmp_path / "all.yaml"
    path.write_text("\n---\n".join(texts), encoding="utf-8")
    return path


@pytest.mark.requirement("O11")
def test_keys_stand_with_their_labels_and_the_nodes_that_lack_them(files: Path) -> None:
    result = run("pool", "-f", files)

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "POOL       QUEUE                KEY    LABEL    NODES WITHOUT",
        "plain      osmo-pool-plain      -      -        -",
        "training   osmo-pool-training   zone   t/zone   0 of 2",
        "                                rack   t/rack   1 of 2",
    ]


def test_a_pool_for_programs(files: Path) -> None:
    (found,) = json.loads(run("pool", "training", "-f", files, "-o", "json").stdout)["pools"]

    assert found == {
        "name": "training",
        "backend": "b",
        "queue": "osmo-pool-training",
        "topology": "osmo-pool-training-topology",
        "nodes": 2,
        "topologyKeys": [
            {"key": "zone", "label": "t/zone", "nodesWithout": []},
            {"key": "rack", "label": "t/rack", "nodesWithout": ["n2"]},
        ],
    }


def test_a_pool_that_is_not_there_is_named_with_the_nearest(files: Path) -> None:
    result = run("pool", "trainign", "-f", files)

    assert result.exit_code == 2
    remedy = OneOf.among("trainign", ["plain", "training"])
    assert result.stderr == (
        line(cli.UNKNOWN_POOL, "POOL", holders="The files hold", pool="trainign", remedy=remedy) + "\n"
    )


def test_files_without_a_pool_say_so(tmp_path: Path) -> None:
    (tmp_path / "n.yaml").write_text(node("n"), encoding="utf-8")

    result = run("pool", "-f", tmp_path)

    # No table, but one line that says why.
    assert (result.exit_code, result.stdout.count("\n")) == (0, 1)
    assert "POOL" not in result.stdout


def test_status_tells_of_nodes_without_labels(files: Path) -> None:
    result = run("status", "-f", files)

    objects = json.loads(run("status", "-f", files, "-o", "json").stdout)["objects"]
    conditions = {
        (entry["object"]["name"], condition["type"]): condition
        for entry in objects
        for condition in entry["conditions"]
    }
    lacking = conditions["training", "NodesLabelled"]
    assert (lacking["status"], lacking["reason"]) == ("False", "NodesLackLabels")
    for name in ("n2", "t/rack", "key rack"):
        assert name in lacking["message"]
    accepted = conditions["plain", "Accepted"]
    assert (accepted["status"], accepted["reason"]) == ("True", "Valid")
    for condition in (lacking, accepted):
        assert condition["message"] in result.stdout
