"""PodGroups as workloads: each with its request, or with everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.apis import scheduling_run_ai_v2alpha2 as wire
from closeknit.dialects.core.assumed_pods import Assumed, assumed_pods
from closeknit.dialects.core.minimum_members import Crew
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import ReadPod, Stage
from closeknit.dialects.core.priority import created
from closeknit.dialects.family import Surroundings
from closeknit.dialects.kai.constraints import Constraints, constraints
from closeknit.dialects.kai.further_fields import field_problems
from closeknit.dialects.kai.members import DEFAULT, assumed, given, share_problems, subgroup_of
from closeknit.dialects.kai.queues import NO_QUEUES, Queues
from closeknit.dialects.kai.subgroups import Tree, tree
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.hub.problems import Problem, as_told
from closeknit.hub.request import Group, Request
from closeknit.hub.workload import Workload

DIALECT = "kai"
PRIORITIES: Mapping[str, int] = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
"""The classes that KAI's installation brings."""

MOST_ASSUMED = 150_000
"""How many pods may be assumed for one PodGroup: as many as Kubernetes supports in a cluster."""


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """A PodGroup with all that was made of it."""

    workload: Workload
    problems: tuple[Reported, ...]
    """All problems of it and of its pods."""
    request: Request | None
    """What it asks for, also where nothing but its queue is wrong."""


def read_pod_group(
    manifest: Stored[wire.PodGroup],
    surroundings: Surroundings,
    unusable: AbstractSet[str],
    queues: Queues = NO_QUEUES,
) -> ReadGroup:
    """Read a PodGroup and the pods that belong to it.

    ``unusable`` names topologies that exist but have problems of their own. Where
    there are subgroups, a ``minMember`` of the PodGroup itself counts for nothing, as in KAI.
    """
    group = manifest.content
    name = workload_name(manifest.namespace, manifest.name)
    pods = surroundings.pods.get(name, ())
    own: list[Problem] = []
    subgroups = tree(group.spec)
    close = constraints(group.spec, subgroups, surroundings.topologies, unusable)
    own.extend(subgroups.problems)
    own.extend(close.problems)
    own.extend(field_problems(manifest.written))
    wrong_queue = list(queues.problems(group.spec.queue, "spec.queue"))
    priority = _priority(group, surroundings, own)
    since = created(manifest, own)
    leaves = _leaves(group, subgroups)
    not_given = assumed_pods(group.metadata.annotations, [leaf or DEFAULT for leaf in leaves], own)
    members, inner = _sorted_in(pods, name, subgroups, lenient=surroundings.lenient)
    crews = _crews(name, leaves, members, not_given, own)
    broken = [
        *manifest.problems,
        *own,
        *(of_pod(pod, problem) for pod in pods for problem in (*pod.manifest.problems, *pod.problems)),
        *(of_pod(pod, problem) for pod, problem in inner),
    ]
    request = (
        None
        if broken
        else Request(name, root_group(group.spec, name, subgroups, close, crews), close.topology)
    )
    workload = Workload(
        object=manifest.object,
        dialect=DIALECT,
        request=request if not wrong_queue else None,
        problems=(*broken, *wrong_queue),
        priority=priority,
        created=since,
    )
    of_pods = (pod.manifest.report(problem) for pod, problem in inner)
    of_group = (manifest.report(problem) for problem in (*own, *wrong_queue))
    return ReadGroup(workload, (*of_pods, *of_group), request)


def _priority(group: wire.PodGroup, surroundings: Surroundings, found: list[Problem]) -> int:
    unknown: list[Problem] = []
    path = "spec.priorityClassName"
    priority = surroundings.priorities.named(group.spec.priority_class_name, path, unknown, PRIORITIES)
    found.extend(() if surroundings.lenient else unknown)
    return priority


def _sorted_in(
    pods: tuple[ReadPod, ...], group: str, subgroups: Tree, *, lenient: bool
) -> tuple[dict[str, list[ReadPod]], list[tuple[ReadPod, Problem]]]:
    """The pods of each leaf, and what is wrong with pods that fit none or ask what cannot be said."""
    members: dict[str, list[ReadPod]] = {}
    problems: list[tuple[ReadPod, Problem]] = []
    for pod in pods:
        subgroup = subgroup_of(pod, group, subgroups)
        if isinstance(subgroup, str):
            members.setdefault(subgroup, []).append(pod)
        elif pod.stage in (Stage.OPEN, Stage.RUNNING):
            problems.append((pod, subgroup))
        if pod.stage is Stage.OPEN and not lenient:
            problems.extend((pod, problem) for problem in (*pod.unsayable, *share_problems(pod)))
    return members, problems


def _leaves(group: wire.PodGroup, subgroups: Tree) -> dict[str, tuple[str, int]]:
    """Path and minimum of all that has pods: the leaves, or the PodGroup itself if it has no subgroups."""
    if not subgroups.parts:
        return {"": ("spec", 1 if group.spec.min_member is None else max(group.spec.min_member, 0))}
    parts = (subgroups.parts[leaf] for leaf in subgroups.leaves())
    return {part.name: (part.path, max(part.given.min_member or 0, 0)) for part in parts}


def _crews(
    name: str,
    leaves: Mapping[str, tuple[str, int]],
    members: Mapping[str, list[ReadPod]],
    not_given: Assumed,
    found: list[Problem],
) -> dict[str, Crew]:
    """What every leaf consists of, from its pods or, where it has none, assumed."""
    crews: dict[str, Crew] = {}
    room = MOST_ASSUMED
    for leaf, (path, least) in leaves.items():
        if leaf in members:
            made = given(name, leaf, least, members[leaf])
            if isinstance(made, Crew):
                crews[leaf] = made
                continue
            there = "1 is given" if least - made == 1 else f"{least - made} are given"
            message = (
                f"{least} pods must run at once, and {there}. Give {made} more, or none to have them assumed."
            )
            found.append(as_told(f"{path}.minMember", message))
            continue
        room -= least
        if room < 0:
            message = f"Pods are assumed where none are given, but at most {MOST_ASSUMED} for one PodGroup."
            found.append(as_told(f"{path}.minMember", message))
            break
        crews[leaf] = assumed(name, leaf, least, not_given.of(leaf or DEFAULT))
    return crews


def root_group(
    spec: wire.PodGroupSpec, name: str, subgroups: Tree, close: Constraints, crews: Mapping[str, Crew]
) -> Group:
    """The hub's tree; nesting was limited when the subgroups were read."""

    def built(subgroup: str) -> Group:
        children = sorted(subgroups.children[subgroup])
        written = subgroups.parts[subgroup].given if subgroup else spec
        inner = (
            Crew(tuple(built(child) for child in children), written.min_sub_group)
            if children
            else crews[subgroup]
        )
        return Group(
            name=subgroup or name,
            members=inner.members,
            required=close.levels[subgroup].required,
            preferred=close.levels[subgroup].preferred,
            minimum=inner.minimum,
        )

    return built("")


def of_pod(pod: ReadPod, problem: Problem) -> Problem:
    """A problem of a pod, as one of its workload."""
    return as_told(f"Pod {pod.name}: {problem.where}", problem.message)
