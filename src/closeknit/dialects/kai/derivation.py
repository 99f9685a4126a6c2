"""Derived PodGroups as workloads: each with its request, or with everything that is wrong with its owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from closeknit.apis import core_v1
from closeknit.apis.batch_v1 import Job
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.apis.kubeflow_org_v1 import PyTorchJob
from closeknit.apis.leaderworkerset_x_k8s_io_v1 import LeaderWorkerSet
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.core.minimum_members import Crew, equal
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import ReadPod, Stage, read_pod
from closeknit.dialects.core.priority import created
from closeknit.dialects.family import Surroundings
from closeknit.dialects.kai import keys
from closeknit.dialects.kai.constraints import constraints
from closeknit.dialects.kai.derived import Derived, Leaf, Template
from closeknit.dialects.kai.job_groups import of_job, of_job_set
from closeknit.dialects.kai.leader_worker_groups import of_leader_worker_set
from closeknit.dialects.kai.members import DEFAULT, given, share_problems
from closeknit.dialects.kai.queues import NO_QUEUES, Queues
from closeknit.dialects.kai.subgroups import tree
from closeknit.dialects.kai.training_groups import of_pytorch_job
from closeknit.dialects.kai.workloads import DIALECT, PRIORITIES, ReadGroup, of_pod, root_group
from closeknit.dialects.kueue.owners import speaks_to_kueue as is_kueues
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.hub.paths import join
from closeknit.hub.problems import Problem, as_told, shown
from closeknit.hub.request import Request
from closeknit.hub.workload import ObjectName, Workload


def derive(manifests: View) -> tuple[Derived, ...]:
    """The PodGroups of all that KAI groups by itself, except those that are there already."""
    there = _Existing(manifests)
    return tuple(made for made in _all(manifests) if made not in there)


def _all(manifests: View) -> Iterator[Derived]:
    for job in manifests.of(Job):
        yield from of_job(job)
    for job_set in manifests.of(JobSet):
        yield from of_job_set(job_set)
    for leader_worker_set in manifests.of(LeaderWorkerSet):
        yield from of_leader_worker_set(leader_worker_set)
    for training in manifests.of(PyTorchJob):
        yield from of_pytorch_job(training)


def overruled(manifests: View) -> Iterator[Reported]:
    """Levels asked for in KAI's words by what queues in Kueue: whose dialect does not see them."""
    for job in manifests.of(Job):
        yield from _overruled(job, job.content.metadata, job.content.spec.template.metadata)
    for job_set in manifests.of(JobSet):
        inner = (
            metadata
            for each in job_set.content.spec.replicated_jobs
            for metadata in (each.template.metadata, each.template.spec.template.metadata)
        )
        yield from _overruled(job_set, job_set.content.metadata, *inner)


def _overruled(manifest: Stored[Job] | Stored[JobSet], *metadata: ObjectMeta) -> Iterator[Reported]:
    if not is_kueues(*metadata):
        return
    asked = {key for each in metadata for key in (keys.REQUIRED, keys.PREFERRED) if key in each.annotations}
    for key in sorted(asked):
        message = f"{shown(key)} is not taken into account for what queues in Kueue."
        remedy = "Ask for the level with Kueue's annotation, or leave out Kueue's label."
        yield manifest.report(as_told("metadata", f"{message} {remedy}"))


class _Existing:
    """PodGroups that are there: what they ask for is theirs to say, not their owner's."""

    def __init__(self, manifests: View) -> None:
        self._names = {(group.namespace, group.name) for group in manifests.keys(PodGroup)}
        self._owned: dict[tuple[str, str, str], list[str]] = {}
        for group in manifests.of(PodGroup):
            for owner in group.content.metadata.owner_references:
                self._owned.setdefault((group.namespace, owner.kind, owner.name), []).append(group.name)

    def __contains__(self, made: object) -> bool:
        if not isinstance(made, Derived):
            return False
        owner = made.manifest.object
        owned = self._owned.get((owner.namespace, owner.kind, owner.name), ())
        return (owner.namespace, made.name) in self._names or any(
            name.endswith(made.suffix) for name in owned
        )


def read_derived(
    made: Derived, surroundings: Surroundings, unusable: AbstractSet[str], queues: Queues = NO_QUEUES
) -> ReadGroup:
    """Read a derived PodGroup, its owner, and the pods that it has already.

    ``unusable`` names topologies that exist but have problems of their own.
    """
    manifest = made.manifest
    name = workload_name(manifest.namespace, made.name)
    own = list(made.problems)
    spec = made.spec()
    subgroups = tree(spec)
    # The rules for subgroups are kept by what makes them; should one be broken, its owner is to blame.
    if not own:
        own.extend(as_told("spec", problem.message) for problem in subgroups.problems)
    close = constraints(spec, subgroups, surroundings.topologies, unusable, made.fields())
    own.extend(close.problems)
    wrong_queue = list(queues.problems(made.queue, made.queue_path))
    priority = _priority(made, surroundings, own)
    since = created(manifest, own)
    members, wrong = _members(made, surroundings)
    crews = _crews(made, members, _templates(made, surroundings, own), own)
    own = list(dict.fromkeys(own))
    broken = [*manifest.problems, *own, *(of_pod(pod, problem) for pod, problem in wrong)]
    request = (
        None if broken else Request(name, root_group(spec, name, subgroups, close, crews), close.topology)
    )
    workload = Workload(
        object=_named(made),
        dialect=DIALECT,
        request=request if not wrong_queue else None,
        problems=(*broken, *wrong_queue),
        priority=priority,
        created=since,
        maker=manifest.key,
    )
    of_pods = (pod.manifest.report(problem) for pod, problem in wrong)
    of_owner = (manifest.report(problem) for problem in (*own, *wrong_queue))
    return ReadGroup(workload, (*of_pods, *of_owner), request)


def _named(made: Derived) -> ObjectName:
    """The owner's own name, and behind a dot which of its PodGroups is meant if it has several."""
    owner = made.manifest.object
    return replace(owner, name=f"{owner.name}.{made.suffix[1:]}") if made.suffix else owner


def _priority(made: Derived, surroundings: Surroundings, found: list[Problem]) -> int:
    unknown: list[Problem] = []
    priority = surroundings.priorities.named(made.priority_class, made.priority_path, unknown, PRIORITIES)
    found.extend(() if surroundings.lenient else unknown)
    return priority


def _members(
    made: Derived, surroundings: Surroundings
) -> tuple[dict[str, list[ReadPod]], list[tuple[ReadPod, Problem]]]:
    """The pods of each leaf that are there already, and what is wrong with them."""
    members: dict[str, list[ReadPod]] = {leaf.name: [] for leaf in made.outline.leaves()}
    wrong: list[tuple[ReadPod, Problem]] = []
    for holder in (workload_name(made.manifest.namespace, made.name), *made.holders):
        for pod in surroundings.pods.get(holder, ()):
            written = pod.manifest.content.metadata.labels.get(keys.SUBGROUP_LABEL)
            chosen = written if written in members else made.leaf_of(pod)
            if chosen not in members:
                continue
            members[chosen].append(pod)
            wrong.extend((pod, problem) for problem in (*pod.manifest.problems, *pod.problems))
    return members, wrong


def _templates(made: Derived, surroundings: Surroundings, found: list[Problem]) -> dict[str, ReadPod]:
    """By path of the template, a pod as it describes it."""
    templates: dict[str, ReadPod] = {}
    for leaf in made.outline.leaves():
        if leaf.template.path not in templates:
            templates[leaf.template.path] = _template(leaf.template, made, found, surroundings)
    return templates


def _template(template: Template, made: Derived, found: list[Problem], surroundings: Surroundings) -> ReadPod:
    """A pod as its template describes it."""
    content = core_v1.Pod(
        api_version="v1", kind="Pod", metadata=template.given.metadata, spec=template.given.spec
    )
    owner = made.manifest
    named = ObjectName("v1", "Pod", owner.namespace, owner.name)
    pod = read_pod(Stored(named.key, named, content))
    problems = list(pod.problems)
    if not surroundings.lenient:
        problems += [*pod.unsayable, *share_problems(pod)]
    found.extend(as_told(join(template.path, problem.where), problem.message) for problem in problems)
    return replace(pod, stage=Stage.OPEN, node="")


def _called(pod: ReadPod, name: str) -> ReadPod:
    return replace(pod, manifest=replace(pod.manifest, object=replace(pod.manifest.object, name=name)))


def _crews(
    made: Derived,
    members: Mapping[str, list[ReadPod]],
    templates: Mapping[str, ReadPod],
    found: list[Problem],
) -> dict[str, Crew]:
    """What every leaf consists of; one that has too few pods is a problem of the owner."""
    crews = {"": Crew(())}
    name = workload_name(made.manifest.namespace, made.name)
    for leaf in made.outline.leaves():
        template, present = templates[leaf.template.path], members[leaf.name]
        if not present and leaf.minimum <= len(leaf.pods):
            crews[leaf.name] = equal(leaf.name or DEFAULT, name, leaf.minimum, template.shape, leaf.pods)
            continue
        read = given(name, leaf.name, leaf.minimum, [*present, *_missing(leaf, template, present)])
        if isinstance(read, Crew):
            crews[leaf.name] = read
        else:
            found.append(_too_few(leaf, read))
    return crews


def _missing(leaf: Leaf, template: ReadPod, present: Sequence[ReadPod]) -> Iterator[ReadPod]:
    """The pods that are still to be made, beside those that are there."""
    missing = len(leaf.pods) - sum(pod.stage not in (Stage.FAILED, Stage.LEAVING) for pod in present)
    taken = {pod.name for pod in present}
    unused = (name for name in leaf.pods if name not in taken)
    for _ in range(missing):
        yield _called(template, next(unused, leaf.pods[-1]))


def _too_few(leaf: Leaf, missing: int) -> Problem:
    message = f"{leaf.minimum} pods must run at once, and {leaf.minimum - missing} are made."
    return as_told(leaf.minimum_path, f"{message} Ask for {missing} more.")
