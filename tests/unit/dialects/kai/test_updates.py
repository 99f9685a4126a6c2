"""What may not change in KAI's objects once they exist."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.scheduling_run_ai_v2 import Queue
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects import Source, compare, read
from closeknit.dialects.kai import KAI
from tests.unit.dialects.kit import stored, view


def topology(*levels: dict[str, str]) -> str:
    content: dict[str, Any] = {"levels": list(levels)}
    return json.dumps(
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": content,
        }
    )


A, B, C = ({"nodeLabel": label} for label in "abc")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            topology(A, B),
            topology(A, C, B),
            [
                'spec.levels: The labels cannot change from "a" > "b" to "a" > "c" > "b". Aliases can.'
                " Delete the Topology and create it anew."
            ],
            id="the labels of a Topology cannot change",
            marks=pytest.mark.requirement("A54"),
        ),
        pytest.param(
            topology(A, B),
            topology(B, A),
            [
                'spec.levels: The labels cannot change from "a" > "b" to "b" > "a". Aliases can.'
                " Delete the Topology and create it anew."
            ],
            id="nor can their order",
        ),
        pytest.param(topology(A, B), topology({**A, "alias": "x"}, B), [], id="its aliases can"),
    ],
)
def test_an_update_of_a_topology(old: str, new: str, expected: list[str]) -> None:
    after = view(new)
    found = KAI.update[Topology](stored(view(old), Topology), stored(after, Topology), after)

    assert [str(problem) for problem in found] == expected


@pytest.mark.parametrize(
    "shape", [pytest.param(PodGroup, id="a PodGroup"), pytest.param(Queue, id="a Queue")]
)
def test_everything_may_change_in(shape: type[Any]) -> None:
    assert shape not in KAI.update


def pod_group(minimum: int, **metadata: str) -> Source:
    subgroups = [{"name": "a", "minMember": minimum}, {"name": "b", "parent": "a", "minMember": 1}]
    content = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", **metadata},
        "spec": {"subGroups": subgroups},
    }
    return Source("g.json", json.dumps(content).encode())


def test_a_subgroup_that_counts_pods_and_has_children_is_refused_in_a_new_pod_group_only() -> None:
    old, new = pod_group(1), pod_group(2)
    created = read([new])
    updated = read([new], existing=compare([old], [new]).shared)

    assert [str(each) for each in created.problems] == [
        'g.json:1:spec.subGroups[0].minMember: "a" has subgroups, and so no pods of its own. Use minSubGroup.'
    ]
    assert (updated.problems, updated.workloads[0].problems) == ((), ())
    assert [str(note) for note in updated.workloads[0].notes] == [
        'spec.subGroups[0].minMember: "a" has subgroups, and so no pods of its own: KAI passes over its'
        " minMember. Use minSubGroup."
    ]
    assert updated.workloads[0].request is not None


def test_a_pod_group_with_a_uid_exists() -> None:
    assert read([pod_group(1, uid="u")]).problems == ()
