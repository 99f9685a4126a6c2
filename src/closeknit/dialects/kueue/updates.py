"""What may not change in objects of Kueue once they exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from closeknit.apis import core_v1
from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.batch_v1 import Job
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.dialects.core.owner_references import controller_reference, names_kind
from closeknit.dialects.kueue.admitted import has_quota
from closeknit.dialects.kueue.owners import asks_to_queue
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.paths import Path
from closeknit.hub.problems import Code, Problem, shown
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.topology import HOSTNAME

_ANNOTATIONS = ("metadata", "annotations")
_LABELS = ("metadata", "labels")


def topology_changes(old: Stored[wire.Topology], new: Stored[wire.Topology], _: View) -> Iterator[Problem]:
    """Levels are fixed unless hosts are the lowest, then and now."""
    before = [level.node_label for level in old.content.spec.levels]
    after = [level.node_label for level in new.content.spec.levels]
    if before != after and not (before[-1:] == after[-1:] == [HOSTNAME]):
        yield sentences.LEVELS_FIXED.at(("spec", "levels"), label=HOSTNAME)


def flavor_changes(
    old: Stored[wire.ResourceFlavor], new: Stored[wire.ResourceFlavor], _: View
) -> Iterator[Problem]:
    """A flavor that has a topology stays as it is."""
    before, after = old.content.spec, new.content.spec
    if not before.topology_name:
        return
    yield from _fixed("topologyName", before.topology_name, after.topology_name, new)
    for field, was, now in (
        ("nodeLabels", before.node_labels, after.node_labels),
        ("nodeTaints", before.node_taints, after.node_taints),
        ("tolerations", before.tolerations, after.tolerations),
    ):
        if was != now:
            yield sentences.FLAVOR_FIXED.at(("spec", field))


def local_queue_changes(
    old: Stored[wire.LocalQueue], new: Stored[wire.LocalQueue], _: View
) -> Iterator[Problem]:
    """A LocalQueue leads to one ClusterQueue for good."""
    yield from _fixed("clusterQueue", old.content.spec.cluster_queue, new.content.spec.cluster_queue, new)


def admission_check_changes(
    old: Stored[wire.AdmissionCheck], new: Stored[wire.AdmissionCheck], _: View
) -> Iterator[Problem]:
    """The controller of a check stays."""
    before, after = old.content.spec.controller_name, new.content.spec.controller_name
    yield from _fixed("controllerName", before, after, new)


def _fixed(field: str, before: str, after: str, new: Stored[Any]) -> Iterator[Problem]:
    """A field of the spec that stays what it was."""
    if after != before:
        yield sentences.FIXED.at(("spec", field), before=before, kind=new.object.kind)


def workload_changes(old: Stored[wire.Workload], new: Stored[wire.Workload], _: View) -> Iterator[Problem]:
    """What has its quota keeps its queue and its pod sets."""
    before, after = old.content, new.content
    if not has_quota(before):
        return
    if before.spec.queue_name != after.spec.queue_name:
        was = _shown(before.spec.queue_name)
        yield sentences.FIXED_WITH_QUOTA.at(("spec", "queueName"), before=was)
    if before.spec.pod_sets != after.spec.pod_sets:
        yield sentences.POD_SETS_FIXED.at(("spec", "podSets"))


def job_changes(old: Stored[Any], new: Stored[Any], _: View) -> Iterator[Problem]:
    """A Job or JobSet that runs keeps its queue, its priority and what its pods ask of the topology."""
    if new.content.spec.suspend or not asks_to_queue(old.content) or _is_child(old):
        return
    before, after = old.content.metadata, new.content.metadata
    running = sentences.FIXED_WHILE_RUNNING
    labels = (keys.QUEUE, keys.PRIORITY_CLASS, keys.PREBUILT)
    yield from _changes(before.labels, after.labels, _LABELS, labels, running, kind=new.object.kind)
    earlier = _annotations(old.content)
    for path, given in _annotations(new.content).items():
        asked = (*keys.KEP_ANNOTATIONS, *keys.POD_SET_ANNOTATIONS)
        yield from _changes(earlier.get(path, given), given, path, asked, running, kind=new.object.kind)
    if isinstance(old.content, Job) and isinstance(new.content, Job):
        was, now = old.content.spec.parallelism, new.content.spec.parallelism
        partial = keys.MIN_PARALLELISM in before.annotations and not old.content.spec.suspend
        if partial and was != now:
            yield sentences.PARALLELISM_FIXED.at(("spec", "parallelism"), before=1 if was is None else was)


def _is_child(job: Stored[Any]) -> bool:
    """Whether a Job may be part of one that queues, by which it is changed."""
    reference = controller_reference(job.content.metadata)
    return reference is not None and any(
        names_kind(reference, group, kind)
        for group, kind in (("batch", "Job"), ("jobset.x-k8s.io", "JobSet"))
    )


def pod_changes(old: Stored[core_v1.Pod], new: Stored[core_v1.Pod], _: View) -> Iterator[Problem]:
    """A pod stays in its group; once it is let go, it stays in its queue."""
    before, after = old.content.metadata.labels, new.content.metadata.labels
    if keys.QUEUE not in before:
        return
    yield from _changes(before, after, _LABELS, (keys.POD_GROUP,), sentences.GROUP_FIXED)
    if all(gate.name != keys.ADMISSION_GATE for gate in new.content.spec.scheduling_gates):
        running = sentences.FIXED_WHILE_RUNNING
        yield from _changes(before, after, _LABELS, (keys.QUEUE,), running, kind="Pod")


def _annotations(content: Job | JobSet) -> dict[Path, Mapping[str, str]]:
    """The annotations that ask for a topology, by where they stand: those of the object and its templates."""
    found: dict[Path, Mapping[str, str]] = {_ANNOTATIONS: content.metadata.annotations}
    if isinstance(content, Job):
        found["spec", "template", *_ANNOTATIONS] = content.spec.template.metadata.annotations
    else:
        for i, job in enumerate(content.spec.replicated_jobs):
            path = ("spec", "replicatedJobs", i, "template", "spec", "template", *_ANNOTATIONS)
            found[path] = job.template.spec.template.metadata.annotations
    return found


def _changes(
    before: Mapping[str, str],
    after: Mapping[str, str],
    path: Path,
    fixed: tuple[str, ...],
    code: Code,
    **facts: str,
) -> Iterator[Problem]:
    """The labels or annotations among these that are no longer what they were."""
    for key in fixed:
        if before.get(key) != after.get(key):
            yield code.at((*path, key), before=_shown(before.get(key, "")), **facts)


def _shown(value: str) -> str:
    return shown(value) if value else "not given"
