"""Which requests are decided without a search, and what they get."""

from __future__ import annotations

import pytest

from closeknit.engine import Budget, Engine, short_path
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Outcome, Placed, Unplaceable
from closeknit.hub.request import Request
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse

CLUSTER = parse("""
    b1
      r1
        x1: 4
        x2: 2
      r2
        x3: 3
        x4: 8 used=5
        x5: 1
    b2
      r3
        x6: 8 used=2
        x7: 8 used=2
    loose: 16 used=3
""")


USUAL = Budget()


def decided(asked: Request, budget: Budget = USUAL) -> Outcome | None:
    """What the short path says; None where it leaves the request to the search."""
    engine = Engine(CLUSTER, budget)
    only = short_path.single_set(asked.root)
    if only is None:
        return None
    (table,) = engine._tables(engine._requests.of(asked)).by_shape
    outcome = short_path.decide(asked, only, table, table, budget=budget, touched=0)
    if outcome is not None:
        assert outcome == engine._search(asked, engine._cache.touched)
    return outcome


@pytest.mark.parametrize(
    ("asked", "nodes"),
    [
        pytest.param(
            request("w", pods("p", 3), required="rack"),
            ["x1"] * 3,
            id="the tightest node of the tightest rack",
        ),
        pytest.param(
            request("w", pods("p", 5), required="rack"),
            ["x1"] * 4 + ["x2"],
            id="the tightest rack, though another has a node for all pods",
        ),
        pytest.param(
            request("w", pods("p", 3), required="block"), ["x6"] * 3, id="a node of the tightest block"
        ),
        pytest.param(request("w", pods("p", 3), preferred="rack"), ["x1"] * 3, id="the rack it prefers"),
        pytest.param(
            request("w", pods("p", 9)),
            ["x6"] * 6 + ["x7"] * 3,
            id="the tightest rack where no level is named",
        ),
        pytest.param(
            request("w", pods("p", 13)), ["loose"] * 13, id="a node outside the racks where no level is named"
        ),
        pytest.param(
            request("w", pods("p", 12), preferred="rack"),
            ["x6"] * 6 + ["x7"] * 6,
            id="a whole rack, though a node outside the racks takes all pods",
        ),
        pytest.param(
            request("w", pods("p", 3, gpus=3), required="block"),
            ["x1", "x3", "x4"],
            id="several racks of the tightest block",
        ),
        pytest.param(
            request("w", pods("p", 2, gpus=5), required="rack"), ["x6", "x7"], id="a node each for large pods"
        ),
        pytest.param(
            request("w", pods("p", 2, gpus=5), required="block", preferred="rack"),
            ["x6", "x7"],
            id="a node each in the rack that is preferred",
        ),
    ],
)
def test_pods_that_one_node_takes_or_that_fill_one_each_need_no_search(
    asked: Request, nodes: list[str]
) -> None:
    outcome = decided(asked)

    assert isinstance(outcome, Placed)
    assert [assignment.node for assignment in outcome.assignments] == nodes


def test_more_pods_than_any_domain_takes_need_no_search() -> None:
    assert isinstance(decided(request("w", pods("p", 13), required="rack")), Unplaceable)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(
            request("w", pods("p", 13), preferred="rack"),
            id="pods to be divided among racks, which they prefer",
        ),
        pytest.param(request("w", pods("p", 14)), id="the same where no level is named"),
        pytest.param(request("w", pods("p", 99)), id="more pods than the cluster takes"),
        pytest.param(request("w", pods("p", 4, minimum=2), required="rack"), id="pods above a minimum"),
        pytest.param(request("w", pods("p", 4, bound=["x1"]), required="rack"), id="pods that run already"),
        pytest.param(request("w", pods("p", 0), required="rack"), id="no pods"),
        pytest.param(request("w", pods("p", 1), pods("q", 1), required="rack"), id="two pod sets"),
        pytest.param(request("w", group("g", pods("p", 1), required="rack")), id="a group in a group"),
        pytest.param(
            replace(request("w", pods("p", 1)), root=group("w", pods("p", 1), required="rack", minimum=0)),
            id="a group that need not be formed",
        ),
    ],
)
def test_everything_else_is_left_to_the_search(asked: Request) -> None:
    assert decided(asked) is None


def test_a_budget_too_small_for_the_search_is_too_small_for_the_short_path() -> None:
    asked = request("w", pods("p", 3), required="rack")

    assert decided(asked, Budget(find=1)) is None
    assert decided(asked, Budget(find=2)) is not None
