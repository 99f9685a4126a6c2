"""What an answer of the webhook costs, counted, and how much it says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from types import ModuleType

import msgspec
import pytest

from bench.large_objects import CASES, Case
from bench.large_pods import Json
from bench.reviewing import reviewer, sent
from closeknit.admission import review as reviewing
from closeknit.admission import reviewer as looking
from closeknit.admission import wire
from closeknit.admission.listing import SharedLists
from closeknit.admission.requests import MOST_PROBLEMS, Review
from closeknit.admission.review import review
from closeknit.admission.reviewer import FAMILIES, Reviewer
from closeknit.dialects import DIALECTS
from closeknit.dialects.core import levels
from closeknit.dialects.grove import blueprint
from closeknit.dialects.kai import jobs
from closeknit.dialects.osmo import pools
from closeknit.dialects.store.store import Entry
from closeknit.dialects.store.view import View
from closeknit.dialects.wire import decoding
from closeknit.hub import problems
from closeknit.hub.keys import Key
from closeknit.hub.many_problems import MOST_OF_A_RULE
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
    assert re.findall(r"\d+", causes[-1]["message"]) == [str(rest)]
    assert len(answer) < 64_000


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_view_that_only_judges_finds_what_one_finds_that_makes_requests(case: Case) -> None:
    asked = reviewer()
    _, request = wire.read(sent(case.grown(30)))
    whole = View(asked._view._store, DIALECTS, lenient=True)

    told = [review(FAMILIES[case.family], request, view, frozenset()) for view in (asked._view, whole)]

    assert told[0] == told[1]


Counted = Callable[[ModuleType, str], list[object]]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Notes the first argument of every call of a function, by module and name."""

    def counting(module: ModuleType, name: str) -> list[object]:
        real, seen = getattr(module, name), list[object]()

        def noted(*arguments: object, **named: object) -> object:
            seen.append(arguments[0])
            return real(*arguments, **named)

        monkeypatch.setattr(module, name, noted)
        return seen

    return counting


def reviewed(name: str, *, existed: bool = False, count: int = 1_000) -> Review:
    obj = CASES[name].grown(count)
    return answered(reviewer(), CASES[name].family, sent(obj, obj if existed else None))[0]


@pytest.mark.parametrize(
    ("name", "module", "function", "times"),
    [
        pytest.param(
            "PodGroup, wrong types",
            decoding,
            "found",
            MOST_OF_A_RULE + 1,
            id="values of a wrong type are worded",
        ),
        pytest.param(
            "PodGroup, wrong types", problems, "text_of", MOST_PROBLEMS, id="paths of wrong types are written"
        ),
        pytest.param("PodGroup, constrained subgroups", levels, "_judge", 1, id="constraints are judged"),
        pytest.param("PodGroup, unknown levels", levels, "_judge", 1, id="unknown levels are judged"),
        pytest.param(
            "PodCliqueSet, scaling groups", levels, "_judge", 2, id="constraints of cliques are judged"
        ),
        pytest.param("PodCliqueSet, small cliques", blueprint, "decode", 1, id="pods of cliques are read"),
        pytest.param(
            "PodCliqueSet, wrong types in pods", problems, "nearest", 50, id="nearest words are sought"
        ),
        pytest.param("JobSet of KAI, jobs", jobs, "_replicated", 1, id="replicated jobs are looked at"),
        pytest.param("Pool, tolerations", pools, "toleration", 1, id="tolerations are looked at"),
        pytest.param(
            "Pool, wrong tolerations",
            pools,
            "toleration",
            MOST_OF_A_RULE + 1,
            id="tolerations are looked at where all are wrong",
        ),
    ],
)
def test_how_often_at_most_of_a_thousand(
    name: str, module: ModuleType, function: str, times: int, counted: Counted
) -> None:
    seen = counted(module, function)
    reviewed(name)

    assert 0 < len(seen) <= times


@pytest.mark.parametrize(
    ("name", "existed", "times"),
    [
        pytest.param(
            "PodGroup, bare subgroups", True, 1, id="the new one alone where nothing is wrong with it"
        ),
        pytest.param("PodGroup, unknown parents", True, 2, id="the earlier one too where something is wrong"),
        pytest.param(
            "PodCliqueSet, small cliques", True, 2, id="the earlier one too where something may not change"
        ),
    ],
)
def test_which_objects_of_a_change_are_read(name: str, existed: bool, times: int, counted: Counted) -> None:
    seen = counted(reviewing, "entry_of")
    reviewed(name, existed=existed)

    assert len(seen) == times


def test_what_is_refused_is_reviewed_once_where_nothing_new_is_heard_of(counted: Counted) -> None:
    seen = counted(looking, "review")
    reviewed("PodGroup, unknown levels")

    assert len(seen) == 1


def test_what_is_refused_is_reviewed_again_where_something_was_heard_of_meanwhile(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, case = reviewer(), CASES["PodGroup, unknown levels"]
    seen = counted(looking, "review")
    kind = next(each for each in asked.kinds if each.group == "kai.scheduler" and each.kind == "Topology")

    async def newer(_: object) -> list[Entry]:
        obj: Json = {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": {"levels": [{"nodeLabel": f"r{i}"} for i in range(3)]},
        }
        asked.heard(kind, obj["apiVersion"], Key(kind.group, kind.kind, "", "t"), obj)
        return []

    monkeypatch.setattr(SharedLists, "newer", lambda _, kind: newer(kind))
    found, _ = answered(asked, case.family, sent(case.grown(3)))

    assert found.allowed
    assert len(seen) == 2


def test_one_mistake_at_the_end_of_a_large_object_is_found() -> None:
    (problem,) = reviewed("PodGroup, wrong type at the end").problems

    assert problem.where == "spec.subGroups[998].minMember"
