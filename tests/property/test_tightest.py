"""Equal pods go into the tightest domains of the level that their request names; the oracle finds none tighter."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Request
from closeknit.testing import check, oracle
from closeknit.testing.strategies import instances
from tests.property.effort import effort
from tests.property.test_short_path import plain


@effort(300)
@given(instances(), st.integers(0, 10**6))
def test_no_placement_of_equal_pods_is_tighter(instance: tuple[Cluster, Request], seed: int) -> None:
    cluster = instance[0]
    engine, request = Engine(cluster), plain(cluster, instance[1], Random(seed))
    tables = engine._tables(engine._requests.of(request))
    outcome = engine.decide(request)
    if not isinstance(outcome, Placed) or tables.rules or tables.preferred:
        return

    assert not check.violations(cluster, request, outcome)
    if tables.by_shape[0].price is None and tables.by_shape[0] is tables.plain[0]:
        assert oracle.tighter(cluster, request, outcome.wishes) is None
