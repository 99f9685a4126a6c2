"""Where a workload waits, and how urgent it is: its queue and its priority."""

from __future__ import annotations

from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.core.priority import priority_of
from closeknit.dialects.kueue.queued_workload import QueuedWorkload
from closeknit.dialects.kueue.queues import STOPPED, Queue, cluster_queue
from closeknit.dialects.kueue.topologies import kueue_key
from closeknit.dialects.store.view import View
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem, shown, suggestion
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kueue as sentences


def queue_of(queued: QueuedWorkload, view: View, found: list[Problem]) -> Queue | None:
    """The ClusterQueue behind the name that a workload gives; None where it must do without."""
    path, name = queued.queue_path, queued.queue
    key = kueue_key("LocalQueue", name, queued.object.namespace)
    local = view.get(key) if name else None
    if local is None:
        if name and view.has(key):
            found.append(sentences.LOCAL_QUEUE_UNUSABLE.at(path, queue=name))
        elif not view.lenient:
            found.append(_no_local_queue(queued, view))
        return None
    queue = view.derive(cluster_queue, local.content.spec.cluster_queue)
    if queue is None:
        if not view.lenient:
            found.append(sentences.LEADS_NOWHERE.at(path, queue=name))
        return None
    stop = local.content.spec.stop_policy
    # Who is admitted already does not wait for the queue to go on.
    if queued.flavors is None and stop in STOPPED:
        reason = f"its stopPolicy is {stop}"
        found.append(sentences.QUEUE_NOT_ACTIVE.at(path, kind="LocalQueue", queue=name, reason=reason))
    elif queued.flavors is None and queue.inactive:
        facts = {"kind": "ClusterQueue", "queue": queue.name, "reason": queue.inactive}
        found.append(sentences.QUEUE_NOT_ACTIVE.at(path, **facts))
    return queue


def _no_local_queue(queued: QueuedWorkload, view: View) -> Problem:
    path, name, namespace = queued.queue_path, queued.queue, queued.object.namespace
    queues = view.of(wire.LocalQueue)
    known = sorted(each.name for each in queues if each.namespace == namespace)
    if not name:
        return sentences.NO_QUEUE_NAMED.at(path, remedy=OneOf.among("", known))
    remedy = (
        suggestion(name, known) if known else "Give it as well, with its ClusterQueue and ResourceFlavors."
    )
    if elsewhere := sorted(each.namespace for each in queues if each.name == name):
        remedy = f"There is one in {shown(elsewhere[0])}; a workload uses the queues of its own namespace."
    return sentences.NO_LOCAL_QUEUE.at(path, queue=name, namespace=namespace, remedy=remedy)


def priority_in_queue(queued: QueuedWorkload, view: View, found: list[Problem]) -> int:
    """Its priority: a number where it gives one; else Kueue's own class goes before the pods'."""
    if queued.priority is not None:
        return queued.priority
    if queued.priority_class:
        return _workload_priority(queued, view, found)
    named = next((each for each in queued.pod_sets if each.priority_class), None)
    path: Path = (*named.path, "spec", "priorityClassName") if named is not None else ()
    return priority_of(view, named.priority_class if named is not None else "", path, found)


def _workload_priority(queued: QueuedWorkload, view: View, found: list[Problem]) -> int:
    name = queued.priority_class
    stored = view.get(kueue_key("WorkloadPriorityClass", name))
    if stored is not None:
        return int(stored.content.value)
    path: Path = ("metadata", "labels", keys.PRIORITY_CLASS)
    if queued.object.kind == "Workload":
        path = ("spec", "priorityClassRef", "name")
    if not view.lenient:
        known = [each.name for each in view.of(wire.WorkloadPriorityClass)]
        kind, remedy = "WorkloadPriorityClass", OneOf.among(name, known)
        found.append(core.NOT_FOUND.at(path, kind=kind, name=name, remedy=remedy))
    return 0
