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
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.kubeflow_org_v1 import PyTorchJob
from closeknit.apis.leaderworkerset_x_k8s_io_v1 import LeaderWorkerSet
from closeknit.apis.scheduling_run_ai_v2 import Queue
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.dialect import Dialect, Object, Surroundings
from closeknit.dialects.kai.derivation import derive, overruled, read_derived
from closeknit.dialects.kai.keys import GROUP_ANNOTATION
from closeknit.dialects.kai.members import workload_of
from closeknit.dialects.kai.objects import to_pod_group, to_topology_object
from closeknit.dialects.kai.pod_objects import to_pods
from closeknit.dialects.kai.queues import NO_QUEUES, read_queues
from closeknit.dialects.kai.topologies import problems, to_topology
from closeknit.dialects.kai.translations import to_kai, to_pods_alone
from closeknit.dialects.kai.workloads import DIALECT, read_pod_group
from closeknit.dialects.manifests import Kind, Manifests
from closeknit.dialects.paths import within
from closeknit.dialects.places import Located
from closeknit.hub import topology as hub
from closeknit.hub.problems import Problem, shown, suggestion
from closeknit.hub.workload import Workload


def _topologies(manifests: Manifests) -> Iterator[hub.Topology | Located]:
    for manifest in manifests.of(Topology):
        found = list(problems(manifest.content))
        yield from (manifest.located(problem) for problem in found)
        if not found:
            yield to_topology(manifest.content)


def _workloads(manifests: Manifests, surroundings: Surroundings) -> Iterator[Workload | Located]:
    yield from _strays(manifests)
    unusable = {one.name for one in manifests.named(Topology)} - surroundings.topologies.keys()
    queues, found = read_queues(manifests)
    yield from found
    if surroundings.lenient:
        queues = NO_QUEUES
    else:
        yield from overruled(manifests)
    for group in manifests.of(PodGroup):
        yield from read_pod_group(group, surroundings, unusable, queues)
    told: set[Located] = set()
    for made in derive(manifests):
        for read in read_derived(made, surroundings, unusable, queues):
            # One owner may have many PodGroups, and what is wrong with it is told once.
            if isinstance(read, Workload) or read not in told:
                yield read
            if isinstance(read, Located):
                told.add(read)
    for broken in manifests.broken(PodGroup):
        yield Workload(broken.object, DIALECT, request=None, problems=broken.problems)


def _strays(manifests: Manifests) -> Iterator[Located]:
    """Pods that name a PodGroup which is not there: nobody would ever place them."""
    groups: dict[str, set[str]] = {}
    for group in manifests.named(PodGroup):
        groups.setdefault(group.namespace, set()).add(group.name)
    for made in derive(manifests):
        groups.setdefault(made.manifest.namespace, set()).add(made.name)
    for pod in manifests.of(Pod):
        name = pod.content.metadata.annotations.get(GROUP_ANNOTATION)
        known = groups.get(pod.namespace, set())
        if pod.content.metadata.labels.get("app.kubernetes.io/managed-by") == "grove-operator":
            # Grove makes the PodGroups of its pods itself, and looks for what they are made of.
            continue
        if name and name not in known and pod.content.status.phase not in ("Succeeded", "Failed"):
            message = f"There is no PodGroup {shown(name)} in namespace {shown(pod.namespace)}."
            path = within("metadata.annotations", GROUP_ANNOTATION)
            yield pod.located(Problem(path, f"{message} {suggestion(name, known)}"))


def _express(workload: Workload, topologies: Mapping[str, hub.Topology]) -> Iterator[Object]:
    assert workload.request is not None
    name = workload.request.topology
    if name is not None:
        yield to_topology_object(topologies[name])
    yield to_pod_group(workload.request)
    yield from to_pods(workload.request)


KAI = Dialect(
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
    topologies=_topologies,
    workload_of=workload_of,
    workloads=_workloads,
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
