"""For how long surplus waits for units whose minimum is being bound."""

from __future__ import annotations

from closeknit.hub.keys import Key
from closeknit.scheduler.minimum_first import LONGEST_WAIT, MinimumFirst

A, B = (Key("", "Pod", "team", name) for name in "ab")


def test_surplus_waits_for_the_last_that_was_cut_down_before_and_not_for_ever() -> None:
    cut = MinimumFirst()
    cut.cut(A, 0.0)
    cut.cut(B, 0.5)

    assert cut.holds_until(0.5) == 0.5 + LONGEST_WAIT
    cut.competes(B)
    assert cut.holds_until(0.6) == LONGEST_WAIT
    assert cut.holds_until(LONGEST_WAIT) is None


def test_units_that_are_cut_down_while_surplus_waits_are_not_waited_for() -> None:
    cut = MinimumFirst()
    cut.cut(A, 0.0)
    assert cut.holds_until(0.1) == LONGEST_WAIT
    cut.cut(B, 0.5)

    assert cut.holds_until(0.6) == LONGEST_WAIT
    assert cut.holds_until(LONGEST_WAIT) is None
    cut.decided()
    assert cut.holds_until(LONGEST_WAIT) == 0.5 + LONGEST_WAIT
