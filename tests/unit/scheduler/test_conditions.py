from __future__ import annotations

from typing import Any

import pytest

from closeknit.apis.closeknit_keys import OUTCOME
from closeknit.hub.copying import replace
from closeknit.scheduler.gangs.states import PartiallyBound
from closeknit.scheduler.status import reports
from closeknit.scheduler.status.conditions import pod_condition, pod_group_status, shows
from closeknit.scheduler.status.reports import ConstraintState, Report
from tests.unit.scheduler.verdicts import decided, gang

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
UNPLACED, PLACED = reports.report(decided(gang(2))), reports.report(decided(gang(1)))
VIOLATED = replace(PLACED, constraint=ConstraintState.VIOLATED, constraint_message="why")


def status(*told: Report, before: dict[str, Any] | None = None, **labels: str) -> dict[str, Any]:
    """What a PodGroup's status holds after these reports, an hour between the last two."""
    held = dict(before or {})
    for number, each in enumerate(told):
        group = {"metadata": {"labels": labels}, "status": held}
        held |= pod_group_status(each, group, LATER if number else NOW) or {}
    return held


def by_type(conditions: list[dict[str, Any]]) -> dict[str, tuple[str, str, str, str]]:
    return {
        each["type"]: (each["status"], each["reason"], each["lastTransitionTime"], each["transitionID"])
        for each in conditions
    }


@pytest.mark.parametrize(
    ("told", "conditions", "here"),
    [
        pytest.param(
            (UNPLACED,),
            {
                "Scheduled": ("False", "Unschedulable", NOW, "1"),
                "Unschedulable": ("True", "Unschedulable", NOW, "2"),
            },
            {"UnschedulableOnNodePool": ("True", "Unschedulable", NOW, "1")},
            id="a gang without room is unschedulable on its node pool",
        ),
        pytest.param(
            (PLACED,),
            {"Scheduled": ("True", "Scheduled", NOW, "1")},
            {},
            id="a gang that finds room at once never was unschedulable",
        ),
        pytest.param(
            (UNPLACED, PLACED),
            {
                "Scheduled": ("True", "Scheduled", LATER, "3"),
                "Unschedulable": ("False", "Scheduled", LATER, "4"),
            },
            {},
            id="room that comes later ends the condition and moves its time",
        ),
        pytest.param(
            (UNPLACED, reports.report(decided(gang(3)))),
            {
                "Scheduled": ("False", "Unschedulable", NOW, "1"),
                "Unschedulable": ("True", "Unschedulable", NOW, "2"),
            },
            {"UnschedulableOnNodePool": ("True", "Unschedulable", NOW, "1")},
            id="another reason does not move the time of a condition whose status stays",
        ),
        pytest.param(
            (PLACED, reports.released(PartiallyBound(("p1", "p2"), 60.0))),
            {"Scheduled": ("False", "Released", LATER, "2")},
            {},
            id="a gang that was let go is no longer scheduled",
        ),
        pytest.param(
            (UNPLACED, reports.released(PartiallyBound(("p1", "p2"), 60.0))),
            {
                "Scheduled": ("False", "Released", NOW, "1"),
                "Unschedulable": ("False", "Released", LATER, "3"),
            },
            {},
            id="another state does not move the time of a condition whose status stays",
        ),
        pytest.param(
            (VIOLATED, reports.released(PartiallyBound(("p1", "p2"), 60.0))),
            {"Scheduled": ("False", "Released", LATER, "3")},
            {},
            id="what does not run any more breaks no constraint",
        ),
    ],
)
def test_conditions_of_a_pod_group(
    told: tuple[Report, ...], conditions: dict[str, Any], here: dict[str, Any]
) -> None:
    held = status(*told)

    assert by_type(held["conditions"]) == conditions
    assert by_type(held.get("schedulingConditions", [])) == here


def test_the_condition_names_the_pool_and_every_reason() -> None:
    (here,) = status(UNPLACED)["schedulingConditions"]

    assert here["nodePool"] == "default"
    assert here["message"] == UNPLACED.message
    assert here["reasons"] == [{"reason": "PodSchedulingErrors", "message": UNPLACED.reasons[0].message}]


def test_the_condition_of_a_pod_group_in_a_node_pool_names_that_pool() -> None:
    default = {"type": "UnschedulableOnNodePool", "nodePool": "default", "status": "True"}
    pool: dict[str, Any] = {"kai.scheduler/node-pool": "a100"}

    first, here = status(UNPLACED, before={"schedulingConditions": [default]}, **pool)["schedulingConditions"]

    assert first is default
    assert (here["nodePool"], here["status"]) == ("a100", "True")
    assert status(UNPLACED, PLACED, **pool)["schedulingConditions"] == []


def test_the_same_report_again_changes_nothing() -> None:
    assert pod_group_status(UNPLACED, {"status": status(UNPLACED)}, LATER) is None


@pytest.mark.parametrize("kind", ["PodGroup", "Job"])
def test_an_object_whose_outcome_was_overwritten_or_removed_does_not_show_its_report(kind: str) -> None:
    def is_shown(outcome: str | None, annotation: str | None = None, *, annotated: bool = False) -> bool:
        annotations = {} if annotation is None else {OUTCOME: annotation}
        obj = {"metadata": {"annotations": annotations}, "status": status(UNPLACED)}
        return shows(UNPLACED, ("scheduling.run.ai", kind), obj, outcome, annotated=annotated)

    assert is_shown(UNPLACED.outcome)
    assert is_shown(None), "no server has outcomes"
    assert not is_shown(PLACED.outcome)
    assert not is_shown("{")
    assert not is_shown("")
    assert is_shown(UNPLACED.outcome, PLACED.outcome), (
        "the annotation of a namespace that does not ask for it"
    )
    assert is_shown(UNPLACED.outcome, UNPLACED.outcome, annotated=True)
    assert not is_shown(UNPLACED.outcome, PLACED.outcome, annotated=True)
    assert not is_shown(UNPLACED.outcome, annotated=True)


def test_what_others_wrote_stays() -> None:
    other = {"type": "Running", "status": "True", "transitionID": "7"}
    elsewhere = {"type": "UnschedulableOnNodePool", "nodePool": "a100", "status": "True"}

    held = status(PLACED, before={"conditions": [other], "schedulingConditions": [elsewhere]})

    assert held["conditions"][0] is other
    assert held["schedulingConditions"] == [elsewhere]


def test_a_pod_says_what_its_group_waits_for() -> None:
    assert pod_condition(UNPLACED, "PodGroup default/train", NOW) == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": f"PodGroup default/train: {UNPLACED.brief}",
        "lastTransitionTime": NOW,
    }
