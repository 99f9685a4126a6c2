"""Kueue's kinds as custom resources, and JobSet's.

Nothing here converts between versions, so both carry the spellings of both.
"""

from __future__ import annotations

from functools import partial

from closeknit.apis import jobset_x_k8s_io_v1alpha2 as jobset
from closeknit.apis import kueue_x_k8s_io_v1beta2 as kueue
from closeknit.dialects.definitions import pods
from closeknit.dialects.definitions.definition import AGE, Column, Definition, Limits, condition
from closeknit.dialects.definitions.pods import (
    A_SET,
    ATOMIC,
    ATOMIC_MAP,
    LABEL,
    NODE_LABEL_KEY,
    NOT_NEGATIVE,
    REFERENCE,
    items,
    keyed,
)

_GROUP = "kueue.x-k8s.io"
_PENDING = Column("Pending Workloads", ".status.pendingWorkloads", "integer")
_ADMITTED = Column("Admitted Workloads", ".status.admittedWorkloads", "integer")

_LEVEL = {"maxLength": 63}
_CLASS_SOURCES = ("kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass")
_STOP_POLICY = {"enum": ["None", "Hold", "HoldAndDrain"], "default": "None"}
_LIMITS: Limits = {
    **pods.LIMITS,
    kueue.Topology: {"": {"required": None}},
    kueue.TopologySpec: {"levels": {**items(1, 16), **ATOMIC}},
    kueue.TopologyLevel: {"nodeLabel": NODE_LABEL_KEY},
    kueue.ResourceFlavorSpec: {
        "nodeLabels": {"maxProperties": 8, **ATOMIC_MAP},
        "nodeTaints": {**items(None, 8), **ATOMIC},
        "tolerations": {**items(None, 8), **ATOMIC},
        "topologyName": REFERENCE,
    },
    kueue.ClusterQueueSpec: {
        "admissionChecks": {"items": {"maxLength": 316}},
        "cohort": REFERENCE,
        "cohortName": REFERENCE,
        "flavorFungibility": {"default": {}},
        "preemption": {"default": {}},
        "queueingStrategy": {"enum": ["StrictFIFO", "BestEffortFIFO"], "default": "BestEffortFIFO"},
        "resourceGroups": {**items(None, 16), **ATOMIC},
        "stopPolicy": _STOP_POLICY,
    },
    kueue.FlavorFungibility: {
        "preference": {"enum": ["BorrowingOverPreemption", "PreemptionOverBorrowing"]},
        "whenCanBorrow": {"enum": ["MayStopSearch", "TryNextFlavor"], "default": "MayStopSearch"},
        "whenCanPreempt": {"enum": ["MayStopSearch", "TryNextFlavor"], "default": "TryNextFlavor"},
    },
    kueue.Preemption: {
        "borrowWithinCohort": {"default": {}},
        "reclaimWithinCohort": {"enum": ["Never", "LowerPriority", "Any"], "default": "Never"},
        "withinClusterQueue": {
            "enum": ["Never", "LowerPriority", "LowerOrNewerEqualPriority"],
            "default": "Never",
        },
    },
    kueue.BorrowWithinCohort: {"policy": {"enum": ["Never", "LowerPriority"], "default": "Never"}},
    kueue.AdmissionChecksStrategy: {
        "": {"required": ["admissionChecks"]},
        "admissionChecks": {**items(1, 64), **keyed("name")},
    },
    kueue.AdmissionCheckRule: {
        "name": {"minLength": 1, "maxLength": 316},
        "onFlavors": {**items(None, 64), **A_SET, "items": REFERENCE},
    },
    kueue.CohortSpec: {
        "parent": REFERENCE,
        "parentName": REFERENCE,
        "resourceGroups": {**items(None, 16), **ATOMIC},
    },
    kueue.ResourceGroup: {
        "coveredResources": {**items(1, 64), **ATOMIC},
        "flavors": {**items(1, 64), **keyed("name")},
    },
    kueue.FlavorQuotas: {"name": REFERENCE, "resources": {**items(1, 64), **keyed("name")}},
    kueue.LocalQueueSpec: {"clusterQueue": REFERENCE, "stopPolicy": _STOP_POLICY},
    kueue.Workload: {"": {"required": None}},
    kueue.WorkloadSpec: {
        "active": {"default": True},
        "podSets": {**items(1, 18), **keyed("name")},
        "priorityClassName": REFERENCE,
        "priorityClassSource": {"enum": [*_CLASS_SOURCES, ""]},
        "queueName": REFERENCE,
        "": {"required": None},
    },
    kueue.PriorityClassRef: {
        "": {"required": ["group", "kind", "name"]},
        "group": {"enum": ["kueue.x-k8s.io", "scheduling.k8s.io"]},
        "kind": {"enum": ["WorkloadPriorityClass", "PriorityClass"]},
        "name": {"minLength": 1, **REFERENCE},
    },
    kueue.PodSet: {
        "count": {**NOT_NEGATIVE, "default": 1},
        "minCount": {"minimum": 1},
        "name": {"default": "main", "maxLength": 63, "pattern": LABEL},
    },
    kueue.PodSetTopologyRequest: {
        "podIndexLabel": {"maxLength": 317},
        "podSetGroupName": {"maxLength": 256},
        "podSetSliceRequiredTopology": _LEVEL,
        "podSetSliceSize": {"minimum": 1},
        "podsetSliceRequiredTopologyConstraints": {**items(None, 3), **ATOMIC},
        "preferred": _LEVEL,
        "required": _LEVEL,
        "subGroupCount": NOT_NEGATIVE,
        "subGroupIndexLabel": {"maxLength": 317},
    },
    kueue.SliceConstraint: {"size": {"minimum": 1}, "topology": {"minLength": 1, **_LEVEL}},
    jobset.JobSetSpec: {"replicatedJobs": keyed("name")},
    jobset.StartupPolicy: {
        "": {"required": ["startupPolicyOrder"]},
        "startupPolicyOrder": {"enum": ["AnyOrder", "InOrder"]},
    },
    jobset.ReplicatedJob: {"replicas": {**NOT_NEGATIVE, "default": 1}},
}

_NO_LIST_TYPE = {"x-kubernetes-list-type": None}
_IN_V1BETA1: Limits = {
    kueue.FlavorFungibility: {
        "whenCanBorrow": {"enum": ["MayStopSearch", "TryNextFlavor", "Borrow"]},
        "whenCanPreempt": {"enum": ["MayStopSearch", "TryNextFlavor", "Preempt"]},
    },
    kueue.AdmissionChecksStrategy: {
        "": {"required": None},
        "admissionChecks": dict.fromkeys([*items(1, 64), *keyed("name")]),
    },
    kueue.AdmissionCheckRule: {
        "name": {"minLength": None},
        "onFlavors": {"maxItems": None, **_NO_LIST_TYPE},
    },
    kueue.ResourceGroup: {"coveredResources": _NO_LIST_TYPE},
    kueue.WorkloadSpec: {"": {"required": ["podSets"]}, "priorityClassSource": {"default": ""}},
    kueue.PodSet: {"": {"required": ["count", "template"]}},
    kueue.PodSetTopologyRequest: {
        "podIndexLabel": {"maxLength": None},
        "podSetGroupName": {"maxLength": None},
        "podSetSliceRequiredTopology": {"maxLength": None},
        "preferred": {"maxLength": None},
        "required": {"maxLength": None},
        "subGroupCount": {"minimum": None},
        "subGroupIndexLabel": {"maxLength": None},
    },
}
"""What v1beta1 leaves open."""

_definition = partial(
    Definition,
    _GROUP,
    versions=("v1beta2", "v1beta1"),
    limits=_LIMITS,
    limits_of_version={"v1beta1": _IN_V1BETA1},
)

DEFINITIONS = (
    _definition(
        kueue.Topology,
        namespaced=False,
        short_names=("topo",),
        columns=(Column("Levels", ".spec.levels[*].nodeLabel"), AGE),
        status=False,
    ),
    _definition(
        kueue.ResourceFlavor,
        namespaced=False,
        short_names=("flavor", "flavors", "rf"),
        columns=(Column("Topology", ".spec.topologyName"), AGE),
        status=False,
    ),
    _definition(
        kueue.ClusterQueue,
        namespaced=False,
        short_names=("cq",),
        columns=(Column("Cohort", ".spec.cohortName"), _PENDING, _ADMITTED),
        columns_of_version={"v1beta1": (Column("Cohort", ".spec.cohort"), _PENDING, _ADMITTED)},
    ),
    _definition(
        kueue.Cohort,
        namespaced=False,
        short_names=("co",),
        columns=(Column("Parent", ".spec.parentName"), AGE),
        columns_of_version={"v1beta1": (Column("Parent", ".spec.parent"), AGE)},
    ),
    _definition(
        kueue.LocalQueue,
        short_names=("queue", "queues", "lq"),
        columns=(Column("ClusterQueue", ".spec.clusterQueue"), _PENDING, _ADMITTED),
    ),
    _definition(
        kueue.WorkloadPriorityClass,
        namespaced=False,
        short_names=("wpc",),
        columns=(Column("Value", ".value", "integer"),),
        status=False,
    ),
    _definition(
        kueue.Workload,
        short_names=("kwl", "kueueworkload", "kueueworkloads"),
        columns=(
            Column("Queue", ".spec.queueName"),
            Column("Reserved in", ".status.admission.clusterQueue"),
            condition("Admitted"),
            condition("Finished"),
            AGE,
        ),
    ),
    _definition(
        kueue.AdmissionCheck,
        namespaced=False,
        columns=(Column("Controller", ".spec.controllerName"), AGE),
    ),
    Definition(
        "jobset.x-k8s.io",
        jobset.JobSet,
        ("v1alpha2",),
        columns=(
            Column("TerminalState", ".status.terminalState"),
            condition("Completed"),
            Column("Suspended", ".spec.suspend"),
            AGE,
        ),
        limits=_LIMITS,
    ),
)
