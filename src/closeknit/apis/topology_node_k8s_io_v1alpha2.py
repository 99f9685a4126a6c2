"""topology.node.k8s.io/v1alpha2: NodeResourceTopology, what each NUMA zone of a node has."""

from __future__ import annotations

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import OpenWire, Quantity

NUMA = "Node"
"""The type of a zone that is a NUMA node."""


class ZoneResource(OpenWire, frozen=True, kw_only=True):
    """What a zone has of a resource."""

    name: str
    allocatable: Quantity = 0
    available: Quantity | None = None
    """What is left of it by what runs now; None where nobody keeps count."""


class Zone(OpenWire, frozen=True, kw_only=True):
    """A part of a node."""

    name: str
    type: str = NUMA
    resources: tuple[ZoneResource, ...] = ()


class NodeResourceTopology(KubernetesObject, frozen=True, kw_only=True):
    """The zones of the node that has the same name."""

    zones: tuple[Zone, ...] = ()
