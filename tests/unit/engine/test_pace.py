"""A paced engine decides what an engine without a pace decides, and ends honestly when it has to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from closeknit.engine import Budget, Engine, Pace
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Placed, Undecided, Unplaceable
from closeknit.hub.request import Request
from closeknit.testing.check import violations
from closeknit.testing.strategies import instances
from tests.property.effort import effort


@effort(60)
@given(instances())
def test_pauses_change_no_decision(instance: tuple[Cluster, Request]) -> None:
    cluster, request = instance
    assert Engine(cluster, Budget(), Pace(lambda: False, every=1)).solve(request) == Engine(cluster).solve(
        request
    )


@effort(100)
@given(instances(), st.integers(0, 30))
def test_a_decision_that_has_to_end_claims_nothing_that_is_not_so(
    instance: tuple[Cluster, Request], pauses: int
) -> None:
    cluster, request = instance
    left = iter(range(pauses))
    pace = Pace(lambda: next(left, None) is None, every=1)
    engine = Engine(cluster, Budget(), pace)
    ended, whole = engine.solve(request), Engine(cluster).solve(request)

    match ended:
        case Placed():
            assert violations(cluster, request, ended) == []
            assert isinstance(whole, Placed)
            assert not ended.proven or ended.wishes == whole.wishes
        case Unplaceable():
            assert isinstance(whole, Unplaceable)
        case Undecided():
            assert pace.stopped
            assert ended.shortfalls == () or not isinstance(whole, Placed)


@effort(60)
@given(instances())
def test_the_decision_after_one_that_had_to_end_is_as_if_it_were_the_first(
    instance: tuple[Cluster, Request],
) -> None:
    cluster, request = instance
    ends = [True]
    pace = Pace(lambda: ends[0], every=1)
    engine = Engine(cluster, Budget(), pace)
    engine.solve(request)
    ends[0] = False
    pace.begin()

    again, first = engine.decide(request), Engine(cluster).decide(request)
    assert type(again) is type(first)
    if isinstance(again, Placed) and isinstance(first, Placed):
        assert again.assignments == first.assignments


def test_work_is_counted_across_searches() -> None:
    pauses: list[None] = []

    def pause() -> bool:
        pauses.append(None)
        return False

    pace = Pace(pause, every=10)
    for _ in range(100):
        assert not pace.spend(1)
    assert len(pauses) == 100 // 11


def test_a_pace_that_was_stopped_asks_no_more_until_the_next_decision() -> None:
    pauses: list[None] = []

    def pause() -> bool:
        pauses.append(None)
        return True

    pace = Pace(pause, every=1)
    assert [pace.spend(2) for _ in range(5)] == [True] * 5
    assert len(pauses) == 1
    pace.begin()
    assert not pace.stopped
