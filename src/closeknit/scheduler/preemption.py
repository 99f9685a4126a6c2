"""Which running units to displace so that another one fits: whole gangs only, as few as possible.

A set of units is displaced only where the engine's fork shows that the unit then fits inside its topology,
and where quotas allow it. Of all such sets one of the fewest units is taken, and of those the one whose units
have done the least work. That is exact as far as the number of trials allows, which ``Displacement.fewest``
tells; beyond it, the set is one of which nobody could stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Placed
from closeknit.hub.topology import DomainPath
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.deciding import Verdict, decide
from closeknit.scheduler.displaceable import Running, displaceable_from, may_displace
from closeknit.scheduler.reservation import Reservation, keeping

if TYPE_CHECKING:
    from closeknit.engine import Engine

__all__ = ["Displacement", "Running", "displacement"]

TRIALS = 400
"""How many sets are tried at most, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Displacement:
    """Who has to go, and where the unit fits then."""

    verdict: Verdict
    """What becomes of the unit once they have gone; always placed."""
    victims: tuple[Running, ...]
    """By name."""
    fewest: bool
    """Whether no smaller set would do, and no other of this size would lose less work."""
    trials: int
    """How many sets were tried on the engine."""


def displacement(
    engine: Engine,
    cluster: Cluster,
    workload: PlaceableWorkload,
    running: Sequence[Running],
    *,
    accounts: Accounts,
    now: float,
    kept: Sequence[Reservation] = (),
    trials: int = TRIALS,
) -> Displacement | None:
    """The units to displace for a workload that does not fit; None where displacing helps nothing.

    Nothing is applied. The engine holds what runs, and the accounts are charged for it. Places that are
    ``kept`` for those who go before the workload are not for it, whoever leaves them.
    """
    search = _Search(engine, cluster, workload, accounts, now, kept, trials)
    victims = [each for each in running if displaceable_from(workload, each.workload, each.since) <= now]
    if search.verdict(victims) is None:
        return None
    victims = search.useful(victims)
    best = search.fewest(victims)
    fewest = best is not None
    if best is None:
        best = search.few(victims)
    verdict = search.verdict(best) if best is not None else None
    if best is None or verdict is None:
        return None
    chosen = tuple(sorted(best, key=lambda each: each.holder))
    return Displacement(verdict, chosen, fewest, search.tried)


@dataclass
class _Search:
    engine: Engine
    cluster: Cluster
    workload: PlaceableWorkload
    accounts: Accounts
    now: float
    kept: Sequence[Reservation]
    limit: int
    tried: int = 0

    def verdict(self, victims: Sequence[Running]) -> Verdict | None:
        """What becomes of the workload without these; None where it does not fit."""
        self.tried += 1
        books = self.accounts.copy()
        with self.engine.fork():
            for each in victims:
                self.engine.release(each.holder)
                books.forget(each.holder)
            with keeping(self.engine, self.kept):
                verdict = decide(self.engine, self.cluster, self.workload, books, explained=False)
        return verdict if isinstance(verdict.outcome, Placed) else None

    def enough(self, victims: Sequence[Running]) -> bool:
        """Whether these may go, and the workload then fits."""
        return may_displace(self.workload, victims, self.accounts) and self.verdict(victims) is not None

    def useful(self, victims: Sequence[Running]) -> list[Running]:
        """Without those on whose nodes no pod of the workload fits even when all have gone.

        A unit that is charged to an account of the workload is useful wherever it runs.
        """
        request = self.workload.request
        sets = list(request.root.pod_sets())
        charged = {each.name for account in self.workload.accounts for each in account.around[:-1]}
        with self.engine.fork():
            for each in victims:
                self.engine.release(each.holder)
            return [
                each
                for each in victims
                if any(account.name in charged for account in each.workload.accounts)
                or any(self.engine.fits(pods, node) for node in each.nodes for pods in sets)
            ]

    def fewest(self, victims: Sequence[Running]) -> Sequence[Running] | None:
        """The best set, if it is found by trying all sets up to its size in half of the trials."""
        for size in range(len(victims) + 1):
            if self.tried + comb(len(victims), size) > self.limit // 2:
                return None
            for some in sorted(combinations(victims, size), key=self._order):
                if self.enough(some):
                    return some
        return None

    def few(self, victims: Sequence[Running]) -> Sequence[Running] | None:
        """A set that is enough and of which nobody can stay: domain by domain, the best that is found."""
        best: list[Running] | None = None
        for around in self._neighbourhoods(victims):
            if best is not None and self.tried >= self.limit:
                break
            going = self._allowed(around)
            if self.verdict(going) is None:
                continue
            # To keep the small ones leaves few large ones to go; of equals the one with most work stays.
            for each in sorted(going, key=lambda one: (len(one.nodes), -one.lost(self.now), one.holder)):
                rest = [other for other in going if other is not each]
                if self.tried < self.limit and self.enough(rest):
                    going = rest
            if best is None or self._order(going) < self._order(best):
                best = going
        return best

    def _allowed(self, victims: Sequence[Running]) -> list[Running]:
        """As many of these as quotas let go together, large ones first."""
        going: list[Running] = []
        for each in sorted(victims, key=lambda one: (-len(one.nodes), one.lost(self.now), one.holder)):
            if may_displace(self.workload, [*going, each], self.accounts):
                going.append(each)
        return going

    def _order(self, victims: Sequence[Running]) -> tuple[int, float, list[str]]:
        """Fewer units, then less work lost, then by name."""
        return (
            len(victims),
            sum(each.lost(self.now) for each in victims),
            sorted(each.holder for each in victims),
        )

    def _neighbourhoods(self, victims: Sequence[Running]) -> Iterator[Sequence[Running]]:
        """Who is in one domain of the level that the workload requires, fewest first; last, everybody."""
        request = self.workload.request
        topology = self.cluster.topology_of(request)
        level = topology.index(request.root.required) if topology and request.root.required else None
        if level is not None:
            domains: dict[DomainPath, dict[str, Running]] = {}
            for each in victims:
                for node in sorted(each.nodes):
                    path = self.engine.path(node, request.topology)[: level + 1]
                    domains.setdefault(path, {})[each.holder] = each
            yield from sorted((list(some.values()) for some in domains.values()), key=self._order)
        yield victims
