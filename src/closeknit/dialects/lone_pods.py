"""Pods that belong to no group and name our scheduler: each is a workload of its own.

A pod that a controller made is one of them, unless the controller is grouped by KAI or could be as
soon as it is read. A pod whose PodGroup is missing is none: it stays pending, and this is said.
"""

from __future__ import annotations

from closeknit.apis.core_v1 import Pod
from closeknit.apis.job_keys import LEADER_WORKER_SET
from closeknit.apis.kai_keys import NODE_POOL
from closeknit.dialects.core.naming import lone_holder, pod_set_name
from closeknit.dialects.core.owner_references import controller_reference, keys_named, owner_named
from closeknit.dialects.core.pods import Stage
from closeknit.dialects.core.priority import NEVER, created, priority_of
from closeknit.dialects.core.time_limits import time_limit
from closeknit.dialects.family import Compiled, Described, Family
from closeknit.dialects.kai import KAI
from closeknit.dialects.kai.node_pools import in_pool
from closeknit.dialects.kai.owners import OWNERS, as_owner, check_pod
from closeknit.dialects.kai.rules import share_problems
from closeknit.dialects.ownership import claim_of, held_back, pod_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem, parted
from closeknit.hub.request import Group, Request
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload

FAMILY = "pods"
SCHEDULERS = frozenset({"closeknit", "kai-scheduler"})
"""The values of ``schedulerName`` that mean us, unless somebody says otherwise."""

_GROUPED = frozenset((kind.group, kind.kind) for kind in KAI.kinds if kind.shape in OWNERS and kind.served)
"""Controllers whose pods wait until the controller itself is known."""


def compile_lone_pod(pod: Stored[Pod], view: View) -> Compiled:
    """What a pod asks for that waits for a node and belongs to no group."""
    schedulers = (view.meant or SCHEDULERS) if view.schedulers is None else view.schedulers
    if pod.content.spec.scheduler_name not in schedulers:
        return Compiled()
    read = view.derive(pod_of, pod.key)
    if read is None or read.stage is not Stage.OPEN or held_back(read, view.schedulers):
        return Compiled()
    claim = claim_of(view, pod.key)
    found: list[Problem] = [*pod.problems, *read.problems]
    found.extend(share_problems(pod.content.metadata.annotations))
    if claim.family:
        astray = list(check_pod(pod, view))
        if not astray:
            return Compiled()
        found.extend(astray)
    elif claim.key != pod.key and _is_grouped(view, pod, claim.key):
        return Compiled()
    priority = _priority(pod, view, found)
    since = created(pod, found)
    problems, notes = parted(found)
    preempts = pod.content.spec.preemption_policy != NEVER
    if problems:
        invalid = InvalidWorkload(
            pod.object,
            FAMILY,
            problems,
            priority=priority,
            created=since,
            notes=notes,
            preempts=preempts,
        )
        return Compiled((invalid,))
    holder = lone_holder(pod.object.kind, pod.namespace, pod.name)
    pool = pod.content.metadata.labels.get(NODE_POOL, "")
    alone = read.shape.pod_set(pod_set_name(pod.name, 1), waiting=(pod.name,))
    workload = PlaceableWorkload(
        pod.object,
        FAMILY,
        Request(holder, in_pool(pool, Group(holder, (alone,)))),
        priority=priority,
        created=since,
        run_seconds=time_limit(pod, (read,)),
        notes=notes,
        preempts=preempts,
    )
    return Compiled((workload,))


def running_alone(view: View, key: Key) -> PlaceableWorkload | None:
    """A pod that has a node and belongs to no group, as the workload that it was; None for any other pod."""
    pod, read = view.get(key), view.derive(pod_of, key)
    if pod is None or read is None or read.stage is not Stage.RUNNING or not read.node or read.problems:
        return None
    claim = claim_of(view, key)
    if claim.family or (claim.key != key and _is_grouped(view, pod, claim.key)):
        return None
    found: list[Problem] = []
    holder = lone_holder(pod.object.kind, pod.namespace, pod.name)
    alone = read.shape.pod_set(pod_set_name(pod.name, 1), bound=(read.node,))
    return PlaceableWorkload(
        pod.object,
        FAMILY,
        Request(holder, Group(holder, (alone,))),
        priority=_priority(pod, view, found),
        created=created(pod, found),
        run_seconds=time_limit(pod, (read,)),
    )


def _priority(pod: Stored[Pod], view: View, found: list[Problem]) -> int:
    priority = pod.content.spec.priority
    if priority is not None:
        return priority
    return priority_of(view, pod.content.spec.priority_class_name, ("spec", "priorityClassName"), found)


def _is_grouped(view: View, pod: Stored[Pod], controller: Key) -> bool:
    """Whether the pod is, or may turn out to be, one of a group that KAI makes of its owner."""
    reference = controller_reference(pod.content.metadata)
    stored = owner_named(view, reference, pod.key.namespace) if reference is not None else None
    if name := pod.content.metadata.labels.get(LEADER_WORKER_SET):
        controller = Key("leaderworkerset.x-k8s.io", "LeaderWorkerSet", pod.namespace, name)
        stored = view.get(controller)
    seen: set[Key] = set()
    while stored is not None and stored.key not in seen:
        seen.add(stored.key)
        if stored.shape in OWNERS and as_owner(stored).is_grouped_by_kai:
            return True
        reference = controller_reference(stored.content.metadata)
        if reference is None:
            return False
        controller = keys_named(reference, pod.key.namespace)[0]
        stored = owner_named(view, reference, pod.key.namespace)
    return stored is None and (controller.group, controller.kind) in _GROUPED


LONE_PODS = Family(
    name=FAMILY,
    kinds=(),
    topologies=lambda _: Described(),
    compile={Pod: compile_lone_pod},
)
