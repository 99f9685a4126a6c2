from __future__ import annotations

import pytest

from tests.peers import page, records

FLOORS = {"kai": 0.95, "kubernetes": 0.94, "kueue": 0.95}
"""By peer, which part of what is expressed is the same or better at least; it only rises."""


def test_the_page_of_the_docs_is_up_to_date() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.written(), "make peer-tests"


def test_every_cause_explains_a_difference() -> None:
    used = {case.cause for peer in records.PEERS for _, case in records.cases(peer)}
    assert used - {""} == records.causes().keys()


@pytest.mark.parametrize("peer", records.PEERS)
def test_no_fewer_cases_than_before_are_the_same_or_better(peer: str) -> None:
    totals = page.totals(peer)
    print(f"{peer}: {totals.expressed} expressed, {100 * totals.share:.1f} % the same or better")  # noqa: T201
    assert totals.share >= FLOORS[peer]
