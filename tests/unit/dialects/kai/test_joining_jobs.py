"""Jobs whose pods join a PodGroup."""

from __future__ import annotations

import json
from typing import Any

from closeknit.hub.problems import OneOf
from closeknit.hub.request import PodSet
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import kai
from tests.kit.problems import finding
from tests.unit.dialects.kai.pod_sets import sets
from tests.unit.dialects.kit import pod, pod_group, reported, request


def joining(name: str, count: int, group: str = "g", subgroup: str = "", gpus: int = 8) -> str:
    metadata: dict[str, Any] = {"annotations": {"pod-group-name": group}}
    if subgroup:
        metadata["labels"] = {"kai.scheduler/subgroup-name": subgroup}
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    template = {
        "metadata": metadata,
        "spec": {"schedulerName": "kai-scheduler", "containers": [container]},
    }
    return json.dumps(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "annotations": {"kai.scheduler/skip-podgrouper": "true"}},
            "spec": {"parallelism": count, "completions": count, "template": template},
        }
    )


def test_the_pods_of_a_job_that_joins_a_pod_group_are_its_members() -> None:
    (pods,) = sets(request(pod_group({"minMember": 2}), joining("job", 4))).values()

    assert pods == PodSet(
        "default/1",
        4,
        Resources({"nvidia.com/gpu": 8}),
        minimum=2,
        pods=tuple(f"job-{i}" for i in range(4)),
    )


def test_pods_of_a_joining_job_that_exist_count_once() -> None:
    made = json.loads(pod("job-x", "g", gpus=8))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "1", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]

    (pods,) = sets(request(pod_group({}), joining("job", 3), json.dumps(made))).values()

    assert pods.count == 3
    assert "job-x" in pods.pods


def test_jobs_join_the_subgroups_that_their_templates_name() -> None:
    spec = {"subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 2}]}
    found = sets(
        request(pod_group(spec), joining("x", 1, subgroup="a"), joining("y", 2, subgroup="b", gpus=4))
    )

    assert {name: (pods.count, pods.resources["nvidia.com/gpu"]) for name, pods in found.items()} == {
        "a/1": (1, 8),
        "b/1": (2, 4),
    }


def test_a_job_that_joins_nothing_is_told() -> None:
    assert reported(joining("job", 2)) == [
        finding(kai.NO_SUCH_POD_GROUP, "1:spec", group="g", namespace="default", allowed=OneOf("g", ()))
    ]
