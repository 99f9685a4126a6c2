"""nvidia.com/v1alpha1: DynamoGraphDeployment, with its services as a mapping or as a list."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.meta_v1 import ObjectWithStatus
from closeknit.apis.wire import Int32, Quantity, Wire, words


class ProviderOverride(Wire, frozen=True, kw_only=True):
    """Fields of the objects that are made, where they say more than a deployment can."""

    api_version: str = ""
    target: str = ""
    value: dict[str, object] = {}


class DeploymentTopologyConstraint(Wire, frozen=True, kw_only=True):
    """How close together the whole deployment must be, and by which topology."""

    topology_profile: str = ""
    pack_domain: str = ""


class ServiceTopologyConstraint(Wire, frozen=True, kw_only=True):
    """How close together a service must be."""

    pack_domain: str = ""


class Role(Wire, frozen=True, kw_only=True):
    """The leader of a service that runs on several nodes, or its workers."""

    provider_override: ProviderOverride | None = None


class Multinode(Wire, frozen=True, kw_only=True):
    """On how many nodes each replica of a service runs."""

    node_count: Int32 = 2
    leader: Role = Role()
    worker: Role = Role()


class ResourceItem(Wire, frozen=True, kw_only=True):
    """Amounts, in Dynamo's own words for them."""

    cpu: Quantity | None = None
    memory: Quantity | None = None
    gpu: Quantity | None = None
    gpu_type: str = ""
    custom: dict[str, Quantity] = {}


class Resources(Wire, frozen=True, kw_only=True):
    """What a service's main container asks for, and what it may use at most."""

    unused: ClassVar = frozenset({"claims"})

    requests: ResourceItem = ResourceItem()
    limits: ResourceItem = ResourceItem()


class PodMetadata(Wire, frozen=True, kw_only=True):
    """Labels and annotations of pods."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class GpuMemoryService(Wire, frozen=True, kw_only=True):
    """Whether GPUs are shared, by the containers of a pod or by several pods."""

    unused: ClassVar = frozenset({"deviceClassName", "extraClientContainers", "extraClientPods"})

    enabled: bool = False
    mode: str = "intraPod"


class Service(Wire, frozen=True, kw_only=True):
    """One part of a deployment. ``name`` stands here only where services are a list."""

    unused: ClassVar = words("""
        autoscaling checkpoint componentType dynamoNamespace envFromSecret envs eppConfig failover
        frontendSidecar globalDynamoNamespace ingress livenessProbe modelRef readinessProbe
        runtimeVersionOverride scalingAdapter serviceName sharedMemory subComponentType volumeMounts
    """)

    name: str = ""
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    replicas: Int32 | None = None
    min_available: Int32 | None = None
    multinode: Multinode | None = None
    topology_constraint: ServiceTopologyConstraint | None = None
    provider_override: ProviderOverride | None = None
    resources: Resources | None = None
    gpu_memory_service: GpuMemoryService | None = None
    extra_pod_metadata: PodMetadata = PodMetadata()
    extra_pod_spec: dict[str, object] | None = None


class DynamoGraphDeploymentSpec(Wire, frozen=True, kw_only=True):
    """The services; their shape is checked one by one, because there are two ways to list them."""

    unused: ClassVar = frozenset({"backendFramework", "envs", "experimental", "pvcs", "restart"})

    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    priority_class_name: str = ""
    provider_override: ProviderOverride | None = None
    topology_constraint: DeploymentTopologyConstraint | None = None
    services: object = None


class DynamoGraphDeployment(ObjectWithStatus, frozen=True, kw_only=True):
    """Services that together serve a model."""

    spec: DynamoGraphDeploymentSpec = DynamoGraphDeploymentSpec()
