"""Kueue's operator at work on an embedded cluster: from a Job to pods that run, and back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from closeknit.controllers.kueue.operator import KUEUE
from closeknit.dialects import Source, operator_settings
from closeknit.testing.controlling import Controlled, controlling
from tests.unit.dialects.kueue.kit import (
    HOST,
    QUEUES,
    RACK,
    cluster_queue,
    job,
    job_set,
    node,
    queued_pod,
    queues,
    replicated,
    written,
)

Json = dict[str, Any]
RACKS = tuple(node(f"n{i}", "b", f"r{i // 2}", 4) for i in range(6))
"""Three racks of two hosts of four GPUs each."""


def objects(*texts: str) -> list[Json]:
    """Objects as a user would create them: Jobs are suspended, and our scheduler binds their pods."""
    made = [json.loads(text) for text in texts]
    for each in made:
        if each["kind"] in ("Job", "JobSet"):
            each["spec"]["suspend"] = True
            templates = [each["spec"].get("template")] + [
                one["template"]["spec"]["template"] for one in each["spec"].get("replicatedJobs", ())
            ]
            for template in filter(None, templates):
                template["spec"]["schedulerName"] = "closeknit"
    return made


def run(live: Callable[[Controlled], Awaitable[None]], *texts: str, **settings: Any) -> None:
    """Live with these objects, with stand-ins for kubelets and Jobs and a scheduler."""

    async def living() -> None:
        beside = {"standins": True, "scheduler": True, **settings}
        async with controlling([KUEUE], *objects(*texts), **beside) as cluster:
            await cluster.quiet()
            await live(cluster)
            assert [line for line in cluster.log if not line.endswith(" told")] == []

    asyncio.run(living())


async def conditions(cluster: Controlled, name: str = "") -> dict[str, str]:
    """The conditions of the only Workload, or of that of a Job, with their reasons."""
    found = [
        each for each in await cluster.every("Workload") if each["metadata"]["name"].startswith(f"job-{name}")
    ]
    (only,) = found
    return {
        each["type"]: f"{each['status']} {each['reason']}"
        for each in (only.get("status") or {}).get("conditions") or ()
    }


async def bound(cluster: Controlled, job_name: str = "train") -> list[str]:
    """The node of each pod of a Job, by rank."""
    pods = [
        each
        for each in await cluster.every("Pod")
        if each["metadata"]["labels"].get("job-name", "").startswith(job_name)
        and "deletionTimestamp" not in each["metadata"]
    ]
    label = "batch.kubernetes.io/job-completion-index"
    jobs = "jobset.sigs.k8s.io/job-index"
    pods.sort(
        key=lambda each: (each["metadata"]["labels"].get(jobs, ""), int(each["metadata"]["labels"][label]))
    )
    return [each["spec"].get("nodeName", "") for each in pods]


@pytest.mark.requirement("K48", "K49", "K58", "K81", "K88", "K89", "K11", "K110")
def test_a_job_is_admitted_started_and_let_go_by_rank() -> None:
    async def live(cluster: Controlled) -> None:
        (workload,) = await cluster.every("Workload")
        (owner,) = workload["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "train", True)
        assert await conditions(cluster) == {
            "QuotaReserved": "True QuotaReserved",
            "Admitted": "True Admitted",
            "PodsReady": "True Started",
        }
        assert await bound(cluster) == ["n0", "n0", "n0", "n0", "n1", "n1"]
        queue = (await cluster.get("ClusterQueue", "research"))["status"]
        assert (queue["pendingWorkloads"], queue["reservingWorkloads"], queue["admittedWorkloads"]) == (
            0,
            1,
            1,
        )
        assert queue["flavorsUsage"] == [
            {"name": "tas", "resources": [{"name": "nvidia.com/gpu", "total": "6", "borrowed": "0"}]}
        ]
        local = (await cluster.get("LocalQueue", "team"))["status"]
        assert (local["pendingWorkloads"], local["admittedWorkloads"]) == (0, 1)
        assert [each["status"] for each in queue["conditions"]] == ["True"]

    run(live, *QUEUES, *RACKS, job(6, podset_required_topology=RACK))


@pytest.mark.requirement("K80")
def test_pods_that_share_a_domain_are_sent_there_by_a_selector() -> None:
    async def live(cluster: Controlled) -> None:
        made = (await cluster.get("Job", "train"))["spec"]["template"]["spec"]
        assert HOST in made["nodeSelector"]
        assert "schedulingGates" not in made
        assert len(set(await bound(cluster))) == 1

    run(live, *QUEUES, *RACKS, job(4, podset_required_topology=HOST))


@pytest.mark.requirement("K99", "K100", "K105")
def test_each_job_of_a_job_set_has_its_rack() -> None:
    async def live(cluster: Controlled) -> None:
        racks = [name.translate(str.maketrans("012345", "001122")) for name in await bound(cluster, "set")]
        assert sorted(map(tuple, (set(racks[:6]), set(racks[6:])))) == [("n0",), ("n1",)]

    run(live, *QUEUES, *RACKS, job_set(replicated("a", 2, 6), own={"require-topology": RACK}))


@pytest.mark.requirement("K65", "K74")
def test_what_waits_is_admitted_when_something_ends() -> None:
    async def live(cluster: Controlled) -> None:
        assert (await conditions(cluster, "second"))["QuotaReserved"].startswith("False")
        assert (await cluster.get("ClusterQueue", "research"))["status"]["pendingWorkloads"] == 1
        await cluster.settle(40)
        assert (await conditions(cluster, "first"))["Finished"] == "True Succeeded"
        assert (await conditions(cluster, "second"))["Admitted"] == "True Admitted"

    first = json.loads(job(20, name="first"))
    first["spec"]["template"]["metadata"]["annotations"]["closeknit.dev/run-seconds"] = "30"
    run(live, *QUEUES, *RACKS, json.dumps(first), job(8, name="second"))


@pytest.mark.requirement("K63", "K64", "K111")
def test_a_workload_is_deactivated_and_activated_again() -> None:
    async def live(cluster: Controlled) -> None:
        (workload,) = await cluster.names("Workload")
        before = (await cluster.get("Job", "train"))["spec"]["template"]
        await cluster.patch("Workload", workload, {"spec": {"active": False}})
        await cluster.settle(40)
        assert (await cluster.get("Job", "train"))["spec"]["suspend"] is True
        assert await cluster.every("Pod") == []
        found = await conditions(cluster)
        assert (found["Evicted"], found["QuotaReserved"]) == ("True Deactivated", "False Deactivated")
        template = (await cluster.get("Job", "train"))["spec"]["template"]
        assert "nodeSelector" not in template["spec"]
        assert (await cluster.get("ClusterQueue", "research"))["status"]["reservingWorkloads"] == 0
        await cluster.patch("Workload", workload, {"spec": {"active": True}})
        await cluster.quiet()
        assert (await conditions(cluster))["Admitted"] == "True Admitted"
        assert all(await bound(cluster))
        assert (await cluster.get("Job", "train"))["spec"]["template"] == before

    run(live, *QUEUES, *RACKS, job(6, podset_required_topology=RACK))


@pytest.mark.requirement("K119")
def test_a_workload_of_higher_priority_takes_the_place_of_one_of_lower() -> None:
    async def live(cluster: Controlled) -> None:
        await cluster.create(*objects(job(24, name="high", own={}).replace('"labels": {', '"labels": {"kueue.x-k8s.io/priority-class": "high", ')))  # fmt: skip
        await cluster.settle(60)
        await cluster.quiet()
        assert (await conditions(cluster, "low"))["Evicted"] == "True Preempted"
        assert (await conditions(cluster, "low"))["Preempted"] == "True InClusterQueue"
        assert (await conditions(cluster, "high"))["Admitted"] == "True Admitted"
        assert len(list(filter(None, await bound(cluster, "high")))) == 24

    queue = cluster_queue(preemption={"withinClusterQueue": "LowerPriority"})
    high = json.dumps({**json.loads(written("WorkloadPriorityClass", "high", {})), "value": 10})
    high_class = json.loads(high)
    del high_class["spec"]
    run(live, *queues(queue), json.dumps(high_class), *RACKS, job(4, name="low"))


def priority_class(name: str, value: int) -> str:
    """A WorkloadPriorityClass."""
    made = json.loads(written("WorkloadPriorityClass", name, {})) | {"value": value}
    del made["spec"]
    return json.dumps(made)


def of_class(name: str, text: str) -> str:
    """A Job with a priority class."""
    made = json.loads(text)
    made["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = name
    return json.dumps(made)


def test_the_workload_of_the_lowest_priority_is_evicted_alone_even_if_it_has_run_longer() -> None:
    async def live(cluster: Controlled) -> None:
        await cluster.settle(60)
        await cluster.create(*objects(of_class("middle", job(12, name="fresh", own={}))))
        await cluster.settle(30)
        await cluster.create(*objects(of_class("high", job(12, name="high", own={}))))
        await cluster.settle(60)
        await cluster.quiet()
        assert (await conditions(cluster, "long"))["Evicted"] == "True Preempted"
        assert "Evicted" not in await conditions(cluster, "fresh")
        assert (await conditions(cluster, "high"))["Admitted"] == "True Admitted"

    queue = cluster_queue(preemption={"withinClusterQueue": "LowerPriority"})
    classes = [priority_class(name, value) for name, value in (("low", 1), ("middle", 5), ("high", 10))]
    run(live, *queues(queue), *classes, *RACKS, of_class("low", job(12, name="long", own={})))


@pytest.mark.requirement("K22", "K23")
def test_pods_of_a_lost_node_are_placed_again_near_the_others() -> None:
    async def live(cluster: Controlled) -> None:
        assert await bound(cluster) == ["n0", "n0", "n0", "n0", "n1"]
        await cluster.create(json.loads(node("far", "b", "r1", 4)), json.loads(node("spare", "b", "r0", 4)))
        await cluster.delete("Node", "n0")
        for pod in await cluster.every("Pod"):
            if pod["spec"]["nodeName"] == "n0":
                await cluster.delete("Pod", pod["metadata"]["name"])
        await cluster.quiet()
        assert await bound(cluster) == ["spare", "spare", "spare", "spare", "n1"]
        assert (await conditions(cluster))["Admitted"] == "True Admitted"

    nodes = (node("n0", "b", "r0", 4), node("n1", "b", "r0", 1))
    run(live, *QUEUES, *nodes, job(5, podset_required_topology=RACK))


@pytest.mark.requirement("K19", "K20")
def test_a_workload_without_a_replacement_is_evicted_and_queues_again() -> None:
    async def live(cluster: Controlled) -> None:
        await cluster.delete("Node", "n0")
        for pod in await cluster.every("Pod"):
            if pod["spec"]["nodeName"] == "n0":
                await cluster.delete("Pod", pod["metadata"]["name"])
        await cluster.quiet()
        found = await conditions(cluster)
        assert found["Evicted"] == "True NodeFailures"
        assert found["QuotaReserved"].startswith("False")
        assert found["Requeued"] == "True NodeFailures"
        assert (await cluster.get("Job", "train"))["spec"]["suspend"] is True

    nodes = (node("n0", "b", "r0", 4), node("n1", "b", "r0", 1), node("far", "b", "r1", 4))
    run(live, *QUEUES, *nodes, job(5, podset_required_topology=RACK))


@pytest.mark.requirement("K98")
def test_a_quiet_cluster_sees_no_writes_and_a_restart_changes_nothing() -> None:
    async def live(cluster: Controlled) -> None:
        before = list(cluster.writes)
        await cluster.settle(30)
        await cluster.restart()
        await cluster.quiet()
        await cluster.settle(30)
        assert cluster.writes == before

    run(live, *QUEUES, *RACKS, job(6, podset_required_topology=RACK), job(30, name="waits"))


def test_part_of_a_job_is_admitted_where_quota_is_short() -> None:
    async def live(cluster: Controlled) -> None:
        (workload,) = await cluster.every("Workload")
        (given,) = workload["status"]["admission"]["podSetAssignments"]
        assert given["count"] == 3
        assert (await cluster.get("Job", "train"))["spec"]["parallelism"] == 3
        assert len(list(filter(None, await bound(cluster)))) == 3

    small = queues(quota={"nvidia.com/gpu": 3})
    run(live, *small, *RACKS, job(6, own={"job-min-parallelism": "2"}))


GATES = [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}, {"name": "other"}]


def gated(*texts: str) -> list[str]:
    """Plain pods as the webhook leaves them, with a gate of somebody else."""
    made = []
    for text in texts:
        pod = json.loads(text)
        pod["spec"] |= {"schedulingGates": GATES, "schedulerName": "closeknit"}
        pod["spec"]["containers"][0]["image"] = "train"
        made.append(json.dumps(pod))
    return made


@pytest.mark.requirement("K13", "K82", "K91")
def test_a_group_of_pods_is_admitted_and_let_go_but_for_the_gates_of_others() -> None:
    async def live(cluster: Controlled) -> None:
        (workload,) = await cluster.every("Workload")
        assert workload["metadata"]["name"] == "g"
        assert [each["name"] for each in workload["metadata"]["ownerReferences"]] == ["g-0", "g-1"]
        pods = await cluster.every("Pod")
        assert [each["spec"]["schedulingGates"] for each in pods] == [[{"name": "other"}]] * 2
        assert {each["metadata"]["annotations"]["kueue.x-k8s.io/workload"] for each in pods} == {"g"}
        for each in pods:
            await cluster.patch("Pod", each["metadata"]["name"], {"spec": {"schedulingGates": None}})
        await cluster.quiet()
        racks = {int(each["spec"]["nodeName"][1:]) // 2 for each in await cluster.every("Pod")}
        assert len(racks) == 1
        await cluster.patch("Workload", "g", {"spec": {"active": False}})
        await cluster.settle(40)
        assert await cluster.every("Pod") == []

    pods = gated(*(queued_pod(f"g-{i}", "g", 2, gpus=3, podset_required_topology=RACK) for i in range(2)))
    run(live, *QUEUES, *RACKS, *pods)


@pytest.mark.requirement("K20", "K21")
def test_pods_that_are_not_ready_in_time_cost_a_workload_its_quota_for_a_while() -> None:
    async def live(cluster: Controlled) -> None:
        assert (await conditions(cluster))["PodsReady"] == "False WaitForStart"
        await cluster.settle(310)
        found = await conditions(cluster)
        assert (found["Evicted"], found["Requeued"]) == ("True PodsReadyTimeout", "False PodsReadyTimeout")
        await cluster.settle(70)
        assert (await conditions(cluster))["Admitted"] == "True Admitted"

    async def living() -> None:
        said = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwaitForPodsReady: {timeout: 5m}\n"
        settings = operator_settings([Source("kueue.yaml", said.encode())])
        assert settings.problems == ()
        made = objects(*QUEUES, *RACKS, job(2))
        async with controlling([KUEUE], *made, standins=True, settings=settings.entries) as cluster:
            await cluster.quiet()
            await live(cluster)

    asyncio.run(living())


@pytest.mark.requirement("K117")
def test_quota_of_pods_that_are_done_is_given_to_others() -> None:
    async def live(cluster: Controlled) -> None:
        assert (await conditions(cluster, "second"))["QuotaReserved"] == "False WaitingForQuota"
        for i, pod in enumerate(await cluster.every("Pod")):
            if i < 2:
                status = {"phase": "Succeeded"}
                await cluster.patch("Pod", pod["metadata"]["name"], {"status": status}, subresource="status")
        await cluster.quiet()
        found = next(each for each in await cluster.every("Workload") if "first" in each["metadata"]["name"])
        assert found["status"]["reclaimablePods"] == [{"name": "main", "count": 2}]
        assert (await conditions(cluster, "second"))["Admitted"] == "True Admitted"

    small = queues(quota={"nvidia.com/gpu": 4})
    run(live, *small, *RACKS, job(4, name="first"), job(2, name="second"))
