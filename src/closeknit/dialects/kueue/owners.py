"""Who belongs to whom: the pods of what queues, and its Workload.

Owner references say it best, but they need the uid that a server gives. What was never on a server says
it by name: in the annotations and labels that Kueue and the Job controllers write anyway.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import Any

from closeknit.apis import core_v1, job_keys
from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.batch_v1 import Job
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.apis.meta_v1 import ObjectMeta, OwnerReference
from closeknit.dialects.core.owner_references import controller_reference, names_kind, owner_named, refers_to
from closeknit.dialects.core.pod_makers import GANGS
from closeknit.dialects.core.pods import ReadPod, by_rank
from closeknit.dialects.kueue.queued_workload import labels_of
from closeknit.dialects.kueue.topologies import FAMILY, kueue_key
from closeknit.dialects.ownership import claim_of, pod_of, pods_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key

ONE_WORKLOAD = (
    *("JAXJob", "MPIJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob", "StatefulSet", "TrainJob"),
    *("RayCluster", "RayJob", "RayService", "SparkApplication", "AppWrapper"),
)
"""Kinds of the table of pod makers that have one Workload each."""
_GROUPS = {
    "Job": "batch",
    "JobSet": "jobset.x-k8s.io",
    "Pod": "",
    **{kind: group for group, kind in GANGS if kind in ONE_WORKLOAD},
}
"""The API groups of the kinds that a Workload is made from."""
_MOST_OWNERS = 8
"""How far the owners of an object are followed."""
_LABELLED = (("", "Pod"), ("batch", "Job"))
"""Controllers of pods that the controller of a Job or JobSet has labelled."""
_KIND = re.compile(r", Kind=(\w+)", re.ASCII)
_BY_LABELS = "kueue pods by the labels of their maker"
_BY_OWNER = "kueue workloads by owner"
_BY_REPLACED = "kueue workloads by the one they replace"
_BY_WORKLOAD = "kueue owners by workload"


def owner_of(pod: Stored[core_v1.Pod]) -> Key | None:
    """The Job, JobSet or Workload that Kueue has marked a pod as part of, or the group of pods it queues in.

    A pod that queues by itself is the only one of the group of its own name. One with a controller does so
    where it was marked at admission, since its controller does not queue.
    """
    labels, annotations = pod.content.metadata.labels, pod.content.metadata.annotations
    controller = controller_reference(pod.content.metadata)
    marked = keys.POD_SET in labels or keys.WORKLOAD in annotations
    if keys.POD_GROUP in labels and keys.QUEUE in labels:
        return queued_key("Pod", pod.namespace, labels[keys.POD_GROUP])
    if marked and (name := labels.get(job_keys.JOB_SET)):
        return queued_key("JobSet", pod.namespace, name)
    if controller is not None and _queues_alone(pod.content.metadata):
        return queued_key("Pod", pod.namespace, pod.name)
    if controller is not None:
        job = marked and names_kind(controller, "batch", "Job")
        return queued_key("Job", pod.namespace, controller.name) if job else None
    if marked and (name := labels.get(job_keys.JOB_NAME)):
        return queued_key("Job", pod.namespace, name)
    if keys.QUEUE in labels:
        return queued_key("Pod", pod.namespace, pod.name)
    if marked and (name := labels.get(job_keys.OLD_JOB_NAME)):
        return queued_key("Job", pod.namespace, name)
    if marked and (name := annotations.get(keys.WORKLOAD)):
        return kueue_key("Workload", name, pod.namespace)
    return None


def workload_owner(workload: Stored[wire.Workload]) -> Key:
    """What a Workload was made from: itself where it does not say.

    A group of pods has many owners, and gives the Workload its name.
    """
    metadata = workload.content.metadata
    owners = metadata.owner_references
    controller = controller_reference(metadata)
    if controller is not None and _is_queued_kind(controller):
        return queued_key(controller.kind, workload.namespace, controller.name)
    if any(names_kind(owner, "", "Pod") for owner in owners):
        return queued_key("Pod", workload.namespace, workload.name)
    kind = _KIND.search(metadata.annotations.get(keys.OWNER_KIND, ""))
    name = metadata.annotations.get(keys.OWNER_NAME, "")
    if not owners and kind is not None and kind[1] in _GROUPS and kind[1] != "Pod" and name:
        return queued_key(kind[1], workload.namespace, name)
    return workload.key


def owner_annotations(api_version: str, kind: str, name: str) -> dict[str, str]:
    """The annotations by which a Workload names its owner."""
    return {keys.OWNER_KIND: f"{api_version}, Kind={kind}", keys.OWNER_NAME: name}


def group_pods(view: View, group: Key) -> tuple[ReadPod, ...]:
    """The pods that queue in a group, or the pod that queues by itself, in the order of their names."""
    pods = (
        pod
        for pod in pods_of(view, group, FAMILY, all_waiting=True)
        if keys.QUEUE in labels_of(pod)
        # The pods of a Job that queues may carry the label of its queue, and do not queue by themselves.
        and (
            controller_reference(pod.stored.content.metadata) is None
            or _queues_alone(pod.stored.content.metadata)
        )
        and (keys.POD_GROUP in labels_of(pod) or pod.name == group.name)
    )
    return tuple(sorted(pods, key=by_rank))


def queued_object(view: View, key: Key) -> Stored[Any] | None:
    """The Job or JobSet of this key, or the first pod of this group, if it queues in Kueue."""
    if key.kind == "Pod":
        group = view.derive(group_pods, key)
        return group[0].stored if group else None
    stored = view.get(key)
    if key.kind in ONE_WORKLOAD:
        return stored
    return stored if stored is not None and queues(view, stored) else None


def queues(view: View, stored: Stored[Any]) -> bool:
    """Whether this is a Job or JobSet that queues in Kueue."""
    # One that is part of something larger which queues, such as a JobSet, queues with it.
    return asks_to_queue(stored.content) and not is_part_of_queued(view, stored)


def is_part_of_queued(view: View, stored: Stored[Any]) -> bool:
    """Whether a controller of an object queues in its place: one that is there, or has its quota.

    A reference is the word of whoever wrote it. In files, where the controller may be omitted, it is taken.
    """
    for _ in range(_MOST_OWNERS):
        reference = controller_reference(stored.content.metadata)
        if reference is None:
            return False
        if not stored.live:
            return True
        if not _is_queued_kind(reference):
            return False
        owner = owner_named(view, reference, stored.key.namespace)
        if owner is None:
            return _has_quota(view, reference, stored.key.namespace)
        if keys.QUEUE in owner.content.metadata.labels:
            return True
        stored = owner
    return False


def _has_quota(view: View, reference: OwnerReference, namespace: str) -> bool:
    """Whether the Workload of an owner of which the kind is not followed was admitted.

    The status of a Workload is written by the operator of Kueue alone.
    """
    return any(
        workload.content.status.admission is not None
        and (controller := controller_reference(workload.content.metadata)) is not None
        and controller.uid == reference.uid
        for workload in view.found(_BY_OWNER, queued_key(reference.kind, namespace, reference.name))
    )


def _queues_alone(metadata: ObjectMeta) -> bool:
    """Whether a pod was marked at admission because no controller of it queues."""
    return keys.QUEUE in metadata.labels and metadata.labels.get(keys.MANAGED) == "true"


def asks_to_queue(content: object) -> bool:
    """Whether a Job or JobSet names a queue, or asks for a topology in Kueue's words."""
    if isinstance(content, Job):
        return _speaks_to_kueue(content.metadata, content.spec.template.metadata)
    if isinstance(content, JobSet):
        inner = [
            metadata
            for each in content.spec.replicated_jobs
            for metadata in (each.template.metadata, each.template.spec.template.metadata)
        ]
        return _speaks_to_kueue(content.metadata, *inner)
    return False


def pods_of_owner(view: View, owner: Key, workload: Key | None) -> tuple[ReadPod, ...]:
    """The pods of a Job, JobSet or Workload, each once.

    Kueue has marked them, or they have it as their controller, or its controller has labelled them. Those
    that wait for their gate count, since it is Kueue's own.
    """
    marked = pods_of(view, owner, FAMILY, all_waiting=True)
    if workload is not None and workload != owner:
        for key in _slices(view, workload):
            marked += pods_of(view, key, FAMILY, all_waiting=True)
    return (*marked, *pods_of(view, owner, "", all_waiting=True), *_labelled(view, owner))


def workload_of(view: View, owner: Key) -> Stored[wire.Workload] | None:
    """The Workload of what queues: one that names it, or one without an owner that it names."""
    wanted = view.derive(_wanted, owner)
    if wanted is None or view.derive(maker_of, wanted) != owner:
        return None
    return view.get(wanted)


def maker_of(view: View, workload: Key) -> Key | None:
    """What queues and has this Workload: the first that wants it, Jobs before JobSets before groups."""
    stored = view.get(workload)
    if stored is None:
        return None
    owner = workload_owner(stored)
    claimants = [owner, queued_key("Pod", stored.namespace, stored.name)]
    for value in (workload, *_uid(stored.namespace, stored.content.metadata.labels.get(keys.JOB_UID, ""))):
        naming = view.found(_BY_WORKLOAD, value)
        for shape in (Job, JobSet):
            claimants.extend(each.key for each in naming if each.shape is shape)
        groups = (owner_of(each) for each in naming if each.shape is core_v1.Pod)
        claimants.extend(group for group in groups if group is not None)
    return next((each for each in claimants if view.derive(_wanted, each) == workload), None)


def is_spare(view: View, workload: Stored[wire.Workload]) -> bool:
    """Whether another Workload speaks for the same owner."""
    first, *_ = view.found(_BY_OWNER, workload_owner(workload))
    return _latest(view, first.key) != workload.key


def is_replaced(view: View, workload: Key) -> bool:
    """Whether it has grown: another Workload of its owner takes its place once that is admitted."""
    return _latest(view, workload) != workload


def slice_before(view: View, workload: Stored[wire.Workload]) -> Stored[wire.Workload] | None:
    """The Workload whose place this one takes once it is admitted."""
    return next((view.get(key) for key in _replaced(workload)), None)


def _slices(view: View, workload: Key) -> Iterator[Key]:
    """A Workload and those before it, whose places it takes; each once, even if they name each other."""
    seen: set[Key] = set()
    while workload not in seen:
        seen.add(workload)
        yield workload
        stored = view.get(workload)
        before = slice_before(view, stored) if stored is not None else None
        workload = before.key if before is not None else workload


def _replaced(workload: Stored[wire.Workload]) -> Iterator[Key]:
    """Kueue calls both slices of one elastic workload."""
    namespace, _, name = workload.content.metadata.annotations.get(keys.REPLACES, "").rpartition("/")
    if name and namespace in ("", workload.namespace):
        yield kueue_key("Workload", name, workload.namespace)


def _latest(view: View, workload: Key) -> Key:
    """The Workload that speaks for an elastic one: the last of those that replace one another.

    Where they do so in a circle, each speaks for itself.
    """
    seen = [workload]
    while found := [each.key for each in view.found(_BY_REPLACED, seen[-1])]:
        following = next((key for key in found if key not in seen), None)
        if following is None:
            return workload
        seen.append(following)
    return seen[-1]


def _wanted(view: View, owner: Key) -> Key | None:
    """The Workload that something that queues would take."""
    stored = queued_object(view, owner)
    if stored is None:
        return None
    metadata = stored.content.metadata
    named = [kueue_key("Workload", owner.name, owner.namespace)] if owner.kind == "Pod" else []
    named.extend(_workloads_named(stored))
    ownerless = (each for key in named if (each := view.get(key)) and workload_owner(each) == key)
    known = (each for value in _uid(stored.namespace, metadata.uid) for each in view.found(_BY_OWNER, value))
    by_owner = (each for each in view.found(_BY_OWNER, owner) if _can_be_of(each, stored))
    every = (*by_owner, *ownerless, *known)
    return next((_latest(view, each.key) for each in every), None)


def _workloads_named(stored: Stored[Any]) -> Iterator[Key]:
    """The Workloads that a Job, JobSet or pod names: one made for it before, or that of its pod templates."""
    metadata = stored.content.metadata
    names = [marks.get(keys.PREBUILT) for marks in (metadata.labels, metadata.annotations)]
    if isinstance(stored.content, Job):
        names.append(stored.content.spec.template.metadata.annotations.get(keys.WORKLOAD))
    elif isinstance(stored.content, JobSet):
        names.extend(
            each.template.spec.template.metadata.annotations.get(keys.WORKLOAD)
            for each in stored.content.spec.replicated_jobs
        )
    return (kueue_key("Workload", name, stored.namespace) for name in names if name)


def _naming(stored: Stored[Any]) -> Iterator[Hashable]:
    """What an object is found by when the maker of a Workload is looked for."""
    if isinstance(stored.content, core_v1.Pod) and keys.QUEUE not in stored.content.metadata.labels:
        return
    yield from _workloads_named(stored)
    yield from _uid(stored.namespace, stored.content.metadata.uid)


def _uid(namespace: str, uid: str) -> Iterator[tuple[str, str]]:
    if uid:
        yield namespace, uid


def _labelled(view: View, owner: Key) -> Iterator[ReadPod]:
    """The pods that a Job's or JobSet's controller has labelled, and that nobody else claims."""
    for stored in view.found(_BY_LABELS, owner):
        pod = view.derive(pod_of, stored.key)
        if pod is not None and not view.derive(claim_of, stored.key).family and not pod.lost:
            yield pod


def _labelling(pod: Stored[core_v1.Pod]) -> Iterator[Key]:
    labels, controller = pod.content.metadata.labels, controller_reference(pod.content.metadata)
    if controller is not None and not any(names_kind(controller, *kind) for kind in _LABELLED):
        return
    if name := labels.get(job_keys.JOB_SET):
        yield queued_key("JobSet", pod.namespace, name)
    elif controller is None and (name := labels.get(job_keys.JOB_NAME) or labels.get(job_keys.OLD_JOB_NAME)):
        yield queued_key("Job", pod.namespace, name)


def _workload_values(workload: Stored[wire.Workload]) -> Iterator[Hashable]:
    yield workload_owner(workload)
    yield from _uid(workload.namespace, workload.content.metadata.labels.get(keys.JOB_UID, ""))


def _speaks_to_kueue(metadata: ObjectMeta, *templates: ObjectMeta) -> bool:
    """Whether a Job or JobSet names a queue, or asks for a topology in Kueue's words."""
    if keys.QUEUE in metadata.labels:
        return True
    asked = (*keys.KEP_ANNOTATIONS, *keys.POD_SET_ANNOTATIONS)
    return any(key in each.annotations for each in (metadata, *templates) for key in asked)


def _is_queued_kind(reference: OwnerReference) -> bool:
    """Whether a reference names an object of a kind that a Workload is made from."""
    return reference.kind in _GROUPS and names_kind(reference, _GROUPS[reference.kind], reference.kind)


def _can_be_of(workload: Stored[wire.Workload], owner: Stored[Any]) -> bool:
    """Whether a Workload was not made from an earlier object of its owner's name."""
    controller = controller_reference(workload.content.metadata)
    return (
        controller is None
        or not _is_queued_kind(controller)
        or refers_to(controller, workload.key.namespace, owner)
    )


def queued_key(kind: str, namespace: str, name: str) -> Key:
    """The key of a Job or JobSet, or that of a group of pods."""
    return Key(_GROUPS[kind], kind, namespace, name)


INDEXES = (
    Index(_BY_LABELS, core_v1.Pod, _labelling, of_metadata=True),
    Index(_BY_OWNER, wire.Workload, _workload_values),
    Index(_BY_REPLACED, wire.Workload, _replaced),
    *(Index(_BY_WORKLOAD, shape, _naming) for shape in (Job, JobSet, core_v1.Pod)),
)
"""Pods by the Job or JobSet that their labels name, Workloads by owner, and owners by Workload."""
