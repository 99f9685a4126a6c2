"""PodGroups as workloads: any ``minCount`` of the pods that name one, on nodes with one value of a label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from closeknit.apis.core_v1 import Pod
from closeknit.apis.scheduling_k8s_io_v1alpha2 import PodGroup
from closeknit.dialects.core.assumed_pods import (
    Assumed,
    MissingPods,
    assumed_pods,
    pods_missing,
    pods_not_there,
    too_few_given,
)
from closeknit.dialects.core.minimum_members import equal_pods, pods_of_leaf
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.notes import instead_of, not_in_sight
from closeknit.dialects.core.pods import MOST_PODS, ReadPod, Stage, by_rank, pod_problems
from closeknit.dialects.core.priority import NEVER, created, preempts, priority_of
from closeknit.dialects.family import Compiled
from closeknit.dialects.kubernetes.rules import GROUP, GROUP_MODE, reference_problems, term_problems
from closeknit.dialects.kubernetes.topologies import by_key, keys_of
from closeknit.dialects.ownership import claim_of, exists, pod_of, pods_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem, parted
from closeknit.hub.request import Group, Request
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kai as counting
from closeknit.hub.sentences import kubernetes as sentences
from closeknit.hub.workload import RunningPod, Workload, WorkloadBase

FAMILY = "kubernetes"
_LEAF = "pods"
_MINIMUM: Path = ("spec", "schedulingPolicy", "gang", "minCount")


def owner_of(pod: Stored[Pod]) -> Key | None:
    """The PodGroup that a pod names as its own."""
    group = pod.content.spec.scheduling_group.pod_group_name
    return Key(GROUP, "PodGroup", pod.namespace, group) if group else None


def check_pod(pod: Stored[Pod], view: View) -> Iterator[Problem]:
    """A pod whose PodGroup is not there: nobody places it until it is."""
    claim = claim_of(view, pod.key)
    read = view.derive(pod_of, pod.key)
    if claim.family != FAMILY or exists(view, claim.key) or read is None or read.stage is not Stage.OPEN:
        return
    path, name = ("spec", "schedulingGroup", "podGroupName"), claim.key.name
    remedy = instead_of(name, view, lambda: _pod_groups(view, pod.namespace))
    unknown = core.NOT_FOUND.at(path, kind="PodGroup", name=name, remedy=remedy)
    yield not_in_sight(unknown, view, remedy.allowed)


def compile_pod_group(stored: Stored[PodGroup], view: View) -> Compiled:
    """The workload of a PodGroup with its pods, assumed where a file gives none."""
    spec, name = stored.content.spec, workload_name(stored.namespace, stored.name)
    own = [*term_problems(spec, ("spec",)), *reference_problems(spec, stored.namespace, view)]
    since = created(stored, own)
    assumed = assumed_pods(stored.content.metadata.annotations, lambda: [_LEAF], own)
    pods = pods_of(view, stored.key, FAMILY)
    priority = _priority(stored, view, pods, own)
    if spec.resource_claims:
        own.append(sentences.CLAIMS_NOT_COUNTED.at(("spec", "resourceClaims")))
    of_pods = tuple(pod_problems(pods))
    problems, notes = parted(own)
    own = list(problems)
    gang = spec.scheduling_policy.gang
    minimum = gang.min_count if gang is not None else 1
    root: Group | MissingPods | Problem | None = None
    if not (own or of_pods or stored.problems):
        in_files = view.schedulers is None and not stored.live
        root = _members(name, minimum, pods, assumed if in_files else None)
    if isinstance(root, Problem | MissingPods):
        if view.schedulers is None and stored.live:
            there = sum(pod.stage in (Stage.OPEN, Stage.RUNNING) for pod in pods)
            return Compiled(notes=(pods_not_there(_MINIMUM, minimum, there),))
        own.append(root if isinstance(root, Problem) else root.problem)
    broken = (*stored.problems, *own, *of_pods)
    running = tuple(sorted(RunningPod(name, pod.name) for pod in pods if pod.stage is Stage.RUNNING))
    base = WorkloadBase(
        stored.object,
        FAMILY,
        priority=priority,
        created=since,
        preempts=_preempts(stored, view, pods),
        shrinks=spec.disruption_mode != GROUP_MODE,
        notes=notes,
        running=running,
    )
    workload: Workload
    match root:
        case Group():
            workload = base.placeable(_request(stored, name, root, view))
        case MissingPods(count):
            # The pods are counted only where nothing else is wrong.
            workload = base.incomplete(broken, missing_pods=count)
        case _:
            started = sum(pod.stage in (Stage.RUNNING, Stage.SUCCEEDED) for pod in pods)
            workload = base.invalid(broken, complete=bool(started) and started >= minimum)
    return Compiled((workload,), tuple(own))


def _priority(stored: Stored[PodGroup], view: View, pods: Sequence[ReadPod], found: list[Problem]) -> int:
    """That of the group, by number or by class; where it says nothing, the highest of its pods."""
    spec = stored.content.spec
    if spec.priority is not None:
        return spec.priority
    own = priority_of(view, spec.priority_class_name, ("spec", "priorityClassName"), found)
    of_pods = [pod.stored.content.spec.priority for pod in pods]
    given = [priority for priority in of_pods if priority is not None]
    return max(given) if given and not spec.priority_class_name else own


def _preempts(stored: Stored[PodGroup], view: View, pods: Sequence[ReadPod]) -> bool:
    """By its class; where it has none, unless all of its pods have the preemption policy ``Never``."""
    if stored.content.spec.priority_class_name or not pods:
        return preempts(view, stored.content.spec.priority_class_name)
    return any(pod.stored.content.spec.preemption_policy != NEVER for pod in pods)


def _members(
    name: str, minimum: int, pods: Sequence[ReadPod], assumed: Assumed | None
) -> Group | MissingPods | Problem:
    """The pods of a group, any ``minimum`` of which must run at once; or what is missing.

    Those that run and those that succeeded count. Where none are given and they may be assumed, so many
    are as must run.
    """
    if not pods and assumed is not None:
        if minimum > MOST_PODS:
            return counting.TOO_MANY_ASSUMED.at(_MINIMUM, most=MOST_PODS)
        names = [f"{name.rpartition('/')[2]}-{i}" for i in range(minimum)]
        return equal_pods(_LEAF, name, minimum, assumed.of(_LEAF), names)
    present = sorted(
        (pod for pod in pods if pod.stage in (Stage.RUNNING, Stage.OPEN)),
        key=lambda pod: (pod.stage is Stage.OPEN, by_rank(pod)),
    )
    least = max(minimum - sum(pod.stage is Stage.SUCCEEDED for pod in pods), 0)
    if assumed is not None and all(pod.stage is Stage.RUNNING for pod in present):
        least = min(least, len(present))
    if least > len(present):
        lacking = pods_missing if assumed is None else too_few_given
        return MissingPods(least - len(present), lacking(_MINIMUM, least, len(present)))
    return pods_of_leaf(_LEAF, name, least, present)


def _request(stored: Stored[PodGroup], name: str, pods: Group, view: View) -> Request:
    key = next(keys_of(stored.content.spec), None)
    root = Group(name, pods.members, required=key, minimum=pods.minimum)
    return Request(name, root, view.derive(by_key)[key].name if key is not None else None)


def _pod_groups(view: View, namespace: str) -> Iterator[str]:
    return (key.name for key in view.keys(PodGroup) if key.namespace == namespace)
