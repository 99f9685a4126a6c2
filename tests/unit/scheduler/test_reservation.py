"""What is kept for the first in the queue, until when, and who may pass."""

from __future__ import annotations

from math import inf

import pytest

from closeknit.engine import Engine
from closeknit.hub.cluster import Holding
from closeknit.hub.drawing import GPU
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.request import Request
from closeknit.hub.resources import Resources
from closeknit.scheduler.reservation import Leaving, Reservation, keeping, reserve
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse

RACKS = "r1\n  x1: 4\n  x2: 4\nr2\n  x3: 4\n  x4: 4\n"
GANG = request("gang", pods("p", 8), required="rack")


def full(*leaving: Leaving) -> Engine:
    engine = Engine(parse(RACKS))
    for each in leaving:
        engine.hold(each.holding)
    return engine


def runs(name: str, node: str, gpus: int, until: float = inf) -> Leaving:
    return Leaving(Holding(name, node, Resources({GPU: 1}), gpus), until)


def gpus_held(reservation: Reservation, engine: Engine) -> dict[str, int]:
    held: dict[str, int] = {}
    for each in reservation.held(engine):
        held[each.node] = held.get(each.node, 0) + each.resources.get(GPU, 0) * each.pods
    return held


@pytest.mark.parametrize(
    ("leaving", "at", "held"),
    [
        pytest.param(
            [runs("a", "x1", 4, 50), runs("b", "x3", 4, 20), runs("c", "x4", 1, 90)],
            50,
            {"x2": 4},
            id="the rack that is free first, and what is free there already",
        ),
        pytest.param(
            [runs("a", "x1", 1, 50), runs("b", "x3", 4, 60)],
            50,
            {"x1": 3, "x2": 4},
            id="what becomes free by then is not kept",
        ),
        pytest.param(
            [runs("a", "x1", 4, 50), runs("b", "x2", 4, 50), runs("c", "x3", 4, 70)],
            50,
            {},
            id="where all becomes free by then nothing is kept",
        ),
        pytest.param(
            [runs("a", "x1", 2), runs("b", "x3", 1), runs("b", "x4", 2)],
            inf,
            {"x1": 2, "x2": 4},
            id="without known ends, the rack from which the fewest pods must leave",
        ),
        pytest.param(
            [runs("a", "x1", 2), runs("b", "x3", 4, 70)],
            70,
            {"x4": 4},
            id="a known end goes before any that is not known",
        ),
    ],
)
def test_what_is_kept_and_until_when(leaving: list[Leaving], at: float, held: dict[str, int]) -> None:
    engine = full(*leaving)
    found = reserve(engine, GANG, leaving, now=10.0)
    assert found is not None
    assert found.at == at
    assert gpus_held(found, engine) == held


def test_nothing_is_kept_for_what_fits_on_no_empty_cluster() -> None:
    leaving = [runs("a", "x1", 4, 50)]
    assert reserve(full(*leaving), request("huge", pods("p", 9), required="rack"), leaving, 0.0) is None


def test_the_engine_is_as_it_was() -> None:
    leaving = [runs("a", "x1", 4, 50), runs("b", "x3", 4, 60)]
    engine = full(*leaving)
    reserve(engine, GANG, leaving, 0.0)
    assert isinstance(engine.decide(GANG), Unplaceable)
    assert isinstance(engine.decide(request("w", pods("p", 8))), Placed)


def test_a_reservation_stays_where_it_was_when_no_end_is_known() -> None:
    leaving = [runs("a", "x1", 2), runs("b", "x3", 1)]
    engine = full(*leaving)
    before = Reservation("gang", inf, frozenset({"x1", "x2"}), {}, {})
    found = reserve(engine, GANG, leaving, 0.0, before=before)
    assert found is not None
    assert found.nodes == {"x1", "x2"}


@pytest.mark.parametrize(
    ("end", "asked", "starts"),
    [
        pytest.param(inf, request("s", pods("p", 4), required="rack"), True, id="beside the reserved nodes"),
        pytest.param(inf, request("s", pods("p", 5), required="rack"), False, id="on the reserved nodes"),
        pytest.param(50, request("s", pods("p", 5), required="rack"), False, id="ending after the start"),
        pytest.param(40, request("s", pods("p", 4)), True, id="ending by the start"),
    ],
)
def test_who_may_pass(end: float, asked: Request, starts: bool) -> None:
    leaving = [runs("a", "x1", 4, 40), runs("b", "x3", 4, 60)]
    engine = full(*leaving)
    kept = reserve(engine, GANG, leaving, 0.0)
    assert kept is not None
    assert kept.at == 40
    with keeping(engine, [kept] if kept.delayed_by(end) else []):
        assert isinstance(engine.decide(asked), Placed) == starts
    assert isinstance(engine.decide(request("all", pods("p", 8))), Placed)


def test_what_has_left_since_is_kept_as_well() -> None:
    leaving = [runs("a", "x1", 4, 40), runs("b", "x2", 3, 50), runs("c", "x3", 4, 90)]
    engine = full(*leaving)
    kept = reserve(engine, GANG, leaving, 0.0)
    assert kept is not None
    assert gpus_held(kept, engine) == {"x2": 1}
    engine.release("a")
    assert gpus_held(kept, engine) == {"x1": 4, "x2": 1}
