"""Who is displaced for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from closeknit.engine import Engine
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.drawing import GPU
from closeknit.hub.outcome import Placed
from closeknit.hub.quota import Account
from closeknit.hub.request import Request
from closeknit.hub.resources import Resources
from closeknit.hub.shortfall import QuotaScope
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.deciding import book
from closeknit.scheduler.preemption import TRIALS, Displacement, Running, displacement
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse

RACKS = "r1\n  x1: 4\n  x2: 4\nr2\n  x3: 4\n  x4: 4\n"
NOW = 100.0
ALL = Account(("cluster",), Resources({GPU: 2**40}), scope=QuotaScope.QUEUE)


def queue(
    name: str,
    quota: int,
    *,
    limit: int = 99,
    weight: float = 1.0,
    within: Account = ALL,
    preempt_after: float | None = None,
    reclaim_after: float | None = None,
) -> Account:
    return Account(
        (f"Queue {name}",),
        Resources({GPU: quota}),
        borrowing={GPU: limit - quota},
        weights={GPU: weight},
        preempt_after=preempt_after,
        reclaim_after=reclaim_after,
        scope=QuotaScope.QUEUE,
        within=within,
    )


def unit(asked: Request, priority: int, account: Account | None = None) -> PlaceableWorkload:
    name = ObjectName("scheduling.run.ai/v2alpha2", "PodGroup", "team", asked.name)
    accounts = (account,) if account is not None else ()
    return PlaceableWorkload(name, "kai", asked, priority=priority, accounts=accounts)


def runs(
    name: str,
    nodes: str,
    *,
    priority: int = 0,
    since: float = 0.0,
    account: Account | None = None,
    preemptible: bool = True,
) -> Running:
    """A gang of pods of one GPU, one for each node that is listed."""
    on = nodes.split()
    workload = unit(request(name, pods("p", len(on), bound=on)), priority, account)
    return Running(replace(workload, preemptible=preemptible), name, len(on), since, frozenset(on))


def found(
    asked: PlaceableWorkload, running: Sequence[Running], drawing: str = RACKS, trials: int = TRIALS
) -> Displacement | None:
    cluster = parse(drawing)
    engine, accounts = Engine(cluster), Accounts()
    for each in running:
        assert isinstance(each.workload, PlaceableWorkload)
        for pod_set in each.workload.request.root.pod_sets():
            for node in pod_set.bound:
                engine.hold(Holding(each.holder, node, pod_set.resources))
        book(accounts, each.workload)
    return displacement(engine, cluster, asked, running, accounts=accounts, now=NOW, trials=trials)


def gone(plan: Displacement | None) -> list[str] | None:
    return [each.holder for each in plan.victims] if plan is not None else None


FULL_1 = "x1 x1 x1 x1 x2 x2 x2 x2"
FULL_2 = "x3 x3 x3 x3 x4 x4 x4 x4"
GANG = request("gang", pods("p", 8), required="rack")
FOUR = request("four", pods("p", 4), required="rack")


@dataclass
class Case:
    asked: PlaceableWorkload
    running: Sequence[Running]
    want: list[str] | None


TOP = queue("top", 8)
LEFT, RIGHT = queue("left", 8), queue("right", 4)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case(unit(GANG, 5), [runs("a", FULL_1), runs("b", FULL_2, priority=5)], ["a"]),
            id="one of lower priority goes, one of the same does not",
        ),
        pytest.param(
            Case(unit(GANG, 5), [runs("a", FULL_1, priority=5), runs("b", FULL_2, priority=6)], None),
            id="where all are as important nobody goes",
        ),
        pytest.param(
            Case(unit(GANG, 5), [runs("a", FULL_1, preemptible=False), runs("b", FULL_2)], ["b"]),
            id="who is not preemptible stays",
        ),
        pytest.param(
            Case(
                unit(GANG, 5),
                [runs("a", "x1 x1 x1 x1"), runs("b", "x2 x2 x2 x2"), runs("c", FULL_2)],
                ["c"],
            ),
            id="one large gang goes before two small ones",
        ),
        pytest.param(
            Case(unit(GANG, 5), [runs("old", FULL_1, since=1), runs("young", FULL_2, since=90)], ["young"]),
            id="of two the one that has done less work goes",
        ),
        pytest.param(
            Case(
                unit(GANG, 5), [runs("a", "x1 x3"), runs("b", "x2", priority=9), runs("c", "x4")], ["a", "c"]
            ),
            id="a gang goes whole, and only where the rest of its rack may go too",
        ),
        pytest.param(
            Case(
                unit(GANG, 5),
                [runs("a", "x1"), runs("b", "x2", priority=9), runs("c", "x3", priority=9)],
                None,
            ),
            id="nobody goes where it would not fit inside its level even then",
        ),
        pytest.param(Case(unit(FOUR, 5), [runs("a", "x1")], []), id="nobody goes where it fits anyway"),
        pytest.param(
            Case(
                unit(FOUR, 0, LEFT),
                [runs("a", FULL_1, priority=9, account=RIGHT), runs("b", FULL_2, priority=9, account=LEFT)],
                None,
            ),
            id="a queue that is at its quota takes nothing from one that is as far beyond",
        ),
        pytest.param(
            Case(
                unit(FOUR, 0, LEFT),
                [
                    runs("a", FULL_1, priority=9, account=RIGHT),
                    runs("b", "x3 x3 x3 x3", priority=9, account=LEFT),
                    runs("c", "x4 x4 x4 x4", preemptible=False),
                ],
                ["a"],
            ),
            id="a queue within its quota takes back what another uses beyond its own, whatever the priority",
        ),
        pytest.param(
            Case(
                unit(GANG, 9, LEFT),
                [
                    runs("a", "x1 x1 x2 x2", account=RIGHT),
                    runs("b", "x3 x3 x4 x4", account=queue("other", 4)),
                ],
                None,
            ),
            id="nothing is taken from queues within their quotas",
        ),
        pytest.param(
            Case(
                unit(FOUR, 5, queue("own", 8, limit=8)),
                [runs("a", "x1 x1 x2 x2 x2", account=queue("own", 8, limit=8))],
                ["a"],
            ),
            id="one of lower priority goes where the limit of the queue is what is short",
        ),
        pytest.param(
            Case(replace(unit(GANG, 5), preempts=False), [runs("a", FULL_1), runs("b", FULL_2)], None),
            id="nobody goes for one that does not preempt",
        ),
    ],
)
def test_who_goes(case: Case) -> None:
    plan = found(case.asked, case.running)
    assert gone(plan) == case.want
    if plan is not None:
        assert plan.fewest
        assert isinstance(plan.verdict.outcome, Placed)


@pytest.mark.parametrize(
    ("after", "since", "want"),
    [
        pytest.param(None, 99.0, ["a"], id="no minimum"),
        pytest.param(50.0, 50.0, ["a"], id="the minimum has passed"),
        pytest.param(50.0, 51.0, None, id="the minimum has not passed"),
    ],
)
def test_who_has_not_run_long_enough_stays(after: float | None, since: float, want: list[str] | None) -> None:
    own = queue("own", 8, preempt_after=after)
    assert gone(found(unit(GANG, 5, own), [runs("a", FULL_1, since=since, account=own), *OTHERS])) == want
    parent = queue("parent", 99, preempt_after=after)
    own = queue("own", 8, within=parent)
    assert gone(found(unit(GANG, 5, own), [runs("a", FULL_1, since=since, account=own), *OTHERS])) == want


OTHERS = [runs("fixed", FULL_2, preemptible=False)]

A = queue("a", 99)
B = queue("b", 99, within=A, reclaim_after=60)
C, D = queue("c", 4, within=B), queue("d", 4, within=B, reclaim_after=6)
LEAF1 = queue("leaf1", 4, within=C, reclaim_after=0)
LEAF2 = queue("leaf2", 4, within=C, reclaim_after=18)
LEAF3 = queue("leaf3", 4, within=D)


@pytest.mark.parametrize(
    ("taker", "victim", "seconds"),
    [
        pytest.param(LEAF1, LEAF2, 18, id="a sibling's own word"),
        pytest.param(LEAF2, LEAF1, 0, id="a sibling that promises nothing"),
        pytest.param(LEAF3, LEAF1, 60, id="a cousin: what the queue below the common one inherits"),
        pytest.param(LEAF3, LEAF2, 60, id="a cousin: not what the leaf itself says"),
        pytest.param(LEAF1, LEAF3, 6, id="a cousin: what the queue below the common one says"),
    ],
)
def test_how_long_a_unit_is_safe_from_another_queue(taker: Account, victim: Account, seconds: float) -> None:
    asked = unit(FOUR, 0, taker)
    safe = found(asked, [runs("a", FULL_1, since=NOW - seconds + 0.1, account=victim), *OTHERS])
    over = found(asked, [runs("a", FULL_1, since=NOW - seconds, account=victim), *OTHERS])
    assert gone(safe) is None
    assert gone(over) == ["a"]


def test_what_is_beyond_all_quotas_is_taken_by_weight() -> None:
    heavy, light = queue("heavy", 0, weight=3), queue("light", 0, weight=1)
    running = [*(runs(f"a{i}", f"x{i}", account=light) for i in (1, 2, 3, 4))]
    drawing = "x1: 1\nx2: 1\nx3: 1\nx4: 1\n"
    two = unit(request("two", pods("p", 2)), 0, heavy)
    assert len(gone(found(two, running, drawing)) or []) == 2
    # Four would leave it further beyond its quota, for its weight, than the other queue.
    four = unit(request("four", pods("p", 4)), 0, heavy)
    assert gone(found(four, running, drawing)) is None
    swapped = [replace(each, workload=replace(each.workload, accounts=(heavy,))) for each in running]
    assert gone(found(replace(two, accounts=(light,)), swapped, drawing)) is None


def test_where_there_are_too_many_sets_to_try_nobody_goes_who_could_stay() -> None:
    drawing = "\n".join(f"r{r}\n" + "\n".join(f"  x{r}-{h}: 1" for h in range(16)) for r in range(2))
    small = [runs(f"s{h:02}", f"x0-{h}") for h in range(16)]
    large = [runs(f"l{h}", " ".join(f"x1-{h * 2 + i}" for i in range(2))) for h in range(8)]
    plan = found(
        unit(request("gang", pods("p", 16), required="rack"), 5), [*small, *large], drawing, trials=100
    )
    assert plan is not None
    assert gone(plan) == [f"l{h}" for h in range(8)]
    assert not plan.fewest
    assert plan.trials <= 110


def test_nothing_is_applied() -> None:
    cluster = parse(RACKS)
    engine = Engine(cluster)
    engine.hold(Holding("a", "x1", Resources({GPU: 1}), 4))
    running = [runs("a", "x1 x1 x1 x1")]
    displacement(engine, cluster, unit(GANG, 5), running, accounts=Accounts(), now=NOW)
    assert isinstance(engine.decide(request("w", pods("p", 12))), Placed)
    assert not isinstance(engine.decide(request("w", pods("p", 13))), Placed)


def test_where_there_are_too_many_sets_to_try_few_large_gangs_go_before_many_small_ones() -> None:
    drawing = "r0\n" + "\n".join(f"  x{h:02}: 1" for h in range(16))
    large = [runs(f"l{i}", f"x{i * 2:02} x{i * 2 + 1:02}") for i in range(4)]
    small = [runs(f"s{h:02}", f"x{h:02}") for h in range(8, 16)]
    asked = unit(request("gang", pods("p", 8), required="rack"), 5)
    plan = found(asked, [*small, *large], drawing, trials=100)
    assert plan is not None
    assert not plan.fewest
    assert gone(plan) == ["l0", "l1", "l2", "l3"]
