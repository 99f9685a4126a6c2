"""The states of gangs, and when what runs of them is evicted."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from closeknit.hub.keys import Key
from closeknit.hub.quota import Account
from closeknit.hub.resources import Resources
from closeknit.scheduler.acting import EVICTION_TRIES
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.commit import Answered, Bind, Call, Evict
from closeknit.scheduler.core import Core
from closeknit.scheduler.gangs.history import has_run
from closeknit.scheduler.gangs.lifecycle import Gangs
from closeknit.scheduler.gangs.states import (
    BelowMinimum,
    Complete,
    GangState,
    Incomplete,
    PartiallyBound,
    Stale,
    Waiting,
    running_pods_below_minimum,
)
from closeknit.scheduler.reporter import Silence
from closeknit.scheduler.settings import Settings
from tests.unit.scheduler.objects import GPU, entry, node, pod, pod_group, queue

UNIT = Key("scheduling.run.ai", "PodGroup", "default", "g")
TWO_PARTS = [{"name": name, "minMember": 2} for name in ("a", "b")]


def unit(group: dict[str, Any], *pods: dict[str, Any]) -> Any:
    """A PodGroup and its pods on a cluster of two nodes, as a unit."""
    state = ClusterState()
    for each in (node("n1"), node("n2"), group, *pods):
        state.put(entry(each))
    state.news()
    return state.units[UNIT]


@pytest.mark.parametrize(
    ("group", "pods", "want"),
    [
        pytest.param(
            pod_group("g", minMember=2),
            [pod("p1", "g", on="n1"), pod("p2", "g", on="n2")],
            (),
            id="a whole gang is sound",
        ),
        pytest.param(
            pod_group("g", minMember=2), [pod("p1", "g"), pod("p2", "g")], (), id="a gang that waits is sound"
        ),
        pytest.param(
            pod_group("g", minMember=2),
            [pod("p1", "g", on="n1"), pod("p2", "g")],
            ("p1",),
            id="of two that must run, one runs",
        ),
        pytest.param(
            pod_group("g", minMember=2),
            [pod("p1", "g", on="n1")],
            ("p1",),
            id="of two that must run, one runs and the other does not exist",
        ),
        pytest.param(
            pod_group("g", minMember=2, priorityClassName="none-such"),
            [pod("p1", "g", on="n1")],
            ("p1",),
            id="the same where something else is wrong as well",
        ),
        pytest.param(
            pod_group("g", minMember=1),
            [pod("p1", "g", on="n1"), pod("p2", "g")],
            (),
            id="pods above the minimum may wait",
        ),
        pytest.param(
            pod_group("g", minMember=2),
            [pod("p1", "g", on="n1"), pod("p2", "g", on="n2", phase="Succeeded")],
            (),
            id="a pod that has done its work counts",
        ),
        pytest.param(
            pod_group("g", minMember=2),
            [pod("p1", "g", on="n1"), pod("p2", "g", on="gone")],
            ("p1",),
            id="a pod whose node has gone runs nowhere",
        ),
        pytest.param(
            pod_group("g", subGroups=TWO_PARTS, minSubGroup=1),
            [
                *(pod(f"a{i}", "g", subgroup="a", on="n1") for i in range(2)),
                pod("b0", "g", subgroup="b", on="n2"),
                pod("b1", "g", subgroup="b"),
            ],
            ("b0",),
            id="only the subgroup that is below its minimum is partial",
        ),
        pytest.param(
            pod_group("g", subGroups=TWO_PARTS, minSubGroup=2),
            [
                *(pod(f"a{i}", "g", subgroup="a", on="n1") for i in range(2)),
                *(pod(f"b{i}", "g", subgroup="b") for i in range(2)),
            ],
            ("a0", "a1"),
            id="a whole subgroup is partial where two are needed",
        ),
        pytest.param(
            pod_group("g", minMember=1, priorityClassName="none-such"),
            [pod("p1", "g", on="n1")],
            (),
            id="what is wrong with a PodGroup otherwise makes nothing partial",
        ),
    ],
)
def test_the_running_pods_of_what_is_below_its_minimum(
    group: dict[str, Any], pods: list[dict[str, Any]], want: tuple[str, ...]
) -> None:
    assert running_pods_below_minimum(unit(group, *pods)) == want


GRACE_PERIOD = "kai.scheduler/staleness-grace-period"


@pytest.mark.parametrize(
    ("field", "annotation", "want"),
    [
        pytest.param(None, None, 60.0, id="a minute if nothing is set"),
        pytest.param("90s", None, 90.0, id="seconds"),
        pytest.param("1h1m1.5s", None, 3661.5, id="hours, minutes and seconds"),
        pytest.param("0s", None, 0.0, id="none at all"),
        pytest.param("0", None, 0.0, id="zero without a unit is none at all"),
        pytest.param("-1s", None, None, id="for ever if it is negative"),
        pytest.param("soon", None, 60.0, id="a minute if it is not a duration"),
        pytest.param("5", None, 60.0, id="a minute if it has no unit"),
        pytest.param(None, "30s", 30.0, id="by annotation"),
        pytest.param("", "30s", 30.0, id="by annotation if the field is empty"),
        pytest.param("10s", "30s", 10.0, id="the field precedes the annotation"),
    ],
)
def test_the_grace_period_of_a_pod_group(
    field: str | None, annotation: str | None, want: float | None
) -> None:
    group = pod_group("g", minMember=2, **({} if field is None else {"stalenessGracePeriod": field}))
    if annotation is not None:
        group["metadata"]["annotations"] = {GRACE_PERIOD: annotation}

    assert unit(group, pod("p1", "g", on="n1")).grace_period == want


@pytest.mark.parametrize("place", ["the Job", "its pod template"])
def test_the_grace_period_of_a_job_is_that_of_its_annotation(place: str) -> None:
    annotated: dict[str, Any] = {"annotations": {GRACE_PERIOD: "5m"}}
    template = {"spec": pod("p")["spec"] | {"restartPolicy": "Never", "schedulerName": "kai-scheduler"}}
    metadata: dict[str, Any] = {"name": "train", "namespace": "default", "uid": "j"}
    if place == "the Job":
        metadata |= annotated
    else:
        template["metadata"] = annotated
    spec = {"parallelism": 2, "template": template}
    state = ClusterState()
    state.put(entry({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}))
    state.news()

    (only,) = state.units.values()
    assert only.grace_period == 300.0


WHOLE = unit(pod_group("g", minMember=2), pod("p1", "g", on="n1"), pod("p2", "g", on="n2"))
LACKS_A_NODE = unit(pod_group("g", minMember=2), pod("p1", "g", on="n1"), pod("p2", "g"))
LACKS_A_POD = unit(pod_group("g", minMember=2), pod("p1", "g", on="n1"))
WAITS = unit(pod_group("g", minMember=2), pod("p1", "g"), pod("p2", "g"))
NO_POD = unit(pod_group("g", minMember=2))
FOR_EVER = unit(pod_group("g", minMember=2, stalenessGracePeriod="-1s"), pod("p1", "g", on="n1"))


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        pytest.param((), NO_POD, Incomplete(2), id="a gang without pods is incomplete"),
        pytest.param((), WAITS, Waiting(), id="a gang with all of its pods waits"),
        pytest.param((NO_POD, WAITS), WHOLE, Complete(), id="a gang that is bound whole is complete"),
        pytest.param(
            (WAITS,),
            LACKS_A_NODE,
            PartiallyBound(("p1",), 160.0),
            id="a gang that never ran is partially bound",
        ),
        pytest.param(
            (WAITS,),
            LACKS_A_POD,
            PartiallyBound(("p1",), 160.0),
            id="a gang that never ran is partially bound although a pod does not exist",
        ),
        pytest.param((WHOLE,), LACKS_A_NODE, Stale(("p1",), 160.0), id="a gang that lost a node is stale"),
        pytest.param((WHOLE,), LACKS_A_POD, Stale(("p1",), 160.0), id="a gang that lost a pod is stale"),
        pytest.param(
            (WHOLE, LACKS_A_POD),
            LACKS_A_NODE,
            Stale(("p1",), 160.0),
            id="a replacement keeps it stale until bound",
        ),
        pytest.param(
            (WHOLE, LACKS_A_POD), WHOLE, Complete(), id="a stale gang that is bound whole is complete"
        ),
        pytest.param((WHOLE,), NO_POD, Incomplete(2), id="a gang that lost all of its pods is incomplete"),
        pytest.param(
            (WHOLE, NO_POD, WAITS), LACKS_A_NODE, PartiallyBound(("p1",), 160.0), id="and starts from nothing"
        ),
        pytest.param((WHOLE,), FOR_EVER, Stale(("p1",), None), id="a stale gang may stay so for ever"),
        pytest.param((WHOLE,), None, None, id="a gang that is deleted has no state"),
    ],
)
def test_the_state_of_a_gang(before: tuple[Any, ...], after: Any, state: GangState | None) -> None:
    gangs = Gangs()
    for earlier in before:
        gangs.observe(UNIT, earlier, 100.0)

    assert gangs.observe(UNIT, after, 100.0) == state
    assert gangs.below_minimum(UNIT) == (state if isinstance(state, BelowMinimum) else None)


def test_a_subgroup_that_lost_pods_is_stale_and_one_that_never_ran_is_partially_bound() -> None:
    group = pod_group("g", subGroups=TWO_PARTS, minSubGroup=1)

    def having(*running: str) -> Any:
        pods = [
            pod(name, "g", subgroup=name[0], on="n1" if name in running else "")
            for name in ("a0", "a1", "b0", "b1")
        ]
        return unit(group, *pods)

    gangs = Gangs()
    assert gangs.observe(UNIT, having("a0", "a1"), 0.0) == Complete()
    assert gangs.observe(UNIT, having("a0", "a1", "b0"), 0.0) == PartiallyBound(("b0",), 60.0)
    assert gangs.observe(UNIT, having("a0", "a1", "b0", "b1"), 1.0) == Complete()
    assert gangs.observe(UNIT, having("a0", "a1", "b1"), 2.0) == Stale(("b1",), 62.0)


def test_a_gang_that_ran_before_the_scheduler_started_is_stale() -> None:
    assert Gangs().observe(UNIT, LACKS_A_POD, 0.0, ran=True) == Stale(("p1",), 60.0)
    assert Gangs().observe(UNIT, LACKS_A_POD, 0.0, ran=False) == PartiallyBound(("p1",), 60.0)


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param({}, False, id="no conditions"),
        pytest.param({"conditions": [{"type": "Scheduled", "status": "True"}]}, True, id="scheduled"),
        pytest.param(
            {"conditions": [{"type": "PodGroupScheduled", "status": "True"}]}, True, id="of Kubernetes"
        ),
        pytest.param(
            {"conditions": [{"type": "Scheduled", "status": "False", "reason": "NotReady"}]},
            False,
            id="not ready",
        ),
        pytest.param(
            {"conditions": [{"type": "Scheduled", "status": "False", "reason": "Stale"}]}, True, id="stale"
        ),
        pytest.param(
            {"schedulingConditions": [{"reasons": [{"reason": "OverLimit"}, {"reason": "Stale"}]}]},
            True,
            id="stale, with a replacement that finds no room",
        ),
        pytest.param({"conditions": [{"type": "Running", "status": "True"}]}, False, id="another condition"),
        pytest.param({"conditions": {"type": "Scheduled"}}, False, id="no list"),
        pytest.param(
            {"conditions": ["Scheduled"], "schedulingConditions": [{"reasons": None}]}, False, id="no objects"
        ),
    ],
)
def test_whether_a_gang_has_run_is_read_from_its_conditions(status: dict[str, Any], *, want: bool) -> None:
    assert has_run({"status": status}) is want


def test_the_grace_period_starts_when_a_gang_is_first_below_its_minimum() -> None:
    gangs = Gangs()
    gangs.observe(UNIT, LACKS_A_NODE, 100.0)
    gangs.observe(UNIT, LACKS_A_POD, 150.0)
    assert (gangs.deadlines.next_time(), gangs.deadlines.take(159.0)) == (160.0, [])
    gangs.observe(UNIT, WHOLE, 159.0)
    gangs.observe(UNIT, LACKS_A_NODE, 159.5)
    assert gangs.deadlines.take(219.0) == []

    assert gangs.deadlines.take(219.5) == [UNIT]
    assert gangs.deadlines.take(300.0) == []


def test_a_gang_is_still_overdue_after_what_was_under_way_for_it_has_ended() -> None:
    gangs = Gangs()
    gangs.observe(UNIT, LACKS_A_NODE, 100.0)
    assert gangs.deadlines.take(160.0) == [UNIT]
    gangs.observe(UNIT, LACKS_A_NODE, 161.0)

    assert gangs.deadlines.take(161.0) == [UNIT]


def test_what_we_bound_ourselves_and_cannot_complete_is_overdue_at_once() -> None:
    gangs = Gangs()
    gangs.observe(UNIT, LACKS_A_NODE, 100.0)
    gangs.cannot_complete(UNIT, 101.0)
    assert gangs.deadlines.take(101.0) == []
    gangs.hurry(UNIT)
    gangs.cannot_complete(UNIT, 102.0)

    assert gangs.deadlines.take(102.0) == [UNIT]


def test_a_gang_that_was_completed_has_its_grace_period_when_it_loses_pods() -> None:
    gangs = Gangs()
    gangs.observe(UNIT, LACKS_A_NODE, 100.0)
    gangs.hurry(UNIT)
    gangs.observe(UNIT, WHOLE, 101.0)
    gangs.observe(UNIT, LACKS_A_NODE, 102.0)
    gangs.cannot_complete(UNIT, 103.0)

    assert gangs.deadlines.take(161.0) == []
    assert gangs.deadlines.take(162.0) == [UNIT]


def test_a_replacement_postpones_the_eviction_until_it_finds_no_room() -> None:
    gangs = Gangs()
    gangs.observe(UNIT, LACKS_A_NODE, 100.0)
    assert gangs.deadlines.take(160.0) == [UNIT]
    gangs.postpone(UNIT, 160.0)
    assert gangs.deadlines.take(160.5) == []
    gangs.cannot_complete(UNIT, 160.5)

    assert gangs.deadlines.take(160.5) == [UNIT]


def test_a_look_neither_hastens_an_eviction_that_was_postponed_nor_delays_one_that_is_due() -> None:
    gangs = Gangs()
    gangs.observe(UNIT, LACKS_A_NODE, 100.0)
    gangs.hurry(UNIT)
    gangs.cannot_complete(UNIT, 101.0)
    gangs.observe(UNIT, LACKS_A_NODE, 101.0)
    assert gangs.deadlines.take(101.0) == [UNIT]
    gangs.postpone(UNIT, 170.0)
    gangs.observe(UNIT, LACKS_A_NODE, 170.5)

    assert gangs.deadlines.take(170.5) == []
    assert gangs.deadlines.take(171.0) == [UNIT]


def test_an_eviction_that_was_refused_is_not_hastened_by_a_replacement_that_finds_no_room() -> None:
    gangs = Gangs()
    gangs.observe(UNIT, LACKS_A_NODE, 100.0)
    gangs.hurry(UNIT)
    gangs.attempted(UNIT, 101.0)
    gangs.refused(UNIT, 1)
    gangs.observe(UNIT, LACKS_A_NODE, 102.0)
    gangs.cannot_complete(UNIT, 102.0)

    assert gangs.deadlines.take(110.5) == []
    assert gangs.deadlines.take(111.0) == [UNIT]


def test_refused_evictions_are_tried_again_after_longer_and_longer() -> None:
    gangs = Gangs()
    gangs.observe(UNIT, LACKS_A_POD, 0.0, ran=True)
    times: list[float] = []
    for _ in range(9):
        now = gangs.deadlines.next_time()
        assert now is not None
        assert gangs.deadlines.take(now) == [UNIT]
        times.append(now)
        gangs.attempted(UNIT, now)
        gangs.refused(UNIT, 1)
        state = gangs.observe(UNIT, LACKS_A_POD, now)
        assert isinstance(state, Stale)
        assert (state.refused, state.evicted_at) == (1, gangs.deadlines.next_time())

    assert [after - before for before, after in pairwise(times)] == [10, 20, 40, 80, 160, 320, 600, 600]


class Sending:
    """A core without a server, and what it sends."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.calls: list[Call] = []
        self.core = Core(
            Settings(),
            lambda call, _: self.calls.append(call),
            reporter=Silence(),
            observer=Silence(),
            random=Random(1),
        )
        for each in objects:
            self.core.state.put(entry(each))

    def sent(self, kind: type[Bind | Evict]) -> list[str]:
        """The pods of the calls of a kind since the last time."""
        calls, self.calls = self.calls, []
        return sorted(call.pod.name for call in calls if isinstance(call, kind))


def test_nothing_is_evicted_for_as_long_as_a_replacement_is_to_be_tried() -> None:
    running = [pod(f"p{i}", "g", on=f"n{i}") for i in range(2)]
    scheduler = Sending(node("n0", 1), node("n1", 1), pod_group("g", minMember=2), *running)
    core = scheduler.core
    core.look(0.0)
    core.state.remove(Key("", "Pod", "default", "p1"))
    core.state.put(entry(pod("rival", on="n1", scheduler="other")))
    core.look(1.0)
    core.state.put(entry(pod("r1", "g")))
    core.look(61.0)
    core.evict_overdue(61.0)
    assert scheduler.sent(Evict) == []

    # It is tried, and does not fit.
    while core.decide(61.5):
        pass
    core.evict_overdue(61.5)
    assert scheduler.sent(Evict) == ["p0"]


def test_a_gang_is_complete_as_soon_as_its_replacement_is_assumed() -> None:
    running = [pod(f"p{i}", "g", on=f"n{i}") for i in range(2)]
    scheduler = Sending(node("n0", 1), node("n1", 1), pod_group("g", minMember=2), *running)
    core = scheduler.core
    core.look(0.0)
    core.state.remove(Key("", "Pod", "default", "p1"))
    core.look(1.0)
    core.state.put(entry(pod("r1", "g")))
    core.look(61.0)
    while core.decide(61.0):
        pass
    core.evict_overdue(61.0)

    assert len(scheduler.calls) == 1
    assert scheduler.sent(Bind) == ["r1"]


def test_an_eviction_without_an_answer_is_requested_again_and_given_up_after_a_while() -> None:
    scheduler = Sending(node("n0", 1), pod_group("g", minMember=2), pod("p0", "g", on="n0"))
    core = scheduler.core
    core.look(0.0)
    core.evict_overdue(60.0)
    (call,) = scheduler.calls
    for _ in range(EVICTION_TRIES):
        assert core.acting.busy_with(UNIT)
        assert scheduler.sent(Evict) == ["p0"]
        core.acting.answered(Answered(call, Answer.LOST))
    core.look(70.0)

    assert not core.acting.busy_with(UNIT)
    assert scheduler.sent(Evict) == []
    core.evict_overdue(71.0)
    assert scheduler.sent(Evict) == ["p0"]


@pytest.mark.parametrize(
    ("answers", "refused", "gpus"),
    [
        pytest.param([Answer.DONE], 0, 0, id="an eviction that the server accepts releases quota at once"),
        pytest.param([Answer.REFUSED], 1, 1, id="an eviction that the server refuses for good is counted"),
        pytest.param(
            [Answer.LATER] * EVICTION_TRIES,
            1,
            1,
            id="an eviction that the server refuses for now is counted once",
        ),
    ],
)
def test_the_answer_to_an_eviction(answers: list[Answer], refused: int, gpus: int) -> None:
    group = pod_group("g", minMember=2, queue="q")
    scheduler = Sending(node("n0", 1), queue("q"), group, pod("p0", "g", on="n0"))
    core = scheduler.core
    core.look(0.0)
    core.evict_overdue(60.0)
    (call,) = scheduler.calls
    for answer in answers:
        core.acting.answered(Answered(call, answer))

    assert core.accounts.used(Account(("Queue q",), Resources()), GPU) == gpus
    core.look(61.0)
    state = core.gangs.below_minimum(UNIT)
    assert isinstance(state, PartiallyBound)
    assert state.refused == refused
