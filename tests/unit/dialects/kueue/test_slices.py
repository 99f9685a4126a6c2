"""How pods of a template may be cut into slices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.problems import Range
from closeknit.hub.sentences import core, kueue
from tests.kit.problems import Finding, finding
from tests.unit.dialects.kueue.kit import BLOCK, QUEUES, RACK, K, job
from tests.unit.dialects.kueue.problems import TEMPLATE, annotation, reported_anywhere

SIZE = annotation(TEMPLATE, "podset-slice-size")
LEVEL = annotation(TEMPLATE, "podset-slice-required-topology")
LAYERS = annotation(TEMPLATE, "podset-slice-required-topology-constraints")


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(
            {"podset_slice_required_topology": RACK},
            [finding(kueue.SLICE_SIZE_NEEDED, SIZE, other=f"{K}podset-slice-required-topology")],
            id="a slice level needs a size",
        ),
        pytest.param(
            {"podset_slice_size": "2"},
            [finding(kueue.SLICE_LEVEL_NEEDED, LEVEL, other=f"{K}podset-slice-size")],
            id="a slice size needs a level",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "0"},
            [finding(kueue.SLICE_SIZE, SIZE, written="0")],
            id="a slice has at least one pod",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "five"},
            [finding(kueue.SLICE_SIZE, SIZE, written="five")],
            id="a slice size is a number",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "9"},
            [finding(kueue.SLICE_TOO_LARGE, SIZE, pods=4, size=9)],
            id="a slice has no more pods than there are",
        ),
        pytest.param(
            {"podset_slice_required_topology": RACK, "podset_slice_size": "3"},
            [finding(kueue.PODS_LEFT_OVER, SIZE, left=1, pods=4, size=3)],
            id="no pod is left over by slices",
        ),
        pytest.param(
            {
                "podset_required_topology": RACK,
                "podset_slice_required_topology": BLOCK,
                "podset_slice_size": "2",
            },
            [finding(kueue.SLICE_COARSER, LEVEL, level=BLOCK, outer=RACK)],
            id="a slice level lies at or below the main level",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": "rack"},
            [finding(kueue.LAYERS_LIST, LAYERS, written="rack")],
            id="layers are a JSON list",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": "[]"},
            [finding(core.NUMBER_OF, LAYERS, allowed=Range(1, 3), given=0, what=" layers")],
            id="there is at least one layer",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": json.dumps([{"topology": BLOCK, "size": "4"}])},
            [finding(kueue.LAYER_SIZE, f"{LAYERS}[0].size", found='"4", a string,')],
            id="a layer's size is a number, not a string",
        ),
        pytest.param(
            {
                "podset_slice_required_topology_constraints": json.dumps(
                    [{"topology": BLOCK, "size": 4}, {"topology": RACK, "size": 3}]
                )
            },
            [finding(kueue.SLICE_DOES_NOT_DIVIDE, f"{LAYERS}[1]", outer=4, size=3)],
            id="inner slices divide the outer ones",
        ),
        pytest.param(
            {
                "podset_slice_required_topology_constraints": json.dumps(
                    [{"topology": RACK, "size": 4}, {"topology": RACK, "size": 2}]
                )
            },
            [finding(kueue.INNER_SLICE_NOT_FINER, f"{LAYERS}[1]", how="the same as", level=RACK, outer=RACK)],
            id="inner slices lie at a finer level",
        ),
        pytest.param(
            {
                "podset_slice_required_topology_constraints": json.dumps([{"topology": RACK, "size": 2}]),
                "podset_slice_required_topology": RACK,
                "podset_slice_size": "2",
            },
            [
                finding(kueue.SLICED_TWICE, LEVEL, other=f"{K}podset-slice-required-topology-constraints"),
                finding(kueue.SLICED_TWICE, SIZE, other=f"{K}podset-slice-required-topology-constraints"),
            ],
            id="the two ways to cut slices exclude each other",
        ),
        pytest.param(
            {"require_topology": RACK, "podset_slice_required_topology": RACK, "podset_slice_size": "2"},
            [
                finding(
                    kueue.SLICES_WITH_EARLY,
                    SIZE,
                    preferred=f"{K}podset-preferred-topology",
                    required=f"{K}podset-required-topology",
                )
            ],
            id="slices need today's words",
        ),
    ],
)
def test_slices_of_a_pod_template(asked: dict[str, Any], want: list[Finding]) -> None:
    assert reported_anywhere(*QUEUES, job(**asked)) == want
