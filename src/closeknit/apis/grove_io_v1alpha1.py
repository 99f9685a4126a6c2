"""grove.io/v1alpha1: cluster topologies under both their names, PodCliqueSet and what is made of it."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.meta_v1 import ObjectWithStatus
from closeknit.apis.wire import Int32, Wire


class TopologyLevel(Wire, frozen=True, kw_only=True):
    """A domain such as ``rack``, and the node label that tells one rack from another."""

    domain: str
    key: str


class ClusterTopologySpec(Wire, frozen=True, kw_only=True):
    """The levels, coarsest first."""

    levels: tuple[TopologyLevel, ...]


class ClusterTopology(ObjectWithStatus, frozen=True, kw_only=True):
    """How nodes are laid out, as Grove called it up to v0.1.0-alpha.8."""

    spec: ClusterTopologySpec


class SchedulerTopologyBinding(Wire, frozen=True, kw_only=True):
    """The topology of a scheduler that says the same, where somebody else looks after it."""

    scheduler_name: str
    topology_reference: str


class ClusterTopologyBindingSpec(Wire, frozen=True, kw_only=True):
    """The levels, coarsest first, and the schedulers that know them under another name."""

    levels: tuple[TopologyLevel, ...]
    scheduler_topology_bindings: tuple[SchedulerTopologyBinding, ...] = ()


class ClusterTopologyBinding(ObjectWithStatus, frozen=True, kw_only=True):
    """How nodes are laid out, as Grove calls it today."""

    spec: ClusterTopologyBindingSpec


class TopologyPackConstraint(Wire, frozen=True, kw_only=True):
    """The domains within which pods must and should be packed."""

    required: str = ""
    preferred: str = ""


class TopologyConstraint(Wire, frozen=True, kw_only=True):
    """How close together pods must be. ``pack_domain`` is the earlier spelling of ``pack.required``."""

    topology_name: str = ""
    pack: TopologyPackConstraint | None = None
    pack_domain: str = ""


class AutoScalingConfig(Wire, frozen=True, kw_only=True):
    """Between which numbers of replicas an autoscaler may choose."""

    unused: ClassVar = frozenset({"metrics"})

    min_replicas: Int32 | None = None
    max_replicas: Int32


class PodCliqueSpec(Wire, frozen=True, kw_only=True):
    """Equal pods. The pod's own specification is kept as it was written, because pods are made of it."""

    role_name: str = ""
    pod_spec: dict[str, object] | None = None
    replicas: Int32 | None = None
    min_available: Int32 | None = None
    starts_after: tuple[str, ...] = ()
    auto_scaling_config: AutoScalingConfig | None = None


class PodCliqueTemplate(Wire, frozen=True, kw_only=True):
    """A clique as a PodCliqueSet describes it."""

    unused: ClassVar = frozenset({"resourceSharing"})

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    topology_constraint: TopologyConstraint | None = None
    spec: PodCliqueSpec


class PodCliqueScalingGroupConfig(Wire, frozen=True, kw_only=True):
    """Cliques that are repeated together."""

    unused: ClassVar = frozenset({"resourceSharing"})

    name: str
    annotations: dict[str, str] = {}
    clique_names: tuple[str, ...]
    replicas: Int32 | None = None
    min_available: Int32 | None = None
    scale_config: AutoScalingConfig | None = None
    topology_constraint: TopologyConstraint | None = None


class PodCliqueSetTemplate(Wire, frozen=True, kw_only=True):
    """What each replica of a PodCliqueSet is made of."""

    unused: ClassVar = frozenset({"headlessServiceConfig", "resourceClaimTemplates", "resourceSharing"})

    cliques: tuple[PodCliqueTemplate, ...]
    pod_clique_scaling_groups: tuple[PodCliqueScalingGroupConfig, ...] = ()
    clique_startup_type: str = ""
    priority_class_name: str = ""
    termination_delay: str = ""
    topology_constraint: TopologyConstraint | None = None


class PodCliqueSetSpec(Wire, frozen=True, kw_only=True):
    """How many replicas there are, and of what."""

    unused: ClassVar = frozenset({"updateStrategy"})

    replicas: Int32 = 0
    template: PodCliqueSetTemplate


class PodCliqueSet(ObjectWithStatus, frozen=True, kw_only=True):
    """Cliques of pods that make up one service, in as many replicas as wanted."""

    spec: PodCliqueSetSpec


class PodClique(ObjectWithStatus, frozen=True, kw_only=True):
    """Equal pods of one replica of a PodCliqueSet."""

    spec: PodCliqueSpec


class PodCliqueScalingGroupSpec(Wire, frozen=True, kw_only=True):
    """How often which cliques are repeated."""

    replicas: Int32 = 1
    min_available: Int32 = 1
    clique_names: tuple[str, ...]


class PodCliqueScalingGroup(ObjectWithStatus, frozen=True, kw_only=True):
    """Cliques of one replica of a PodCliqueSet that are repeated together."""

    spec: PodCliqueScalingGroupSpec
