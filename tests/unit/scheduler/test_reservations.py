"""For which unit capacity is reserved, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.drawing import GPU
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Placed
from closeknit.hub.quota import Account
from closeknit.hub.request import Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName, PlaceableWorkload, RunningPod
from closeknit.scheduler.changes import NodeChanged
from closeknit.scheduler.deciding import decide
from closeknit.scheduler.kept_places import LONGEST
from closeknit.scheduler.reservation import keeping
from closeknit.scheduler.reservations import Reservations
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse

GANG = request("gang", pods("p", 8), required="rack")
ONE = request("one", pods("p", 1))


@dataclass
class Scene:
    """Two racks of two nodes of four GPUs, and one pod of one GPU on each that is named."""

    topologies: Cluster = field(default_factory=lambda: parse("r1\n  x1: 4\n  x2: 4\nr2\n  x3: 4\n  x4: 4\n"))
    engine: Engine = field(init=False)
    held: dict[Key, Holding] = field(default_factory=dict)
    reservations: Reservations = field(default_factory=Reservations)
    since: dict[Key, float] = field(default_factory=dict)
    nominated: list[Holding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = Engine(self.topologies)

    def holdings(self, pods: Sequence[Key]) -> list[Holding]:
        return [self.held[pod] for pod in pods if pod in self.held]

    def started(self, key: Key, now: float) -> float:
        return min(self.since[key], now)

    def has_node(self, name: str) -> bool:
        return any(node.name == name for node in self.topologies.nodes)

    def run(
        self,
        name: str,
        node: str,
        *,
        since: float = 0.0,
        priority: int = 0,
        seconds: float | None = None,
        accounts: tuple[Account, ...] = (),
    ) -> None:
        holding = Holding(name, node, Resources({GPU: 1}))
        self.held[Key("", "Pod", "team", f"{name}-0")] = holding
        self.engine.hold(holding)
        asked = request(name, pods("p", 1, bound=[node]))
        workload = replace(
            unit(asked, priority),
            running=(RunningPod("p", f"{name}-0"),),
            run_seconds=seconds,
            accounts=accounts,
        )
        self.since[Key("", "Pod", "team", f"{name}-0")] = since
        self.reservations.saw(workload.object.key, workload)

    def fail(self, workload: PlaceableWorkload) -> None:
        with keeping(self.engine, self.reservations.before(workload, self, 0.0)):
            verdict = decide(self.engine, self.topologies, workload)
        assert not isinstance(verdict.outcome, Placed)
        self.reservations.failed(verdict)

    def consider(self, now: float) -> None:
        if (verdict := self.reservations.due(now)) is not None:
            self.reservations.consider(verdict, self, lambda _: self.nominated, now)

    def delays(self, workload: PlaceableWorkload, now: float) -> bool:
        """Whether it has to keep off a place."""
        return bool(self.reservations.before(workload, self, now))

    def free_for(self, workload: PlaceableWorkload, now: float = 0.0) -> int:
        """How many GPUs it may have."""
        with keeping(self.engine, self.reservations.before(workload, self, now)):
            return sum(self.engine.fits(pods("p", 1), node.name) for node in self.topologies.nodes)


def unit(asked: Request, priority: int = 0) -> PlaceableWorkload:
    return PlaceableWorkload(
        ObjectName("v1", "PodGroup", "team", asked.name), "kai", asked, priority=priority
    )


def test_a_place_is_kept_for_a_unit_that_failed_until_it_is_placed() -> None:
    scene = Scene()
    scene.run("a", "x1")
    scene.run("b", "x3")
    scene.run("c", "x4")
    scene.fail(unit(GANG))
    scene.consider(0.0)
    assert scene.free_for(unit(ONE)) == 6
    assert scene.delays(unit(ONE), 0.0)
    assert not scene.delays(unit(GANG), 0.0)
    assert scene.reservations.freed() == []
    scene.reservations.drop(unit(GANG).object.key)
    assert scene.reservations.freed() == [NodeChanged("x1"), NodeChanged("x2")]
    assert scene.reservations.freed() == []
    assert scene.free_for(unit(ONE)) == 13
    assert not scene.delays(unit(ONE), 0.0)


def test_who_ends_in_time_does_not_delay_the_first() -> None:
    scene = Scene()
    scene.run("a", "x1", seconds=50)
    scene.run("b", "x3")
    scene.fail(unit(GANG))
    scene.consider(10.0)
    assert not scene.delays(replace(unit(ONE), run_seconds=40.0), 10.0)
    assert scene.delays(replace(unit(ONE), run_seconds=41.0), 10.0)


def test_the_first_in_the_queue_has_the_reservation_whoever_failed_first() -> None:
    scene = Scene()
    scene.run("a", "x1", priority=9)
    scene.run("b", "x3", priority=9)
    later, urgent = unit(replace(GANG, name="later")), unit(replace(GANG, name="urgent"), 5)
    scene.fail(later)
    scene.consider(0.0)
    assert not scene.delays(urgent, 0.0)
    scene.fail(urgent)
    scene.consider(1.0)
    assert scene.delays(later, 1.0)
    assert not scene.delays(urgent, 1.0)
    scene.fail(later)
    scene.consider(2.0)
    assert not scene.delays(urgent, 2.0)


def test_a_place_that_nobody_knows_the_end_of_is_given_up_for_a_while() -> None:
    scene = Scene()
    scene.run("a", "x1")
    scene.run("b", "x3")
    scene.fail(unit(GANG))
    scene.consider(0.0)
    scene.fail(unit(GANG))
    scene.consider(LONGEST - 1)
    assert scene.reservations.freed() == []
    assert scene.reservations.next_time() == LONGEST
    scene.consider(LONGEST)
    assert [change.node for change in scene.reservations.freed()] == ["x1", "x2"]
    scene.fail(unit(GANG))
    scene.consider(LONGEST + 1)
    assert not scene.delays(unit(ONE), LONGEST + 1)
    assert scene.reservations.next_time() == 2 * LONGEST
    scene.consider(2 * LONGEST)
    assert scene.delays(unit(ONE), 2 * LONGEST)


def test_units_are_considered_one_at_a_time_with_pauses() -> None:
    scene = Scene()
    scene.run("a", "x1")
    scene.run("b", "x3")
    scene.fail(unit(replace(GANG, name="first")))
    scene.fail(unit(replace(GANG, name="second")))
    scene.consider(0.0)
    then = scene.reservations.next_time()
    assert then is not None
    assert 0.25 <= then < 0.3
    scene.consider(0.1)
    assert scene.reservations.next_time() == then


def test_a_reservation_of_nodes_that_have_gone_is_moved() -> None:
    scene = Scene()
    scene.run("a", "x1")
    scene.run("b", "x3")
    scene.fail(unit(GANG))
    scene.consider(0.0)
    scene.engine.remove_node("x2")
    left = tuple(node for node in scene.topologies.nodes if node.name != "x2")
    scene.topologies = replace(scene.topologies, nodes=left)
    assert scene.free_for(unit(ONE)) == 3 + 3 + 4
    assert NodeChanged("x1") in scene.reservations.freed()
    scene.consider(1.0)
    assert scene.free_for(unit(ONE)) == 3


def test_the_next_in_the_queue_has_the_reservation_once_the_first_is_placed() -> None:
    scene = Scene()
    scene.run("a", "x1", priority=9)
    scene.run("b", "x3", priority=9)
    first, never, second, third = (
        unit(replace(GANG, name="first"), 5),
        unit(request("never", pods("p", 9), required="rack"), 4),
        unit(replace(GANG, name="second"), 3),
        unit(replace(GANG, name="third"), 2),
    )
    for time, each in enumerate((first, third, second, never)):
        scene.fail(each)
        scene.consider(float(time))
    assert scene.delays(second, 4.0)
    scene.reservations.drop(first.object.key)
    scene.consider(5.0)
    assert not scene.delays(second, 5.0)
    assert scene.reservations.next_time() is not None
    scene.consider(6.0)
    assert not scene.delays(second, 6.0)
    assert scene.delays(third, 6.0)


def test_one_that_never_fits_takes_no_reservation_away() -> None:
    scene = Scene()
    scene.run("a", "x1", priority=9)
    scene.run("b", "x3", priority=9)
    scene.fail(unit(GANG))
    scene.consider(0.0)
    scene.fail(unit(request("never", pods("p", 9), required="rack"), 5))
    scene.consider(1.0)
    assert scene.delays(unit(ONE), 1.0)


def test_no_place_is_kept_for_pods_above_the_minimum() -> None:
    scene = Scene()
    scene.run("a", "x1")
    scene.run("b", "x3")
    scene.fail(unit(request("gang", pods("p", 16, minimum=8), required="rack")))
    scene.consider(0.0)
    assert scene.free_for(unit(ONE)) == 3 + 4


def test_what_is_nominated_for_others_is_not_reserved() -> None:
    scene = Scene()
    scene.run("a", "x1", priority=9)
    scene.run("b", "x3", priority=9)
    scene.nominated = [
        Holding("other", "x1", Resources({GPU: 3})),
        Holding("other", "x2", Resources({GPU: 4})),
    ]
    scene.fail(unit(GANG))
    scene.consider(0.0)
    reserved = scene.reservations.before(unit(ONE), scene, 0.0)
    assert [place.nodes for place in reserved] == [frozenset({"x3", "x4"})]


def test_a_scheduler_that_must_not_reserve_reserves_nothing() -> None:
    scene = Scene(reservations=Reservations(enabled=False))
    scene.run("a", "x1")
    scene.run("b", "x3")
    scene.fail(unit(GANG, 5))
    scene.consider(0.0)
    assert scene.free_for(unit(ONE)) == 14
