"""Which object is looked at next, in a time that the test names."""

from __future__ import annotations

from random import Random

from closeknit.controllers.runtime.queue import WorkQueue


def queue() -> WorkQueue[str]:
    return WorkQueue(Random(1))


def test_an_item_is_looked_at_once_however_often_it_is_added() -> None:
    made = queue()
    for _ in range(3):
        made.add("a", 0.0)
    assert (made.next(0.0), made.next(0.0)) == ("a", None)


def test_what_is_added_while_it_is_looked_at_is_looked_at_again_after_a_rest() -> None:
    made = queue()
    made.add("a", 0.0)
    made.next(0.0)
    made.add("a", 0.0)
    made.done("a", 1.0)
    assert made.next(1.0) is None
    assert made.next_time() == 1.1
    assert made.next(1.1) == "a"


def test_what_is_added_soon_after_a_look_rests_and_later_does_not() -> None:
    made = queue()
    made.add("a", 0.0)
    made.next(0.0)
    made.done("a", 0.0)
    made.add("a", 0.05)
    assert (made.next(0.05), made.next(0.1)) == (None, "a")
    made.done("a", 0.1)
    made.add("a", 5.0)
    assert made.next(5.0) == "a"


def test_a_failure_waits_longer_each_time_and_a_success_starts_over() -> None:
    made = queue()
    made.add("a", 0.0)
    waits = []
    for _ in range(4):
        now = made.next_time() or 0.0
        assert made.next(now) == "a"
        waits.append(made.failed("a", now))
    assert waits == sorted(waits)
    assert waits[-1] > 3 * waits[0]
    now = made.next_time() or 0.0
    made.next(now)
    made.done("a", now)
    made.add("a", now + 1)
    made.next(now + 1)
    assert made.failed("a", now + 1) < 0.3


def test_a_failed_item_keeps_its_time_unless_it_is_urgent() -> None:
    made = queue()
    made.add("a", 0.0)
    made.next(0.0)
    made.failed("a", 0.0, at_least=10.0)
    made.add("a", 1.0, urgent=False)
    assert made.next(1.0) is None
    made.add("a", 1.0)
    assert made.next(1.0) == "a"


def test_an_item_comes_back_at_the_time_that_it_asked_for() -> None:
    made = queue()
    made.add("a", 0.0)
    made.next(0.0)
    made.done("a", 0.0, again=50.0)
    assert (made.next(49.0), made.next(50.0)) == (None, "a")
