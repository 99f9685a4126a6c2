"""KAI Scheduler: PodGroup with nested subgroups, and Topology.

A PodGroup says directly what the hub says: a tree of groups, each with
required and preferred levels. Pods join it by an annotation and name their subgroup by a label.
Beyond KAI's own checks, unknown topologies, unknown levels and a child that is coarser
than its parent are refused, and pods that name no subgroup are reported instead of forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from closeknit.apis.core_v1 import Pod
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.dialect import Dialect, Object, Surroundings
from closeknit.dialects.kai.members import GROUP_ANNOTATION, workload_of
from closeknit.dialects.kai.objects import to_pod_group, to_topology_object
from closeknit.dialects.kai.topologies import problems, to_topology
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
    for group in manifests.of(PodGroup):
        yield from read_pod_group(group, surroundings, unusable)
    for broken in manifests.broken(PodGroup):
        yield Workload(broken.object, DIALECT, request=None, problems=broken.problems)


def _strays(manifests: Manifests) -> Iterator[Located]:
    """Pods that name a PodGroup which is not there: nobody would ever place them."""
    groups: dict[str, set[str]] = {}
    for group in manifests.named(PodGroup):
        groups.setdefault(group.namespace, set()).add(group.name)
    for pod in manifests.of(Pod):
        name = pod.content.metadata.annotations.get(GROUP_ANNOTATION)
        known = groups.get(pod.namespace, set())
        if name and name not in known and pod.content.status.phase not in ("Succeeded", "Failed"):
            message = f"There is no PodGroup {shown(name)} in namespace {shown(pod.namespace)}."
            path = within("metadata.annotations", GROUP_ANNOTATION)
            yield pod.located(Problem(path, f"{message} {suggestion(name, known)}"))


def _again(manifests: Manifests, surroundings: Surroundings) -> Iterator[Object | Located]:
    """Topologies and PodGroups once more, in today's spelling; pods stay as they are."""
    yield from (to_topology_object(to_topology(one.content)) for one in manifests.of(Topology))
    for group in manifests.of(PodGroup):
        for found in read_pod_group(group, surroundings, set()):
            if isinstance(found, Workload) and found.request is not None:
                spec = group.content.spec
                yield to_pod_group(found.request, queue=spec.queue, priority_class=spec.priority_class_name)


def _express(workload: Workload, topologies: Mapping[str, hub.Topology]) -> Iterator[Object]:
    assert workload.request is not None
    name = workload.request.topology
    if name is not None:
        yield to_topology_object(topologies[name])
    yield to_pod_group(workload.request)


KAI = Dialect(
    name=DIALECT,
    kinds=(
        Kind("scheduling.run.ai", "PodGroup", ("v2alpha2",), PodGroup),
        Kind(
            "kai.scheduler",
            "Topology",
            ("v1alpha1", "v1"),
            Topology,
            namespaced=False,
        ),
    ),
    topologies=_topologies,
    workload_of=workload_of,
    workloads=_workloads,
    passed_over={
        "scheduling.run.ai": frozenset({"BindRequest", "Queue"}),
        "kai.scheduler": frozenset({"Config", "SchedulingShard"}),
    },
    translations={"kai": _again},
    express=_express,
)
