"""Kueue as a family: its kinds, and the functions for each of them."""

from __future__ import annotations

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.batch_v1 import Job
from closeknit.apis.config_kueue_x_k8s_io_v1beta2 import Configuration
from closeknit.apis.core_v1 import Pod
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.apis.kubeflow_org_v1 import PyTorchJob
from closeknit.apis.leaderworkerset_x_k8s_io_v1 import LeaderWorkerSet
from closeknit.dialects.core import pod_makers
from closeknit.dialects.family import Family
from closeknit.dialects.kueue import admitted, owners, queues, quotas, status, updates
from closeknit.dialects.kueue.compile import compile_queued
from closeknit.dialects.kueue.configuration import configuration_problems
from closeknit.dialects.kueue.express import express
from closeknit.dialects.kueue.render import render_kueue, render_pods
from closeknit.dialects.kueue.topologies import FAMILY, GROUP
from closeknit.dialects.kueue.topologies_in_sight import QUEUED, topologies
from closeknit.dialects.wire.kinds import Kind

_VERSIONS = ("v1beta2", "v1beta1")

KUEUE = Family(
    name=FAMILY,
    kinds=(
        Kind(GROUP, "Topology", (*_VERSIONS, "v1alpha1"), wire.Topology, namespaced=False),
        Kind(GROUP, "ResourceFlavor", _VERSIONS, wire.ResourceFlavor, namespaced=False),
        Kind(GROUP, "ClusterQueue", _VERSIONS, wire.ClusterQueue, namespaced=False),
        Kind(GROUP, "Cohort", (*_VERSIONS, "v1alpha1"), wire.Cohort, namespaced=False),
        Kind(GROUP, "LocalQueue", _VERSIONS, wire.LocalQueue),
        Kind(GROUP, "WorkloadPriorityClass", _VERSIONS, wire.WorkloadPriorityClass, namespaced=False),
        Kind(GROUP, "AdmissionCheck", _VERSIONS, wire.AdmissionCheck, namespaced=False),
        Kind(GROUP, "Workload", _VERSIONS, wire.Workload, verbatim=True),
        Kind("batch", "Job", ("v1",), Job, verbatim=True),
        Kind("jobset.x-k8s.io", "JobSet", ("v1alpha2",), JobSet, verbatim=True),
        # What two families read, both declare in the same way.
        Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", ("v1",), LeaderWorkerSet, verbatim=True),
        Kind("kubeflow.org", "PyTorchJob", ("v1",), PyTorchJob, verbatim=True),
        *pod_makers.KINDS,
        Kind(
            "config.kueue.x-k8s.io", "Configuration", _VERSIONS, Configuration, namespaced=False, named=False
        ),
    ),
    topologies=topologies,
    compile=dict.fromkeys(QUEUED, compile_queued),
    check={
        wire.ResourceFlavor: quotas.flavor_problems,
        wire.Cohort: queues.cohort_problems,
        wire.ClusterQueue: queues.cluster_queue_problems,
        wire.LocalQueue: queues.local_queue_problems,
        wire.AdmissionCheck: queues.admission_check_problems,
        Configuration: configuration_problems,
    },
    render={
        "kueue": dict.fromkeys(QUEUED, render_kueue),
        "pods": {each: render_pods for each in QUEUED if each is not Pod},
    },
    express=express,
    update={
        wire.Topology: updates.topology_changes,
        wire.ResourceFlavor: updates.flavor_changes,
        wire.LocalQueue: updates.local_queue_changes,
        wire.AdmissionCheck: updates.admission_check_changes,
        wire.Workload: updates.workload_changes,
        Job: updates.job_changes,
        JobSet: updates.job_changes,
        Pod: updates.pod_changes,
    },
    status={
        wire.ClusterQueue: status.cluster_queue_status,
        wire.LocalQueue: status.local_queue_status,
        wire.Workload: status.workload_status,
        Job: status.job_status,
        JobSet: status.job_status,
    },
    owner_of=owners.owner_of,
    indexes=(*quotas.INDEXES, *owners.INDEXES, *admitted.INDEXES),
    passed_over={
        GROUP: frozenset({"MultiKueueCluster", "MultiKueueConfig", "ProvisioningRequestConfig"}),
    },
)
