"""Pods that use part of a GPU."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.sentences import kai
from closeknit.hub.workload import InvalidWorkload
from tests.kit.problems import finding, findings
from tests.unit.dialects.kit import node, pod, reading


def shared(name: str, fraction: str = "0.5", node_name: str = "n", **more: Any) -> str:
    made = json.loads(pod(name, gpus=0, nodeName=node_name))
    made["metadata"] |= {"annotations": {"gpu-fraction": fraction}, **more}
    return json.dumps(made)


@pytest.mark.parametrize(
    ("pods", "gpus"),
    [
        pytest.param([shared("a"), shared("b")], 1, id="two halves are one GPU"),
        pytest.param([shared("a"), shared("b", "0.6")], 2, id="what does not fit on one takes two"),
        pytest.param(
            [
                shared("a", labels={"runai-gpu-group": "x"}),
                shared("b", labels={"runai-gpu-group": "y"}),
                shared("c", labels={"runai-gpu-group": "x"}),
            ],
            2,
            id="pods that name their GPU share that one",
        ),
        pytest.param([shared("a", "some")], 1, id="what cannot be read is a whole GPU"),
        pytest.param(
            [shared("a"), shared("r", "1", namespace="kai-resource-reservation")],
            0,
            id="a reservation stands for the GPU itself",
        ),
    ],
)
def test_running_pods_that_share_a_gpu_hold_it(pods: list[str], gpus: int) -> None:
    holdings = reading(node("n"), *pods).cluster.holdings

    assert sum(each.resources.get("nvidia.com/gpu", 0) * each.pods for each in holdings) == gpus


def test_a_pending_part_of_a_gpu_is_valid_and_not_placed() -> None:
    made = json.loads(pod("p", schedulerName="kai-scheduler", gpus=0))
    made["metadata"]["annotations"] = {"gpu-fraction": "0.5"}

    found = reading(node("n"), json.dumps(made))

    assert found.problems == ()
    (workload,) = found.workloads
    assert isinstance(workload, InvalidWorkload)
    assert findings(workload.problems) == [finding(kai.SHARED_GPU, "metadata.annotations.gpu-fraction")]
