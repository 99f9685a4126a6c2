"""nvidia.com/v1beta1: DynamoGraphDeployment, whose services are called components."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.meta_v1 import ObjectWithStatus
from closeknit.apis.nvidia_com_v1alpha1 import (
    Multinode,
    PodMetadata,
    ProviderOverride,
    ServiceTopologyConstraint,
)
from closeknit.apis.wire import Int32, Wire, words


class DeploymentTopologyConstraint(Wire, frozen=True, kw_only=True):
    """How close together the whole deployment must be, and by which topology."""

    cluster_topology_name: str = ""
    pack_domain: str = ""


class PodTemplate(Wire, frozen=True, kw_only=True):
    """What a component's pods are; kept as it was written, because pods are made of it."""

    metadata: PodMetadata = PodMetadata()
    spec: dict[str, object] | None = None


class GpuMemoryService(Wire, frozen=True, kw_only=True):
    """By whom GPUs are shared: the containers of a pod, or several pods."""

    unused: ClassVar = frozenset({"deviceClassName", "extraClientContainers", "extraClientPods"})

    mode: str = "IntraPod"


class Grove(Wire, frozen=True, kw_only=True):
    """How a component is written for Grove."""

    force_scaling_group: bool = False


class Experimental(Wire, frozen=True, kw_only=True):
    """What may still change."""

    unused: ClassVar = frozenset({"checkpoint", "failover"})

    gpu_memory_service: GpuMemoryService | None = None
    grove: Grove = Grove()


class Component(Wire, frozen=True, kw_only=True):
    """One part of a deployment."""

    unused: ClassVar = words("""
        compilationCache eppConfig frontendSidecar globalDynamoNamespace modelRef runtimeVersionOverride
        scalingAdapter sharedMemorySize type
    """)

    name: str
    replicas: Int32 | None = None
    min_available: Int32 | None = None
    multinode: Multinode | None = None
    topology_constraint: ServiceTopologyConstraint | None = None
    provider_override: ProviderOverride | None = None
    pod_template: PodTemplate | None = None
    experimental: Experimental = Experimental()


class DynamoGraphDeploymentSpec(Wire, frozen=True, kw_only=True):
    """The components."""

    unused: ClassVar = frozenset({"backendFramework", "env", "experimental", "restart"})

    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    priority_class_name: str = ""
    provider_override: ProviderOverride | None = None
    topology_constraint: DeploymentTopologyConstraint | None = None
    components: tuple[Component, ...] = ()


class DynamoGraphDeployment(ObjectWithStatus, frozen=True, kw_only=True):
    """Components that together serve a model."""

    spec: DynamoGraphDeploymentSpec = DynamoGraphDeploymentSpec()
