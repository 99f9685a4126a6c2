"""Devices that claims have got: who holds them, and what is left on a node.

The devices of a claim are held by the first of its pods that runs where they are, so that they are free when
that pod goes. Devices of a claim that no running pod uses are not offered by their node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.dialects.core.devices import FOR_EXTENDED_RESOURCE, GROUP, Counted, Id, counted, devices_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.resources import Resources

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


def holder_of(view: View, claim: Key) -> Key | None:
    """The pod that holds the devices of a claim; None where none runs that does."""
    stored = view.get(claim)
    if stored is None:
        return None
    every = view.derive(devices_of)
    nodes = {every[each].node for each in taken_by(stored.content) if each in every}
    for each in stored.content.status.reserved_for if len(nodes) == 1 else ():
        key = Key("", "Pod", claim.namespace, each.name)
        pod = view.get(key) if each.resource == "pods" else None
        if (
            pod is not None
            and pod.content.metadata.uid == each.uid
            and pod.content.spec.node_name in nodes
            and pod.content.status.phase not in ("Succeeded", "Failed")
        ):
            return key
    return None


def devices_beside(view: View, node: str, listed: Resources) -> Resources:
    """The devices of a node that running pods hold or nobody has, as resources beside those that it lists."""
    counts = view.derive(counted)
    own = Counter(counts.offers.get(node, {}))
    for pool in view.derive(pools_on).get(node, ()) if own else ():
        for claim in view.found(BY_POOL, pool):
            if view.derive(holder_of, claim.key) is None:
                own.subtract(_counted_as(view, counts, claim, node, pool))
    for resource, others in counts.standing_in.items():
        if listed.get(resource):
            # Where a node lists the resource, its devices do not stand for it.
            own.pop(resource, None)
            for name in others:
                own[name] += listed[resource]
    return Resources({name: amount for name, amount in own.items() if amount > 0})


def held_devices(view: View, pod: Key, names: Iterator[str], node: str) -> Counter[str]:
    """The devices that a pod on a node holds by claims of these names, as resources."""
    counts, held = view.derive(counted), Counter[str]()
    for name in names:
        claim = view.get(Key(GROUP, "ResourceClaim", pod.namespace, name))
        if claim is not None and view.derive(holder_of, claim.key) == pod:
            for pool in view.values(BY_POOL, claim.key):
                held.update(_counted_as(view, counts, claim, node, pool))
    return held


def _counted_as(
    view: View, counts: Counted, claim: Stored[wire.ResourceClaim], node: str, pool: tuple[str, str]
) -> Counter[str]:
    """What a claim has got of a pool on a node, as resources."""
    every = view.derive(devices_of)
    made = claim.content.metadata.annotations.get(FOR_EXTENDED_RESOURCE) == "true"
    return Counter(
        name
        for each in taken_by(claim.content)
        if each[:2] == pool and each in every and every[each].node == node
        for name in counts.names.get(each, ())
        # Who asks for a resource holds it by itself, beside the claim that is made for it.
        if not (made and name in counts.standing_for)
    )


def as_resources(view: View, devices: Iterable[Id]) -> Resources:
    """Devices as the resources that they count as."""
    names = view.derive(counted).names
    return Resources(Counter(name for each in devices for name in names.get(each, ())))
