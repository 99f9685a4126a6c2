"""The tree of a PodGroup's subgroups: names, parents, circles and depth."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.dialects.kit import TOPOLOGY, close, pod, pod_group, problems


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1}, {"name": "a", "minMember": 2}]},
            ['2:spec.subGroups[1].name: "a" is already the name of spec.subGroups[0]. Give each its own.'],
            id="two subgroups cannot share a name",
            marks=pytest.mark.requirement("A13"),
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
            marks=pytest.mark.requirement("A13"),
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
            marks=pytest.mark.requirement("A13"),
        ),
        pytest.param(
            {"subGroups": [{"name": "A_b", "minMember": 1}]},
            [
                '2:spec.subGroups[0].name: "A_b" is not a valid name. Allowed are at most 63 lower-case letters,'
                " digits and dashes, with a letter or digit at both ends."
            ],
            id="a name must fit a label",
            marks=pytest.mark.requirement("A13"),
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
            {"subGroups": [{"name": "a", "minMember": 1}], "subgroups": [{"name": "b", "minMember": 1}]},
            ["2:spec.subgroups: This stands beside subGroups. Keep subGroups only."],
            id="the two spellings of subgroups cannot stand side by side",
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
