"""What would help a request that cannot be placed; all of it is tried on the whole request."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from closeknit.hub.outcome import (
    Change,
    CountChange,
    Departure,
    LevelChange,
)
from closeknit.hub.request import Request
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse
from tests.unit.engine.explanation.explained import changes, racks, shortfalls


@dataclass
class Help:
    drawing: str
    request: Request
    changes: list[tuple[Change, ...]]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Help(
                "b1\n  r1\n    x1: 2\n  r2\n    x2: 2\nb2\n  r3\n    x3: 3\n",
                request("t", group("g", pods("w", 4), required="rack")),
                [(LevelChange("g", "block"),), (CountChange("w", 3),)],
            ),
            id="the finest coarser level and the largest count are proposed",
        ),
        pytest.param(
            Help(
                "b1\n  r1\n    x1: 2\n  r2\n    x2: 2\nb2\n  r3\n    x3: 3\n",
                request("t", group("g", pods("w", 5), required="rack")),
                [(LevelChange("g", None),), (CountChange("w", 3),)],
            ),
            id="where no level is enough the requirement is dropped",
        ),
        pytest.param(
            Help(
                "b1\n  r1\n    x1: 2\n  r2\n    x2: 2\nb2\n  r3\n    x3: 3\n",
                request("t", group("g", pods("w", 5), required="rack"), required="block"),
                [(LevelChange("root", None), LevelChange("g", None)), (CountChange("w", 3),)],
            ),
            id="a parent in the way changes with its child",
        ),
        pytest.param(
            Help(
                "b1\n  r1\n    x1: 2\n  r2\n    x2: 3\n",
                request("t", group("g", pods("w", 5), required="rack"), required="block"),
                [(LevelChange("g", "block"),), (CountChange("w", 3),)],
            ),
            id="a parent that is not in the way stays",
        ),
        pytest.param(
            Help(
                "z1\n  b1\n    r1\n      x1: 2\n    r2\n      x2: 3\n",
                request("t", group("g", pods("w", 5), required="rack"), required="rack"),
                [(LevelChange("root", "block"), LevelChange("g", "block")), (CountChange("w", 3),)],
            ),
            id="no child becomes coarser than its parent",
        ),
        pytest.param(
            Help(
                "b1\n  r1\n    x1: 3\n  r2\n    x2: 3\nb2\n  r3\n    x3: 1\n",
                racks(2, 2, 2, required="block"),
                [(LevelChange("a", "block"),), (CountChange("cw", 1),)],
            ),
            id="what turns out not to be in the way is left as it was",
        ),
        pytest.param(
            Help(
                "b1\n  r1\n    x1: 3\n  r2\n    x2: 3\n",
                racks(2, 2, 2),
                [(LevelChange("a", "block"),), (CountChange("cw", 1),)],
            ),
            id="where groups stand in each other's way, changing one of them may do",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 2\nr2\n  x2: 3\n",
                racks(4, 5),
                [(CountChange("aw", 2), CountChange("bw", 3))],
            ),
            id="several failing groups change together",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 2\nr2\n  x2: 2\nr3\n  x3: 2\n",
                request("t", *(group(f"g{i}", pods(f"w{i}", 3), required="rack") for i in range(3))),
                [tuple(CountChange(f"w{i}", 2) for i in range(3))],
            ),
            id="replicas come down to one count",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 3\n",
                request("t", pods("a", 3), group("either", pods("b", 1), pods("c", 1), minimum=1)),
                [(CountChange("a", 2),)],
            ),
            id="no pod gives way to a member that may be left out",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 8 unschedulable\n",
                request("t", group("g", pods("w", 2), required="rack")),
                [],
            ),
            id="where nothing helps nothing is proposed",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 4 used=4:t\n",
                request("t", group("g", pods("w", 6, bound=["x1"] * 4), required="rack")),
                [(CountChange("w", 4),)],
            ),
            id="the count stays above zero and no lower than what runs, and the workload itself never leaves",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 4 used=4:big\n  x2: 4 used=1:a used=1:b\n",
                request("t", group("g", pods("w", 1, 4), required="rack")),
                [(Departure(("a", "b")),)],
            ),
            id="those leave that move the fewest pods",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 4 used=1:a\n  x2: 4 used=1:a\n  x3: 4 used=1:b\n",
                request("t", group("g", pods("w", 1, 4), required="rack")),
                [(Departure(("b",)),)],
            ),
            id="pods that a workload has elsewhere count as well",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 4 used=2:a\nr2\n  x2: 4 used=2:b\n",
                racks(4, 4),
                [(CountChange("aw", 2), CountChange("bw", 2)), (Departure(("a", "b")),)],
            ),
            id="several failing groups get room in domains of their own",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 4 used=4:a\nr2\n  x2: 4\n",
                racks(4, 4),
                [(CountChange("aw", 2), CountChange("bw", 2)), (Departure(("a",)),)],
            ),
            id="room is made for groups that stand in each other's way",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 4\nr2\n  x2: 4\n",
                request("t", group("g", pods("w", 8, minimum=6), required="rack")),
                [(LevelChange("g", None),), (CountChange("w", 4),)],
            ),
            id="only pods that must run count",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 4\n  x2: 4\nr2\n  x3: 4\n",
                request("t", group("a", pods("aw", 2, bound=["x1", "x3"]), required="rack")),
                [(LevelChange("a", None),)],
            ),
            id="running pods that break a requirement need a coarser one",
        ),
    ],
)
def test_what_would_help(case: Help) -> None:
    found = shortfalls(parse(case.drawing), case.request)

    assert changes(found[0]) == case.changes
    assert all(each.relaxations == found[0].relaxations for each in found)


MANY_RACKS = parse("".join(f"r{i:03}\n  x{i}: 4 used=1:big used={1 + i % 3}:w{i:03}\n" for i in range(300)))


@pytest.mark.parametrize(
    ("groups", "gpus", "workloads"),
    [
        pytest.param(1, 3, ("w000",), id="one group"),
        pytest.param(2, 3, ("w000", "w003"), id="two groups, in racks of their own"),
        pytest.param(1, 4, ("big", "w000"), id="a workload leaves everywhere where there is no other way"),
    ],
)
def test_who_would_leave_a_large_cluster(groups: int, gpus: int, workloads: tuple[str, ...]) -> None:
    members = (group(f"g{i}", pods(f"v{i}", 1, gpus), required="rack") for i in range(groups))

    found = shortfalls(MANY_RACKS, request("t", *members))

    departures = [each for each in changes(found[0]) if isinstance(each[0], Departure)]
    assert departures == [(Departure(workloads),)]
