"""The checker must catch every kind of mistake: a good placement is broken in each way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.outcome import Assignment, GroupReach, Placed, Wishes
from closeknit.testing import check
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse

CLUSTER = parse("""
    b1
      r1
        x1: 2
        x2: 2 taint:dedicated=ml:NoSchedule
      r2
        x3: 4 used=1
    x4: 8
""")
REQUEST = request(
    "train",
    group("far", pods("b", 2), preferred="rack"),
    group("near", pods("a", 3, minimum=2), required="rack"),
)
GOOD = Placed(
    "train",
    (
        Assignment("b-0", "b", "x1", ("b1", "r1")),
        Assignment("b-1", "b", "x3", ("b1", "r2")),
        Assignment("a-0", "a", "x3", ("b1", "r2")),
        Assignment("a-1", "a", "x3", ("b1", "r2")),
    ),
    (
        GroupReach("root", None, None, None, "block", (("b1",),), satisfied=True, pods=4),
        GroupReach(
            "far", "root", None, "rack", "rack", (("b1", "r1"), ("b1", "r2")), satisfied=False, pods=2
        ),
        GroupReach("near", "root", "rack", None, "rack", (("b1", "r2"),), satisfied=True, pods=2),
    ),
    Wishes(1, (0, 1), (1, 2), 0, 5, (2,)),
    proven=False,
)


def pod(index: int, **changes: Any) -> Callable[[Placed], Placed]:
    def change(placed: Placed) -> Placed:
        assignments = list(placed.assignments)
        assignments[index] = replace(assignments[index], **changes)
        return replace(placed, assignments=tuple(assignments))

    return change


def reach(index: int, **changes: Any) -> Callable[[Placed], Placed]:
    def change(placed: Placed) -> Placed:
        groups = list(placed.groups)
        groups[index] = replace(groups[index], **changes)
        return replace(placed, groups=tuple(groups))

    return change


def moved(index: int, node: str, *domain: str) -> Callable[[Placed], Placed]:
    return pod(index, node=node, domain=domain)


def listed(*order: int) -> Callable[[Placed], Placed]:
    return lambda placed: replace(placed, assignments=tuple(placed.assignments[i] for i in order))


def test_a_good_placement_has_no_violations() -> None:
    assert check.violations(CLUSTER, REQUEST, GOOD) == []


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        pytest.param(
            lambda placed: replace(placed, request="other"),
            "is for other, not for train",
            id="another request",
        ),
        pytest.param(pod(0, pod="b-7"), "pod b-7 is not an open pod of b", id="a pod that is not in the set"),
        pytest.param(pod(0, pod="b-1"), "pod b-1 is placed 2 times", id="a pod twice"),
        pytest.param(
            pod(0, pod_set="c"), "belongs to c, which is not in the request", id="an unknown pod set"
        ),
        pytest.param(
            pod(0, node="y9"), "pod b-0 is placed on y9, which does not exist", id="an unknown node"
        ),
        pytest.param(pod(0, domain=("b1",)), "reports domain ('b1',)", id="a domain that is not the node's"),
        pytest.param(listed(0, 2, 3, 1), "the pods of b are not listed one after the other", id="sets mixed"),
        pytest.param(listed(1, 0, 2, 3), "the pods of b are not listed in rank order", id="ranks mixed"),
        pytest.param(
            moved(0, "x2", "b1", "r1"), "node x2 does not take pods of b", id="a taint not tolerated"
        ),
        pytest.param(
            moved(0, "x3", "b1", "r2"),
            "node x3 has 3 of nvidia.com/gpu, but 4 are placed",
            id="more than what is free",
        ),
        pytest.param(
            moved(2, "x1", "b1", "r1"), "group near must share one rack, but uses x1, x3", id="two racks"
        ),
        pytest.param(
            moved(2, "x4"), "group near must share one rack, but uses x3, x4", id="outside the tree"
        ),
        pytest.param(listed(0, 1, 2), "pod set a gets 1 new pods, but a is not formed", id="half a gang"),
        pytest.param(listed(2, 3), "root root is not formed", id="a member that had to come"),
        pytest.param(
            lambda placed: replace(placed, wishes=replace(placed.wishes, left_out=0)),
            "the wishes are Wishes(left_out=1,",
            id="wishes that are not the true ones",
        ),
        pytest.param(
            lambda placed: replace(placed, wishes=replace(placed.wishes, room=4)),
            "the wishes are Wishes(left_out=1,",
            id="less room than the racks have",
        ),
        pytest.param(
            lambda placed: replace(placed, groups=placed.groups[:2]),
            "groups ['far', 'root'] are reported",
            id="a group left out of the report",
        ),
        pytest.param(
            lambda placed: replace(placed, groups=placed.groups[::-1]),
            "group far is reported before its parent",
            id="children before parents",
        ),
        pytest.param(reach(0, level="rack"), "group root reached", id="a level that was not reached"),
        pytest.param(reach(1, satisfied=True), "group far reached", id="a broken preference called kept"),
        pytest.param(reach(1, domains=(("b1", "r1"),)), "group far reached", id="a domain not reported"),
        pytest.param(reach(2, parent="far"), "group near reached", id="another parent"),
    ],
)
def test_a_broken_placement_is_caught(broken: Callable[[Placed], Placed], sentence: str) -> None:
    found = check.violations(CLUSTER, REQUEST, broken(GOOD))

    assert any(sentence in each for each in found), found


def test_a_group_without_pods_reached_nothing_and_is_satisfied() -> None:
    asked = request("train", group("g", pods("a", 3), preferred="rack"), minimum=0)
    placed = Placed(
        "train",
        (),
        (
            GroupReach("root", None, None, None, None, (), satisfied=True),
            GroupReach("g", "root", None, "rack", None, (), satisfied=True),
        ),
        Wishes(3, (0, 0), (0, 0), 0, 0, (0,)),
        proven=True,
    )

    assert check.violations(CLUSTER, asked, placed) == []
