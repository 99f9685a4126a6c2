"""scheduling.k8s.io/v1alpha2: Kubernetes' own gangs, PodGroup and Workload."""

from __future__ import annotations

from closeknit.apis.meta_v1 import KubernetesObject, ObjectWithStatus
from closeknit.apis.wire import Int32, Wire


class BasicPolicy(Wire, frozen=True, kw_only=True):
    """Pods are scheduled one by one."""


class GangPolicy(Wire, frozen=True, kw_only=True):
    """So many pods are scheduled at once, or none."""

    min_count: Int32


class SchedulingPolicy(Wire, frozen=True, kw_only=True):
    """Exactly one of the two."""

    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Wire, frozen=True, kw_only=True):
    """All pods on nodes with one value of this label."""

    key: str


class SchedulingConstraints(Wire, frozen=True, kw_only=True):
    """Where pods go as a group."""

    topology: tuple[TopologyConstraint, ...] = ()


class PodGroupResourceClaim(Wire, frozen=True, kw_only=True):
    """A claim that pods of the group share; exactly one of the two names."""

    name: str
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class GroupTerms(Wire, frozen=True, kw_only=True):
    """What a group of pods asks for, in a template and in a group alike."""

    scheduling_policy: SchedulingPolicy
    scheduling_constraints: SchedulingConstraints = SchedulingConstraints()
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: str = ""
    priority_class_name: str = ""
    priority: Int32 | None = None


class PodGroupTemplate(GroupTerms, frozen=True, kw_only=True):
    """A group as a Workload describes it."""

    name: str


class WorkloadTemplateReference(Wire, frozen=True, kw_only=True):
    """A template of a Workload in the same namespace."""

    workload_name: str
    pod_group_template_name: str


class TemplateReference(Wire, frozen=True, kw_only=True):
    """Where the terms of a group were copied from."""

    workload: WorkloadTemplateReference | None = None


class PodGroupSpec(GroupTerms, frozen=True, kw_only=True):
    """A group of pods."""

    pod_group_template_ref: TemplateReference | None = None


class PodGroup(ObjectWithStatus, frozen=True, kw_only=True):
    """Pods that name it in ``schedulingGroup`` and are scheduled by its policy."""

    spec: PodGroupSpec


class ControllerReference(Wire, frozen=True, kw_only=True):
    """The object that a Workload was made for."""

    api_group: str = ""
    kind: str
    name: str


class WorkloadSpec(Wire, frozen=True, kw_only=True):
    """The groups that a controller makes."""

    controller_ref: ControllerReference | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class Workload(KubernetesObject, frozen=True, kw_only=True):
    """Templates of PodGroups."""

    spec: WorkloadSpec
