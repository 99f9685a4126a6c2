"""Why a request cannot be placed, and what would help."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from closeknit.engine import Budget, Engine
from closeknit.hub.copying import replace
from closeknit.hub.outcome import (
    CountChange,
    Departure,
    DomainFit,
    Exclusion,
    ExclusionReason,
    Holder,
    LevelChange,
    Placed,
    Shortfall,
    Undecided,
    Unplaceable,
)
from closeknit.hub.request import Request
from closeknit.hub.shortfall import NoDomain, PodTooLarge, ShortfallReason
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import GPU, parse
from tests.unit.engine.explanation.explained import TWO_RACKS, changes, only, racks, shortfalls

THREE_RACKS = parse("""
    b1
      r1
        x1: 8
        x2: 8 used=1:notebook
        x3: 8
      r2
        x4: 8 used=8:search
        x5: 8
        x6: 8
    b2
      r3
        x7: 8
        x8: 8
        x9: 8 taint:maintenance=soon:NoSchedule
""")


WHOLE_HOSTS = request("train", group("g", pods("w", 3, 8), required="rack"))


def test_a_group_that_fits_no_rack_is_explained_rack_by_rack() -> None:
    assert only(THREE_RACKS, WHOLE_HOSTS) == Shortfall(
        group="g",
        reason=NoDomain("rack"),
        wanted=3,
        fits=2,
        best=(
            DomainFit(("b1", "r1"), 2, GPU, (Holder("notebook", 1, 1),)),
            DomainFit(("b1", "r2"), 2, GPU, (Holder("search", 8, 8),)),
            DomainFit(("b2", "r3"), 2, None, ()),
        ),
        excluded=(
            Exclusion(ExclusionReason.TAINT, "maintenance=soon:NoSchedule", 1),
            Exclusion(ExclusionReason.RESOURCE, GPU, 2),
        ),
        relaxations=only(THREE_RACKS, WHOLE_HOSTS).relaxations,
    )


def test_relaxations_come_as_a_level_then_a_count_then_a_departure() -> None:
    assert changes(only(THREE_RACKS, WHOLE_HOSTS)) == [
        (LevelChange("g", "block"),),
        (CountChange("w", 2),),
        (Departure(("notebook",)),),
    ]


def test_what_can_be_placed_has_no_shortfalls() -> None:
    easy = request("train", group("g", pods("w", 2, 8), required="rack"))

    assert Engine(THREE_RACKS).solve(easy) == Engine(THREE_RACKS).decide(easy)


def test_explaining_leaves_the_cluster_as_it_was() -> None:
    engine = Engine(THREE_RACKS)
    first = engine.solve(WHOLE_HOSTS)

    assert isinstance(engine.decide(request("other", group("g", pods("w", 6, 8)))), Placed)
    assert isinstance(engine.decide(request("other", group("g", pods("w", 7, 8)))), Unplaceable)
    again = engine.solve(WHOLE_HOSTS)
    assert replace(again, statistics=first.statistics) == first


@dataclass
class Blame:
    request: Request
    groups: tuple[str, ...]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Blame(racks(9, 2), ("a",)),
            id="the group that fails by itself is named, not the whole",
        ),
        pytest.param(
            Blame(racks(9, 10), ("a", "b")),
            id="every group that fails by itself is named",
        ),
        pytest.param(
            Blame(racks(8, 8), ("root",)),
            id="where each part stands alone and together they do not, the group around them is named",
        ),
        pytest.param(
            Blame(
                request(
                    "t",
                    group(
                        "outer",
                        group("a", pods("aw", 5), required="rack"),
                        group("b", pods("bw", 5), required="rack"),
                    ),
                    group("c", pods("cw", 1), required="rack"),
                ),
                ("outer",),
            ),
            id="the lowest group that fails is named",
        ),
        pytest.param(
            Blame(racks(9, 8, 8, minimum=2), ("root",)),
            id="a failing member that may be left out is not at fault",
        ),
        pytest.param(
            Blame(racks(9, 9, 1, minimum=2), ("a", "b")),
            id="members that fail are at fault where too few others are left",
        ),
        pytest.param(
            Blame(request("t", group("a", pods("aw", 13), pods("ab", 1))), ("a",)),
            id="a pod set that fits nowhere is told by its group",
        ),
        pytest.param(
            Blame(
                request(
                    "t",
                    group("a", pods("aw", 2, bound=["x1", "x3"]), required="rack"),
                    group("b", pods("bw", 1)),
                    minimum=1,
                ),
                ("a",),
            ),
            id="running pods that break a requirement are at fault even where their group may be left out",
        ),
        pytest.param(
            Blame(
                request(
                    "t",
                    group("a", pods("aw", 1, bound=["x3"])),
                    group("b", pods("bw", 5)),
                    required="rack",
                ),
                ("root",),
            ),
            id="a group whose running pods pin it to a rack without room is at fault",
        ),
    ],
)
def test_who_is_at_fault(case: Blame) -> None:
    assert tuple(each.group for each in shortfalls(TWO_RACKS, case.request)) == case.groups


def test_pods_of_different_shapes_are_counted_together() -> None:
    cluster = parse("""
        r1
          x1: 8 cpu=10
          x2: 8 cpu=10
    """)
    asked = request(
        "t", group("g", pods("leader", 2, 0, cpu=6), pods("workers", 3, 8, cpu=2), required="rack")
    )

    shortfall = only(cluster, asked)

    # Each leader could stand beside a worker; the third worker has no host.
    assert (shortfall.wanted, shortfall.fits) == (5, 4)
    assert shortfall.best == (DomainFit(("r1",), 4, GPU, ()),)


def test_pods_are_counted_under_the_levels_of_inner_groups() -> None:
    asked = racks(4, 4, 4, required="block")
    cluster = parse("""
        b1
          r1
            x1: 6
          r2
            x2: 6
    """)

    shortfall = only(cluster, asked)

    # Twelve are free, but a third group finds two and two.
    assert (shortfall.group, shortfall.wanted, shortfall.fits) == ("root", 12, 10)
    assert shortfall.best[0].limiting is None


def test_wanted_and_fits_leave_running_pods_out() -> None:
    cluster = parse("""
        r1
          x1: 4 used=2:train
        r2
          x2: 8
    """)
    asked = request("train", group("g", pods("w", 6, bound=["x1", "x1"]), required="rack"))

    shortfall = only(cluster, asked)

    assert (shortfall.wanted, shortfall.fits) == (4, 2)
    assert [fit.domain for fit in shortfall.best] == [("r1",)]
    assert changes(shortfall) == [(LevelChange("g", None),), (CountChange("w", 4),)]


@pytest.mark.parametrize(
    ("host", "asked", "limiting"),
    [
        pytest.param(
            "x1: 8 cpu=4", {"gpus": 1, "cpu": 2}, "cpu", id="the resource that runs out first limits"
        ),
        pytest.param("x1: 2 cpu=64", {"gpus": 1, "cpu": 2}, GPU, id="more of the others changes nothing"),
        pytest.param("x1: 8 pods=2", {"gpus": 1}, "pods", id="the number of pods is a resource, too"),
        pytest.param("x1: 8", {"gpus": 0, "ports": [80]}, "host port 80 TCP", id="a port is a resource, too"),
        pytest.param(
            "x1: 8 not-ready", {"gpus": 1}, None, id="where no node takes a pod, no resource limits"
        ),
        pytest.param(
            "x1: 2\n  x2: 8 unschedulable", {"gpus": 1}, None, id="where a filter keeps room away, it limits"
        ),
        pytest.param(
            "x1: 2 used=2\n  x2: 8 unschedulable used=8",
            {"gpus": 1},
            GPU,
            id="where the filtered nodes have no room either, the resource limits",
        ),
    ],
)
def test_what_limits(host: str, asked: dict[str, int], limiting: str | None) -> None:
    cluster = parse(f"r1\n  {host}\n")

    shortfall = only(cluster, request("t", group("g", pods("w", 3, **asked), required="rack")))  # type: ignore[arg-type]

    assert [fit.limiting for fit in shortfall.best] == [limiting]


def test_holders_are_the_other_workloads_with_most_of_what_limits_at_most_five() -> None:
    words = " ".join(f"used={gpus}:w{gpus}" for gpus in (1, 2, 3, 4, 5, 6))
    cluster = parse(f"""
        r1
          x1: 32 {words} used=2:t used=1:idle:cpu=1 cpu=64
        r2
          x2: 1 used=1:far
    """)
    asked = request("t", group("g", pods("w", 20, bound=["x1", "x1"]), required="rack"))

    (fit,) = only(cluster, asked).best

    assert fit.holders == tuple(Holder(f"w{gpus}", gpus, gpus) for gpus in (6, 5, 4, 3, 2))


def test_the_five_best_domains_are_listed_by_room_then_by_path() -> None:
    racks = "".join(f"r{i}\n  x{i}: {room}\n" for i, room in enumerate((1, 3, 2, 3, 1, 2, 1)))

    shortfall = only(parse(racks), request("t", group("g", pods("w", 4), required="rack")))

    assert [(fit.domain[0], fit.fits) for fit in shortfall.best] == [
        ("r1", 3),
        ("r3", 3),
        ("r2", 2),
        ("r5", 2),
        ("r0", 1),
    ]


def test_where_members_may_be_left_out_those_that_need_the_least_are_counted() -> None:
    asked = request(
        "t",
        group("x", pods("xw", 8), required="rack"),
        group("y", pods("yw", 7), required="rack"),
        group("z", pods("zw", 6), pods("zv", 9), required="rack", minimum=1),
        group("a", pods("aw", 9), required="rack"),
        minimum=2,
    )

    shortfall = only(TWO_RACKS, asked)

    # The smaller pods of z and those of y would do; a fits nowhere.
    assert (shortfall.group, shortfall.wanted, shortfall.fits) == ("root", 13, 11)


def test_the_whole_cluster_is_one_domain_without_a_path() -> None:
    shortfall = only(TWO_RACKS, request("t", group("g", pods("w", 13))))

    assert (shortfall.reason, shortfall.wanted, shortfall.fits) == (NoDomain(None), 13, 12)
    assert shortfall.best == (DomainFit((), 12, GPU, ()),)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        pytest.param(
            request("t", group("g", pods("w", 2, 9), required="rack")),
            PodTooLarge("rack", "w", GPU, 9, 8),
            id="a pod that requests more than the largest node offers",
        ),
        pytest.param(
            request("t", group("g", pods("w", 2, resources={"example.com/nic": 1}))),
            PodTooLarge(None, "w", "example.com/nic", 1, 0),
            id="a resource that no node has",
        ),
        pytest.param(
            request("t", group("g", pods("w", 4, 8), required="rack")),
            NoDomain("rack"),
            id="pods that fit an empty node each",
        ),
    ],
)
def test_a_pod_larger_than_any_node_is_a_reason_of_its_own(asked: Request, reason: ShortfallReason) -> None:
    assert only(THREE_RACKS, asked).reason == reason


def test_an_undecided_request_is_explained_as_far_as_is_known() -> None:
    engine = Engine(THREE_RACKS, Budget(find=0))

    outcome = engine.solve(WHOLE_HOSTS)

    assert isinstance(outcome, Undecided)
    assert [each.group for each in outcome.shortfalls] == ["g"]


def test_nothing_is_said_of_an_undecided_request_whose_parts_could_all_be_placed() -> None:
    # There is room, so whatever figure stood here as the most that fits would be false.
    asked = request(
        "t", group("a", pods("x", 2, 8), required="rack"), group("b", pods("y", 1, 4), required="rack")
    )

    outcome = Engine(THREE_RACKS, Budget(find=0)).solve(asked)

    assert isinstance(outcome, Undecided)
    assert outcome.shortfalls == ()
