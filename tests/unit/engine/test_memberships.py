"""Which members of a group are formed together, and in which order that is tried."""

from __future__ import annotations

from itertools import combinations

import pytest

from closeknit.engine import Engine
from closeknit.engine.compiled_request import Goal, GroupVar, Part
from closeknit.engine.memberships import Capacity, memberships
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Member
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse

CLUSTER = parse("r1\n  x1: 8 used=1:w\n")


def tried(goal: Goal, minimum: int, *members: Member) -> list[tuple[str, int]]:
    """The members kept, as one word, and the pods left out, in the order of trying."""
    return [
        ("".join(part.name for part in kept or ()), left_out)
        for kept, left_out in ways(goal, minimum, *members)
    ]


AMPLE = Capacity([100], 100)


def ways(
    goal: Goal, minimum: int, *members: Member, room: Capacity = AMPLE
) -> list[tuple[list[Part] | None, int]]:
    compiled = Engine(CLUSTER)._compile(request("w", *members, minimum=minimum), goal)
    return list(memberships(compiled.root, goal, room))


A, B, C = (group(name, pods(f"p{name}", size)) for name, size in (("a", 3), ("b", 1), ("c", 1)))


@pytest.mark.parametrize(
    ("minimum", "members", "want"),
    [
        pytest.param(3, (A, B, C), [("abc", 0)], id="where all must be formed there is one way"),
        pytest.param(
            2,
            (A, B, C),
            [("abc", 0), ("ab", 1), ("bc", 3)],
            id="fewest pods left out first; of twins, the first by name stay",
        ),
        pytest.param(
            0,
            (B, C),
            [("bc", 0), ("b", 1), ("", 2)],
            id="where none must be formed, none is the last way",
        ),
        pytest.param(
            1,
            (A, group("r", pods("pr", 1, bound=["x1"]))),
            [("ar", 0), ("r", 3)],
            id="a member that runs is never left out",
        ),
    ],
)
def test_the_ways_to_choose_members(
    minimum: int, members: tuple[Member, ...], want: list[tuple[str, int]]
) -> None:
    assert tried(Goal.WISHES, minimum, *members) == want


@pytest.mark.parametrize(
    ("minimum", "want"),
    [
        pytest.param(3, ["abc"], id="all of them where all must be formed"),
        pytest.param(2, ["bc", "ab"], id="as few as may be: whatever more can be placed, these can"),
        pytest.param(1, ["b", "a"], id="one where one is enough"),
    ],
)
def test_what_must_be_placed_at_least(minimum: int, want: list[str]) -> None:
    assert [kept for kept, _ in tried(Goal.CONSTRAINTS, minimum, A, B, C)] == want


@pytest.mark.parametrize(
    ("hosts", "left_out", "steps"),
    [
        pytest.param(20, 0, 15, id="all fit"),
        pytest.param(17, 3, 15, id="three do not fit"),
    ],
)
def test_ways_that_cannot_be_better_are_not_tried(hosts: int, left_out: int, steps: int) -> None:
    """There are half a million ways to leave some of them out, and no two pods are alike."""
    cluster = parse("r1\n" + "".join(f"  x{i}: 8 cpu=64\n" for i in range(hosts)))
    members = [pods(f"p{i}", 1, 8, cpu=1 + i) for i in range(20)]
    outcome = Engine(cluster).decide(request("w", *members, minimum=10))

    assert isinstance(outcome, Placed)
    assert outcome.wishes.left_out == left_out
    assert outcome.proven
    assert outcome.statistics.steps < steps


def test_ways_without_room_are_told_and_not_built() -> None:
    """Of three members with three pods and twice one, four pods have room."""
    assert [
        (kept is not None, left_out)
        for kept, left_out in ways(Goal.WISHES, 1, A, B, C, room=Capacity([4], 4))
    ] == [
        (True, 1),
        (True, 2),
        (True, 3),
        (True, 4),
    ]


def test_a_member_without_room_by_itself_is_out_from_the_start() -> None:
    kept = ways(Goal.WISHES, 1, A, B, C, room=Capacity([2], 2))

    assert [("".join(part.name for part in parts or ()), left_out) for parts, left_out in kept] == [
        ("bc", 3),
        ("b", 4),
    ]
    assert ways(Goal.CONSTRAINTS, 2, A, group("d", pods("pd", 5)), B, room=Capacity([2], 2)) == []


@pytest.mark.parametrize("least", [0, 3, 7])
def test_every_way_is_tried_once_by_the_pods_left_out(least: int) -> None:
    members = [group(f"m{i}", pods(f"p{i}", size)) for i, size in enumerate([2, 1, 2, 3, 1, 2, 4])]
    found = ways(Goal.WISHES, least, *members)
    left_out = [pods for _, pods in found]
    sizes = [
        tuple(sorted(part.pod_sets[0].open for part in parts or () if isinstance(part, GroupVar)))
        for parts, _ in found
    ]
    possible = {
        tuple(sorted([2, 1, 2, 3, 1, 2, 4][i] for i in chosen))
        for number in range(least, 8)
        for chosen in combinations(range(7), number)
    }

    assert left_out == sorted(left_out)
    assert len(sizes) == len(set(sizes))
    assert set(sizes) == possible


@pytest.mark.parametrize("hosts", [12, 11])
def test_however_many_ways_there_are_an_answer_comes_soon(hosts: int) -> None:
    """Thirty pods, each for a node of its own, of which twelve must run: there are 86 million ways."""
    cluster = parse("r1\n" + "".join(f"  x{i}: 8 cpu=64 label:disk=d{i}\n" for i in range(hosts)))
    members = [pods(f"p{i}", 1, cpu=1 + i, selector={"disk": f"d{i}"}) for i in range(30)]
    outcome = Engine(cluster).decide(request("w", *members, minimum=12))

    assert isinstance(outcome, Placed) is (hosts == 12)
    assert outcome.statistics.steps < 50
