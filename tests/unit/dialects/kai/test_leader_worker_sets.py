"""PodGroups that KAI makes of LeaderWorkerSets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.dialects.kai.grouped import SEGMENTS_OF_TWO, subgroups, translated
from tests.unit.dialects.kai.owned import (
    RACK,
    SEGMENT,
    leader_worker_set,
    template,
)
from tests.unit.dialects.kit import TOPOLOGY, reading, request


def test_each_group_of_a_leader_worker_set_has_a_pod_group() -> None:
    text = leader_worker_set(2, 3, annotations=RACK)
    made = translated(text)
    groups = [each for each in made if each["kind"] == "PodGroup"]

    assert [each["metadata"]["name"] for each in groups] == ["pg-x-group-0", "pg-x-group-1"]
    assert subgroups(groups[1]) == [("leader", "", 1, None, ""), ("workers", "", 2, None, "")]
    assert groups[1]["spec"]["minMember"] == 3
    names = [each["metadata"]["name"] for each in made if each["kind"] == "Pod"]
    assert names == ["x-0", "x-0-1", "x-0-2", "x-1", "x-1-1", "x-1-2"]
    found = reading(TOPOLOGY, text)
    assert [each.object.name for each in found.workloads] == ["x.group-0", "x.group-1"]


@pytest.mark.parametrize(
    ("size", "policy", "expected"),
    [
        pytest.param(
            5,
            None,
            [
                ("segment-0", "", None, 2, "topology/rack"),
                ("segment-1", "", 2, None, "topology/rack"),
                ("leader", "segment-0", 1, None, ""),
                ("workers", "segment-0", 2, None, ""),
            ],
            id="with the leader as one more pod where workers fill whole segments",
        ),
        pytest.param(
            4,
            None,
            [
                ("segment-0", "", None, 2, "topology/rack"),
                ("segment-1", "", 2, None, "topology/rack"),
                ("leader", "segment-0", 1, None, ""),
                ("workers", "segment-0", 1, None, ""),
            ],
            id="with the leader as a pod of the first where they do not",
        ),
        pytest.param(
            3,
            None,
            [
                ("segment-0", "", None, 2, "topology/rack"),
                ("leader", "segment-0", 1, None, ""),
                ("workers", "segment-0", 2, None, ""),
            ],
            id="with as many workers as there are, where there is one segment only",
        ),
        pytest.param(
            5,
            {"subGroupPolicyType": "LeaderExcluded"},
            [
                ("leader", "", 1, None, ""),
                ("segment-0", "", 2, None, "topology/rack"),
                ("segment-1", "", 2, None, "topology/rack"),
            ],
            id="with the leader apart",
        ),
    ],
)
def test_a_leader_worker_set_is_cut_into_segments(
    size: int, policy: dict[str, Any] | None, expected: list[Any]
) -> None:
    group, *pods = translated(leader_worker_set(1, size, SEGMENTS_OF_TWO, policy=policy))

    assert subgroups(group) == expected
    named = [pod["metadata"]["labels"]["kai.scheduler/subgroup-name"] for pod in pods]
    assert {name: named.count(name) for name in named} == {
        name: least for name, _, least, _, _ in expected if least is not None
    }


def test_the_size_of_segments_is_the_sets_own_before_any_annotation() -> None:
    text = leader_worker_set(1, 9, {**SEGMENTS_OF_TWO, SEGMENT: "2"}, policy={"subGroupSize": 4})

    assert [name for name, *_ in subgroups(translated(text)[0])] == [
        "segment-0",
        "segment-1",
        "leader",
        "workers",
    ]


def test_a_leader_may_have_a_template_of_its_own() -> None:
    text = json.loads(leader_worker_set(1, 3))
    text["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = template(8)

    asked = request(TOPOLOGY, json.dumps(text))
    assert [pods.resources["nvidia.com/gpu"] for pods in asked.root.pod_sets()] == [8, 1]
