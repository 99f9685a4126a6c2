"""No bound promises less than the best placement costs."""

from __future__ import annotations

from hypothesis import given

from closeknit.engine import Engine
from closeknit.engine.compiled_request import Goal
from closeknit.engine.count_bounds import MixedBound, batches
from closeknit.engine.floor import Floor
from closeknit.hub.cluster import Cluster
from closeknit.hub.request import Request
from closeknit.testing import oracle
from closeknit.testing.meaning import order
from closeknit.testing.strategies import instances
from tests.property.effort import effort

WORST = 10**6


@effort(250)
@given(instances())
def test_the_floor_lies_below_the_best_placement(instance: tuple[Cluster, Request]) -> None:
    cluster, request = instance
    best = oracle.best(cluster, request)
    if best is None:
        return
    reached = list(order(best))
    engine = Engine(cluster)
    compiled = engine._compile(request, Goal.WISHES, preferring=True)
    mixed = MixedBound(compiled, engine._ledger.free)
    floor = Floor(compiled, mixed, batches(compiled.root))

    anyway = floor.fields([WORST] * len(reached))
    for bound, cost in zip(anyway, reached, strict=True):
        assert bound <= cost

    # Once something is known, the floor speaks of all that is better than that.
    for worse in range(len(reached)):
        known = [*reached[:worse], reached[worse] + 1, *(cost + 3 for cost in reached[worse + 1 :])]
        for bound, cost in zip(floor.fields(known), reached, strict=True):
            assert bound <= cost
    assert floor.fields(reached) <= reached
