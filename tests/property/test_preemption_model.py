"""Every order of events in a preemption, with faults at every step, keeps what was promised.

All choices of ``preemption_model`` are tried: pods of the preemptor that arrive and leave at any moment, victims
that end, evictions that are refused, lost answers, crashes at every write, budgets and quotas that change.
"""

from __future__ import annotations

import pytest

from tests.property.preemption_model import Setting, explore


@pytest.mark.parametrize("minimum", [1, 2])
@pytest.mark.parametrize("queued", [False, True])
def test_every_order_without_faults_ends_with_the_preemptor_bound(minimum: int, *, queued: bool) -> None:
    states, ends = explore(0, Setting(minimum, queued))

    print(f"{states} states, {ends} ends")
    assert states > 100
    assert ends
