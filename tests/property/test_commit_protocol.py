"""Every order of events in the binding of a gang, with faults at every step, ends well.

All choices of ``commit_model`` are tried.
"""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.keys import Key
from tests.property.commit_model import Model, explore
from tests.property.told import Told


def test_every_order_without_faults_ends_well() -> None:
    states, ends = explore(0, arrivals=True)

    assert states > 100
    assert ends > 1


def test_every_order_with_a_fault_at_every_step_ends_well() -> None:
    states, ends = explore(1)

    assert states > 1000
    assert ends > 10


def _happens(model: Model, what: str, which: Any) -> None:
    before = model.news
    model.do(what, which)
    if model.news is not before:
        model.led_by(Told(model.news))
    model.check()


def test_room_that_a_late_binding_may_take_is_not_given_away() -> None:
    model = Model()
    model.led_by(Told(model.news))
    arrived = Key("", "Pod", "default", "q")
    for what, which in (("arrive", None), ("late", 0), ("tell", arrived), ("carry out", 0)):
        _happens(model, what, which)
    while choices := list(model.choices(0, arrivals=False)):
        _happens(model, *choices[0])
    model.check_end()

    assert all(each["spec"].get("nodeName") for each in model.pods.values())


@pytest.mark.slow
def test_every_order_with_a_fault_and_somebody_who_takes_all_room_ends_well() -> None:
    states, ends = explore(1, arrivals=True)

    assert states > 5000
    assert ends > 30
