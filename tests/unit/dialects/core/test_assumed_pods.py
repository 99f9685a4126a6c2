"""What the annotation about pods that are not there cannot be."""

from __future__ import annotations

import pytest

from tests.unit.dialects.kit import pod_group, problems


@pytest.mark.parametrize(
    ("annotation", "want"),
    [
        pytest.param("nonsense", '"nonsense" is not a JSON object.', id="what is not JSON"),
        pytest.param("[1]", '"[1]" is not a JSON object.', id="what is not a mapping"),
        pytest.param('{"cpu": 1} {}', '"{"cpu": 1} {}" is not a JSON object.', id="two values"),
        pytest.param('{"cpu": 1, "cpu": 2}', "is not a JSON object.", id="a key that stands twice"),
        pytest.param('{"cpu": []}', "Found a list where a quantity is expected.", id="a list for a quantity"),
        pytest.param('{"cpu": true}', "Found true, a truth value, where", id="a truth value for a quantity"),
        pytest.param('{"cpu": "-1"}', '"-1" is negative. Write zero or more.', id="a negative quantity"),
        pytest.param('{"cpu": "1e30"}', '"1e30" is too large.', id="a quantity too large to count"),
        pytest.param('{"cpu": "many"}', '"many" is not a quantity.', id="nonsense for a quantity"),
    ],
)
def test_the_annotation_for_assumed_pods_cannot_be(annotation: str, want: str) -> None:
    (found,) = problems(pod_group({}, annotations={"closeknit.dev/pod-resources": annotation}))

    assert found.startswith('1:metadata.annotations["closeknit.dev/pod-resources"]')
    assert want.replace('"', "") in found.replace('"', "")


_TOLD = 'metadata.annotations["closeknit.dev/pod-resources"]'


@pytest.mark.parametrize(
    ("annotation", "want"),
    [
        pytest.param(
            '{"prefil": {"cpu": 1}}',
            f'1:{_TOLD}.prefil: No leaf that has pods is called "prefil". Did you mean "prefill"?'
            ' Allowed: "prefill", "router".',
            id="a leaf that is not there",
        ),
        pytest.param(
            '{"both": {"cpu": 1}}',
            f'1:{_TOLD}.both: No leaf that has pods is called "both". Allowed: "prefill", "router".',
            id="a group that has no pods of its own",
        ),
        pytest.param(
            '{"prefill": {"cpu": 1}, "nvidia.com/gpu": 8}',
            f'1:{_TOLD}["nvidia.com/gpu"]: Found 8, a number, beside what single leaves ask for. Write'
            ' quantities for each, such as {"workers": {"nvidia.com/gpu": "8"}, "router": {"cpu": "4"}}.',
            id="a quantity for all beside one for a leaf",
        ),
        pytest.param(
            '{"prefill": {"cpu": {}}}',
            f"1:{_TOLD}.prefill.cpu: Found a mapping where a quantity is expected. Write quantities by"
            ' resource, such as {"nvidia.com/gpu": "8"}.',
            id="a mapping for a quantity of a leaf",
        ),
        pytest.param(
            '{"prefill": {"cpu": "-1"}}',
            f'1:{_TOLD}.prefill.cpu: "-1" is negative. Write zero or more.',
            id="a negative quantity of a leaf",
        ),
    ],
)
def test_the_annotation_for_the_assumed_pods_of_leaves_cannot_be(annotation: str, want: str) -> None:
    spec = {
        "subGroups": [
            {"name": "both"},
            {"name": "prefill", "parent": "both", "minMember": 1},
            {"name": "router", "parent": "both", "minMember": 1},
        ]
    }

    assert problems(pod_group(spec, annotations={"closeknit.dev/pod-resources": annotation})) == [want]
