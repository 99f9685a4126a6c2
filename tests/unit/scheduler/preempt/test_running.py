"""Which pods a unit can lose, and since when it runs."""

from __future__ import annotations

from itertools import combinations

import pytest

from closeknit.hub.copying import replace
from closeknit.scheduler.preempt.running import RunningUnit
from tests.kit.preemption import pod, replicas, running


def losable(unit: RunningUnit) -> list[tuple[str, ...]]:
    """Every set of pods that the unit can lose, by the numbers at the end of their names."""
    return [
        tuple(pod.key.name.partition("-")[2] for pod in pods)
        for size in range(1, len(unit.pods))
        for pods in combinations(unit.pods, size)
        if unit.keeps_minimum({pod.key for pod in pods})
    ]


@pytest.mark.parametrize(
    ("unit", "want"),
    [
        pytest.param(running("u", "x x"), [], id="a gang whose pods must all run loses none"),
        pytest.param(
            running("u", "x x x", minimum=1),
            [("0",), ("1",), ("2",), ("0", "1"), ("0", "2"), ("1", "2")],
            id="an elastic gang loses any pods down to its minimum",
        ),
        pytest.param(running("u", "x"), [], id="a single pod has no surplus"),
        pytest.param(
            replicas("u", "x x", "x x", "x x", minimum=2, needed=2),
            [("0-0", "0-1"), ("1-0", "1-1"), ("2-0", "2-1")],
            id="a replica goes whole, and only as long as enough are left",
        ),
        pytest.param(
            replicas("u", "x x x", "x x", minimum=2, needed=2),
            [("0-0",), ("0-1",), ("0-2",)],
            id="surplus within a replica goes pod by pod",
        ),
        pytest.param(
            replicas("u", "x x", "x x", "x", minimum=2, needed=2),
            [("2-0",)],
            id="pods of a replica that is not formed are surplus",
        ),
    ],
)
def test_what_can_be_lost(unit: RunningUnit, want: list[tuple[str, ...]]) -> None:
    assert losable(unit) == want
    smallest = {frozenset(pod.key for pod in pods) for pods in unit.shrinkings()}
    for size in range(1, len(unit.pods)):
        for pods in combinations(unit.pods, size):
            keys = frozenset(pod.key for pod in pods)
            if unit.keeps_minimum(keys):
                parts = [part for part in smallest if part <= keys]
                assert frozenset().union(*parts) == keys, "every such set is a union of the smallest ones"


def test_a_unit_that_only_goes_whole_loses_none() -> None:
    unit = running("u", "x x x", minimum=1)
    whole = replace(unit, workload=replace(unit.workload, shrinks=False))
    assert losable(unit)
    assert losable(whole) == []
    assert list(whole.shrinkings()) == []


@pytest.mark.parametrize(
    ("unit", "want"),
    [
        pytest.param(running("u", "x x x", started=[5, 3, 9]), 9.0, id="since its last pod, if all must run"),
        pytest.param(
            running("u", "x x x", minimum=2, started=[5, 3, 9]),
            5.0,
            id="since the pod that completed the minimum",
        ),
        pytest.param(
            running("u", "x x", minimum=0, started=[5, 3]), 3.0, id="since its first pod without a minimum"
        ),
        pytest.param(
            replicas("u", "x", "x x", minimum=2, needed=2),
            float("-inf"),
            id="always, if its minimum does not run",
        ),
    ],
)
def test_since_when_a_unit_runs(unit: RunningUnit, want: float) -> None:
    assert unit.runs_since == want


def test_a_unit_of_which_a_pod_is_in_no_known_group_loses_nothing_but_all() -> None:
    unit = running("u", "x x x", minimum=1)
    strange = RunningUnit(unit.workload, "u", (*unit.pods, pod("u-9", "x", unit="u", group="none-such")))
    assert list(strange.shrinkings()) == []


def test_a_unit_without_a_request_loses_nothing_but_all() -> None:
    unit = running("u", "x x x", minimum=1, started=[5, 3, 9])
    broken = replace(unit.workload.invalid(()))
    assert list(RunningUnit(broken, "u", unit.pods).shrinkings()) == []
    assert RunningUnit(broken, "u", unit.pods).runs_since == 9.0
    incomplete = unit.workload.incomplete((), missing_pods=1)
    assert RunningUnit(incomplete, "u", unit.pods).runs_since == float("-inf")
