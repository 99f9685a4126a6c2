"""What Kueue makes of what queues: the Workload, the Job or JobSet ready to start, and its gated pods."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from closeknit.apis import job_keys
from closeknit.dialects.core.kinds import new_object, owner_references
from closeknit.dialects.family import Object, Rendered
from closeknit.dialects.kueue.compile import Nominated, nominations
from closeknit.dialects.kueue.flavor_assignment import Admission
from closeknit.dialects.kueue.made_workloads import MADE, suspended
from closeknit.dialects.kueue.owners import workload_owner
from closeknit.dialects.kueue.queued_workload import QueuedPodSet
from closeknit.dialects.kueue.to_started import started, template_of
from closeknit.dialects.kueue.to_workload import workload_object
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View


def render_kueue(stored: Stored[Any], view: View) -> Rendered:
    """The Workload, and the Job or JobSet as it waits: suspended, in today's words.

    The flavor shown is the first that the queue offers; pods are gated, because nobody has
    placed them yet.
    """
    every = _nominated(stored, view)
    made = [workload_object(each) for each in every]
    if every and stored.shape in MADE:
        made.append(suspended(stored))
    elif every and every[0].queued.object.kind in ("Job", "JobSet"):
        waiting = started(every[0], every[0].admissions[0], {})
        waiting["spec"]["suspend"] = True
        made.append(waiting)
    return Rendered(tuple(made))


def render_pods(stored: Stored[Any], view: View) -> Rendered:
    """The pods of a Job, JobSet or Workload that do not run yet, gated."""
    every = _nominated(stored, view)
    return Rendered(tuple(pod for each in every for pod in _gated_pods(each, each.admissions[0])))


def _nominated(stored: Stored[Any], view: View) -> list[Nominated]:
    """What queues as an object, and can be admitted."""
    return [each for each in nominations(stored, view) if each.admissions]


def _gated_pods(nominated: Nominated, admission: Admission) -> Iterator[Object]:
    """One pod for each that does not run yet, as its controller would make it."""
    owner = nominated.queued.object
    for pod_set in nominated.queued.pod_sets:
        template = template_of(nominated, pod_set, admission, None)
        metadata = template["metadata"]
        each = pod_set.count // pod_set.replicas
        for rank, slot in enumerate(pod_set.slots):
            if slot.node:
                continue
            made: Object = {
                "name": slot.name,
                "namespace": owner.namespace,
                "labels": {**metadata["labels"], **_maker_labels(nominated, pod_set, *divmod(rank, each))},
                "annotations": dict(metadata["annotations"]),
            }
            if owner.kind == "Job":
                uid = nominated.queued.stored.content.metadata.uid
                made |= owner_references(owner.api_version, owner.kind, owner.name, uid)
            yield new_object("v1", "Pod", made, copy.deepcopy(template["spec"]))


def _maker_labels(nominated: Nominated, pod_set: QueuedPodSet, job: int, index: int) -> dict[str, str]:
    """The labels that the Job controllers give a pod, by which it is known as theirs."""
    owner = nominated.queued.key
    if owner.kind == "Workload":
        owner = workload_owner(nominated.queued.stored)
    kind, name = owner.kind, owner.name
    labels: dict[str, str] = {}
    if kind == "Job":
        labels[job_keys.JOB_NAME] = name
    if pod_set.index_label:
        labels[pod_set.index_label] = str(index)
    if pod_set.sub_index_label:
        labels[pod_set.sub_index_label] = str(job)
    if kind == "JobSet":
        labels |= {
            job_keys.JOB_NAME: f"{name}-{pod_set.name}-{job}",
            job_keys.JOB_SET: name,
            job_keys.REPLICATED_JOB: pod_set.name,
        }
    return labels
