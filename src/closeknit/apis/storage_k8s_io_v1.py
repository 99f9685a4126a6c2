"""storage.k8s.io/v1: where volumes can be made, and how many a node takes."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Int32, OpenWire


class TopologyLabel(OpenWire, frozen=True, kw_only=True):
    """A label that a node must have, with one of these values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologyTerm(OpenWire, frozen=True, kw_only=True):
    """Labels that a node must all have."""

    match_label_expressions: tuple[TopologyLabel, ...] = ()


class StorageClass(KubernetesObject, frozen=True, kw_only=True):
    """How volumes of a class are made."""

    open_ended: ClassVar = True

    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class VolumeCount(OpenWire, frozen=True, kw_only=True):
    """How many volumes a driver attaches to a node; None for any number."""

    count: Int32 | None = None


class CsiNodeDriver(OpenWire, frozen=True, kw_only=True):
    """A driver on a node."""

    name: str = ""
    allocatable: VolumeCount = VolumeCount()


class CsiNodeSpec(OpenWire, frozen=True, kw_only=True):
    """The drivers of a node."""

    drivers: tuple[CsiNodeDriver, ...] = ()


class CsiNode(KubernetesObject, frozen=True, kw_only=True):
    """What the drivers of volumes say of a node, whose name it has."""

    spec: CsiNodeSpec = CsiNodeSpec()
