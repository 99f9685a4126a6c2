"""Which devices claims have got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.dialects.core.devices import Id, devices_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View

BY_POOL = "claim-by-pool"
"""The index that finds claims by the pools of the devices that they have got."""


def claims_by_pool() -> Index:
    """Finds claims by driver and pool of the devices that they have got."""

    def pools(claim: Stored[wire.ResourceClaim]) -> Iterator[tuple[str, str]]:
        yield from dict.fromkeys((driver, pool) for driver, pool, _ in taken_by(claim.content))

    return Index(BY_POOL, wire.ResourceClaim, pools)


def taken_by(claim: wire.ResourceClaim) -> Iterator[Id]:
    """The devices that a claim has got for itself alone."""
    allocation = claim.status.allocation
    for each in allocation.devices.results if allocation is not None else ():
        if not each.admin_access:
            yield each.driver, each.pool, each.device


def pools_on(view: View) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """By node, the pools that have devices there."""
    pools: dict[str, dict[tuple[str, str], None]] = {}
    for (driver, pool, _), offered in view.derive(devices_of).items():
        pools.setdefault(offered.node, {})[driver, pool] = None
    return {node: tuple(found) for node, found in pools.items()}


def taken_on(view: View, node: str) -> frozenset[Id]:
    """The devices of a node that claims have got."""
    every = view.derive(devices_of)
    return frozenset(
        each
        for pool in view.derive(pools_on).get(node, ())
        for claim in view.found(BY_POOL, pool)
        for each in taken_by(claim.content)
        if each in every and every[each].node == node
    )
