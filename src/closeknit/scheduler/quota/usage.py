"""What every queue uses: the requests of the pods of its units, at all times.

A pod is charged to the queue of its unit from the moment it has a node or is assumed to have one, until it
ends (``Succeeded``, ``Failed``), is deleted, or its deletion or eviction is accepted. A pod that is being
deleted still holds the capacity of its node, and no quota.

Usage follows pods and not what a unit was compiled to: a unit whose pods are incomplete, invalid, being bound
or partly deleted is charged for exactly the pods that run. A unit only determines to which accounts its pods
are charged.

| what happens | call | effect |
|---|---|---|
| a pod is assumed, bound, evicted, deleted or ends | ``set_pod`` | charged or released |
| its requests or its unit change | ``set_pod`` | charged for what it is now |
| a unit appears, disappears, or names another queue | ``set_unit`` | all of its pods are charged there |
| it becomes preemptible or not; its queue moves | ``set_unit`` | the same |

Pods of units without a queue cost two look-ups and are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.quota import Account
from closeknit.hub.resources import Resources
from closeknit.scheduler.changes import QuotaChanged
from closeknit.scheduler.metering import counted


@dataclass(slots=True)
class _Unit:
    """A unit that has a queue."""

    accounts: tuple[Account, ...]
    """A pod is charged to each of them."""
    pods: dict[Key, None] = field(default_factory=dict)


class Usage:
    """The accounts of all queues, charged for the pods that use them."""

    def __init__(self) -> None:
        self.accounts = Accounts()
        """Charged per unit, under the name of its request."""
        self._units: dict[str, _Unit] = {}
        self._charged: dict[Key, tuple[str, Resources]] = {}
        """By pod, its unit and its requests."""
        self._released: dict[tuple[str, ...], None] = {}

    def set_pod(self, pod: Key, holding: Holding | None) -> None:
        """What a pod uses now, on behalf of which unit; None if it uses no quota."""
        before = self._charged.get(pod)
        unit = self._units.get(holding.workload) if holding is not None else None
        after = (holding.workload, holding.resources) if holding is not None and unit is not None else None
        if before == after:
            return
        if before is not None:
            del self._charged[pod]
            unit_before = self._units[before[0]]
            del unit_before.pods[pod]
            self._change(*before, unit_before.accounts, -1)
        if after is not None and unit is not None:
            self._charged[pod] = after
            unit.pods[pod] = None
            self._change(*after, unit.accounts, 1)

    def set_unit(self, name: str, accounts: tuple[Account, ...], pods: Iterable[tuple[Key, Holding]]) -> None:
        """The accounts of a unit, none if it is gone or has no queue.

        ``pods`` use quota, maybe on behalf of other units. They are read only if the unit had no accounts
        before; afterwards, ``set_pod`` keeps them.
        """
        unit = self._units.get(name)
        if accounts and (unit is None or unit.accounts != accounts):
            # Only here: a unit whose pods are being bound keeps its accounts until these are bound, and its
            # pods must not move a queue back to the parent that it had before.
            for account in accounts:
                self.accounts.link(account)
        if unit is None:
            if accounts:
                self._units[name] = _Unit(accounts)
                for pod, holding in pods:
                    self.set_pod(pod, holding)
            return
        if unit.accounts == accounts:
            return
        for pod in unit.pods:
            self._change(*self._charged[pod], unit.accounts, -1)
            self._change(*self._charged[pod], accounts, 1)
        unit.accounts = accounts
        if not accounts:
            for pod in unit.pods:
                del self._charged[pod]
            del self._units[name]

    @contextmanager
    def without(self, pods: Iterable[Key]) -> Iterator[None]:
        """Decide as if these pods used nothing; no change is reported."""
        suspended = [self._charged[pod] for pod in pods if pod in self._charged]
        released = dict(self._released)
        for unit, requests in suspended:
            self._change(unit, requests, self._units[unit].accounts, -1)
        self._released = released
        try:
            yield
        finally:
            for unit, requests in suspended:
                self._change(unit, requests, self._units[unit].accounts, 1)

    def changes(self) -> list[QuotaChanged]:
        """What was given back since the last call."""
        released, self._released = self._released, {}
        return [QuotaChanged(frozenset(released))] if released else []

    def _change(self, unit: str, requests: Resources, accounts: Sequence[Account], pods: int) -> None:
        for account in accounts:
            self.accounts.change(unit, account, pods, _amount(requests, counted(account), pods))
            if pods < 0:
                self._released.update(dict.fromkeys(around.name for around in account.around))


@lru_cache(maxsize=4096)
def _amount(requests: Resources, names: frozenset[str], pods: int) -> Resources:
    """What an account counts; most pods of a cluster request one of a few amounts."""
    return Resources({name: units for name, units in requests.items() if name in names}) * pods
