"""The PodGroup of a PyTorchJob."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from closeknit.apis import job_keys
from closeknit.apis import kai_keys as keys
from closeknit.apis.kubeflow_org_v1 import PyTorchJob, ReplicaSpec
from closeknit.dialects.core.naming import lone_holder
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.kai.derived import (
    MOST_PODS,
    MOST_SEGMENTS,
    Derived,
    Leaf,
    Outline,
    Parent,
    Template,
    close_of,
    count,
    whole_number,
)
from closeknit.dialects.kai.owners import Owner, is_finished
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told

_SPECS = "spec.pytorchReplicaSpecs"
_MASTER, _WORKER = "master", "worker"


def of_pytorch_job(manifest: Stored[PyTorchJob]) -> Iterator[Derived]:
    """Master and workers, the latter in segments where their template gives a size."""
    job = manifest.content
    given = {
        name: spec
        for name, spec in (
            (_MASTER, job.spec.pytorch_replica_specs.master),
            (_WORKER, job.spec.pytorch_replica_specs.worker),
        )
        if spec is not None
    }
    templates = {
        name: Template(f"{_SPECS}.{name.title()}.template", spec.template) for name, spec in given.items()
    }
    owner = Owner(manifest, tuple(templates.values()))
    if not owner.is_kais or is_finished(job.status):
        return
    found: list[Problem] = []
    if not given:
        found.append(as_told(_SPECS, "There is neither a Master nor a Worker. Give at least one."))
    counts = {name: _replicas(spec, name, found) for name, spec in given.items()}
    masters, workers = counts.get(_MASTER, 0), counts.get(_WORKER, 0)
    if masters + workers > MOST_PODS:
        message = f"There are {masters + workers} pods in all. At most {MOST_PODS} can be asked for."
        found.append(as_told(_SPECS, message))
        masters = workers = 0
    least, path = _least(job, masters + workers, found)
    parts: list[Leaf | Parent] = []
    if masters:
        parts.append(
            _leaf(manifest.name, _MASTER, templates[_MASTER], (0, masters), minimum=masters, path=path)
        )
    size: int | None = None
    if workers:
        needed = min(max(0, least - masters), workers)
        size = _segment_size(templates[_WORKER], workers, found)
        leaves = list(_workers(manifest, templates[_WORKER], workers, needed=needed, size=size, path=path))
        if size is not None:
            parts.append(Parent(_WORKER, len(leaves)))
        parts.extend(leaves)
    close = close_of(job.metadata.annotations, "metadata.annotations")
    yield owner.derived(
        Outline(tuple(parts), close, min_member=least),
        found,
        holders=(lone_holder("PyTorchJob", manifest.namespace, manifest.name),),
        leaf_of=_leaf_of(size),
    )


def _replicas(spec: ReplicaSpec, name: str, found: list[Problem]) -> int:
    return count(spec.replicas, 1, f"{_SPECS}.{name.title()}.replicas", found)


def _least(job: PyTorchJob, pods: int, found: list[Problem]) -> tuple[int, str]:
    """How many pods must run at once, the master among them, and the field that says so."""
    for value, path in (
        (job.spec.run_policy.scheduling_policy.min_available, "spec.runPolicy.schedulingPolicy.minAvailable"),
        (job.spec.elastic_policy.min_replicas, "spec.elasticPolicy.minReplicas"),
    ):
        if value is not None:
            if not 0 <= value <= pods:
                found.append(
                    as_told(path, f"{value} is not possible. Allowed are 0 to {pods}, all its pods.")
                )
            return value, path
    return pods, _SPECS


def _segment_size(template: Template, workers: int, found: list[Problem]) -> int | None:
    annotations, path = template.given.metadata.annotations, template.annotations_path
    if not annotations.get(keys.SEGMENT_SIZE):
        return None
    size = whole_number(annotations, keys.SEGMENT_SIZE, path, (1, workers), found)
    if size is not None and -(-workers // size) > MOST_SEGMENTS:
        message = f"These are {-(-workers // size)} segments. At most {MOST_SEGMENTS} are made."
        found.append(as_told(within(path, keys.SEGMENT_SIZE), message))
        return None
    return size


def _workers(
    manifest: Stored[PyTorchJob],
    template: Template,
    workers: int,
    *,
    needed: int,
    size: int | None,
    path: str,
) -> Iterator[Leaf]:
    """The workers as one leaf, or in segments. A segment beyond those that are needed needs no pod."""
    if size is None:
        yield _leaf(manifest.name, _WORKER, template, (0, workers), minimum=needed, path=path)
        return
    close = close_of(
        template.given.metadata.annotations,
        template.annotations_path,
        levels=(keys.SEGMENT_REQUIRED, keys.SEGMENT_PREFERRED),
        inherited=(manifest.content.metadata.annotations, "metadata.annotations"),
    )
    for number, start in enumerate(range(0, workers, size)):
        end = min(start + size, workers)
        minimum = end - start if start < needed else 0
        leaf = _leaf(manifest.name, _WORKER, template, (start, end), minimum=minimum, path=path)
        yield replace(leaf, name=f"{_WORKER}-{number}", parent=_WORKER, close=close)


def _leaf(
    job: str, role: str, template: Template, numbers: tuple[int, int], *, minimum: int, path: str
) -> Leaf:
    return Leaf(
        name=role,
        template=template,
        pods=tuple(f"{job}-{role}-{i}" for i in range(*numbers)),
        minimum=minimum,
        minimum_path=path,
        labels={job_keys.TRAINING_JOB: job, job_keys.REPLICA_TYPE: role},
        index_label=job_keys.REPLICA_INDEX,
        first=numbers[0],
    )


def _leaf_of(size: int | None) -> Callable[[ReadPod], str | None]:
    """How to find the leaf of a pod by its role and number."""

    def leaf_of(pod: ReadPod) -> str | None:
        labels = pod.manifest.content.metadata.labels
        role, number = labels.get(job_keys.REPLICA_TYPE), labels.get(job_keys.REPLICA_INDEX, "")
        if role != _WORKER or size is None:
            return role
        return f"{_WORKER}-{int(number) // size}" if number.isdecimal() and len(number) < 10 else None

    return leaf_of
