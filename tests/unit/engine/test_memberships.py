"""Which members of a group are formed together, and in which order that is tried."""

from __future__ import annotations

import pytest

from closeknit.engine import Engine
from closeknit.engine.problem import Heed, memberships
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Member
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse

CLUSTER = parse("r1\n  x1: 8 used=1:w\n")


def tried(heed: Heed, minimum: int, *members: Member) -> list[tuple[str, int]]:
    """The members kept, as one word, and the pods left out, in the order of trying."""
    problem = Engine(CLUSTER)._compile(request("w", *members, minimum=minimum), heed)
    return [
        ("".join(part.name for part in kept), left_out) for kept, left_out in memberships(problem.root, heed)
    ]


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
    assert tried(Heed.WISHES, minimum, *members) == want


@pytest.mark.parametrize(
    ("minimum", "want"),
    [
        pytest.param(3, ["abc"], id="all of them where all must be formed"),
        pytest.param(2, ["ab", "bc"], id="as few as may be: whatever more can be placed, these can"),
        pytest.param(1, ["b", "a"], id="one where one is enough"),
    ],
)
def test_what_must_be_placed_at_least(minimum: int, want: list[str]) -> None:
    assert sorted(kept for kept, _ in tried(Heed.CONSTRAINTS, minimum, A, B, C)) == sorted(want)


@pytest.mark.parametrize(
    ("hosts", "left_out", "steps"),
    [
        pytest.param(20, 0, 5, id="all fit"),
        # One way leaves out none, 20 leave out one and 190 two; the first that leaves out three is best.
        pytest.param(17, 3, 220, id="three do not fit"),
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
