"""What a tenant forges in its own namespace changes nothing of another tenant."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest

from closeknit.controllers.grove.operator import GROVE_OPERATOR
from closeknit.controllers.kueue.operator import KUEUE
from closeknit.testing.controlling import Controlled, controlling
from tests.scenario.admitted import embedded
from tests.scenario.osmo_objects import API, conditions, in_cluster, pods, pool, told, workflow
from tests.unit.dialects.kueue.kit import HOST, QUEUES, RACK, job, node

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


VICTIM_GANG, SHORT = "victim-gang", "short"
TOPOLOGY = {
    "apiVersion": "kai.scheduler/v1alpha1",
    "kind": "Topology",
    "metadata": {"name": "racks"},
    "spec": {"levels": [{"nodeLabel": RACK}]},
}


def group(
    name: str, pods: int, space: str = "default", spec: Mapping[str, Any] | None = None, **fields: Any
) -> list[dict[str, Any]]:
    """A PodGroup of KAI and its pods; further fields go to the metadata of the PodGroup."""
    metadata = {"name": name, "namespace": space, **fields}
    made = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata}
    members = [member(f"{name}-{i}", name, space) for i in range(pods)]
    return [{**made, "spec": {"minMember": pods, **(spec or {})}}, *members]


def member(name: str, of: str, space: str = "default", **fields: Any) -> dict[str, Any]:
    """A pod that names a PodGroup; fields of its metadata, ``spec`` and ``status`` are added.

    It asks for a GPU. One of the forger asks for nothing and has a host of its own choice, so that what it
    uses is no reason for others to go elsewhere.
    """
    forged = space == FORGER
    container = {"name": "c", "image": "i", "resources": {"limits": {} if forged else {"nvidia.com/gpu": 1}}}
    annotations = {"pod-group-name": of} if of else {}
    host = {"nodeSelector": {HOST: "n3"}} if forged else {}
    spec = {"schedulerName": "closeknit", "containers": [container], **host, **fields.pop("spec", {})}
    status = {"status": fields.pop("status")} if "status" in fields else {}
    annotations |= fields.pop("annotations", {})
    metadata = {"name": name, "namespace": space, "annotations": annotations, **fields}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **status}


def alone(name: str, **fields: Any) -> dict[str, Any]:
    return member(name, "", FORGER, **fields)


Forgery = Callable[[Controlled], Awaitable[Sequence[dict[str, Any]]]]


def written(*objects: dict[str, Any]) -> Forgery:
    """A forgery that needs to know nothing of the victim but its names."""

    async def made(_: Controlled) -> Sequence[dict[str, Any]]:
        return objects

    return made


async def of_the_victims_job(cluster: Controlled) -> Sequence[dict[str, Any]]:
    """A pod that names the Job of another namespace as its controller, and its Workload as its own."""
    victim = await cluster.get("Job", "train")
    workload = (await cluster.every("Workload"))[0]["metadata"]["name"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": victim["metadata"]["uid"]}
    return [
        alone(
            "train-0",
            ownerReferences=[{**owner, "controller": True}],
            finalizers=["forger.example/stay"],
            labels={"job-name": "train", "kueue.x-k8s.io/podset": "main", "kueue.x-k8s.io/tas": "true"},
            annotations={"kueue.x-k8s.io/workload": workload},
        )
    ]


async def of_the_victims_workload(cluster: Controlled) -> Sequence[dict[str, Any]]:
    """A Workload with the assignment, the conditions and the uid of the Job of another namespace."""
    found = (await cluster.every("Workload"))[0]
    victim = await cluster.get("Job", "train")
    metadata = {
        "name": found["metadata"]["name"],
        "namespace": FORGER,
        "labels": {"kueue.x-k8s.io/job-uid": victim["metadata"]["uid"]},
        "annotations": {
            "kueue.x-k8s.io/workload-slice-replacement-for": f"default/{found['metadata']['name']}",
            "kueue.x-k8s.io/job-owner-gvk": "batch/v1, Kind=Job",
            "kueue.x-k8s.io/job-owner-name": "train",
        },
    }
    made = {"apiVersion": found["apiVersion"], "kind": "Workload", "metadata": metadata}
    return [{**made, "spec": found["spec"], "status": found["status"]}]


FORGED = [
    pytest.param(written(member("short-2", SHORT, FORGER)), id="a pod that names a PodGroup elsewhere"),
    pytest.param(
        written(*group(VICTIM_GANG, 1, FORGER)), id="a PodGroup of the name of one of another namespace"
    ),
    pytest.param(
        written(*group("f", 1, FORGER, annotations={"closeknit.dev/outcome": '{"status":"placed"}'})),
        id="an outcome",
    ),
    pytest.param(
        written(
            *group(
                "f",
                1,
                FORGER,
                annotations={
                    "closeknit.dev/shared-domain": "next",
                    "closeknit.dev/shared-domain-level": RACK,
                },
            )
        ),
        id="a shared domain with a PodGroup elsewhere",
    ),
    pytest.param(
        written(
            *group(
                "f",
                1,
                FORGER,
                annotations={
                    "closeknit.dev/run-seconds": "1",
                    "kai.scheduler/staleness-grace-period": "-1s",
                    "kai.scheduler/preemption-delay": "0s",
                },
                labels={"kai.scheduler/preemptibility": "non-preemptible"},
            )
        ),
        id="a run time, a grace period, a delay and preemptibility",
    ),
    pytest.param(
        written(alone("f", status={"nominatedNodeName": "n0", "phase": "Running"})), id="a nominated node"
    ),
    pytest.param(
        written(
            alone(
                "f",
                labels={
                    "kueue.x-k8s.io/queue-name": "team",
                    "kueue.x-k8s.io/managed": "true",
                    "kueue.x-k8s.io/pod-group-name": "train",
                },
            )
        ),
        id="a pod without gates in a queue of another namespace",
    ),
    pytest.param(of_the_victims_job, id="a pod of a Job and a Workload of another namespace"),
    pytest.param(of_the_victims_workload, id="a Workload with the assignment of another one"),
    pytest.param(
        written(
            alone(
                "f",
                labels={
                    "app.kubernetes.io/managed-by": "grove-operator",
                    "app.kubernetes.io/part-of": "victim",
                    "grove.io/podclique": "victim-0-a",
                    "grove.io/podgang": VICTIM_GANG,
                },
            )
        ),
        id="a pod of a PodCliqueSet of another namespace",
    ),
    pytest.param(
        written(
            alone(
                "f",
                labels={"runai-gpu-group": "shared", "kai.scheduler/node-pool": "none"},
                annotations={"gpu-fraction": "0.1"},
            )
        ),
        id="a part of a GPU and a pool of nodes",
    ),
    pytest.param(
        written(alone("f", annotations={"closeknit.dev/evict": "true", "closeknit.dev/applied": "0"})),
        id="hints for simulated kubelets and operators",
    ),
]


@pytest.mark.parametrize("forgery", FORGED)
async def test_what_a_tenant_forges_changes_nothing_of_another(forgery: Forgery) -> None:
    """The units that run and the quota that is used stay as they are, and the next unit starts as it would."""
    if not UNDISTURBED:
        UNDISTURBED.append(await life_of_the_victim(written()))
    assert await life_of_the_victim(forgery) == UNDISTURBED[0]


UNDISTURBED: list[dict[str, Any]] = []
"""What becomes of the victim where nobody forges anything; found once."""


async def life_of_the_victim(forgery: Forgery) -> dict[str, Any]:
    """A Job that is admitted, a gang that runs, one that lacks a pod, and one that comes after the forgery."""
    victim = json.loads(job(2))
    victim["spec"]["suspend"] = True
    victim["spec"]["template"]["spec"]["schedulerName"] = "closeknit"
    hall = [json.loads(text) for text in (*QUEUES, *(node(f"n{i}", "b", f"r{i // 2}", 4) for i in range(4)))]
    short, first, second = group(SHORT, 2, spec={"minMember": 3})
    shared = {"closeknit.dev/shared-domain": "next", "closeknit.dev/shared-domain-level": RACK}
    near = {"topologyConstraint": {"topology": "racks", "preferredTopologyLevel": RACK}}
    objects = (*hall, TOPOLOGY, namespace(FORGER), victim, *group(VICTIM_GANG, 2), short, first, second)
    async with controlling([KUEUE, GROVE_OPERATOR], *objects, scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        before = await seen_by_the_victim(cluster)
        assert sorted(map(bool, before["nodes"].values())) == [False] * 2 + [True] * 4
        await cluster.create(*await forgery(cluster))
        await cluster.settle(15)
        after = await seen_by_the_victim(cluster)

        await cluster.create(*group("next", 2, spec=near, annotations=shared))
        await cluster.quiet()
        last = await seen_by_the_victim(cluster)
        assert last["nodes"]["next-0"]
        return {"before": before, "after": after, "last": last}


async def seen_by_the_victim(cluster: Controlled) -> dict[str, Any]:
    """The nodes of its pods, the conditions of its units, and what its queue uses."""

    async def own(kind: str) -> list[dict[str, Any]]:
        return [each for each in await cluster.every(kind) if each["metadata"]["namespace"] == "default"]

    conditions_of = {
        f"{kind} {each['metadata']['name']}": [
            (one["type"], one["status"], one["reason"]) for one in each["status"]["conditions"]
        ]
        for kind in ("PodGroup", "Workload")
        for each in await own(kind)
    }
    queue = (await cluster.get("ClusterQueue", "research"))["status"]
    names = {each["metadata"]["name"]: each["spec"].get("nodeName") for each in await own("Pod")}
    return {
        # Names of a Job's pods end in a part that is drawn.
        "nodes": {name[: name.rindex("-")] if "train" in name else name: on for name, on in names.items()},
        "conditions": conditions_of,
        "workloads": [each["status"]["admission"] for each in await own("Workload")],
        "active": (await cluster.get("Job", "train"))["status"]["active"],
        "usage": queue["flavorsUsage"],
    }
