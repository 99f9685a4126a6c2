"""Groups of plain pods, and single pods, that queue by themselves: their Workload, and their marks.

The first pod of a group acts for it. Pods wait behind Kueue's gates; once their Workload is admitted they are
marked as part of it, and let go like all others. A group that is evicted cannot be stopped, so its pods go.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from closeknit.apis import core_v1
from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.controllers.kueue.conditions import EVICTED, condition, holds, reserves, runs
from closeknit.controllers.runtime.writes import NOTHING, Create, Decision, Delete, Patch, Tell
from closeknit.dialects.core.pods import ReadPod, Stage
from closeknit.dialects.kueue import owners
from closeknit.dialects.kueue.compile import nominated, queued_workload
from closeknit.dialects.kueue.to_workload import workload_object
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Entry
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key


class Observed(NamedTuple):
    """A group of pods."""

    pods: tuple[ReadPod, ...] = ()
    """Empty where a pod does not act for a group."""
    workload: Stored[wire.Workload] | None = None
    wanted: Mapping[str, Any] | None = None
    """The Workload that is made from it; None as long as pods are missing, or something is wrong."""
    sets: tuple[tuple[str, str], ...] = ()
    """By name of a pod, its pod set."""


def is_queued(pod: Entry) -> bool:
    """Whether a pod queues by itself."""
    return isinstance(pod, Stored) and keys.QUEUE in pod.content.metadata.labels


def observe(view: View, key: Key) -> Observed:
    """The group that a pod acts for."""
    stored = view.get(key)
    if stored is None or not is_queued(stored):
        return Observed()
    group = owners.owner_of(stored)
    if group is None or group.kind != "Pod":
        return Observed()
    pods = view.derive(owners.group_pods, group)
    if not pods or pods[0].stored.key != key:
        return Observed()
    workload = owners.workload_of(view, group)
    queued = view.derive(queued_workload, group)
    if queued is None:
        return Observed(pods, workload)
    sets = tuple((slot.name, each.name) for each in queued.pod_sets for slot in each.slots)
    if workload is not None or queued.problems or queued.finished:
        return Observed(pods, workload, None, sets)
    made = workload_object(nominated(queued, view, []))
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.stored.content.metadata.uid}
        for pod in pods
    ]
    return Observed(pods, None, made, sets)


def is_gated(pod: Stored[core_v1.Pod]) -> bool:
    """Whether a pod waits for Kueue."""
    return any(gate.name in (keys.GATE, keys.ADMISSION_GATE) for gate in pod.content.spec.scheduling_gates)


def decide(observed: Observed, _: datetime) -> Decision:
    """What is written of a group of pods, or for it."""
    workload = observed.workload
    if not observed.pods:
        return NOTHING
    if workload is None:
        if observed.wanted is None:
            return NOTHING
        first = observed.pods[0].stored
        name = f"{first.namespace}/{observed.wanted['metadata']['name']}"
        return Decision(
            (Create(observed.wanted), Tell(first.key, "CreatedWorkload", f"Created Workload: {name}"))
        )
    if runs(workload):
        return Decision(tuple(_marks(observed, workload)))
    evicted = condition(workload, EVICTED)
    if reserves(workload) and holds(workload, EVICTED) and evicted is not None:
        gone = [
            pod
            for pod in observed.pods
            if pod.stage in (Stage.OPEN, Stage.RUNNING) and not is_gated(pod.stored)
        ]
        told = [Tell(pod.stored.key, "Stopped", evicted.message) for pod in gone]
        return Decision((*(Delete(pod.stored.key, pod.stored.content.metadata.uid) for pod in gone), *told))
    return NOTHING


def _marks(observed: Observed, workload: Stored[wire.Workload]) -> list[Patch]:
    """Mark the pods of an admitted group, by which they are found and let go."""
    sets = dict(observed.sets)
    made = []
    for pod in observed.pods:
        metadata = pod.stored.content.metadata
        name = sets.get(pod.name)
        if (
            name is None
            or not is_gated(pod.stored)
            or metadata.annotations.get(keys.WORKLOAD) == workload.name
        ):
            continue
        marks = {"labels": {keys.POD_SET: name}, "annotations": {keys.WORKLOAD: workload.name}}
        made.append(Patch(pod.stored.key, {"metadata": marks}, uid=metadata.uid))
    return made
