"""Manifests are written by hand for speed; a real YAML reader must agree with every byte."""

from __future__ import annotations

import json

import pytest
import yaml

from closeknit.cli import manifests
from closeknit.hub.cluster import Holding
from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology

ODD_VALUES = [
    "yes",
    "null",
    "1e3",
    "0x1F",
    "-",
    "a: b",
    "#x",
    "",
    " ",
    "ünï",
    "a\x85b",
    "😀",
    "'",
    '"',
    "\\",
    "a\nb",
]


def test_every_manifest_reads_back_as_itself() -> None:
    node = Node(
        "n1",
        {"a/b": "c"},
        Resources.parse({"cpu": "1500m", "memory": "1Ti", "nvidia.com/gpu": 1024, "pods": 110}),
        (Taint("dedicated", Effect.NO_SCHEDULE, "ml"), Taint("gone", Effect.NO_EXECUTE)),
        unschedulable=True,
        ready=False,
    )
    holding = Holding("team/x", "n1", Resources({"nvidia.com/gpu": 1}), 2, frozenset({HostPort(80)}))
    written = [
        manifests.topology(Topology("t", (Level("topology/rack"),))),
        manifests.node(node),
        *manifests.pods([holding]),
    ]

    assert list(yaml.safe_load_all("".join(manifests.as_yaml(written)))) == written
    assert json.loads("".join(manifests.as_json(written)))["items"] == written
    assert written[1]["status"]["allocatable"]["nvidia.com/gpu"] == "1024"
    assert [pod["metadata"]["name"] for pod in written[2:]] == ["x-1", "x-2"]
    assert {pod["metadata"]["namespace"] for pod in written[2:]} == {"team"}


@pytest.mark.parametrize("value", ODD_VALUES)
def test_values_that_mean_something_in_yaml_stay_strings(value: str) -> None:
    written = manifests.node(Node("n1", {"label": value}))

    assert yaml.safe_load("".join(manifests.as_yaml([written]))) == written


def test_no_manifests_are_an_empty_list() -> None:
    assert json.loads("".join(manifests.as_json([])))["items"] == []


def test_lists_of_scalars_of_lists_and_of_nothing_are_written_as_yaml() -> None:
    value = {
        "command": ["bash", "-c", "echo: 1"],
        "rows": [[1, "no"], []],
        "empty": [{}],
        "after": [{"a": [2]}],
    }

    assert yaml.safe_load("".join(manifests.as_yaml([value]))) == value
