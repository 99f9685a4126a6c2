"""Elastic workloads: a larger slice waits beside an admitted one, whose pods keep their places."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.outcome import Unplaceable
from tests.unit.dialects.kit import reading
from tests.unit.dialects.kueue.kit import (
    QUEUES,
    RACK,
    job,
    node,
    queues,
)
from tests.unit.dialects.kueue.workloads import admission, hosts, pod_set, workload
from tests.unit.dialects.verdicts import decided, places_of

RACKS = (
    node("a1", "b", "r1", 2),
    node("a2", "b", "r1", 2),
    node("b1", "b", "r2", 8),
    node("b2", "b", "r2", 8),
)
OWNER = ("Job", "train")
SMALL = workload(pod_set(2), name="first", owner=OWNER, status=admission(hosts({"a1": 2}), 2))


def larger(name: str = "second", before: str = "default/first", count: int = 4, **more: Any) -> str:
    return workload(pod_set(count), name=name, owner=OWNER, replaces=before, **more)


def kept(*texts: str) -> list[tuple[str, int]]:
    """The places that are held for pods which are not there yet."""
    return [(each.node, each.pods) for each in reading(*texts).cluster.holdings]


def test_the_pods_of_the_admitted_slice_stay_and_the_others_come_near_them() -> None:
    given = (*QUEUES, *RACKS, SMALL, larger(), job(4, podset_required_topology=RACK))

    verdicts = decided(*given)

    assert list(verdicts) == ["train"]
    assert places_of(verdicts["train"]) == ["a2", "a2"]
    assert kept(*given) == [("a1", 2)]
    assert not verdicts["train"].workload.admitted


def test_the_order_in_which_slices_are_listed_does_not_matter() -> None:
    asked = job(4, podset_required_topology=RACK)

    one, other = (
        decided(*QUEUES, *RACKS, *given)["train"].outcome
        for given in ((SMALL, larger(), asked), (asked, larger(), SMALL))
    )

    assert one == other


def test_where_the_larger_slice_has_no_room_near_them_it_is_not_placed() -> None:
    given = (*QUEUES, *RACKS, SMALL, larger(count=6), job(6, podset_required_topology=RACK))

    assert isinstance(decided(*given)["train"].outcome, Unplaceable)


def test_slices_count_once_for_the_quota() -> None:
    queue = queues(quota={"nvidia.com/gpu": 4})

    verdicts = decided(*queue, *RACKS, SMALL, larger(), job(4))

    assert len(places_of(verdicts["train"])) == 2


def test_workloads_whose_job_is_not_in_the_files_are_read_alike() -> None:
    given = (*QUEUES, *RACKS, SMALL, larger())

    assert {name: len(places_of(each)) for name, each in decided(*given).items()} == {"second": 2}
    assert kept(*given) == [("a1", 2)]


def test_a_slice_that_has_taken_its_place_speaks_for_the_job_alone() -> None:
    over = json.loads(SMALL)
    over["status"]["conditions"] = [{"type": "Finished", "status": "True", "reason": "WorkloadSliceReplaced"}]
    took = larger(status=admission(hosts({"a1": 2, "a2": 2}), 4))

    given = (*QUEUES, *RACKS, json.dumps(over), took, job(4, podset_required_topology=RACK))

    assert decided(*given)["train"].workload.admitted
    assert kept(*given) == [("a1", 2), ("a2", 2)]


@pytest.mark.parametrize("before", ["default/second", "default/gone", "other/first", "first"])
def test_no_annotation_ends_in_a_circle_or_a_traceback(before: str) -> None:
    assert len(reading(*QUEUES, *RACKS, SMALL, larger(before=before), job(4)).workloads) == 1


@pytest.mark.parametrize(
    "given",
    [
        pytest.param((larger(before="default/second"),), id="a slice that replaces itself"),
        pytest.param(
            (larger("a", "default/b"), larger("b", "default/a")), id="slices that replace each other"
        ),
    ],
)
@pytest.mark.parametrize("owner", [(), (job(4),)], ids=["without their Job", "with their Job"])
def test_slices_in_a_circle_are_read_like_one_that_replaces_nothing(
    given: tuple[str, ...], owner: tuple[str, ...]
) -> None:
    (verdict,) = decided(*QUEUES, *RACKS, *given, *owner).values()

    assert len(places_of(verdict)) == 4


@pytest.mark.parametrize("names", [("old",), ("main", "old")], ids=["alone", "beside one that it has"])
def test_a_pod_set_that_the_larger_slice_has_no_more_leaves_nothing_behind(names: tuple[str, ...]) -> None:
    held = [admission(hosts({"a1": 1}), 1, name)["admission"]["podSetAssignments"][0] for name in names]
    status = {"admission": {"clusterQueue": "research", "podSetAssignments": held}}
    before = workload(*(pod_set(1, name) for name in names), name="first", owner=OWNER, status=status)

    verdicts = decided(*QUEUES, *RACKS, before, larger())

    assert len(places_of(verdicts["second"])) == 4 - ("main" in names)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param({"one": "one"}, id="one that replaces itself"),
        pytest.param({"one": "two", "two": "one"}, id="two that replace each other"),
    ],
)
def test_workloads_that_replace_each_other_in_a_circle_are_not_lost(names: dict[str, str]) -> None:
    given = [workload(pod_set(1), name=name, replaces=f"default/{other}") for name, other in names.items()]

    assert sorted(decided(*QUEUES, *RACKS, *given)) == sorted(names)
