"""Who gets how many pods, against a reading of the rule that knows nothing of nodes."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from closeknit.engine import Engine
from closeknit.hub.outcome import Placed
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.planning import plan
from closeknit.testing.builders import pods, request
from closeknit.testing.drawings import parse
from tests.property.effort import effort


def by_the_rule(room: int, units: list[tuple[int, int]]) -> list[int]:
    """Pods of each unit, given as count and minimum in the order of the queue; 0 where it does not run."""
    got = []
    for _, minimum in units:
        got.append(minimum if minimum <= room else 0)
        room -= got[-1]
    while room:
        growing = [i for i, (count, _) in enumerate(units) if 0 < got[i] < count]
        if not growing:
            break
        least = min(growing, key=lambda i: (Fraction(got[i], units[i][0]), i))
        got[least] += 1
        room -= 1
    return got


@effort(150)
@given(st.integers(0, 2**32 - 1))
def test_pods_are_given_out_by_the_rule(seed: int) -> None:
    rng = Random(seed)
    units = [
        (count, rng.randint(1, count)) for count in (rng.randint(1, 6) for _ in range(rng.randint(1, 5)))
    ]
    nodes = [rng.randint(1, 4) for _ in range(rng.randint(1, 6))]
    cluster = parse("\n".join(f"x{i}: {gpus}" for i, gpus in enumerate(nodes)))
    workloads = [
        PlaceableWorkload(
            ObjectName("v1", "PodGroup", "", f"u{i}"),
            "kai",
            request(f"u{i}", pods(f"p{i}", count, minimum=minimum), topology=None),
        )
        for i, (count, minimum) in enumerate(units)
    ]
    found = [
        len(verdict.outcome.assignments) if isinstance(verdict.outcome, Placed) else 0
        for verdict in plan(Engine(cluster), cluster, workloads)
    ]
    assert found == by_the_rule(sum(nodes), units)
