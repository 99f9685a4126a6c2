"""Where a batch waits, and how urgent it is: its queue and its priority."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.family import Surroundings
from closeknit.dialects.kueue.batches import Batch
from closeknit.dialects.kueue.queues import Queue, Queues
from closeknit.dialects.store.view import View
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown, suggestion


@dataclass(frozen=True, slots=True)
class World:
    """What batches are read against."""

    manifests: View
    surroundings: Surroundings
    queues: Queues
    nodes: Mapping[str, Mapping[str, str]]
    """The labels of each."""
    priorities: Mapping[str, int]


def queue_of(batch: Batch, world: World, found: list[Problem]) -> Queue | None:
    """The ClusterQueue behind the name that a batch gives; None where it must do without."""
    queues, lenient = world.queues, world.surroundings.lenient
    path, namespace = batch.queue_path, batch.object.namespace
    known = sorted(name for space, name in queues.local if space == namespace)
    existing = {one.name for one in world.manifests.keys(wire.LocalQueue) if one.namespace == namespace}
    if not batch.queue:
        said = "A topology is asked for, but no queue is named, so Kueue would not look at it."
        if not lenient:
            found.append(as_told(path, f"{said} {suggestion('', known)}"))
        return None
    local = queues.local.get((namespace, batch.queue))
    if local is None:
        if not lenient and batch.queue not in existing:
            message = f"There is no LocalQueue {shown(batch.queue)} in namespace {shown(namespace)}."
            elsewhere = sorted(space for space, name in queues.local if name == batch.queue)
            remedy = suggestion(batch.queue, known)
            if elsewhere:
                remedy = (
                    f"There is one in {shown(elsewhere[0])}; a workload uses the queues of its own namespace."
                )
            elif not known:
                remedy = "Give it as well, with its ClusterQueue and ResourceFlavors."
            found.append(as_told(path, f"{message} {remedy}"))
        elif batch.queue in existing:
            found.append(as_told(path, f"LocalQueue {shown(batch.queue)} has problems of its own."))
        return None
    queue = queues.cluster.get(local.spec.cluster_queue)
    if queue is None:
        if not lenient:
            said = f"LocalQueue {shown(batch.queue)} leads to no ClusterQueue that can be used."
            found.append(as_told(path, f"{said} Correct it first."))
        return None
    stop = local.spec.stop_policy
    stopped = f"its stopPolicy is {stop}" if stop in ("Hold", "HoldAndDrain") else ""
    # Who is admitted already does not wait for the queue to go on.
    if batch.admitted is None and (stopped or queue.inactive):
        who = f"LocalQueue {shown(batch.queue)}" if stopped else f"ClusterQueue {shown(queue.name)}"
        found.append(as_told(path, f"{who} is not active: {stopped or queue.inactive}."))
    return queue


def priority_of(
    batch: Batch, classes: Mapping[str, int], surroundings: Surroundings, found: list[Problem]
) -> int:
    """Its priority: a number where it gives one; else Kueue's own class goes before the pods'."""
    if batch.priority is not None:
        return batch.priority
    unknown: list[Problem] = []
    priority = 0
    if batch.priority_class:
        path = within("metadata.labels", keys.PRIORITY_CLASS)
        if batch.object.kind == "Workload":
            path = "spec.priorityClassRef.name"
        if batch.priority_class not in classes:
            message = f"There is no WorkloadPriorityClass {shown(batch.priority_class)}."
            unknown.append(as_told(path, f"{message} {suggestion(batch.priority_class, classes)}"))
        priority = classes.get(batch.priority_class, 0)
    else:
        named = next((each for each in batch.pod_sets if each.priority_class), None)
        path = f"{named.path}.spec.priorityClassName".lstrip(".") if named is not None else ""
        name = named.priority_class if named is not None else ""
        priority = surroundings.priorities.named(name, path, unknown, {})
    found.extend(() if surroundings.lenient else unknown)
    return priority
