"""Layouts that take many steps are given up for others, but not for good."""

from __future__ import annotations

import pytest

from closeknit.engine import Engine, layout
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.request import PodSet
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse

CLUSTER = parse("""
    r1
      x1: 8
      x2: 8
      x3: 7
""")


@pytest.mark.parametrize(
    ("members", "outcome"),
    [
        pytest.param([pods("a", 3, 5), pods("b", 1, 4)], Unplaceable, id="no layout"),
        pytest.param([pods("a", 1, 5), pods("b", 3, 3), pods("c", 2, 4)], Placed, id="a layout hard to find"),
    ],
)
def test_what_was_given_up_is_decided_in_the_end(
    members: list[PodSet], outcome: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "_TO_IMPROVE", 0)
    monkeypatch.setattr(layout, "_TO_FIND", 0)

    assert isinstance(Engine(CLUSTER).decide(request("w", *members)), outcome)
