"""Batches as workloads: each with the ways in which it may run, or with everything that is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from closeknit.apis import batch_v1, core_v1, jobset_x_k8s_io_v1alpha2
from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.core.priority import created
from closeknit.dialects.family import Surroundings
from closeknit.dialects.kueue.admitted import is_admitted, with_admission
from closeknit.dialects.kueue.batches import Batch, is_kueues
from closeknit.dialects.kueue.choices import Admission, admissions, apart_problems, without_queue
from closeknit.dialects.kueue.flavors import read_flavors
from closeknit.dialects.kueue.jobs import read_job, read_job_set
from closeknit.dialects.kueue.ownership import Listed, Pods, owner_of, workload_of
from closeknit.dialects.kueue.pod_groups import read_pod_group
from closeknit.dialects.kueue.queues import Queue, read_queues
from closeknit.dialects.kueue.seats import labels
from closeknit.dialects.kueue.waiting import World, priority_of, queue_of
from closeknit.dialects.kueue.workload_objects import in_fields, is_over, read_workload
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.cluster import Holding
from closeknit.hub.problems import Problem, as_told
from closeknit.hub.workload import Workload

DIALECT = "kueue"


@dataclass(frozen=True, slots=True)
class Read:
    """A batch with all that was made of it."""

    batch: Batch
    queue: Queue | None
    admissions: tuple[Admission, ...]
    workload: Workload


def read_all(manifests: View, surroundings: Surroundings) -> Iterator[Read | Reported]:
    """Every batch of the manifests, after the problems of queues and of the batches themselves."""
    found: list[Reported] = []
    flavors = read_flavors(manifests, surroundings.topologies, found)
    queues = read_queues(manifests, flavors, found)
    yield from found
    world = World(
        manifests=manifests,
        surroundings=surroundings,
        queues=queues,
        nodes={node.name: node.content.metadata.labels for node in manifests.of(core_v1.Node)},
        priorities={each.name: each.content.value for each in manifests.of(wire.WorkloadPriorityClass)},
    )
    taken: dict[str, str] = {}
    for batch in _admitted_batches(world):
        if isinstance(batch, Reported):
            yield batch
            continue
        if batch.finished:
            continue
        name = workload_name(batch.object.namespace, batch.holder or batch.object.name)
        own: list[Problem] = list(batch.problems)
        if (other := taken.setdefault(name, batch.object.kind)) != batch.object.kind:
            message = f"A {other} of this name queues as well, and both would be booked under it. Rename one."
            own.append(as_told("metadata.name", message))
        read = _read(name, batch, world, own)
        yield from (batch.manifest.report(problem) for problem in _once(own))
        yield read


def holdings(manifests: View, surroundings: Surroundings) -> Iterator[Holding]:
    """What admitted workloads hold for pods that are not there yet."""
    if not any(is_admitted(each.content) for each in manifests.of(wire.Workload)):
        return
    for read in read_all(manifests, surroundings):
        if not isinstance(read, Read):
            continue
        name = workload_name(read.batch.object.namespace, read.batch.holder or read.batch.object.name)
        for pod_set in read.batch.pod_sets:
            for node, pods in Counter(seat.node for seat in pod_set.seats if seat.held).items():
                yield Holding(name, node, pod_set.shape.resources, pods, pod_set.shape.host_ports)


def _admitted_batches(world: World) -> Iterator[Batch | Reported]:
    """Every batch, with what its Workload says of it; and Workloads that stand for themselves."""
    listed = Listed(world.manifests.of(wire.Workload))
    members = Pods(world.surroundings.pods)
    for batch in _batches(world.manifests, world.surroundings, members):
        owned = listed.take(batch)
        if owned is None or is_over(owned.content):
            yield batch
            continue
        known, wrong = with_admission(batch, owned, world.nodes)
        yield from (owned.report(problem) for problem in wrong)
        yield known
    for manifest in listed.left():
        kind, name = owner_of(manifest)
        batch = read_workload(manifest, members.of(kind, manifest.namespace, name))
        if batch.problems or batch.finished:
            yield batch
            continue
        known, wrong = with_admission(batch, manifest, world.nodes)
        yield replace(known, problems=tuple(wrong))


def _batches(manifests: View, surroundings: Surroundings, members: Pods) -> Iterator[Batch]:
    for job in manifests.of(batch_v1.Job):
        if is_kueues(job.content.metadata, job.content.spec.template.metadata) and not _is_owned(job.content):
            yield read_job(job, members.of("Job", job.namespace, job.name))
    for job_set in manifests.of(jobset_x_k8s_io_v1alpha2.JobSet):
        templates = [
            metadata
            for each in job_set.content.spec.replicated_jobs
            for metadata in (each.template.metadata, each.template.spec.template.metadata)
        ]
        if is_kueues(job_set.content.metadata, *templates):
            yield read_job_set(job_set, members.of("JobSet", job_set.namespace, job_set.name))
    for name, pods in _pod_groups(surroundings):
        yield read_pod_group(name, pods)


def _is_owned(job: batch_v1.Job) -> bool:
    """Whether a Job is part of something larger, such as a JobSet, that queues as a whole."""
    return any(owner.controller for owner in job.metadata.owner_references)


def _pod_groups(surroundings: Surroundings) -> Iterator[tuple[str, list[ReadPod]]]:
    for name in sorted(surroundings.pods):
        queued = [
            pod
            for pod in surroundings.pods[name]
            if workload_of(pod.manifest.content, pod.manifest.namespace) == name
            and keys.QUEUE in labels(pod)
            and not any(owner.controller for owner in pod.manifest.content.metadata.owner_references)
            # The pods of a Job may carry the label of its queue, and do not queue by themselves.
            and (keys.POD_GROUP in labels(pod) or name == workload_name(pod.manifest.namespace, pod.name))
        ]
        if queued:
            yield name.rpartition("/")[2], queued


def _read(name: str, batch: Batch, world: World, own: list[Problem]) -> Read:
    surroundings = world.surroundings
    if not surroundings.lenient:
        own.extend(problem for pod_set in batch.pod_sets for problem in pod_set.unsayable)
    priority = priority_of(batch, world.priorities, surroundings, own)
    since = created(batch.manifest, own)
    queue = queue_of(batch, world, own)
    made: list[Admission] = []
    if not own and not batch.manifest.problems:
        if queue is not None:
            wrong: list[Problem] = []
            made = admissions(name, batch, queue, world.queues, wrong)
            own.extend(wrong)
        else:
            made = without_queue(name, batch, surroundings.topologies)
            if not made:
                own.append(as_told(batch.queue_path, "No topology is known that has the levels asked for."))
    if own and queue is not None:
        own.extend(apart_problems(batch, queue))
    made = _running_on(made, batch, world.nodes)
    if batch.object.kind == "Workload":
        own[:] = [in_fields(problem) for problem in own]
    problems = (*batch.manifest.problems, *_once(own))
    workload = Workload(
        object=batch.object,
        dialect=DIALECT,
        request=made[0].option.request if made and not problems else None,
        problems=problems,
        priority=priority,
        created=since,
        admitted=batch.admitted is not None,
        maker=batch.manifest.key,
        options=tuple(each.option for each in made) if not problems else (),
    )
    return Read(batch, queue, tuple(made) if not problems else (), workload)


def _running_on(
    made: list[Admission], batch: Batch, nodes: Mapping[str, Mapping[str, str]]
) -> list[Admission]:
    """What is left of the ways: those of the admission, and of the nodes where pods run, if there are any."""
    if batch.admitted is not None:
        taken = batch.admitted.flavors
        made = [each for each in made if all(each.flavors[name] == of for name, of in taken.items())] or made
    bound = [(each.name, seat.node) for each in batch.pod_sets for seat in each.seats if seat.node]
    left = [
        each
        for each in made
        if all(
            flavor.labels.items() <= nodes.get(node, {}).items()
            for name, node in bound
            for flavor in each.used[name]
        )
    ]
    return left or made


def _once(problems: list[Problem]) -> list[Problem]:
    return list(dict.fromkeys(problems))
