"""One table of kinds whose controllers make pods, read by KAI and by Kueue alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.apis.core_v1 import PodSpec
from closeknit.dialects import DIALECTS, Source, translate
from closeknit.hub.problems import Range
from closeknit.hub.sentences import core, wire
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.common_problems import fields_of, unknown_field
from tests.kit.problems import finding
from tests.unit.dialects.kit import node, reading, reported
from tests.unit.dialects.kueue import kit as kueue

QUEUES = (
    kueue.topology(),
    kueue.flavor(),
    kueue.cluster_queue(quota={"nvidia.com/gpu": 8, "cpu": 8, "memory": "64Gi"}),
    kueue.local_queue(),
)
POD: dict[str, Any] = {
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
}
CLUSTER = {
    "headGroupSpec": {"template": POD},
    "workerGroupSpecs": [
        {"groupName": "small", "replicas": 3, "minReplicas": 1, "numOfHosts": 2, "template": POD}
    ],
}
STEP = {"name": "step", "container": {"resources": {"limits": {"nvidia.com/gpu": 1}}}}
TASK = {"steps": [{"computeResources": {"limits": {"nvidia.com/gpu": 1}}}]}


def roles(field: str, **counts: int) -> dict[str, Any]:
    return {field: {name: {"replicas": count, "template": POD} for name, count in counts.items()}}


KINDS = [
    ("apps/v1", "Deployment", {"replicas": 2, "template": POD}, [[1], [1]], [[1], [1]]),
    ("apps/v1", "StatefulSet", {"replicas": 3, "template": POD}, [[3]], [[1]]),
    (
        "batch/v1",
        "CronJob",
        {"schedule": "0 * * * *", "jobTemplate": {"spec": {"parallelism": 2, "template": POD}}},
        [[2]],
        [[1]],
    ),
    ("kubeflow.org/v1", "PyTorchJob", roles("pytorchReplicaSpecs", Master=1, Worker=3), [[1, 3]], [[1, 3]]),
    ("kubeflow.org/v2beta1", "MPIJob", roles("mpiReplicaSpecs", Worker=4, Launcher=1), [[1, 4]], [[1, 4]]),
    ("kubeflow.org/v1", "TFJob", roles("tfReplicaSpecs", PS=2, Worker=3), [[2, 3]], [[2, 3]]),
    ("kubeflow.org/v1", "JAXJob", roles("jaxReplicaSpecs", Worker=2), [[2]], [[2]]),
    ("kubeflow.org/v1", "XGBoostJob", roles("xgbReplicaSpecs", Master=1, Worker=2), [[1, 2]], [[1, 2]]),
    ("kubeflow.org/v1", "PaddleJob", roles("paddleReplicaSpecs", Worker=2), [[2]], []),
    ("ray.io/v1", "RayCluster", CLUSTER, [[1, 6]], [[1, 2]]),
    (
        "ray.io/v1",
        "RayJob",
        {"rayClusterSpec": CLUSTER, "submitterPodTemplate": POD},
        [[1, 6, 1]],
        [[1, 2]],
    ),
    ("ray.io/v1", "RayService", {"rayClusterConfig": CLUSTER}, [[1, 6]], [[1, 2]]),
    (
        "sparkoperator.k8s.io/v1beta2",
        "SparkApplication",
        {
            role: {"instances": 2, "gpu": {"name": "nvidia.com/gpu", "quantity": 1}}
            for role in ("driver", "executor")
        },
        [[1, 2]],
        [[1, 0]],
    ),
    (
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        {"trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 1}}}},
        [[2]],
        [[2]],
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {
            "replicas": 2,
            "leaderWorkerTemplate": {"size": 3, "leaderTemplate": POD, "workerTemplate": POD},
        },
        [[1, 2], [1, 2]],
        [[1, 2], [1, 2]],
    ),
    ("argoproj.io/v1alpha1", "Workflow", {"templates": [STEP, {"name": "steps"}]}, [[1]], [[1]]),
    ("tekton.dev/v1", "TaskRun", {"taskSpec": TASK}, [[1]], [[1]]),
    (
        "tekton.dev/v1",
        "PipelineRun",
        {"pipelineSpec": {"tasks": [{"name": "a", "taskSpec": TASK}, {"name": "b", "taskSpec": TASK}]}},
        [[1], [1]],
        [[1], [1]],
    ),
    (
        "workload.codeflare.dev/v1beta2",
        "AppWrapper",
        {
            "components": [
                {
                    "podSets": [{"path": "template.spec.template", "replicas": 2}],
                    "template": {"spec": {"template": POD}},
                },
                {
                    "template": {
                        "apiVersion": "kubeflow.org/v1",
                        "kind": "JAXJob",
                        "spec": roles("jaxReplicaSpecs", Worker=3),
                    }
                },
            ]
        },
        [[2, 3]],
        [],
    ),
]
EACH = pytest.mark.parametrize("case", [pytest.param(each, id=each[1]) for each in KINDS])
Case = tuple[str, str, dict[str, Any], list[list[int]], list[list[int]]]
"""Version, kind, spec; the pods of each gang by role, and those that KAI waits for."""


def written(version: str, kind: str, spec: Any, **labels: str) -> str:
    metadata = {"name": "work", "labels": labels}
    return json.dumps({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


def counts(dialect: str, *texts: str) -> list[list[int]]:
    """The pods that must run at once, by workload and pod set."""
    found = reading(node("n"), *texts)
    assert [*map(str, found.problems)] == []
    workloads = [each for each in found.workloads if each.dialect == dialect]
    placeable = [each for each in workloads if isinstance(each, PlaceableWorkload)]
    assert placeable == workloads
    assert all(each.request.root.pod_sets() for each in placeable)
    return [[pods.least for pods in each.request.root.pod_sets()] for each in placeable]


@pytest.mark.requirement("K114")
@EACH
def test_kueue_admits_all_pods_of_a_gang(case: Case) -> None:
    version, kind, spec, queued, _ = case
    text = written(version, kind, spec, **{f"{kueue.K}queue-name": "team"})

    assert sorted(map(sorted, counts("kueue", *QUEUES, text))) == sorted(map(sorted, queued))
    assert counts("kai", *QUEUES, text) == []


@EACH
def test_kai_groups_what_must_run_at_once(case: Case) -> None:
    version, kind, spec, _, grouped = case
    text = written(version, kind, spec, **{"kai.scheduler/queue": "team"})

    assert sorted(map(sorted, counts("kai", text))) == sorted(map(sorted, grouped))


@EACH
@pytest.mark.parametrize("target", ["kueue", "kai", "pods"])
def test_what_is_written_of_them_is_understood_again(case: Case, target: str) -> None:
    version, kind, spec, queued, grouped = case
    label = "kai.scheduler/queue" if target == "kai" else f"{kueue.K}queue-name"
    if target == "kai" and not grouped:
        return
    source = "\n---\n".join((*QUEUES, written(version, kind, spec, **{label: "team"})))

    made = translate([Source("f", source.encode())], target)

    assert [*map(str, made.problems)] == []
    again = reading(*(() if target == "kai" else QUEUES), *map(json.dumps, made.objects))
    assert [*map(str, again.problems)] == []
    if target != "pods":
        minimums = sorted(
            sorted(pods.least for pods in each.request.root.pod_sets())
            for each in again.workloads
            if isinstance(each, PlaceableWorkload)
        )
        assert minimums == sorted(map(sorted, grouped if target == "kai" else queued))


def test_what_is_nobodys_is_left_alone() -> None:
    broken = written("apps/v1", "Deployment", {"replicas": "many", "template": {"spec": {"odd": 1}}})

    assert reading(broken).problems == ()
    assert reading(broken).workloads == ()


def test_a_template_that_is_wrong_is_told_at_its_path() -> None:
    spec = {"replicas": -1, "template": {"spec": {"container": []}}}
    text = written("apps/v1", "StatefulSet", spec, **{"kai.scheduler/queue": "team"})

    assert reported(text) == [
        finding(core.OUT_OF_RANGE, "1:spec.replicas", value="-1", allowed=Range(0, 150_000)),
        unknown_field("1:spec.template.spec.container", *fields_of(PodSpec)),
        finding(wire.MISSING_FIELD, "1:spec.template.spec.containers"),
    ]


def test_pods_that_exist_are_not_asked_for_again() -> None:
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": POD}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"app": "a"}}, **POD}
    text = written("apps/v1", "Deployment", spec, **{"kai.scheduler/queue": "team"})

    assert counts("kai", text) == [[1], [1]]
    assert counts("kai", text, json.dumps(made)) == []


def test_kinds_of_the_table_are_never_asked_of_a_cluster() -> None:
    listed = {kind.kind for family in DIALECTS for kind in family.kinds if not kind.served}

    assert listed == {kind for _, kind, *_ in KINDS} - {"PyTorchJob", "LeaderWorkerSet"} | {"ReplicaSet"}
