from __future__ import annotations

import json

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.outcome import Unplaceable
from closeknit.hub.sentences import kai as sentences
from closeknit.scheduler import reports
from closeknit.scheduler.planning import Verdict
from closeknit.scheduler.reports import State
from tests.unit.scheduler.verdicts import RACK, decided, gang, invalid

AWAITED = sentences.PODS_AWAITED.at(("spec", "minMember"), minimum=3, existing=1, gated=0)


@pytest.mark.parametrize(
    ("verdict", "state", "message"),
    [
        pytest.param(
            decided(gang(2)),
            State.UNSCHEDULABLE,
            "workers needs room for 2 pods in one topology/rack; the best has room for 1. "
            "z1/r1: room for 1 pod; nvidia.com/gpu runs out, held by other (8 with 8 pods). "
            "1 node has too little nvidia.com/gpu free for one pod. "
            "Require topology/zone instead of topology/rack for workers, and it can be placed. "
            "Ask for 1 pod of workers instead of 2, and it can be placed.",
            id="a gang without room names level, domain, holder and the smallest changes that help",
        ),
        pytest.param(
            replace(decided(gang(9)), outcome=Unplaceable("w"), kept_for=("team/a", "team/b")),
            State.UNSCHEDULABLE,
            "There is room, but it is kept for team/a and team/b, ahead in the queue and without room yet. "
            "There is no place for it in the cluster as it is.",
            id="a gang that waits beside room that is kept names those for whom that is",
        ),
        pytest.param(
            decided(gang(1)),
            State.SCHEDULED,
            "1 pod on 1 node. workers: in one topology/rack: z1/r1 (required).",
            id="a gang that is placed names the domain of each group that asked for one",
        ),
        pytest.param(
            invalid(AWAITED),
            State.NOT_READY,
            "spec.minMember: 1 of 3 pods exist, 0 of them held back by gates.",
            id="a gang whose pods are not all there is not ready, which is nothing wrong",
        ),
    ],
)
def test_a_report_says(verdict: Verdict, state: State, message: str) -> None:
    told = reports.report(verdict)

    assert (told.state, told.message) == (state, message)


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
        pytest.param(invalid(AWAITED), (), id="nothing is known of the pods of a gang that cannot be read"),
    ],
)
def test_the_pods_that_wait(verdict: Verdict, names: tuple[str, ...]) -> None:
    assert reports.waiting_pods(verdict) == names
