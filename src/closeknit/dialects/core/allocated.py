"""Devices that claims have got: who holds them, and what is left on a node.

The devices of a claim are held by the first of its pods that runs where they are, so that they are free when
that pod goes. Devices of a claim that no running pod uses are not offered by their node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.dialects.core.counting import Counted, counted
from closeknit.dialects.core.devices import FOR_EXTENDED_RESOURCE, GROUP, Id, devices_of
from closeknit.dialects.core.taken_devices import BY_POOL, pools_on, taken_by
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.resources import Resources


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
            for name, amount in others.items():
                own[name] += amount * listed[resource]
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
    held = Counter[str]()
    for each in taken_by(claim.content):
        if each[:2] == pool and each in every and every[each].node == node:
            held.update(counts.weights.get(each, {}))
    for name in counts.standing_for if made else ():
        # Who asks for a resource holds it by itself, beside the claim that is made for it.
        held.pop(name, None)
    return held


def as_resources(view: View, devices: Iterable[Id]) -> Resources:
    """Devices as the resources that they count as."""
    weights, found = view.derive(counted).weights, Counter[str]()
    for each in devices:
        found.update(weights.get(each, {}))
    return Resources(found)
