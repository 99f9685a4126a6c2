"""operator.config.dynamo.nvidia.com/v1alpha1: the Dynamo operator's settings about topology."""

from __future__ import annotations

from closeknit.apis.meta_v1 import KubernetesObject, ObjectMeta
from closeknit.apis.wire import OpenWire


class TopologyAwareScheduling(OpenWire, frozen=True, kw_only=True):
    """Which node labels the domains stand for, where no topology of Grove says so."""

    domain_to_label_mapping: dict[str, str] = {}


class Operator(OpenWire, frozen=True, kw_only=True):
    """Settings of the operator."""

    topology_aware_scheduling: TopologyAwareScheduling = TopologyAwareScheduling()


class OperatorSettings(OpenWire, frozen=True, kw_only=True):
    """A file of settings, as it is given when the operator is installed."""

    operator: Operator = Operator()


class OperatorConfiguration(KubernetesObject, frozen=True, kw_only=True):
    """The settings as an object. They are usually a file that says neither kind nor name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: OperatorSettings = OperatorSettings()
