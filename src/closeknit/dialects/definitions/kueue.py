"""Kueue's kinds as custom resources, and JobSet's.

Nothing here converts between versions, so both carry the spellings of both.
"""

from __future__ import annotations

from closeknit.apis import jobset_x_k8s_io_v1alpha2 as jobset
from closeknit.apis import kueue_x_k8s_io_v1beta2 as kueue
from closeknit.dialects.definitions import pods
from closeknit.dialects.definitions.bounds import (
    A_SET,
    ATOMIC,
    ATOMIC_MAP,
    NODE_LABEL_KEY,
    NOT_NEGATIVE,
    REFERENCE,
    items,
    keyed,
)
from closeknit.dialects.definitions.definition import AGE, Column, Definition, condition
from closeknit.dialects.definitions.schemas import Limits

_GROUP = "kueue.x-k8s.io"
_VERSIONS = ("v1beta2", "v1beta1")
_PENDING = Column("Pending Workloads", ".status.pendingWorkloads", "integer")
_ADMITTED = Column("Admitted Workloads", ".status.admittedWorkloads", "integer")

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
        "resourceGroups": {**items(None, 16), **ATOMIC},
        "stopPolicy": _STOP_POLICY,
    },
    kueue.FlavorFungibility: {
        "preference": {"enum": ["BorrowingOverPreemption", "PreemptionOverBorrowing"]},
        "whenCanBorrow": {"enum": ["MayStopSearch", "TryNextFlavor"], "default": "MayStopSearch"},
        "whenCanPreempt": {"enum": ["MayStopSearch", "TryNextFlavor"], "default": "TryNextFlavor"},
    },
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
}
"""What v1beta1 leaves open."""

DEFINITIONS = (
    Definition(
        _GROUP,
        "Topology",
        "topologies",
        kueue.Topology,
        _VERSIONS,
        namespaced=False,
        short_names=("topo",),
        columns=(Column("Levels", ".spec.levels[*].nodeLabel"), AGE),
        status=False,
        limits=_LIMITS,
    ),
    Definition(
        _GROUP,
        "ResourceFlavor",
        "resourceflavors",
        kueue.ResourceFlavor,
        _VERSIONS,
        namespaced=False,
        short_names=("flavor", "flavors", "rf"),
        columns=(Column("Topology", ".spec.topologyName"), AGE),
        status=False,
        limits=_LIMITS,
    ),
    Definition(
        _GROUP,
        "ClusterQueue",
        "clusterqueues",
        kueue.ClusterQueue,
        _VERSIONS,
        namespaced=False,
        short_names=("cq",),
        columns=(Column("Cohort", ".spec.cohortName"), _PENDING, _ADMITTED),
        limits=_LIMITS,
        limits_of_version={"v1beta1": _IN_V1BETA1},
    ),
    Definition(
        _GROUP,
        "Cohort",
        "cohorts",
        kueue.Cohort,
        _VERSIONS,
        namespaced=False,
        short_names=("co",),
        columns=(Column("Parent", ".spec.parentName"), AGE),
        limits=_LIMITS,
        limits_of_version={"v1beta1": _IN_V1BETA1},
    ),
    Definition(
        _GROUP,
        "LocalQueue",
        "localqueues",
        kueue.LocalQueue,
        _VERSIONS,
        short_names=("queue", "queues", "lq"),
        columns=(Column("ClusterQueue", ".spec.clusterQueue"), _PENDING, _ADMITTED),
        limits=_LIMITS,
    ),
    Definition(
        _GROUP,
        "WorkloadPriorityClass",
        "workloadpriorityclasses",
        kueue.WorkloadPriorityClass,
        _VERSIONS,
        namespaced=False,
        short_names=("wpc",),
        columns=(Column("Value", ".value", "integer"),),
        status=False,
        limits=_LIMITS,
    ),
    Definition(
        _GROUP,
        "AdmissionCheck",
        "admissionchecks",
        kueue.AdmissionCheck,
        _VERSIONS,
        namespaced=False,
        columns=(Column("Controller", ".spec.controllerName"), AGE),
        limits=_LIMITS,
    ),
    Definition(
        "jobset.x-k8s.io",
        "JobSet",
        "jobsets",
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
