from __future__ import annotations

from tests.peers import page, records


def test_the_page_of_the_docs_is_up_to_date() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.written(), "make peer-tests"


def test_every_cause_explains_a_difference() -> None:
    used = {case.cause for peer in records.PEERS for _, case in records.cases(peer)}
    assert used - {""} == records.causes().keys()
