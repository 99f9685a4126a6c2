"""What an answer of the webhook costs, counted, and how much it says."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from bench.large_objects import CASES, Case
from bench.reviewing import reviewer, sent
from closeknit.admission import wire
from closeknit.admission.requests import MOST_PROBLEMS, Review
from closeknit.admission.review import review
from closeknit.admission.reviewer import FAMILIES, Reviewer
from closeknit.dialects import DIALECTS
from closeknit.dialects.store.view import View
from tests.counting import calls

FEW, MORE = 60, 240
WRONG = {name: case for name, case in CASES.items() if not case.allowed and case.mistakes is None}


def answered(asked: Reviewer, family: str, body: bytes) -> tuple[Review, bytes]:
    uid, request = wire.read(body)
    found = asyncio.run(asked.review(family, request))
    return found, wire.reviewed(uid, request, found)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("existed", [False, True], ids=["new", "changed"])
def test_four_times_the_object_costs_no_more_than_four_times_as_much(name: str, existed: bool) -> None:
    case, asked = CASES[name], reviewer()
    # What is remembered from one review to the next makes no difference between the two.
    answered(asked, case.family, sent(case.grown(MORE)))

    def cost(count: int) -> int:
        obj = case.grown(count)
        body = sent(obj, obj if existed else None)
        return calls(lambda: answered(asked, case.family, body))

    assert cost(MORE) < 4.2 * cost(FEW)


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_of_thousands_of_problems_the_first_are_told_and_the_rest_is_counted(case: Case) -> None:
    found, answer = answered(reviewer(), case.family, sent(case.grown(1_000)))

    status = msgspec.json.decode(answer)["response"]["status"]
    causes = status["details"]["causes"]
    assert MOST_PROBLEMS < len(found.problems) < 1_000
    assert len(causes) == MOST_PROBLEMS + 1
    rest = len(found.problems) - MOST_PROBLEMS
    assert causes[-1]["message"] == f"Problems that are not listed: {rest}."
    assert len(answer) < 64_000


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_view_that_only_judges_finds_what_one_finds_that_makes_requests(case: Case) -> None:
    asked = reviewer()
    _, request = wire.read(sent(case.grown(30)))
    whole = View(asked._view._store, DIALECTS, lenient=True)

    told = [review(FAMILIES[case.family], request, view, frozenset()) for view in (asked._view, whole)]

    assert told[0] == told[1]
