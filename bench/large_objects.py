"""Objects of every kind that is reviewed, as large as a test asks for, each grown where it costs most.

Lists that their definitions bound are left alone: an API server refuses more before it asks a webhook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from bench.large_pods import PODS, Json, container, plain, variables

MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Case:
    """An object that can be made of any size."""

    family: str
    grown: Callable[[int], Json]
    """With so many of what is repeated."""
    allowed: bool = True
    mistakes: int | None = None
    """How many there are, where it is not one in each part."""

    def count(self, size: int = MEGABYTE) -> int:
        """How many of what is repeated make this many bytes."""
        few, more = (len(msgspec.json.encode(self.grown(each))) for each in (1_000, 2_000))
        return max(1, 1_000 + (size - few) * 1_000 // (more - few))


def _object(api_version: str, kind: str, spec: Json, **metadata: Any) -> Json:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "large", "namespace": "default", **metadata},
        "spec": spec,
    }


# ------------------------------------------------------------------------------------------------ Kueue

_REQUIRED: Final = {"kueue.x-k8s.io/podset-required-topology": "rack"}
_QUEUE: Final = {"kueue.x-k8s.io/queue-name": "q"}


def _template(spec: Json, annotations: Mapping[str, str] = _REQUIRED) -> Json:
    return {"metadata": {"annotations": dict(annotations)}, "spec": {**spec, "restartPolicy": "Never"}}


def _job(pods: Json) -> Json:
    spec = {"suspend": True, "parallelism": 4, "completions": 4, "template": _template(pods)}
    return _object("batch/v1", "Job", spec, labels=dict(_QUEUE))


def _replicated(count: int, template: Json) -> list[Json]:
    job = {"spec": {"parallelism": 1, "template": template}}
    return [{"name": f"j{i}", "replicas": 1, "template": job} for i in range(count)]


def _job_set(count: int) -> Json:
    spec = {"suspend": True, "replicatedJobs": _replicated(18, _template(variables(count)))}
    return _object("jobset.x-k8s.io/v1alpha2", "JobSet", spec, labels=dict(_QUEUE))


def _pod(pods: Json) -> Json:
    gates = [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}]
    spec = {**pods, "schedulingGates": gates}
    return _object("v1", "Pod", spec, labels=dict(_QUEUE), annotations=dict(_REQUIRED))


def _workload(count: int) -> Json:
    sets = [
        {
            "name": f"s{i}",
            "count": 4,
            "template": {"spec": variables(count)},
            "topologyRequest": {"required": "rack"},
        }
        for i in range(8)
    ]
    return _object("kueue.x-k8s.io/v1beta2", "Workload", {"queueName": "q", "podSets": sets})


def _cluster_queue(count: int) -> Json:
    values = [f"n{i}" for i in range(count)]
    selector = {"matchExpressions": [{"key": "team", "operator": "In", "values": values}]}
    flavors = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": 100}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    spec = {"namespaceSelector": selector, "resourceGroups": groups}
    return _object("kueue.x-k8s.io/v1beta2", "ClusterQueue", spec)


# -------------------------------------------------------------------------------------------------- KAI

_KAI: Final = {"kai.scheduler/topology": "t", "kai.scheduler/topology-required-placement": "rack"}
_KAI_PODS: Final = {"schedulerName": "kai-scheduler"}


def _subgroups(each: Callable[[int], Json], **spec: Any) -> Callable[[int], Json]:
    def grown(count: int) -> Json:
        spec["subGroups"] = [each(i) for i in range(count - count % 3)]
        return _object("scheduling.run.ai/v2alpha2", "PodGroup", dict(spec))

    return grown


_CONSTRAINT: Final = {"topology": "t", "requiredTopologyLevel": "rack", "preferredTopologyLevel": "rack"}
_ZONE: Final = {"topology": "t", "requiredTopologyLevel": "zone"}


def _constrained(i: int) -> Json:
    return {"name": f"subgroup-{i}", "minMember": 4, "topologyConstraint": _CONSTRAINT}


def _bare(i: int) -> Json:
    return {"name": f"s{i}", "minMember": 1}


def _paired(i: int) -> Json:
    """Two leaves, and then the parent of both."""
    return {"name": f"p{i // 3}"} if i % 3 == 2 else {"name": f"s{i}", "parent": f"p{i // 3}", "minMember": 1}


def _kai_job(count: int) -> Json:
    spec = {"parallelism": 4, "completions": 4, "template": _template({**variables(count), **_KAI_PODS}, {})}
    return _object("batch/v1", "Job", spec, annotations=dict(_KAI))


def _kai_job_set(count: int) -> Json:
    spec = {"replicatedJobs": _replicated(count, _template({**plain(), **_KAI_PODS}, {}))}
    return _object("jobset.x-k8s.io/v1alpha2", "JobSet", spec, annotations=dict(_KAI))


def _kai_differing_job_set(count: int) -> Json:
    job_set = _kai_job_set(count)
    jobs = job_set["spec"]["replicatedJobs"]
    for i, job in enumerate(jobs):
        pods = {**_differing(i), **_KAI_PODS}
        jobs[i] = {**job, "template": {"spec": {"parallelism": 1, "template": _template(pods, {})}}}
    return job_set


def _differing(i: int) -> Json:
    """Pods of which no two ask for the same."""
    containers = [{"name": "c", "resources": {"requests": {"cpu": f"{i}m"}}}]
    return {"containers": containers}


def _leader_worker_set(count: int) -> Json:
    workers = {"size": 4, "workerTemplate": {"spec": {**variables(count), **_KAI_PODS}}}
    spec = {"replicas": 2, "leaderWorkerTemplate": workers}
    return _object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, annotations=dict(_KAI))


def _pytorch_job(count: int) -> Json:
    template = {"spec": {**variables(count), **_KAI_PODS}}
    specs = {
        "Master": {"replicas": 1, "template": template},
        "Worker": {"replicas": 3, "template": {"spec": plain()}},
    }
    return _object("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": specs}, annotations=dict(_KAI))


# ------------------------------------------------------------------------------------- Grove and Dynamo


def _clique(i: int, pods: Json, replicas: int = 2) -> Json:
    return {
        "name": f"c{i}",
        "topologyConstraint": {"pack": {"required": "rack"}},
        "spec": {"roleName": f"c{i}", "replicas": replicas, "minAvailable": replicas, "podSpec": pods},
    }


def _set(**template: Any) -> Json:
    constraint = {"topologyName": "g", "pack": {"required": "zone"}}
    spec = {"replicas": 1, "template": {"topologyConstraint": constraint, **template}}
    return _object("grove.io/v1alpha1", "PodCliqueSet", spec)


def _wide_cliques(count: int) -> Json:
    return _set(cliques=[_clique(i, variables(count)) for i in range(100)])


def _cliques(count: int) -> Json:
    return _set(cliques=[_clique(i, variables(12)) for i in range(count)])


def _small_cliques(count: int) -> Json:
    return _set(cliques=[_clique(i, plain(), replicas=1) for i in range(count)])


def _scaling_groups(count: int) -> Json:
    groups = [
        {"name": f"g{i}", "cliqueNames": [f"c{i}"], "replicas": 1, "minAvailable": 1} for i in range(count)
    ]
    return _set(cliques=[_clique(i, plain(), 1) for i in range(count)], podCliqueScalingGroups=groups)


def _differing_cliques(count: int) -> Json:
    return _set(cliques=[_clique(i, _differing(i), replicas=1) for i in range(count)])


def _gang(count: int) -> Json:
    groups = [
        {
            "name": f"g{i}",
            "minReplicas": 1,
            "podReferences": [{"namespace": "default", "name": f"g{i}-0"}],
            "topologyConstraint": {"packConstraint": {"required": "rack"}},
        }
        for i in range(count)
    ]
    spec = {"podgroups": groups, "topologyConstraint": {"packConstraint": {"required": "zone"}}}
    return _object(
        "scheduler.grove.io/v1alpha1", "PodGang", spec, annotations={"grove.io/topology-name": "t"}
    )


def _grouped_gang(count: int) -> Json:
    gang = _gang(count)
    gang["spec"]["topologyConstraintGroupConfigs"] = [
        {
            "name": f"c{i}",
            "podGroupNames": [f"g{i}"],
            "topologyConstraint": {"packConstraint": {"required": "zone"}},
        }
        for i in range(count)
    ]
    return gang


def _services(count: int) -> Json:
    service = {"replicas": 1, "multinode": {"nodeCount": 2}, "topologyConstraint": {"packDomain": "rack"}}
    pods = {"mainContainer": {k: v for k, v in container(variables=count).items() if k != "resources"}}
    services = {f"s{i}": {**service, "extraPodSpec": pods} for i in range(8)}
    spec = {"topologyConstraint": {"packDomain": "zone", "topologyProfile": "g"}, "services": services}
    return _object("nvidia.com/v1alpha1", "DynamoGraphDeployment", spec)


def _components(count: int) -> Json:
    pods = {"spec": {"containers": [{**container(variables=count), "name": "main"}]}}
    components = [
        {"name": f"s{i}", "replicas": 1, "podTemplate": pods, "topologyConstraint": {"packDomain": "rack"}}
        for i in range(25)
    ]
    spec = {
        "topologyConstraint": {"packDomain": "zone", "clusterTopologyName": "g"},
        "components": components,
    }
    return _object("nvidia.com/v1beta1", "DynamoGraphDeployment", spec)


# ------------------------------------------------------------------------------------------------- OSMO


def _workflow(**fields: Any) -> Json:
    written = {"workflow": {"name": "large", "pool": "p", **fields}}
    return _object("osmo.closeknit.dev/v1alpha1", "Workflow", written)


def _tasks(count: int) -> Json:
    tasks = [
        {"name": f"t{i}", "image": "i", "command": ["run"], "resource": "r", "lead": i == 0}
        for i in range(count)
    ]
    resources = {"r": {"gpu": 1, "topology": [{"key": "rack", "group": "g"}]}}
    return _workflow(groups=[{"name": "g", "tasks": tasks}], resources=resources)


def _resources(count: int) -> Json:
    tasks = [
        {"name": f"t{i}", "image": "i", "command": ["run"], "resource": f"r{i}", "lead": i == 0}
        for i in range(count)
    ]
    resources = {f"r{i}": {"gpu": 1, "topology": [{"key": "rack", "group": f"g{i}"}]} for i in range(count)}
    return _workflow(groups=[{"name": "g", "tasks": tasks}], resources=resources)


def _task_groups(count: int) -> Json:
    groups = [
        {
            "name": f"g{i}",
            "tasks": [{"name": f"t{i}", "image": "i", "command": ["run"], "resource": "r", "lead": True}],
        }
        for i in range(count)
    ]
    return _workflow(groups=groups, resources={"r": {"gpu": 1, "topology": [{"key": "rack"}]}})


def _chained_groups(count: int) -> Json:
    workflow = _task_groups(count)
    groups = workflow["spec"]["workflow"]["groups"]
    for i, group in enumerate(groups[1:]):
        group["tasks"][0]["inputs"] = [{"task": f"t{i}"}]
    return workflow


def _pool(count: int) -> Json:
    platforms = {f"p{i}": {"labels": {"a": f"b{i}"}} for i in range(count)}
    return _object(
        "osmo.closeknit.dev/v1alpha1",
        "Pool",
        {"topology_keys": [{"key": "zone", "label": "zone"}], "platforms": platforms},
    )


def _tolerating_pool(count: int, **toleration: str) -> Json:
    pool = _pool(0)
    tolerations = [{"key": "k", **toleration}]
    pool["spec"]["platforms"] = {f"p{i}": {"tolerations": tolerations} for i in range(count)}
    return pool


# ------------------------------------------------------------------------------------------------- wrong


def _wrong_parent(i: int) -> Json:
    return {"name": f"s{i}", "parent": f"t{i}", "minMember": 1}


def _wrong_level(i: int) -> Json:
    return {
        "name": f"s{i}",
        "minMember": 1,
        "topologyConstraint": {"topology": "t", "requiredTopologyLevel": f"r{i}"},
    }


def _wrong_type(i: int) -> Json:
    return {"name": i, "minMember": "1"}


def _late_wrong_type(count: int) -> Json:
    group = _subgroups(_bare)(count)
    group["spec"]["subGroups"][-1]["minMember"] = "1"
    return group


def _without_minimum(i: int) -> Json:
    """Each third is no subgroup's parent."""
    return {"name": f"s{i}"} if i % 3 == 0 else {"name": f"s{i}", "parent": f"t{i}", "minMember": 1}


def _wrong_kai_job_set(count: int) -> Json:
    annotations = {**_KAI, "kai.scheduler/topology-required-placement": "rac"}
    job_set = _kai_job_set(count)
    for job in job_set["spec"]["replicatedJobs"]:
        job["template"] = {**job["template"], "metadata": {"annotations": annotations}}
    return job_set


def _wrong_inputs(count: int) -> Json:
    workflow = _task_groups(count)
    for i, group in enumerate(workflow["spec"]["workflow"]["groups"]):
        group["tasks"][0]["inputs"] = [{"task": f"u{i}"}]
    return workflow


def _wrong_keys(count: int) -> Json:
    workflow = _resources(count)
    for resource in workflow["spec"]["workflow"]["resources"].values():
        resource["topology"][0]["key"] = "rac"
    return workflow


def _wrong_pods(count: int) -> Json:
    made = _small_cliques(count)
    for i, each in enumerate(made["spec"]["template"]["cliques"]):
        each["spec"]["podSpec"] = {"containers": "none", f"nodeNam{i}": "n"}
    return made


def _wrong_cliques(count: int) -> Json:
    made = [_clique(i, plain(), replicas=1) for i in range(count)]
    for i, each in enumerate(made):
        each["topologyConstraint"] = {"pack": {"required": f"rak{i}"}}
        each["spec"]["startsAfter"] = [f"d{i}"]
    return _set(cliques=made, cliqueStartupType="CliqueStartupTypeExplicit")


def _wrong_gang(count: int) -> Json:
    gang = _gang(count)
    for i, each in enumerate(gang["spec"]["podgroups"]):
        each["topologyConstraint"] = {"packConstraint": {"required": f"r{i}"}}
    return gang


def _wrong_tasks(count: int) -> Json:
    tasks = [{"name": f"t{i}", "image": "i", "command": ["run"], "resource": f"r{i}"} for i in range(count)]
    return _workflow(groups=[{"name": "g", "tasks": tasks}], resources={"r": {"gpu": 1}})


def _wrong_job_set(count: int) -> Json:
    annotations = {"kueue.x-k8s.io/podset-required-topology": "rac"}
    spec = {"replicatedJobs": _replicated(count, _template(plain(), annotations))}
    return _object("jobset.x-k8s.io/v1alpha2", "JobSet", spec, labels=dict(_QUEUE))


def _of(whole: Callable[[Json], Json], pods: Callable[[int], Json]) -> Callable[[int], Json]:
    return lambda count: whole(pods(count))


CASES: Final[Mapping[str, Case]] = {
    **{f"Job, {name}": Case("kueue", _of(_job, grown)) for name, grown in PODS.items()},
    **{f"Pod, {name}": Case("kueue", _of(_pod, grown)) for name, grown in PODS.items()},
    "JobSet, variables": Case("kueue", _job_set),
    "Workload, variables": Case("kueue", _workload),
    "ClusterQueue, namespaces": Case("kueue", _cluster_queue),
    "PodGroup, constrained subgroups": Case("kai", _subgroups(_constrained)),
    "PodGroup, bare subgroups": Case("kai", _subgroups(_bare, topologyConstraint=_ZONE)),
    "PodGroup, nested subgroups": Case("kai", _subgroups(_paired, topologyConstraint=_ZONE)),
    "Job of KAI, variables": Case("kai", _kai_job),
    "JobSet of KAI, jobs": Case("kai", _kai_job_set),
    "JobSet of KAI, jobs that differ": Case("kai", _kai_differing_job_set),
    "LeaderWorkerSet, variables": Case("kai", _leader_worker_set),
    "PyTorchJob, variables": Case("kai", _pytorch_job),
    "PodCliqueSet, 100 cliques with variables": Case("grove", _wide_cliques),
    "PodCliqueSet, cliques with 12 variables": Case("grove", _cliques),
    "PodCliqueSet, small cliques": Case("grove", _small_cliques),
    "PodCliqueSet, scaling groups": Case("grove", _scaling_groups),
    "PodCliqueSet, cliques that differ": Case("grove", _differing_cliques),
    "PodGang, pod groups": Case("grove", _gang),
    "PodGang, groups of pod groups": Case("grove", _grouped_gang),
    "DynamoGraphDeployment v1alpha1, variables": Case("dynamo", _services),
    "DynamoGraphDeployment v1beta1, variables": Case("dynamo", _components),
    "Workflow, tasks": Case("osmo", _tasks),
    "Workflow, resources": Case("osmo", _resources),
    "Workflow, groups": Case("osmo", _task_groups),
    "Workflow, groups that wait": Case("osmo", _chained_groups),
    "Pool, platforms": Case("osmo", _pool),
    "Pool, tolerations": Case("osmo", _tolerating_pool),
    "PodGroup, unknown parents": Case("kai", _subgroups(_wrong_parent), allowed=False),
    "PodGroup, unknown levels": Case("kai", _subgroups(_wrong_level), allowed=False),
    "PodGroup, wrong types": Case("kai", _subgroups(_wrong_type), allowed=False),
    "PodGroup, wrong type at the end": Case("kai", _late_wrong_type, allowed=False, mistakes=1),
    "PodGroup, unknown parents and no minimums": Case("kai", _subgroups(_without_minimum), allowed=False),
    "JobSet of KAI, unknown levels": Case("kai", _wrong_kai_job_set, allowed=False),
    "PodCliqueSet, unknown domains and cliques": Case("grove", _wrong_cliques, allowed=False),
    "PodCliqueSet, wrong types in pods": Case("grove", _wrong_pods, allowed=False),
    "PodGang, unknown levels": Case("grove", _wrong_gang, allowed=False),
    "Workflow, unknown resources": Case("osmo", _wrong_tasks, allowed=False),
    "Workflow, unknown inputs": Case("osmo", _wrong_inputs, allowed=False),
    "Workflow, unknown keys": Case("osmo", _wrong_keys, allowed=False),
    "Pool, wrong tolerations": Case("osmo", partial(_tolerating_pool, operator="Same"), allowed=False),
    "JobSet, too many jobs with unknown levels": Case("kueue", _wrong_job_set, allowed=False),
}
