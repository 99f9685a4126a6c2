from __future__ import annotations

import pytest

from closeknit.hub.problems import OneOf, Range
from closeknit.hub.request import Group, Member, PodSet, Request, problems
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import hub
from closeknit.hub.topology import Level, Topology
from closeknit.testing.builders import group, pods, request
from tests.kit.problems import Finding, finding, findings

TOPOLOGY = Topology("default", (Level("zone"), Level("block"), Level("rack")))


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        pytest.param(
            PodSet("a", 1, bound=("x1", "x2")),
            finding(hub.MORE_BOUND_THAN_COUNT, "root.members[0].bound", bound=2, count=1),
            id="more running pods than there are",
        ),
        pytest.param(
            PodSet("a", 3, bound=("x1",), pods=("p1",)),
            finding(hub.NAMES_DO_NOT_MATCH, "root.members[0].pods", names=1, pods=2),
            id="names for only some of the open pods",
        ),
        pytest.param(
            PodSet("a", 1, Resources({"cpu": -5})),
            finding(hub.NEGATIVE, "root.members[0].resources.cpu", value=-5),
            id="a negative amount",
        ),
        pytest.param(
            pods("a", 2, minimum=3),
            finding(hub.IMPOSSIBLE_MINIMUM, "root.members[0].minimum", value=3, remedy=Range(0, 2)),
            id="a minimum above the count",
        ),
        pytest.param(
            pods("a", 2, minimum=-1),
            finding(hub.IMPOSSIBLE_MINIMUM, "root.members[0].minimum", value=-1, remedy=Range(0, 2)),
            id="a negative minimum of pods",
        ),
        pytest.param(
            group("g", pods("a", 1), pods("b", 1), minimum=3),
            finding(hub.IMPOSSIBLE_MINIMUM, "root.members[0].minimum", value=3, remedy=Range(0, 2)),
            id="a minimum above the number of members",
        ),
        pytest.param(
            group("root", pods("a", 1)),
            finding(hub.NAME_USED_TWICE, "root.members[0].name", name="root"),
            id="a group with the name of another",
        ),
        pytest.param(
            group("g", pods("g", 1)),
            finding(hub.NAME_USED_TWICE, "root.members[0].members[0].name", name="g"),
            id="a pod set with the name of its group",
        ),
        pytest.param(
            group("g", pods("a", 1), required="racks"),
            finding(
                hub.UNKNOWN_LEVEL,
                "root.members[0].required",
                topology="default",
                level="racks",
                remedy=OneOf("racks", ("block", "rack", "zone")),
            ),
            id="a required level that the topology lacks",
        ),
        pytest.param(
            group("g", pods("a", 1), preferred="row"),
            finding(
                hub.UNKNOWN_LEVEL,
                "root.members[0].preferred",
                topology="default",
                level="row",
                remedy=OneOf("row", ("block", "rack", "zone")),
            ),
            id="a preferred level that the topology lacks",
        ),
        pytest.param(
            group("g", group("h", pods("a", 1), required="zone"), required="rack"),
            finding(
                hub.COARSER_THAN_ABOVE, "root.members[0].members[0].required", level="zone", bound="rack"
            ),
            id="a level required that is coarser than the one required above",
        ),
        pytest.param(
            group("g", group("h", group("i", pods("a", 1), required="zone")), required="rack"),
            finding(
                hub.COARSER_THAN_ABOVE,
                "root.members[0].members[0].members[0].required",
                level="zone",
                bound="rack",
            ),
            id="the same, with a group without levels between the two",
        ),
    ],
)
def test_one_problem_is_found_at_its_path(member: Member, problem: Finding) -> None:
    assert findings(problems(request("train", member), TOPOLOGY)) == [problem]


def test_a_negative_count_is_a_problem() -> None:
    reported = findings(problems(request("train", PodSet("a", -1, minimum=0)), TOPOLOGY))

    assert finding(hub.NEGATIVE, "root.members[0].count", value=-1) in reported


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
    assert findings(problems(levelled, None)) == [
        finding(hub.LEVEL_WITHOUT_TOPOLOGY, "root.required", level="rack")
    ]


def test_an_unknown_topology_is_a_problem() -> None:
    asked = request("train", pods("a", 1), topology="gone")

    assert findings(problems(asked, None)) == [finding(hub.NO_SUCH_TOPOLOGY, "topology", topology="gone")]


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
