"""Every order of events in a preemption, with faults at every step, keeps what was promised.

All choices of ``preemption_model`` are tried: pods of the preemptor that arrive and leave at any moment, victims
that end, evictions that are refused, lost answers, crashes at every write, budgets and quotas that change.
"""

from __future__ import annotations

import pytest

from tests.property.preemption_model import FAULTS, Setting, explore


def _explored(budget: int, setting: Setting) -> None:
    states, ends = explore(budget, setting)
    print(f"{states} states, {ends} ends")  # noqa: T201 (the number of states is the result)
    assert states > 500
    assert ends


@pytest.mark.parametrize("queued", [False, True])
def test_every_order_without_faults_ends_with_the_preemptor_bound(*, queued: bool) -> None:
    _explored(0, Setting(queued=queued))


@pytest.mark.long  # 13,000 states, 80 s
def test_every_order_of_an_elastic_preemptor_ends_with_all_of_it_bound() -> None:
    _explored(0, Setting(minimum=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(["refuse"], id="an eviction refused"),
        pytest.param(["crash"], id="a crash"),
        pytest.param(["lost before", "lost after"], id="a lost answer"),
        # 15,000 states, 120 s
        pytest.param(["leave"], id="a pod of the preemptor that leaves", marks=pytest.mark.long),
        pytest.param(["end"], id="a victim that ends"),
        pytest.param(["tighten"], id="a budget that allows no more evictions"),
        pytest.param(["steal"], id="another scheduler that takes a node"),
    ],
)
def test_every_order_with_a_fault_at_every_step_keeps_what_was_promised(faults: list[str]) -> None:
    _explored(1, Setting(faults=frozenset(faults)))


@pytest.mark.slow
def test_every_order_with_a_quota_that_changes_keeps_what_was_promised() -> None:
    _explored(1, Setting(queued=True, faults=frozenset(["limit"])))


@pytest.mark.long
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_an_elastic_preemptor_with_a_fault_at_every_step_keeps_what_was_promised(fault: str) -> None:
    _explored(1, Setting(minimum=1, queued=fault == "limit", faults=frozenset([fault])))
