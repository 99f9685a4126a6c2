"""Who holds what on a few nodes, without looking at every holding of the cluster."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from closeknit.engine.ledger import PODS, Ledger, port_resource
from closeknit.engine.tree import Ints
from closeknit.hub.cluster import Holding
from closeknit.hub.outcome import Holder

_MOST_NODES = 4096
"""Domains with more nodes are not asked for their holders."""
_MANY = 2048
"""Holdings of one workload above which putting them in order costs more than looking for a few."""


class Holders:
    """What workloads hold, by slot. The ledger must be as it was at the first question."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[str, dict[int, list[Holding]]] = {}

    def held(self, workload: str) -> dict[int, list[Holding]]:
        """All that a workload holds."""
        if workload not in self._known:
            by_slot = self._known[workload] = {}
            for holding in self._ledger.holdings[workload]:
                by_slot.setdefault(self._ledger.slot_of[holding.node], []).append(holding)
        return self._known[workload]

    def largest(self, slots: Ints, resource: str, *, number: int, besides: str) -> tuple[Holder, ...]:
        """The workloads that hold the most of a resource on these slots, the largest first, then by name.

        None are told for more slots than can be asked in short time.
        """
        if len(slots) > _MOST_NODES:
            return ()
        here = slots.tolist()
        holders_on = self._ledger.holders_on
        found: list[Holder] = []
        for workload in sorted({each for slot in here for each in holders_on.get(slot, ())} - {besides}):
            pods = amount = 0
            for holding in self._on(workload, here):
                units = _units(holding, resource)
                if units:
                    pods += holding.pods
                    amount += units * holding.pods
            if amount:
                found.append(Holder(workload, pods, amount))
        return tuple(heapq.nsmallest(number, found, key=lambda holder: (-holder.amount, holder.workload)))

    def _on(self, workload: str, slots: list[int]) -> Iterable[Holding]:
        holdings = self._ledger.holdings[workload]
        if len(holdings) > _MANY:
            names = {node.name for slot in slots if (node := self._ledger.nodes[slot]) is not None}
            return [holding for holding in holdings if holding.node in names]
        held = self.held(workload)
        return [holding for slot in slots if slot in held for holding in held[slot]]


def _units(holding: Holding, resource: str) -> int:
    """Units of a resource that each pod of a holding takes."""
    if resource == PODS or any(port_resource(port) == resource for port in holding.host_ports):
        return 1
    return holding.resources.get(resource, 0)
