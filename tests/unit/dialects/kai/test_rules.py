"""Every rule for a PodGroup, with the exact path and sentence that its author reads."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.request import Group
from tests.unit.dialects.kit import TOPOLOGY, pod, pod_group, problems, reading


def close(required: str = "", preferred: str = "", topology: str = "tree") -> dict[str, Any]:
    levels = {"requiredTopologyLevel": required, "preferredTopologyLevel": preferred}
    return {"topology": topology, **{field: level for field, level in levels.items() if level}}


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
            {"subGroups": [{"name": "a", "minMember": 1}, {"name": "a", "minMember": 2}]},
            ['2:spec.subGroups[1].name: "a" is already the name of spec.subGroups[0]. Give each its own.'],
            id="two subgroups cannot share a name",
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1}, {"name": "a", "parent": "b"}]},
            [
                '2:spec.subGroups[1].name: "a" is already the name of spec.subGroups[0]. Give each its own.',
                '2:spec.subGroups[1].parent: There is no subgroup "b". None is given; add it, or name none.',
                '2:spec.subGroups[1].minMember: "a" needs minMember: how many of its pods must run at once.',
            ],
            id="a name that stands twice does not hide what else is wrong there",
        ),
        pytest.param(
            {
                "minSubGroup": 1,
                "subGroups": [{"name": "a"}, {"name": "a"}, {"name": "b", "parent": "a", "minMember": 1}],
            },
            ['2:spec.subGroups[1].name: "a" is already the name of spec.subGroups[0]. Give each its own.'],
            id="nor is the second taken for a leaf where others name it as their parent",
        ),
        pytest.param(
            {
                "subgroups": [
                    {"name": "workers"},
                    {"name": "a", "parent": "workers", "minMember": 1},
                    {"name": "b", "parent": "wrokers", "minMember": 1},
                ]
            },
            [
                '2:spec.subgroups[2].parent: There is no subgroup "wrokers". Did you mean "workers"? Allowed: "a", "workers".'
            ],
            id="a parent that is missing is named with the nearest one, in the author's spelling",
        ),
        pytest.param(
            {"subGroups": [{"name": "workers"}, {"name": "a", "parent": "worker", "minMember": 1}]},
            [
                '2:spec.subGroups[1].parent: There is no subgroup "worker". Did you mean "workers"? Allowed: "workers".'
            ],
            id="a subgroup that was meant as a parent is not asked for minMember on top",
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "parent": "a"}]},
            [
                '2:spec.subGroups[0].parent: These subgroups are each other\'s parents: "a" > "a". Let one of them have no parent.',
            ],
            id="a subgroup cannot be its own parent",
        ),
        pytest.param(
            {
                "subGroups": [
                    {"name": "a", "parent": "c"},
                    {"name": "b", "parent": "a"},
                    {"name": "c", "parent": "b"},
                    {"name": "d", "parent": "a", "minMember": 1},
                    {"name": "x", "parent": "y"},
                    {"name": "y", "parent": "x"},
                ]
            },
            [
                '2:spec.subGroups[0].parent: These subgroups are each other\'s parents: "a" > "c" > "b" > "a".'
                " Let one of them have no parent.",
                '2:spec.subGroups[4].parent: These subgroups are each other\'s parents: "x" > "y" > "x".'
                " Let one of them have no parent.",
            ],
            id="each circle of parents is named once, and who hangs below it not at all",
        ),
        pytest.param(
            {"subGroups": [{"name": "a"}, {"name": "b", "minMember": 1}]},
            ['2:spec.subGroups[0].minMember: "a" needs minMember: how many of its pods must run at once.'],
            id="a leaf needs minMember",
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
            {"subGroups": [{"name": "A_b", "minMember": 1}]},
            [
                '2:spec.subGroups[0].name: "A_b" is not a valid name. Allowed are at most 63 lower-case letters,'
                " digits and dashes, with a letter or digit at both ends."
            ],
            id="a name must fit a label",
        ),
        pytest.param(
            {"subGroups": [{"name": "", "minMember": 1}, {"name": "a", "minMember": 1}]},
            [
                '2:spec.subGroups[0].name: "" is not a valid name. Allowed are at most 63 lower-case letters,'
                " digits and dashes, with a letter or digit at both ends."
            ],
            id="a name cannot be empty",
        ),
        pytest.param(
            {"subGroups": [{"name": "a" * 64, "minMember": 1}]},
            [
                f'2:spec.subGroups[0].name: "{"a" * 64}" is not a valid name. Allowed are at most 63 lower-case letters,'
                " digits and dashes, with a letter or digit at both ends."
            ],
            id="a name cannot be longer than a label's value",
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
            {"subGroups": [{"name": "a", "minMember": 1}], "subgroups": [{"name": "b", "minMember": 1}]},
            ["2:spec.subgroups: This stands beside subGroups. Keep subGroups only."],
            id="the two spellings of subgroups cannot stand side by side",
        ),
        pytest.param(
            {"topologyConstraint": close("topology/rack", topology="treee")},
            [
                '2:spec.topologyConstraint.topology: Topology "treee" is not there. Did you mean "tree"? Allowed: "tree".'
            ],
            id="an unknown topology is named with the nearest one",
        ),
        pytest.param(
            {"topologyConstraint": {"requiredTopologyLevel": "topology/rack"}},
            [
                '2:spec.topologyConstraint.topology: The topology whose levels are meant is missing. Allowed: "tree".'
            ],
            id="a level without a topology says nothing",
        ),
        pytest.param(
            {"topologyConstraint": close("topology/rak", "topology/row")},
            [
                '2:spec.topologyConstraint.requiredTopologyLevel: Topology "tree" has no level "topology/rak".'
                ' Did you mean "topology/rack"? Allowed: "block", "topology/block", "topology/rack", "topology/zone".',
                '2:spec.topologyConstraint.preferredTopologyLevel: Topology "tree" has no level "topology/row".'
                ' Did you mean "topology/zone"? Allowed: "block", "topology/block", "topology/rack", "topology/zone".',
            ],
            id="an unknown level is named with the nearest one",
        ),
        pytest.param(
            {
                "topologyConstraint": close("topology/rack"),
                "subgroups": [
                    {"name": "a", "minMember": 1, "topologyConstraint": close("topology/zone")},
                ],
            },
            [
                '2:spec.subgroups[0].topologyConstraint.requiredTopologyLevel: "topology/zone" is coarser than "topology/rack",'
                " which spec.topologyConstraint.requiredTopologyLevel names."
                ' Name "topology/rack" or a finer level, or leave it out.'
            ],
            id="a child coarser than the PodGroup is refused, naming both levels",
        ),
        pytest.param(
            {
                "subGroups": [
                    {"name": "top", "topologyConstraint": close("block")},
                    {"name": "mid", "parent": "top"},
                    {
                        "name": "low",
                        "parent": "mid",
                        "minMember": 1,
                        "topologyConstraint": close("topology/zone"),
                    },
                ]
            },
            [
                '2:spec.subGroups[2].topologyConstraint.requiredTopologyLevel: "topology/zone" is coarser than "block",'
                " which spec.subGroups[0].topologyConstraint.requiredTopologyLevel names."
                ' Name "block" or a finer level, or leave it out.'
            ],
            id="a level is compared with the nearest ancestor that has one",
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
        pytest.param(
            {"subGroups": [{"minMember": 1}, "b", {"name": "c", "minMember": True}]},
            [
                "2:spec.subGroups[0].name: This field is missing.",
                '2:spec.subGroups[1]: Found "b", a string, where a mapping is expected.',
                "2:spec.subGroups[2].minMember: Found true, a truth value, where a whole number is expected.",
            ],
            id="a subgroup needs a name and the right shape",
        ),
    ],
)
def test_refuses(spec: dict[str, Any], want: list[str]) -> None:
    assert problems(TOPOLOGY, pod_group(spec)) == want


@pytest.mark.parametrize(
    ("spec", "notes", "preferred"),
    [
        pytest.param(
            {"topologyConstraint": close("topology/rack", "topology/zone")},
            [
                'spec.topologyConstraint.preferredTopologyLevel: "topology/zone" is coarser than "topology/rack",'
                " which spec.topologyConstraint.requiredTopologyLevel requires, so preferring it changes nothing."
            ],
            {"default/g": None},
            id="coarser than the requirement says nothing",
        ),
        pytest.param(
            {
                "topologyConstraint": close(preferred="topology/rack"),
                "subGroups": [
                    {"name": "a", "minMember": 1, "topologyConstraint": close(preferred="block")},
                    {"name": "b", "minMember": 1, "topologyConstraint": close("topology/zone")},
                ],
            },
            [
                'spec.subGroups[0].topologyConstraint.preferredTopologyLevel: "block" is coarser than'
                ' "topology/rack", which spec.topologyConstraint.preferredTopologyLevel prefers.'
                ' It counts only where "topology/rack" cannot be had.'
            ],
            {"default/g": "topology/rack", "a": "topology/block", "b": None},
            id="coarser than the preference above counts where that cannot be had",
        ),
        pytest.param(
            {
                "topologyConstraint": close("topology/rack"),
                "subGroups": [{"name": "a", "minMember": 1, "topologyConstraint": close(preferred="block")}],
            },
            [
                'spec.subGroups[0].topologyConstraint.preferredTopologyLevel: "block" is coarser than'
                ' "topology/rack", which spec.topologyConstraint.requiredTopologyLevel requires,'
                " so preferring it changes nothing."
            ],
            {"default/g": None, "a": None},
            id="coarser than the requirement above says nothing",
        ),
    ],
)
def test_a_preference_is_never_refused_but_noted_where_it_is(
    spec: dict[str, Any], notes: list[str], preferred: dict[str, str | None]
) -> None:
    found = reading(TOPOLOGY, pod_group(spec))

    assert found.problems == ()
    (workload,) = found.workloads
    assert [str(note) for note in workload.notes] == notes
    assert workload.request is not None
    groups = (member for member, _ in workload.request.root.walk() if isinstance(member, Group))
    assert {group.name: group.preferred for group in groups} == preferred


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


def test_what_stands_in_a_circle_is_checked_all_the_same() -> None:
    spec = {
        "subGroups": [
            {"name": "a", "parent": "b", "topologyConstraint": close("topology/rack")},
            {"name": "b", "parent": "a", "topologyConstraint": close("topology/zone")},
            {"name": "c", "parent": "b", "minMember": 1},
        ]
    }
    found = problems(TOPOLOGY, pod_group(spec), pod("p", "g", "d"))

    assert [line.partition(": ")[0] for line in found] == [
        "2:spec.subGroups[0].parent",
        "2:spec.subGroups[1].topologyConstraint.requiredTopologyLevel",
        '3:metadata.labels["kai.scheduler/subgroup-name"]',
    ]
    assert found[-1].endswith('Allowed: "c".')


def test_a_second_topology_is_a_problem_that_names_both() -> None:
    other = TOPOLOGY.replace("name: tree", "name: other")
    spec = {
        "topologyConstraint": close("topology/zone"),
        "subGroups": [
            {"name": "a", "minMember": 1, "topologyConstraint": close("topology/rack", topology="other")},
            {"name": "b", "minMember": 1, "topologyConstraint": close("topology/rack", topology="gone")},
        ],
    }

    assert problems(TOPOLOGY, other, pod_group(spec)) == [
        '3:spec.subGroups[0].topologyConstraint.topology: "other" is not "tree",'
        " which spec.topologyConstraint.topology names. A PodGroup can speak of one topology only.",
        '3:spec.subGroups[1].topologyConstraint.topology: "gone" is not "tree",'
        " which spec.topologyConstraint.topology names. A PodGroup can speak of one topology only.",
        '3:spec.subGroups[1].topologyConstraint.topology: Topology "gone" is not there. Allowed: "other", "tree".',
    ]


def test_an_unknown_topology_is_told_once_where_it_is_first_named() -> None:
    spec = {
        "subGroups": [
            {"name": name, "minMember": 1, "topologyConstraint": close("x", topology="gone")} for name in "ab"
        ]
    }

    assert problems(pod_group(spec)) == [
        '1:spec.subGroups[0].topologyConstraint.topology: Topology "gone" is not there. None is given; add it, or name none.'
    ]


@pytest.mark.parametrize("broken", ["levels: []", "levels: 5"])
def test_a_topology_with_problems_of_its_own_is_not_called_missing(broken: str) -> None:
    topology = TOPOLOGY.partition("spec:")[0] + f"spec: {{{broken}}}"

    assert problems(topology, pod_group({"topologyConstraint": close("topology/rack")}))[1:] == [
        '2:spec.topologyConstraint.topology: Topology "tree" has problems of its own. Correct them first.'
    ]


def test_subgroups_nest_sixty_four_deep_and_no_deeper() -> None:
    def chain(length: int) -> str:
        subgroups: list[dict[str, Any]] = [{"name": f"g{i}", "parent": f"g{i - 1}"} for i in range(length)]
        del subgroups[0]["parent"]
        subgroups[-1]["minMember"] = 1
        return pod_group({"subGroups": subgroups})

    assert problems(chain(64)) == []
    assert problems(chain(65)) == [
        "1:spec.subGroups[64].parent: Subgroups are nested more than 64 deep here. Leave some of them out."
    ]
    assert len(problems(chain(20_000))) == 1


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
