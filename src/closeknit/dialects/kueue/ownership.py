"""Who belongs to whom: the Workload of what queues, and the pods of a Job or JobSet.

Owner references say it best, but they need the uid that a server gives. What was never on a server says
it by name: in the annotations and labels that Kueue and the Job controllers write anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from closeknit.apis import core_v1, job_keys
from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.core.naming import lone_holder, workload_name
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.kueue.batches import Batch
from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key

_QUEUED_KINDS = ("Job", "JobSet")
_KIND = re.compile(r", Kind=(\w+)", re.ASCII)


def owner_of(manifest: Stored[wire.Workload]) -> tuple[str, str]:
    """The kind and name of what a Workload was made from: itself where it does not say.

    A group of pods has many owners, and gives the Workload its name.
    """
    metadata = manifest.content.metadata
    owners = metadata.owner_references
    controller = next((owner for owner in owners if owner.controller), None)
    if controller is not None and controller.kind in (*_QUEUED_KINDS, "Pod"):
        return controller.kind, controller.name
    if any(owner.kind == "Pod" for owner in owners):
        return "Pod", manifest.name
    kind = _KIND.search(metadata.annotations.get(keys.OWNER_KIND, ""))
    name = metadata.annotations.get(keys.OWNER_NAME, "")
    if not owners and kind is not None and kind[1] in _QUEUED_KINDS and name:
        return kind[1], name
    return "Workload", manifest.name


def said_owner(api_version: str, kind: str, name: str) -> dict[str, str]:
    """The annotations by which a Workload names its owner."""
    return {keys.OWNER_KIND: f"{api_version}, Kind={kind}", keys.OWNER_NAME: name}


class Listed:
    """The Workloads of the files, each to be taken once by what it was made from."""

    def __init__(self, workloads: Iterable[Stored[wire.Workload]]) -> None:
        self._left: dict[tuple[str, str, str], Stored[wire.Workload]] = {}
        for manifest in workloads:
            self._left.setdefault((manifest.namespace, *owner_of(manifest)), manifest)
        self._by_uid = {
            (manifest.namespace, uid): key
            for key, manifest in self._left.items()
            if (uid := manifest.content.metadata.labels.get(keys.JOB_UID))
        }

    def take(self, batch: Batch) -> Stored[wire.Workload] | None:
        """The Workload of a batch: one that names it, or one without an owner that the batch names."""
        namespace = batch.object.namespace
        wanted = [(namespace, batch.object.kind, batch.object.name)]
        wanted.extend((namespace, "Workload", name) for name in _named(batch))
        if (known := self._by_uid.get((namespace, batch.manifest.content.metadata.uid))) is not None:
            wanted.append(known)
        return next((found for key in wanted if (found := self._left.pop(key, None)) is not None), None)

    def left(self) -> Iterator[Stored[wire.Workload]]:
        """Those that nobody has taken."""
        yield from self._left.values()


def _named(batch: Batch) -> Iterator[str]:
    """The Workloads that a batch names. One of pods has their group's name, or that of the single pod."""
    metadata = batch.manifest.content.metadata
    if batch.object.kind == "Pod":
        yield batch.object.name
    for marks in (metadata.labels, metadata.annotations):
        if name := marks.get(keys.PREBUILT):
            yield name
    for pod_set in batch.pod_sets:
        if name := _annotations(pod_set.template).get(keys.WORKLOAD):
            yield str(name)


def _annotations(template: Mapping[str, object]) -> Mapping[str, object]:
    metadata = template.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return annotations if isinstance(annotations, Mapping) else {}


def workload_of(pod: core_v1.Pod, namespace: str) -> str | None:
    """The workload of a pod that queues by itself or in a group, or that Kueue has marked as part of one."""
    labels, annotations = pod.metadata.labels, pod.metadata.annotations
    owner = next((each for each in pod.metadata.owner_references if each.controller), None)
    marked = keys.POD_SET in labels or keys.WORKLOAD in annotations
    if keys.POD_GROUP in labels and keys.QUEUE in labels:
        return workload_name(namespace, labels[keys.POD_GROUP])
    if marked and labels.get(job_keys.JOB_SET):
        return workload_name(namespace, labels[job_keys.JOB_SET])
    if owner is not None:
        return workload_name(namespace, owner.name) if marked and owner.kind == "Job" else None
    if marked and labels.get(job_keys.JOB_NAME):
        return workload_name(namespace, labels[job_keys.JOB_NAME])
    if keys.QUEUE in labels:
        return workload_name(namespace, pod.metadata.name)
    if marked and (name := labels.get(job_keys.OLD_JOB_NAME) or annotations.get(keys.WORKLOAD)):
        return workload_name(namespace, name)
    return None


def owner_key(pod: Stored[core_v1.Pod]) -> Key | None:
    """The object that a pod queues as part of; the pod itself stands for a single one and for a group."""
    name = workload_of(pod.content, pod.namespace)
    if name is None:
        return None
    labels, own = pod.content.metadata.labels, name.rpartition("/")[2]
    group, kind = "", "Pod"
    owner = next((each for each in pod.content.metadata.owner_references if each.controller), None)
    if keys.POD_GROUP in labels and keys.QUEUE in labels:
        pass
    elif labels.get(job_keys.JOB_SET) == own:
        group, kind = "jobset.x-k8s.io", "JobSet"
    elif owner is not None or own in (labels.get(job_keys.JOB_NAME), labels.get(job_keys.OLD_JOB_NAME)):
        group, kind = "batch", "Job"
    elif own == pod.content.metadata.annotations.get(keys.WORKLOAD) and keys.QUEUE not in labels:
        group, kind = "kueue.x-k8s.io", "Workload"
    return Key(group, kind, pod.namespace, own)


class Pods:
    """The pods of Jobs, JobSets and Workloads: marked by Kueue, labelled by their maker, or owned."""

    def __init__(self, by_holder: Mapping[str, tuple[ReadPod, ...]]) -> None:
        self._by_holder = by_holder
        self._labelled: dict[tuple[str, str, str], list[ReadPod]] = {}
        for holder, pods in by_holder.items():
            for pod in pods:
                if (maker := _maker(pod, holder)) is not None:
                    self._labelled.setdefault(maker, []).append(pod)

    def of(self, kind: str, namespace: str, name: str) -> tuple[ReadPod, ...]:
        """The pods of an object, each once."""
        marked = self._by_holder.get(workload_name(namespace, name), ())
        owned = self._by_holder.get(lone_holder(kind, namespace, name), ())
        return (*marked, *owned, *self._labelled.get((kind, namespace, name), ()))


def _maker(pod: ReadPod, holder: str) -> tuple[str, str, str] | None:
    """The JobSet or Job that the labels of a pod name, where nobody else claims it."""
    metadata, namespace = pod.manifest.content.metadata, pod.manifest.namespace
    labels = metadata.labels
    owner = next((each for each in metadata.owner_references if each.controller), None)
    kind, name = (owner.kind, owner.name) if owner is not None else ("Pod", pod.name)
    if kind not in ("Pod", "Job") or holder != lone_holder(kind, namespace, name):
        return None
    if job_set := labels.get(job_keys.JOB_SET):
        return "JobSet", namespace, job_set
    job = labels.get(job_keys.JOB_NAME) or labels.get(job_keys.OLD_JOB_NAME)
    return ("Job", namespace, job) if job and owner is None else None
