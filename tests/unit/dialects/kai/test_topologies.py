"""Every rule for a KAI Topology."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.topology import Level, Topology
from tests.unit.dialects.kit import problems, reading


def topology(*levels: dict[str, Any] | str, version: str = "v1alpha1") -> str:
    spec = {"levels": [{"nodeLabel": level} if isinstance(level, str) else level for level in levels]}
    return json.dumps(
        {
            "apiVersion": f"kai.scheduler/{version}",
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": spec,
        }
    )


@pytest.mark.requirement("A14", "A47")
@pytest.mark.parametrize("version", ["v1alpha1", "v1"])
def test_levels_keep_their_order_and_aliases_become_names(version: str) -> None:
    text = topology(
        "example.com/zone", {"nodeLabel": "rack", "alias": "r"}, "kubernetes.io/hostname", version=version
    )

    assert reading(text).cluster.topologies == (
        Topology("t", (Level("example.com/zone"), Level("rack", "r"), Level("kubernetes.io/hostname"))),
    )


KEY = (
    "is not a label key. Write a name of at most 63 letters, digits, '-', '_' and '.', such as rack,"
    " with an optional domain before a slash, such as example.com/rack."
)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            topology(),
            ["1:spec.levels: There are 0 levels. Allowed are 1 to 16."],
            id="there is at least one level",
        ),
        pytest.param(
            topology(*(f"l{i}" for i in range(17))),
            ["1:spec.levels: There are 17 levels. Allowed are 1 to 16."],
            id="there are at most sixteen levels",
        ),
        pytest.param(
            topology("a", "b", "a"),
            [
                '1:spec.levels[2].nodeLabel: "a" is already the label of spec.levels[0]. Each level has its own.'
            ],
            id="labels are unique",
        ),
        pytest.param(
            topology("kubernetes.io/hostname", "a"),
            [
                '1:spec.levels[0].nodeLabel: "kubernetes.io/hostname" can only be the last level. Move it to the end.'
            ],
            id="the host name can only be the last level",
        ),
        pytest.param(
            topology({"nodeLabel": "a", "alias": "x"}, {"nodeLabel": "b", "alias": "x"}),
            ['1:spec.levels[1].alias: "x" is already the alias of spec.levels[0]. Each level has its own.'],
            id="aliases are unique",
        ),
        pytest.param(
            topology({"nodeLabel": "a", "alias": "b"}, "b"),
            ['1:spec.levels[0].alias: "b" is the label of a level. An alias must be another word.'],
            id="an alias is not a label",
        ),
        pytest.param(
            topology("a b", "x/y/z", "", {"nodeLabel": "c", "alias": "-"}, "n" * 64),
            [
                f'1:spec.levels[0].nodeLabel: "a b" {KEY}',
                f'1:spec.levels[1].nodeLabel: "x/y/z" {KEY}',
                f'1:spec.levels[2].nodeLabel: "" {KEY}',
                f'1:spec.levels[3].alias: "-" {KEY}',
                f'1:spec.levels[4].nodeLabel: "{"n" * 64}" {KEY}',
            ],
            id="labels and aliases are written as label keys",
        ),
        pytest.param(
            topology(f"{'d' * 254}/rack", "Example.com/rack"),
            [
                f'1:spec.levels[0].nodeLabel: "{"d" * 79}…" {KEY}',
                f'1:spec.levels[1].nodeLabel: "Example.com/rack" {KEY}',
            ],
            id="the domain of a label is a domain",
        ),
        pytest.param(
            topology({"nodeLable": "a"}),
            [
                '1:spec.levels[0].nodeLable: There is no field "nodeLable" here. Did you mean "nodeLabel"?',
                "1:spec.levels[0].nodeLabel: This field is missing.",
            ],
            id="a misspelt field is named",
        ),
        pytest.param(
            topology("a", version="v1beta1"),
            [
                '1:apiVersion: Topology is not read in version "v1beta1".'
                ' Did you mean "kai.scheduler/v1"? Allowed: "kai.scheduler/v1", "kai.scheduler/v1alpha1".'
            ],
            id="another version is refused",
        ),
    ],
)
def test_refuses(text: str, want: list[str]) -> None:
    assert problems(text) == want
    assert reading(text).cluster.topologies == ()


def test_two_topologies_of_one_name_are_refused_whatever_their_versions() -> None:
    assert problems(topology("a"), topology("b", version="v1")) == [
        '2:metadata.name: There is already a Topology "t" in f, document 1. Remove one, or rename it.'
    ]
