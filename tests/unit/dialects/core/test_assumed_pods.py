"""What the annotation about pods that are not there cannot be."""

from __future__ import annotations

import pytest

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import core, hub
from tests.kit.problems import Finding, finding
from tests.unit.dialects.kit import pod_group, reported

ANNOTATION = '1:metadata.annotations["closeknit.dev/pod-resources"]'
MOST_CPU = 9_223_372_036


def not_json(value: str) -> Finding:
    return finding(core.NOT_JSON, ANNOTATION, value=value)


@pytest.mark.parametrize(
    ("annotation", "want"),
    [
        pytest.param("nonsense", not_json("nonsense"), id="what is not JSON"),
        pytest.param("[1]", not_json("[1]"), id="what is not a mapping"),
        pytest.param('{"cpu": 1} {}', not_json('{"cpu": 1} {}'), id="two values"),
        pytest.param('{"cpu": 1, "cpu": 2}', not_json('{"cpu": 1, "cpu": 2}'), id="a key that stands twice"),
        pytest.param(
            '{"cpu": []}',
            finding(core.QUANTITY_EXPECTED, f"{ANNOTATION}.cpu", found="a list"),
            id="a list for a quantity",
        ),
        pytest.param(
            '{"cpu": true}',
            finding(core.QUANTITY_EXPECTED, f"{ANNOTATION}.cpu", found="true, a truth value,"),
            id="a truth value for a quantity",
        ),
        pytest.param(
            '{"cpu": "-1"}', finding(hub.NEGATIVE, f"{ANNOTATION}.cpu", value="-1"), id="a negative quantity"
        ),
        pytest.param(
            '{"cpu": "1e30"}',
            finding(hub.TOO_LARGE, f"{ANNOTATION}.cpu", value="1e30", most=MOST_CPU),
            id="a quantity too large to count",
        ),
        pytest.param(
            '{"cpu": "many"}',
            finding(hub.UNKNOWN_SUFFIX, f"{ANNOTATION}.cpu", value="many"),
            id="nonsense for a quantity",
        ),
    ],
)
def test_the_annotation_for_assumed_pods_cannot_be(annotation: str, want: Finding) -> None:
    assert reported(pod_group({}, annotations={"closeknit.dev/pod-resources": annotation})) == [want]


@pytest.mark.parametrize(
    ("annotation", "want"),
    [
        pytest.param(
            '{"prefil": {"cpu": 1}}',
            finding(
                core.UNKNOWN_LEAF,
                f"{ANNOTATION}.prefil",
                leaf="prefil",
                remedy=OneOf("prefil", ("prefill", "router")),
            ),
            id="a leaf that is not there",
        ),
        pytest.param(
            '{"both": {"cpu": 1}}',
            finding(
                core.UNKNOWN_LEAF,
                f"{ANNOTATION}.both",
                leaf="both",
                remedy=OneOf("both", ("prefill", "router")),
            ),
            id="a group that has no pods of its own",
        ),
        pytest.param(
            '{"prefill": {"cpu": 1}, "nvidia.com/gpu": 8}',
            finding(core.NOT_A_LEAF, f'{ANNOTATION}["nvidia.com/gpu"]', found="8, a number,"),
            id="a quantity for all beside one for a leaf",
        ),
        pytest.param(
            '{"prefill": {"cpu": {}}}',
            finding(core.QUANTITY_EXPECTED, f"{ANNOTATION}.prefill.cpu", found="a mapping"),
            id="a mapping for a quantity of a leaf",
        ),
        pytest.param(
            '{"prefill": {"cpu": "-1"}}',
            finding(hub.NEGATIVE, f"{ANNOTATION}.prefill.cpu", value="-1"),
            id="a negative quantity of a leaf",
        ),
    ],
)
def test_the_annotation_for_the_assumed_pods_of_leaves_cannot_be(annotation: str, want: Finding) -> None:
    spec = {
        "subGroups": [
            {"name": "both"},
            {"name": "prefill", "parent": "both", "minMember": 1},
            {"name": "router", "parent": "both", "minMember": 1},
        ]
    }

    assert reported(pod_group(spec, annotations={"closeknit.dev/pod-resources": annotation})) == [want]
