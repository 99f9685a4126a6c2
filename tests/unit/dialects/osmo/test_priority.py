"""The priority that whoever submits a workflow chose."""

from __future__ import annotations

import json

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import osmo
from tests.kit.problems import finding
from tests.unit.dialects.kit import reading, reported
from tests.unit.dialects.osmo.kit import objects
from tests.unit.dialects.osmo.written import carried


def test_an_object_may_be_labelled_with_the_priority_that_whoever_submits_it_chose() -> None:
    made = objects(carried("HIGH"), carried("low", "v"))
    classes = [one for one in made if one["kind"] == "PriorityClass"]

    assert [(one["metadata"]["name"], one["value"]) for one in classes] == [
        ("osmo-high", 125),
        ("osmo-low", 50),
    ]
    assert [one["spec"]["priorityClassName"] for one in made if one["kind"] == "PodGroup"] == [
        "osmo-high",
        "osmo-low",
    ]
    assert [one["metadata"]["labels"]["osmo.priority"] for one in made if one["kind"] == "Pod"] == [
        "high",
        "low",
    ]


def test_the_urgent_workflow_goes_first_whether_read_itself_or_as_what_it_becomes() -> None:
    texts = carried("low", "a"), carried("normal", "b"), carried("high", "c")
    itself = reading(*texts).workloads
    again = reading(*(json.dumps(one) for one in objects(*texts))).workloads

    assert [workload.object.name for workload in itself] == ["c", "b", "a"]
    assert (
        [workload.priority for workload in itself]
        == [workload.priority for workload in again]
        == [125, 100, 50]
    )


def test_a_priority_class_that_is_there_is_not_written_a_second_time() -> None:
    there = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "osmo-high"},
        "value": 7,
    }
    texts = carried("high"), json.dumps(there)

    assert [one["kind"] for one in objects(*texts)] == ["PodGroup", "Pod"]
    assert [workload.priority for workload in reading(*texts).workloads] == [7]


def test_a_priority_that_does_not_exist_is_refused() -> None:
    assert reported(carried("hihg")) == [
        finding(
            osmo.UNKNOWN_PRIORITY,
            '1:metadata.labels["osmo.priority"]',
            value="hihg",
            remedy=OneOf.among("hihg", ["high", "low", "normal"]),
        )
    ]
