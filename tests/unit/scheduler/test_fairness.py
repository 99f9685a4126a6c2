"""The order between queues that share a cluster."""

from __future__ import annotations

import pytest

from closeknit.hub.accounts import Accounts
from closeknit.hub.drawing import GPU
from closeknit.hub.quota import Account, Charge, Option
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.fairness import in_turn
from closeknit.scheduler.waiting import next_unit
from closeknit.testing.builders import pods, request
from tests.kit.preemption import queue, workload


def test_queues_above_the_common_one_take_no_part_in_the_order() -> None:
    # With the large unit, and not with the small one, the queue above both is beyond its quota.
    above = queue("above", 2)
    preferred, other = queue("preferred", 4, priority=200, within=above), queue("other", 4, within=above)
    large = workload(request("large", pods("p", 4)), account=preferred)
    small = workload(request("small", pods("p", 1)), account=other)

    assert next_unit([small, large], Accounts()) is large


@pytest.mark.parametrize(
    ("admitted", "names"),
    [
        pytest.param(False, ["modest", "greedy"], id="who must borrow goes behind"),
        pytest.param(True, ["greedy", "modest"], id="who is admitted has what it needs and keeps its place"),
    ],
)
def test_who_must_borrow_goes_behind_unless_it_is_admitted(*, admitted: bool, names: list[str]) -> None:
    cohort = Account(("cohort",), Resources({GPU: 16}))

    def charged(name: str, gpus: int, *, admitted: bool = False) -> PlaceableWorkload:
        asked = request(name, pods("p", gpus))
        own = Account(("cohort", name), Resources({GPU: 8}), within=cohort)
        return PlaceableWorkload(
            ObjectName("batch/v1", "Job", "team", name),
            "kueue",
            asked,
            queue=name,
            admitted=admitted,
            options=(Option(asked, (Charge(own, Resources({GPU: gpus})),)),),
        )

    sequence = [charged("greedy", 12, admitted=admitted), charged("modest", 8)]
    assert [each.object.name for each in in_turn(sequence, Accounts())] == names
