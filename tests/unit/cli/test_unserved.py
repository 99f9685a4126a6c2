"""Kinds that a cluster does not serve: whom it matters to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.cli.unserved import unserved
from closeknit.dialects import KINDS, Served, Source
from closeknit.kube.resources import NODES, PODS, Resource

JOBS = Resource("batch", "v1", "jobs", "Job", namespaced=True)
CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", namespaced=True)
QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue", namespaced=True)
KUBERNETES = (NODES, PODS, JOBS, CLASSES)


def source(api_version: str, kind: str) -> Source:
    return Source("a.json", json.dumps({"apiVersion": api_version, "kind": kind}).encode())


def pod_of(api_version: str, kind: str) -> dict[str, Any]:
    owner = {"apiVersion": api_version, "kind": kind, "name": "x"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "ownerReferences": [owner]}}


def note(*resources: Resource, files: Any = (), objects: Any = (), asked: str = "") -> str:
    plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}}
    cluster = Served("the cluster (context c)", [plain, *objects])
    return unserved(KINDS, resources).note(cluster, files, asked)


@pytest.mark.parametrize(
    ("concerned", "named"),
    [
        pytest.param({}, "", id="what nobody speaks of is not told"),
        pytest.param(
            {"files": [source("v1", "Pod"), source("kubeflow.org/v1", "PyTorchJob")]},
            "kubeflow.org",
            id="a file holds such an object",
        ),
        pytest.param(
            {"files": [source("scheduling.run.ai/v2alpha2", "PodGroup")]},
            "",
            id="a file holds what is served",
        ),
        pytest.param(
            {"files": [source("scheduling.run.ai/v2", "Queue")]},
            "Queue (scheduling.run.ai)",
            id="a kind of a group that is served otherwise is told by its own name",
        ),
        pytest.param(
            {"objects": [pod_of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")]},
            "leaderworkerset.x-k8s.io",
            id="an object of the cluster has such an owner",
        ),
        pytest.param(
            {"objects": [pod_of("apps/v1", "ReplicaSet")]}, "", id="it has an owner of another kind"
        ),
        pytest.param({"asked": "LeaderWorkerSet"}, "leaderworkerset.x-k8s.io", id="it is the kind asked for"),
        pytest.param(
            {"files": [source("resource.k8s.io/v1", "ResourceClaim")]},
            "",
            id="what not every Kubernetes has is never told",
        ),
    ],
)
def test_a_kind_that_is_not_served_is_told_to_whom_it_concerns(concerned: Any, named: str) -> None:
    text = note(*KUBERNETES, POD_GROUPS, **concerned)

    assert bool(text) == bool(named)
    if named:
        assert text.startswith("The cluster (context c) ")
        assert f" {named};" in text


def test_a_cluster_without_anybodys_definitions_lacks_all_kinds() -> None:
    told = note(*KUBERNETES)

    assert told.startswith("The cluster (context c) ")
    assert all(group in told for group in ("scheduling.run.ai", "grove.io", "kueue.x-k8s.io", "kubeflow.org"))
    assert "operator.config" not in told
    assert "resource.k8s.io" not in told
    assert told.count("grove.io,") == len({"grove.io", "scheduler.grove.io"})


@pytest.mark.parametrize("served", [POD_GROUPS, QUEUES], ids=["KAI's", "Kueue's"])
def test_a_cluster_with_the_definitions_of_one_family_may_be_the_one_that_was_meant(served: Resource) -> None:
    assert note(*KUBERNETES, served) == ""
