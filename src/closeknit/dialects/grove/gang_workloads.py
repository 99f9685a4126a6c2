"""PodGangs as workloads, where the set that they were made for is not there."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.apis import grove_io_v1alpha1 as grove
from closeknit.apis import scheduler_grove_io_v1alpha1 as wire
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.dialects.core.assumed_pods import assumed_pods
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import ReadPod, Stage
from closeknit.dialects.core.priority import created
from closeknit.dialects.family import Surroundings
from closeknit.dialects.grove.blueprint import MOST_PODS
from closeknit.dialects.grove.gang_requests import gang_request, sorted_in
from closeknit.dialects.grove.gang_rules import gang_constraints, gang_rules
from closeknit.dialects.grove.members import lone_gangs, pods_by_gang
from closeknit.dialects.grove.workloads import DIALECT, pod_problems
from closeknit.dialects.kai.workloads import PRIORITIES
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem, as_told
from closeknit.hub.workload import Workload


@dataclass(frozen=True, slots=True)
class ReadGang:
    """A PodGang with its workload, after all problems of it and its pods."""

    manifest: Stored[wire.PodGang]
    workload: Workload
    problems: tuple[Reported, ...]


def read_gangs(manifests: View, surroundings: Surroundings) -> Iterator[ReadGang]:
    """Every PodGang that is a workload itself."""
    lone = list(lone_gangs(manifests))
    if not lone:
        return
    labelled = pods_by_gang(surroundings.pods)
    every = {(pod.manifest.namespace, pod.name): pod for pods in surroundings.pods.values() for pod in pods}
    unusable = {
        one.name
        for shape in (Topology, grove.ClusterTopology, grove.ClusterTopologyBinding)
        for one in manifests.keys(shape)
    } - surroundings.topologies.keys()
    for manifest in lone:
        pods = {pod.name: pod for pod in labelled.get(workload_name(manifest.namespace, manifest.name), ())}
        for group in manifest.content.spec.podgroups:
            for reference in group.pod_references:
                if (found := every.get((manifest.namespace, reference.name))) is not None:
                    pods[found.name] = found
        yield _read(manifest, surroundings, tuple(pods.values()), unusable)


def _read(
    manifest: Stored[wire.PodGang],
    surroundings: Surroundings,
    pods: tuple[ReadPod, ...],
    unusable: AbstractSet[str],
) -> ReadGang:
    given = manifest.content
    close = gang_constraints(given, surroundings.topologies, unusable)
    own = [*gang_rules(given, manifest.namespace), *close.problems]
    unknown: list[Problem] = []
    priority = surroundings.priorities.named(
        given.spec.priority_class_name, "spec.priorityClassName", unknown, PRIORITIES
    )
    own.extend(() if surroundings.lenient else unknown)
    since = created(manifest, own)
    own.extend(_too_many(given))
    leaves = [group.name for group in given.spec.podgroups]
    not_there = assumed_pods(given.metadata.annotations, leaves, own)
    members, inner = sorted_in(given, pods)
    if not surroundings.lenient:
        inner.extend((pod, each) for pod in pods if pod.stage is Stage.OPEN for each in pod.unsayable)
    of_pods = [as_told(f"Pod {pod.name}: {each.where}", each.message) for pod, each in inner]
    broken = [*manifest.problems, *own, *pod_problems(pods), *of_pods]
    name = workload_name(manifest.namespace, manifest.name)
    workload = Workload(
        object=manifest.object,
        dialect=DIALECT,
        request=None
        if broken
        else gang_request(given, name, close.topology, close.levels, members, not_there=not_there),
        problems=tuple(broken),
        priority=priority,
        created=since,
    )
    located = [manifest.report(problem) for problem in own]
    located.extend(pod.manifest.report(problem) for pod, problem in inner)
    return ReadGang(manifest, workload, tuple(located))


def _too_many(given: wire.PodGang) -> Iterator[Problem]:
    pods = sum(max(group.min_replicas, len(group.pod_references)) for group in given.spec.podgroups)
    if pods > MOST_PODS:
        message = f"These would be {pods} pods in all. At most {MOST_PODS} are placed for one PodGang."
        yield as_told("spec.podgroups", message)
