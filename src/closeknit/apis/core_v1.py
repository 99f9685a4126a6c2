"""core/v1: Node and Pod."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from closeknit.apis.meta_v1 import KubernetesObject, ObjectMeta
from closeknit.apis.wire import Int32, Int64, OpenWire, Quantity, Wire, words


class Taint(Wire, frozen=True, kw_only=True):
    """A mark on a node that keeps pods away."""

    unused: ClassVar = frozenset({"timeAdded"})

    key: str
    effect: str
    value: str = ""


class NodeSpec(Wire, frozen=True, kw_only=True):
    """What an administrator says of a node."""

    unused: ClassVar = frozenset({"configSource", "externalID", "podCIDR", "podCIDRs", "providerID"})

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeCondition(OpenWire, frozen=True, kw_only=True):
    """What a node's agent says of it."""

    unused: ClassVar = frozenset(
        {"lastHeartbeatTime", "lastTransitionTime", "message", "observedGeneration", "reason"}
    )

    type: str = ""
    status: str = ""


class NodeStatus(OpenWire, frozen=True, kw_only=True):
    """What a node offers, and how it is."""

    unused: ClassVar = words("""
        addresses config daemonEndpoints declaredFeatures features images nodeInfo phase runtimeHandlers
        volumesAttached volumesInUse
    """)

    allocatable: dict[str, Quantity] | None = None
    capacity: dict[str, Quantity] = {}
    conditions: tuple[NodeCondition, ...] = ()


class Node(KubernetesObject, frozen=True, kw_only=True):
    """A machine."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(KubernetesObject, frozen=True, kw_only=True):
    """A namespace, of which nothing but its labels matters."""

    unused: ClassVar = frozenset({"spec", "status"})


class ResourceRequirements(Wire, frozen=True, kw_only=True):
    """What a container asks for, and what it may use at most."""

    unused: ClassVar = frozenset({"claims"})

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class ContainerPort(Wire, frozen=True, kw_only=True):
    """A port of a container, and of its node where ``host_port`` is given."""

    unused: ClassVar = frozenset({"containerPort", "name"})

    host_port: Int32 = 0
    host_ip: str = field(name="hostIP", default="")
    protocol: str = "TCP"


class Container(Wire, frozen=True, kw_only=True):
    """One container of a pod, as far as placing it is concerned."""

    unused: ClassVar = words("""
        args command env envFrom image imagePullPolicy lifecycle livenessProbe readinessProbe
        resizePolicy restartPolicyRules securityContext startupProbe stdin stdinOnce
        terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir
    """)

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class NodeSelectorRequirement(Wire, frozen=True, kw_only=True):
    """One condition on a node's label or field."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Wire, frozen=True, kw_only=True):
    """Conditions that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True, kw_only=True):
    """Terms of which one must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...]


class PreferredSchedulingTerm(Wire, frozen=True, kw_only=True):
    """A term that makes a node more welcome."""

    weight: Int32
    preference: NodeSelectorTerm


class NodeAffinity(Wire, frozen=True, kw_only=True):
    """Which nodes a pod accepts, and which it would rather have."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class LabelSelectorRequirement(Wire, frozen=True, kw_only=True):
    """One condition on a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True, kw_only=True):
    """Objects by their labels; an empty one selects all."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class PodAffinityTerm(Wire, frozen=True, kw_only=True):
    """Pods, and the label of nodes that are one domain."""

    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""


class WeightedPodAffinityTerm(Wire, frozen=True, kw_only=True):
    """A term that is wished for."""

    weight: Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Wire, frozen=True, kw_only=True):
    """Which pods must be near, or away, and which had better be."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Wire, frozen=True, kw_only=True):
    """All that draws a pod to nodes and to other pods, or away from them."""

    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class Toleration(Wire, frozen=True, kw_only=True):
    """Leave to ignore a taint."""

    unused: ClassVar = frozenset({"tolerationSeconds"})

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Wire, frozen=True, kw_only=True):
    """How evenly pods must be spread."""

    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    max_skew: Int32 = 1
    min_domains: Int32 | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    topology_key: str = ""
    when_unsatisfiable: str = ""


class PodSchedulingGate(Wire, frozen=True, kw_only=True):
    """Something that must happen before a pod may be scheduled."""

    name: str = ""


class PersistentVolumeClaimSpec(OpenWire, frozen=True, kw_only=True):
    """What a claim asks of a volume, and which it has got."""

    access_modes: tuple[str, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    volume_name: str = ""
    selector: LabelSelector | None = None


class PersistentVolumeClaim(KubernetesObject, frozen=True, kw_only=True):
    """A volume for the pods that name it."""

    open_ended: ClassVar = True

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class VolumeClaimName(OpenWire, frozen=True, kw_only=True):
    """The claim that a pod's volume comes from."""

    claim_name: str = ""


class VolumeClaimTemplate(OpenWire, frozen=True, kw_only=True):
    """The claim that is made for each pod."""

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolume(OpenWire, frozen=True, kw_only=True):
    """A volume that comes and goes with its pod."""

    volume_claim_template: VolumeClaimTemplate = VolumeClaimTemplate()


class Volume(Wire, frozen=True, kw_only=True):
    """Files of a pod; those that are claimed may be reached from some nodes only."""

    open_ended: ClassVar = True

    name: str = ""
    persistent_volume_claim: VolumeClaimName | None = None
    ephemeral: EphemeralVolume | None = None


class VolumeNodeAffinity(OpenWire, frozen=True, kw_only=True):
    """From which nodes a volume can be reached."""

    required: NodeSelector | None = None


class CsiVolume(OpenWire, frozen=True, kw_only=True):
    """A volume of a driver."""

    driver: str = ""


class PersistentVolumeSpec(OpenWire, frozen=True, kw_only=True):
    """What a volume is like."""

    capacity: dict[str, Quantity] = {}
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    node_affinity: VolumeNodeAffinity = VolumeNodeAffinity()
    claim_ref: dict[str, object] | None = None
    volume_mode: str = "Filesystem"
    csi: CsiVolume | None = None


class PersistentVolumeStatus(OpenWire, frozen=True, kw_only=True):
    """How a volume is doing."""

    phase: str = ""


class PersistentVolume(KubernetesObject, frozen=True, kw_only=True):
    """Files that outlive pods."""

    open_ended: ClassVar = True

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PodResourceClaim(OpenWire, frozen=True, kw_only=True):
    """A claim that a pod names, or a template from which it gets one of its own."""

    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodResourceClaimStatus(OpenWire, frozen=True, kw_only=True):
    """The claim that was made for a pod from a template."""

    name: str = ""
    resource_claim_name: str = ""


class PodSchedulingGroup(Wire, frozen=True, kw_only=True):
    """The group of Kubernetes' own gang API that a pod belongs to."""

    pod_group_name: str = ""


class PodSpec(Wire, frozen=True, kw_only=True):
    """What a pod is made of, as far as placing it is concerned."""

    unused: ClassVar = words("""
        automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks
        ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride
        imagePullSecrets os readinessGates restartPolicy runtimeClassName
        securityContext serviceAccount serviceAccountName setHostnameAsFQDN
        shareProcessNamespace subdomain workloadRef
    """)

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    overhead: dict[str, Quantity] = {}
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    volumes: tuple[Volume, ...] = ()
    scheduler_name: str = ""
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup = PodSchedulingGroup()
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    active_deadline_seconds: Int64 | None = None
    termination_grace_period_seconds: Int64 | None = None


class PodCondition(OpenWire, frozen=True, kw_only=True):
    """What a pod's agent or its scheduler says of it."""

    unused: ClassVar = words("lastProbeTime lastTransitionTime message observedGeneration")

    type: str = ""
    status: str = ""
    reason: str = ""


class TerminatedState(OpenWire, frozen=True, kw_only=True):
    """How a container ended."""

    exit_code: Int32 = 0


class ContainerState(OpenWire, frozen=True, kw_only=True):
    """What a container does now."""

    terminated: TerminatedState | None = None


class ContainerStatus(OpenWire, frozen=True, kw_only=True):
    """How a container is doing."""

    name: str = ""
    state: ContainerState = ContainerState()


class PodStatus(OpenWire, frozen=True, kw_only=True):
    """How a pod is doing."""

    unused: ClassVar = words("""
        ephemeralContainerStatuses hostIP hostIPs initContainerStatuses message observedGeneration podIP
        podIPs qosClass resize
    """)

    phase: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    """The node on which capacity is kept for the pod while its victims leave."""
    start_time: str = ""
    """When its kubelet accepted it; empty before."""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class Pod(KubernetesObject, frozen=True, kw_only=True):
    """Containers that run together on one node."""

    spec: PodSpec
    status: PodStatus = PodStatus()


class PodTemplateSpec(Wire, frozen=True, kw_only=True):
    """What the pods that somebody makes have in common."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec


class Service(KubernetesObject, frozen=True, kw_only=True):
    """A name for some pods; what it says is of no concern here."""

    open_ended: ClassVar = True
