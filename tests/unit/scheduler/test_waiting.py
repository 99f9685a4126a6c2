"""Who waits, who is tried next, and what wakes those who sleep."""

from __future__ import annotations

from random import Random

import pytest

from closeknit.engine import Engine
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.drawing import GPU
from closeknit.hub.neighbours import Apart, Neighbour, PodSelector
from closeknit.hub.nodes import Node
from closeknit.hub.outcome import Outcome, Placed, Undecided, Unplaceable
from closeknit.hub.quota import Account, Charge, Option, refused
from closeknit.hub.request import PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.changes import (
    Change,
    Freed,
    NodeChanged,
    NodeGone,
    QuotaChanged,
    TopologiesChanged,
)
from closeknit.scheduler.deciding import Failed
from closeknit.scheduler.waiting import WaitingQueue
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse

NONE = Unplaceable("w")


def unit(asked: Request, *, name: str = "", priority: int = 0, created: str = "2026") -> PlaceableWorkload:
    called = name or asked.name
    named = ObjectName("scheduling.run.ai/v2alpha2", "PodGroup", "team", called)
    renamed = replace(asked, name=f"team/{called}")
    return PlaceableWorkload(named, "kai", renamed, priority=priority, created=created)


def queue(*units: PlaceableWorkload) -> WaitingQueue:
    made = WaitingQueue(Random(1), first=1.0, limit=8.0)
    for each in units:
        made.put(each)
    return made


def taken(waiting: WaitingQueue, now: float = 0.0) -> list[str]:
    """Everybody who can be taken, in order; they stay taken."""
    names = []
    while (found := waiting.take(now)) is not None:
        names.append(found.object.name)
    return names


def asleep(*units: PlaceableWorkload, outcome: Outcome | Failed = NONE) -> WaitingQueue:
    """A queue in which all have been tried once, at time 0."""
    made = queue(*units)
    while (found := made.take(0.0)) is not None:
        made.failed(found.object.key, outcome, 0.0)
    return made


ONE = request("one", pods("p", 1))


@pytest.mark.parametrize(
    ("units", "want"),
    [
        pytest.param(
            [unit(ONE, name="late", created="2027"), unit(ONE, name="early")],
            ["early", "late"],
            id="the older one goes first",
        ),
        pytest.param(
            [unit(ONE, name="old"), unit(ONE, name="urgent", priority=9, created="2027")],
            ["urgent", "old"],
            id="priority goes before age",
        ),
        pytest.param(
            [unit(ONE, name="b"), unit(ONE, name="a")], ["a", "b"], id="names settle what age does not"
        ),
        pytest.param(
            [
                unit(request("more", pods("p", 4, minimum=1, bound=["x"])), priority=9),
                unit(request("none", pods("p", 4, minimum=1)), created="2027"),
            ],
            ["none", "more"],
            id="a minimum goes before pods above a minimum, whatever the priority",
        ),
        pytest.param(
            [
                unit(request("half", pods("p", 4, minimum=1, bound=["x", "x"])), priority=9),
                unit(request("third", pods("p", 6, minimum=1, bound=["x", "x"])), created="2027"),
            ],
            ["third", "half"],
            id="of those above their minimum the least satisfied goes first",
        ),
    ],
)
def test_the_order_of_the_queue(units: list[PlaceableWorkload], want: list[str]) -> None:
    assert taken(queue(*units)) == want


def test_a_taken_unit_is_not_taken_twice_and_comes_back_when_it_is_put_again() -> None:
    waiting = queue(unit(ONE))
    assert taken(waiting) == ["one"]
    assert taken(waiting) == []
    waiting.put(unit(ONE))
    assert taken(waiting) == ["one"]


def test_a_unit_that_has_not_changed_keeps_its_sleep() -> None:
    waiting = asleep(unit(ONE))
    waiting.put(unit(ONE))
    assert taken(waiting, 99.0) == []


def test_a_unit_that_has_changed_is_tried_at_once() -> None:
    waiting = asleep(unit(ONE))
    waiting.put(unit(request("one", pods("p", 2))))
    assert taken(waiting, 0.0) == ["one"]


def test_removing_who_does_not_wait_is_harmless() -> None:
    waiting = queue()
    waiting.remove(unit(ONE).object.key)
    waiting.failed(unit(ONE).object.key, NONE, 0.0)
    assert len(waiting) == 0
    assert list(waiting) == []


def test_a_removed_unit_is_never_taken() -> None:
    waiting = queue(unit(ONE))
    waiting.remove(unit(ONE).object.key)
    assert taken(waiting) == []
    assert waiting.next_time(0.0) is None


RACKS = parse("r1\n  x1: 4\n  x2: 4\nr2\n  x3: 4\n  x4: 4\n")
GANG = request("gang", pods("p", 6), required="rack")
LEADER = request("led", pods("leader", 1, gpus=0), pods("worker", 6), required="rack")


def full() -> Engine:
    """All GPUs are held, four on every node."""
    engine = Engine(RACKS)
    for node in ("x1", "x2", "x3", "x4"):
        engine.hold(held(node, 4))
    return engine


def held(node: str, gpus: int) -> Holding:
    return Holding("other", node, Resources({GPU: 1}), gpus)


def freed(engine: Engine, node: str, gpus: int) -> Change:
    engine.release_pods(held(node, gpus))
    return Freed(held(node, gpus))


@pytest.mark.parametrize(
    ("asked", "gone", "woken"),
    [
        pytest.param(GANG, {"x1": 4}, False, id="a domain that still has too little room wakes nobody"),
        pytest.param(GANG, {"x1": 4, "x3": 4}, False, id="room in two domains wakes nobody who needs one"),
        pytest.param(GANG, {"x1": 4, "x2": 2}, True, id="a domain that has room wakes who needs it"),
        pytest.param(
            request("wide", pods("p", 6)), {"x1": 4, "x3": 2}, True, id="without a level the cluster counts"
        ),
        pytest.param(
            request("picky", pods("p", 1, selector={"disk": "fast"})),
            {"x1": 4},
            False,
            id="a node that the filter excludes wakes nobody",
        ),
        pytest.param(
            LEADER, {"x1": 4}, False, id="room for the leader wakes nobody while the workers have none"
        ),
        pytest.param(LEADER, {"x1": 4, "x2": 2}, True, id="room for leader and workers wakes them"),
        pytest.param(
            request("more", pods("p", 9, minimum=2, bound=["x1", "x1"]), required="rack"),
            {"x3": 1},
            False,
            id="room outside the domain of what runs wakes nobody who wants more",
        ),
        pytest.param(
            request("more", pods("p", 9, minimum=2, bound=["x1", "x1"]), required="rack"),
            {"x2": 1},
            True,
            id="one place in the domain of what runs wakes who wants more",
        ),
        pytest.param(
            request(
                "either", group("a", pods("pa", 6), required="rack"), group("b", pods("pb", 2)), minimum=1
            ),
            {"x1": 1, "x3": 1},
            True,
            id="where some members will do, room for the smaller one is enough",
        ),
        pytest.param(
            request("both", group("a", pods("pa", 6), required="rack"), group("b", pods("pb", 2))),
            {"x1": 1, "x3": 1},
            False,
            id="where all members are needed, room for the smaller one is not enough",
        ),
    ],
)
def test_who_is_woken_by_room(asked: Request, gone: dict[str, int], woken: bool) -> None:
    engine = full()
    waiting = asleep(unit(asked))
    changes = [freed(engine, node, gpus) for node, gpus in gone.items()]
    assert waiting.wake(changes, engine) == woken
    assert taken(waiting, 99.0) == ([asked.name] if woken else [])


def test_a_node_that_comes_wakes_who_fits_there() -> None:
    engine = full()
    waiting = asleep(unit(GANG))
    engine.add_node(Node("x9", {"rack": "r2"}, Resources({GPU: 8})))
    waiting.wake([NodeChanged("x9")], engine)
    assert taken(waiting, 99.0) == ["gang"]


def test_a_relabelled_node_wakes_whose_pods_run_on_it() -> None:
    engine = full()
    waiting = asleep(unit(request("moved", pods("p", 3, bound=["x1"]), required="rack")))
    waiting.wake([NodeChanged("x1")], engine)
    assert taken(waiting, 99.0) == ["moved"]


def test_a_node_that_has_gone_since_wakes_nobody() -> None:
    engine = full()
    waiting = asleep(unit(GANG))
    engine.remove_node("x1")
    assert waiting.wake([NodeChanged("x1")], engine) == 0


@pytest.mark.parametrize(
    ("rules", "woken"),
    [
        pytest.param((), [], id="of pods that asked nothing of others wakes nobody"),
        pytest.param(
            (Apart("rack", PodSelector()),), ["gang"], id="of pods that kept others away wakes everybody"
        ),
    ],
)
def test_a_node_that_goes_with_its_pods(rules: tuple[Apart, ...], woken: list[str]) -> None:
    engine = full()
    waiting = asleep(unit(GANG))
    waiting.wake([NodeGone((replace(held("x1", 4), neighbour=Neighbour("team", (), rules)),))], engine)
    assert taken(waiting, 99.0) == woken


OUTER = Account(("cohort",), Resources({GPU: 8}))
INNER = Account(("cohort", "queue"), Resources({GPU: 4}), within=OUTER)


def charged(asked: Request, account: Account) -> PlaceableWorkload:
    way = Option(asked, (Charge(account, Resources({GPU: 6})),))
    return replace(unit(asked), options=(replace(way, request=replace(asked, name=f"team/{asked.name}")),))


@pytest.mark.parametrize(
    ("accounts", "woken"),
    [
        pytest.param({INNER.name}, ["gang"], id="its own account"),
        pytest.param({("cohort", "other"), OUTER.name}, ["gang"], id="an account that it shares with others"),
        pytest.param({("elsewhere",)}, [], id="an account that has nothing to do with it"),
    ],
)
def test_who_is_woken_by_quota(accounts: set[tuple[str, ...]], woken: list[str]) -> None:
    lacking = refused(Option(GANG), ())
    waiting = asleep(charged(GANG, INNER), outcome=lacking)
    waiting.wake([QuotaChanged(frozenset(accounts))], full())
    assert taken(waiting, 99.0) == woken


def test_who_lacks_quota_is_not_woken_by_room() -> None:
    waiting = asleep(charged(GANG, INNER), outcome=refused(Option(GANG), ()))
    waiting.wake([Freed(held("x1", 1))], Engine(RACKS))
    assert taken(waiting, 99.0) == []


@pytest.mark.parametrize("change", [Freed(held("x1", 1)), NodeChanged("x1"), QuotaChanged(frozenset())])
@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(Undecided("w"), id="the search ran out of steps"),
        pytest.param(Failed(()), id="the request made no sense on the cluster as it was"),
    ],
)
def test_who_has_no_certain_answer_is_woken_by_every_change(
    change: Change, outcome: Outcome | Failed
) -> None:
    waiting = asleep(unit(GANG), outcome=outcome)
    waiting.wake([change], full())
    assert taken(waiting, 99.0) == ["gang"]


def test_other_topologies_wake_everybody() -> None:
    waiting = asleep(unit(GANG), unit(ONE))
    waiting.wake([TopologiesChanged()], full())
    assert taken(waiting, 99.0) == ["gang", "one"]


def test_a_topology_that_has_gone_together_with_a_change_of_a_node_wakes_who_required_it() -> None:
    asked = replace(GANG, topology="gone")
    waiting = asleep(unit(asked))
    changes: list[Change] = [NodeChanged("n1"), TopologiesChanged()]

    assert waiting.wake(changes, Engine(parse("n1: 8"))) == 1


def test_the_back_off_doubles_up_to_its_limit_and_is_drawn_from_the_dice() -> None:
    waiting = asleep(unit(ONE))
    now, waits = 0.0, []
    for _ in range(6):
        waiting.wake([TopologiesChanged()], full())
        then = waiting.next_time(now)
        assert then is not None
        assert not waiting.ready(then - 1e-6)
        waits.append(then - now)
        now = then
        (name,) = taken(waiting, now)
        waiting.failed(unit(ONE, name=name).object.key, NONE, now)
    for wait, length in zip(waits, [1, 2, 4, 8, 8, 8], strict=True):
        assert length / 2 <= wait <= length


def test_units_that_ask_for_the_same_are_tried_one_after_the_other_until_one_fails() -> None:
    waiting = asleep(*(unit(GANG, name=f"gang-{i}") for i in range(5)))
    waiting.wake([TopologiesChanged()], full())
    first = waiting.take(99.0)
    assert first is not None
    assert first.object.name == "gang-0"
    waiting.remove(first.object.key)
    second = waiting.take(99.0)
    assert second is not None
    assert second.object.name == "gang-1"
    waiting.failed(second.object.key, NONE, 99.0)
    assert not waiting.ready(999.0)


def test_a_newcomer_that_asks_for_the_same_does_not_overtake_who_was_woken() -> None:
    waiting = asleep(unit(GANG, name="old"))
    waiting.wake([TopologiesChanged()], full())
    assert not waiting.ready(0.0)
    waiting.put(unit(GANG, name="new", created="2027"))
    assert taken(waiting, 0.0) == ["old", "new"]


def test_a_newcomer_that_fails_does_not_let_who_was_woken_before_it_sleep_again() -> None:
    waiting = asleep(unit(ONE, name="urgent", priority=9))
    waiting.put(unit(ONE, name="late"))
    waiting.wake([NodeChanged("x1")], Engine(parse("x1: 1\n")))
    assert waiting.next_time(0.5) == 0.5
    assert taken(waiting, 0.5) == ["late"]
    waiting.failed(unit(ONE, name="late").object.key, NONE, 0.5)
    assert taken(waiting, 1.0) == ["urgent", "late"]


def test_newcomers_that_fail_do_not_lengthen_the_back_off_of_the_others() -> None:
    waiting = asleep(*(unit(GANG, name=f"gang-{i}") for i in range(50)))
    waiting.wake([TopologiesChanged()], full())
    then = waiting.next_time(0.0)
    assert then is not None
    assert then <= 1.0


def test_the_back_off_starts_over_when_one_of_those_who_ask_for_the_same_finds_a_place() -> None:
    waiting = asleep(*(unit(GANG, name=name) for name in "ab"))
    for now in (10.0, 20.0, 30.0):
        waiting.wake([TopologiesChanged()], full())
        assert waiting.take(now) is not None
        waiting.failed(unit(GANG, name="a").object.key, NONE, now)
    waiting.wake([TopologiesChanged()], full())
    assert waiting.take(40.0) == unit(GANG, name="a")
    waiting.remove(unit(GANG, name="a").object.key)
    assert waiting.take(40.0) == unit(GANG, name="b")
    waiting.failed(unit(GANG, name="b").object.key, NONE, 40.0)

    waiting.wake([TopologiesChanged()], full())
    then = waiting.next_time(40.0)
    assert then is not None
    assert then <= 41.0


def test_who_failed_is_not_tried_again_because_one_before_it_finds_a_place_that_was_tried_with_it() -> None:
    # As where the surplus of several is decided at once.
    waiting = asleep(unit(GANG, name="a"))
    waiting.put(unit(GANG, name="b"))
    waiting.wake([TopologiesChanged()], full())
    assert taken(waiting, 9.0) == ["a", "b"]
    waiting.failed(unit(GANG, name="b").object.key, NONE, 9.0)
    waiting.remove(unit(GANG, name="a").object.key)

    assert taken(waiting, 99.0) == []


def test_one_pod_that_ends_costs_little_however_many_wait() -> None:
    engine = full()
    waiting = asleep(*(unit(request(f"g{i}", pods("p", 5 + i), required="rack")) for i in range(1000)))
    assert waiting.wake([freed(engine, "x1", 1)], engine) == 0
    assert waiting.looked_at == 0
    changes = [freed(engine, "x1", 3), freed(engine, "x2", 2)]
    assert waiting.wake(changes, engine) == 2
    assert waiting.looked_at == 4


def test_a_place_that_is_given_to_one_wakes_no_other() -> None:
    engine = full()
    waiting = asleep(unit(GANG, name="a"), unit(GANG, name="b"))
    waiting.wake([freed(engine, "x1", 4), freed(engine, "x2", 2)], engine)
    first = waiting.take(99.0)
    assert first is not None
    assert first.request is not None
    placed = engine.decide(first.request)
    assert isinstance(placed, Placed)
    engine.apply(first.request, placed)
    waiting.remove(first.object.key)
    second = waiting.take(99.0)
    assert second is not None
    waiting.failed(second.object.key, NONE, 99.0)
    assert waiting.next_time(99.0) is None


def test_pods_of_a_set_are_told_by_what_they_ask_not_by_name() -> None:
    waiting = asleep(unit(request("a", PodSet("x", 6, Resources({GPU: 1})), required="rack")))
    waiting.put(unit(request("b", PodSet("y", 6, Resources({GPU: 1})), required="rack")))
    waiting.wake([TopologiesChanged()], full())
    assert taken(waiting, 99.0)[0] == "a"


def test_a_unit_that_is_put_off_is_tried_after_all_others() -> None:
    waiting = WaitingQueue(Random(1), puts_off=lambda workload, _: workload.object.name == "first")
    waiting.put(unit(ONE, name="first", priority=9))
    waiting.put(unit(ONE, name="later"))
    assert taken(waiting) == ["later", "first"]


def test_a_unit_that_is_put_off_is_tried_if_no_other_waits() -> None:
    waiting = WaitingQueue(Random(1), puts_off=lambda _workload, _now: True)
    waiting.put(unit(ONE))
    assert waiting.next_time(0.0) == 0.0
    assert taken(waiting) == ["one"]


def test_a_unit_that_is_no_longer_put_off_has_its_place_in_the_order_again() -> None:
    slow = {"first"}
    waiting = WaitingQueue(Random(1), puts_off=lambda workload, _: workload.object.name in slow)
    for name, priority in (("first", 9), ("second", 8), ("third", 7)):
        waiting.put(unit(ONE, name=name, priority=priority))
    assert (second := waiting.take(0.0)) is not None
    slow.clear()
    assert (first := waiting.take(1.0)) is not None
    assert [second.object.name, first.object.name] == ["second", "first"]


def test_a_unit_whose_search_took_long_is_not_tried_before_it_has_rested() -> None:
    waiting = queue(unit(ONE))
    waiting.take(0.0)
    waiting.failed(unit(ONE).object.key, Undecided("w"), 0.0, rest_until=30.0)
    waiting.wake([TopologiesChanged()], Engine(RACKS))
    assert taken(waiting, 29.0) == []
    assert taken(waiting, 30.0) == ["one"]


def test_a_unit_whose_search_was_ended_is_tried_again_though_nothing_has_changed() -> None:
    waiting = queue(unit(ONE))
    waiting.take(0.0)
    waiting.failed(unit(ONE).object.key, Undecided("w"), 0.0, rest_until=30.0, retry=True)
    assert waiting.next_time(0.0) == 30.0
    assert taken(waiting, 30.0) == ["one"]
