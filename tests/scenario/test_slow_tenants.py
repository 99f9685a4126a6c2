"""Units that take long to decide keep neither the lease from being renewed nor other tenants waiting."""

from __future__ import annotations

import pytest

from bench import tenants


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hard", "many"),
    [
        pytest.param(3, 0, id="three gangs of which a search takes many seconds"),
        pytest.param(0, 2000, id="two thousand gangs of which no two are the same"),
    ],
)
def test_another_tenant_is_scheduled_beside_units_that_take_long_to_decide(hard: int, many: int) -> None:
    log = tenants.measure(hard=hard, many=many, minutes=0.25, seed=1)

    assert log.leases_lost == 0
    assert len(log.arrived) > 3
    assert set(log.waited) == set(log.arrived)
