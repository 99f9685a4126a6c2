"""operator.config.grove.io/v1alpha1: the configuration file of Grove's operator."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.grove_io_v1alpha1 import TopologyLevel
from closeknit.apis.meta_v1 import KubernetesObject, ObjectMeta
from closeknit.apis.wire import OpenWire, Wire


class TopologyAwareSchedulingConfiguration(Wire, frozen=True, kw_only=True):
    """Whether constraints are enforced, and up to v0.1.0-alpha.8 the levels of the only topology."""

    enabled: bool = False
    levels: tuple[TopologyLevel, ...] | None = None


class SchedulerProfile(OpenWire, frozen=True, kw_only=True):
    """A scheduler that sets may name."""

    name: str = ""


class SchedulerConfiguration(OpenWire, frozen=True, kw_only=True):
    """The schedulers that are enabled, and the one that is meant where a set names none."""

    profiles: tuple[SchedulerProfile, ...] = ()
    default_profile_name: str = ""


class OperatorConfiguration(KubernetesObject, frozen=True, kw_only=True):
    """A file with a kind. It has no name, and ``metadata`` is there for those who write it all the same."""

    open_ended: ClassVar = True

    metadata: ObjectMeta = ObjectMeta()
    topology_aware_scheduling: TopologyAwareSchedulingConfiguration = TopologyAwareSchedulingConfiguration()
    scheduler: SchedulerConfiguration = SchedulerConfiguration()
