"""What a tenant forges in its own namespace changes nothing of another tenant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.controllers.kueue.operator import KUEUE
from closeknit.testing.controlling import controlling
from tests.scenario.admitted import embedded
from tests.scenario.osmo_objects import API, conditions, in_cluster, pods, pool, told, workflow
from tests.unit.dialects.kueue.kit import QUEUES, job, node

FORGER = "forger"


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def forged_pod(name: str, node: str, owner: dict[str, Any]) -> dict[str, Any]:
    """A pod that runs to its end at once, and names a controller of another namespace.

    Its finalizer keeps the garbage collector from removing it.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": FORGER,
            "finalizers": ["forger.example/stay"],
            "annotations": {"closeknit.dev/run-seconds": "0"},
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    }


async def test_a_pod_of_another_namespace_with_the_uid_of_a_workflow_is_not_one_of_its_pods() -> None:
    async with in_cluster(workflow({"g": {"a": {}}}), namespace(FORGER)) as cluster:
        await cluster.quiet()
        assert await told(cluster) == "RUNNING g[RUNNING a=RUNNING]"
        victim = await cluster.get("Workflow", "w")
        name = (await pods(cluster))["a"]["metadata"]["name"]
        owner = {
            "apiVersion": API,
            "kind": "Workflow",
            "name": "w",
            "uid": victim["metadata"]["uid"],
            "controller": True,
        }
        await cluster.create(forged_pod(name, "a-0", owner))
        await cluster.settle(5)

        assert await told(cluster) == "RUNNING g[RUNNING a=RUNNING]"


LOCKED = {"privileged_allowed": False, "host_network_allowed": False, "allowed_mounts": ["/mnt"]}
OPEN = {"privileged_allowed": True, "host_network_allowed": True, "allowed_mounts": ["/mnt", "/data"]}


def on_platform(policy: dict[str, Any]) -> dict[str, Any]:
    return pool("zone", "rack", default_platform="dgx", platforms={"dgx": policy})


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param({"privileged": True}, id="a privileged container"),
        pytest.param({"hostNetwork": True}, id="the network of the host"),
        pytest.param({"volumeMounts": ["/etc"]}, id="another directory of the host"),
        pytest.param({"volumeMounts": ["/"]}, id="the root directory of the host"),
        pytest.param(
            {"volumeMounts": ["/mnt2"]}, id="a directory of which the name begins like an allowed one"
        ),
        pytest.param({"volumeMounts": ["/mnt/link"]}, id="a directory below an allowed one"),
        pytest.param({"volumeMounts": ["/mnt/../etc"]}, id="a path that leaves an allowed directory"),
        pytest.param({"volumeMounts": ["/mnt/..:/x"]}, id="the directory above an allowed one"),
        pytest.param({"volumeMounts": ["mnt"]}, id="a relative path"),
        pytest.param({"volumeMounts": ["/mnt:/a:ro"]}, id="a mount with options"),
    ],
)
async def test_a_workflow_gets_nothing_of_the_host_that_its_platform_does_not_allow(
    wanted: dict[str, Any],
) -> None:
    async with in_cluster(on_platform(LOCKED), workflow({"g": {"a": wanted}})) as cluster:
        await cluster.quiet()

        assert await cluster.names("Pod") == []
        assert (await conditions(cluster, "Workflow", "w"))["Accepted"] == "False Invalid"
        events = [each for each in await cluster.every("Event") if each["involvedObject"]["name"] == "w"]
        assert {(each["type"], each["reason"]) for each in events} == {("Warning", "Invalid")}


async def test_a_workflow_gets_what_its_platform_allows() -> None:
    wanted = {"privileged": True, "hostNetwork": True, "volumeMounts": ["/mnt/", "/data:/x"]}
    async with in_cluster(on_platform(OPEN), workflow({"g": {"a": wanted}})) as cluster:
        await cluster.quiet()

        spec = (await pods(cluster))["a"]["spec"]
        (container,) = spec["containers"]
        assert (spec["hostNetwork"], container["securityContext"]["privileged"]) == (True, True)
        sources = {each["name"]: each["hostPath"]["path"] for each in spec["volumes"]}
        mounts = {each["mountPath"]: sources[each["name"]] for each in container["volumeMounts"]}
        assert mounts == {"/mnt": "/mnt", "/x": "/data"}


async def test_a_platform_that_allows_less_stops_no_pod_and_starts_none() -> None:
    wanted = {"privileged": True}
    async with in_cluster(
        on_platform(OPEN), workflow({"g": {"a": wanted}, "h": {"b": {**wanted, "inputs": [{"task": "a"}]}}})
    ) as cluster:
        await cluster.quiet()
        before = (await pods(cluster))["a"]["metadata"]["uid"]
        await cluster.patch("Pool", "p", {"spec": {"platforms": {"dgx": {"privileged_allowed": False}}}})
        await cluster.quiet()

        assert (await conditions(cluster, "Workflow", "w"))["Accepted"] == "False Invalid"
        assert {task: pod["metadata"]["uid"] for task, pod in (await pods(cluster)).items()} == {"a": before}


QUEUE = {"kueue.x-k8s.io/queue-name": "team"}
CONTAINERS = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}


def job_set(labels: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "whole", "namespace": "default", "labels": labels},
        "spec": {"replicatedJobs": [{"name": "r", "template": {"spec": {"template": {"spec": CONTAINERS}}}}]},
    }


def part(obj: dict[str, Any], **reference: Any) -> dict[str, Any]:
    """An object that queues and names a controller."""
    owner = {"kind": "JobSet", "name": "whole", "apiVersion": "jobset.x-k8s.io/v1alpha2", "controller": True}
    metadata = {"name": "part", "namespace": "default", "labels": QUEUE}
    return {**obj, "metadata": {**metadata, "ownerReferences": [{**owner, **reference}]}}


JOB = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": CONTAINERS}}}
POD = {"apiVersion": "v1", "kind": "Pod", "spec": CONTAINERS}


@pytest.mark.parametrize("obj", [pytest.param(JOB, id="a Job"), pytest.param(POD, id="a pod")])
@pytest.mark.parametrize(
    ("labels", "reference", "waits"),
    [
        pytest.param(QUEUE, {}, False, id="does not wait where its controller queues"),
        pytest.param({}, {}, True, id="waits where its controller does not queue"),
        pytest.param(QUEUE, {"uid": "forged"}, True, id="waits where its controller has another uid"),
        pytest.param(QUEUE, {"name": "none"}, True, id="waits where its controller is not there"),
        pytest.param(
            QUEUE,
            {"kind": "ReplicaSet", "apiVersion": "apps/v1"},
            True,
            id="waits where its controller is of a kind that never queues",
        ),
    ],
)
async def test_what_names_a_controller_waits_for_its_quota_unless_the_controller_does(
    obj: dict[str, Any], labels: dict[str, str], reference: dict[str, Any], waits: bool
) -> None:
    async with embedded("kueue") as api:
        served = {(each.api_version, each.kind): each for each in await api.resources()}
        whole = await api.create(served["jobset.x-k8s.io/v1alpha2", "JobSet"], job_set(labels))
        child = part(obj, **{"uid": whole["metadata"]["uid"], **reference})
        made = await api.create(served[obj["apiVersion"], obj["kind"]], child, dry_run=True)

    spec = made["spec"]
    assert bool(spec.get("suspend") or spec.get("schedulingGates")) is waits


async def test_a_job_with_a_controller_that_does_not_queue_is_admitted_for_its_own_quota() -> None:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "none",
        "uid": "forged",
        "controller": True,
    }
    late = json.loads(job(2, name="late"))
    late["metadata"] |= {"ownerReferences": [owner], "finalizers": ["forger.example/stay"]}
    late["spec"]["suspend"] = True
    hall = [json.loads(text) for text in (*QUEUES, node("n0", "b", "r0"))]
    async with controlling([KUEUE], *hall, late, scheduler=True, standins=True) as cluster:
        await cluster.quiet()

        workloads = {
            each["metadata"]["ownerReferences"][0]["name"] for each in await cluster.every("Workload")
        }
        assert workloads == {"late"}
