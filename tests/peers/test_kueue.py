from __future__ import annotations

import pytest

from tests.peers import page, promises
from tests.peers.records import Case

PEER = "kueue"


@pytest.mark.parametrize("case", promises.parameters(PEER))
def test_the_verdict_is_true(case: Case) -> None:
    promises.check(case)


def test_records_are_complete_and_reviewed() -> None:
    promises.check_records(PEER)


def test_enough_cases_are_expressed() -> None:
    assert page.totals(PEER).expressed >= 40
