"""Who has been charged how much of which account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import TypeAlias

from closeknit.hub.outcome import DomainFit, Holder
from closeknit.hub.quota import Account, Charge, Option
from closeknit.hub.resources import Resources

MOST_HOLDERS = 8

Booking: TypeAlias = Mapping[tuple[str, ...], tuple[int, Resources]]
"""By account, how many pods a workload is charged for, and what they use."""


class Accounts:
    """Who has been charged what, so far."""

    def __init__(self) -> None:
        self._booked: dict[tuple[str, ...], dict[str, tuple[int, Resources]]] = {}
        self._totals: dict[tuple[str, ...], Resources] = {}
        self._inside: dict[tuple[str, ...], dict[tuple[str, ...], Account]] = {}
        self._parents: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._uses: dict[tuple[tuple[str, ...], str], int] = {}
        """What is used of an account's resource in all, as far as that was asked since the last booking."""

    def copy(self) -> Accounts:
        """The same bookings; what is charged to one of the two is not charged to the other."""
        other = Accounts()
        other._booked = {name: dict(booked) for name, booked in self._booked.items()}
        other._totals = dict(self._totals)
        other._inside = {name: dict(inside) for name, inside in self._inside.items()}
        other._parents = dict(self._parents)
        return other

    def forget(self, who: str) -> None:
        """Take back all that a workload was charged; harmless where it was charged nothing."""
        self._uses.clear()
        for name, booked in self._booked.items():
            _, before = booked.pop(who, (0, Resources()))
            if before:
                self._totals[name] -= before

    def release(self, who: str, resources: Resources | None, pods: int) -> Booking:
        """Take back what some pods of a workload use, in every account; what it was charged before.

        Without ``resources`` all that the workload uses. Nothing falls below zero. ``restore`` undoes it.
        """
        self._uses.clear()
        before: dict[tuple[str, ...], tuple[int, Resources]] = {}
        for name, booked in self._booked.items():
            if who not in booked:
                continue
            before[name] = running, used = booked[who]
            freed = used
            if resources is not None:
                freed = Resources(
                    {resource: min(used[resource], resources.get(resource, 0)) for resource in used}
                )
            booked[who] = (max(running - pods, 0), used - freed)
            self._totals[name] -= freed
        return before

    def restore(self, who: str, before: Booking) -> None:
        """Charge a workload again for what ``release`` took back."""
        self._uses.clear()
        for name, booking in before.items():
            _, used = self._booked[name].get(who, (0, Resources()))
            self._totals[name] += booking[1] - used
            self._booked[name][who] = booking

    def charge(self, option: Option, left_out: int = 0) -> None:
        """Book a workload under its name, without the spare pods that found no room.

        Charged again, the later booking counts.
        """
        who, pods = option.request.name, option.pods - left_out
        self._uses.clear()
        for charge in option.cost(left_out):
            account = charge.account
            booked = self._booked.setdefault(account.name, {})
            _, before = booked.get(who, (0, Resources()))
            total = self._totals.get(account.name, Resources())
            self._totals[account.name] = total - before + charge.resources
            booked[who] = (pods, charge.resources)
            self.link(account)

    def change(self, who: str, account: Account, pods: int, resources: Resources) -> None:
        """Add to what an account is charged for a workload; negative amounts are given back.

        The workload is no longer a holder of the account once no pods are left. In constant time. What is
        used of an account counts for those that it lies in as soon as it was linked.
        """
        self._uses.clear()
        booked = self._booked.setdefault(account.name, {})
        pods_before, before = booked.get(who, (0, Resources()))
        self._totals[account.name] = self._totals.get(account.name, Resources()) + resources
        if pods_before + pods:
            booked[who] = (pods_before + pods, before + resources)
        else:
            booked.pop(who, None)

    def link(self, account: Account) -> None:
        """Count what is used of an account for those that it lies in, and no longer for those it lay in."""
        self._uses.clear()
        while account.within is not None:
            parent = account.within.name
            before = self._parents.get(account.name)
            if before is not None and before != parent:
                del self._inside[before][account.name]
            self._parents[account.name] = parent
            self._inside.setdefault(parent, {})[account.name] = account
            account = account.within

    def in_order(self, options: Iterable[Option]) -> list[Option]:
        """The ways in the order of trial: those that would rather not borrow go behind if they must."""
        return sorted(options, key=lambda option: option.patient and self.borrows(option))

    def borrows(self, option: Option) -> bool:
        """Whether a way needs more than its accounts have of their own."""
        return any(
            self.used(charge.account, name, option.request.name) + asked > charge.account.quota.get(name, 0)
            for charge in option.charges
            for name, asked in charge.resources.items()
        )

    def standing(self, option: Option) -> tuple[tuple[bool, int, tuple[float, ...]], ...]:
        """A key that sorts options by whose turn it is, given what the accounts of their first charge have.

        The outermost accounts are compared first. One that stays within its quota goes before one that does
        not; then the one of higher priority; then the one that is the least beyond its quota for its
        weight, in the most important resource that is asked for.
        """
        if not option.charges:
            return ()
        charge = option.charges[0]
        return tuple(
            self._beyond(account, charge, option.request.name) for account in charge.account.around[-2::-1]
        )

    def _beyond(self, account: Account, charge: Charge, who: str) -> tuple[bool, int, tuple[float, ...]]:
        beyond: list[float] = []
        for name, weight in account.weights.items():
            asked = charge.resources.get(name, 0)
            more = self.used(account, name, who) + asked - account.quota.get(name, 0) if asked else 0
            beyond.append((more / weight if weight else inf) if more > 0 else 0.0)
        asked_for = [
            each for name, each in zip(account.weights, beyond, strict=True) if name in charge.resources
        ]
        return bool(asked_for and asked_for[0]), -account.priority, tuple(beyond)

    def lacking(self, option: Option) -> tuple[DomainFit, ...]:
        """The accounts that cannot take an option in full, each with the pods that it still has quota for."""
        return tuple(fit for charge in option.charges if (fit := self._lacking(option, charge)) is not None)

    def affordable(self, option: Option) -> Option | None:
        """The option with as many of its pods as there is quota for; None where that is too few."""
        out = 0
        for charge in option.charges:
            for name, asked in charge.resources.items():
                missing = asked - self._left(charge.account, name, option.request.name)[0]
                if missing > 0 and not charge.spare.get(name, 0):
                    return None
                if missing > 0:
                    out = max(out, -(-missing // charge.spare[name]))
        out = -(-out // option.step) * option.step
        return option.without(out) if out <= option.spare else None

    def used(self, account: Account, name: str, but: str = "") -> int:
        """What others than one workload have of an account, with what those inside it took from it."""
        if but and not any(but in booked for booked in self._booked.values()):
            return self.used(account, name, "")
        if not but and (known := self._uses.get((account.name, name))) is not None:
            return known
        _, own = self._booked.get(account.name, {}).get(but, (0, Resources()))
        direct = self._totals.get(account.name, Resources()).get(name, 0) - own.get(name, 0)
        inside = self._inside.get(account.name, {}).values()
        used = direct + sum(max(self.used(each, name, but) - each.kept.get(name, 0), 0) for each in inside)
        if not but:
            self._uses[account.name, name] = used
        return used

    def _left(self, account: Account, name: str, but: str) -> tuple[int, Account]:
        """What an account can still have of a resource, and the account that sets this limit.

        Less than nothing where what runs already has more than there is.
        """
        used, quota, kept = (
            self.used(account, name, but),
            account.quota.get(name, 0),
            account.kept.get(name, 0),
        )
        if account.within is None:
            return quota - used, account
        around, limiting = self._left(account.within, name, but)
        if name in account.borrowing:
            most = quota - kept - max(used - kept, 0) + account.borrowing[name]
            around, limiting = min((around, limiting), (most, account), key=lambda each: each[0])
        return max(kept - used, 0) + around, limiting

    def _lacking(self, option: Option, charge: Charge) -> DomainFit | None:
        who = option.request.name
        worst: tuple[int, str] | None = None
        for name, asked in charge.resources.items():
            left = max(self._left(charge.account, name, who)[0], 0)
            if asked > left:
                each = charge.spare.get(name, 0)
                fits = option.pods + (left - asked) // each if each else option.pods * left // asked
                worst = min(worst or (fits, name), (max(fits, 0), name))
        if worst is None:
            return None
        fits, resource = worst
        limiting = self._left(charge.account, resource, who)[1]
        holders = sorted(
            self._holders(limiting, resource, who), key=lambda holder: (-holder.amount, holder.workload)
        )
        return DomainFit(limiting.name, fits, resource, tuple(holders[:MOST_HOLDERS]))

    def _holders(self, account: Account, resource: str, but: str) -> Iterable[Holder]:
        for name, (pods, resources) in self._booked.get(account.name, {}).items():
            if name != but and resource in resources:
                yield Holder(name, pods, resources[resource])
        for inside in self._inside.get(account.name, {}).values():
            yield from self._holders(inside, resource, but)
