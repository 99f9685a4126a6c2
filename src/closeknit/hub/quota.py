"""Quota: what workloads may have in all, and who has been charged how much of it.

An account is a path of words, coarsest first, such as a queue and a flavor. Quota says
nothing of nodes; a workload that has quota must still find room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from closeknit.hub.outcome import DomainFit, Holder, Shortfall, Unplaceable
from closeknit.hub.request import Request
from closeknit.hub.resources import Resources

LEVEL = "flavor's quota"
"""What a shortfall of quota names in place of a level."""

MOST_HOLDERS = 8


@dataclass(frozen=True, slots=True)
class Charge:
    """What one account is charged for a workload, and what may be charged to it in all."""

    account: tuple[str, ...]
    resources: Resources
    limit: Resources
    """By the resources charged; one that is missing has a limit of zero."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way in which a workload may run, and what it costs."""

    request: Request
    charges: tuple[Charge, ...] = ()


class Accounts:
    """Who has been charged what, so far."""

    def __init__(self) -> None:
        self._charged: dict[tuple[str, ...], dict[str, tuple[int, Resources]]] = {}

    def charge(self, option: Option) -> None:
        """Book a workload under its name; charged again, the later booking counts."""
        for charge in option.charges:
            booked = self._charged.setdefault(charge.account, {})
            booked[option.request.name] = (_pods(option.request), charge.resources)

    def lacking(self, option: Option) -> tuple[DomainFit, ...]:
        """The accounts that cannot take an option, each with the pods that it still has quota for."""
        return tuple(fit for charge in option.charges if (fit := self._lacking(option, charge)) is not None)

    def _lacking(self, option: Option, charge: Charge) -> DomainFit | None:
        others = {
            name: booked
            for name, booked in self._charged.get(charge.account, {}).items()
            if name != option.request.name
        }
        worst: tuple[int, str] | None = None
        for name, asked in charge.resources.items():
            used = sum(resources.get(name, 0) for _, resources in others.values())
            left = max(charge.limit.get(name, 0) - used, 0)
            if asked > left:
                fits = _pods(option.request) * left // asked
                worst = min(worst or (fits, name), (fits, name))
        if worst is None:
            return None
        fits, limiting = worst
        holders = [
            Holder(name, pods, resources[limiting])
            for name, (pods, resources) in others.items()
            if limiting in resources
        ]
        holders.sort(key=lambda holder: (-holder.amount, holder.workload))
        return DomainFit(charge.account, fits, limiting, tuple(holders[:MOST_HOLDERS]))


def refused(option: Option, lacking: Sequence[DomainFit]) -> Unplaceable:
    """What becomes of a workload none of whose options has quota; ``option`` is the first."""
    wanted = _pods(option.request)
    best = tuple(sorted(lacking, key=lambda fit: (-fit.fits, fit.domain)))
    fits = max((fit.fits for fit in lacking), default=0)
    shortfall = Shortfall(
        group=option.request.root.name,
        level=LEVEL,
        wanted=wanted,
        fits=fits,
        best=best,
        excluded=(),
        relaxations=(),
    )
    return Unplaceable(option.request.name, (shortfall,))


def _pods(request: Request) -> int:
    return sum(pods.count for pods in request.root.pod_sets())
