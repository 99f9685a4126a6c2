"""Who holds what on a few nodes, without looking at every holding of the cluster."""

from __future__ import annotations

import heapq

from closeknit.engine.ledger import PODS, Ledger, port_resource
from closeknit.engine.tree import Ints
from closeknit.hub.cluster import Holding
from closeknit.hub.outcome import Holder

_MOST_NODES = 4096
"""Domains with more nodes are not asked for their holders."""


def largest_holders(
    ledger: Ledger, slots: Ints, resource: str, *, number: int, besides: str
) -> tuple[Holder, ...]:
    """The workloads that hold the most of a resource on these slots, the largest first, then by name.

    None are told for more slots than can be asked in short time.
    """
    if len(slots) > _MOST_NODES:
        return ()
    totals: dict[str, tuple[int, int]] = {}
    for slot in slots.tolist():
        for workload in ledger.holdings.on(slot):
            pods, amount = totals.get(workload, (0, 0))
            for holding in ledger.holdings.there(workload, slot):
                if units := _units(holding, resource):
                    pods += holding.pods
                    amount += units * holding.pods
            totals[workload] = pods, amount
    found = [Holder(workload, *held) for workload, held in totals.items() if held[1] and workload != besides]
    return tuple(heapq.nsmallest(number, found, key=lambda holder: (-holder.amount, holder.workload)))


def _units(holding: Holding, resource: str) -> int:
    """Units of a resource that each pod of a holding takes."""
    if resource == PODS or any(port_resource(port) == resource for port in holding.host_ports):
        return 1
    return holding.resources.get(resource, 0)
