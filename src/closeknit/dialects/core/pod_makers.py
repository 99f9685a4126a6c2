"""Which pods the controllers of other projects make of their objects: one table for all families.

A kind is a function from its spec to gangs. A gang is what starts together: the roles of a training job,
one group of a LeaderWorkerSet, one pod of a Deployment. Each role has a pod template at a path, so many pods,
and the labels by which its controller tells them apart. ``made_templates`` writes templates for kinds that
have none. What a family makes of a gang is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from closeknit.apis import job_keys
from closeknit.apis.batch_v1 import Job
from closeknit.apis.core_v1 import Pod
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.apis.pod_makers import PodMaker
from closeknit.dialects.core import made_templates
from closeknit.dialects.core.kinds import value_at
from closeknit.dialects.core.owner_references import controller_reference, refers_to
from closeknit.dialects.core.pod_roles import Gang, PodRole, Written
from closeknit.dialects.core.pods import MOST_PODS
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.copying import replace
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import core as sentences

POD_INDEX = "apps.kubernetes.io/pod-index"
RAY_GROUP = "ray.io/group"
_TEMPLATE = ("spec", "template")


@dataclass(frozen=True, slots=True)
class MadePods:
    """The pods that are made of an object."""

    gangs: tuple[Gang, ...]
    problems: tuple[Problem, ...]
    """Notes among them."""


def _replicated(spec: Written) -> Iterator[Gang]:
    """StatefulSet, ReplicaSet: pods that come and go one by one."""
    count = spec.number(("spec", "replicas"), 1)
    index = POD_INDEX if spec.content.get("kind") == "StatefulSet" else ""
    yield Gang(tuple(spec.role("main", _TEMPLATE, count, minimum=min(count, 1), index_label=index)))


def _deployment(spec: Written) -> Iterator[Gang]:
    """Deployment: each pod is there for itself."""
    for role in spec.role("main", _TEMPLATE, 1):
        for number in range(spec.number(("spec", "replicas"), 1)):
            yield Gang((role,), f"-{number}")


def _job(spec: Written, path: Path = ("spec",)) -> Iterator[Gang]:
    """Job, and what a CronJob makes each time."""
    at_once = spec.number((*path, "parallelism"), 1)
    count = min(at_once, spec.number((*path, "completions"), at_once))
    label = job_keys.COMPLETION_INDEX
    yield Gang(tuple(spec.role("main", (*path, "template"), count, minimum=min(count, 1), index_label=label)))


def _job_set(spec: Written) -> Iterator[Gang]:
    roles: list[PodRole] = []
    for i, job in enumerate(spec.listed("spec", "replicatedJobs")):
        path: Path = ("spec", "replicatedJobs", i)
        count = spec.number((*path, "replicas"), 1)
        for gang in _job(spec, (*path, "template", "spec")):
            for role in gang.roles:
                roles.extend(spec.role(str(job.get("name")), role.path[len(spec.path) :], role.count * count))
    yield Gang(tuple(roles))


def _leader_worker_set(spec: Written) -> Iterator[Gang]:
    """LeaderWorkerSet: each group by itself, a leader and its workers."""
    inner: Path = ("spec", "leaderWorkerTemplate")
    size = spec.number((*inner, "size"), 1)
    roles: list[PodRole] = []
    if spec.at(*inner, "leaderTemplate") is not None:
        roles.extend(spec.role("leader", (*inner, "leaderTemplate"), min(size, 1)))
    name, count = ("worker", max(size - 1, 0)) if roles else ("main", size)
    path, label = (*inner, "workerTemplate"), job_keys.WORKER_INDEX
    roles.extend(spec.role(name, path, count, index_label=label))
    for number in range(spec.number(("spec", "replicas"), 1)):
        yield Gang(tuple(roles), f"-group-{number}")


def _kubeflow(field: str, *order: str) -> Callable[[Written], Iterator[Gang]]:
    """The training jobs of Kubeflow: a replica spec for each role, the first ones before the workers."""

    def gangs(spec: Written) -> Iterator[Gang]:
        roles: list[PodRole] = []
        given = spec.at("spec", field)
        for role in order if isinstance(given, dict) else ():
            if isinstance(given.get(role), dict):
                path: Path = ("spec", field, role)
                labels = {job_keys.REPLICA_TYPE: role.lower()}
                count = spec.number((*path, "replicas"), 1)
                index = job_keys.REPLICA_INDEX
                more = {"labels": labels, "index_label": index}
                roles.extend(spec.role(role.lower(), (*path, "template"), count, **more))
        yield Gang(tuple(_with_minimum(spec, roles)))

    return gangs


def _with_minimum(spec: Written, roles: Sequence[PodRole]) -> Iterator[PodRole]:
    """Roles of which so many pods will do in all: all but the last must run, of the last what is left."""
    path: Path = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
    left = None if spec.at(*path) is None else spec.number(path, 0)
    for i, role in enumerate(roles):
        if left is None:
            yield role
            continue
        least = min(role.count, left) if i == len(roles) - 1 else role.count
        left = max(left - least, 0)
        yield replace(role, minimum=least, minimum_path=path)


def _ray_cluster(spec: Written, path: Path = ("spec",)) -> Iterator[Gang]:
    """RayCluster, and the cluster of a RayJob or RayService: a head, and groups of workers."""
    head = (*path, "headGroupSpec", "template")
    asked = spec.at(*head)
    if spec.at(*path, "enableInTreeAutoscaling") is True and isinstance(asked, dict):
        asked = made_templates.with_autoscaler(asked)
    roles = list(spec.role("head", head, 1, asked, labels={RAY_GROUP: "headgroup"}))
    for i, group in enumerate(spec.listed(*path, "workerGroupSpecs")):
        here: Path = (*path, "workerGroupSpecs", i)
        hosts = spec.number((*here, "numOfHosts"), 1)
        count = 0 if spec.at(*here, "suspend") is True else spec.number((*here, "replicas"), 1)
        least = min(spec.number((*here, "minReplicas"), 0), count) or count
        name = str(group.get("groupName") or f"worker-group-{i}") if isinstance(group, dict) else ""
        more = {"minimum": least * hosts, "minimum_path": (*here, "minReplicas")}
        roles.extend(spec.role(name, (*here, "template"), count * hosts, labels={RAY_GROUP: name}, **more))
    yield Gang(tuple(roles))


def _ray_job(spec: Written) -> Iterator[Gang]:
    """RayJob: its cluster, and the pod that submits the work, unless another way to submit is named."""
    if spec.at("spec", "rayClusterSpec") is None:
        spec.found.append(sentences.MADE_ELSEWHERE.at((*spec.path, "spec", "clusterSelector")))
        return
    submitter: list[PodRole] = []
    if spec.at("spec", "submissionMode") in (None, "", "K8sJobMode"):
        path = ("spec", "submitterPodTemplate")
        given = spec.at(*path)
        made = given if isinstance(given, dict) else made_templates.SUBMITTER
        submitter.extend(spec.role(SUBMITTER, path, 1, made))
    for gang in _ray_cluster(spec, ("spec", "rayClusterSpec")):
        yield Gang((*gang.roles, *submitter))


def _spark(spec: Written) -> Iterator[Gang]:
    """SparkApplication: a driver and its executors, whose templates follow from other fields."""
    roles: list[PodRole] = []
    for role, count in (("driver", 1), ("executor", spec.number(("spec", "executor", "instances"), 1))):
        given = spec.at("spec", role)
        made = made_templates.of_spark(spec.at("spec") or {}, given if isinstance(given, dict) else {}, role)
        more = {"labels": {"spark-role": role}, "minimum": int(role == "driver")}
        roles.extend(spec.role(role, ("spec", role), count, made, **more))
    yield Gang(tuple(roles))


def _train_job(spec: Written) -> Iterator[Gang]:
    """TrainJob: so many nodes; what its runtime adds to them stands elsewhere."""
    path: Path = ("spec", "trainer")
    given = spec.at(*path)
    made = made_templates.of_trainer(given if isinstance(given, dict) else {})
    spec.found.append(sentences.RUNTIME_NOT_READ.at((*spec.path, "spec", "runtimeRef")))
    yield Gang(tuple(spec.role("node", path, spec.number((*path, "numNodes"), 1), made)))


def _app_wrapper(spec: Written) -> Iterator[Gang]:
    """AppWrapper: all pods of its components, as it lists them or as their own kinds have it."""
    roles: list[PodRole] = []
    for i, component in enumerate(spec.listed("spec", "components")):
        here: Path = ("spec", "components", i)
        listed = spec.listed(*here, "podSets")
        for j, pod_set in enumerate(listed):
            way = str(pod_set.get("path") or "") if isinstance(pod_set, dict) else ""
            steps = tuple(int(step) if step.isdecimal() else step for step in way.split("."))
            count = spec.number((*here, "podSets", j, "replicas"), 1)
            roles.extend(spec.role(f"{spec.name}-{len(roles)}", (*here, *steps), count))
        inner = component.get("template") if isinstance(component, dict) else None
        if not listed and isinstance(inner, dict):
            group = str(inner.get("apiVersion") or "").rpartition("/")[0]
            known = GANGS.get((group, str(inner.get("kind") or "")))
            made = Written(inner, spec.found, (*spec.path, *here, "template"))
            for gang in known(made) if known is not None else ():
                roles.extend(gang.roles)
    yield Gang(tuple(roles))


def _workflow(spec: Written) -> Iterator[Gang]:
    """Argo's Workflow: the pod of each template that has one. Which run at once only its steps say."""
    whole = spec.at("spec") or {}
    for i, template in enumerate(spec.listed("spec", "templates")):
        made = made_templates.of_step(whole, template) if isinstance(template, dict) else None
        if made is not None:
            roles = spec.role("main", ("spec", "templates", i), 1, made)
            yield Gang(tuple(roles), f"-{template.get('name') or i}")
    spec.found.append(sentences.STEPS_APART.at((*spec.path, "spec", "templates")))


def _task_run(spec: Written, path: Path = ("spec", "taskSpec"), suffix: str = "") -> Iterator[Gang]:
    """Tekton's TaskRun with its task: one pod, whose containers are the steps."""
    given = spec.at(*path)
    if not isinstance(given, dict):
        spec.found.append(sentences.MADE_ELSEWHERE.at((*spec.path, *path)))
        return
    made = made_templates.of_task(spec.at("spec") or {}, given)
    yield Gang(tuple(spec.role("main", path, 1, made)), suffix)


def _pipeline_run(spec: Written) -> Iterator[Gang]:
    """Tekton's PipelineRun with its pipeline: a pod for each task."""
    tasks: Path = ("spec", "pipelineSpec", "tasks")
    if not spec.listed(*tasks):
        spec.found.append(sentences.MADE_ELSEWHERE.at((*spec.path, "spec", "pipelineRef")))
        return
    for i, task in enumerate(spec.listed(*tasks)):
        name = str(task.get("name") or i) if isinstance(task, dict) else str(i)
        yield from _task_run(spec, (*tasks, i, "taskSpec"), f"-{name}")


SUBMITTER = "submitter"
GANGS: Mapping[tuple[str, str], Callable[[Written], Iterator[Gang]]] = {
    ("", "Pod"): lambda spec: iter((Gang(tuple(spec.role("main", (), 1))),)),
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replicated,
    ("apps", "StatefulSet"): _replicated,
    ("argoproj.io", "Workflow"): _workflow,
    ("batch", "CronJob"): lambda spec: _job(spec, ("spec", "jobTemplate", "spec")),
    ("batch", "Job"): _job,
    ("jobset.x-k8s.io", "JobSet"): _job_set,
    ("kubeflow.org", "JAXJob"): _kubeflow("jaxReplicaSpecs", "Worker"),
    ("kubeflow.org", "MPIJob"): _kubeflow("mpiReplicaSpecs", "Launcher", "Worker"),
    ("kubeflow.org", "PaddleJob"): _kubeflow("paddleReplicaSpecs", "Master", "Worker"),
    ("kubeflow.org", "PyTorchJob"): _kubeflow("pytorchReplicaSpecs", "Master", "Worker"),
    ("kubeflow.org", "TFJob"): _kubeflow("tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
    ("kubeflow.org", "XGBoostJob"): _kubeflow("xgbReplicaSpecs", "Master", "Worker"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    ("ray.io", "RayCluster"): _ray_cluster,
    ("ray.io", "RayJob"): _ray_job,
    ("ray.io", "RayService"): lambda spec: _ray_cluster(spec, ("spec", "rayClusterConfig")),
    ("sparkoperator.k8s.io", "SparkApplication"): _spark,
    ("tekton.dev", "PipelineRun"): _pipeline_run,
    ("tekton.dev", "TaskRun"): _task_run,
    ("trainer.kubeflow.org", "TrainJob"): _train_job,
    ("workload.codeflare.dev", "AppWrapper"): _app_wrapper,
}
"""By API group and kind, which pods are made."""

_TYPED = ("Pod", "Job", "JobSet", "LeaderWorkerSet", "PyTorchJob")
"""Kinds that have wire types of their own."""
_VERSIONS = {
    "apps": ("v1",),
    "argoproj.io": ("v1alpha1",),
    "batch": ("v1",),
    "kubeflow.org": ("v1", "v2beta1"),
    "ray.io": ("v1", "v1alpha1"),
    "sparkoperator.k8s.io": ("v1beta2",),
    "tekton.dev": ("v1", "v1beta1"),
    "trainer.kubeflow.org": ("v1alpha1",),
    "workload.codeflare.dev": ("v1beta2",),
}
KINDS = tuple(
    Kind(group, kind, _VERSIONS[group], PodMaker, verbatim=True, served=False)
    for group, kind in GANGS
    if kind not in _TYPED
)
"""The kinds that are read by this table alone; only from files, because on a cluster their pods are there."""


_MAKES_OTHERS = ("CronJob", "Deployment", "RayJob", "RayService", "TrainJob")
"""Kinds that make their pods by way of another object, which speaks for itself once it is there."""


def speaks_for_itself(view: View, stored: Stored[Any]) -> bool:
    """Whether an object of these kinds asks for its pods: nobody else does, and they are not there yet."""
    kind, namespace = stored.object.kind, stored.namespace
    owners = (each for each in stored.content.metadata.owner_references if each.controller)
    if any(each.kind not in _MAKES_OTHERS for each in owners):
        return False
    if kind not in _MAKES_OTHERS:
        return True
    selector = value_at(stored.written, ("spec", "selector", "matchLabels"))
    if kind == "Deployment" and selector:
        pods = (pod.content.metadata for pod in view.of(Pod) if pod.namespace == namespace)
        if any(selector.items() <= pod.labels.items() for pod in pods):
            return False
    return not any(
        each is not None and refers_to(each, other.key.namespace, stored)
        for shape in (Job, JobSet, PodMaker)
        for other in view.of(shape)
        for each in (controller_reference(other.content.metadata),)
    )


def made_pods(content: Mapping[str, Any], group: str, kind: str) -> MadePods:
    """The pods that are made of an object of one of these kinds, as it was written."""
    found: list[Problem] = []
    gangs = tuple(GANGS[group, kind](Written(content, found)))
    pods = sum(role.count for gang in gangs for role in gang.roles)
    if pods > MOST_PODS:
        found.append(sentences.MORE_PODS_THAN_COUNTED.at(("spec",), pods=pods, most=MOST_PODS))
        gangs = ()
    return MadePods(gangs, tuple(found))
