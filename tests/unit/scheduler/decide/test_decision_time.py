"""How long searches are protected, how long their units rest, and which tenants exceed their share."""

from __future__ import annotations

import pytest

from closeknit.hub.quota import Account
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.decide.decision_time import DecisionTime, Limits, Search
from closeknit.testing.builders import group, pods, request

LIMITS = Limits()


def unit(name: str = "gang", namespace: str = "team", queue: str = "") -> PlaceableWorkload:
    asked = request(f"{namespace}/{name}", group("g", pods("workers", 2)))
    accounts = (Account((queue,), Resources()),) if queue else ()
    named = ObjectName("scheduling.run.ai/v2alpha2", "PodGroup", namespace, name)
    return PlaceableWorkload(named, "kai", asked, accounts=accounts)


def test_a_cheap_decision_lets_its_unit_be_tried_as_before() -> None:
    times = DecisionTime(LIMITS)
    assert times.charge(unit(), Search.PLACEMENT, LIMITS.cheap, 0.0, ended=False) is None


def test_a_unit_rests_for_a_multiple_of_what_its_search_took() -> None:
    times = DecisionTime(LIMITS)
    assert times.charge(unit(), Search.PLACEMENT, 0.3, 100.0, ended=False) == 100.0 + 0.3 * LIMITS.rest


def test_a_unit_rests_for_a_greater_multiple_the_longer_others_had_to_wait() -> None:
    times = DecisionTime(LIMITS)
    assert times.charge(unit(), Search.VICTIMS, 4.0, 0.0, ended=False) == 4.0 * LIMITS.rest * 4.0


@pytest.mark.parametrize(
    ("search", "protected"),
    [
        pytest.param(Search.PLACEMENT, [0.25, 0.5, 1.0, 1.0, 1.0, 1.0], id="placement"),
        pytest.param(Search.VICTIMS, [0.25, 0.5, 1.0, 2.0, 4.0, 4.0], id="victims"),
    ],
)
def test_a_search_that_was_ended_is_protected_for_longer(search: Search, protected: list[float]) -> None:
    times, workload, seen = DecisionTime(LIMITS), unit(), list[float]()
    for attempt in range(len(protected)):
        now = 1000.0 * attempt
        seen.append(times.protected(workload, search, now))
        times.charge(workload, search, 0.01, now, ended=True)
    assert seen == protected


def test_a_search_that_ends_by_itself_is_protected_as_at_first_again() -> None:
    times, workload = DecisionTime(LIMITS), unit()
    times.charge(workload, Search.PLACEMENT, 0.25, 0.0, ended=True)
    times.charge(workload, Search.PLACEMENT, 0.4, 100.0, ended=False)
    assert times.protected(workload, Search.PLACEMENT, 200.0) == LIMITS.first


def test_a_unit_that_was_placed_begins_anew_if_it_waits_again() -> None:
    times, workload = DecisionTime(LIMITS), unit()
    times.charge(workload, Search.PLACEMENT, 0.25, 0.0, ended=True)
    times.forget(workload.object.key)
    assert times.protected(workload, Search.PLACEMENT, 200.0) == LIMITS.first


def test_a_tenant_exceeds_its_share_for_a_while() -> None:
    times, workload = DecisionTime(LIMITS), unit()
    times.charge(workload, Search.PLACEMENT, 1.0, 0.0, ended=False)
    assert times.exceeds_share(unit("another"), 0.0)
    assert not times.exceeds_share(unit("another"), 2 * LIMITS.window)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(unit(namespace="quick"), id="another namespace"),
        pytest.param(unit(queue="research"), id="another queue"),
    ],
)
def test_what_a_tenant_uses_is_not_charged_to_another(other: PlaceableWorkload) -> None:
    times = DecisionTime(LIMITS)
    times.charge(unit(), Search.PLACEMENT, 10.0, 0.0, ended=False)
    assert not times.exceeds_share(other, 0.0)


def test_many_cheap_decisions_exceed_a_share_too() -> None:
    times = DecisionTime(LIMITS)
    for number in range(200):
        times.charge(unit(f"gang-{number}"), Search.PLACEMENT, 0.005, number * 0.005, ended=False)
    assert times.exceeds_share(unit(), 1.0)


def test_a_tenant_beyond_its_share_is_protected_no_longer_than_at_first() -> None:
    times, workload = DecisionTime(LIMITS), unit()
    for _ in range(5):
        times.charge(workload, Search.PLACEMENT, 1.0, 0.0, ended=True)
    assert times.protected(workload, Search.PLACEMENT, 0.0) == LIMITS.first
