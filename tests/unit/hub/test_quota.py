"""Accounts: who was charged what, and what is left."""

from __future__ import annotations

from closeknit.hub.outcome import DomainFit, Holder
from closeknit.hub.quota import LEVEL, Accounts, Charge, Option, refused
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources

ACCOUNT = ("queue", "flavor")


def option(name: str, pods: int, gpus: int, limit: int = 10) -> Option:
    request = Request(name, Group(name, (PodSet(f"{name}/1", pods),)))
    return Option(request, (Charge(ACCOUNT, Resources({"gpu": gpus}), Resources({"gpu": limit})),))


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


def test_a_resource_without_a_limit_has_a_limit_of_zero() -> None:
    charge = Charge(ACCOUNT, Resources({"cpu": 1}), Resources())
    only = Option(option("a", 1, 1).request, (charge,))

    assert Accounts().lacking(only) == (DomainFit(ACCOUNT, 0, "cpu"),)


def test_a_refusal_names_the_accounts_with_the_most_room_first() -> None:
    fits = [DomainFit(("q", "small"), 1, "gpu"), DomainFit(("q", "large"), 4, "gpu")]
    (shortfall,) = refused(option("a", 8, 8), fits).shortfalls

    assert (shortfall.group, shortfall.level, shortfall.wanted, shortfall.fits) == ("a", LEVEL, 8, 4)
    assert [fit.domain for fit in shortfall.best] == [("q", "large"), ("q", "small")]
