"""What Kubernetes reserves for a pod."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.resources import Resources
from tests.unit.dialects.core.read_pods import GPU, container, read


def sidecar(**requests: Any) -> dict[str, Any]:
    return container(requests, restartPolicy="Always")


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"containers": [container({GPU: 2, "cpu": "500m"}), container({"cpu": 1, "memory": "1Gi"})]},
            {GPU: 2, "cpu": 1_500_000_000, "memory": 2**30},
            id="containers run side by side, so they add up",
        ),
        pytest.param(
            {"containers": [container({"cpu": 1}, {"cpu": 8, GPU: "4"})]},
            {"cpu": 10**9, GPU: 4},
            id="a limit stands in where there is no request for that resource",
        ),
        pytest.param(
            {"containers": [container({GPU: 0}, {GPU: 4})]}, {}, id="a request of zero is a request"
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": 0}}, "containers": [container({"cpu": 2})]},
            {"cpu": 2 * 10**9},
            id="zero for the pod as a whole stands in for nothing",
        ),
        pytest.param(
            {
                "containers": [container({GPU: 2})],
                "initContainers": [container({GPU: 3}), container({GPU: 1, "cpu": 1})],
            },
            {GPU: 3, "cpu": 10**9},
            id="init containers run one after the other, so the largest counts",
        ),
        pytest.param(
            {
                "containers": [container({GPU: 2})],
                "initContainers": [sidecar(cpu=1), container({GPU: 1, "cpu": 2})],
            },
            {GPU: 2, "cpu": 3 * 10**9},
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            {
                "containers": [container({"cpu": 2})],
                "initContainers": [container({"cpu": 4}), sidecar(cpu=1)],
            },
            {"cpu": 4 * 10**9},
            id="an init container does not run beside the sidecars after it",
        ),
        pytest.param(
            {"containers": [container({"cpu": 2})], "initContainers": [sidecar(cpu=1), sidecar(cpu=1)]},
            {"cpu": 4 * 10**9},
            id="sidecars run beside the containers",
        ),
        pytest.param(
            {"containers": [container({"cpu": 2})], "overhead": {"cpu": "250m", "memory": 5}},
            {"cpu": 2_250_000_000, "memory": 5},
            id="the overhead comes on top",
        ),
        pytest.param(
            {
                "containers": [container({"cpu": 2, GPU: 1})],
                "resources": {"requests": {"cpu": 3}},
                "overhead": {"cpu": 1},
            },
            {"cpu": 4 * 10**9, GPU: 1},
            id="what the pod asks for as a whole replaces the sum",
        ),
        pytest.param(
            {"containers": [container({"cpu": 2})], "resources": {"limits": {"cpu": 3, "memory": 7}}},
            {"cpu": 2 * 10**9, "memory": 7},
            id="a limit of the pod as a whole stands in only where nothing is asked",
        ),
        pytest.param(
            {"containers": [container({"cpu": "0.1", "memory": "0.5", GPU: 1.0})]},
            {"cpu": 10**8, "memory": 1, GPU: 1},
            id="fractions are exact, and part of a unit needs a whole one",
        ),
        pytest.param({}, {}, id="a pod may ask for nothing"),
    ],
)
def test_resources(spec: dict[str, Any], want: dict[str, int]) -> None:
    found = read(spec)

    assert found.shape.resources == Resources(want)
    assert found.problems == ()
