"""kueue.x-k8s.io/v1beta2: queues, flavors and topologies, and what is written in a Workload."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.core_v1 import LabelSelector, PodTemplateSpec, Taint, Toleration
from closeknit.apis.meta_v1 import Condition, KubernetesObject, ObjectWithStatus
from closeknit.apis.wire import Int32, OpenWire, Quantity, Wire, words


class TopologyLevel(Wire, frozen=True, kw_only=True):
    """The node label of a level."""

    node_label: str


class TopologySpec(Wire, frozen=True, kw_only=True):
    """The levels, coarsest first."""

    levels: tuple[TopologyLevel, ...]


class Topology(KubernetesObject, frozen=True, kw_only=True):
    """How nodes are laid out."""

    spec: TopologySpec


class ResourceFlavorSpec(Wire, frozen=True, kw_only=True):
    """The nodes of a flavor."""

    node_labels: dict[str, str] = {}
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology_name: str = ""


class ResourceFlavor(KubernetesObject, frozen=True, kw_only=True):
    """Nodes that are alike, under one name."""

    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class ResourceQuota(Wire, frozen=True, kw_only=True):
    """How much of one resource there is to give."""

    name: str
    nominal_quota: Quantity
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(Wire, frozen=True, kw_only=True):
    """What there is of each resource in one flavor."""

    name: str
    resources: tuple[ResourceQuota, ...]


class ResourceGroup(Wire, frozen=True, kw_only=True):
    """Resources that come from one flavor together, and the flavors in the order of trial."""

    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


class AdmissionCheckRule(Wire, frozen=True, kw_only=True):
    """A check that must pass before admission, for all flavors or for some."""

    name: str
    on_flavors: tuple[str, ...] = ()


class AdmissionChecksStrategy(Wire, frozen=True, kw_only=True):
    """All checks of a queue."""

    admission_checks: tuple[AdmissionCheckRule, ...] = ()


class FlavorFungibility(Wire, frozen=True, kw_only=True):
    """Whether the next flavor is tried before quota is borrowed or taken from others."""

    when_can_borrow: str = ""
    when_can_preempt: str = ""
    preference: str = ""


class BorrowWithinCohort(Wire, frozen=True, kw_only=True):
    """Who may be displaced by somebody that borrows."""

    policy: str = ""
    max_priority_threshold: Int32 | None = None


class Preemption(Wire, frozen=True, kw_only=True):
    """Who may be displaced for the workloads of a queue."""

    within_cluster_queue: str = ""
    reclaim_within_cohort: str = ""
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()


class ClusterQueueSpec(Wire, frozen=True, kw_only=True):
    """The quota of a queue; ``cohort`` and ``admissionChecks`` are the spelling of v1beta1."""

    unused: ClassVar = words("""
        admissionScope concurrentAdmissionPolicy fairSharing
    """)

    namespace_selector: LabelSelector | None = None
    """None takes nobody, an empty one takes all."""
    queueing_strategy: str = ""
    preemption: Preemption = Preemption()
    cohort_name: str = ""
    cohort: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    stop_policy: str = ""
    admission_checks_strategy: AdmissionChecksStrategy = AdmissionChecksStrategy()
    admission_checks: tuple[str, ...] = ()


class ClusterQueue(ObjectWithStatus, frozen=True, kw_only=True):
    """Quota, by flavor, that workloads wait for."""

    spec: ClusterQueueSpec = ClusterQueueSpec()


class CohortSpec(Wire, frozen=True, kw_only=True):
    """Quota that belongs to no queue by itself; ``parent`` is the spelling of v1beta1."""

    unused: ClassVar = frozenset({"fairSharing"})

    parent_name: str = ""
    parent: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()


class Cohort(ObjectWithStatus, frozen=True, kw_only=True):
    """Queues that lend each other what they do not use."""

    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(Wire, frozen=True, kw_only=True):
    """The ClusterQueue behind a LocalQueue."""

    unused: ClassVar = frozenset({"fairSharing"})

    cluster_queue: str = ""
    stop_policy: str = ""


class LocalQueue(ObjectWithStatus, frozen=True, kw_only=True):
    """The door of a namespace to a ClusterQueue."""

    spec: LocalQueueSpec = LocalQueueSpec()


class WorkloadPriorityClass(KubernetesObject, frozen=True, kw_only=True):
    """A name for a priority in the queue."""

    unused: ClassVar = frozenset({"description"})

    value: Int32


class AdmissionCheckSpec(Wire, frozen=True, kw_only=True):
    """Who performs a check."""

    unused: ClassVar = frozenset({"parameters", "retryDelayMinutes"})

    controller_name: str = ""


class AdmissionCheck(ObjectWithStatus, frozen=True, kw_only=True):
    """Something else that must agree before a workload is admitted."""

    spec: AdmissionCheckSpec = AdmissionCheckSpec()


class SliceConstraint(Wire, frozen=True, kw_only=True):
    """One layer of nested slices."""

    topology: str
    size: Int32


class PodSetTopologyRequest(Wire, frozen=True, kw_only=True):
    """How close together the pods of a pod set must be."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_index_label: str | None = None
    sub_group_index_label: str | None = None
    sub_group_count: Int32 | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: Int32 | None = None
    podset_slice_required_topology_constraints: tuple[SliceConstraint, ...] = ()


class TopologyAssignmentSliceLevelIndividualValues(Wire, frozen=True, kw_only=True):
    """Values of one level that differ, without what they have in common at both ends."""

    prefix: str | None = None
    suffix: str | None = None
    roots: tuple[str, ...]


class TopologyAssignmentSliceLevelValues(Wire, frozen=True, kw_only=True):
    """The values of one level: one for all domains of the slice, or one for each."""

    universal: str | None = None
    individual: TopologyAssignmentSliceLevelIndividualValues | None = None


class TopologyAssignmentSlicePodCounts(Wire, frozen=True, kw_only=True):
    """How many pods go to each domain: one number for all, or one for each."""

    universal: Int32 | None = None
    individual: tuple[Int32, ...] | None = None


class TopologyAssignmentSlice(Wire, frozen=True, kw_only=True):
    """Domains that are written down together."""

    domain_count: Int32
    values_per_level: tuple[TopologyAssignmentSliceLevelValues, ...]
    pod_counts: TopologyAssignmentSlicePodCounts


class TopologyDomainAssignment(Wire, frozen=True, kw_only=True):
    """The values of all levels that a domain has, and how many pods go there; the form of v1beta1."""

    values: tuple[str, ...]
    count: Int32


class TopologyAssignment(Wire, frozen=True, kw_only=True):
    """How many pods go to which domain, in slices that say what their domains share only once.

    ``domains`` is the form of v1beta1, in which each is written out.
    """

    levels: tuple[str, ...]
    slices: tuple[TopologyAssignmentSlice, ...] = ()
    domains: tuple[TopologyDomainAssignment, ...] = ()


class PodSet(Wire, frozen=True, kw_only=True):
    """Equal pods of a workload."""

    name: str = "main"
    count: Int32 = 1
    min_count: Int32 | None = None
    template: PodTemplateSpec
    topology_request: PodSetTopologyRequest = PodSetTopologyRequest()


class PriorityClassRef(Wire, frozen=True, kw_only=True):
    """The class that gave a workload its priority."""

    group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadSpec(Wire, frozen=True, kw_only=True):
    """What waits for quota; the two of ``priorityClassName`` are the spelling of v1beta1."""

    unused: ClassVar = frozenset({"maximumExecutionTimeSeconds", "preemptionGates"})

    pod_sets: tuple[PodSet, ...]
    queue_name: str = ""
    priority: Int32 | None = None
    priority_class_ref: PriorityClassRef = PriorityClassRef()
    priority_class_name: str = ""
    priority_class_source: str = ""
    active: bool = True


class PodSetAssignment(OpenWire, frozen=True, kw_only=True):
    """What one pod set was admitted to."""

    name: str = "main"
    count: Int32 | None = None
    flavors: dict[str, str] = {}
    topology_assignment: TopologyAssignment | None = None


class Admission(OpenWire, frozen=True, kw_only=True):
    """What a workload was admitted to."""

    cluster_queue: str = ""
    pod_set_assignments: tuple[PodSetAssignment, ...] = ()


class UnhealthyNode(OpenWire, frozen=True, kw_only=True):
    """A node on which pods of a workload cannot go on."""

    name: str = ""


class ReclaimablePod(OpenWire, frozen=True, kw_only=True):
    """How many pods of a pod set are not needed any more."""

    name: str = ""
    count: Int32 = 0


class WorkloadStatus(OpenWire, frozen=True, kw_only=True):
    """What Kueue says of a workload."""

    admission: Admission | None = None
    conditions: tuple[Condition, ...] = ()
    unhealthy_nodes: tuple[UnhealthyNode, ...] = ()
    reclaimable_pods: tuple[ReclaimablePod, ...] = ()


class Workload(KubernetesObject, frozen=True, kw_only=True):
    """Pods that are admitted together, whoever makes them."""

    spec: WorkloadSpec
    status: WorkloadStatus = WorkloadStatus()
