"""PodGroups that KAI makes of PyTorchJobs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.dialects.kai.grouped import subgroups, translated
from tests.unit.dialects.kai.owned import (
    SEGMENT,
    SEGMENT_REQUIRED,
    ZONE,
    pytorch_job,
)


def test_a_pytorch_job_has_master_and_worker() -> None:
    group, *pods = translated(pytorch_job(1, 3, annotations=ZONE))

    assert subgroups(group) == [("master", "", 1, None, ""), ("worker", "", 3, None, "")]
    assert (group["spec"]["minMember"], group["spec"]["topologyConstraint"]["requiredTopologyLevel"]) == (
        4,
        "topology/zone",
    )
    assert [pod["metadata"]["name"] for pod in pods] == [
        "x-master-0",
        "x-worker-0",
        "x-worker-1",
        "x-worker-2",
    ]


def test_the_workers_of_a_pytorch_job_are_cut_into_segments() -> None:
    """As in KAI's guide: the topology is named once, by the job or by the template."""
    worker = {SEGMENT: "4", SEGMENT_REQUIRED: "topology/rack"}
    group, *pods = translated(pytorch_job(1, 10, worker, ZONE))

    assert subgroups(group) == [
        ("master", "", 1, None, ""),
        ("worker", "", None, 3, ""),
        ("worker-0", "worker", 4, None, "topology/rack"),
        ("worker-1", "worker", 4, None, "topology/rack"),
        ("worker-2", "worker", 2, None, "topology/rack"),
    ]
    last = pods[-1]["metadata"]["labels"]
    assert (last["training.kubeflow.org/replica-index"], last["kai.scheduler/subgroup-name"]) == (
        "9",
        "worker-2",
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [4, 4, 2], id="all of them where nothing is said"),
        pytest.param(
            {"elasticPolicy": {"minReplicas": 6}}, [4, 4, 0], id="those that hold the pods that are needed"
        ),
        pytest.param(
            {
                "elasticPolicy": {"minReplicas": 11},
                "runPolicy": {"schedulingPolicy": {"minAvailable": 2}},
            },
            [4, 0, 0],
            id="minAvailable before minReplicas",
        ),
        pytest.param({"elasticPolicy": {"minReplicas": 0}}, [0, 0, 0], id="none"),
    ],
)
def test_the_segments_that_must_run_are(spec: dict[str, Any], expected: list[int]) -> None:
    group = translated(pytorch_job(1, 10, {SEGMENT: "4"}, **spec))[0]

    assert [least for name, _, least, _, _ in subgroups(group) if name.startswith("worker-")] == expected


def test_the_master_counts_towards_what_a_pytorch_job_needs() -> None:
    group = translated(pytorch_job(1, 4, elasticPolicy={"minReplicas": 3}))[0]

    assert subgroups(group) == [("master", "", 1, None, ""), ("worker", "", 2, None, "")]
