"""What placed groups had to choose from."""

from __future__ import annotations

import pytest

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import (
    Choice,
    DomainFit,
    Placed,
)
from closeknit.hub.request import Request
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse
from tests.unit.engine.explanation.explained import TWO_RACKS


def choices(cluster: Cluster, asked: Request) -> tuple[Choice, ...]:
    engine = Engine(cluster)
    placed = engine.decide(asked)
    assert isinstance(placed, Placed)
    return engine.explain(asked, placed)


def test_a_placed_group_tells_how_many_domains_could_have_held_it() -> None:
    asked = request("t", group("g", pods("w", 3), required="rack"))
    cluster = parse("""
        r1
          x1: 2
        r2
          x2: 5
        r3
          x3: 4
        r4
          x4: 3
        x5: 8
    """)

    assert choices(cluster, asked) == (
        Choice(
            group="g",
            level="rack",
            inside=(),
            domain=("r4",),
            room=3,
            fitting=3,
            of=4,
            runners_up=(DomainFit(("r3",), 4, None), DomainFit(("r2",), 5, None)),
        ),
    )


def test_a_nested_group_chooses_inside_the_domain_of_the_group_around_it() -> None:
    asked = request("t", group("outer", group("inner", pods("w", 2), required="rack"), required="block"))
    cluster = parse("""
        b1
          r1
            x1: 2
          r2
            x2: 2
        b2
          r3
            x3: 4
          r4
            x4: 1
          r5
            x5: 4
    """)

    outer, inner = choices(cluster, asked)

    assert (outer.group, outer.inside, outer.domain, outer.fitting, outer.of) == ("outer", (), ("b1",), 2, 2)
    assert (inner.group, inner.inside, inner.domain, inner.fitting, inner.of) == (
        "inner",
        ("b1",),
        ("b1", "r1"),
        2,
        2,
    )


@pytest.mark.parametrize(
    ("asked", "levels"),
    [
        pytest.param(
            request("t", group("g", pods("w", 8), required="block", preferred="rack")),
            {"g": "rack"},
            id="the preferred level where it was reached",
        ),
        pytest.param(
            request("t", group("g", pods("w", 10), required="block", preferred="rack")),
            {"g": "block"},
            id="the required level where the preference broke",
        ),
        pytest.param(
            request("t", group("g", pods("w", 10), preferred="rack")),
            {"g": "block"},
            id="the level shared where nothing was required",
        ),
        pytest.param(
            request("t", group("g", pods("w", 2))),
            {"root": "rack"},
            id="the root of a request without levels",
        ),
        pytest.param(
            request("t", group("g", pods("w", 2, bound=["x1", "x3"]))),
            {"root": "block"},
            id="where running pods keep the rest apart, what they share",
        ),
    ],
)
def test_the_level_of_a_choice(asked: Request, levels: dict[str, str]) -> None:
    assert {each.group: each.level for each in choices(TWO_RACKS, asked)} == levels


def test_pods_above_the_minimum_count_for_a_choice() -> None:
    asked = request("t", group("g", pods("w", 5, minimum=1), required="rack"))

    (choice,) = choices(TWO_RACKS, asked)

    assert (choice.domain, choice.fitting) == (("b1", "r1"), 1)
