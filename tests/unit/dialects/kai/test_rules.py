"""Every rule for a PodGroup, with the path and the facts that its author reads."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.problems import Range
from closeknit.hub.sentences import core, hub, kai, wire
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload
from tests.kit.problems import Finding, finding
from tests.unit.dialects.expected import (
    IN_QUOTES,
    PRIORITY_CLASSES,
    misspelt,
    not_found,
    unknown_choice,
    with_suggestions,
    wrong_type,
)
from tests.unit.dialects.kit import TOPOLOGY, close, pod_group, reading, reported


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"minMember": 1, "minSubGroup": 1, "subGroups": [{"name": "a", "minMember": 1}]},
            [finding(kai.TWO_MINIMUMS, "2:spec.minSubGroup")],
            id="a PodGroup has minMember or minSubGroup, not both",
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1, "minSubGroup": 0}]},
            [finding(kai.TWO_MINIMUMS, "2:spec.subGroups[0].minSubGroup")],
            id="a subgroup has minMember or minSubGroup, not both",
        ),
        pytest.param(
            {
                "preemptibility": "Preemptible",
                "preemptionDelay": "-5s",
                "stalenessGracePeriod": "soon",
                "schedulingBackoff": 2,
                "markUnschedulable": "yes",
            },
            [
                unknown_choice("2:spec.preemptibility", "Preemptible", ("preemptible", "non-preemptible")),
                finding(core.NEGATIVE_DURATION, "2:spec.preemptionDelay", value="-5s"),
                finding(core.NOT_A_DURATION, "2:spec.stalenessGracePeriod", value="soon"),
                finding(kai.NOT_A_BACKOFF, "2:spec.schedulingBackoff", value="2"),
                wrong_type("2:spec.markUnschedulable", '"yes", a string,', "true or false"),
            ],
            id="fields that are not about placement are held to what KAI takes",
        ),
        pytest.param(
            {"preemptibility": 1, "preemptionDelay": 5, "schedulingBackoff": True},
            [
                wrong_type("2:spec.preemptibility", "1, a number,", "a string"),
                wrong_type("2:spec.preemptionDelay", "5, a number,", "a string"),
                finding(kai.NOT_A_BACKOFF, "2:spec.schedulingBackoff", value="true"),
            ],
            id="fields that are not about placement have their types",
        ),
        pytest.param(
            {
                "preemptibility": "non-preemptible",
                "preemptionDelay": "1h30m",
                "stalenessGracePeriod": "-1s",
                "schedulingBackoff": -1,
                "markUnschedulable": True,
            },
            [],
            id="what KAI takes is taken",
        ),
        pytest.param(
            {"subGroups": [{"name": "a"}, {"name": "b", "minMember": 1}]},
            [finding(kai.LEAF_WITHOUT_MINIMUM, "2:spec.subGroups[0].minMember", name="a")],
            id="a leaf needs minMember",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "minSubGroup": 1}]},
            [finding(kai.LEAF_COUNTS_SUBGROUPS, "2:spec.subGroups[0].minSubGroup", name="a")],
            id="a leaf has no subgroups to count",
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "parent": "a", "minMember": 1}]},
            [finding(kai.PARENT_COUNTS_PODS, "2:spec.subGroups[0].minMember", name="a")],
            id="a parent has no pods to count",
            marks=pytest.mark.requirement("A9"),
        ),
        pytest.param(
            {"minSubGroup": 3, "subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 1}]},
            [finding(kai.MORE_THAN_CHILDREN, "2:spec.minSubGroup", value=3, allowed=Range(0, 2))],
            id="a PodGroup cannot need more subgroups than it has",
        ),
        pytest.param(
            {
                "subGroups": [
                    {"name": "a", "minSubGroup": 2},
                    {"name": "b", "parent": "a", "minMember": 1},
                    {"name": "c", "minMember": 1},
                ]
            },
            [
                finding(
                    kai.MORE_THAN_CHILDREN, "2:spec.subGroups[0].minSubGroup", value=2, allowed=Range(0, 1)
                )
            ],
            id="a subgroup cannot need more children than it has",
        ),
        pytest.param(
            {"minSubGroup": 1},
            [finding(kai.NO_SUBGROUPS_TO_COUNT, "2:spec.minSubGroup", field="subGroups")],
            id="a PodGroup without subgroups has none to count",
        ),
        pytest.param(
            {"minMember": -1},
            [finding(hub.NEGATIVE, "2:spec.minMember", value=-1)],
            id="minMember cannot be negative",
        ),
        pytest.param(
            {"minSubGroup": -2, "subGroups": [{"name": "a", "minMember": -1}]},
            [
                finding(hub.NEGATIVE, "2:spec.minSubGroup", value=-2),
                finding(hub.NEGATIVE, "2:spec.subGroups[0].minMember", value=-1),
            ],
            id="every negative number is told",
        ),
        pytest.param(
            {"minMember": 2**31},
            [
                finding(
                    wire.OUT_OF_RANGE, "2:spec.minMember", value="2147483648", limit="at most 2147483647"
                ),
            ],
            id="a number must fit 32 bits",
        ),
        pytest.param(
            {"minMember": 2_000_000_000},
            [finding(kai.TOO_MANY_ASSUMED, "2:spec.minMember", most=150_000)],
            id="pods are assumed up to the size of a cluster",
        ),
        pytest.param(
            {"subGroups": [{"name": name, "minMember": 60_000} for name in "abc"]},
            [finding(kai.TOO_MANY_ASSUMED, "2:spec.subGroups[2].minMember", most=150_000)],
            id="assumed pods are counted over all subgroups",
        ),
        pytest.param(
            {"priorityClassName": "trane"},
            [not_found("2:spec.priorityClassName", "PriorityClass", "trane", PRIORITY_CLASSES)],
            id="an unknown priority class is named with the nearest one",
        ),
        pytest.param(
            {"minMembers": 1, "subGroups": [{"name": "a", "minMember": 1, "topologyConstrain": {}}]},
            [
                misspelt("2:spec.minMembers", "minMembers", "minMember"),
                misspelt("2:spec.subGroups[0].topologyConstrain", "topologyConstrain", "topologyConstraint"),
            ],
            id="misspelt fields are named with the nearest ones",
        ),
        pytest.param(
            {"minMember": "2", "subGroups": {"name": "a"}, "topologyConstraint": {"topology": 5}},
            [
                wrong_type("2:spec.minMember", '"2", a string,', "a whole number"),
                wrong_type("2:spec.subGroups", "a mapping", "a list"),
                wrong_type("2:spec.topologyConstraint.topology", "5, a number,", "a string", IN_QUOTES),
            ],
            id="wrong types are all told, with what was found",
        ),
    ],
)
def test_refuses(spec: dict[str, Any], want: list[Finding]) -> None:
    assert with_suggestions(reported(TOPOLOGY, pod_group(spec))) == want


def test_all_problems_come_at_once() -> None:
    spec = {
        "minMember": 1,
        "minSubGroup": 9,
        "extra": 1,
        "topologyConstraint": close("nope"),
        "subGroups": [
            {"name": "a", "parent": "b"},
            {"name": "b", "parent": "a"},
            {"name": "c", "parent": "x", "minMember": 1},
            {"name": "c", "minMember": 1},
            {"name": "D", "minMember": -1, "topologyConstraint": close("topology/rack", "nowhere")},
        ],
    }

    assert [problem.where for problem in reported(TOPOLOGY, pod_group(spec))] == [
        "2:spec.extra",
        "2:spec.subGroups[3].name",
        "2:spec.subGroups[4].name",
        "2:spec.subGroups[2].parent",
        "2:spec.subGroups[0].parent",
        "2:spec.minSubGroup",
        "2:spec.minSubGroup",
        "2:spec.subGroups[4].minMember",
        "2:spec.topologyConstraint.requiredTopologyLevel",
        "2:spec.subGroups[4].topologyConstraint.preferredTopologyLevel",
    ]


def test_an_invalid_pod_group_is_a_workload_without_a_request() -> None:
    for spec in ({"minMember": -1}, {"minMember": "x"}, {"nonsense": 1}):
        (workload,) = reading(pod_group(spec)).workloads

        assert isinstance(workload, InvalidWorkload)
        assert workload.object.name == "g"
        assert len(workload.problems) == 1


def test_lenient_passes_over_unknown_fields_and_priority_classes() -> None:
    spec = {"minMember": 1, "colour": "red", "priorityClassName": "mine"}
    found = reading(pod_group(spec), lenient=True)

    assert found.problems == ()
    assert isinstance(found.workloads[0], PlaceableWorkload)


def test_lenient_does_not_pass_over_mistakes() -> None:
    assert reported(pod_group({"minMember": -1, "colour": "red"}), lenient=True) == [
        finding(hub.NEGATIVE, "1:spec.minMember", value=-1)
    ]
