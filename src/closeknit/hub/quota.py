"""Quota: what workloads may have in all, and who has been charged how much of it.

An account is known by a path of words, coarsest first, such as a queue and a flavor. Accounts may lie in
others, and then lend and borrow what they do not use. Quota says nothing of nodes; a workload that has quota
must still find room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from closeknit.hub.outcome import DomainFit, Holder, Outcome, Shortfall, Unplaceable
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.resources import Resources

LEVEL = "flavor's quota"
"""What a shortfall of quota names in place of a level."""
QUEUE_LEVEL = "queue's limit"
"""The same where pods are charged to a queue as they run."""
LEVELS = (LEVEL, QUEUE_LEVEL)

MOST_HOLDERS = 8


@dataclass(frozen=True, slots=True)
class Account:
    """What may be charged in all, and how much of it is shared with others."""

    name: tuple[str, ...]
    quota: Resources
    """By resource; one that is missing has a quota of zero. With what the accounts inside it lend."""
    kept: Resources = Resources()
    """How much of the quota those beside it can never have."""
    borrowing: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How much more than its quota it may have; a resource that is missing has no limit of its own."""
    level: str = LEVEL
    """What a shortfall of it names in place of a level."""
    within: Account | None = None
    """The account that it lends to and borrows from."""

    @property
    def around(self) -> tuple[Account, ...]:
        """The account itself, the one that it lies in, and so on to the outermost."""
        return (self, *(self.within.around if self.within is not None else ()))


@dataclass(frozen=True, slots=True)
class Charge:
    """What one account is charged for a workload."""

    account: Account
    resources: Resources
    spare: Resources = Resources()
    """How much less it is for each of the workload's spare pods that is left out."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way in which a workload may run, and what it costs."""

    request: Request
    charges: tuple[Charge, ...] = ()
    spare: int = 0
    """How many pods may be left out where quota is short: the last of ``shrinking``."""
    step: int = 1
    """So many pods are left out together."""
    shrinking: str = ""
    """The pod set or group that gets smaller."""
    patient: bool = False
    """Whether other ways are tried before this one borrows."""

    @property
    def pods(self) -> int:
        """How many pods it has, spare ones included."""
        return sum(pods.count for pods in self.request.root.pod_sets())

    def without(self, pods: int) -> Option:
        """The same with so many of the spare pods left out, and as much less to pay."""
        if not pods:
            return self
        root = _shrunk(self.request.root, self.shrinking, pods)
        assert isinstance(root, Group)
        return replace(
            self, request=replace(self.request, root=root), charges=self.cost(pods), spare=self.spare - pods
        )

    def cost(self, left_out: int) -> tuple[Charge, ...]:
        """What is charged where so many of the spare pods do not run."""
        return tuple(
            replace(charge, resources=charge.resources - charge.spare * left_out) for charge in self.charges
        )


class Accounts:
    """Who has been charged what, so far."""

    def __init__(self) -> None:
        self._booked: dict[tuple[str, ...], dict[str, tuple[int, Resources]]] = {}
        self._totals: dict[tuple[str, ...], Resources] = {}
        self._inside: dict[tuple[str, ...], dict[tuple[str, ...], Account]] = {}

    def copy(self) -> Accounts:
        """The same bookings; what is charged to one of the two is not charged to the other."""
        other = Accounts()
        other._booked = {name: dict(booked) for name, booked in self._booked.items()}
        other._totals = dict(self._totals)
        other._inside = {name: dict(inside) for name, inside in self._inside.items()}
        return other

    def forget(self, who: str) -> None:
        """Take back all that a workload was charged; harmless where it was charged nothing."""
        for name, booked in self._booked.items():
            _, before = booked.pop(who, (0, Resources()))
            if before:
                self._totals[name] -= before

    def charge(self, option: Option, left_out: int = 0) -> None:
        """Book a workload under its name, without the spare pods that found no room.

        Charged again, the later booking counts.
        """
        who, pods = option.request.name, option.pods - left_out
        for charge in option.cost(left_out):
            account = charge.account
            booked = self._booked.setdefault(account.name, {})
            _, before = booked.get(who, (0, Resources()))
            total = self._totals.get(account.name, Resources())
            self._totals[account.name] = total - before + charge.resources
            booked[who] = (pods, charge.resources)
            while account.within is not None:
                self._inside.setdefault(account.within.name, {})[account.name] = account
                account = account.within

    def in_order(self, options: Iterable[Option]) -> list[Option]:
        """The ways in the order of trial: those that would rather not borrow go behind if they must."""
        return sorted(options, key=lambda option: option.patient and self.borrows(option))

    def borrows(self, option: Option) -> bool:
        """Whether a way needs more than its accounts have of their own."""
        return any(
            self._used(charge.account, name, option.request.name) + asked > charge.account.quota.get(name, 0)
            for charge in option.charges
            for name, asked in charge.resources.items()
        )

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

    def _used(self, account: Account, name: str, but: str) -> int:
        """What others than one workload have of an account, with what those inside it took from it."""
        _, own = self._booked.get(account.name, {}).get(but, (0, Resources()))
        direct = self._totals.get(account.name, Resources()).get(name, 0) - own.get(name, 0)
        inside = self._inside.get(account.name, {}).values()
        return direct + sum(max(self._used(each, name, but) - each.kept.get(name, 0), 0) for each in inside)

    def _left(self, account: Account, name: str, but: str) -> tuple[int, Account]:
        """What an account can still have of a resource, and the account that sets this limit.

        Less than nothing where what runs already has more than there is.
        """
        used, quota, kept = (
            self._used(account, name, but),
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


def refused(option: Option, lacking: Sequence[DomainFit], level: str = LEVEL) -> Unplaceable:
    """What becomes of a workload none of whose options has quota; ``option`` is the first."""
    best = tuple(sorted(lacking, key=lambda fit: (-fit.fits, fit.domain)))
    shortfall = Shortfall(
        group=option.request.root.name,
        level=level,
        wanted=option.pods - option.spare,
        fits=max((fit.fits for fit in lacking), default=0),
        best=best,
        excluded=(),
        relaxations=(),
    )
    return Unplaceable(option.request.name, (shortfall,))


def lacks_quota(outcome: Outcome) -> bool:
    """Whether it was quota that a workload lacked, so that nobody looked for room."""
    return isinstance(outcome, Unplaceable) and any(each.level in LEVELS for each in outcome.shortfalls)


def _shrunk(member: Member, name: str, pods: int) -> Member:
    """A tree in which one member has so many pods less, the last ones."""
    if isinstance(member, PodSet):
        if member.name != name:
            return member
        return replace(member, count=member.count - pods, pods=member.pods[: max(len(member.pods) - pods, 0)])
    if member.name != name:
        return replace(member, members=tuple(_shrunk(each, name, pods) for each in member.members))
    members = list(member.members)
    while pods > 0:
        last = members.pop()
        pods -= last.count if isinstance(last, PodSet) else sum(each.count for each in last.pod_sets())
    return replace(member, members=tuple(members))
