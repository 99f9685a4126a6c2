"""Jobs and JobSets from beginning to end, on an embedded cluster with all stand-ins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random
from typing import Any

import pytest

from closeknit.kube.clock import SYSTEM_CLOCK
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.mirror import Key, Mirror
from closeknit.kube.port import Change, DeleteOptions, MergePatch, Object, Propagation, Selection
from closeknit.kube.resources import JOB_SETS, JOBS, LEASES, NODES, PODS, Resource
from closeknit.kube.standins import run_standins
from closeknit.kube.standins.job_controller import JobController, job_key
from closeknit.kube.standins.kubelet import EXIT_CODE, RUN_SECONDS

DEFAULT = Selection(namespace="default")


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    """A cluster with one node, on which every pod lands at once."""
    made = EmbeddedCluster(dice=Random(1))
    await made.create(
        NODES, {"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "8", "pods": "110"}}}
    )
    running = [asyncio.create_task(run_standins(made, random=Random(2))), asyncio.create_task(bind_all(made))]
    yield made
    for task in running:
        assert not task.done(), task.exception()
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def bind_all(cluster: EmbeddedCluster) -> None:
    async for event in cluster.watch(PODS):
        if (
            isinstance(event, Change)
            and not event.object["spec"].get("nodeName")
            and event.type.value != "DELETED"
        ):
            meta = event.object["metadata"]
            if "deletionTimestamp" not in meta:
                await cluster.bind(meta["name"], "n1", namespace=meta["namespace"])


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(120):
        while not await holds():  # noqa: ASYNC110 (what is waited for is somewhere in the cluster)
            await asyncio.sleep(0.01)


async def turns() -> None:
    """Let everybody act on what they can see, and on what follows from it."""
    for _ in range(200):
        await asyncio.sleep(0)


async def conditions(cluster: EmbeddedCluster, resource: Resource, name: str) -> dict[str, str]:
    obj = await cluster.get(resource, name, namespace="default")
    return {one["type"]: one["status"] for one in obj.get("status", {}).get("conditions", [])}


async def pods(cluster: EmbeddedCluster, labels: str = "") -> list[dict[str, Any]]:
    return (await cluster.list(PODS, Selection(namespace="default", labels=labels))).items


def job(name: str, *, seconds: str | None = "0", code: str = "0", **spec: Any) -> dict[str, Any]:
    annotations = {EXIT_CODE: code, **({RUN_SECONDS: seconds} if seconds is not None else {})}
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**spec, "template": template},
    }


async def test_a_job_runs_to_its_completions(cluster: EmbeddedCluster) -> None:
    await cluster.create(JOBS, job("j", parallelism=2, completions=5))

    async def complete() -> bool:
        return (await conditions(cluster, JOBS, "j")).get("Complete") == "True"

    await until(complete)
    status = (await cluster.get(JOBS, "j", namespace="default"))["status"]
    assert status["succeeded"] == 5
    assert not any(status["uncountedTerminatedPods"].values())
    assert len(await pods(cluster)) == 5
    assert all("finalizers" not in pod["metadata"] for pod in await pods(cluster))


async def test_an_indexed_job_completes_each_index_once(cluster: EmbeddedCluster) -> None:
    await cluster.create(JOBS, job("j", parallelism=3, completions=4, completionMode="Indexed"))

    async def complete() -> bool:
        return (await conditions(cluster, JOBS, "j")).get("Complete") == "True"

    await until(complete)
    assert (await cluster.get(JOBS, "j", namespace="default"))["status"]["completedIndexes"] == "0-3"
    indexes = [
        pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for pod in await pods(cluster)
    ]
    assert sorted(indexes) == ["0", "1", "2", "3"]


async def test_a_job_fails_at_its_backoff_limit(cluster: EmbeddedCluster) -> None:
    await cluster.create(JOBS, job("j", code="3", backoffLimit=0))

    async def failed() -> bool:
        return (await conditions(cluster, JOBS, "j")).get("Failed") == "True"

    await until(failed)
    status = (await cluster.get(JOBS, "j", namespace="default"))["status"]
    assert status["failed"] == 1
    assert {one["reason"] for one in status["conditions"]} == {"BackoffLimitExceeded"}


async def test_a_suspended_job_has_no_pods_until_it_is_resumed(cluster: EmbeddedCluster) -> None:
    await cluster.create(JOBS, job("j", seconds=None, suspend=True))

    async def suspended() -> bool:
        return (await conditions(cluster, JOBS, "j")).get("Suspended") == "True"

    async def running() -> bool:
        return [pod["status"]["phase"] for pod in await pods(cluster)] == ["Running"]

    await until(suspended)
    assert await pods(cluster) == []
    await cluster.patch(JOBS, "j", MergePatch({"spec": {"suspend": False}}), namespace="default")
    await until(running)
    assert await conditions(cluster, JOBS, "j") == {"Suspended": "False"}


async def test_the_pods_of_a_deleted_job_go(cluster: EmbeddedCluster) -> None:
    await cluster.create(JOBS, job("j", seconds=None, parallelism=3, completions=3))

    async def running() -> bool:
        return [pod["status"]["phase"] for pod in await pods(cluster)] == ["Running"] * 3

    async def gone() -> bool:
        return not await pods(cluster)

    await until(running)
    await cluster.delete(
        JOBS, "j", namespace="default", options=DeleteOptions(propagation=Propagation.BACKGROUND)
    )
    await until(gone)


def job_set(name: str, *replicated: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicatedJobs": list(replicated), **spec},
    }


def replicated(name: str, replicas: int = 1, **settings: Any) -> dict[str, Any]:
    made = job("unused", **settings)
    return {"name": name, "replicas": replicas, "template": {"spec": made["spec"]}}


async def test_a_job_set_completes_when_all_its_jobs_have(cluster: EmbeddedCluster) -> None:
    await cluster.create(
        JOB_SETS, job_set("s", replicated("leader"), replicated("workers", 2, parallelism=2))
    )

    async def completed() -> bool:
        return (await conditions(cluster, JOB_SETS, "s")).get("Completed") == "True"

    await until(completed)
    jobs = (await cluster.list(JOBS, DEFAULT)).items
    assert [one["metadata"]["name"] for one in jobs] == ["s-leader-0", "s-workers-0", "s-workers-1"]
    assert len(await pods(cluster, "jobset.sigs.k8s.io/replicatedjob-name=workers")) == 4


async def test_a_job_set_begins_anew_as_often_as_it_may(cluster: EmbeddedCluster) -> None:
    await cluster.create(
        JOB_SETS,
        job_set("s", replicated("w", code="1", backoffLimit=0), failurePolicy={"maxRestarts": 2}),
    )

    async def failed() -> bool:
        return (await conditions(cluster, JOB_SETS, "s")).get("Failed") == "True"

    await until(failed)
    status = (await cluster.get(JOB_SETS, "s", namespace="default"))["status"]
    assert (status["restarts"], status["conditions"][0]["reason"]) == (2, "ReachedMaxRestarts")


async def test_jobs_start_in_order_where_the_set_says_so(cluster: EmbeddedCluster) -> None:
    await cluster.create(
        JOB_SETS,
        job_set(
            "s",
            replicated("first", seconds=None),
            replicated("second", seconds=None),
            startupPolicy={"startupPolicyOrder": "InOrder"},
        ),
    )

    async def both() -> bool:
        return len((await cluster.list(JOBS, DEFAULT)).items) == 2

    await until(both)
    made = {one["metadata"]["name"]: one for one in (await cluster.list(JOBS, DEFAULT)).items}
    first_pod = (await pods(cluster, "jobset.sigs.k8s.io/replicatedjob-name=first"))[0]
    assert first_pod["status"]["phase"] == "Running"
    assert int(made["s-second-0"]["metadata"]["resourceVersion"]) > int(
        first_pod["metadata"]["resourceVersion"]
    )


async def test_every_node_has_a_lease(cluster: EmbeddedCluster) -> None:
    async def leased() -> bool:
        page = await cluster.list(LEASES, Selection(namespace="kube-node-lease"))
        return [one["spec"]["holderIdentity"] for one in page.items] == ["n1"]

    await until(leased)


async def test_a_dead_node_does_nothing_until_it_is_back(cluster: EmbeddedCluster) -> None:
    async def mark(status: str) -> None:
        patch = MergePatch({"status": {"conditions": [{"type": "Ready", "status": status}]}})
        await cluster.patch(NODES, "n1", patch, subresource="status")

    async def phase() -> str:
        return str((await cluster.get(PODS, "p", namespace="default"))["status"]["phase"])

    async def bound() -> bool:
        return bool((await cluster.get(PODS, "p", namespace="default"))["spec"].get("nodeName"))

    async def running() -> bool:
        return await phase() == "Running"

    await mark("False")
    await turns()
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await cluster.create(PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": spec})
    await until(bound)
    await turns()
    assert await phase() == "Pending"
    await mark("True")
    await until(running)


async def test_a_second_look_sees_the_pods_that_the_first_one_made() -> None:
    cluster = EmbeddedCluster()
    made = await cluster.create(JOBS, job("j", parallelism=3, completions=3))
    jobs: Mirror[Object] = Mirror(cluster, JOBS, random=Random(1))
    its_pods: Mirror[Object] = Mirror(cluster, PODS, random=Random(1), indexes={"job": job_key})
    running = [asyncio.create_task(mirror.run()) for mirror in (jobs, its_pods)]
    await jobs.reached(made["metadata"]["resourceVersion"])
    await its_pods.synced()
    controller = JobController(cluster, jobs, its_pods, clock=SYSTEM_CLOCK)
    for _ in range(3):
        await controller._reconcile(Key("default", "j"))

    assert len(await pods(cluster)) == 3
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
