"""What each queue deserves. Facts of KAI's resource division tests are marked as such."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.hub.accounts import Accounts
from closeknit.hub.drawing import GPU
from closeknit.hub.resources import Resources
from closeknit.scheduler.deciding import book
from closeknit.scheduler.preempt.fair_share import FairShares, Share, divide
from closeknit.testing.builders import pods, request
from tests.kit.preemption import queue, running, workload


def share(name: str, quota: int, demand: int, weight: float = 2.0, priority: int = 0) -> Share:
    return Share((name,), quota, demand, weight, priority)


@pytest.mark.parametrize(
    ("amount", "queues", "want"),
    [
        pytest.param(
            15, [share("1", 2, 6), share("2", 2, 6)], [6, 6], id="KAI: demand is met where there is plenty"
        ),
        pytest.param(8, [share("1", 2, 6, 1), share("2", 2, 6, 3)], [3, 5], id="KAI: beyond quota by weight"),
        pytest.param(
            12, [share("1", 2, 5), share("2", 2, 6)], [5, 6], id="KAI: no more than the limit, as demand"
        ),
        pytest.param(
            11,
            [share("1", 2, 10, 1), share("2", 2, 10, 4)],
            [3, 8],
            id="KAI: what remains from rounding goes to the largest remainder",
        ),
        pytest.param(11, [share("1", 2, 6), share("2", 2, 6)], [6, 5], id="KAI: then by name"),
        pytest.param(
            4,
            [share("1", 2, 6, priority=1), share("2", 2, 6, priority=2)],
            [2, 2],
            id="KAI: priority does not affect quota",
        ),
        pytest.param(
            6,
            [share("1", 2, 6, priority=1), share("2", 2, 6, priority=2)],
            [2, 4],
            id="KAI: beyond quota the higher priority is first",
        ),
        pytest.param(
            6,
            [share("1", 2, 6, 100, priority=1), share("2", 2, 6, 1, priority=2)],
            [2, 4],
            id="KAI: even with a smaller weight",
        ),
        pytest.param(
            5,
            [share("1", 2, 5, priority=2), share("2", 2, 5, priority=2), share("3", 1, 0, priority=1)],
            [3, 2, 0],
            id="KAI: rounding is divided among queues of one priority",
        ),
        pytest.param(
            2, [share("1", 3, 6), share("2", 3, 6)], [3, 3], id="KAI: quota may exceed what there is"
        ),
        pytest.param(
            8, [share("1", 2, 6, 0), share("2", 2, 3)], [2, 3], id="KAI: without a weight, quota only"
        ),
        pytest.param(
            4,
            [share("1", 0, 6, priority=2), share("2", 0, 6, priority=2), share("3", 0, 6, priority=1)],
            [2, 2, 0],
            id="a lower priority gets nothing as long as a higher one lacks something",
        ),
        pytest.param(
            5,
            [share("1", 0, 9, priority=2), share("2", 0, 9, priority=2), share("3", 0, 6, priority=1)],
            [3, 2, 0],
            id="nor what remains from rounding",
        ),
        pytest.param(
            10,
            [share("1", 0, 1), share("2", 0, 9), share("3", 0, 9)],
            [1, 5, 4],
            id="what a queue does not need is divided again",
        ),
    ],
)
def test_division(amount: int, queues: list[Share], want: list[int]) -> None:
    assert [divide(amount, queues)[share.name] for share in queues] == want
    assert divide(amount, queues[::-1]) == divide(amount, queues)


def test_cpu_is_divided_in_thousandths_of_a_core() -> None:
    one, other = share("1", 0, 10**10), share("2", 0, 10**10)
    assert divide(3 * 10**6, [one, other], 10**6) == {("1",): 2 * 10**6, ("2",): 10**6}


QUEUES = st.lists(
    st.builds(
        Share,
        st.just(()),
        st.integers(0, 8),
        st.integers(0, 12),
        st.sampled_from([0, 1, 1, 2, 3.5]),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=5,
)


@given(st.integers(0, 40), QUEUES)
def test_division_agrees_with_a_level_that_rises_until_all_is_given_away(
    amount: int, shares: list[Share]
) -> None:
    queues = [Share((f"q{i}",), s.quota, s.demand, s.weight, s.priority) for i, s in enumerate(shares)]

    def parts(among: list[Share], lacks: dict[str, int], level: Fraction) -> dict[str, Fraction]:
        return {s.name[0]: min(Fraction(lacks[s.name[0]]), level * Fraction(s.weight)) for s in among}

    want = {s.name[0]: min(s.quota, s.demand) for s in queues}
    left = max(amount - sum(want.values()), 0)
    for priority in (1, 0):
        among = [s for s in queues if s.priority == priority and s.weight > 0]
        lacks = {s.name[0]: s.demand - want[s.name[0]] for s in among}
        # The level at which queue after queue has what it lacks; between two of them it rises linearly.
        levels = sorted({Fraction(lacks[s.name[0]]) / Fraction(s.weight) for s in among})
        level = Fraction(0)
        for following in levels:
            if sum(parts(among, lacks, following).values()) <= left:
                level = following
                continue
            rising = [s for s in among if lacks[s.name[0]] > level * Fraction(s.weight)]
            spare = left - sum(parts(among, lacks, level).values())
            level += spare / sum((Fraction(s.weight) for s in rising), Fraction())
            break
        exact = parts(among, lacks, level)
        whole = {name: int(part) for name, part in exact.items()}
        spare_units = min(left, sum(lacks.values())) - sum(whole.values())
        for name in sorted(exact, key=lambda name: (whole[name] - exact[name], name))[:spare_units]:
            whole[name] += 1
        for name, units in whole.items():
            want[name] += units
            left -= units
    assert {name[0]: units for name, units in divide(amount, queues).items()} == want


def test_shares_follow_the_tree_of_queues() -> None:
    """A parent's share is that of its own level, and what its queues divide."""
    left, right = queue("left", 4), queue("right", 4)
    a, b, c = queue("a", within=left), queue("b", within=left), queue("c", -1, within=right)
    accounts = Accounts()
    units = [running("u1", "x x x x x x", account=a), running("u2", "x x", account=c)]
    for unit in units:
        book(accounts, unit.workload)
    waiting = [workload(request("w", pods("p", 9)), account=b)]
    shares = FairShares(Resources({GPU: 12}), accounts, [unit.workload for unit in units], waiting)
    assert {
        name: shares.of(account, GPU) for name, account in zip("ablrc", (a, b, left, right, c), strict=True)
    } == {
        "a": 5,
        "b": 5,
        "l": 10,
        "r": 2,
        "c": 2,
    }


def test_a_quota_without_limit_is_all_that_there_is() -> None:
    a, b = queue("a", -1), queue("b", 4)
    waiting = [workload(request(f"w{q.name}", pods("p", 20)), account=q) for q in (a, b)]
    shares = FairShares(Resources({GPU: 12}), Accounts(), [], waiting)
    assert (shares.of(a, GPU), shares.of(b, GPU)) == (12, 4)


def test_the_demand_of_a_parent_is_that_of_its_queues_within_their_limits() -> None:
    left, right = queue("left"), queue("right")
    a, c = queue("a", limit=2, within=left), queue("c", within=right)
    waiting = [
        workload(request("w", pods("p", 9)), account=a),
        workload(request("v", pods("p", 9)), account=c),
    ]
    shares = FairShares(Resources({GPU: 12}), Accounts(), [], waiting)
    assert (shares.of(left, GPU), shares.of(a, GPU), shares.of(right, GPU)) == (2, 2, 9)


def test_the_demand_of_a_parent_is_within_its_own_limit() -> None:
    """What is beyond it goes to the queues beside it."""
    left, right = queue("left", limit=2), queue("right")
    a, c = queue("a", within=left), queue("c", within=right)
    waiting = [workload(request(f"w{q.name}", pods("p", 9)), account=q) for q in (a, c)]
    shares = FairShares(Resources({GPU: 10}), Accounts(), [], waiting)
    assert (shares.of(left, GPU), shares.of(a, GPU), shares.of(right, GPU)) == (2, 2, 8)
