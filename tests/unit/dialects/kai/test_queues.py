"""Queues, and the workloads that name them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.dialects.kai.owned import changed, job
from tests.unit.dialects.kit import pod_group, problems


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
            [
                '2:spec.parentQueue: There is no Queue "reserch". Did you mean "research"? Allowed: "research".'
            ],
            id="a parent that does not exist",
        ),
        pytest.param(
            (queue("a", "b"), queue("b", "c"), queue("c", "a"), queue("d", "a")),
            [
                '1:spec.parentQueue: These queues are each other\'s parents: "a" > "b" > "c" > "a".'
                " Let one of them have no parent."
            ],
            id="queues that are each other's parents, told once",
        ),
        pytest.param(
            (queue("a", "a"),),
            [
                '1:spec.parentQueue: These queues are each other\'s parents: "a" > "a".'
                " Let one of them have no parent."
            ],
            id="a queue that is its own parent",
        ),
        pytest.param(
            (queue("a", gpu={"quota": -2, "limit": -1, "overQuotaWeight": -0.5}),),
            [
                "1:spec.resources.gpu.quota: -2 is negative. Write zero or more, or -1 for no limit.",
                "1:spec.resources.gpu.overQuotaWeight: -0.5 is negative. Write zero or more.",
            ],
            id="quotas that mean nothing",
        ),
        pytest.param(
            (queue("a", cpu={"quota": "4"}),),
            ['1:spec.resources.cpu.quota: Found "4", a string, where a number is expected.'],
            id="a quota that is no number",
        ),
        pytest.param(
            (*FOREST, pod_group({"queue": "team-c"})),
            [
                '5:spec.queue: There is no Queue "team-c". Did you mean "team-b"?'
                ' Allowed: "alone", "team-a", "team-b".'
            ],
            id="a PodGroup in a queue that does not exist",
        ),
        pytest.param(
            (*FOREST, pod_group({"queue": "research"})),
            [
                '5:spec.queue: Queue "research" has queues below it, and so takes no workloads.'
                ' Allowed: "team-a", "team-b".'
            ],
            id="a PodGroup in a queue that has children",
        ),
        pytest.param(
            (*FOREST, pod_group({})),
            [
                "5:spec.queue: No queue is named, so KAI would pass it over."
                ' Allowed: "alone", "team-a", "team-b".'
            ],
            id="a PodGroup in no queue",
        ),
        pytest.param(
            (*FOREST, job()),
            [
                '5:metadata.labels["kai.scheduler/queue"]: There is no Queue "default-queue".'
                ' Allowed: "alone", "team-a", "team-b".'
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
def test_what_is_told_of_queues(texts: tuple[str, ...], expected: list[str]) -> None:
    assert problems(*texts) == expected


def test_queues_that_only_a_cluster_knows_are_passed_over_when_lenient() -> None:
    assert problems(*FOREST, pod_group({"queue": "team-c"}), lenient=True) == []


def test_a_queue_that_could_not_be_read_exists_all_the_same() -> None:
    broken = json.dumps(json.loads(queue("team-a")) | {"spec": {"parentQueue": 3}})

    assert len(problems(broken, pod_group({"queue": "team-a"}))) == 1
