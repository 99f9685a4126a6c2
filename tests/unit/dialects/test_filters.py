"""Every filter of kube-scheduler, and how it is honoured here; the same table is put to kube-scheduler itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.filters.cases import NEIGHBOUR_CASES, NODE_CASES, Case, pod
from tests.filters.claim_cases import CLAIM_CASES
from tests.filters.claims import GPUS
from tests.filters.feasible import feasible, objects_of, waiting

CASES = (*NODE_CASES, *CLAIM_CASES, *NEIGHBOUR_CASES)
PAGE = Path(__file__).parents[3] / "docs/reference/filters.md"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.filter}: {case.promise}")
def test_a_pod_may_have_the_nodes_that_kube_scheduler_allows(case: Case) -> None:
    objects = [*([] if GPUS in case.others else [GPUS]), *objects_of(0, case)]

    assert feasible(objects) == {"case-0": case.want}


@pytest.mark.parametrize(("policy", "want"), [("Never", False), ("PreemptLowerPriority", True)])
def test_a_pod_displaces_others_unless_its_policy_forbids_it(policy: str, *, want: bool) -> None:
    (workload,) = waiting([pod("p", {"preemptionPolicy": policy})]).workloads

    assert workload.preempts is want


def test_the_page_lists_every_filter_of_the_table() -> None:
    told = PAGE.read_text(encoding="utf-8")

    assert [each.filter for each in CASES if f"| {each.filter} |" not in told] == []
