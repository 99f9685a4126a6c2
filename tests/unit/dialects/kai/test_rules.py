"""Every rule for a PodGroup, with the exact path and sentence that its author reads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.dialects.kit import TOPOLOGY, close, pod_group, problems, reading


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"minMember": 1, "minSubGroup": 1, "subGroups": [{"name": "a", "minMember": 1}]},
            [
                "2:spec.minSubGroup: minMember, which counts pods, stands here as well. Only one of the two can be given."
            ],
            id="a PodGroup has minMember or minSubGroup, not both",
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1, "minSubGroup": 0}]},
            [
                "2:spec.subGroups[0].minSubGroup: minMember, which counts pods, stands here as well."
                " Only one of the two can be given."
            ],
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
                '2:spec.preemptibility: "Preemptible" is not known. Did you mean "preemptible"?'
                ' Allowed: "non-preemptible", "preemptible".',
                '2:spec.preemptionDelay: "-5s" is negative. Write zero or more, as in 90s.',
                '2:spec.stalenessGracePeriod: "soon" is not a duration. Write it as in 90s or 1h30m.',
                "2:spec.schedulingBackoff: 2 is not known. Allowed are -1 and 1.",
                '2:spec.markUnschedulable: Found "yes", a string, where true or false is expected.',
            ],
            id="fields that are not about placement are held to what KAI takes",
        ),
        pytest.param(
            {"preemptibility": 1, "preemptionDelay": 5, "schedulingBackoff": True},
            [
                "2:spec.preemptibility: Found 1, a number, where a string is expected.",
                "2:spec.preemptionDelay: Found 5, a number, where a string is expected.",
                "2:spec.schedulingBackoff: true is not known. Allowed are -1 and 1.",
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
            ['2:spec.subGroups[0].minMember: "a" needs minMember: how many of its pods must run at once.'],
            id="a leaf needs minMember",
            marks=pytest.mark.requirement("A10"),
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "minSubGroup": 1}]},
            [
                '2:spec.subGroups[0].minSubGroup: No subgroup has "a" as its parent. Use minMember, which counts pods.'
            ],
            id="a leaf has no subgroups to count",
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "parent": "a", "minMember": 1}]},
            ['2:spec.subGroups[0].minMember: "a" has subgroups, and so no pods of its own. Use minSubGroup.'],
            id="a parent has no pods to count",
            marks=pytest.mark.requirement("A9"),
        ),
        pytest.param(
            {"minSubGroup": 3, "subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 1}]},
            ["2:spec.minSubGroup: 3 is more than there are children. Allowed are 0 to 2."],
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
            ["2:spec.subGroups[0].minSubGroup: 2 is more than there are children. Allowed are 0 to 1."],
            id="a subgroup cannot need more children than it has",
        ),
        pytest.param(
            {"minSubGroup": 1},
            ["2:spec.minSubGroup: This counts subgroups, and there are none in subGroups. Use minMember."],
            id="a PodGroup without subgroups has none to count",
        ),
        pytest.param(
            {"minMember": -1},
            ["2:spec.minMember: -1 is negative. Write zero or more."],
            id="minMember cannot be negative",
        ),
        pytest.param(
            {"minSubGroup": -2, "subGroups": [{"name": "a", "minMember": -1}]},
            [
                "2:spec.minSubGroup: -2 is negative. Write zero or more.",
                "2:spec.subGroups[0].minMember: -1 is negative. Write zero or more.",
            ],
            id="every negative number is told",
        ),
        pytest.param(
            {"minMember": 2**31},
            [
                "2:spec.minMember: 2147483648 is out of range. Allowed is at most 2147483647.",
            ],
            id="a number must fit 32 bits",
        ),
        pytest.param(
            {"minMember": 2_000_000_000},
            ["2:spec.minMember: Pods are assumed where none are given, but at most 150000 for one PodGroup."],
            id="pods are assumed up to the size of a cluster",
        ),
        pytest.param(
            {"subGroups": [{"name": name, "minMember": 60_000} for name in "abc"]},
            [
                "2:spec.subGroups[2].minMember: Pods are assumed where none are given, but at most 150000 for one PodGroup."
            ],
            id="assumed pods are counted over all subgroups",
        ),
        pytest.param(
            {"priorityClassName": "trane"},
            [
                '2:spec.priorityClassName: There is no PriorityClass "trane". Did you mean "train"? Allowed: "build",'
                ' "build-preemptible", "inference", "system-cluster-critical", "system-node-critical", "train".'
            ],
            id="an unknown priority class is named with the nearest one",
        ),
        pytest.param(
            {"minMembers": 1, "subGroups": [{"name": "a", "minMember": 1, "topologyConstrain": {}}]},
            [
                '2:spec.minMembers: There is no field "minMembers" here. Did you mean "minMember"?',
                '2:spec.subGroups[0].topologyConstrain: There is no field "topologyConstrain" here.'
                ' Did you mean "topologyConstraint"?',
            ],
            id="misspelt fields are named with the nearest ones",
        ),
        pytest.param(
            {"minMember": "2", "subGroups": {"name": "a"}, "topologyConstraint": {"topology": 5}},
            [
                '2:spec.minMember: Found "2", a string, where a whole number is expected.',
                "2:spec.subGroups: Found a mapping where a list is expected.",
                "2:spec.topologyConstraint.topology: Found 5, a number, where a string is expected. Put it in quotes.",
            ],
            id="wrong types are all told, with what was found",
        ),
    ],
)
def test_refuses(spec: dict[str, Any], want: list[str]) -> None:
    assert problems(TOPOLOGY, pod_group(spec)) == want


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

    found = problems(TOPOLOGY, pod_group(spec))

    assert [line.partition(": ")[0] for line in found] == [
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

        assert workload.request is None
        assert workload.object.name == "g"
        assert len(workload.problems) == 1


def test_lenient_passes_over_unknown_fields_and_priority_classes() -> None:
    spec = {"minMember": 1, "colour": "red", "priorityClassName": "mine"}
    found = reading(pod_group(spec), lenient=True)

    assert found.problems == ()
    assert found.workloads[0].request is not None


def test_lenient_does_not_pass_over_mistakes() -> None:
    assert problems(pod_group({"minMember": -1, "colour": "red"}), lenient=True) == [
        "1:spec.minMember: -1 is negative. Write zero or more."
    ]
