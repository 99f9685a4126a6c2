"""The texts of the scheduler's reports: conditions and events of pod groups."""

from __future__ import annotations

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.outcome import GroupReach, Placed, Unplaceable, Wishes
from closeknit.hub.sentences import kai as sentences
from closeknit.hub.workload import RunningPod
from closeknit.scheduler import wording
from closeknit.scheduler.deciding import AnyVerdict
from closeknit.scheduler.gangs.states import BelowMinimum, PartiallyBound, Stale
from closeknit.scheduler.preempt.preemptions import Ending, Plan
from closeknit.scheduler.status import events, preemption_events, reports
from closeknit.scheduler.status.reports import Report, State
from tests.kit.plans import plan, victim
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


NEVER_RAN = PartiallyBound(("p0",), 60.0)
RAN = Stale(("p0", "p1"), 60.0)
WAITS = "spec.minMember: 1 of 3 pods exist, 0 of them held back by gates."
AT = "2026-01-01T00:01:00Z"


@pytest.mark.parametrize(
    ("below", "at", "state", "message"),
    [
        pytest.param(
            RAN,
            AT,
            State.STALE,
            f"It ran and has lost pods of its minimum; 2 pods still run. They are evicted at {AT} unless the "
            "rest is bound before.",
            id="a stale gang says when it is evicted",
        ),
        pytest.param(
            Stale(("p0",), None),
            None,
            State.STALE,
            "It ran and has lost pods of its minimum; 1 pod still runs.",
            id="a stale gang that is never evicted",
        ),
        pytest.param(
            replace(RAN, refused=1),
            AT,
            State.STALE,
            "It ran and has lost pods of its minimum; 2 pods still run. The last attempt to evict was refused for "
            f"1 pod. They are evicted at {AT} unless the rest is bound before.",
            id="a stale gang that a disruption budget has kept",
        ),
        pytest.param(
            NEVER_RAN,
            AT,
            State.NOT_READY,
            f"It is bound in part: 1 pod runs, fewer than its minimum. It is evicted at {AT} unless the rest is "
            "bound before.",
            id="a gang that is bound in part",
        ),
    ],
)
def test_the_report_of_a_gang_below_its_minimum_says(
    below: BelowMinimum, at: str | None, state: State, message: str
) -> None:
    told = reports.report(replace(incomplete(AWAITED), below=below), None, at)

    assert (told.state, told.message) == (state, f"{message} {WAITS}")


@pytest.mark.parametrize(
    ("below", "state", "message"),
    [
        pytest.param(
            NEVER_RAN,
            State.RELEASED,
            "It was bound in part and could not be completed: only 1 pod has a node.",
            id="a gang that never ran",
        ),
        pytest.param(
            RAN,
            State.STALE_EVICTED,
            "It lost pods of its minimum, and no replacements were bound within its grace period: its 2 running pods "
            "are evicted.",
            id="a gang that ran",
        ),
    ],
)
def test_the_report_of_a_gang_that_is_evicted_says(below: BelowMinimum, state: State, message: str) -> None:
    told = reports.released(below)

    assert (told.state, told.message) == (state, message)


def test_the_same_eviction_is_no_news_when_the_clock_is_corrected() -> None:
    stale = replace(incomplete(AWAITED), below=RAN)
    first, corrected = (reports.report(stale, None, at) for at in (AT, "2026-01-01T00:01:07Z"))
    later = reports.report(replace(stale, below=replace(RAN, evicted_at=70.0)), None, AT)

    assert corrected.says_the_same(first)
    assert not later.says_the_same(first)


def _placed() -> Placed:
    outcome = decided(gang(1)).outcome
    assert isinstance(outcome, Placed)
    return outcome


_PLACED = _placed()
_GANG = decided(gang(2)).workload


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        pytest.param(
            plan(_GANG, _PLACED, [victim("old", 2)]),
            "default/old (2 pods) is to be evicted so that it fits. "
            "Then it fits: 1 pod on 1 node. workers: in one topology/rack: z1/r1 (required).",
            id="which pods are to be evicted, and where it fits then",
        ),
        pytest.param(
            plan(_GANG, _PLACED, [victim("a", 1), victim("b", 1)], ("team/guard",)),
            "default/a (1 pod) and default/b (1 pod) are to be evicted so that it fits, "
            "once team/guard allows it. "
            "Then it fits: 1 pod on 1 node. workers: in one topology/rack: z1/r1 (required).",
            id="which budget they wait for",
        ),
        pytest.param(
            plan(_GANG, _PLACED),
            "It waits for pods that are being deleted. "
            "Then it fits: 1 pod on 1 node. workers: in one topology/rack: z1/r1 (required).",
            id="that it waits for pods that are being deleted",
        ),
    ],
)
def test_a_report_with_a_plan_says_first(chosen: Plan, message: str) -> None:
    assert reports.report(chosen.failed, chosen).message.startswith(message)


def test_an_event_names_the_pods_that_are_evicted() -> None:
    chosen = plan(_GANG, _PLACED, [victim(name, 1) for name in "abcdefg"])

    assert preemption_events.preempting_text(chosen) == (
        "Evicting pods of default/a (1 pod), default/b (1 pod), default/c (1 pod), default/d (1 pod), "
        "default/e (1 pod), 2 more so that it fits."
    )


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        (Ending.NOT_REPORTED, "the plan could not be written to its status in time"),
        (Ending.BUDGET_EXHAUSTED, "a PodDisruptionBudget did not allow all evictions in time (team/guard)"),
        (Ending.EVICTION_REFUSED, "the API server refused an eviction"),
        (Ending.NOT_EVICTED, "not all pods could be evicted in time"),
        (Ending.NOT_BOUND, "it could not be bound in time"),
        (Ending.NO_LONGER_FITS, "the capacity that was freed for it is gone"),
    ],
)
def test_an_event_says_why_a_plan_was_given_up(ending: Ending, why: str) -> None:
    chosen = plan(_GANG, _PLACED, [victim("a", 1)], ("team/guard",))

    assert preemption_events.gave_up_text(chosen, ending) == (
        f"Preemption was given up: {why}. It is tried again later."
    )


def test_every_failure_has_a_text() -> None:
    chosen = plan(_GANG, _PLACED)

    for ending in Ending:
        if ending.is_failure:
            assert preemption_events.gave_up_text(chosen, ending)


def test_a_bound_pod_has_the_note_of_kube_scheduler() -> None:
    assert wording.assigned("team/train-0", "node-7") == "Successfully assigned team/train-0 to node-7"


RUNNING = replace(gang(2), running=(RunningPod("workers", "a"), RunningPod("workers", "b")))
APART = GroupReach(
    "workers", None, "topology/rack", None, "topology/zone", (("z1",),), satisfied=True, pods=2, violated=True
)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        pytest.param(
            reports.running(RUNNING, Placed("w", (), (APART,), Wishes(0, (), (2,)), proven=False)),
            "2 pods run. workers requires one topology/rack, and its running pods share topology/zone z1 at most.",
            id="a gang that breaks a level names the level and what its pods share",
        ),
        pytest.param(
            reports.running(RUNNING.invalid((TWO_SPELLINGS,), complete=True), None),
            f"2 pods run. It could not be scheduled again as it is now: {TWO_SPELLINGS}",
            id="a gang that runs and became invalid says so, and why",
        ),
    ],
)
def test_a_report_of_a_running_gang_says(told: Report, message: str) -> None:
    assert told.message == message


def test_the_event_of_a_later_binding_names_the_node_and_what_was_there_first() -> None:
    assert events.overcommitted_text("gpu-7") == (
        "Evicted: node gpu-7 has no room for it beside pods that another instance bound there before."
    )
