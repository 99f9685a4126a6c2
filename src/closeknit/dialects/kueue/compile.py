"""What a Job, JobSet, group of pods or Workload asks for: the ways in which it may run, or what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from closeknit.apis import core_v1
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.core.priority import created
from closeknit.dialects.family import Compiled
from closeknit.dialects.kueue import owners
from closeknit.dialects.kueue.admitted import with_admission
from closeknit.dialects.kueue.flavor_assignment import (
    Admission,
    admissions,
    apart_problems,
    without_queue,
)
from closeknit.dialects.kueue.jobs import read_job, read_job_set
from closeknit.dialects.kueue.made_workloads import KINDS as MADE_KINDS
from closeknit.dialects.kueue.made_workloads import MADE, gang_keys, queues, read_gang, whole
from closeknit.dialects.kueue.pod_groups import read_pod_group
from closeknit.dialects.kueue.queued_workload import QueuedWorkload
from closeknit.dialects.kueue.queues import Queue, priority_in_queue, queue_of
from closeknit.dialects.kueue.topologies import FAMILY
from closeknit.dialects.kueue.workload_objects import is_over, read_workload
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem, parted
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.workload import Workload, WorkloadBase

_KINDS = ("Job", "JobSet", "Pod")
"""What queues; of two that have one name, the later is reported."""


@dataclass(frozen=True, slots=True)
class Nominated:
    """Something that queues, with the flavors that it may be admitted with."""

    queued: QueuedWorkload
    queue: Queue | None
    admissions: tuple[Admission, ...]
    """Empty where something is wrong with it."""
    workload: Workload
    problems: tuple[Problem, ...] = ()
    elsewhere: tuple[Reported, ...] = ()
    """What is wrong with its Workload object."""


def compile_queued(stored: Stored[Any], view: View) -> Compiled:
    """What an object that queues asks for, each gang by itself, or the group whose first pod this is."""
    every = nominations(stored, view)
    holdings = (
        Holding(
            each.queued.name,
            node,
            pod_set.shape.resources,
            pods,
            pod_set.shape.host_ports,
            pod_set.shape.neighbour,
        )
        for each in every
        for pod_set in each.queued.pod_sets
        for node, pods in Counter(slot.node for slot in pod_set.slots if slot.held).items()
    )
    return Compiled(
        workloads=tuple(each.workload for each in every),
        problems=tuple(dict.fromkeys(problem for each in every for problem in each.problems)),
        elsewhere=tuple(problem for each in every for problem in each.elsewhere),
        holdings=tuple(holdings),
    )


def nominations(stored: Stored[Any], view: View) -> tuple[Nominated, ...]:
    """All that queues as an object: itself, its gangs, or for the first pod of a group, the group."""
    found = (view.derive(nominate, key) for key in queued_keys(stored, view))
    return tuple(each for each in found if each is not None)


def queued_keys(stored: Stored[Any], view: View) -> tuple[Key, ...]:
    """Under which keys something queues as an object."""
    if stored.shape in MADE:
        return gang_keys(stored, view)
    if not isinstance(stored.content, core_v1.Pod):
        return (stored.key,)
    group = owners.owner_of(stored)
    if group is None or group.kind != "Pod":
        return ()
    pods = view.derive(owners.group_pods, group)
    return (group,) if pods and pods[0].stored.key == stored.key else ()


def nominate(view: View, key: Key) -> Nominated | None:
    """What queues under this key, with all that was found out about it; None where nothing does."""
    queued = view.derive(queued_workload, key)
    if queued is None or queued.finished:
        return None
    elsewhere: tuple[Reported, ...] = ()
    own = list(queued.problems)
    stored = view.get(key) if key.kind == "Workload" else owners.workload_of(view, key)
    if stored is not None and is_over(stored.content):
        return None
    if stored is not None and not (own and key.kind == "Workload"):
        wrong: list[Problem] = []
        queued = with_admission(queued, stored, view, wrong)
        if key.kind == "Workload":
            own.extend(wrong)
        else:
            elsewhere = tuple(map(stored.report, wrong))
    own.extend(_name_problems(queued, view))
    return replace(nominated(queued, view, own), elsewhere=elsewhere)


def queued_workload(view: View, key: Key) -> QueuedWorkload | None:
    """The pod sets of what queues under this key, without what its Workload object says of it."""
    if key.kind == "Workload":
        workload = view.get(key)
        if (
            workload is None
            or owners.is_spare(view, workload)
            or view.derive(owners.maker_of, key) is not None
        ):
            return None
        return read_workload(workload, owners.pods_of_owner(view, owners.workload_owner(workload), key))
    if key.kind in MADE_KINDS:
        maker, number = whole(key)
        made = view.get(maker)
        if made is None or not queues(made, view):
            return None
        workload = owners.workload_of(view, key)
        pods = owners.pods_of_owner(view, maker, workload.key if workload is not None else None)
        return read_gang(made, number, pods)
    stored = owners.queued_object(view, key)
    if stored is None:
        return None
    if key.kind == "Pod":
        group = owners.workload_of(view, key)
        return read_pod_group(key.name, view.derive(owners.group_pods, key), group)
    workload = owners.workload_of(view, key)
    pods = owners.pods_of_owner(view, key, workload.key if workload is not None else None)
    return read_job(stored, pods) if key.kind == "Job" else read_job_set(stored, pods)


def _name_problems(queued: QueuedWorkload, view: View) -> Iterator[Problem]:
    """Another kind that queues under the same name, and comes first."""
    name = queued.holder or queued.object.name
    for kind in _KINDS:
        if kind == queued.object.kind:
            return
        other = view.derive(queued_workload, owners.queued_key(kind, queued.object.namespace, name))
        if other is not None and not other.finished:
            yield sentences.BOTH_QUEUE.at(("metadata", "name"), kind=kind)
            return


def nominated(queued: QueuedWorkload, view: View, own: list[Problem]) -> Nominated:
    """All ways to run; ``own`` is what is wrong with it already."""
    priority = priority_in_queue(queued, view, own)
    since = created(queued.stored, own)
    queue = queue_of(queued, view, own)
    made: list[Admission] = []
    if not parted(own)[0] and not queued.stored.problems:
        if queue is not None:
            wrong: list[Problem] = []
            made = admissions(queued, queue, view, wrong)
            own.extend(wrong)
        else:
            made = without_queue(queued, view.derive(topologies_of, FAMILY))
            if not made:
                own.append(sentences.NO_TOPOLOGY_FITS.at(queued.queue_path))
    if parted(own)[0] and queue is not None:
        own.extend(apart_problems(queued, queue))
    found, notes = parted(dict.fromkeys(own))
    problems = (*queued.stored.problems, *found)
    made = [] if problems else _running_on(made, queued, view)
    base = WorkloadBase(
        queued.object,
        FAMILY,
        priority=priority,
        created=since,
        admitted=queued.flavors is not None,
        maker=queued.stored.key,
        options=tuple(each.option for each in made),
        queue=queue.name if queue is not None else "",
        strict=queue is not None and queue.strict,
        notes=notes,
    )
    workload = base.placeable(made[0].option.request) if made else base.invalid(problems)
    return Nominated(queued, queue, tuple(made), workload, found)


def _running_on(made: list[Admission], queued: QueuedWorkload, view: View) -> list[Admission]:
    """What is left of the ways: those of the admission, and of the nodes where pods run, if there are any."""
    taken = queued.flavors or queued.grown_from
    if taken is not None:
        made = [each for each in made if all(each.flavors[name] == of for name, of in taken.items())] or made
    bound = {(each.name, slot.node) for each in queued.pod_sets for slot in each.slots if slot.node}
    nodes = {node: view.get(Key("", "Node", "", node)) for _, node in bound}
    labels = {node: each.content.metadata.labels if each is not None else {} for node, each in nodes.items()}
    left = [
        each
        for each in made
        if all(
            flavor.labels.items() <= labels[node].items()
            for name, node in bound
            for flavor in each.used[name]
        )
    ]
    return left or made
