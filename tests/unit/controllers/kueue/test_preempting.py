"""Who waits behind a Workload for which others have to go, and for how long."""

from __future__ import annotations

from random import Random

import pytest

from closeknit.controllers.kueue.admission_plan import AdmissionPlan
from closeknit.controllers.kueue.preempting import Preemptors
from closeknit.hub.keys import Key
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload, Workload
from closeknit.scheduler.waiting import WaitingQueue
from tests.unit.dialects.kueue.kit import QUEUES, job, nominated, view_of

VICTIM = Key("kueue.x-k8s.io", "Workload", "default", "victim")


@pytest.mark.parametrize(
    ("first", "kind", "waits", "queued"),
    [
        pytest.param(job(name="first"), PlaceableWorkload, True, ["first"], id="a valid one is tried again"),
        pytest.param(
            job(name="first", podset_required_topology="none-such"),
            InvalidWorkload,
            False,
            [],
            id="an invalid one is not",
        ),
    ],
)
def test_once_its_victims_have_gone(
    first: str, kind: type[Workload], queued: list[str], *, waits: bool
) -> None:
    plan, queue = AdmissionPlan(), WaitingQueue(Random(1))
    units = {
        each.workload.object.name: each for each in nominated(view_of(*QUEUES, first, job(name="second")))
    }
    preemptor, behind = (units[name].workload.object.key for name in ("first", "second"))
    assert type(units["first"].workload) is kind
    plan.units = {preemptor: units["first"], behind: units["second"]}
    preemptors = Preemptors(plan, queue)
    preemptors._victims = {preemptor: frozenset({VICTIM})}
    assert preemptors.is_behind(behind)

    preemptors.try_again()

    assert preemptors.is_behind(behind) == waits
    assert [workload.object.name for workload in queue] == queued
