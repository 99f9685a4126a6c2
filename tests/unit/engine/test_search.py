"""A search that is confined to a domain."""

from __future__ import annotations

import pytest

from closeknit.engine import Budget, Engine
from closeknit.engine.compiled_request import Goal
from closeknit.engine.search import Search
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse

CLUSTER = parse("""
    b1
      r1
        x1: 1
      r2
        x2: 4
    b2
      r3
        x3: 8
""")


@pytest.mark.parametrize(
    ("within", "count", "positions"),
    [
        pytest.param((-1, 0), 6, [2], id="the whole cluster: the best domain there is"),
        pytest.param((0, 0), 3, [1], id="a block: any rack inside it, not only its first"),
        pytest.param((1, 0), 1, [0], id="a rack: that rack"),
        pytest.param((0, 0), 6, None, id="a block that is too small: nothing, though another would do"),
    ],
)
def test_all_pods_stay_within_a_domain(
    within: tuple[int, int], count: int, positions: list[int] | None
) -> None:
    engine = Engine(CLUSTER)
    compiled = engine._compile(request("w", pods("p", count), preferred="rack"), Goal.WISHES)

    found = Search(compiled, engine._ledger.free, Budget()).run(within=within)

    assert found.complete
    assert (found.spread and found.spread[0][0].tolist()) == positions
