"""The tree of a PodGroup, step by step of the design, and beside it what goes wrong in the system built from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.dialects.core.levels import Levels
from closeknit.dialects.osmo.tree import GroupRequirement, Tree, tree
from closeknit.hub.topology import Level
from tests.unit.dialects.osmo.kit import each, leaves, pod_group, pool, rows, workflow

LEVELS = tuple(Level(f"t/{key}", key) for key in ("zone", "spine", "rack"))
SUBGROUP = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@pytest.mark.parametrize(
    ("requirements", "want"),
    [
        pytest.param(
            {"a": ["rack=r"], "b": ["rack=r"]},
            ["- pods=2 =t/rack"],
            id="step 6: without subgroups minMember stands at the top",
            marks=pytest.mark.requirement("O37"),
        ),
        pytest.param(
            {"a": [], "b": []},
            ["- pods=2"],
            id="tasks without any requirement are a plain gang",
        ),
        pytest.param(
            {"a": ["rack=r1"], "b": ["rack=r1"], "c": ["rack=r2"]},
            ["-", "r1 pods=2 =t/rack", "r2 pods=1 =t/rack"],
            id="step 6: with subgroups minMember stands on the leaves only",
            marks=pytest.mark.requirement("O34", "O37"),
        ),
        pytest.param(
            {"a": ["rack=r1", "zone=w"], "b": ["zone=w", "rack=r2"]},
            ["- =t/zone", "r1 pods=1 =t/rack", "r2 pods=1 =t/rack"],
            id="step 3: the level that all share becomes the constraint of the whole, in whatever order it is written",
            marks=pytest.mark.requirement("O23", "O29"),
        ),
        pytest.param(
            {"a": ["zone=w", "spine=x", "rack=r1"], "b": ["zone=w", "spine=x", "rack=r2"]},
            ["- =t/spine", "r1 pods=1 =t/rack", "r2 pods=1 =t/rack"],
            id="step 3: of several shared levels the finest is kept",
            marks=pytest.mark.requirement("O31"),
        ),
        pytest.param(
            {"a": ["zone=w", "rack~r"], "b": ["zone=w", "rack~r"]},
            ["- pods=2 =t/zone ~t/rack"],
            id="a required level above a preferred one is not lost when both are shared",
            marks=pytest.mark.requirement("O32"),
        ),
        pytest.param(
            {"a": ["zone=w", "spine~x", "rack=r1"], "b": ["zone=w", "spine~x", "rack=r2"]},
            ["- =t/zone ~t/spine", "r1 pods=1 =t/rack", "r2 pods=1 =t/rack"],
            id="required and preferred are kept together above a branch as well",
        ),
        pytest.param(
            {"a": ["zone~w", "rack=r"], "b": ["zone~w", "rack=r"]},
            ["- pods=2 =t/rack"],
            id="a preference for what is required anyway says nothing and is left out",
        ),
        pytest.param(
            {"a": ["zone~w", "spine~x"], "b": ["zone~w", "spine~x"]},
            ["- pods=2 ~t/spine"],
            id="of several shared preferences the finest is kept, because it falls back to the coarser by itself",
        ),
        pytest.param(
            {"a": ["zone=z1", "rack=r1"], "b": ["zone=z2", "rack=r1"]},
            [
                "-",
                "z1 groups=1 =t/zone",
                "z1-r1 pods=1 =t/rack in z1",
                "z2 groups=1 =t/zone",
                "z2-r1 pods=1 =t/rack in z2",
            ],
            id="step 2: one name below two groups means two groups, and no level is dropped",
            marks=pytest.mark.requirement("O30"),
        ),
        pytest.param(
            {
                "a": ["zone=z1", "spine=s1", "rack=r1"],
                "b": ["zone=z1", "spine=s1", "rack=r2"],
                "c": ["zone=z2", "spine=s1", "rack=r1"],
            },
            [
                "-",
                "z1 groups=1 =t/zone",
                "z1-s1 groups=2 =t/spine in z1",
                "z1-s1-r1 pods=1 =t/rack in z1-s1",
                "z1-s1-r2 pods=1 =t/rack in z1-s1",
                "z2 groups=1 =t/zone",
                "z2-s1 groups=1 =t/spine in z2",
                "z2-s1-r1 pods=1 =t/rack in z2-s1",
            ],
            id="step 4: parents count their children and never pods, and all leaves lie equally deep",
            marks=pytest.mark.requirement("O33"),
        ),
        pytest.param(
            {"a": ["rack=r1"], "b": ["rack=r2"], "c": []},
            ["-", "r1 pods=1 =t/rack", "r2 pods=1 =t/rack", "catch-all pods=1 ~t/rack"],
            id="step 5: a task without requirements gets the catch-all subgroup, at the level of the others",
            marks=pytest.mark.requirement("O35"),
        ),
        pytest.param(
            {"a": ["zone=w", "rack=r1"], "b": ["zone=w"], "c": ["zone=w"]},
            ["- =t/zone", "r1 pods=1 =t/rack", "catch-all pods=2 ~t/rack"],
            id="step 5: tasks with fewer levels are padded with a preference at the finer one",
            marks=pytest.mark.requirement("O24", "O36"),
        ),
        pytest.param(
            {"a": ["zone=z1", "spine=s", "rack=r"], "b": ["zone=z2"]},
            [
                "-",
                "z1 groups=1 =t/zone",
                "z1-s groups=1 =t/spine in z1",
                "z1-s-r pods=1 =t/rack in z1-s",
                "z2 groups=1 =t/zone",
                "z2-catch-all groups=1 ~t/spine in z2",
                "z2-catch-all-rack pods=1 ~t/rack in z2-catch-all",
            ],
            id="step 5: padding reaches down through all finer levels",
            marks=pytest.mark.requirement("O36"),
        ),
        pytest.param(
            {"a": ["zone=z1", "rack=r1"], "b": ["rack=r2"]},
            [
                "-",
                "z1 groups=1 =t/zone",
                "z1-r1 pods=1 =t/rack in z1",
                "anywhere groups=1",
                "anywhere-r2 pods=1 =t/rack in anywhere",
            ],
            id="a coarser level that a task leaves out is a step without a constraint",
        ),
        pytest.param(
            {"a": ["rack=r1"], "b": ["rack=catch-all"], "c": []},
            ["-", None, "r1 pods=1 =t/rack", None],
            id="a group that is called as the catch-all is told apart from it",
        ),
    ],
)
@pytest.mark.requirement("O24", "O29", "O30", "O31", "O32", "O33", "O35", "O36", "O37")
def test_tasks_form_this_tree(requirements: Mapping[str, Sequence[str]], want: Sequence[str | None]) -> None:
    got = rows(pod_group(pool(), each(requirements)))

    assert len(got) == len(want)
    assert set(want) - set(got) <= {None}
    assert [row for row in want if row is not None] == [row for row in got if row in want]


def test_groups_whose_joined_names_are_alike_are_told_apart() -> None:
    found = leaves(
        pool(keys=("zone", "rack")),
        each({"x": ["zone=a-b", "rack=c"], "y": ["zone=a", "rack=b-c"], "z": ["zone=a-b-c", "rack=d"]}),
    )

    assert len(set(found.values())) == 3
    assert all(SUBGROUP.fullmatch(name) for name in found.values())
    assert found["x"].startswith("a-b-c-")
    assert found["z"] == "a-b-c-d"


@pytest.mark.requirement("O35")
def test_every_pod_is_in_a_leaf_where_there_are_subgroups() -> None:
    found = leaves(pool(), each({"t1": ["rack=g1"], "t2": ["rack=g2"], "t3": []}))

    assert found == {"t1": "g1", "t2": "g2", "t3": "catch-all"}


def test_no_pod_names_a_subgroup_where_there_is_none() -> None:
    assert leaves(pool(), each({"a": ["rack=g"], "b": ["rack=g"]})) == {"a": "", "b": ""}


@pytest.mark.parametrize(
    "group",
    [
        pytest.param("Model_1.Größe", id="letters and signs that a label cannot hold"),
        pytest.param("-a-", id="dashes at the ends"),
        pytest.param("***", id="nothing that can be kept"),
        pytest.param("g" * 253, id="more than 63 characters"),
    ],
)
def test_a_subgroup_is_named_within_the_rules_of_kubernetes(group: str) -> None:
    found = leaves(pool(), each({"a": [f"rack={group}"], "b": ["rack=other"]}))

    assert SUBGROUP.fullmatch(found["a"])
    assert found["b"] == "other"


def test_groups_that_differ_in_capitals_only_are_two() -> None:
    found = leaves(pool(), each({"a": ["rack=G"], "b": ["rack=g"]}))

    assert found["a"] != found["b"]


def test_a_group_named_like_a_marked_one_is_told_apart() -> None:
    first = leaves(pool(), each({"a": ["rack=G"], "b": ["rack=g"]}))
    found = leaves(pool(), each({"a": ["rack=G"], "b": ["rack=g"], "c": [f"rack={first['a']}"]}))

    assert len(set(found.values())) == 3


@pytest.mark.requirement("O23")
def test_the_order_of_tasks_never_shows_in_the_tree() -> None:
    requirements = {"a": ["zone=z1", "rack=r1"], "b": ["zone=z2"], "c": [], "d": ["rack=x"], "e": ["zone=Z1"]}

    shuffled = dict(reversed(requirements.items()))

    assert rows(pod_group(pool(), each(requirements))) == rows(pod_group(pool(), each(shuffled)))


def test_tasks_of_one_resource_without_a_group_are_together() -> None:
    close = {"default": {"topology": [{"key": "rack"}]}}

    assert rows(pod_group(pool(), workflow(["a", "b", "c"], close))) == ["- pods=3 =t/rack"]


@st.composite
def required_groups(draw: st.DrawFn) -> list[tuple[str, dict[str, GroupRequirement]]]:
    """Tasks in which a group of a level always has the same coarser keys and the same strictness."""
    tasks = []
    for i in range(draw(st.integers(1, 8))):
        requirements: dict[str, GroupRequirement] = {}
        for level in LEVELS:
            number = draw(st.integers(0, 3))
            if number:
                above = "".join(sorted(requirements))
                requirements[level.label] = GroupRequirement(f"{above}{number}", required=number != 3)
        tasks.append((f"t{i}", requirements))
    return tasks


def _depths(found: Tree) -> dict[str, int]:
    depths = {"": 0}
    for subgroup in found.subgroups:
        depths[subgroup.name] = depths[subgroup.parent] + 1
    return depths


@settings(max_examples=300)
@given(required_groups())
def test_whatever_tasks_ask_the_tree_says_it_once_for_each(
    tasks: list[tuple[str, dict[str, GroupRequirement]]],
) -> None:
    found = tree(tasks, LEVELS)
    named = {subgroup.name: subgroup for subgroup in found.subgroups}
    depths = _depths(found)

    assert len(named) == len(found.subgroups)
    assert all(SUBGROUP.fullmatch(name) for name in named)
    in_leaves = [task for subgroup in found.subgroups for task in subgroup.tasks]
    assert sorted(in_leaves) == (sorted(task for task, _ in tasks) if named else [])
    assert len({depths[one.name] for one in found.subgroups if one.tasks}) <= 1
    for subgroup in found.subgroups:
        assert bool(subgroup.tasks) != bool(subgroup.children)
    labels = [level.label for level in LEVELS]
    for task, requirements in tasks:
        way, name = [found.levels], found.subgroup_of().get(task, "")
        while name:
            way.append(named[name].levels)
            name = named[name].parent
        required = max((labels.index(close.required) for close in way if close.required), default=-1)
        asked = max((labels.index(label) for label, own in requirements.items() if own.required), default=-1)
        assert required == asked, "what is required of a task is what it asked for, no more and no less"


@settings(max_examples=300)
@given(required_groups())
def test_two_tasks_share_a_required_group_exactly_if_they_asked_for_the_same(
    tasks: list[tuple[str, dict[str, GroupRequirement]]],
) -> None:
    found = tree(tasks, LEVELS)
    named = {subgroup.name: subgroup for subgroup in found.subgroups}
    leaf = found.subgroup_of()

    def groups(task: str) -> set[tuple[str, str]]:
        made = {("", found.levels.required)} if found.levels.required else set()
        name = leaf.get(task, "")
        while name:
            if (label := named[name].levels.required) is not None:
                made.add((name, label))
            name = named[name].parent
        return {(name, label) for name, label in made if label}

    for one, mine in tasks:
        for other, theirs in tasks:
            # The finest required level up to which both walked the same way.
            same, shared = [], True
            for level in LEVELS:
                a, b = mine.get(level.label), theirs.get(level.label)
                shared = shared and a == b
                if shared and a is not None and a.required:
                    same.append(level.label)
            together = {label for _, label in groups(one) & groups(other)}
            assert not same or same[-1] in together
            assert together <= set(same)


def test_an_empty_list_of_levels_makes_no_constraint() -> None:
    assert tree([("a", {})], ()) == Tree(Levels(), ())
