"""The PodGroup of a PyTorchJob."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from closeknit.apis import job_keys
from closeknit.apis import kai_keys as keys
from closeknit.apis.kubeflow_org_v1 import PyTorchJob, ReplicaSpec
from closeknit.dialects.core.pods import MOST_PODS
from closeknit.dialects.kai.implicit_groups import ImplicitGroup, Leaf, Outline, Parent, Template
from closeknit.dialects.kai.owner_fields import (
    ANNOTATIONS,
    Owner,
    constraint_of,
    count,
    is_finished,
    segments,
    whole_number,
)
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kai as sentences

_SPECS = ("spec", "pytorchReplicaSpecs")
_MASTER, _WORKER = "master", "worker"


def pytorch_job_owner(job: Stored[PyTorchJob]) -> Owner:
    """A PyTorchJob with the templates of its master and its workers."""
    return Owner(job, tuple(_template(role, spec) for role, spec in _roles(job.content).items()))


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
        template = _template(_MASTER, roles[_MASTER])
        subgroups.append(_leaf(owner, _MASTER, template, (0, masters), minimum=masters, path=path))
    if workers:
        needed = min(max(0, least - masters), workers)
        template = _template(_WORKER, roles[_WORKER])
        size = _segment_size(template, workers, found)
        leaves = list(_workers(owner, template, workers, needed=needed, size=size, path=path))
        if size is not None:
            subgroups.append(Parent(_WORKER, len(leaves)))
        subgroups.extend(leaves)
    outline = Outline(
        tuple(subgroups),
        controllers=(owner.stored.key,),
        labels={job_keys.TRAINING_JOB: owner.stored.name},
        constraint=constraint_of(job.metadata.annotations, ANNOTATIONS),
        min_member=least,
    )
    yield owner.implicit_group(outline, found)


def _roles(job: PyTorchJob) -> dict[str, ReplicaSpec]:
    specs = job.spec.pytorch_replica_specs
    return {
        role: spec for role, spec in ((_MASTER, specs.master), (_WORKER, specs.worker)) if spec is not None
    }


def _template(role: str, spec: ReplicaSpec) -> Template:
    return Template((*_SPECS, role.title(), "template"), spec.template)


def _least(job: PyTorchJob, pods: int, found: list[Problem]) -> tuple[int, Path]:
    """How many pods must run at once, the master among them, and the field that says so."""
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


def _segment_size(template: Template, workers: int, found: list[Problem]) -> int | None:
    annotations, path = template.given.metadata.annotations, template.annotations
    if not annotations.get(keys.SEGMENT_SIZE):
        return None
    size = whole_number(annotations, keys.SEGMENT_SIZE, path, (1, workers), found)
    return None if size is None else segments(workers, size, (*path, keys.SEGMENT_SIZE), found)


def _workers(
    owner: Owner, template: Template, workers: int, *, needed: int, size: int | None, path: Path
) -> Iterator[Leaf]:
    """The workers as one leaf, or in segments. A segment beyond those that are needed needs no pod."""
    if size is None:
        yield _leaf(owner, _WORKER, template, (0, workers), minimum=needed, path=path)
        return
    constraint = constraint_of(
        template.given.metadata.annotations,
        template.annotations,
        levels=(keys.SEGMENT_REQUIRED, keys.SEGMENT_PREFERRED),
        inherited=owner.metadata.annotations,
    )
    for number, start in enumerate(range(0, workers, size)):
        end = min(start + size, workers)
        minimum = end - start if start < needed else 0
        leaf = _leaf(owner, _WORKER, template, (start, end), minimum=minimum, path=path)
        yield replace(leaf, name=f"{_WORKER}-{number}", parent=_WORKER, constraint=constraint)


def _leaf(
    owner: Owner, role: str, template: Template, numbers: tuple[int, int], *, minimum: int, path: Path
) -> Leaf:
    return Leaf(
        name=role,
        template=template,
        pods=tuple(f"{owner.stored.name}-{role}-{i}" for i in range(*numbers)),
        minimum=minimum,
        minimum_path=path,
        labels={job_keys.REPLICA_TYPE: role},
        index_label=job_keys.REPLICA_INDEX,
        first=numbers[0],
    )
