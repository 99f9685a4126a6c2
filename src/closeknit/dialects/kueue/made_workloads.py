"""What the table of pod makers knows, as pod sets that are admitted together: a Workload for each gang."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.kubeflow_org_v1 import PyTorchJob
from closeknit.apis.leaderworkerset_x_k8s_io_v1 import LeaderWorkerSet
from closeknit.apis.pod_makers import PodMaker
from closeknit.dialects.core.kinds import value_at
from closeknit.dialects.core.owner_references import is_owned_by
from closeknit.dialects.core.pod_makers import GANGS, MadePods, made_pods, speaks_for_itself
from closeknit.dialects.core.pod_roles import Gang, PodRole
from closeknit.dialects.core.pods import ReadPod, read_template
from closeknit.dialects.kueue.jobs import is_finished
from closeknit.dialects.kueue.owners import ONE_WORKLOAD
from closeknit.dialects.kueue.queued_workload import (
    MOST_POD_SETS,
    QueuedPodSet,
    QueuedWorkload,
    fill_slots,
    group_problems,
    labels_of,
    queued_by_label,
)
from closeknit.dialects.kueue.topology_request import from_annotations
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kueue as sentences

MADE: tuple[type[Any], ...] = (LeaderWorkerSet, PyTorchJob, PodMaker)
"""The shapes of what is read by the table."""
KINDS: Mapping[str, str] = {
    kind: group for group, kind in GANGS if kind not in ("Job", "JobSet", "Pod", "ReplicaSet")
}
"""By kind, the API groups of what queues and is read by the table."""
SUSPEND = {"SparkApplication": ("spec",), "AppWrapper": ("spec",), "TrainJob": ("spec",)} | {
    kind: ("spec",) if kind.startswith("Ray") else ("spec", "runPolicy")
    for kind in KINDS
    if KINDS[kind] in ("ray.io", "kubeflow.org")
}
"""By kind, what holds the field ``suspend``; others are held back by their pods' gates."""
_PARTS = "#"
"""What parts the name of an object from the number of its gang; no name holds it."""
_ANNOTATIONS = ("metadata", "annotations")


def made_of(stored: Stored[Any]) -> MadePods:
    """The pods that are made of an object."""
    return made_pods(stored.written, stored.key.group, stored.key.kind)


def queues(stored: Stored[Any], view: View) -> bool:
    """Whether an object of these kinds queues in Kueue, and is read for it: in files only.

    On a cluster, its Workloads and pods are there.
    """
    if stored.shape not in MADE or stored.key.kind not in KINDS or stored.live or view.schedulers is not None:
        return False
    return bool(_labels(stored).get(keys.QUEUE)) and speaks_for_itself(view, stored)


def gang_keys(stored: Stored[Any], view: View) -> tuple[Key, ...]:
    """What queues as parts of an object: itself, or each of its gangs where it has several."""
    if not queues(stored, view):
        return ()
    gangs = made_of(stored).gangs
    if stored.key.kind not in ONE_WORKLOAD and any(_is_of(each, stored) for each in view.of(wire.Workload)):
        # Where Kueue has made their Workloads already, these speak for them.
        return ()
    if all(not gang.suffix for gang in gangs):
        return (stored.key,)
    return tuple(stored.key._replace(name=f"{stored.name}{_PARTS}{number}") for number in range(len(gangs)))


def _is_of(workload: Stored[wire.Workload], stored: Stored[Any]) -> bool:
    """Whether a Workload was made of an object, or of one of its gangs."""
    metadata = workload.content.metadata
    kind, name = metadata.annotations.get(keys.OWNER_KIND, ""), metadata.annotations.get(keys.OWNER_NAME, "")
    named = kind.endswith(f"Kind={stored.object.kind}") and name.partition(".")[0] == stored.name
    return (named and workload.namespace == stored.namespace) or is_owned_by(workload, stored)


def whole(key: Key) -> tuple[Key, int]:
    """The key of the object that a gang belongs to, and the number of the gang."""
    name, _, number = key.name.partition(_PARTS)
    return key._replace(name=name), int(number or 0)


def read_gang(stored: Stored[Any], number: int, pods: Iterable[ReadPod]) -> QueuedWorkload:
    """One gang: a pod set for each role."""
    made = made_of(stored)
    found = list(made.problems)
    gang = made.gangs[number] if number < len(made.gangs) else Gang(())
    if len(gang.roles) > MOST_POD_SETS:
        path = ("spec",)
        found.append(sentences.REPLICATED_JOBS_COUNT.at(path, given=len(gang.roles), most=MOST_POD_SETS))
    stem = f"{stored.name}{gang.suffix}"
    members = list(pods)
    pod_sets = [_pod_set(role, gang, stem, members, found, namespace=stored.namespace) for role in gang.roles]
    found.extend(group_problems(pod_sets))
    status = getattr(stored.content, "status", None)
    queued = queued_by_label(
        stored, pod_sets, found, finished=status is not None and is_finished(status), labels=_labels(stored)
    )
    named = replace(stored.object, name=f"{stored.name}.{gang.suffix[1:]}") if gang.suffix else stored.object
    return replace(queued, object=named)


def _labels(stored: Stored[Any]) -> dict[str, str]:
    """Its own labels, and what it puts on all that it makes."""
    found = dict(stored.content.metadata.labels)
    for path in (
        ("spec", "jobTemplate", "metadata", "labels"),
        ("spec", "podMetadata", "labels"),
        ("spec", "template", "metadata", "labels"),
    ):
        marks = value_at(stored.written, path)
        found = {**{key: each for key, each in marks.items() if isinstance(each, str)}, **found}
    if keys.QUEUE not in found and stored.key.kind == "Workflow":
        for gang in made_of(stored).gangs:
            found = {**gang.roles[0].template.metadata.labels, **found}
    return found


def _pod_set(
    role: PodRole, gang: Gang, stem: str, pods: Iterable[ReadPod], found: list[Problem], *, namespace: str
) -> QueuedPodSet:
    own = [pod for pod in pods if all(labels_of(pod).get(key) == value for key, value in role.labels.items())]
    annotations = (*role.path, *_ANNOTATIONS)
    request = from_annotations(role.template.metadata.annotations, annotations, role.count, found)
    labels = {**role.template.metadata.labels, **role.labels}
    read = read_template(role.template.spec, role.path, namespace=namespace, labels=labels)
    found.extend(read.problems)
    several = len(gang.roles) > 1
    return QueuedPodSet(
        name=role.name,
        path=role.path,
        count=role.count,
        minimum=None,
        replicas=1,
        request=request,
        shape=read.shape,
        slots=fill_slots(
            f"{stem}-{role.name}" if several else stem,
            role.count,
            role.count,
            own,
            index_label=role.index_label,
            job_label="",
        ),
        template=role.written,
        index_label=role.index_label or None,
        priority_class=role.template.spec.priority_class_name,
    )


def suspended(stored: Stored[Any]) -> dict[str, Any]:
    """The object as it waits: as it was written, and suspended where its kind can be."""
    made: dict[str, Any] = {key: value for key, value in stored.written.items() if key != "status"}
    steps = SUSPEND.get(stored.key.kind)
    return _with_suspend(made, steps) if steps else made


def _with_suspend(outer: Mapping[str, Any], steps: tuple[str, ...]) -> dict[str, Any]:
    if not steps:
        return {**outer, "suspend": True}
    inner = outer.get(steps[0])
    return {**outer, steps[0]: _with_suspend(inner if isinstance(inner, dict) else {}, steps[1:])}
