"""The text of the annotation about preferences that Kubernetes' gangs cannot express."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects import Source, translate
from tests.unit.dialects.kit import TOPOLOGY, close, pod_group


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param(
            {"topologyConstraint": close(preferred="topology/rack")},
            "default/g prefers topology/rack",
            id="one preference",
        ),
        pytest.param(
            {
                "topologyConstraint": close(preferred="block"),
                "subGroups": [
                    {"name": "a", "minMember": 1, "topologyConstraint": close(preferred="topology/rack")}
                ],
            },
            "default/g prefers topology/block; a prefers topology/rack",
            id="two preferences",
        ),
    ],
)
def test_left_out(spec: dict[str, Any], text: str) -> None:
    source = Source("f", "\n---\n".join((pod_group(spec), TOPOLOGY)).encode())
    (group,) = (
        written for written in translate([source], "kubernetes").objects if written["kind"] == "PodGroup"
    )

    assert group["metadata"]["annotations"]["closeknit.dev/left-out"] == text
