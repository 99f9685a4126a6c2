"""scheduler.grove.io/v1alpha1: PodGang, what Grove hands to a scheduler."""

from __future__ import annotations

from closeknit.apis.meta_v1 import ObjectWithStatus
from closeknit.apis.wire import Int32, Wire


class TopologyPackConstraint(Wire, frozen=True, kw_only=True):
    """The levels within which pods must and should be packed, by node label."""

    required: str = ""
    preferred: str = ""


class TopologyConstraint(Wire, frozen=True, kw_only=True):
    """How close together pods must be."""

    pack_constraint: TopologyPackConstraint | None = None


class NamespacedName(Wire, frozen=True, kw_only=True):
    """Which object of a known kind is meant."""

    namespace: str
    name: str


class PodGroup(Wire, frozen=True, kw_only=True):
    """Equal pods of a gang: those of one PodClique."""

    name: str
    pod_references: tuple[NamespacedName, ...] = ()
    min_replicas: Int32
    topology_constraint: TopologyConstraint | None = None


class TopologyConstraintGroupConfig(Wire, frozen=True, kw_only=True):
    """A constraint on some of the pod groups together."""

    name: str
    pod_group_names: tuple[str, ...]
    topology_constraint: TopologyConstraint | None = None


class PodGangSpec(Wire, frozen=True, kw_only=True):
    """What is scheduled together; the wire spells the list of groups in lower case."""

    podgroups: tuple[PodGroup, ...]
    topology_constraint: TopologyConstraint | None = None
    topology_constraint_group_configs: tuple[TopologyConstraintGroupConfig, ...] = ()
    priority_class_name: str = ""
    reuse_reservation_ref: NamespacedName | None = None


class PodGang(ObjectWithStatus, frozen=True, kw_only=True):
    """Pods that are scheduled together or not at all."""

    spec: PodGangSpec
