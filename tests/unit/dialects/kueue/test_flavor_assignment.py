"""Quota first: which flavor a workload is tried on, and what is said where none has quota."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.engine import Engine
from closeknit.hub.outcome import Holder, Placed, Unplaceable
from closeknit.hub.quota import LEVEL
from closeknit.scheduler import wording
from closeknit.scheduler.planning import Verdict, plan
from tests.unit.dialects.kit import reading
from tests.unit.dialects.kueue.kit import (
    QUEUES,
    RACK,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    node,
    replicated,
    topology,
    written,
)

NODES = (node("n1", "b", "r1"), node("n2", "b", "r2"), node("s1", "b", "r3", pool="spot"))
TWO = (topology(), flavor(), flavor("spot"), cluster_queue("research", "tas", "spot"), local_queue())


def decided(*texts: str) -> dict[str, Verdict]:
    """What becomes of each workload, by its name."""
    read = reading(*texts)
    assert [str(problem) for problem in read.problems] == []
    verdicts = plan(Engine(read.cluster), read.cluster, read.workloads)
    return {verdict.workload.object.name: verdict for verdict in verdicts}


def nodes_of(verdict: Verdict) -> set[str]:
    assert isinstance(verdict.outcome, Placed)
    return {assignment.node for assignment in verdict.outcome.assignments}


def at(quota: int, **spec: Any) -> str:
    return cluster_queue(quota={"nvidia.com/gpu": quota}, **spec)


def test_a_workload_larger_than_its_quota_waits_although_there_is_room() -> None:
    verdict = decided(topology(), flavor(), at(4), local_queue(), *NODES, job(8))["train"]

    assert isinstance(verdict.outcome, Unplaceable)
    (shortfall,) = verdict.outcome.shortfalls
    assert (shortfall.level, shortfall.wanted, shortfall.fits) == (LEVEL, 8, 4)
    (account,) = shortfall.best
    assert account.domain == ("ClusterQueue research", "flavor tas")
    assert account.limiting == "nvidia.com/gpu"


def test_what_was_admitted_before_is_counted_and_named() -> None:
    verdicts = decided(
        topology(),
        flavor(),
        at(10),
        local_queue(),
        *NODES,
        job(6, name="a"),
        job(6, name="b"),
        job(4, name="c"),
    )

    assert isinstance(verdicts["a"].outcome, Placed)
    refused = verdicts["b"].outcome
    assert isinstance(refused, Unplaceable)
    assert refused.shortfalls[0].best[0].holders == (Holder("default/a", 6, 6),)
    assert isinstance(verdicts["c"].outcome, Placed)


def test_a_workload_that_finds_no_room_is_not_charged() -> None:
    verdicts = decided(
        topology(), flavor(), at(16), local_queue(), *NODES,
        job(12, name="a", podset_required_topology=RACK), job(16, name="b"),
    )  # fmt: skip

    assert isinstance(verdicts["a"].outcome, Unplaceable)
    assert verdicts["a"].outcome.shortfalls[0].level == RACK
    assert isinstance(verdicts["b"].outcome, Placed)


def test_flavors_are_tried_in_order() -> None:
    assert nodes_of(decided(*TWO, *NODES, job(2))["train"]) == {"n1"}


def test_the_next_flavor_is_tried_where_the_first_has_no_room() -> None:
    """Kueue stays with the flavor that has quota, and the workload pends for ever."""
    verdicts = decided(*TWO, *NODES, job(16, name="a"), job(8, name="b", podset_required_topology=RACK))

    assert nodes_of(verdicts["a"]) == {"n1", "n2"}
    assert nodes_of(verdicts["b"]) == {"s1"}


def test_the_next_flavor_is_tried_where_the_first_has_no_quota() -> None:
    queue = written(
        "ClusterQueue",
        "research",
        {
            "resourceGroups": [
                {
                    "coveredResources": ["nvidia.com/gpu"],
                    "flavors": [
                        {"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": amount}]}
                        for name, amount in (("tas", 4), ("spot", 8))
                    ],
                }
            ]
        },
    )
    texts = (topology(), flavor(), flavor("spot"), queue, local_queue(), *NODES)

    assert nodes_of(decided(*texts, job(8))["train"]) == {"s1"}
    verdict = decided(*texts, job(9))["train"]
    assert isinstance(verdict.outcome, Unplaceable)
    (shortfall,) = verdict.outcome.shortfalls
    assert [fit.domain[1] for fit in shortfall.best] == ["flavor spot", "flavor tas"]


def test_a_node_selector_chooses_the_flavor() -> None:
    assert nodes_of(decided(*TWO, *NODES, job(2, pod={"nodeSelector": {"pool": "spot"}}))["train"]) == {"s1"}


def test_pod_sets_may_use_different_flavors() -> None:
    text = job_set(replicated("a", 1, 2), replicated("b", 1, 2, pod={"nodeSelector": {"pool": "spot"}}))

    assert nodes_of(decided(*TWO, *NODES, text)["set"]) == {"n1", "s1"}


def test_queues_of_a_cohort_borrow_what_others_do_not_use() -> None:
    texts = (
        topology(), flavor(), at(6, cohortName="all"), local_queue(),
        cluster_queue("other", quota={"nvidia.com/gpu": 6}, cohort="all"), local_queue("guests", "other"), *NODES,
    )  # fmt: skip

    verdicts = decided(*texts, job(10, name="a"), job(8, name="b", queue="guests"), job(2, name="c"))
    assert isinstance(verdicts["a"].outcome, Placed)
    refused = verdicts["b"].outcome
    assert isinstance(refused, Unplaceable)
    assert refused.shortfalls[0].best[0].domain == ("cohort all", "flavor tas")
    assert isinstance(verdicts["c"].outcome, Placed)


@pytest.mark.parametrize(
    ("count", "fits"),
    [
        pytest.param(8, True, id="a queue borrows up to its limit"),
        pytest.param(9, False, id="a queue borrows no more than its limit"),
    ],
)
def test_borrowing_has_a_limit(count: int, fits: bool) -> None:
    quota = {"name": "nvidia.com/gpu", "nominalQuota": 6, "borrowingLimit": 2}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "tas", "resources": [quota]}]}
    own = written("ClusterQueue", "research", {"cohortName": "all", "resourceGroups": [group]})
    other = cluster_queue("other", quota={"nvidia.com/gpu": 6}, cohortName="all")
    verdict = decided(topology(), flavor(), own, other, local_queue(), *NODES, job(count))["train"]

    assert isinstance(verdict.outcome, Placed) is fits


def test_what_others_do_not_lend_cannot_be_borrowed() -> None:
    quota = {"name": "nvidia.com/gpu", "nominalQuota": 6, "lendingLimit": 1}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "tas", "resources": [quota]}]}
    other = written("ClusterQueue", "other", {"cohortName": "all", "resourceGroups": [group]})
    own = cluster_queue(quota={"nvidia.com/gpu": 6}, cohortName="all")
    texts = (topology(), flavor(), own, other, local_queue(), *NODES)

    assert isinstance(decided(*texts, job(7))["train"].outcome, Placed)
    assert isinstance(decided(*texts, job(8))["train"].outcome, Unplaceable)


def test_a_cohort_may_have_quota_of_its_own_and_lie_in_another() -> None:
    quota = {"name": "nvidia.com/gpu", "nominalQuota": 4}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "tas", "resources": [quota]}]}
    texts = (
        topology(), flavor(), at(6, cohortName="inner"), local_queue(), *NODES,
        written("Cohort", "inner", {"parentName": "outer"}), written("Cohort", "outer", {"resourceGroups": [group]}),
    )  # fmt: skip

    assert isinstance(decided(*texts, job(10))["train"].outcome, Placed)
    assert isinstance(decided(*texts, job(11))["train"].outcome, Unplaceable)


def test_running_pods_have_their_quota_before_those_that_wait() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "b", "controller": True}
    running = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "b-0", "ownerReferences": [owner]},
            "spec": {
                "nodeName": "n1",
                "containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}],
            },
        }
    )
    texts = (topology(), flavor(), at(6), local_queue(), *NODES)
    verdicts = decided(*texts, running, job(5, name="a"), job(2, name="b"))

    assert isinstance(verdicts["a"].outcome, Unplaceable)
    assert isinstance(verdicts["b"].outcome, Placed)


def test_pods_can_be_quota_too() -> None:
    queue = cluster_queue(quota={"nvidia.com/gpu": 64, "pods": 3})

    texts = (topology(), flavor(), queue, local_queue(), *NODES)
    assert isinstance(decided(*texts, job(3))["train"].outcome, Placed)
    assert isinstance(decided(*texts, job(4))["train"].outcome, Unplaceable)


@pytest.mark.requirement("K30")
def test_nodes_without_all_labels_of_the_topology_are_not_used() -> None:
    bare = json.loads(node("n9", "b", "r9"))
    del bare["metadata"]["labels"]["example.com/rack"]

    verdict = decided(*QUEUES, json.dumps(bare), job(1))["train"]
    assert isinstance(verdict.outcome, Unplaceable)


def test_all_pod_sets_of_a_workload_are_charged_to_their_flavor() -> None:
    texts = (topology(), flavor(), at(6), local_queue(), *NODES)

    fits = decided(*texts, job_set(replicated("a", 1, 3), replicated("b", 1, 3, gpus=1)))
    too_much = decided(*texts, job_set(replicated("a", 1, 3), replicated("b", 2, 2)))
    assert isinstance(fits["set"].outcome, Placed)
    assert isinstance(too_much["set"].outcome, Unplaceable)


def test_what_runs_on_one_flavor_is_not_moved_to_another() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    container = {"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    running = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "train-0-x", "ownerReferences": [owner]},
            "spec": {"nodeName": "s1", "containers": [container]},
        }
    )

    assert nodes_of(decided(*TWO, *NODES, running, job(2))["train"]) == {"s1"}


def offered(**amounts: int) -> dict[str, Any]:
    """A group of resources with quota for GPUs of one flavor."""
    quota = {"name": "nvidia.com/gpu", **amounts}
    return {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "tas", "resources": [quota]}]}


def placed_pods(verdict: Verdict) -> int:
    return len(verdict.outcome.assignments) if isinstance(verdict.outcome, Placed) else 0


@pytest.mark.parametrize(
    ("quota", "least", "pods"),
    [
        pytest.param(16, "2", 8, id="all pods where there is quota for all"),
        pytest.param(5, "2", 5, id="as many as there is quota for"),
        pytest.param(2, "2", 2, id="the least"),
        pytest.param(1, "2", 0, id="none where there is quota for fewer than the least"),
    ],
)
def test_part_of_a_job_is_admitted_where_quota_is_short(quota: int, least: str, pods: int) -> None:
    part = job(8, own={"job-min-parallelism": least})
    verdict = decided(topology(), flavor(), at(quota), local_queue(), *NODES, part)["train"]

    assert placed_pods(verdict) == pods
    if isinstance(verdict.outcome, Unplaceable):
        (shortfall,) = verdict.outcome.shortfalls
        assert (shortfall.level, shortfall.wanted, shortfall.fits) == (LEVEL, 2, 1)


def test_pods_that_quota_leaves_out_are_counted() -> None:
    part = job(8, own={"job-min-parallelism": "2"})
    outcome = decided(topology(), flavor(), at(5), local_queue(), *NODES, part)["train"].outcome

    assert isinstance(outcome, Placed)
    assert outcome.wishes.left_out == 3


@pytest.mark.parametrize(
    ("quota", "told"),
    [
        pytest.param(5, "default/train needs quota for 8 pods; there is quota for 5.", id="some is left"),
        pytest.param(0, "default/train needs quota for 8 pods; there is none left.", id="none is left"),
    ],
)
def test_lack_of_quota_is_told_as_such(quota: int, told: str) -> None:
    outcome = decided(topology(), flavor(), at(quota), local_queue(), *NODES, job(8))["train"].outcome

    assert isinstance(outcome, Unplaceable)
    assert wording.need(outcome.shortfalls[0]) == told


def test_part_of_a_job_is_admitted_where_room_is_short_and_only_that_is_charged() -> None:
    texts = (topology(), flavor(), at(16), local_queue(), *NODES)
    first = job(12, name="a", own={"job-min-parallelism": "4"}, podset_required_topology=RACK)
    verdicts = decided(*texts, first, job(8, name="b"), job(1, name="c"))

    assert placed_pods(verdicts["a"]) == 8
    assert placed_pods(verdicts["b"]) == 8
    assert isinstance(verdicts["c"].outcome, Unplaceable)
    assert verdicts["c"].outcome.shortfalls[0].level == LEVEL


def test_a_job_in_slices_is_admitted_with_whole_slices() -> None:
    part = job(
        8,
        own={"job-min-parallelism": "3"},
        podset_slice_required_topology=RACK,
        podset_slice_size="2",
    )

    assert placed_pods(decided(topology(), flavor(), at(7), local_queue(), *NODES, part)["train"]) == 6
    verdict = decided(topology(), flavor(), at(3), local_queue(), *NODES, part)["train"]
    assert isinstance(verdict.outcome, Unplaceable)


def test_the_next_flavor_is_tried_for_all_pods_before_part_of_them_is_admitted() -> None:
    groups = [
        {
            "coveredResources": ["nvidia.com/gpu"],
            "flavors": [
                {"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": amount}]}
                for name, amount in (("tas", 4), ("spot", 6))
            ],
        }
    ]
    queue = written("ClusterQueue", "research", {"resourceGroups": groups})
    texts = (topology(), flavor(), flavor("spot"), queue, local_queue(), *NODES)

    whole = decided(*texts, job(6, own={"job-min-parallelism": "1"}))["train"]
    assert (nodes_of(whole), placed_pods(whole)) == ({"s1"}, 6)
    part = decided(*texts, job(8, own={"job-min-parallelism": "1"}))["train"]
    assert (nodes_of(part), placed_pods(part)) == ({"s1"}, 6)


def test_what_a_queue_uses_of_what_it_does_not_lend_is_nobody_elses_loss() -> None:
    other = written(
        "ClusterQueue",
        "other",
        {"cohortName": "all", "resourceGroups": [offered(nominalQuota=6, lendingLimit=1)]},
    )
    texts = (
        topology(), flavor(), at(6, cohortName="all"), other, local_queue(), local_queue("guests", "other"), *NODES,
    )  # fmt: skip
    verdicts = decided(*texts, job(5, name="a", queue="guests"), job(7, name="b"), job(1, name="c"))

    assert placed_pods(verdicts["a"]) == 5
    assert placed_pods(verdicts["b"]) == 7
    assert isinstance(verdicts["c"].outcome, Unplaceable)


@pytest.mark.parametrize(
    ("limits", "count", "fits"),
    [
        pytest.param({}, 10, True, id="all that the outer cohort has"),
        pytest.param({}, 11, False, id="no more than the outer cohort has"),
        pytest.param({"borrowingLimit": 1}, 7, True, id="a cohort borrows up to its limit"),
        pytest.param({"borrowingLimit": 1}, 8, False, id="a cohort borrows no more than its limit"),
    ],
)
def test_a_cohort_in_another_borrows_within_its_limit(limits: dict[str, int], count: int, fits: bool) -> None:
    texts = (
        topology(), flavor(), at(6, cohortName="inner"), local_queue(), *NODES,
        written("Cohort", "inner", {"parentName": "outer", "resourceGroups": [offered(nominalQuota=0, **limits)]}),
        cluster_queue("other", quota={"nvidia.com/gpu": 4}, cohortName="outer"),
    )  # fmt: skip

    assert isinstance(decided(*texts, job(count))["train"].outcome, Placed) is fits


def test_a_cohort_lends_no_more_than_its_limit() -> None:
    texts = (
        topology(), flavor(), at(6, cohortName="outer"), local_queue(), *NODES,
        written("Cohort", "inner", {"parentName": "outer", "resourceGroups": [offered(nominalQuota=1, lendingLimit=3)]}),
        cluster_queue("other", quota={"nvidia.com/gpu": 8}, cohortName="inner"),
    )  # fmt: skip

    assert isinstance(decided(*texts, job(9))["train"].outcome, Placed)
    refused = decided(*texts, job(10))["train"].outcome
    assert isinstance(refused, Unplaceable)
    assert refused.shortfalls[0].best[0].domain == ("cohort outer", "flavor tas")


@pytest.mark.parametrize(
    ("fungibility", "nodes"),
    [
        pytest.param({}, {"n1"}, id="the first flavor that has quota, borrowed or not"),
        pytest.param({"whenCanBorrow": "MayStopSearch"}, {"n1"}, id="the same in today's word"),
        pytest.param({"whenCanBorrow": "Borrow"}, {"n1"}, id="the same in the earlier word"),
        pytest.param({"whenCanBorrow": "TryNextFlavor"}, {"s1"}, id="the next flavor before borrowing"),
    ],
)
def test_flavors_and_borrowing(fungibility: dict[str, str], nodes: set[str]) -> None:
    groups = [
        {
            "coveredResources": ["nvidia.com/gpu"],
            "flavors": [
                {"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": amount}]}
                for name, amount in (("tas", 2), ("spot", 8))
            ],
        }
    ]
    own = {"cohortName": "all", "resourceGroups": groups, "flavorFungibility": fungibility}
    texts = (
        topology(), flavor(), flavor("spot"), written("ClusterQueue", "research", own), local_queue(),
        cluster_queue("other", quota={"nvidia.com/gpu": 8}, cohortName="all"), *NODES,
    )  # fmt: skip

    assert nodes_of(decided(*texts, job(4))["train"]) == nodes
    assert nodes_of(decided(*texts, job(2))["train"]) == {"n1"}


def test_where_every_flavor_must_borrow_the_first_is_taken() -> None:
    texts = (
        topology(), flavor(), flavor("spot"),
        cluster_queue("research", "tas", "spot", quota={"nvidia.com/gpu": 1}, cohortName="all",
                      flavorFungibility={"whenCanBorrow": "TryNextFlavor"}),
        cluster_queue("other", "tas", "spot", quota={"nvidia.com/gpu": 8}, cohortName="all"), local_queue(), *NODES,
    )  # fmt: skip

    assert nodes_of(decided(*texts, job(4))["train"]) == {"n1"}
