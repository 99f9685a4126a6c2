"""Kueue: Jobs, JobSets and groups of pods that queue for quota, and Topology over a flavor's nodes.

What the annotations of a pod template say becomes a tree: the pod set, its
slices or the replicas of a job, and leader and workers in one group. Each combination of
flavors that the ClusterQueue offers is one way to run, with what it costs of the quota; they are
tried in order. Beyond Kueue's own checks, annotations where they would have no effect, sizes of slices
that leave pods over, and queues and levels that nobody has are reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis import batch_v1, jobset_x_k8s_io_v1alpha2
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.family import Family, Surroundings, described
from closeknit.dialects.kueue.express import express
from closeknit.dialects.kueue.objects import to_kueue, to_pods
from closeknit.dialects.kueue.ownership import owner_key
from closeknit.dialects.kueue.topologies import problems, to_topology
from closeknit.dialects.kueue.workloads import DIALECT, Read, holdings, read_all
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub import topology as hub
from closeknit.hub.workload import Workload

_GROUP = "kueue.x-k8s.io"
_VERSIONS = ("v1beta2", "v1beta1")


def _topologies(manifests: View) -> Iterator[hub.Topology | Reported]:
    for manifest in manifests.of(wire.Topology):
        found = list(problems(manifest.content))
        yield from (manifest.report(problem) for problem in found)
        if not found:
            yield to_topology(manifest.content)


def _workloads(manifests: View, surroundings: Surroundings) -> Iterator[Workload | Reported]:
    for each in read_all(manifests, surroundings):
        yield each.workload if isinstance(each, Read) else each


KUEUE = Family(
    name=DIALECT,
    kinds=(
        Kind(_GROUP, "Topology", (*_VERSIONS, "v1alpha1"), wire.Topology, namespaced=False),
        Kind(_GROUP, "ResourceFlavor", _VERSIONS, wire.ResourceFlavor, namespaced=False),
        Kind(_GROUP, "ClusterQueue", _VERSIONS, wire.ClusterQueue, namespaced=False),
        Kind(_GROUP, "Cohort", (*_VERSIONS, "v1alpha1"), wire.Cohort, namespaced=False),
        Kind(_GROUP, "LocalQueue", _VERSIONS, wire.LocalQueue),
        Kind(_GROUP, "WorkloadPriorityClass", _VERSIONS, wire.WorkloadPriorityClass, namespaced=False),
        Kind(_GROUP, "AdmissionCheck", _VERSIONS, wire.AdmissionCheck, namespaced=False),
        Kind(_GROUP, "Workload", _VERSIONS, wire.Workload, verbatim=True),
        Kind("batch", "Job", ("v1",), batch_v1.Job, verbatim=True),
        Kind("jobset.x-k8s.io", "JobSet", ("v1alpha2",), jobset_x_k8s_io_v1alpha2.JobSet, verbatim=True),
    ),
    topologies=lambda view: described(_topologies(view)),
    owner_of=owner_key,
    workloads=_workloads,
    holdings=holdings,
    translations={"kueue": to_kueue, "pods": to_pods},
    express=express,
    passed_over={
        _GROUP: frozenset({"MultiKueueCluster", "MultiKueueConfig", "ProvisioningRequestConfig"}),
        "batch": frozenset({"CronJob"}),
    },
)
