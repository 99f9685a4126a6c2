"""Queues, and the workloads that name them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import hub, kai
from tests.kit.problems import Finding, finding
from tests.unit.dialects.expected import not_found, wrong_type
from tests.unit.dialects.kai.owned import changed, job
from tests.unit.dialects.kit import pod_group, reported


def queue(name: str, parent: str = "", **resources: Any) -> str:
    spec: dict[str, Any] = {"parentQueue": parent} if parent else {}
    if resources:
        spec["resources"] = resources
    return json.dumps(
        {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
    )


FOREST = (queue("research"), queue("team-a", "research"), queue("team-b", "research"), queue("alone"))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(
            (queue("research"), queue("team-a", "reserch")),
            [not_found("2:spec.parentQueue", "Queue", "reserch", ("research",))],
            id="a parent that does not exist",
        ),
        pytest.param(
            (queue("a", "b"), queue("b", "c"), queue("c", "a"), queue("d", "a")),
            [finding(kai.CIRCLE_OF_QUEUES, "1:spec.parentQueue", circle='"a" > "b" > "c" > "a"')],
            id="queues that are each other's parents, told once",
        ),
        pytest.param(
            (queue("a", "a"),),
            [finding(kai.CIRCLE_OF_QUEUES, "1:spec.parentQueue", circle='"a" > "a"')],
            id="a queue that is its own parent",
        ),
        pytest.param(
            (queue("a", gpu={"quota": -2, "limit": -1, "overQuotaWeight": -0.5}),),
            [
                finding(kai.NEGATIVE_QUOTA, "1:spec.resources.gpu.quota", value=-2, unlimited=-1),
                finding(hub.NEGATIVE, "1:spec.resources.gpu.overQuotaWeight", value=-0.5),
            ],
            id="quotas that mean nothing",
        ),
        pytest.param(
            (queue("a", cpu={"quota": "4"}),),
            [wrong_type("1:spec.resources.cpu.quota", '"4", a string,', "a number")],
            id="a quota that is no number",
        ),
        pytest.param(
            (*FOREST, pod_group({"queue": "team-c"})),
            [not_found("5:spec.queue", "Queue", "team-c", ("alone", "team-a", "team-b"))],
            id="a PodGroup in a queue that does not exist",
        ),
        pytest.param(
            (*FOREST, pod_group({"queue": "research"})),
            [
                finding(
                    kai.QUEUE_WITH_CHILDREN,
                    "5:spec.queue",
                    queue="research",
                    allowed=OneOf("", ("team-a", "team-b")),
                )
            ],
            id="a PodGroup in a queue that has children",
        ),
        pytest.param(
            (*FOREST, pod_group({})),
            [finding(kai.NO_QUEUE_NAMED, "5:spec.queue", allowed=OneOf("", ("alone", "team-a", "team-b")))],
            id="a PodGroup in no queue",
        ),
        pytest.param(
            (*FOREST, job()),
            [
                not_found(
                    '5:metadata.labels["kai.scheduler/queue"]',
                    "Queue",
                    "default-queue",
                    ("alone", "team-a", "team-b"),
                )
            ],
            id="a Job that names none, and so is in one that does not exist",
        ),
        pytest.param(
            (
                *FOREST,
                pod_group({"queue": "team-a"}),
                changed(job(), labels={"kai.scheduler/queue": "alone"}),
            ),
            [],
            id="nothing where all queues are there and have no children",
        ),
        pytest.param((pod_group({"queue": "any"}), job()), [], id="nothing where no queue is given at all"),
    ],
)
def test_what_is_told_of_queues(texts: tuple[str, ...], expected: list[Finding]) -> None:
    assert reported(*texts) == expected


def test_queues_that_only_a_cluster_knows_are_passed_over_when_lenient() -> None:
    assert reported(*FOREST, pod_group({"queue": "team-c"}), lenient=True) == []


def test_a_queue_that_could_not_be_read_exists_all_the_same() -> None:
    broken = json.dumps(json.loads(queue("team-a")) | {"spec": {"parentQueue": 3}})

    assert len(reported(broken, pod_group({"queue": "team-a"}))) == 1
