"""What nodes offer and what pods hold there, devices and volumes included."""

from __future__ import annotations

from closeknit.apis import core_v1
from closeknit.dialects.core.allocated import devices_beside, held_devices
from closeknit.dialects.core.claims import Claimed
from closeknit.dialects.core.free_volumes import volumes_beside
from closeknit.dialects.core.namespaces import by_name
from closeknit.dialects.core.node_filters import hub_node
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.core.volumes import add_volume, attachable
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.nodes import Node
from closeknit.hub.problems import Problem
from closeknit.hub.resources import Resources


def node_of(view: View, key: Key) -> Node | None:
    """A node with all that it offers: what it lists itself, devices, and volumes that can be attached."""
    stored = view.get(key)
    return read_node(view, stored, []) if stored is not None else None


def read_node(view: View, stored: Stored[core_v1.Node], found: list[Problem]) -> Node:
    """The same; what cannot be read of it is added to ``found``."""
    node = hub_node(stored.content, found)
    volumes = attachable(view, node.name) | volumes_beside(view, node.name)
    more = devices_beside(view, node.name, node.allocatable) + Resources(volumes)
    return replace(node, allocatable=node.allocatable + more) if more else node


def held_for(view: View, pod: ReadPod, workload: str) -> Holding:
    """What a pod holds on its node for a workload, and what its rules mean to others."""
    held = pod.holding(workload)
    return replace(held, resources=held_by(view, pod), neighbour=by_name(view, held.neighbour)[0])


def held_by(view: View, pod: ReadPod) -> Resources:
    """What a pod holds on its node: what it asks for, the devices of its claims, and its volumes."""
    if not pod.shape.claims:
        return pod.shape.resources
    claimed = Claimed()
    for each in pod.shape.claims:
        if each.kind == "PersistentVolumeClaim":
            add_volume(view, pod.stored.namespace, each, claimed)
    names = (each.name for each in pod.shape.claims if each.kind == "ResourceClaim")
    devices = held_devices(view, pod.stored.key, names, pod.node)
    return pod.shape.resources + Resources(claimed.amounts) + Resources(devices)
