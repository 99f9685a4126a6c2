"""The tree of a PodGroup's subgroups: names, parents, circles and depth."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.problems import Field, OneOf
from closeknit.hub.sentences import core, kai, wire
from tests.kit.problems import Finding, finding
from tests.unit.dialects.expected import not_found, wrong_type
from tests.unit.dialects.kit import TOPOLOGY, close, pod, pod_group, reported


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1}, {"name": "a", "minMember": 2}]},
            [
                finding(
                    core.NAME_TAKEN,
                    "2:spec.subGroups[1].name",
                    name="a",
                    field=Field(("spec", "subGroups", 0)),
                )
            ],
            id="two subgroups cannot share a name",
            marks=pytest.mark.requirement("A13"),
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1}, {"name": "a", "parent": "b"}]},
            [
                finding(
                    core.NAME_TAKEN,
                    "2:spec.subGroups[1].name",
                    name="a",
                    field=Field(("spec", "subGroups", 0)),
                ),
                not_found("2:spec.subGroups[1].parent", "subgroup", "b", ()),
                finding(kai.LEAF_WITHOUT_MINIMUM, "2:spec.subGroups[1].minMember", name="a"),
            ],
            id="a name that stands twice does not hide what else is wrong there",
        ),
        pytest.param(
            {
                "minSubGroup": 1,
                "subGroups": [{"name": "a"}, {"name": "a"}, {"name": "b", "parent": "a", "minMember": 1}],
            },
            [
                finding(
                    core.NAME_TAKEN,
                    "2:spec.subGroups[1].name",
                    name="a",
                    field=Field(("spec", "subGroups", 0)),
                )
            ],
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
            [not_found("2:spec.subgroups[2].parent", "subgroup", "wrokers", ("a", "workers"))],
            id="a parent that is missing is named with the nearest one, in the author's spelling",
            marks=pytest.mark.requirement("A13"),
        ),
        pytest.param(
            {"subGroups": [{"name": "workers"}, {"name": "a", "parent": "worker", "minMember": 1}]},
            [not_found("2:spec.subGroups[1].parent", "subgroup", "worker", ("workers",))],
            id="a subgroup that was meant as a parent is not asked for minMember on top",
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "parent": "a"}]},
            [
                finding(kai.CIRCLE_OF_SUBGROUPS, "2:spec.subGroups[0].parent", circle='"a" > "a"'),
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
                finding(
                    kai.CIRCLE_OF_SUBGROUPS, "2:spec.subGroups[0].parent", circle='"a" > "c" > "b" > "a"'
                ),
                finding(kai.CIRCLE_OF_SUBGROUPS, "2:spec.subGroups[4].parent", circle='"x" > "y" > "x"'),
            ],
            id="each circle of parents is named once, and who hangs below it not at all",
            marks=pytest.mark.requirement("A13"),
        ),
        pytest.param(
            {"subGroups": [{"name": "A_b", "minMember": 1}]},
            [finding(kai.NOT_A_SUBGROUP_NAME, "2:spec.subGroups[0].name", name="A_b", longest=63)],
            id="a name must fit a label",
            marks=pytest.mark.requirement("A13"),
        ),
        pytest.param(
            {"subGroups": [{"name": "", "minMember": 1}, {"name": "a", "minMember": 1}]},
            [finding(kai.NOT_A_SUBGROUP_NAME, "2:spec.subGroups[0].name", name="", longest=63)],
            id="a name cannot be empty",
        ),
        pytest.param(
            {"subGroups": [{"name": "a" * 64, "minMember": 1}]},
            [
                finding(
                    kai.NOT_A_SUBGROUP_NAME,
                    "2:spec.subGroups[0].name",
                    name="a" * 64,
                    longest=63,
                )
            ],
            id="a name cannot be longer than a label's value",
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1}], "subgroups": [{"name": "b", "minMember": 1}]},
            [finding(kai.TWO_SPELLINGS, "2:spec.subgroups")],
            id="the two spellings of subgroups cannot stand side by side",
        ),
        pytest.param(
            {"subGroups": [{"minMember": 1}, "b", {"name": "c", "minMember": True}]},
            [
                finding(wire.MISSING_FIELD, "2:spec.subGroups[0].name"),
                wrong_type("2:spec.subGroups[1]", '"b", a string,', "a mapping"),
                wrong_type("2:spec.subGroups[2].minMember", "true, a truth value,", "a whole number"),
            ],
            id="a subgroup needs a name and the right shape",
        ),
    ],
)
def test_refuses(spec: dict[str, Any], want: list[Finding]) -> None:
    assert reported(TOPOLOGY, pod_group(spec)) == want


def test_what_stands_in_a_circle_is_checked_all_the_same() -> None:
    spec = {
        "subGroups": [
            {"name": "a", "parent": "b", "topologyConstraint": close("topology/rack")},
            {"name": "b", "parent": "a", "topologyConstraint": close("topology/zone")},
            {"name": "c", "parent": "b", "minMember": 1},
        ]
    }
    problems = reported(TOPOLOGY, pod_group(spec), pod("p", "g", "d"))

    assert [problem.where for problem in problems] == [
        "2:spec.subGroups[0].parent",
        "2:spec.subGroups[1].topologyConstraint.requiredTopologyLevel",
        '3:metadata.labels["kai.scheduler/subgroup-name"]',
    ]
    assert problems[-1] == finding(
        kai.NO_SUCH_SUBGROUP,
        '3:metadata.labels["kai.scheduler/subgroup-name"]',
        group="default/g",
        subgroup="d",
        allowed=OneOf("d", ("c",)),
    )


def test_subgroups_nest_sixty_four_deep_and_no_deeper() -> None:
    def chain(length: int) -> str:
        subgroups: list[dict[str, Any]] = [{"name": f"g{i}", "parent": f"g{i - 1}"} for i in range(length)]
        del subgroups[0]["parent"]
        subgroups[-1]["minMember"] = 1
        return pod_group({"subGroups": subgroups})

    assert reported(chain(64)) == []
    assert reported(chain(65)) == [finding(kai.SUBGROUPS_TOO_DEEP, "1:spec.subGroups[64].parent", deepest=64)]
    assert len(reported(chain(20_000))) == 1
