from __future__ import annotations

import json

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.outcome import Unplaceable
from closeknit.hub.sentences import kai as sentences
from closeknit.scheduler.deciding import AnyVerdict, Failed, Verdict
from closeknit.scheduler.status import reports
from closeknit.scheduler.status.reports import ConstraintState, State
from tests.unit.scheduler.verdicts import RACK, decided, gang, incomplete, invalid

AWAITED = sentences.PODS_AWAITED.at(("spec", "minMember"), minimum=3, existing=1, gated=0)
TWO_SPELLINGS = sentences.TWO_SPELLINGS.at(("spec", "subgroups"))


@pytest.mark.parametrize(
    ("verdict", "state", "reason"),
    [
        pytest.param(incomplete(TWO_SPELLINGS), State.NOT_READY, "NotReady", id="an incomplete workload"),
        pytest.param(invalid(AWAITED), State.UNSCHEDULABLE, "Invalid", id="an invalid workload"),
        pytest.param(
            Verdict(gang(1), Failed((AWAITED,))), State.UNSCHEDULABLE, "Invalid", id="a decision that failed"
        ),
    ],
)
def test_the_state_follows_from_the_type_whatever_the_codes_of_its_problems(
    verdict: AnyVerdict, state: State, reason: str
) -> None:
    told = reports.report(verdict)

    assert (told.state, [each.reason for each in told.reasons]) == (state, [reason])


def test_programs_read_the_shortfall_and_what_helps() -> None:
    told = json.loads(reports.report(decided(gang(2))).outcome)

    assert told["status"] == "unplaceable"
    (short,) = told["shortfalls"]
    assert (short["group"], short["level"], short["wanted"], short["fits"]) == ("workers", RACK, 2, 1)
    assert short["relaxations"][0] == {"change": "level", "group": "workers", "to": "topology/zone"}


def test_the_outcome_of_a_large_gang_is_bounded_and_says_so() -> None:
    verdict = decided(gang(2))
    assert isinstance(verdict.outcome, Unplaceable)
    many = replace(verdict, outcome=replace(verdict.outcome, shortfalls=verdict.outcome.shortfalls * 100))

    told = reports.report(many)

    assert 1000 < len(told.outcome) <= 8192
    assert len(told.message.encode()) <= 1000
    assert json.loads(told.outcome)["truncated"] is True
    assert "97 more groups cannot be placed." in told.brief


def test_the_reason_stays_the_same_where_only_its_details_differ() -> None:
    full = decided(gang(2))
    others = decided(gang(2), "z1\n  r1\n    n1: 8\n    n2: 8 used=8:somebody\n  r2\n    n3: 8\n")

    assert reports.report(full) != reports.report(others)
    assert reports.report(full).says_the_same(reports.report(others))
    assert not reports.report(full).says_the_same(reports.report(decided(gang(3))))


@pytest.mark.parametrize(
    ("verdict", "names"),
    [
        pytest.param(decided(gang(2)), ("train-0", "train-1"), id="all pods of a gang without room wait"),
        pytest.param(decided(gang(1)), (), id="no pod of a gang that is placed waits"),
        pytest.param(decided(gang(3, minimum=1)), ("train-1", "train-2"), id="pods above the minimum wait"),
    ],
)
def test_the_pods_that_wait(verdict: Verdict, names: tuple[str, ...]) -> None:
    assert reports.waiting_pods(verdict) == names


def test_a_unit_that_runs_and_breaks_its_constraint_does_so_while_a_plan_is_made_for_its_surplus() -> None:
    runs = replace(reports.report(decided(gang(1))), constraint=ConstraintState.VIOLATED)
    told = reports.running_while_others_wait(runs, reports.report(decided(gang(2))))

    assert (told.state, told.constraint) == (State.SCHEDULED, ConstraintState.VIOLATED)
