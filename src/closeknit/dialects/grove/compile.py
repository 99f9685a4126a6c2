"""PodCliqueSets and PodGangs as workloads: each with its request, or with all that is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from closeknit.apis.grove_io_v1alpha1 import ClusterTopology, ClusterTopologyBinding, PodCliqueSet
from closeknit.apis.kai_scheduler_v1alpha1 import Topology as KaiTopology
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.dialects.compiling import known_topologies
from closeknit.dialects.core.assumed_pods import assumed_pods
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import ReadPod, pod_problems
from closeknit.dialects.core.priority import created, preempts, priority_of
from closeknit.dialects.family import Compiled
from closeknit.dialects.grove.blueprint import Blueprint, blueprint_of
from closeknit.dialects.grove.gang_rules import gang_constraints, gang_rules, size_problems
from closeknit.dialects.grove.gang_to_request import gang_request, lacking, pods_by_group
from closeknit.dialects.grove.owners import deployment_notes, is_handed_on, is_on_its_own, pods_made_for
from closeknit.dialects.grove.to_pod_groups import is_for_kai, judged_queue
from closeknit.dialects.grove.to_request import to_request
from closeknit.dialects.kai.terms import PRIORITIES
from closeknit.dialects.ownership import pod_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.many_problems import first_of
from closeknit.hub.problems import Problem, parted
from closeknit.hub.sentences import grove
from closeknit.hub.workload import WorkloadBase

DIALECT = "grove"


def compile_pod_clique_set(stored: Stored[PodCliqueSet], view: View) -> Compiled:
    """The workload of a PodCliqueSet, unless PodGroups were made of it already."""
    drawn = view.derive(blueprint_of, stored.key)
    own = list(drawn.problems)
    if is_for_kai(stored.content, view):
        own.extend(judged_queue(stored.content, view))
    path = ("spec", "template", "priorityClassName")
    priority = priority_of(view, stored.content.spec.template.priority_class_name, path, own)
    since = created(stored, own)
    if is_handed_on(view, stored.key):
        return Compiled(problems=tuple(own))
    notes = (*drawn.notes, *deployment_notes(view, stored))
    across = drawn.blueprint is not None and drawn.blueprint.holds_across_gangs
    told = (grove.ACROSS_GANGS.at(("spec", "template", "topologyConstraint")),) if across else ()
    base = WorkloadBase(
        stored.object,
        DIALECT,
        priority=priority,
        preempts=preempts(view, stored.content.spec.template.priority_class_name),
        created=since,
        notes=notes,
        if_left_out=told,
    )
    pods = pods_made_for(view, stored.key)
    return with_request(base, stored, own, drawn.blueprint, pods, judging=view.judging)


def with_request(
    base: WorkloadBase,
    stored: Stored[Any],
    own: Sequence[Problem],
    made: Blueprint | None,
    pods: Sequence[ReadPod],
    *,
    judging: bool,
) -> Compiled:
    """A workload with the request of a blueprint, unless something is wrong with its object or its pods.

    Where a valid object is only judged, its notes are all that there is.
    """
    broken, notes = parted((*stored.problems, *own, *pod_problems(pods)))
    base = replace(base, notes=(*base.notes, *notes))
    if judging and not broken:
        return Compiled((), tuple(own), notes=base.notes)
    if broken or made is None:
        return Compiled((base.invalid(broken),), tuple(own))
    return Compiled((base.placeable(to_request(made, pods)),), tuple(own))


def compile_pod_gang(stored: Stored[PodGang], view: View) -> Compiled:
    """The workload of a PodGang that is one itself, and what is wrong with its pods."""
    return view.derive(compiled_gang, stored.key)


def compiled_gang(view: View, key: Key) -> Compiled:
    """What a PodGang in the store asks for; nothing where a set or a PodGroup asks for the same pods."""
    stored = view.get(key)
    if stored is None or not is_on_its_own(view, stored):
        return Compiled()
    given: PodGang = stored.content
    known = view.derive(known_topologies, DIALECT, KaiTopology, ClusterTopology, ClusterTopologyBinding)
    close = gang_constraints(given, known)
    own = [*first_of(gang_rules(given, stored.namespace)), *close.problems]
    path = ("spec", "priorityClassName")
    priority = priority_of(view, given.spec.priority_class_name, path, own, PRIORITIES)
    since = created(stored, own)
    own.extend(size_problems(given))
    not_there = assumed_pods(
        given.metadata.annotations, lambda: [group.name for group in given.spec.podgroups], own
    )
    pods = _pods_of_gang(stored, view)
    of_pods: list[tuple[ReadPod, Problem]] = []
    members = pods_by_group(given, pods, of_pods)
    of_members = (problem.of("Pod", pod.name) for pod, problem in of_pods)
    broken, notes = parted((*stored.problems, *own, *pod_problems(pods), *of_members))
    elsewhere = tuple(pod.stored.report(problem) for pod, problem in of_pods)
    base = WorkloadBase(
        stored.object,
        DIALECT,
        priority=priority,
        preempts=preempts(view, given.spec.priority_class_name),
        created=since,
        notes=(*close.notes, *notes),
    )
    if broken:
        return Compiled((base.invalid(broken),), tuple(own), elsewhere)
    if view.judging:
        return Compiled((), tuple(own), elsewhere, notes=base.notes)
    if stored.live and (awaited := tuple(lacking(given, members))):
        return Compiled((), tuple(own), elsewhere, notes=awaited)
    name = workload_name(stored.namespace, stored.name)
    assumed = None if stored.live else not_there
    request = gang_request(given, name, close, members, not_there=assumed)
    return Compiled((base.placeable(request),), tuple(own), elsewhere)


def _pods_of_gang(stored: Stored[PodGang], view: View) -> tuple[ReadPod, ...]:
    """The pods that name a gang, and those that it refers to."""
    pods = {pod.name: pod for pod in pods_made_for(view, stored.key)}
    if view.judging:
        return tuple(pods.values())
    for group in stored.content.spec.podgroups:
        for reference in group.pod_references:
            found = view.derive(pod_of, Key("", "Pod", stored.namespace, reference.name))
            if found is not None and not found.lost:
                pods[found.name] = found
    return tuple(pods.values())
