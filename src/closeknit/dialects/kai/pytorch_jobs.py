"""The PodGroup of a PyTorchJob."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis import job_keys
from closeknit.apis import kai_keys as keys
from closeknit.apis.kubeflow_org_v1 import PyTorchJob, ReplicaSpec
from closeknit.dialects.core.pods import MOST_PODS
from closeknit.dialects.kai.implicit_groups import ImplicitGroup, Leaf, Outline, Parent, Template
from closeknit.dialects.kai.owner_fields import Owner, count, is_finished, segment_size
from closeknit.dialects.store.objects import Stored
from closeknit.hub.copying import replace
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kai as sentences

_SPECS = ("spec", "pytorchReplicaSpecs")
_MASTER, _WORKER = "master", "worker"


def pytorch_job_owner(job: Stored[PyTorchJob]) -> Owner:
    """A PyTorchJob with the templates of its master and its workers."""
    roles = _roles(job.content).items()
    return Owner(
        job, tuple(Template((*_SPECS, role.title(), "template"), spec.template) for role, spec in roles)
    )


def pytorch_job_groups(owner: Owner) -> Iterator[ImplicitGroup]:
    """Master and workers, the latter in segments where their template gives a size."""
    job: PyTorchJob = owner.stored.content
    if is_finished(job.status):
        return
    found: list[Problem] = []
    roles = _roles(job)
    if not roles:
        found.append(sentences.NO_REPLICAS.at(_SPECS))
    counts = {
        role: count(spec.replicas, 1, (*_SPECS, role.title(), "replicas"), found)
        for role, spec in roles.items()
    }
    masters, workers = counts.get(_MASTER, 0), counts.get(_WORKER, 0)
    if masters + workers > MOST_PODS:
        found.append(sentences.TOO_MANY_PODS_IN_ALL.at(_SPECS, pods=masters + workers, most=MOST_PODS))
        masters = workers = 0
    least, path = _least(job, masters + workers, found)
    subgroups: list[Leaf | Parent] = []
    if masters:
        subgroups.append(_leaf(owner, _MASTER, range(masters), minimum=masters, path=path))
    if workers:
        needed = min(max(0, least - masters), workers)
        subgroups.extend(_workers(owner, workers, needed, path, found))
    outline = Outline(
        tuple(subgroups),
        controllers=(owner.stored.key,),
        labels={job_keys.TRAINING_JOB: owner.stored.name},
        constraint=owner.constraint(),
        min_member=least,
    )
    yield owner.implicit_group(outline, found)


def _roles(job: PyTorchJob) -> dict[str, ReplicaSpec]:
    specs = job.spec.pytorch_replica_specs
    return {
        role: spec for role, spec in ((_MASTER, specs.master), (_WORKER, specs.worker)) if spec is not None
    }


def _least(job: PyTorchJob, pods: int, found: list[Problem]) -> tuple[int, Path]:
    """How many pods must run at once, the master among them, and the field that sets it."""
    policy = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
    for value, path in (
        (job.spec.run_policy.scheduling_policy.min_available, policy),
        (job.spec.elastic_policy.min_replicas, ("spec", "elasticPolicy", "minReplicas")),
    ):
        if value is not None:
            if not 0 <= value <= pods:
                found.append(sentences.NOT_AMONG_ALL_PODS.at(path, value=value, pods=pods))
            return value, path
    return pods, _SPECS


def _workers(
    owner: Owner, workers: int, needed: int, path: Path, found: list[Problem]
) -> Iterator[Leaf | Parent]:
    """The workers as one leaf, or in segments. A segment beyond those that are needed needs no pod."""
    template = owner.templates[-1]
    annotations = template.given.metadata.annotations
    size = None
    if annotations.get(keys.SEGMENT_SIZE):
        size = segment_size(annotations, template.annotations, 1, workers, found)
    if size is None:
        yield _leaf(owner, _WORKER, range(workers), minimum=needed, path=path)
        return
    constraint = owner.segment_constraint(template)
    starts = range(0, workers, size)
    yield Parent(_WORKER, len(starts))
    for number, start in enumerate(starts):
        pods = range(start, min(start + size, workers))
        leaf = _leaf(owner, _WORKER, pods, minimum=len(pods) if start < needed else 0, path=path)
        yield replace(leaf, name=f"{_WORKER}-{number}", parent=_WORKER, constraint=constraint)


def _leaf(owner: Owner, role: str, numbers: range, *, minimum: int, path: Path) -> Leaf:
    return Leaf(
        name=role,
        template=owner.templates[0 if role == _MASTER else -1],
        pods=tuple(f"{owner.stored.name}-{role}-{i}" for i in numbers),
        minimum=minimum,
        minimum_path=path,
        labels={job_keys.REPLICA_TYPE: role},
        index_label=job_keys.REPLICA_INDEX,
        first=numbers.start,
    )
