"""The texts of the scheduler's reports: conditions and events of pod groups."""

from __future__ import annotations

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.outcome import Unplaceable
from closeknit.hub.sentences import kai as sentences
from closeknit.scheduler.deciding import AnyVerdict
from closeknit.scheduler.status import reports
from closeknit.scheduler.status.reports import State
from tests.unit.scheduler.verdicts import decided, gang, incomplete, invalid

AWAITED = sentences.PODS_AWAITED.at(("spec", "minMember"), minimum=3, existing=1, gated=0)
TWO_SPELLINGS = sentences.TWO_SPELLINGS.at(("spec", "subgroups"))


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
            incomplete(AWAITED),
            State.NOT_READY,
            "spec.minMember: 1 of 3 pods exist, 0 of them held back by gates.",
            id="a gang whose pods are not all there is not ready, which is nothing wrong",
        ),
        pytest.param(
            invalid(TWO_SPELLINGS),
            State.UNSCHEDULABLE,
            str(TWO_SPELLINGS),
            id="a gang with something wrong in it cannot be scheduled, and the problem is the message",
        ),
    ],
)
def test_a_report_says(verdict: AnyVerdict, state: State, message: str) -> None:
    told = reports.report(verdict)

    assert (told.state, told.message) == (state, message)
