"""The order of criteria: fewer domains down to the named level, then their score, then what lies inside."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.half_full import run
from bench.samples import CLOCKS
from closeknit.engine import Engine
from closeknit.engine.criteria import CRITERIA, fields, named_level, ranking
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.nodes import NodeFilter, Operator, Preference, Requirement, Term
from closeknit.hub.outcome import Placed, Wishes
from closeknit.hub.request import PodSet, Request
from closeknit.hub.topology import Level, Topology
from closeknit.testing import check
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse

SMALLEST = parse("""
    rack-1
      x1: 1
      x2: 1
    rack-2
      y1: 8
      y2: 8
""")


def placed(cluster: Cluster, asked: Request) -> dict[str, int]:
    """How many pods each node gets, of a placement that is sound and proven."""
    outcome = Engine(cluster).decide(asked)
    assert isinstance(outcome, Placed)
    assert outcome.proven
    assert check.violations(cluster, asked, outcome) == []
    return dict(Counter(assignment.node for assignment in outcome.assignments))


def test_two_small_pods_leave_the_empty_nodes_to_a_large_gang() -> None:
    engine = Engine(SMALLEST)
    small = request("small", pods("p", 2), required="rack")
    first = engine.decide(small)
    assert isinstance(first, Placed)
    engine.apply(small, first)

    second = engine.decide(request("large", pods("p", 2, gpus=8), required="rack"))

    assert [each.node for each in first.assignments] == ["x1", "x2"]
    assert isinstance(second, Placed)
    assert [each.node for each in second.assignments] == ["y1", "y2"]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_half_full_racks_take_as_many_gangs_as_by_a_greedy_pass(seed: int) -> None:
    by_engine, by_greedy = run(512, seed, 0.7, CLOCKS["processor"])

    assert by_engine.gangs >= by_greedy.gangs


def liking(name: str, count: int, label: str, value: str) -> PodSet:
    """Pods that prefer nodes with a label."""
    term = Term((Requirement(label, Operator.IN, (value,)),))
    return replace(pods(name, count), filter=NodeFilter(preferences=(Preference(10, term),)))


HOSTS = parse(
    """
    b1
      r1
        h1
          x1: 1
        h2
          x2: 1
        h3
          x3: 1
      r2
        h4
          x4: 4
    b2
      r3
        h5
          x5: 2
        h6
          x6: 2
""",
    levels=["block", "rack", "host"],
)
"""Rooms: r1 3, r2 4, r3 4; b1 7, b2 4."""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(
            request("w", pods("p", 3), required="rack"),
            {"x1": 1, "x2": 1, "x3": 1},
            id="a rack: the tightest one, though others need fewer hosts",
        ),
        pytest.param(
            request("w", pods("p", 3)),
            {"x1": 1, "x2": 1, "x3": 1},
            id="no level: as if it named the rack, the finest level above hosts",
        ),
        pytest.param(
            request("w", pods("p", 3), topology=None),
            {"x1": 1, "x2": 1, "x3": 1},
            id="no topology: as along the layout",
        ),
        pytest.param(
            request("w", pods("p", 3), required="block"),
            {"x5": 2, "x6": 1},
            id="a block: the tightest one, though it needs more hosts",
        ),
        pytest.param(request("w", pods("p", 3), preferred="host"), {"x4": 3}, id="a host, preferred"),
        pytest.param(
            request("w", pods("p", 4), required="block", preferred="host"),
            {"x4": 4},
            id="a block with a host preferred: hosts are counted",
        ),
        pytest.param(
            request("w", pods("p", 5), required="block", preferred="host"),
            {"x1": 1, "x4": 4},
            id="several hosts: as few racks and then hosts as can be",
        ),
        pytest.param(
            request("w", pods("p", 4), required="rack"),
            {"x5": 2, "x6": 2},
            id="racks of equal room: the one in the tighter block",
        ),
        pytest.param(
            request("w", group("a", pods("p", 2), required="rack"), pods("q", 1), required="block"),
            {"x1": 1, "x2": 1, "x3": 1},
            id="groups that name rack and block: one rack, the tightest",
        ),
        pytest.param(
            request(
                "w",
                group("a", pods("p", 2), required="rack"),
                group("b", pods("q", 1), preferred="host"),
            ),
            {"x4": 3},
            id="groups that name rack and host: one host takes all",
        ),
    ],
)
def test_domains_are_counted_down_to_the_named_level(asked: Request, expected: dict[str, int]) -> None:
    assert placed(HOSTS, asked) == expected


LOOSE = parse("""
    b1
      r1
        x1: 4
        x2: 4
      x3: 3
    x4: 2
    x5: 9
""")
"""Node x3 has no rack; x4 and x5 have neither rack nor block."""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(request("w", pods("p", 2)), {"x4": 2}, id="the tightest node counts as a rack"),
        pytest.param(request("w", pods("p", 3)), {"x3": 3}, id="the next one"),
        pytest.param(request("w", pods("p", 5)), {"x1": 4, "x2": 1}, id="the rack is tighter than the last"),
        pytest.param(request("w", pods("p", 9)), {"x5": 9}, id="only the last takes all"),
        pytest.param(request("w", pods("p", 2), preferred="rack"), {"x1": 2}, id="none of them is a rack"),
        pytest.param(request("w", pods("p", 2), required="block"), {"x3": 2}, id="x3 is in the block"),
        pytest.param(request("w", pods("p", 9), preferred="rack"), {"x1": 4, "x2": 4, "x3": 1}, id="a block"),
    ],
)
def test_nodes_without_labels_count_as_domains_of_their_own(asked: Request, expected: dict[str, int]) -> None:
    assert placed(LOOSE, asked) == expected


@pytest.mark.parametrize(
    "topologies",
    [
        pytest.param((), id="without a topology"),
        pytest.param((*SMALLEST.topologies, Topology("a", (Level("row"),))), id="with two layouts"),
    ],
)
def test_without_a_layout_nodes_are_counted(topologies: tuple[Topology, ...]) -> None:
    cluster = replace(SMALLEST, topologies=topologies)

    assert placed(cluster, request("w", pods("p", 2), topology=None)) == {"y1": 2}
    assert placed(cluster, request("w", pods("p", 1), topology=None)) == {"x1": 1}


@pytest.mark.parametrize(
    ("drawing", "pod_set", "expected"),
    [
        pytest.param(
            "r1\n  x1: 8 cpu=2\nr2\n  x2: cpu=8\n",
            pods("p", 2, gpus=0, cpu=1),
            {"x2": 2},
            id="scarce resources are kept free before the tighter rack is taken",
        ),
        pytest.param(
            "r1\n  x1: 2\nr2\n  x2: 8 label:disk=ssd\n",
            liking("p", 2, "disk", "ssd"),
            {"x2": 2},
            id="preferred node affinity is heeded before the tighter rack is taken",
        ),
        pytest.param(
            "r1\n  x1: 2 taint:spot=true:PreferNoSchedule\nr2\n  x2: 8\n",
            pods("p", 2),
            {"x2": 2},
            id="a soft taint is avoided before the tighter rack is taken",
        ),
    ],
)
def test_the_price_of_nodes_comes_before_room(
    drawing: str, pod_set: PodSet, expected: dict[str, int]
) -> None:
    assert placed(parse(drawing), request("w", pod_set, required="rack")) == expected


def test_of_several_racks_the_fewest_and_then_the_tightest_are_taken() -> None:
    cluster = parse("""
        b1
          r1
            x1: 8
          r2
            x2: 8
        b2
          r3
            x3: 5
          r4
            x4: 6
          r5
            x5: 6
        b3
          r6
            x6: 4
          r7
            x7: 4
          r8
            x8: 4
    """)

    assert placed(cluster, request("w", pods("p", 11), preferred="rack")) == {"x3": 5, "x4": 6}


@pytest.mark.parametrize(
    ("asked", "level"),
    [
        pytest.param(request("w", pods("p", 1)), 1, id="none: the rack"),
        pytest.param(request("w", pods("p", 1), required="block"), 0, id="required"),
        pytest.param(request("w", pods("p", 1), required="block", preferred="host"), 2, id="preferred"),
        pytest.param(
            request(
                "w", group("g", pods("p", 1), preferred="rack"), group("h", pods("q", 1), required="block")
            ),
            1,
            id="by any group",
        ),
    ],
)
def test_the_named_level_is_the_finest_that_any_group_names(asked: Request, level: int) -> None:
    engine = Engine(HOSTS)

    assert named_level(asked.root, engine._tree(asked.topology)) == level


def test_every_criterion_but_the_path_is_a_field_that_is_compared_in_order() -> None:
    least = Wishes(1, (1,), (1,), 1, 1, (1,))
    changed = {
        "left_out": replace(least, left_out=0),
        "preferences": replace(least, preferences=(0,)),
        "rules": replace(least, rules=0),
        "domains": replace(least, domains=(0,)),
        "room": replace(least, room=0),
        "inside": replace(least, inside=(0,)),
    }
    better = [changed[each.field] for each in CRITERIA if each.field is not None]

    assert len(better) == len(CRITERIA) - 1 == len(changed)
    ranked = [ranking(each) for each in better]
    assert ranked == sorted(ranked)
    assert all(each < ranking(least) for each in ranked)
    assert [fields(each) < fields(least) for each in better] == [True] * 4 + [False] * 2
