"""Groups of plain pods, all or some of which are there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.request import Group, Request
from closeknit.hub.sentences import kueue, wire
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import finding
from tests.unit.dialects.kit import reading, reported
from tests.unit.dialects.kueue.kit import QUEUES, RACK, node, nominated, queued_pod, view_of
from tests.unit.dialects.kueue.problems import OWN, annotation, label

HOST = node("n1", "b", "r")


def pod(name: str, total: int = 3, *, on: str = "", phase: str = "", **asked: Any) -> str:
    """A pod of group ``g``."""
    made: dict[str, Any] = json.loads(queued_pod(name, "g", total, **asked))
    if on:
        made["spec"]["nodeName"] = on
    if phase:
        made["status"] = {"phase": phase}
    return json.dumps(made)


def request(*texts: str) -> Request:
    read = reading(*QUEUES, HOST, *texts)
    assert [str(problem) for problem in read.problems] == []
    (workload,) = read.workloads
    assert isinstance(workload, PlaceableWorkload)
    return workload.request


def counted(*texts: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each pod set, the nodes of pods that run and the names of those to place."""
    return [(pods.bound, pods.pods) for pods in request(*texts).root.pod_sets()]


def test_a_group_that_is_admitted_fast_need_not_be_complete() -> None:
    first = pod("g-1", pod_group_fast_admission="true", podset_required_topology=RACK)

    assert counted(first) == [((), ("g-1", "g-0", "g-2"))]
    assert isinstance(root := request(first).root, Group)
    assert root.required == RACK


def test_a_group_of_which_some_runs_waits_for_the_rest() -> None:
    assert counted(pod("g-0", on="n1"), pod("g-1", on="n1", phase="Failed")) == [(("n1",), ("g-2", "g-3"))]


def test_what_has_done_its_work_needs_no_place() -> None:
    assert counted(pod("g-0", phase="Succeeded"), pod("g-1", on="n1"), pod("g-2")) == [(("n1",), ("g-2",))]


def test_a_pod_that_has_failed_and_is_not_made_again_needs_no_place() -> None:
    lost = pod("g-0", phase="Failed", retriable_in_group="false")

    assert counted(lost, pod("g-1", on="n1"), pod("g-2")) == [(("n1",), ("g-2",))]


def test_pods_that_are_not_there_are_like_the_first() -> None:
    first = pod("g-0", pod_group_fast_admission="true")
    other = json.loads(pod("g-1", pod_group_fast_admission="true"))
    other["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = 2

    assert counted(first, json.dumps(other)) == [((), ("g-0", "g-2")), ((), ("g-1",))]


def test_a_group_whose_last_pod_failed_is_placed_again() -> None:
    done = pod("g-0", 2, phase="Succeeded")

    assert counted(done, pod("g-1", 2, phase="Failed")) == [((), ("g-2",))]


def test_a_group_that_has_done_its_work_queues_for_nothing() -> None:
    assert reading(*QUEUES, HOST, *(pod(f"g-{i}", phase="Succeeded") for i in range(3))).workloads == ()


@pytest.mark.parametrize("fast", ["false", None])
def test_otherwise_a_group_is_complete(fast: str | None) -> None:
    asked: dict[str, Any] = {"pod_group_fast_admission": fast} if fast else {}

    assert reported(*QUEUES, pod("g-0", **asked)) == [
        finding(
            kueue.GROUP_INCOMPLETE,
            f"5:{annotation(OWN, 'pod-group-total-count')}",
            total="3 pods",
            present="1 is",
            what="Give the rest",
        )
    ]


@pytest.mark.parametrize("group", ["a/b", "A", "a-"])
def test_the_name_of_a_group_is_one_that_its_workload_can_have(group: str) -> None:
    assert reported(*QUEUES, queued_pod("p", group, 1)) == [
        finding(wire.INVALID_NAME, f"5:{label('pod-group-name')}", name=group)
    ]


def test_pods_are_ranked_by_the_number_that_they_carry() -> None:
    numbers = {"a": 2, "b": 10, "c": 1}
    texts = [queued_pod(name, "g", 3, pod_group_pod_index=str(number)) for name, number in numbers.items()]
    (found,) = nominated(view_of(*QUEUES, *texts))

    (pod_set,) = found.queued.pod_sets
    assert [slot.name for slot in pod_set.slots] == ["c", "a", "b"]
    assert pod_set.index_label == "kueue.x-k8s.io/pod-group-pod-index"
