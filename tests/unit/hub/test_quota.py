"""Accounts: who was charged what, and what is left."""

from __future__ import annotations

import pytest

from closeknit.hub.accounts import Accounts
from closeknit.hub.copying import replace
from closeknit.hub.outcome import DomainFit, Holder
from closeknit.hub.quota import Account, Charge, Option, refused
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.shortfall import QuotaExceeded, QuotaScope

ACCOUNT = ("queue", "flavor")


def option(name: str, pods: int, gpus: int, limit: int = 10) -> Option:
    request = Request(name, Group(name, (PodSet(f"{name}/1", pods),)))
    account = Account(ACCOUNT, Resources({"gpu": limit}))
    return Option(request, (Charge(account, Resources({"gpu": gpus})),))


def test_an_empty_account_takes_what_keeps_within_the_limit() -> None:
    assert Accounts().lacking(option("a", 5, 10)) == ()
    assert Accounts().lacking(option("a", 11, 11)) == (DomainFit(ACCOUNT, 10, "gpu"),)


def test_what_was_charged_is_missing_and_its_holder_is_named() -> None:
    accounts = Accounts()
    accounts.charge(option("a", 3, 6))

    assert accounts.lacking(option("b", 2, 4)) == ()
    assert accounts.lacking(option("b", 4, 8)) == (DomainFit(ACCOUNT, 2, "gpu", (Holder("a", 3, 6),)),)


def test_a_workload_is_not_in_its_own_way() -> None:
    accounts = Accounts()
    accounts.charge(option("a", 3, 6))
    accounts.charge(option("a", 4, 8))

    assert accounts.lacking(option("a", 5, 10)) == ()
    assert accounts.lacking(option("b", 3, 3)) == (DomainFit(ACCOUNT, 2, "gpu", (Holder("a", 4, 8),)),)


def test_a_resource_without_a_quota_has_a_quota_of_zero() -> None:
    charge = Charge(Account(ACCOUNT, Resources()), Resources({"cpu": 1}))
    only = Option(option("a", 1, 1).request, (charge,))

    assert Accounts().lacking(only) == (DomainFit(ACCOUNT, 0, "cpu"),)


def test_a_refusal_names_the_accounts_with_the_most_room_first() -> None:
    fits = [DomainFit(("q", "small"), 1, "gpu"), DomainFit(("q", "large"), 4, "gpu")]
    (shortfall,) = refused(option("a", 8, 8), fits).shortfalls

    assert (shortfall.group, shortfall.reason, shortfall.wanted, shortfall.fits) == (
        "a",
        QuotaExceeded(QuotaScope.FLAVOR),
        8,
        4,
    )
    assert [fit.domain for fit in shortfall.best] == [("q", "large"), ("q", "small")]


def gpus(amount: int) -> Resources:
    return Resources({"gpu": amount})


COHORT = Account(("cohort",), gpus(10))
"""Two queues that have 6 each, of which one keeps 2 to itself."""
OPEN = Account(("open",), gpus(6), within=COHORT)
KEEPING = Account(("keeping",), gpus(6), kept=gpus(2), within=COHORT)


def at(account: Account, amount: int, name: str = "a") -> Option:
    """A workload of one-gpu pods."""
    request = Request(name, Group(name, (PodSet(f"{name}/1", amount),)))
    return Option(request, (Charge(account, gpus(amount)),))


@pytest.mark.parametrize(
    ("booked", "asked", "fits"),
    [
        pytest.param([], at(OPEN, 10), True, id="a queue may have all that is lent"),
        pytest.param([], at(OPEN, 11), False, id="what another keeps cannot be borrowed"),
        pytest.param([], at(KEEPING, 12), True, id="who keeps something can have that as well"),
        pytest.param([at(OPEN, 10, "b")], at(KEEPING, 2), True, id="what is kept is there when all else is gone"),
        pytest.param([at(OPEN, 10, "b")], at(KEEPING, 3), False, id="beyond that, nothing is left"),
        pytest.param(
            [at(OPEN, 10, "b"), at(KEEPING, 2, "c")],
            at(KEEPING, 1),
            False,
            id="what is kept is used once",
        ),
        pytest.param(
            [at(KEEPING, 2, "b")], at(OPEN, 10), True, id="what is used of one's own keeping is no one else's loss"
        ),
        pytest.param(
            [at(KEEPING, 3, "b")], at(OPEN, 10), False, id="what is used beyond one's own keeping is missing"
        ),
    ],
)  # fmt: skip
def test_accounts_lend_what_they_do_not_keep(booked: list[Option], asked: Option, fits: bool) -> None:
    accounts = Accounts()
    for each in booked:
        accounts.charge(each)

    assert (accounts.lacking(asked) == ()) is fits


def test_the_account_that_sets_the_limit_is_named_with_all_who_hold_of_it() -> None:
    limited = Account(("limited",), gpus(6), borrowing={"gpu": 1}, within=COHORT)
    accounts = Accounts()
    accounts.charge(at(KEEPING, 5, "b"))
    accounts.charge(at(OPEN, 1, "c"))

    assert accounts.lacking(at(limited, 8)) == (
        DomainFit(("cohort",), 6, "gpu", (Holder("b", 5, 5), Holder("c", 1, 1))),
    )
    assert accounts.lacking(at(limited, 6)) == ()
    assert Accounts().lacking(at(limited, 8)) == (DomainFit(("limited",), 7, "gpu"),)


def test_cohorts_in_cohorts_borrow_within_their_limits() -> None:
    outer = Account(("outer",), gpus(20))
    inner = Account(("inner",), gpus(8), kept=gpus(3), borrowing={"gpu": 2}, within=outer)
    queue = Account(("queue",), gpus(8), within=inner)
    accounts = Accounts()

    assert accounts.lacking(at(queue, 10)) == ()
    assert accounts.lacking(at(queue, 11))[0].domain == ("inner",)
    accounts.charge(at(outer, 18, "b"))
    # Two are left outside, and three are kept inside.
    assert accounts.lacking(at(queue, 5)) == ()
    assert accounts.lacking(at(queue, 6))[0].domain == ("outer",)


def test_accounts_that_are_overdrawn_have_nothing_left() -> None:
    accounts = Accounts()
    accounts.charge(at(OPEN, 15, "b"))

    assert accounts.lacking(at(KEEPING, 1)) == (DomainFit(("cohort",), 0, "gpu", (Holder("b", 15, 15),)),)


def shrinking(count: int, least: int, limit: int, step: int = 1) -> Option:
    """A workload of one-gpu pods of which some will do, in one piece or in slices."""
    root: Group
    if step == 1:
        pods = PodSet("pods", count, minimum=least, pods=tuple(f"p{i}" for i in range(count)))
        root, name = Group("a", (pods,)), "pods"
    else:
        slices = tuple(Group(f"s{i}", (PodSet(f"s{i}/1", step),)) for i in range(count // step))
        root, name = Group("a", slices, minimum=least // step), "a"
    charge = Charge(Account(ACCOUNT, gpus(limit)), gpus(count), gpus(1))
    return Option(Request("a", root), (charge,), count - least, step, name)


def test_where_fewer_pods_will_do_there_are_as_many_as_there_is_quota_for() -> None:
    part = Accounts().affordable(shrinking(10, 4, 6))

    assert part is not None
    (pods,) = part.request.root.pod_sets()
    assert (pods.count, pods.minimum, pods.pods[-1], part.spare) == (6, 4, "p5", 2)
    assert part.charges[0].resources == gpus(6)


def test_no_fewer_pods_than_the_least() -> None:
    assert Accounts().affordable(shrinking(10, 4, 4)) is not None
    assert Accounts().affordable(shrinking(10, 4, 3)) is None
    (shortfall,) = refused(shrinking(10, 4, 3), Accounts().lacking(shrinking(10, 4, 3))).shortfalls
    assert (shortfall.wanted, shortfall.fits) == (4, 3)


def test_pods_that_are_always_needed_are_paid_first() -> None:
    """A leader that needs 4, and 10 pods that need 1 each: 8 are enough for the leader and 4 of them."""
    leader = PodSet("leader", 1)
    way = shrinking(10, 6, 8)
    root = replace(way.request.root, members=(leader, *way.request.root.members))
    account = Account(ACCOUNT, gpus(8))
    way = replace(way, request=replace(way.request, root=root), charges=(Charge(account, gpus(14), gpus(1)),))

    assert Accounts().affordable(way) is None
    assert Accounts().lacking(way) == (DomainFit(ACCOUNT, 5, "gpu"),)


def test_pods_in_slices_are_left_out_slice_by_slice() -> None:
    part = Accounts().affordable(shrinking(8, 2, 5, step=2))

    assert part is not None
    assert [each.name for each in part.request.root.members] == ["s0", "s1"]
    assert part.charges[0].resources == gpus(4)


def test_pods_that_ask_for_something_else_are_not_left_out() -> None:
    fixed = Charge(Account(("other",), Resources()), Resources({"cpu": 1}))
    option = replace(shrinking(10, 4, 6), charges=(fixed,))

    assert Accounts().affordable(option) is None


def test_pods_that_found_no_room_are_not_charged() -> None:
    accounts = Accounts()
    accounts.charge(shrinking(10, 4, 10), left_out=3)

    assert accounts.lacking(option("b", 3, 3)) == ()
    assert accounts.lacking(option("b", 4, 4)) == (DomainFit(ACCOUNT, 3, "gpu", (Holder("a", 7, 7),)),)


def test_ways_that_would_rather_not_borrow_go_behind_if_they_must() -> None:
    other = Account(("other",), gpus(8))
    ways = [replace(at(OPEN, 8), patient=True), replace(at(other, 8), patient=True)]

    assert Accounts().in_order(ways) == ways[::-1]
    assert Accounts().in_order([replace(way, patient=False) for way in ways])[0].charges[0].account == OPEN
    assert Accounts().in_order([replace(at(OPEN, 6), patient=True), ways[1]])[0].charges[0].account == OPEN
