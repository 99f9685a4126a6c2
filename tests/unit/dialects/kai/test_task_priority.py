"""The label by which the pods of a PodGroup are put into order, and PodGroups that share a cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.engine import Engine
from closeknit.hub.outcome import Placed
from closeknit.hub.sentences import kai
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.planning import plan
from tests.kit.problems import finding, findings
from tests.unit.dialects.kit import node, pod, pod_group, reading


def labelled(name: str, group: str, priority: str | None) -> str:
    made: Any = json.loads(pod(name, group))
    if priority is not None:
        made["metadata"]["labels"]["kai.scheduler/task-priority"] = priority
    return json.dumps(made)


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        pytest.param({"a": None, "b": None}, ["a", "b"], id="without the label by name"),
        pytest.param({"a": "1", "b": "2"}, ["b", "a"], id="the largest number first"),
        pytest.param({"a": "-1", "b": "10", "c": "9"}, ["b", "c", "a"], id="numbers are compared as numbers"),
        pytest.param({"a": None, "b": "-5"}, ["b", "a"], id="any number before none"),
        pytest.param(
            {"a": "high", "b": "1", "c": None},
            ["b", "a", "c"],
            id="what is no number comes after all numbers",
        ),
    ],
)
def test_the_order_of_the_pods_of_a_leaf(labels: dict[str, str | None], order: list[str]) -> None:
    read = reading(
        pod_group({"minMember": 1}), *(labelled(name, "g", value) for name, value in labels.items())
    )
    (workload,) = read.workloads
    assert isinstance(workload, PlaceableWorkload)
    (pods,) = workload.request.root.pod_sets()
    assert list(pods.pods) == order


def test_a_task_priority_that_is_no_number_is_noted_and_no_reason_to_refuse() -> None:
    (workload,) = reading(pod_group({"minMember": 1}), labelled("a", "g", "high")).workloads
    assert isinstance(workload, PlaceableWorkload)
    assert findings(workload.notes) == [
        finding(
            kai.NOT_A_TASK_PRIORITY, 'Pod a: metadata.labels["kai.scheduler/task-priority"]', value="high"
        )
    ]


def test_two_pod_groups_that_can_grow_share_a_cluster_as_in_kai() -> None:
    groups = [pod_group({"minMember": 1}, name) for name in ("first", "second")]
    pods = [labelled(f"{group}-{i}", group, str(i)) for group in ("first", "second") for i in range(4)]
    read = reading(node("x", **{"nvidia.com/gpu": "4"}), *groups, *pods)
    placed = [
        [each.pod for each in verdict.outcome.assignments]
        for verdict in plan(Engine(read.cluster), read.cluster, read.workloads)
        if isinstance(verdict.outcome, Placed)
    ]
    assert placed == [["first-3", "first-2"], ["second-3", "second-2"]]
