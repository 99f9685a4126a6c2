"""KAI Scheduler: PodGroup with nested subgroups, Topology and Queue, and all that KAI groups by itself.

A PodGroup says directly what the hub says: a tree of groups, each with
required and preferred levels. Pods join it by an annotation and name their subgroup by a label.
For Jobs, JobSets, LeaderWorkerSets and PyTorchJobs that speak to KAI, the PodGroup is made as KAI makes it.
Beyond KAI's own checks, unknown topologies, unknown levels and a child that is coarser
than its parent are refused, and pods that name no subgroup are reported instead of forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from closeknit.apis.batch_v1 import Job
from closeknit.apis.core_v1 import Pod
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.apis.kai_keys import GROUP_ANNOTATION
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.kubeflow_org_v1 import PyTorchJob
from closeknit.apis.leaderworkerset_x_k8s_io_v1 import LeaderWorkerSet
from closeknit.apis.scheduling_run_ai_v2 import Queue
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.core.host_level import down_to_nodes
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import Stage
from closeknit.dialects.family import Family, Object, Surroundings, described
from closeknit.dialects.kai.derivation import overruled
from closeknit.dialects.kai.groups import derived_groups, read_groups
from closeknit.dialects.kai.members import workload_of
from closeknit.dialects.kai.objects import to_pod_group, to_topology_object
from closeknit.dialects.kai.pod_objects import to_pods
from closeknit.dialects.kai.queues import read_queues
from closeknit.dialects.kai.topologies import problems, to_topology
from closeknit.dialects.kai.translations import to_kai, to_pods_alone
from closeknit.dialects.kai.workloads import DIALECT
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub import topology as hub
from closeknit.hub.keys import Key
from closeknit.hub.paths import within
from closeknit.hub.problems import as_told, shown, suggestion
from closeknit.hub.workload import Workload


def _topologies(manifests: View) -> Iterator[hub.Topology | Reported]:
    for manifest in manifests.of(Topology):
        found = list(problems(manifest.content))
        yield from (manifest.report(problem) for problem in found)
        if not found:
            yield to_topology(manifest.content)


def _workloads(manifests: View, surroundings: Surroundings) -> Iterator[Workload | Reported]:
    yield from _strays(surroundings)
    yield from read_queues(manifests)[1]
    if not surroundings.lenient:
        yield from overruled(manifests)
    groups = read_groups(manifests, surroundings)
    every = [read for _, read in (*groups.written, *groups.derived)]
    # One owner may have many PodGroups, and what is wrong with it is told once.
    yield from dict.fromkeys(problem for read in every for problem in read.problems)
    yield from (read.workload for read in every)
    for broken in manifests.unreadable(PodGroup):
        yield Workload(broken.object, DIALECT, request=None, problems=broken.problems, maker=broken.key)


def _names(manifests: View) -> frozenset[str]:
    """The PodGroups that there are, written or derived."""
    written = (workload_name(group.namespace, group.name) for group in manifests.keys(PodGroup))
    derived = (workload_name(made.manifest.namespace, made.name) for made in derived_groups(manifests))
    return frozenset((*written, *derived))


def _makes(manifests: View) -> frozenset[Key]:
    return frozenset(
        Key("scheduling.run.ai", "PodGroup", made.manifest.namespace, made.name)
        for made in derived_groups(manifests)
    )


def _owner_of(pod: Stored[Pod]) -> Key | None:
    group = pod.content.metadata.annotations.get(GROUP_ANNOTATION)
    return Key("scheduling.run.ai", "PodGroup", pod.namespace, group) if group else None


def _strays(surroundings: Surroundings) -> Iterator[Reported]:
    """Pods that name a PodGroup which is not there, and are nobody else's: nobody would ever place them."""
    known: dict[str, list[str]] = {}
    for name in surroundings.names:
        namespace, _, own = name.partition("/")
        known.setdefault(namespace, []).append(own)
    for name, pods in surroundings.pods.items():
        for pod in pods if name not in surroundings.names else ():
            given, namespace = pod.manifest.content, pod.manifest.namespace
            if workload_of(given, namespace) != name or pod.stage in (Stage.SUCCEEDED, Stage.FAILED):
                continue
            group = given.metadata.annotations[GROUP_ANNOTATION]
            message = f"There is no PodGroup {shown(group)} in namespace {shown(namespace)}."
            remedy = suggestion(group, known.get(namespace, ()))
            path = within("metadata.annotations", GROUP_ANNOTATION)
            yield pod.manifest.report(as_told(path, f"{message} {remedy}"))


def _express(workload: Workload, topologies: Mapping[str, hub.Topology]) -> Iterator[Object]:
    assert workload.request is not None
    name = workload.request.topology
    request = workload.request
    if name is not None:
        yield to_topology_object(topologies[name])
        request = down_to_nodes(request, topologies[name])
    yield to_pod_group(request)
    yield from to_pods(request)


KAI = Family(
    name=DIALECT,
    kinds=(
        Kind("scheduling.run.ai", "PodGroup", ("v2alpha2",), PodGroup, verbatim=True),
        Kind("scheduling.run.ai", "Queue", ("v2",), Queue, namespaced=False),
        Kind(
            "kai.scheduler",
            "Topology",
            ("v1alpha1", "v1"),
            Topology,
            namespaced=False,
        ),
        # What two dialects read, both declare in the same way.
        Kind("batch", "Job", ("v1",), Job, verbatim=True),
        Kind("jobset.x-k8s.io", "JobSet", ("v1alpha2",), JobSet, verbatim=True),
        Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", ("v1",), LeaderWorkerSet, verbatim=True),
        Kind("kubeflow.org", "PyTorchJob", ("v1",), PyTorchJob, verbatim=True),
    ),
    topologies=lambda view: described(_topologies(view)),
    owner_of=_owner_of,
    makes=_makes,
    workloads=_workloads,
    names=_names,
    borrows=("grove",),
    passed_over={
        "scheduling.run.ai": frozenset({"BindRequest"}),
        "kai.scheduler": frozenset({"Config", "SchedulingShard"}),
        "batch": frozenset({"CronJob"}),
        "kubeflow.org": frozenset(
            {
                "JAXJob",
                "MPIJob",
                "Notebook",
                "PaddleJob",
                "ScheduledWorkflow",
                "TFJob",
                "Viewer",
                "XGBoostJob",
            }
        ),
    },
    translations={"kai": to_kai, "pods": to_pods_alone},
    express=_express,
)
