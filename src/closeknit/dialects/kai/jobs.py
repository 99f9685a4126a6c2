"""The PodGroups of Jobs and JobSets."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import structs

from closeknit.apis import job_keys
from closeknit.apis import kai_keys as keys
from closeknit.apis.batch_v1 import Job, JobSpec
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet, ReplicatedJob
from closeknit.dialects.core.pods import MOST_PODS
from closeknit.dialects.kai.implicit_groups import (
    NO_CONSTRAINT,
    ImplicitGroup,
    Leaf,
    Outline,
    Parent,
    Template,
)
from closeknit.dialects.kai.owner_fields import (
    ANNOTATIONS,
    Owner,
    constraint_of,
    count,
    is_finished,
    whole_number,
)
from closeknit.dialects.kai.subgroups import are_names, name_problems
from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, Problem
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kai as sentences

_encoded = msgspec.json.Encoder().encode
_IN_ORDER = "InOrder"
_GROUPED_WITH = ("CronJob",)
"""Owners of a Job that leave its pods in a PodGroup of the Job's own."""
_JOBS = ("spec", "replicatedJobs")
_LONGEST_NAME = 48
"""Of a replicated job: the longest name that is made of it ends in "-replica-" and up to six digits."""


def job_owner(job: Stored[Job]) -> Owner:
    """A Job with its template."""
    return Owner(job, (Template(("spec", "template"), job.content.spec.template),))


def job_groups(owner: Owner) -> Iterator[ImplicitGroup]:
    """A Job needs one pod at a time unless an annotation asks for more. Its constraint holds for all pods."""
    job, name = owner.stored.content, owner.stored.name
    owned = any(one.controller and one.kind not in _GROUPED_WITH for one in job.metadata.owner_references)
    if owned or is_finished(job.status):
        return
    found: list[Problem] = []
    annotations = job.metadata.annotations
    pods = _at_once(job.spec, ("spec",), found)
    asked = whole_number(annotations, keys.MIN_MEMBER, ANNOTATIONS, (0, pods), found)
    minimum = min(1, pods) if asked is None else asked
    leaf = Leaf(
        name="",
        template=owner.templates[0],
        pods=tuple(f"{name}-{i}" for i in range(pods)),
        minimum=minimum,
        minimum_path=("spec", "parallelism"),
        index_label=job_keys.COMPLETION_INDEX if job.spec.completion_mode == "Indexed" else "",
    )
    outline = Outline(
        (leaf,),
        controllers=(owner.stored.key,),
        labels={job_keys.JOB_NAME: name},
        constraint=owner.constraint(),
        min_member=minimum,
    )
    yield owner.implicit_group(outline, found)


def job_set_owner(job_set: Stored[JobSet]) -> Owner:
    """A JobSet with its templates, and what the Jobs between them carry."""
    jobs = job_set.content.spec.replicated_jobs
    templates = tuple(
        Template((*_JOBS, i, "template", "spec", "template"), each.template.spec.template)
        for i, each in enumerate(jobs)
    )
    return Owner(job_set, templates, tuple(each.template.metadata for each in jobs))


def job_set_groups(owner: Owner) -> Iterator[ImplicitGroup]:
    """A JobSet: a subgroup for each replicated job, and inside it one for each of its Jobs.

    Replicated jobs without replicas need no subgroup. KAI gives them one that its own
    webhook refuses.
    """
    job_set: JobSet = owner.stored.content
    if is_finished(job_set.status):
        return
    found: list[Problem] = []
    jobs = job_set.spec.replicated_jobs
    if not jobs:
        found.append(core.NO_REPLICATED_JOB.at(_JOBS))
    subgroups: list[Leaf | Parent] = []
    controllers: dict[Key, None] = {}
    found.extend(first_of(_read_jobs(owner, subgroups, controllers)))
    if (pods := sum(len(each.pods) for each in subgroups if isinstance(each, Leaf))) > MOST_PODS:
        found.append(sentences.TOO_MANY_PODS_IN_ALL.at(_JOBS, pods=pods, most=MOST_PODS))
        subgroups = []
    parents = sum(isinstance(each, Parent) for each in subgroups)
    annotations = job_set.metadata.annotations
    asked = whole_number(annotations, keys.MIN_MEMBER, ANNOTATIONS, (1, len(jobs)), found)
    # Jobs that start one kind after the other are never all there to be waited for.
    in_order = job_set.spec.startup_policy.startup_policy_order == _IN_ORDER
    least = min(parents, 1 if in_order else parents) if asked is None else min(asked, parents)
    outline = Outline(
        tuple(subgroups),
        controllers=tuple(controllers),
        labels={job_keys.JOB_SET: owner.stored.name},
        constraint=owner.constraint(),
        min_member=None if subgroups else 0,
        min_sub_group=least if subgroups else None,
    )
    yield owner.implicit_group(outline, found)


def job_set_without_alike(job_set: JobSet) -> JobSet | None:
    """The JobSet with one of all replicated jobs that differ in their names alone.

    None where it has no such jobs, or where something may be wrong with the names or the number of all.
    """
    jobs = job_set.spec.replicated_jobs
    distinct: dict[tuple[int | None, bytes], ReplicatedJob] = {}
    for each in jobs:
        distinct.setdefault((each.replicas, _encoded(each.template)), each)
    if len(distinct) == len(jobs) or not are_names([each.name for each in jobs], _LONGEST_NAME):
        return None
    replicas = [1 if each.replicas is None else max(each.replicas, 0) for each in jobs]
    parallel = [each.template.spec.parallelism or 1 for each in jobs]
    if sum([number * max(pods, 1) for number, pods in zip(replicas, parallel, strict=True)]) > MOST_PODS:
        return None
    names = [each.name for each in jobs]
    names += [
        f"{name}-replica-{i}" for name, number in zip(names, replicas, strict=True) for i in range(number)
    ]
    if len(set(names)) < len(names):
        return None
    spec = structs.replace(job_set.spec, replicated_jobs=tuple(distinct.values()))
    return structs.replace(job_set, spec=spec)


def _read_jobs(
    owner: Owner, subgroups: list[Leaf | Parent], controllers: dict[Key, None]
) -> Iterator[Problem]:
    """Add the subgroups and the Jobs of all replicated jobs, until so much is wrong that nobody reads on."""
    jobs, name, namespace = (
        owner.stored.content.spec.replicated_jobs,
        owner.stored.name,
        owner.stored.namespace,
    )
    well = are_names([each.name for each in jobs], _LONGEST_NAME)
    first: dict[str, Path] = {}
    for i, (given, template) in enumerate(zip(jobs, owner.templates, strict=True)):
        path: Path = (*_JOBS, i)
        if not well:
            yield from name_problems(given.name, (*path, "name"), _LONGEST_NAME)
        found: list[Problem] = []
        made = _replicated(given, template, path, name, found)
        yield from found
        for each in made:
            if (earlier := first.setdefault(each.name, path)) is not path:
                code = sentences.SUBGROUP_OF_TWO_JOBS
                yield code.at((*path, "name"), name=each.name, field=Field(earlier))
                break
        else:
            subgroups.extend(made)
        for j in range(len(made) - 1):
            controllers[Key("batch", "Job", namespace, f"{name}-{given.name}-{j}")] = None


def _replicated(
    given: ReplicatedJob, template: Template, path: Path, job_set: str, found: list[Problem]
) -> list[Leaf | Parent]:
    """The subgroup of a replicated job, and those of its Jobs; none where it has no replicas."""
    replicas = count(given.replicas, 1, (*path, "replicas"), found)
    each = _at_once(given.template.spec, (*path, "template", "spec"), found)
    if replicas == 0:
        return []
    if replicas * each > MOST_PODS:
        found.append(sentences.TOO_MANY_PODS.at((*path, "replicas"), pods=replicas * each, most=MOST_PODS))
        return []
    asked, constraint = None, NO_CONSTRAINT
    if annotations := given.template.metadata.annotations:
        where = (*path, "template", *ANNOTATIONS)
        asked = whole_number(annotations, keys.MIN_MEMBER, where, (1, each), found)
        constraint = constraint_of(annotations, where)
    minimum_path = (*path, "template", "spec", "parallelism")
    made: list[Leaf | Parent] = [Parent(given.name, replicas)]
    for job in range(replicas):
        stem = f"{job_set}-{given.name}-{job}"
        made.append(
            Leaf(
                f"{given.name}-replica-{job}",
                template,
                tuple([f"{stem}-{i}" for i in range(each)]),
                each if asked is None else asked,
                minimum_path,
                given.name,
                constraint,
                {job_keys.REPLICATED_JOB: given.name, job_keys.JOB_INDEX: str(job)},
                job_keys.COMPLETION_INDEX,
            )
        )
    return made


def _at_once(spec: JobSpec, path: Path, found: list[Problem]) -> int:
    """How many pods run at once: never more than are left to complete."""
    parallelism = count(spec.parallelism, 1, (*path, "parallelism"), found)
    completions = count(spec.completions, parallelism, (*path, "completions"), found)
    return min(parallelism, completions)
