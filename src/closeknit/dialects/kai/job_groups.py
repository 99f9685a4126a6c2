"""The PodGroups of Jobs and JobSets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from closeknit.apis import job_keys
from closeknit.apis import kai_keys as keys
from closeknit.apis.batch_v1 import Job, JobSpec
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet, ReplicatedJob
from closeknit.dialects.core.naming import lone_holder
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.kai.derived import (
    MOST_PODS,
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
from closeknit.hub.problems import Problem, as_told, shown

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_IN_ORDER = "InOrder"
_GROUPED_WITH = ("CronJob",)
"""Owners of a Job that leave its pods in a PodGroup of the Job's own."""


def of_job(manifest: Stored[Job]) -> Iterator[Derived]:
    """A Job needs one pod at a time unless it says more. All its pods keep to its constraint."""
    job = manifest.content
    template = Template("spec.template", job.spec.template)
    owner = Owner(manifest, (template,))
    owned = any(one.controller and one.kind not in _GROUPED_WITH for one in job.metadata.owner_references)
    if owned or not owner.is_kais or is_finished(job.status):
        return
    found: list[Problem] = []
    annotations = job.metadata.annotations
    pods = _side_by_side(job.spec, "spec", found)
    asked = whole_number(annotations, keys.MIN_MEMBER, "metadata.annotations", (0, pods), found)
    minimum = min(1, pods) if asked is None else asked
    indexed = job.spec.completion_mode == "Indexed"
    leaf = Leaf(
        name="",
        template=template,
        pods=tuple(f"{manifest.name}-{i}" for i in range(pods)),
        minimum=minimum,
        minimum_path="spec.parallelism",
        labels={job_keys.JOB_NAME: manifest.name},
        index_label=job_keys.COMPLETION_INDEX if indexed else "",
    )
    yield owner.derived(
        Outline((leaf,), close_of(annotations, "metadata.annotations"), min_member=minimum),
        found,
        holders=(lone_holder("Job", manifest.namespace, manifest.name),),
        leaf_of=lambda _: "",
    )


def of_job_set(manifest: Stored[JobSet]) -> Iterator[Derived]:
    """A JobSet: a subgroup for each replicated job, and inside it one for each of its Jobs.

    Replicated jobs without replicas need no subgroup. KAI gives them one that its own
    webhook refuses.
    """
    job_set = manifest.content
    jobs = job_set.spec.replicated_jobs
    templates = tuple(
        Template(f"spec.replicatedJobs[{i}].template.spec.template", each.template.spec.template)
        for i, each in enumerate(jobs)
    )
    owner = Owner(manifest, templates, tuple(each.template.metadata for each in jobs))
    if not owner.is_kais or is_finished(job_set.status):
        return
    found: list[Problem] = []
    if not jobs:
        found.append(as_told("spec.replicatedJobs", "There is no replicated job. Give at least one."))
    parts: list[Leaf | Parent] = []
    holders: dict[str, None] = {}
    first: dict[str, str] = {}
    for i, (given, template) in enumerate(zip(jobs, templates, strict=True)):
        path = f"spec.replicatedJobs[{i}]"
        found.extend(_name_problems(given.name, f"{path}.name"))
        made = list(_replicated(given, template, path, manifest.name, found))
        for part in made:
            if first.setdefault(part.name, path) != path:
                message = f"{shown(part.name)} would be a subgroup of {first[part.name]} as well. Rename one."
                found.append(as_told(f"{path}.name", message))
                break
        else:
            parts.extend(made)
        jobs_made = sum(isinstance(part, Leaf) for part in made)
        holders |= dict.fromkeys(
            lone_holder("Job", manifest.namespace, f"{manifest.name}-{given.name}-{j}")
            for j in range(jobs_made)
        )
    if sum(len(part.pods) for part in parts if isinstance(part, Leaf)) > MOST_PODS:
        found.append(as_told("spec.replicatedJobs", f"There are more than {MOST_PODS} pods in all."))
        parts = []
    groups = sum(isinstance(part, Parent) for part in parts)
    annotations = job_set.metadata.annotations
    asked = whole_number(annotations, keys.MIN_MEMBER, "metadata.annotations", (1, len(jobs)), found)
    # Jobs that start one kind after the other are never all there to be waited for.
    in_order = job_set.spec.startup_policy.startup_policy_order == _IN_ORDER
    least = min(groups, 1 if in_order else groups) if asked is None else min(asked, groups)
    close = close_of(annotations, "metadata.annotations")
    outline = Outline(tuple(parts), close, min_sub_group=least) if parts else Outline((), close, min_member=0)
    yield owner.derived(outline, found, holders=tuple(holders), leaf_of=_replica_of)


def _replicated(
    given: ReplicatedJob, template: Template, path: str, job_set: str, found: list[Problem]
) -> Iterator[Leaf | Parent]:
    replicas = count(given.replicas, 1, f"{path}.replicas", found)
    each = _side_by_side(given.template.spec, f"{path}.template.spec", found)
    if replicas == 0:
        return
    if replicas * each > MOST_PODS:
        message = f"These are {replicas * each} pods. At most {MOST_PODS} can be asked for."
        found.append(as_told(f"{path}.replicas", message))
        return
    annotations, where = given.template.metadata.annotations, f"{path}.template.metadata.annotations"
    asked = whole_number(annotations, keys.MIN_MEMBER, where, (1, each), found)
    close = close_of(annotations, where)
    yield Parent(given.name, replicas)
    for job in range(replicas):
        yield Leaf(
            name=f"{given.name}-replica-{job}",
            template=template,
            pods=tuple(f"{job_set}-{given.name}-{job}-{i}" for i in range(each)),
            minimum=each if asked is None else asked,
            minimum_path=f"{path}.template.spec.parallelism",
            parent=given.name,
            close=close,
            labels={
                job_keys.JOB_SET: job_set,
                job_keys.REPLICATED_JOB: given.name,
                job_keys.JOB_INDEX: str(job),
            },
            index_label=job_keys.COMPLETION_INDEX,
        )


def _replica_of(pod: ReadPod) -> str | None:
    labels: Mapping[str, str] = pod.manifest.content.metadata.labels
    if job_keys.REPLICATED_JOB not in labels or job_keys.JOB_INDEX not in labels:
        return None
    return f"{labels[job_keys.REPLICATED_JOB]}-replica-{labels[job_keys.JOB_INDEX]}"


def _side_by_side(spec: JobSpec, path: str, found: list[Problem]) -> int:
    """How many pods run at once: never more than are left to complete."""
    parallelism = count(spec.parallelism, 1, f"{path}.parallelism", found)
    completions = count(spec.completions, parallelism, f"{path}.completions", found)
    return min(parallelism, completions)


def _name_problems(name: str, path: str) -> Iterator[Problem]:
    # The longest name that is made of it ends in "-replica-" and up to six digits.
    if len(name) > 48 or not _DNS_LABEL.fullmatch(name):
        yield as_told(
            path,
            f"{shown(name)} is not a valid name. Allowed are at most 48 lower-case letters, digits and"
            " dashes, with a letter or digit at both ends.",
        )
