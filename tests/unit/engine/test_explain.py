"""Why a request cannot be placed, and what would help; and what placed groups had to choose from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from closeknit.engine import Budget, Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.nodes import Effect, Operator, Requirement, Term, Toleration
from closeknit.hub.outcome import (
    Change,
    Choice,
    CountChange,
    Departure,
    DomainFit,
    Exclusion,
    Holder,
    LevelChange,
    Placed,
    Shortfall,
    Undecided,
    Unplaceable,
)
from closeknit.hub.request import PodSet, Request
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import GPU, parse

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


def shortfalls(cluster: Cluster, asked: Request) -> tuple[Shortfall, ...]:
    outcome = Engine(cluster).solve(asked)
    assert isinstance(outcome, Unplaceable)
    return outcome.shortfalls


def only(cluster: Cluster, asked: Request) -> Shortfall:
    (shortfall,) = shortfalls(cluster, asked)
    return shortfall


def changes(shortfall: Shortfall) -> list[tuple[Change, ...]]:
    return [relaxation.changes for relaxation in shortfall.relaxations]


WHOLE_HOSTS = request("train", group("g", pods("w", 3, 8), required="rack"))


def test_a_group_that_fits_no_rack_is_explained_rack_by_rack() -> None:
    assert only(THREE_RACKS, WHOLE_HOSTS) == Shortfall(
        group="g",
        level="rack",
        wanted=3,
        fits=2,
        best=(
            DomainFit(("b1", "r1"), 2, GPU, (Holder("notebook", 1, 1),)),
            DomainFit(("b1", "r2"), 2, GPU, (Holder("search", 8, 8),)),
            DomainFit(("b2", "r3"), 2, None, ()),
        ),
        excluded=(Exclusion("taint", "maintenance=soon:NoSchedule", 1), Exclusion("resource", GPU, 2)),
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


# ---- which groups ----


@dataclass
class Blame:
    request: Request
    groups: tuple[str, ...]


TWO_RACKS = parse("""
    b1
      r1
        x1: 4
        x2: 4
      r2
        x3: 4
""")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Blame(
                request(
                    "t",
                    group("a", pods("aw", 9), required="rack"),
                    group("b", pods("bw", 2), required="rack"),
                ),
                ("a",),
            ),
            id="the group that fails by itself is named, not the whole",
        ),
        pytest.param(
            Blame(
                request(
                    "t",
                    group("a", pods("aw", 9), required="rack"),
                    group("b", pods("bw", 10), required="rack"),
                ),
                ("a", "b"),
            ),
            id="every group that fails by itself is named",
        ),
        pytest.param(
            Blame(
                request(
                    "t",
                    group("a", pods("aw", 8), required="rack"),
                    group("b", pods("bw", 8), required="rack"),
                ),
                ("root",),
            ),
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
            Blame(
                request(
                    "t",
                    group("a", pods("aw", 9), required="rack"),
                    group("b", pods("bw", 8), required="rack"),
                    group("c", pods("cw", 8), required="rack"),
                    minimum=2,
                ),
                ("root",),
            ),
            id="a failing member that may be left out is not at fault",
        ),
        pytest.param(
            Blame(
                request(
                    "t",
                    group("a", pods("aw", 9), required="rack"),
                    group("b", pods("bw", 9), required="rack"),
                    group("c", pods("cw", 1), required="rack"),
                    minimum=2,
                ),
                ("a", "b"),
            ),
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


# ---- how much fits, and what limits ----


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
    asked = request(
        "t",
        group("a", pods("aw", 4), required="rack"),
        group("b", pods("bw", 4), required="rack"),
        group("c", pods("cw", 4), required="rack"),
        required="block",
    )
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

    assert (shortfall.level, shortfall.wanted, shortfall.fits) == (None, 13, 12)
    assert shortfall.best == (DomainFit((), 12, GPU, ()),)


# ---- excluded nodes ----

_SELECTED = {"selector": {"gpu": "h100"}}
_AFFINE = {
    "affinity": (
        Term((Requirement("gpu", Operator.IN, ("h100", "a100")), Requirement("zone", Operator.EXISTS))),
        Term((Requirement("size", Operator.GT, ("3",)),)),
    )
}


@pytest.mark.parametrize(
    ("host", "asked", "excluded"),
    [
        pytest.param("x1: 8", {}, [], id="a node that takes a pod is not excluded"),
        pytest.param(
            "x1: 8 not-ready unschedulable",
            {},
            [("not ready", "")],
            id="of several reasons the first is told",
        ),
        pytest.param("x1: 8 unschedulable", {}, [("unschedulable", "")], id="a cordoned node"),
        pytest.param(
            "x1: 8 taint:a=b:NoSchedule taint:c:NoExecute",
            {"tolerations": [Toleration("a", "b", Effect.NO_SCHEDULE)]},
            [("taint", "c:NoExecute")],
            id="of several taints the first that is not tolerated",
        ),
        pytest.param("x1: 8 taint:a=b:PreferNoSchedule", {}, [], id="a soft taint excludes nothing"),
        pytest.param("x1: 8 label:gpu=a100", _SELECTED, [("selector", "gpu=h100")], id="a selector"),
        pytest.param(
            "x1: 8 label:gpu=a100",
            _AFFINE,
            [("affinity", "gpu In (h100, a100) and zone Exists, or size Gt (3)")],
            id="affinity, in its users' words",
        ),
        pytest.param("x1: 8 used=8", {}, [("resource", GPU)], id="a full node"),
        pytest.param(
            "x1: 0 cpu=1", {"cpu": 2}, [("resource", GPU)], id="of several resources the scarce kind is told"
        ),
        pytest.param(
            "x1: 8 used=1:other:port=80/TCP",
            {"gpus": 0, "ports": [80]},
            [("port", "80/TCP")],
            id="a port in use",
        ),
    ],
)
def test_why_a_node_takes_no_pod(
    host: str, asked: dict[str, object], excluded: list[tuple[str, str]]
) -> None:
    cluster = parse(f"r1\n  {host}\n")

    shortfall = only(cluster, request("t", group("g", pods("w", 99, **asked), required="rack")))  # type: ignore[arg-type]

    assert shortfall.excluded == tuple(Exclusion(reason, detail, 1) for reason, detail in excluded)


def test_nodes_without_a_domain_of_the_level_are_excluded_by_the_first_label_they_lack() -> None:
    cluster = parse("""
        b1
          r1
            x1: 1
          x2: 8
        x3: 8
        x4: 8 not-ready
    """)

    shortfall = only(cluster, request("t", group("g", pods("w", 2), required="rack")))

    assert shortfall.excluded == (Exclusion("unlabelled", "block", 2), Exclusion("unlabelled", "rack", 1))


def test_a_node_that_takes_one_of_several_shapes_is_not_excluded() -> None:
    cluster = parse("""
        r1
          x1: 0 cpu=2
          x2: 8 used=8 cpu=1
    """)
    asked = request("t", group("g", pods("cpu", 1, 0, cpu=2), pods("gpu", 1, 8), required="rack"))

    assert only(cluster, asked).excluded == (Exclusion("resource", GPU, 1),)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(
            [pods("cpu", 1, 0, cpu=2, selector={"kind": "cpu"}), pods("gpu", 1, 8)],
            id="the selector keeps the first shape out",
        ),
        pytest.param(
            [pods("cpu", 1, 0, cpu=2), pods("gpu", 1, 8, selector={"kind": "gpu"})],
            id="the selector keeps the second shape out",
        ),
    ],
)
def test_of_several_shapes_the_one_that_comes_closest_counts(asked: list[PodSet]) -> None:
    shortfall = only(parse("r1\n  x1: 1 cpu=1\n"), request("t", group("g", *asked, required="rack")))

    assert [each.reason for each in shortfall.excluded] == ["resource"]


# ---- what would help ----


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
                request(
                    "t",
                    group("a", pods("aw", 2), required="rack"),
                    group("b", pods("bw", 2), required="rack"),
                    group("c", pods("cw", 2), required="rack"),
                    required="block",
                ),
                [(LevelChange("a", "block"),), (CountChange("cw", 1),)],
            ),
            id="what turns out not to be in the way is left as it was",
        ),
        pytest.param(
            Help(
                "b1\n  r1\n    x1: 3\n  r2\n    x2: 3\n",
                request(
                    "t",
                    group("a", pods("aw", 2), required="rack"),
                    group("b", pods("bw", 2), required="rack"),
                    group("c", pods("cw", 2), required="rack"),
                ),
                [(LevelChange("a", "block"),), (CountChange("cw", 1),)],
            ),
            id="where groups stand in each other's way, changing one of them may do",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 2\nr2\n  x2: 3\n",
                request(
                    "t",
                    group("a", pods("aw", 4), required="rack"),
                    group("b", pods("bw", 5), required="rack"),
                ),
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
                request(
                    "t",
                    group("a", pods("aw", 4), required="rack"),
                    group("b", pods("bw", 4), required="rack"),
                ),
                [(CountChange("aw", 2), CountChange("bw", 2)), (Departure(("a", "b")),)],
            ),
            id="several failing groups get room in domains of their own",
        ),
        pytest.param(
            Help(
                "r1\n  x1: 4 used=4:a\nr2\n  x2: 4\n",
                request(
                    "t",
                    group("a", pods("aw", 4), required="rack"),
                    group("b", pods("bw", 4), required="rack"),
                ),
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


def test_an_undecided_request_is_explained_as_far_as_is_known() -> None:
    engine = Engine(THREE_RACKS, Budget(find=1))

    outcome = engine.solve(WHOLE_HOSTS)

    assert isinstance(outcome, Undecided)
    assert [each.group for each in outcome.shortfalls] == ["g"]


# ---- what placed groups had to choose from ----


def choices(cluster: Cluster, asked: Request) -> tuple[Choice, ...]:
    engine = Engine(cluster)
    placed = engine.decide(asked)
    assert isinstance(placed, Placed)
    return engine.explain(asked, placed)


def test_a_placed_group_tells_how_many_domains_could_have_held_it() -> None:
    asked = request("t", group("g", pods("w", 3), required="rack"))
    cluster = parse("""
        r1
          x1: 2
        r2
          x2: 5
        r3
          x3: 4
        r4
          x4: 3
        x5: 8
    """)

    assert choices(cluster, asked) == (
        Choice(
            group="g",
            level="rack",
            inside=(),
            domain=("r4",),
            room=3,
            fitting=3,
            of=4,
            runners_up=(DomainFit(("r3",), 4, None), DomainFit(("r2",), 5, None)),
        ),
    )


def test_a_nested_group_chooses_inside_the_domain_of_the_group_around_it() -> None:
    asked = request("t", group("outer", group("inner", pods("w", 2), required="rack"), required="block"))
    cluster = parse("""
        b1
          r1
            x1: 2
          r2
            x2: 2
        b2
          r3
            x3: 4
          r4
            x4: 1
          r5
            x5: 4
    """)

    outer, inner = choices(cluster, asked)

    assert (outer.group, outer.inside, outer.domain, outer.fitting, outer.of) == ("outer", (), ("b1",), 2, 2)
    assert (inner.group, inner.inside, inner.domain, inner.fitting, inner.of) == (
        "inner",
        ("b1",),
        ("b1", "r1"),
        2,
        2,
    )


@pytest.mark.parametrize(
    ("asked", "levels"),
    [
        pytest.param(
            request("t", group("g", pods("w", 8), required="block", preferred="rack")),
            {"g": "rack"},
            id="the preferred level where it was reached",
        ),
        pytest.param(
            request("t", group("g", pods("w", 10), required="block", preferred="rack")),
            {"g": "block"},
            id="the required level where the preference broke",
        ),
        pytest.param(
            request("t", group("g", pods("w", 10), preferred="rack")),
            {"g": "block"},
            id="the level shared where nothing was required",
        ),
        pytest.param(
            request("t", group("g", pods("w", 2))),
            {"root": "rack"},
            id="the root of a request without levels",
        ),
        pytest.param(
            request("t", group("g", pods("w", 2, bound=["x1", "x3"]))),
            {"root": "block"},
            id="where running pods keep the rest apart, what they share",
        ),
    ],
)
def test_the_level_of_a_choice(asked: Request, levels: dict[str, str]) -> None:
    assert {each.group: each.level for each in choices(TWO_RACKS, asked)} == levels


def test_pods_above_the_minimum_count_for_a_choice() -> None:
    asked = request("t", group("g", pods("w", 5, minimum=1), required="rack"))

    (choice,) = choices(TWO_RACKS, asked)

    assert (choice.domain, choice.fitting) == (("b1", "r1"), 1)
