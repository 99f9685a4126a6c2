from __future__ import annotations

import pytest

from closeknit.hub.request import Group, Member, PodSet, Request, problems
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.testing.builders import group, pods, request

TOPOLOGY = Topology("default", (Level("zone"), Level("block"), Level("rack")))


@pytest.mark.parametrize(
    ("member", "path", "message"),
    [
        pytest.param(
            PodSet("a", 1, bound=("x1", "x2")),
            "root.members[0].bound",
            "2 pods run already, but count is 1. Raise count.",
            id="more running pods than there are",
        ),
        pytest.param(
            PodSet("a", 3, bound=("x1",), pods=("p1",)),
            "root.members[0].pods",
            "1 names are given for 2 pods. Name all of them or none.",
            id="names for only some of the open pods",
        ),
        pytest.param(
            PodSet("a", 1, Resources({"cpu": -5})),
            "root.members[0].resources.cpu",
            "-5 is negative. Write zero or more.",
            id="a negative amount",
        ),
        pytest.param(
            pods("a", 2, minimum=3),
            "root.members[0].minimum",
            "3 is not possible. Allowed are 0 to 2.",
            id="a minimum above the count",
        ),
        pytest.param(
            pods("a", 2, minimum=-1),
            "root.members[0].minimum",
            "-1 is not possible. Allowed are 0 to 2.",
            id="a negative minimum of pods",
        ),
        pytest.param(
            group("g", pods("a", 1), pods("b", 1), minimum=3),
            "root.members[0].minimum",
            "3 is not possible. Allowed are 0 to 2.",
            id="a minimum above the number of members",
        ),
        pytest.param(
            group("root", pods("a", 1)),
            "root.members[0].name",
            'The name "root" is used twice; give each member its own.',
            id="a group with the name of another",
        ),
        pytest.param(
            group("g", pods("g", 1)),
            "root.members[0].members[0].name",
            'The name "g" is used twice; give each member its own.',
            id="a pod set with the name of its group",
        ),
        pytest.param(
            group("g", pods("a", 1), required="racks"),
            "root.members[0].required",
            'Topology "default" has no level "racks". Did you mean "rack"? Allowed: "block", "rack", "zone".',
            id="a required level that the topology lacks",
        ),
        pytest.param(
            group("g", pods("a", 1), preferred="row"),
            "root.members[0].preferred",
            'Topology "default" has no level "row". Allowed: "block", "rack", "zone".',
            id="a preferred level that the topology lacks",
        ),
        pytest.param(
            group("g", group("h", pods("a", 1), required="zone"), required="rack"),
            "root.members[0].members[0].required",
            '"zone" is coarser than "rack", the level required above it. '
            'Name "rack" or a finer level, or leave it out.',
            id="a level required that is coarser than the one required above",
        ),
        pytest.param(
            group("g", group("h", group("i", pods("a", 1), required="zone")), required="rack"),
            "root.members[0].members[0].members[0].required",
            '"zone" is coarser than "rack", the level required above it. '
            'Name "rack" or a finer level, or leave it out.',
            id="the same, with a group without levels between the two",
        ),
    ],
)
def test_one_problem_is_found_at_its_path(member: Member, path: str, message: str) -> None:
    assert [str(each) for each in problems(request("train", member), TOPOLOGY)] == [f"{path}: {message}"]


def test_a_negative_count_is_a_problem() -> None:
    found = problems(request("train", PodSet("a", -1, minimum=0)), TOPOLOGY)

    assert "root.members[0].count: -1 is negative. Write zero or more." in [str(each) for each in found]


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(pods("a", 0), id="no pods at all"),
        pytest.param(group("g"), id="a group without members"),
        pytest.param(pods("a", 2, minimum=0), id="a minimum of nothing"),
        pytest.param(pods("a", 3, bound=["x1"], names=["p1", "p2"]), id="a name for every open pod"),
        pytest.param(group("g", pods("a", 1), required="rack", preferred="rack"), id="the same level twice"),
        pytest.param(
            group("g", group("h", pods("a", 1), required="zone"), preferred="rack"),
            id="a level required that is coarser than the one preferred above",
        ),
        pytest.param(
            group("g", group("h", pods("a", 1), required="rack", preferred="rack"), required="zone"),
            id="finer levels inside coarser ones",
        ),
    ],
)
def test_these_are_no_problems(member: Member) -> None:
    assert problems(request("train", member), TOPOLOGY) == ()


def test_without_a_topology_a_level_is_a_problem_and_no_level_is_none() -> None:
    plain = request("train", pods("a", 1), topology=None)
    levelled = request("train", pods("a", 1), required="rack", topology=None)

    assert problems(plain, None) == ()
    assert [str(each) for each in problems(levelled, None)] == [
        'root.required: The level "rack" is named, but the request names no known topology.'
    ]


def test_an_unknown_topology_is_a_problem() -> None:
    found = problems(request("train", pods("a", 1), topology="gone"), None)

    assert [str(each) for each in found] == ['topology: There is no topology "gone".']


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(
            group("g", pods("a", 1), required="rack", preferred="block"),
            id="coarser than the group's own requirement",
        ),
        pytest.param(
            group("g", group("h", pods("a", 1), preferred="zone"), required="block"),
            id="coarser than what is required above",
        ),
        pytest.param(
            group("g", group("h", pods("a", 1), preferred="zone"), preferred="rack"),
            id="coarser than the one above",
        ),
    ],
)
def test_a_preference_is_never_a_reason_to_refuse_be_it(member: Member) -> None:
    assert problems(request("train", member), TOPOLOGY) == ()


def test_all_problems_are_found_at_once_and_in_the_order_of_the_tree() -> None:
    asked = request(
        "train",
        group("g", PodSet("a", 1, Resources({"cpu": -1})), required="row"),
        group("h", pods("a", 2, minimum=5)),
        required="rack",
        preferred="zone",
    )

    assert [problem.where for problem in problems(asked, TOPOLOGY)] == [
        "root.members[0].required",
        "root.members[0].members[0].resources.cpu",
        "root.members[1].members[0].name",
        "root.members[1].members[0].minimum",
    ]


def test_a_tree_of_ten_thousand_levels_is_checked_without_recursion() -> None:
    tree = Group("leaf", (PodSet("a", 1, minimum=2),))
    for depth in range(10_000):
        tree = Group(f"g{depth}", (tree,))

    assert len(problems(Request("deep", tree), None)) == 1
    assert [member.name for member in tree.pod_sets()] == ["a"]


def test_walking_visits_parents_first_and_members_in_order() -> None:
    asked = request("train", group("g", pods("a", 1), pods("b", 1)), pods("c", 1))

    assert [(member.name, parent.name if parent else None) for member, parent in asked.root.walk()] == [
        ("root", None),
        ("g", "root"),
        ("a", "g"),
        ("b", "g"),
        ("c", "root"),
    ]


def test_made_up_names_go_on_after_the_running_pods() -> None:
    assert pods("a", 4, bound=["x1", "x1"]).pod_names() == ("a-2", "a-3")
    assert pods("a", 2, names=["first", "second"]).pod_names() == ("first", "second")
    assert pods("a", 4, bound=["x1"]).open == 3
