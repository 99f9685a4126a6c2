"""What queues and cohorts borrow and lend."""

from __future__ import annotations

import pytest

from closeknit.hub.outcome import Placed, Unplaceable
from tests.unit.dialects.kueue.kit import cluster_queue, flavor, job, local_queue, queues, topology, written
from tests.unit.dialects.kueue.quotas import NODES, at, offered, placed_pods
from tests.unit.dialects.verdicts import decided


def test_queues_of_a_cohort_borrow_what_others_do_not_use() -> None:
    texts = (
        *queues(at(6, cohortName="all")),
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
    own = written(
        "ClusterQueue",
        "research",
        {"cohortName": "all", "resourceGroups": [offered(nominalQuota=6, borrowingLimit=2)]},
    )
    other = cluster_queue("other", quota={"nvidia.com/gpu": 6}, cohortName="all")
    verdict = decided(topology(), flavor(), own, other, local_queue(), *NODES, job(count))["train"]

    assert isinstance(verdict.outcome, Placed) is fits


def test_what_others_do_not_lend_cannot_be_borrowed() -> None:
    other = written(
        "ClusterQueue",
        "other",
        {"cohortName": "all", "resourceGroups": [offered(nominalQuota=6, lendingLimit=1)]},
    )
    own = cluster_queue(quota={"nvidia.com/gpu": 6}, cohortName="all")
    texts = (topology(), flavor(), own, other, local_queue(), *NODES)

    assert isinstance(decided(*texts, job(7))["train"].outcome, Placed)
    assert isinstance(decided(*texts, job(8))["train"].outcome, Unplaceable)


def test_a_cohort_may_have_quota_of_its_own_and_lie_in_another() -> None:
    texts = (
        *queues(at(6, cohortName="inner")), *NODES,
        written("Cohort", "inner", {"parentName": "outer"}), written("Cohort", "outer", {"resourceGroups": [offered(nominalQuota=4)]}),
    )  # fmt: skip

    assert isinstance(decided(*texts, job(10))["train"].outcome, Placed)
    assert isinstance(decided(*texts, job(11))["train"].outcome, Unplaceable)


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
        *queues(at(6, cohortName="inner")), *NODES,
        written("Cohort", "inner", {"parentName": "outer", "resourceGroups": [offered(nominalQuota=0, **limits)]}),
        cluster_queue("other", quota={"nvidia.com/gpu": 4}, cohortName="outer"),
    )  # fmt: skip

    assert isinstance(decided(*texts, job(count))["train"].outcome, Placed) is fits


def test_a_cohort_lends_no_more_than_its_limit() -> None:
    texts = (
        *queues(at(6, cohortName="outer")), *NODES,
        written("Cohort", "inner", {"parentName": "outer", "resourceGroups": [offered(nominalQuota=1, lendingLimit=3)]}),
        cluster_queue("other", quota={"nvidia.com/gpu": 8}, cohortName="inner"),
    )  # fmt: skip

    assert isinstance(decided(*texts, job(9))["train"].outcome, Placed)
    refused = decided(*texts, job(10))["train"].outcome
    assert isinstance(refused, Unplaceable)
    assert refused.shortfalls[0].best[0].domain == ("cohort outer", "flavor tas")
