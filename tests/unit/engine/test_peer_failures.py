"""What other schedulers were seen to get wrong, each case with what must hold instead.

Ids start with the case: S for those measured on Kueue, C for those measured on KAI.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import Request
from closeknit.hub.sentences import hub
from closeknit.testing import check
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse
from tests.kit.problems import finding, findings

RACKS_OF_5_AND_4 = parse("""
    r1
      x1: 5
    r2
      x2: 4
""")

GPU_RACK_AND_CPU_RACK = parse("""
    r1
      x1: 2 cpu=2
    r2
      x2: cpu=4
""")

GPU_HOST_AND_CPU_HOST = parse("""
    r1
      x1: 1 cpu=1
      x2: cpu=4
""")

HOSTS_OF_19_10_AND_10 = parse("""
    b1
      r1
        x1: 19
      r2
        x2: 10
      r3
        x3: 10
""")

FOUR_SMALL_HOSTS_OR_A_LARGE_ONE = parse(
    """
    a
      h1
        x1: 1
      h2
        x2: 1
      h3
        x3: 1
      h4
        x4: 1
    b
      h5
        x5: 5
""",
    levels=["rack", "host"],
)

ONE_HOST_FOR_LEADERS = parse("""
    r1
      x1: 4
      x2: 4 label:role=leader
""")

TWO_BLOCKS = parse("""
    b1
      r1
        x1: 4
    b2
      r1
        x2: 8
""")

RACKS_OF_4_AND_3 = parse("""
    r1
      x1: 4
    r2
      x2: 3
""")

TWO_HOSTS_OF_8 = parse("""
    r1
      x1: 8
      x2: 8
""")

ONE_ZONE_ONE_RACK = parse(
    """
    z1
      r1
        x1: 8
        x2: 8
    """,
    levels=("zone", "rack"),
    host_level=True,
)

RACKS_OF_1_AND_4 = parse("""
    r1
      x1: 1
    r2
      x2: 4
""")

THREE_RACKS_OF_4 = parse("""
    r1
      x1: 4
    r2
      x2: 4
    r3
      x3: 4
""")

ZONES_OF_12_AND_6 = """
    z1
      r1
        x1: 6
      r2
        x2: 6
    z2
      r1
        x3: 6{used}
"""
A_ZONE_IS_SMALL = parse(ZONES_OF_12_AND_6.format(used=""), levels=("zone", "rack"))
A_RUNS_IN_THE_SMALL_ZONE = parse(ZONES_OF_12_AND_6.format(used=" used=4:train"), levels=("zone", "rack"))


@dataclass(frozen=True)
class Case:
    cluster: Cluster
    request: Request
    want: dict[str, dict[str, int]] = field(hash=False)
    """By pod set: the nodes, and how many pods each."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case(
                RACKS_OF_5_AND_4,
                request(
                    "train",
                    group("a", pods("a-pods", 2), required="rack"),
                    group("b", pods("b-pods", 4), required="rack"),
                    group("c", pods("c-pods", 3), required="rack"),
                ),
                {"a-pods": {"x1": 2}, "b-pods": {"x2": 4}, "c-pods": {"x1": 3}},
            ),
            id="S1: groups of 2, 4 and 3 fill racks of 5 and 4 in whatever order they are listed",
        ),
        pytest.param(
            Case(
                GPU_RACK_AND_CPU_RACK,
                request(
                    "train",
                    group("launchers", pods("launcher", 2, gpus=0, cpu=1), required="rack"),
                    group("workers", pods("worker", 2, cpu=1), required="rack"),
                ),
                {"launcher": {"x2": 2}, "worker": {"x1": 2}},
            ),
            id="S2: pods without GPUs leave the only rack with GPUs to those that need it",
        ),
        pytest.param(
            Case(
                GPU_HOST_AND_CPU_HOST,
                request("train", pods("launcher", 1, gpus=0, cpu=1), pods("worker", 1, cpu=1)),
                {"launcher": {"x2": 1}, "worker": {"x1": 1}},
            ),
            id="S2b: an unconstrained launcher does not take the CPU beside the only GPU",
        ),
        pytest.param(
            Case(
                HOSTS_OF_19_10_AND_10,
                request("train", pods("worker", 20), required="block", preferred="rack"),
                {"worker": {"x2": 10, "x3": 10}},
            ),
            id="S3: 20 pods fill 10 and 10, and the host of 19 stays whole",
        ),
        pytest.param(
            Case(
                FOUR_SMALL_HOSTS_OR_A_LARGE_ONE,
                request("train", pods("worker", 4), required="rack", preferred="host"),
                {"worker": {"x5": 4}},
            ),
            id="S6: one host of 5 is closer than four hosts of 1, for pods that prefer a host",
        ),
        pytest.param(
            Case(
                FOUR_SMALL_HOSTS_OR_A_LARGE_ONE,
                request("train", pods("worker", 4), required="rack"),
                {"worker": {"x1": 1, "x2": 1, "x3": 1, "x4": 1}},
            ),
            id="S6: for others the rack with four hosts of 1 is tighter, and the host of 5 stays whole",
        ),
        pytest.param(
            Case(
                ONE_HOST_FOR_LEADERS,
                request(
                    "train",
                    pods("leader", 1, selector={"role": "leader"}),
                    pods("worker", 7),
                    required="rack",
                ),
                {"leader": {"x2": 1}, "worker": {"x1": 4, "x2": 3}},
            ),
            id="S8: a leader goes where its own selector says, whatever the workers' says",
        ),
        pytest.param(
            Case(
                TWO_BLOCKS,
                request(
                    "train",
                    group("a", pods("a-pods", 4), required="block"),
                    group("b", pods("b-pods", 4), required="block"),
                ),
                {"a-pods": {"x2": 4}, "b-pods": {"x2": 4}},
            ),
            id="S10: two groups that each need a block share the one that holds both",
        ),
        pytest.param(
            Case(
                RACKS_OF_4_AND_3,
                request(
                    "train",
                    group("a", pods("a-pods", 2), required="rack"),
                    group("b", pods("b-pods", 2), required="rack"),
                    group("c", pods("c-pods", 3), required="rack"),
                ),
                {"a-pods": {"x1": 2}, "b-pods": {"x1": 2}, "c-pods": {"x2": 3}},
            ),
            id="C1: groups of 2, 2 and 3 fill racks of 4 and 3",
        ),
        pytest.param(
            Case(
                RACKS_OF_4_AND_3,
                request(
                    "train",
                    group("y", pods("y-pods", 2), required="rack"),
                    group("z", pods("z-pods", 2), required="rack"),
                    group("c", pods("c-pods", 3), required="rack"),
                ),
                {"y-pods": {"x1": 2}, "z-pods": {"x1": 2}, "c-pods": {"x2": 3}},
            ),
            id="C1b: and so they do under other names",
        ),
        pytest.param(
            Case(
                TWO_HOSTS_OF_8,
                request("train", pods("large", 1, gpus=8), pods("small", 8), required="rack"),
                {"large": {"x1": 1}, "small": {"x2": 8}},
            ),
            id="C2: one pod of 8 GPUs and eight of 1 fill a rack of two hosts",
        ),
        pytest.param(
            Case(
                ONE_ZONE_ONE_RACK,
                request("train", pods("worker", 2), required="zone"),
                {"worker": {"x1": 2}},
            ),
            id="C3: a zone that is the whole cluster is a zone",
        ),
        pytest.param(
            Case(
                RACKS_OF_1_AND_4,
                request("train", pods("worker", 3, minimum=1), required="rack"),
                {"worker": {"x2": 3}},
            ),
            id="C4: the rack is chosen for all 3 pods, not for the one that must run",
        ),
        pytest.param(
            Case(
                THREE_RACKS_OF_4,
                request(
                    "serve",
                    group("p0", pods("p0-pods", 8), required="rack"),
                    group("p1", pods("p1-pods", 4), required="rack"),
                    group("p2", pods("p2-pods", 4), required="rack"),
                    minimum=2,
                ),
                {"p1-pods": {"x1": 4}, "p2-pods": {"x2": 4}},
            ),
            id="C5: where 2 of 3 members are enough, the one that fits nowhere is left out",
        ),
        pytest.param(
            Case(
                A_ZONE_IS_SMALL,
                request(
                    "train",
                    group("a", pods("a-pods", 4), required="rack"),
                    group("b", pods("b-pods", 4), required="rack"),
                    required="zone",
                    minimum=1,
                ),
                {"a-pods": {"x1": 4}, "b-pods": {"x2": 4}},
            ),
            id="C8: members above the minimum stay in the zone that their group requires",
        ),
        pytest.param(
            Case(
                A_RUNS_IN_THE_SMALL_ZONE,
                request(
                    "train",
                    group("a", pods("a-pods", 4, bound=["x3"] * 4), required="rack"),
                    group("b", pods("b-pods", 4), required="rack"),
                    required="zone",
                    minimum=1,
                ),
                {},
            ),
            id="C8: a member that comes later waits rather than start in another zone",
        ),
    ],
)
def test_it_is_placed_as_it_should_be(case: Case) -> None:
    outcome = Engine(case.cluster).solve(case.request)

    assert isinstance(outcome, Placed)
    assert check.violations(case.cluster, case.request, outcome) == []
    assert outcome.proven
    found: dict[str, Counter[str]] = {}
    for assignment in outcome.assignments:
        found.setdefault(assignment.pod_set, Counter())[assignment.node] += 1
    assert found == case.want


@pytest.mark.parametrize(
    ("drawing", "asked"),
    [
        pytest.param(
            """
            r1
              x1: cpu=1
              x2: cpu=1
            """,
            request("train", pods("worker", 1, gpus=0, cpu=2), required="rack"),
            id="S4: two hosts of 1 CPU are no room for a pod of 2, also where the rack is the finest level",
        ),
        pytest.param(
            """
            r1
              x1: cpu=8 taint:dedicated=ml:NoSchedule
              x2: cpu=8 unschedulable
            """,
            request("train", pods("worker", 1, gpus=0, cpu=2), required="rack"),
            id="S4: taints and cordons count, also where the rack is the finest level",
        ),
    ],
)
def test_it_is_refused_as_it_should_be(drawing: str, asked: Request) -> None:
    assert isinstance(Engine(parse(drawing)).solve(asked), Unplaceable)


def test_a_child_coarser_than_its_parent_is_refused_naming_both_levels() -> None:
    """C7: KAI accepts the request and leaves it pending for ever."""
    asked = request("train", group("child", pods("worker", 1), required="zone"), required="rack")

    with pytest.raises(InvalidError) as caught:
        Engine(ONE_ZONE_ONE_RACK).solve(asked)

    assert findings(caught.value.problems) == [
        finding(hub.COARSER_THAN_ABOVE, "root.members[0].required", level="zone", bound="rack")
    ]
