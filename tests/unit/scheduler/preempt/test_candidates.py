"""Which unit is considered for preemption next, and when."""

from __future__ import annotations

from math import inf

from closeknit.hub.copying import replace
from closeknit.hub.outcome import Unplaceable
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.deciding import Verdict
from closeknit.scheduler.preempt.candidates import CREDIT, PAUSE, Candidates
from closeknit.scheduler.preempt.preemptions import Limits
from closeknit.testing.builders import pods, request

LIMITS = Limits(quiet=1.0, longest_unrest=5.0, first_backoff=10.0, longest_backoff=40.0)


def verdict(name: str, *, size: int = 1, priority: int = 0) -> Verdict:
    asked = request(name, pods("p", size))
    unit = PlaceableWorkload(ObjectName("v1", "PodGroup", "team", name), "kai", asked, priority=priority)
    return Verdict(unit, Unplaceable(name))


A, B = verdict("a"), verdict("b", priority=5)
KEY = A.workload.object.key


def taken(candidates: Candidates, now: float) -> Verdict | None:
    """Consider the first unit: here all are in one lane."""
    firsts = candidates.firsts(now)
    return candidates.take(firsts[0].object.key, 0, now) if firsts else None


def test_a_unit_is_considered_at_once_and_complete_once_it_was_quiet() -> None:
    candidates = Candidates(LIMITS)
    assert candidates.failed(A, 0.0, 0.0)
    assert taken(candidates, 0.0) is A
    candidates.planned(KEY)
    changed = verdict("a", size=2)
    assert candidates.failed(changed, 0.0, 0.5)

    assert taken(candidates, 0.5) is changed
    assert candidates.quiet_at(KEY) == 1.5
    assert candidates.next_time() == inf


def test_a_unit_that_never_rests_counts_as_complete_all_the_same() -> None:
    candidates = Candidates(LIMITS)
    for tenths in range(60):
        candidates.failed(verdict("a", size=1 + tenths % 2), 0.0, tenths / 10)

    assert candidates.quiet_at(KEY) == 5.0


def test_units_are_considered_in_queue_order_a_few_at_once_and_then_with_pauses() -> None:
    candidates = Candidates(LIMITS)
    at_once = round(CREDIT / PAUSE) + 1
    verdicts = [verdict(f"u{number}", priority=number) for number in range(at_once + 2)]
    for each in verdicts:
        candidates.failed(each, 0.0, 0.0)

    for each in verdicts[:1:-1]:
        assert taken(candidates, 0.0) is each
    assert taken(candidates, 0.0) is None
    assert candidates.next_time() == PAUSE
    assert taken(candidates, PAUSE) is verdicts[1]
    assert taken(candidates, PAUSE) is None
    assert taken(candidates, 2 * PAUSE) is verdicts[0]


def test_a_search_with_many_trials_is_followed_by_a_longer_pause() -> None:
    candidates = Candidates(LIMITS)
    candidates.failed(A, 0.0, 0.0)
    candidates.failed(B, 0.0, 0.0)
    taken(candidates, 0.0)
    candidates.spent(400)

    assert taken(candidates, 5.0) is None
    assert taken(candidates, 8.0) is A


def test_a_unit_is_not_considered_before_its_delay_has_passed() -> None:
    candidates = Candidates(LIMITS)
    candidates.failed(A, 30.0, 0.0)

    assert candidates.next_time() == 30.0
    assert taken(candidates, 29.0) is None
    assert taken(candidates, 30.0) is A


def test_a_unit_that_no_victims_help_rests_until_something_changes() -> None:
    candidates = Candidates(LIMITS)
    candidates.failed(A, 0.0, 0.0)
    assert taken(candidates, 1.0) is A
    candidates.rest(A, inf, 1.0)
    assert taken(candidates, 100.0) is None
    assert candidates.next_time() == inf

    candidates.something_changed()
    assert taken(candidates, candidates.next_time()) is A


def test_changes_do_not_make_a_unit_be_considered_more_often_than_its_rest_allows() -> None:
    candidates = Candidates(LIMITS)
    candidates.failed(A, 0.0, 0.0)
    times = []
    for tenths in range(10, 400):
        candidates.something_changed()
        if taken(candidates, tenths / 10) is not None:
            times.append(tenths / 10)
            candidates.rest(A, inf, tenths / 10)
    assert times == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]


def test_the_rest_of_a_unit_that_has_changed_begins_anew() -> None:
    candidates = Candidates(LIMITS)
    candidates.failed(A, 0.0, 0.0)
    for now in (1.0, 10.0, 20.0):
        candidates.something_changed()
        assert taken(candidates, now) is A
        candidates.rest(A, inf, now)
    changed = verdict("a", size=2)
    candidates.failed(changed, 0.0, 30.0)
    assert taken(candidates, 30.0) is changed
    candidates.rest(changed, inf, 30.0)
    candidates.something_changed()

    assert taken(candidates, 30.9) is None
    assert taken(candidates, 31.0) is changed


def test_a_unit_is_considered_again_when_a_victim_becomes_old_enough() -> None:
    candidates = Candidates(LIMITS)
    candidates.failed(A, 0.0, 0.0)
    taken(candidates, 1.0)
    candidates.rest(A, 50.0, 1.0)

    assert taken(candidates, 49.0) is None
    assert candidates.next_time() == 50.0
    assert taken(candidates, 50.0) is A


def test_a_unit_that_is_tried_again_in_vain_is_considered_again() -> None:
    candidates = Candidates(LIMITS)
    candidates.failed(A, 0.0, 0.0)
    taken(candidates, 1.0)
    candidates.rest(A, inf, 1.0)
    assert taken(candidates, 10.0) is None
    candidates.failed(A, 0.0, 11.0)

    assert taken(candidates, 11.0) is A


def test_the_backoff_grows_with_each_failure_until_the_unit_is_bound() -> None:
    candidates = Candidates(LIMITS)
    for now, wait in ((100.0, 10.0), (200.0, 20.0), (300.0, 40.0), (400.0, 40.0)):
        candidates.back_off(KEY, now)
        candidates.failed(A, 0.0, now)
        assert candidates.next_time() == now + wait
        assert taken(candidates, now + wait) is A
    candidates.forget(KEY)
    candidates.back_off(KEY, 500.0)
    candidates.failed(A, 0.0, 500.0)

    assert candidates.next_time() == 510.0


def test_a_unit_that_is_dropped_is_not_considered() -> None:
    candidates = Candidates(LIMITS)
    candidates.failed(A, 0.0, 0.0)
    candidates.drop(KEY)

    assert candidates.next_time() == inf
    assert taken(candidates, 10.0) is None


def test_a_unit_is_considered_as_it_was_last_tried() -> None:
    candidates = Candidates(LIMITS)
    candidates.failed(A, 0.0, 0.0)
    again = replace(A, kept_for=("other",))
    candidates.failed(again, 0.0, 0.5)

    assert taken(candidates, 2.0) is again
