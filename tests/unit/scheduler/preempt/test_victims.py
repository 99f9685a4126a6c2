"""Who is evicted for whom. Ids are promises; each case shows only what matters to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.drawing import GPU
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.preempt.eligibility import Eligible, Ineligible, Kind, eligibility
from closeknit.scheduler.preempt.running import RunningUnit
from closeknit.scheduler.preempt.trials import Goal
from closeknit.scheduler.preempt.victim_order import DEFAULT_ORDER, VICTIM_ORDER, ordered
from closeknit.scheduler.preempt.victims import NoVictims, VictimSet
from closeknit.testing.builders import pods, request
from tests.kit.preemption import (
    NOW,
    Scene,
    budget,
    evicted,
    pod,
    queue,
    replicas,
    running,
    units_evicted,
    workload,
)

TWO = "r1\n  x1: 2\n  x2: 2\n"
"""One rack of two nodes."""
RACKS = "r1\n  x1: 4\n  x2: 4\nr2\n  x3: 4\n  x4: 4\n"
ONE = request("one", pods("p", 1))
PAIR = request("pair", pods("p", 2))
NODE = request("node", pods("p", 1, gpus=2))
EIGHT = request("eight", pods("p", 8), required="rack")


@dataclass
class Case:
    """What runs, what waits, and which units are evicted for it; with a number those that are shrunk by it."""

    units: list[Any]
    asked: PlaceableWorkload
    want: list[str] | None
    drawing: str = TWO
    options: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)


def high(asked: Any, **fields: Any) -> PlaceableWorkload:
    return workload(asked, priority=100, **fields)


CRITERIA = [
    pytest.param(
        Case(
            [
                running("old", "x1", priority=1, started=0, gpus=2),
                running("young", "x2", priority=99, started=NOW - 1, gpus=2),
            ],
            high(ONE),
            ["old"],
        ),
        id="priority is compared before lost work",
    ),
    pytest.param(
        Case([running("a", "x1 x1 x2", priority=1), running("b", "x2", priority=2)], high(ONE), ["a"]),
        id="priority is compared before the number of pods",
    ),
    pytest.param(
        Case(
            [running("old", "x1", priority=1), running("young", "x1", priority=2, started=NOW - 1)],
            high(ONE),
            ["old"],
            drawing="x1: 2",
        ),
        id="priority decides between equal pods of one node",
    ),
    pytest.param(
        Case(
            [
                running("elastic", "x1 x2", minimum=1, started=NOW),
                running("fixed", "x1 x2", started=NOW - 1),
                running("other", "x3", priority=200),
            ],
            high(request("w", pods("p", 3))),
            ["elastic:1", "fixed"],
            drawing="x1: 2\nx2: 2\nx3: 1",
        ),
        id="one gang is broken and another one shrunk, rather than two broken",
    ),
    pytest.param(
        Case(
            [running("a", "x1"), running("b", "x1"), running("c", "x2 x2", started=0)],
            high(NODE),
            ["c"],
        ),
        id="one large gang is broken rather than two small ones",
    ),
    pytest.param(
        Case(
            [running("elastic", "x1 x1", minimum=1, started=0), running("fixed", "x2 x2", started=NOW - 1)],
            high(ONE),
            ["elastic:1"],
        ),
        id="an elastic gang is shrunk rather than another one broken",
    ),
    pytest.param(
        Case(
            [running("a", "x1 x1", started=NOW - 100), running("b", "x2 x2", started=NOW - 50)],
            high(ONE),
            ["b"],
        ),
        id="of two gangs the one that has lost less work is broken",
    ),
    pytest.param(
        Case(
            [
                running("a", "x1 x1", started=NOW),
                running("b", "x2", started=NOW),
                running("c", "x2", started=0),
            ],
            high(ONE),
            ["b"],
        ),
        id="of two that lost the same work the one with fewer pods is broken",
    ),
    pytest.param(
        Case([running("a", "x1 x1"), running("b", "x2 x2")], high(ONE), ["a"]),
        id="of equals the first by name is broken",
    ),
    pytest.param(
        Case(
            [running("g", "x1", gpus=2, labels={"app": "g"}), running("h", "x2", gpus=2, priority=50)],
            high(ONE),
            ["h"],
            more={"budgets": [budget(0, app="g")]},
        ),
        id="a set that respects budgets is chosen before one of lower priority that does not",
    ),
]

ELIGIBLE = [
    pytest.param(
        Case([running("a", "x1 x1 x2 x2", priority=100)], high(ONE), None),
        id="equals in priority are not evicted",
    ),
    pytest.param(
        Case([running("a", "x1 x1 x2 x2", preemptible=False)], high(ONE), None),
        id="what is not preemptible is never evicted",
    ),
    pytest.param(
        Case([running("a", "x1 x1 x2 x2", being_bound=True)], high(ONE), None),
        id="what is being bound is not evicted",
    ),
    pytest.param(
        Case([running("a", "x1 x1 x2 x2")], high(ONE, preempts=False), None),
        id="a unit with preemptionPolicy Never evicts nothing",
    ),
    pytest.param(
        Case([running("a", "x1 x1 x2 x2", account=queue("q", 9))], high(ONE), None),
        id="a unit without a queue evicts none with a queue",
    ),
    pytest.param(
        Case([running("a", "x1 x1 x2 x2")], high(ONE, account=queue("q", 9)), None),
        id="a unit with a queue evicts none without a queue",
    ),
    pytest.param(
        Case(
            [running(name, node, gpus=2) for name, node in (("lone-1", "x1"), ("lone-2", "x2"))],
            high(NODE),
            ["lone-1"],
        ),
        id="single pods are victims like any other (S18)",
    ),
]

S4 = Case(
    [running("old", "x1 x1", priority=1, started=0), running("young", "x2 x2", priority=99, started=NOW - 9)],
    workload(NODE, priority=200),
    ["old"],
)
"""A unit of priority 1 that has run long, and one of 99 that has not (S4)."""

ELASTIC = [
    pytest.param(
        Case([running("a", "x1 x1 x2 x2", minimum=2)], high(PAIR), ["a:2"]),
        id="to the minimum and no further (S20)",
    ),
    pytest.param(
        Case([running("a", "x1 x1 x2 x2", minimum=2)], high(request("w", pods("p", 3))), ["a"]),
        id="broken whole if its surplus is not enough",
    ),
    pytest.param(
        Case([running("a", "x1 x1 x2", minimum=1), running("b", "x2", minimum=1)], high(NODE), ["a:2"]),
        id="surplus goes where the unit fits",
    ),
    pytest.param(
        Case(
            [running("a", "x1 x1 x2 x2", minimum=3, started=[0, NOW - 1, 0, NOW - 2])],
            high(ONE),
            ["a:1"],
        ),
        id="the youngest surplus goes first",
    ),
    pytest.param(
        Case([replicas("a", "x1 x1", "x2 x2", minimum=1, needed=2)], high(ONE), ["a:2"]),
        id="a replica goes whole",
    ),
]

QUOTA = [
    pytest.param(
        Case(
            [running("low", "x1 x1", account=queue("q", 2, limit=2))],
            high(PAIR, account=queue("q", 2, limit=2)),
            ["low"],
        ),
        id="a queue at its limit preempts within itself though nodes are free (S5, S17)",
    ),
    pytest.param(
        Case(
            [running("low", "x1 x1", account=queue("a", within=queue("top", 2, limit=2)))],
            high(PAIR, account=queue("b", 2, within=queue("top", 2, limit=2))),
            ["low"],
        ),
        id="so does a queue below one at its limit",
    ),
    pytest.param(
        Case(
            [running("low", "x1 x1", minimum=1, account=queue("q", 2, limit=2))],
            high(ONE, account=queue("q", 2, limit=2)),
            ["low:1"],
        ),
        id="surplus gives back its quota",
    ),
]


@pytest.mark.parametrize("case", [*CRITERIA, *ELIGIBLE, *ELASTIC, *QUOTA, pytest.param(S4, id="S4")])
def test_choice(case: Case) -> None:
    for units in (case.units, case.units[::-1]):
        chosen = Scene(case.drawing, units, **case.more).choose(case.asked, **case.options)
        assert units_evicted(chosen) == case.want
        assert chosen.exact
        if isinstance(chosen, VictimSet):
            assert isinstance(chosen.verdict.outcome, Placed)


def test_the_youngest_surplus_is_evicted() -> None:
    unit = running("a", "x1 x1 x2 x2", minimum=3, started=[0, NOW - 1, 0, NOW - 2])
    assert evicted(Scene(TWO, [unit]).choose(high(ONE))) == ["a-1"]


def test_every_criterion_has_its_own_case() -> None:
    """The table of the policy page, and one promise for each of its rows above."""
    assert DEFAULT_ORDER == ("budget", "priority", "gangs", "lostWork", "pods", "name")
    assert len(CRITERIA) >= len(VICTIM_ORDER)
    assert all(criterion.description for criterion in VICTIM_ORDER)


@pytest.mark.parametrize(
    ("names", "want"),
    [
        pytest.param([], ["pods", "name"], id="pods and name always decide at last"),
        pytest.param(["gangs", "priority"], ["gangs", "priority", "pods", "name"], id="in the order given"),
        pytest.param(["pods", "gangs"], ["pods", "gangs", "name"], id="pods may come earlier"),
    ],
)
def test_the_order_is_a_setting(names: list[str], want: list[str]) -> None:
    assert [criterion.name for criterion in ordered(names)] == want


@pytest.mark.parametrize("names", [["age"], ["gangs", "gangs"], ["name", "gangs"]])
def test_an_order_that_means_nothing_is_refused(names: list[str]) -> None:
    with pytest.raises(ValueError, match="criterion"):
        ordered(names)


@pytest.mark.parametrize(
    ("names", "want"),
    [
        pytest.param(
            DEFAULT_ORDER, ["small-1", "small-2"], id="by default priority is compared before gangs"
        ),
        pytest.param(("gangs", "priority"), ["large"], id="a maximum may be compared after a sum"),
        pytest.param(("lostWork",), ["large"], id="criteria may be left out"),
    ],
)
def test_another_order_chooses_other_victims(names: tuple[str, ...], want: list[str]) -> None:
    units = [
        running("small-1", "x1", priority=1, started=0),
        running("small-2", "x1", priority=1, started=0),
        running("large", "x2 x2", priority=2, started=NOW - 1),
    ]
    assert units_evicted(Scene(TWO, units).choose(high(NODE), order=ordered(names))) == want


# ------------------------------------------------------------------------------------- minimum run times


@pytest.mark.parametrize(
    ("started", "want", "retry_at"),
    [
        pytest.param(NOW - 60, ["a"], None, id="it has passed"),
        pytest.param(NOW - 59, None, NOW + 1, id="it has not passed"),
    ],
)
def test_a_unit_is_safe_for_its_minimum_run_time(
    started: float, want: list[str] | None, retry_at: float | None
) -> None:
    for own in (queue("q", 9, preempt_after=60.0), queue("q", 9, within=queue("top", 9, preempt_after=60.0))):
        unit = running("a", "x1 x1 x2 x2", started=started, account=own)
        chosen = Scene(TWO, [unit]).choose(high(ONE, account=own))
        assert units_evicted(chosen) == want
        if retry_at is not None:
            assert isinstance(chosen, NoVictims)
            assert chosen.retry_at == retry_at


def test_a_unit_that_has_not_run_for_its_minimum_run_time_may_lose_surplus() -> None:
    own = queue("q", 9, preempt_after=60.0)
    unit = running("a", "x1 x1 x2 x2", minimum=3, started=NOW - 1, account=own)
    assert units_evicted(Scene(TWO, [unit]).choose(high(ONE, account=own))) == ["a:1"]
    assert evicted(Scene(TWO, [unit]).choose(high(PAIR, account=own))) is None


A = queue("a", 99)
B = queue("b", 99, within=A, reclaim_after=60.0)
C, D = queue("c", 4, within=B), queue("d", 4, within=B, reclaim_after=6.0)
LEAF1 = queue("leaf1", 4, within=C, reclaim_after=0.0)
LEAF2 = queue("leaf2", 4, within=C, reclaim_after=18.0)
LEAF3 = queue("leaf3", 4, within=D)


@pytest.mark.parametrize(
    ("taker", "victim", "seconds"),
    [
        pytest.param(LEAF1, LEAF2, 18, id="a sibling's own time"),
        pytest.param(LEAF2, LEAF1, 0, id="a sibling that promises nothing"),
        pytest.param(LEAF3, LEAF1, 60, id="a cousin: what the queue below the common one inherits"),
        pytest.param(LEAF3, LEAF2, 60, id="a cousin: not the time of the leaf itself"),
        pytest.param(LEAF1, LEAF3, 6, id="a cousin: the time of the queue below the common one"),
    ],
)
def test_how_long_a_unit_is_safe_from_another_queue(taker: Any, victim: Any, seconds: float) -> None:
    unit = running("u", "x1 x1", started=NOW - 1, account=victim)
    assert eligibility(workload(ONE, account=taker), unit) == Eligible(Kind.RECLAIM, NOW - 1 + seconds)


@pytest.mark.parametrize(
    ("fields", "unit", "want"),
    [
        pytest.param({"preempts": False}, running("u", "x1"), Ineligible.NEVER_PREEMPTS, id="never preempts"),
        pytest.param({}, running("one", "x1"), Ineligible.SAME_UNIT, id="the unit itself"),
        pytest.param({}, running("u", "x1", being_bound=True), Ineligible.BEING_BOUND, id="being bound"),
        pytest.param(
            {}, running("u", "x1", preemptible=False), Ineligible.NOT_PREEMPTIBLE, id="not preemptible"
        ),
        pytest.param({}, running("u", "x1", priority=100), Ineligible.NOT_LOWER, id="no lower priority"),
        pytest.param(
            {}, running("u", "x1", account=A), Ineligible.ONE_WITHOUT_QUEUE, id="only one of them has a queue"
        ),
        pytest.param(
            {}, running("u", "x1"), Eligible(Kind.PREEMPT, 0.0), id="of lower priority in the same lane"
        ),
    ],
)
def test_why_a_unit_is_not_eligible(fields: dict[str, Any], unit: Any, want: object) -> None:
    assert eligibility(high(ONE, **fields), unit) == want


# --------------------------------------------------------------------------------------------- budgets


def guarded(name: str, node: str, **fields: Any) -> Any:
    return running(name, node, gpus=2, labels={"app": name}, **fields)


def test_a_set_that_exceeds_a_budget_is_chosen_if_no_other_helps_and_it_is_reported() -> None:
    guard = budget(0, app="a")
    chosen = Scene(TWO, [guarded("a", "x1"), guarded("b", "x2", priority=100)], budgets=[guard]).choose(
        high(ONE)
    )
    assert units_evicted(chosen) == ["a"]
    assert isinstance(chosen, VictimSet)
    assert chosen.waits_for == (guard,)


def test_a_set_that_waits_is_chosen_only_after_every_other_question() -> None:
    """The least without waiting is before all pods with waiting."""
    units = [guarded("a", "x1"), guarded("b", "x2")]
    asked = high(request("w", pods("p", 2, gpus=2, minimum=1)))
    chosen = Scene(TWO, units, budgets=[budget(0, app="a")]).choose(asked)
    assert isinstance(chosen, VictimSet)
    assert (units_evicted(chosen), chosen.goal, chosen.waits_for) == (["b"], Goal.LEAST, ())


def test_a_pod_with_two_budgets_is_never_chosen() -> None:
    both = [budget(9, name="one", app="a"), budget(9, name="two")]
    chosen = Scene(TWO, [guarded("a", "x1"), running("b", "x2 x2", priority=100)], budgets=both).choose(
        high(ONE)
    )
    assert isinstance(chosen, NoVictims)
    assert chosen.protected_by_budget == 1


def test_surplus_with_two_budgets_is_not_chosen_either() -> None:
    both = [budget(9, name="one", app="a"), budget(9, name="two")]
    surplus = running("a", "x1 x1 x2 x2", minimum=1, labels={"app": "a"})
    assert evicted(Scene(TWO, [surplus], budgets=both).choose(high(ONE))) is None


def test_evictions_under_way_are_counted() -> None:
    units = [guarded("a", "x1"), running("b", "x2 x2", priority=100)]
    flying = pod("gone", "x9", labels={"app": "a"})
    chosen = Scene(TWO, units, budgets=[budget(1, app="a")]).choose(high(ONE), in_flight=[flying])
    assert isinstance(chosen, VictimSet)
    assert len(chosen.waits_for) == 1


@pytest.mark.parametrize(
    ("allowed", "fits"),
    [pytest.param(2, True, id="room for both"), pytest.param(1, False, id="room for one")],
)
def test_the_pods_of_a_whole_set_are_counted_together(allowed: int, *, fits: bool) -> None:
    unit = running("gang", "x1 x2", gpus=2, labels={"app": "a"})
    chosen = Scene(TWO, [unit], budgets=[budget(allowed, app="a")]).choose(
        high(request("w", pods("p", 1, gpus=2)))
    )
    assert isinstance(chosen, VictimSet)
    assert (chosen.waits_for == ()) == fits


def test_a_budget_of_another_namespace_covers_nothing() -> None:
    chosen = Scene(TWO, [guarded("a", "x1")], budgets=[budget(0, namespace="other")]).choose(
        high(request("w", pods("p", 2, gpus=2)))
    )
    assert isinstance(chosen, VictimSet)
    assert chosen.waits_for == ()


# ---------------------------------------------------------------------------------- what is being freed


def test_capacity_that_is_being_freed_already_is_enough() -> None:
    going = pod("going", "x1", gpus=2)
    scene = Scene(TWO, [running("a", "x2 x2")], more=[going])
    chosen = scene.choose(high(ONE), leaving=[going.holding])
    assert isinstance(chosen, VictimSet)
    assert (chosen.kind, chosen.victims) == (Kind.FREED, ())
    assert units_evicted(scene.choose(high(ONE))) == ["a"]


def test_what_is_nominated_for_others_is_not_counted() -> None:
    going = pod("going", "x1", gpus=2)
    scene = Scene(TWO, [running("a", "x2 x2")], more=[going])
    nominated = replace(going.holding, workload="other")
    chosen = scene.choose(high(ONE), leaving=[going.holding], nominated_for_others=[nominated])
    assert units_evicted(chosen) == ["a"]


# ------------------------------------------------------------------------------------- all, or the least


def test_all_pods_are_asked_for_before_the_least() -> None:
    units = [running("a", "x1 x1"), running("b", "x2 x2")]
    chosen = Scene(TWO, units).choose(high(request("w", pods("p", 4, minimum=1))))
    assert isinstance(chosen, VictimSet)
    assert (chosen.goal, units_evicted(chosen)) == (Goal.ALL_PODS, ["a", "b"])


def test_the_least_is_placed_exactly() -> None:
    units = [running("a", "x1 x1"), running("b", "x2 x2", priority=100)]
    chosen = Scene(TWO, units).choose(high(request("w", pods("p", 4, minimum=1))))
    assert isinstance(chosen, VictimSet)
    assert isinstance(chosen.verdict.outcome, Placed)
    assert (chosen.goal, units_evicted(chosen), len(chosen.verdict.outcome.assignments)) == (
        Goal.LEAST,
        ["a"],
        1,
    )


def test_a_unit_whose_minimum_runs_evicts_others_for_its_surplus() -> None:
    asked = high(request("w", pods("p", 2, minimum=1, bound=["x1"])))
    own = running("w", "x1", priority=100)
    units = [running("a", "x1"), running("b", "x2 x2", priority=100)]
    assert units_evicted(Scene(TWO, [*units, own]).choose(asked)) == ["a"]


# --------------------------------------------------------------------------------------------- reclaim

SINGLE = "\n".join(f"x{i}: 1" for i in range(8))


def settled(first: int, second: int, *, gpus: int, quota: int = 0) -> tuple[int, int]:
    """Use of two equal queues with more demand than there is, once neither can reclaim any more."""
    a, b = queue("a", quota), queue("b", quota)
    units = [running(f"a{i}", f"x{i}", account=a) for i in range(first)]
    units += [running(f"b{i}", f"x{first + i}", account=b) for i in range(second)]
    drawing = "\n".join(f"x{i}: 1" for i in range(gpus))
    for turn in range(20):
        moved = False
        for mine in (b, a):
            others = [workload(request("other", pods("p", 20, minimum=1)), account=b if mine is a else a)]
            more = workload(request(f"w{turn}{mine.name[0][-1]}", pods("p", 1)), account=mine)
            scene = Scene(
                drawing, units, waiting=[*others, workload(request("rest", pods("p", 20)), account=mine)]
            )
            chosen = scene.choose(more)
            if isinstance(chosen, VictimSet) and chosen.victims:
                (victim,) = chosen.victims
                (gone,) = victim.pods
                units = [unit for unit in units if unit is not victim.unit]
                units.append(running(more.request.name, gone.node, account=mine))
                moved = True
        if not moved:
            break
    else:
        pytest.fail("pods are taken back and forth")
    used = [sum(unit.workload.accounts[0].name == each.name for unit in units) for each in (a, b)]
    return used[0], used[1]


@pytest.mark.parametrize(
    ("first", "second", "want"),
    [
        pytest.param(3, 1, (2, 2), id="3 to 1 becomes 2 to 2 (S19)"),
        pytest.param(8, 0, (4, 4), id="8 to 0 becomes 4 to 4 (S19)"),
        pytest.param(2, 2, (2, 2), id="an even split stays"),
        pytest.param(5, 2, (4, 3), id="of an odd number the first by name keeps one more"),
        pytest.param(2, 5, (4, 3), id="and takes it"),
    ],
)
def test_equal_queues_come_to_the_even_split_and_rest(first: int, second: int, want: tuple[int, int]) -> None:
    assert settled(first, second, gpus=first + second) == want
    assert settled(first, second, gpus=first + second, quota=1) == want


RECLAIM = [
    pytest.param(
        Case(
            [running("a", "x1 x1 x2 x2", account=queue("a", 2))], workload(PAIR, account=queue("b", 2)), ["a"]
        ),
        id="quota that another queue uses is taken back, whatever the priority",
    ),
    pytest.param(
        Case(
            [running("a", "x1 x1 x2 x2", minimum=1, account=queue("a", 2))],
            workload(PAIR, account=queue("b", 2)),
            ["a:2"],
        ),
        id="an elastic gang is shrunk for it",
    ),
    pytest.param(
        Case(
            [
                running("a", "x1 x1", account=queue("a", 2)),
                running("c", "x2 x2", account=queue("a", 2), priority=9),
            ],
            workload(request("w", pods("p", 3)), account=queue("b", 2)),
            None,
        ),
        id="nothing is taken for a unit that is beyond the fair share with it",
    ),
    pytest.param(
        Case(
            [running("a", "x1 x1 x2 x2", account=queue("a", 4))], workload(ONE, account=queue("b", 0)), None
        ),
        id="nothing is taken from a queue within its quota",
    ),
    pytest.param(
        Case(
            [
                running("own", "x1 x1", account=queue("b", 2, weight=0)),
                running("a", "x2 x2", account=queue("a", 0, weight=0)),
            ],
            workload(PAIR, priority=5, account=queue("b", 2, weight=0)),
            ["own"],
        ),
        id="preemption is asked about once reclaim does not help",
    ),
    pytest.param(
        Case(
            [
                running("own", "x1 x1", account=queue("b", 4)),
                running("a", "x2 x2", priority=9, account=queue("a", 0)),
            ],
            workload(PAIR, priority=5, account=queue("b", 4)),
            ["a"],
        ),
        id="reclaim is asked about before preemption",
    ),
    pytest.param(
        Case(
            [
                running("a", "x1 x1", account=queue("a", 0, weight=0)),
                running("c", "x2 x2", account=queue("c", 2)),
            ],
            workload(ONE, account=queue("b", 1)),
            ["a"],
        ),
        id="a queue without quota and weight may lose what it uses",
    ),
]


@pytest.mark.parametrize(
    ("beside", "want"),
    [
        pytest.param("x1 x1", ["victim"], id="to the fair share of its department"),
        pytest.param("x1 x1 x1", None, id="not so that its department uses more of its share than the other"),
    ],
)
def test_departments_keep_the_order_of_their_use(beside: str, want: list[str] | None) -> None:
    """Two departments with fair shares of 4 of 8 GPUs; the unit's has another queue with pods ``beside`` it."""
    left, right = queue("left"), queue("right")
    a, c, r = queue("a", within=left), queue("c", within=left), queue("r", within=right)
    units = [
        running("beside", beside, account=c, preemptible=False),
        running("victim", "x2 x2", account=r),
        running("stays", "x3 x3 x3", account=r, preemptible=False),
    ]
    waiting = [workload(request(f"w{q.name}", pods("p", 9)), account=q) for q in (c, r)]
    asked = workload(request("w", pods("p", 1, gpus=2)), account=a)
    drawing = f"x1: {len(beside.split())}\nx2: 2\nx3: {6 - len(beside.split())}"
    assert units_evicted(Scene(drawing, units, waiting=waiting).choose(asked)) == want


@pytest.mark.parametrize(
    ("stays", "want"),
    [
        pytest.param(5, ["victim"], id="to a smaller part of its share than that of the other"),
        pytest.param(4, None, id="not to the same part"),
    ],
)
def test_a_department_beyond_its_share_uses_a_smaller_part_of_it(stays: int, want: list[str] | None) -> None:
    """Two departments with fair shares of 2; the unit's uses 4 with it, the other so many afterwards."""
    left, right = queue("left", 2, weight=0), queue("right", 2, weight=0)
    a, c, r = queue("a", 2, within=left), queue("c", within=left), queue("r", within=right)
    units = [
        running("beside", "x1 x1", account=c, preemptible=False),
        running("victim", "x2 x2", account=r),
        running("stays", " ".join(["x3"] * stays), account=r, preemptible=False),
    ]
    asked = workload(request("w", pods("p", 1, gpus=2)), account=a)
    assert units_evicted(Scene(f"x1: 2\nx2: 2\nx3: {stays}", units).choose(asked)) == want


def test_what_a_department_loses_is_not_counted_as_its_use_any_more() -> None:
    """Fair shares of 4 of 8 GPUs: the unit's own department gives up one and gets two, the other gives up one."""
    left, right = queue("left"), queue("right")
    a, c, r = queue("a", within=left), queue("c", within=left), queue("r", within=right)
    units = [
        running("c", "x1 x1 x1", minimum=1, account=c),
        running("r", "x2 x2 x2 x2 x2", minimum=1, account=r),
    ]
    waiting = [workload(request(f"w{q.name}", pods("p", 9)), account=q) for q in (c, r)]
    chosen = Scene("x1: 3\nx2: 5", units, waiting=waiting).choose(workload(PAIR, account=a))
    assert units_evicted(chosen) == ["c:1", "r:1"]


@pytest.mark.parametrize("case", RECLAIM)
def test_reclaim(case: Case) -> None:
    chosen = Scene(case.drawing, case.units, **case.more).choose(case.asked)
    assert units_evicted(chosen) == case.want


def test_a_queue_that_divides_gpus_alone_reclaims_gpus_with_cpu() -> None:
    """Its share of CPU is zero, because it has neither quota nor weight in it."""

    a, b = (replace(each, weights={**each.weights, "cpu": 0.0}) for each in (queue("a", 2), queue("b", 2)))
    asked = workload(request("w", pods("p", 2, cpu=1)), account=b)
    drawing = "x1: 2 cpu=8\nx2: 2 cpu=8"
    assert units_evicted(Scene(drawing, [running("a", "x1 x1 x2 x2", account=a)]).choose(asked)) == ["a"]


def test_surplus_is_counted_the_youngest_first_when_it_is_taken_back() -> None:
    """Fair shares of 4 of 8 GPUs: the pod of 3 goes last, at the moment before its queue still uses 5."""
    account = queue("a")
    shapes = {"least": (2, "x2", 0.0), "old": (3, "x1", 0.0), "young": (1, "x1", NOW - 1)}
    sets = tuple(
        PodSet(name, 1, Resources({GPU: gpus}), minimum=int(name == "least"), bound=(node,))
        for name, (gpus, node, _) in shapes.items()
    )
    bound = tuple(
        pod(name, node, unit="v", gpus=gpus, started=started, group=name)
        for name, (gpus, node, started) in shapes.items()
    )
    unit = RunningUnit(workload(Request("v", Group("v", sets)), account=account), "v", bound)
    asked = workload(request("w", pods("p", 1, gpus=4)), account=queue("b"))

    assert evicted(Scene("x1: 4\nx2: 4", [unit]).choose(asked)) == ["old", "young"]


def test_without_shares_nothing_is_reclaimed() -> None:
    scene = Scene(TWO, [running("a", "x1 x1 x2 x2", account=queue("a"))])
    assert evicted(scene.choose(workload(ONE, account=queue("b", 2)), shares=None)) is None


# ------------------------------------------------------------------------------------------------ costs


def many(count: int, *, gpus: int = 1) -> tuple[str, list[Any]]:
    """Single pods of one GPU that fill 16 nodes of a rack, by two racks."""
    drawing = "\n".join(
        f"r{r}\n" + "\n".join(f"  x{r}-{h}: {count // 16}" for h in range(16)) for r in range(2)
    )
    units = [
        running(f"u{r}-{h}-{i}", f"x{r}-{h}", started=float(i), gpus=gpus)
        for r in range(2)
        for h in range(16)
        for i in range(count // 16)
    ]
    return drawing, units


def test_where_a_set_takes_too_many_trials_no_pod_is_evicted_that_could_stay() -> None:
    drawing, units = many(128)
    asked = high(request("w", pods("p", 12, gpus=8), required="rack"))
    chosen = Scene(drawing, units).choose(asked, trials=300)
    assert isinstance(chosen, VictimSet)
    assert not chosen.exact
    assert len(chosen.pods) == 12 * 8
    assert chosen.trials < 600


def test_where_a_set_takes_too_many_trials_pods_of_the_highest_priority_are_kept_first() -> None:
    units = [running("low", "x1"), *(running(f"mid{i}", "x1", priority=5, started=900.0) for i in range(3))]
    asked = high(request("w", pods("p", 1, gpus=3)))
    chosen = Scene("x1: 4", units).choose(asked, trials=1)
    assert isinstance(chosen, VictimSet)
    assert not chosen.exact
    assert [victim.unit.workload.priority for victim in chosen.victims] == [0, 5, 5]


def test_one_node_among_many_is_found_exactly_in_few_trials() -> None:
    """A set must touch one node with all of its pods, and equal pods of a node go youngest first."""
    drawing, units = many(64)
    chosen = Scene(drawing, units).choose(high(request("w", pods("p", 1, gpus=4))))
    assert isinstance(chosen, VictimSet)
    assert chosen.exact
    assert len({pod.node for pod in chosen.pods}) == 1
    assert chosen.trials < 200


def test_if_nothing_helps_that_is_known_after_a_trial_for_each_question() -> None:
    drawing, units = many(64)
    chosen = Scene(drawing, units).choose(high(request("w", pods("p", 1, gpus=5))))
    assert isinstance(chosen, NoVictims)
    assert chosen.exact
    assert chosen.trials <= 2
    assert chosen.retry_at == inf
