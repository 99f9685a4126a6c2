"""Quota first: whom it lets in, who is charged, and what is said where none is left."""

from __future__ import annotations

import json

import pytest

from closeknit.hub.outcome import Holder, Placed, Unplaceable
from closeknit.hub.shortfall import NoDomain, QuotaExceeded, QuotaScope
from tests.unit.dialects.kueue.kit import (
    RACK,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    queues,
    replicated,
    topology,
)
from tests.unit.dialects.kueue.quotas import NODES, at, placed_pods
from tests.unit.dialects.verdicts import decided

FLAVOR_QUOTA = QuotaExceeded(QuotaScope.FLAVOR)


def test_a_workload_larger_than_its_quota_waits_although_there_is_room() -> None:
    verdict = decided(*queues(at(4)), *NODES, job(8))["train"]

    assert isinstance(verdict.outcome, Unplaceable)
    (shortfall,) = verdict.outcome.shortfalls
    assert (shortfall.reason, shortfall.wanted, shortfall.fits) == (FLAVOR_QUOTA, 8, 4)
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
        *queues(at(16)), *NODES,
        job(12, name="a", podset_required_topology=RACK), job(16, name="b"),
    )  # fmt: skip

    assert isinstance(verdicts["a"].outcome, Unplaceable)
    assert verdicts["a"].outcome.shortfalls[0].reason == NoDomain(RACK)
    assert isinstance(verdicts["b"].outcome, Placed)


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
    texts = (*queues(at(6)), *NODES)
    verdicts = decided(*texts, running, job(5, name="a"), job(2, name="b"))

    assert isinstance(verdicts["a"].outcome, Unplaceable)
    assert isinstance(verdicts["b"].outcome, Placed)


def test_pods_can_be_quota_too() -> None:
    queue = cluster_queue(quota={"nvidia.com/gpu": 64, "pods": 3})

    texts = (*queues(queue), *NODES)
    assert isinstance(decided(*texts, job(3))["train"].outcome, Placed)
    assert isinstance(decided(*texts, job(4))["train"].outcome, Unplaceable)


def test_all_pod_sets_of_a_workload_are_charged_to_their_flavor() -> None:
    texts = (*queues(at(6)), *NODES)

    fits = decided(*texts, job_set(replicated("a", 1, 3), replicated("b", 1, 3, gpus=1)))
    too_much = decided(*texts, job_set(replicated("a", 1, 3), replicated("b", 2, 2)))
    assert isinstance(fits["set"].outcome, Placed)
    assert isinstance(too_much["set"].outcome, Unplaceable)


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
    verdict = decided(*queues(at(quota)), *NODES, part)["train"]

    assert placed_pods(verdict) == pods
    if isinstance(verdict.outcome, Unplaceable):
        (shortfall,) = verdict.outcome.shortfalls
        assert (shortfall.reason, shortfall.wanted, shortfall.fits) == (FLAVOR_QUOTA, 2, 1)


def test_pods_that_quota_leaves_out_are_counted() -> None:
    part = job(8, own={"job-min-parallelism": "2"})
    outcome = decided(*queues(at(5)), *NODES, part)["train"].outcome

    assert isinstance(outcome, Placed)
    assert outcome.wishes.left_out == 3


@pytest.mark.parametrize("quota", [pytest.param(5, id="some is left"), pytest.param(0, id="none is left")])
def test_lack_of_quota_is_told_as_such(quota: int) -> None:
    outcome = decided(*queues(at(quota)), *NODES, job(8))["train"].outcome

    assert isinstance(outcome, Unplaceable)
    (shortfall,) = outcome.shortfalls
    assert (shortfall.group, shortfall.reason) == ("default/train", FLAVOR_QUOTA)
    assert (shortfall.wanted, shortfall.fits) == (8, quota)


def test_part_of_a_job_is_admitted_where_room_is_short_and_only_that_is_charged() -> None:
    texts = (*queues(at(16)), *NODES)
    first = job(12, name="a", own={"job-min-parallelism": "4"}, podset_required_topology=RACK)
    verdicts = decided(*texts, first, job(8, name="b"), job(1, name="c"))

    assert placed_pods(verdicts["a"]) == 8
    assert placed_pods(verdicts["b"]) == 8
    assert isinstance(verdicts["c"].outcome, Unplaceable)
    assert verdicts["c"].outcome.shortfalls[0].reason == FLAVOR_QUOTA


def test_a_job_in_slices_is_admitted_with_whole_slices() -> None:
    part = job(
        8,
        own={"job-min-parallelism": "3"},
        podset_slice_required_topology=RACK,
        podset_slice_size="2",
    )

    assert placed_pods(decided(*queues(at(7)), *NODES, part)["train"]) == 6
    verdict = decided(*queues(at(3)), *NODES, part)["train"]
    assert isinstance(verdict.outcome, Unplaceable)
