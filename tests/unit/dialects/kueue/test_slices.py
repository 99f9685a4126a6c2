"""How pods of a template may be cut into slices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.dialects.kueue.kit import BLOCK, QUEUES, RACK, K, job
from tests.unit.dialects.kueue.problems import TEMPLATE, at, found


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(
            {"podset_slice_required_topology": RACK},
            [
                at(
                    TEMPLATE,
                    "podset-slice-size",
                    f"This must be given where {K}podset-slice-required-topology is. Write how many pods make a slice.",
                )
            ],
            id="a slice level needs a size",
        ),
        pytest.param(
            {"podset_slice_size": "2"},
            [
                at(
                    TEMPLATE,
                    "podset-slice-required-topology",
                    f"This must be given where {K}podset-slice-size is. Name the level of a slice.",
                )
            ],
            id="a slice size needs a level",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "0"},
            [at(TEMPLATE, "podset-slice-size", '"0" is not a size. Write a whole number from 1 on.')],
            id="a slice has at least one pod",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "five"},
            [at(TEMPLATE, "podset-slice-size", '"five" is not a size. Write a whole number from 1 on.')],
            id="a slice size is a number",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "9"},
            [at(TEMPLATE, "podset-slice-size", "A slice has 9 pods, but there are only 4. Write at most 4.")],
            id="a slice has no more pods than there are",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "3"},
            [
                at(
                    TEMPLATE,
                    "podset-slice-size",
                    "4 pods cannot be cut into slices of 3: 1 would be left. Choose a size that divides 4.",
                )
            ],
            id="no pod is left over by slices",
        ),
        pytest.param(
            {
                "podset_required_topology": RACK,
                "podset_slice_required_topology": BLOCK,
                "podset_slice_size": "2",
            },
            [
                at(
                    TEMPLATE,
                    "podset-slice-required-topology",
                    f'The slice level "{BLOCK}" is coarser than "{RACK}" around it. Name "{RACK}" or a finer level.',
                )
            ],
            id="a slice level lies at or below the main level",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": "rack"},
            [
                at(
                    TEMPLATE,
                    "podset-slice-required-topology-constraints",
                    '"rack" is not a JSON list. Write a list such as [{"topology": "example.com/block", "size": 8}].',
                )
            ],
            id="layers are a JSON list",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": "[]"},
            [
                at(
                    TEMPLATE,
                    "podset-slice-required-topology-constraints",
                    "There are 0 layers. Allowed are 1 to 3.",
                )
            ],
            id="there is at least one layer",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": json.dumps([{"topology": BLOCK, "size": "4"}])},
            [
                f'{TEMPLATE}["{K}podset-slice-required-topology-constraints"][0].size: Found "4", a string, where a whole number from 1 on is expected. Write a list such as [{{"topology": "example.com/block", "size": 8}}].'
            ],
            id="a layer's size is a number, not a string",
        ),
        pytest.param(
            {
                "podset_slice_required_topology_constraints": json.dumps(
                    [{"topology": BLOCK, "size": 4}, {"topology": RACK, "size": 3}]
                )
            },
            [
                f'{TEMPLATE}["{K}podset-slice-required-topology-constraints"][1]: The inner slice size 3 must evenly divide 4, the one around it.'
            ],
            id="inner slices divide the outer ones",
        ),
        pytest.param(
            {
                "podset_slice_required_topology_constraints": json.dumps(
                    [{"topology": RACK, "size": 4}, {"topology": RACK, "size": 2}]
                )
            },
            [
                f'{TEMPLATE}["{K}podset-slice-required-topology-constraints"][1]: The slice level "{RACK}" is the same as "{RACK}" around it. Name a finer level.'
            ],
            id="inner slices lie at a finer level",
        ),
        pytest.param(
            {
                "podset_slice_required_topology_constraints": json.dumps([{"topology": RACK, "size": 2}]),
                "podset_slice_required_topology": RACK,
                "podset_slice_size": "2",
            },
            [
                at(
                    TEMPLATE,
                    "podset-slice-required-topology",
                    f"{K}podset-slice-required-topology-constraints stands here as well. Only one way to cut slices can be given.",
                ),
                at(
                    TEMPLATE,
                    "podset-slice-size",
                    f"{K}podset-slice-required-topology-constraints stands here as well. Only one way to cut slices can be given.",
                ),
            ],
            id="the two ways to cut slices exclude each other",
        ),
        pytest.param(
            {"require_topology": RACK, "podset_slice_required_topology": RACK, "podset_slice_size": "2"},
            [
                at(
                    TEMPLATE,
                    "podset-slice-size",
                    f"Slices cannot be combined with the early design's annotations. Use {K}podset-required-topology or {K}podset-preferred-topology.",
                )
            ],
            id="slices need today's words",
        ),
    ],
)
def test_slices_of_a_pod_template(asked: dict[str, Any], want: list[str]) -> None:
    assert found(*QUEUES, job(**asked)) == want
