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
from closeknit.hub.sentences import kai
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import Finding, finding, findings
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
            [finding(kai.LABELS_CHANGED, "spec.levels", old='"a" > "b"', new='"a" > "c" > "b"')],
            id="the labels of a Topology cannot change",
            marks=pytest.mark.requirement("A54"),
        ),
        pytest.param(
            topology(A, B),
            topology(B, A),
            [finding(kai.LABELS_CHANGED, "spec.levels", old='"a" > "b"', new='"b" > "a"')],
            id="nor can their order",
        ),
        pytest.param(topology(A, B), topology({**A, "alias": "x"}, B), [], id="its aliases can"),
    ],
)
def test_an_update_of_a_topology(old: str, new: str, expected: list[Finding]) -> None:
    after = view(new)
    problems = KAI.update[Topology](stored(view(old), Topology), stored(after, Topology), after)

    assert findings(problems) == expected


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

    assert findings(created.problems) == [
        finding(kai.PARENT_COUNTS_PODS, "1:spec.subGroups[0].minMember", name="a")
    ]
    assert updated.problems == ()
    assert isinstance(updated.workloads[0], PlaceableWorkload)
    assert findings(updated.workloads[0].notes) == [
        finding(kai.PARENT_COUNTED_PODS, "spec.subGroups[0].minMember", name="a")
    ]
    assert isinstance(updated.workloads[0], PlaceableWorkload)


def test_a_pod_group_with_a_uid_exists() -> None:
    assert read([pod_group(1, uid="u")]).problems == ()
