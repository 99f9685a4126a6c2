"""JobSets in Kueue's hands, from creation to pods that run.

The same on the embedded cluster with a stand-in for the JobSet controller and, in ``make e2e``, on a real API server
with the JobSet controller itself, its own definition and its webhooks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from closeknit.controllers.kueue.operator import KUEUE
from closeknit.kube.errors import ApiError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, JOB_SETS
from closeknit.kube.rest import connect, load_access
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.control_plane.installed import RealController, published_definitions, real_job_set
from closeknit.testing.control_plane.programs import JOB_SET
from closeknit.testing.controlling import Controlled, controlling
from tests.planes import running_plane, skipped_without_go
from tests.unit.dialects.kueue.kit import HOST, QUEUES, RACK, job_set, node, replicated

Json = dict[str, Any]
NODES = [node(f"n{i}", "b", f"r{i // 2}", 4) for i in range(6)]
"""Three racks of two hosts of four GPUs each."""
_SETS = "jobset.sigs.k8s.io/"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane on which the JobSet controller runs."""
    with running_plane() as running:
        with skipped_without_go():
            controller = real_job_set(running)
            _carry_out(_define(running))
        with controller.running():
            _carry_out(_install(running, controller))
            yield running


def _carry_out(work: Coroutine[Any, Any, None]) -> None:
    """Do some work in a loop of its own; the test that asks for the control plane has one already."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


async def _define(plane: ControlPlane) -> None:
    async with connect(load_access(kubeconfig=str(plane.kubeconfig)), component="scenario") as api:
        for each in published_definitions(JOB_SET):
            await api.create(CUSTOM_RESOURCE_DEFINITIONS, each)


async def _install(plane: ControlPlane, controller: RealController) -> None:
    """Let the API server ask the webhooks; return when it does, which is a moment after they are written."""
    async with connect(load_access(kubeconfig=str(plane.kubeconfig)), component="scenario") as api:
        served = {each.kind: each for each in await api.resources()}
        for each in controller.webhooks():
            await api.create(served[each["kind"]], each)
        wrong = objects(job_set(replicated("a", 1, 1), name="a" * 70))[0]
        wrong["metadata"]["namespace"] = "default"
        async with asyncio.timeout(60):
            while True:
                try:
                    await api.create(JOB_SETS, wrong, dry_run=True)
                except ApiError as error:
                    if "denied the request" in str(error):
                        return
                await asyncio.sleep(0.2)


def objects(*texts: str) -> list[Json]:
    """Objects, of which JobSets are created suspended and their pods are for our scheduler."""
    made = [json.loads(text) for text in texts]
    for each in made:
        if each["kind"] == "JobSet":
            each["spec"]["suspend"] = True
            for template in templates(each):
                template["spec"]["schedulerName"] = "closeknit"
    return made


def templates(owner: Json) -> list[Json]:
    """The pod templates of a JobSet."""
    return [each["template"]["spec"]["template"] for each in owner["spec"]["replicatedJobs"]]


async def hosts(cluster: Controlled) -> dict[str, list[str]]:
    """By Job, the hosts of its pods in the order of their indexes; pods that are not bound have none."""
    pods = [pod for pod in await cluster.every("Pod") if "deletionTimestamp" not in pod["metadata"]]
    pods.sort(key=lambda pod: int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))
    found: dict[str, list[str]] = {}
    for pod in pods:
        labels = pod["metadata"]["labels"]
        name = f"{labels[f'{_SETS}replicatedjob-name']}-{labels[f'{_SETS}job-index']}"
        found.setdefault(name, []).append(pod["spec"].get("nodeName", ""))
    return dict(sorted(found.items()))


async def racks(cluster: Controlled) -> dict[str, set[str]]:
    """By Job, the racks of its pods; empty as long as one of them is not bound."""
    by_host = {
        each["metadata"]["name"]: each["metadata"]["labels"][RACK] for each in await cluster.every("Node")
    }
    return {
        name: {by_host[each] for each in given} if all(given) else set()
        for name, given in (await hosts(cluster)).items()
    }


async def condition(cluster: Controlled, kind: str) -> str:
    """The status and reason of a condition of the only Workload."""
    workloads = await cluster.every("Workload")
    found = [one for each in workloads for one in (each.get("status") or {}).get("conditions") or ()]
    return next((f"{each['status']} {each['reason']}" for each in found if each["type"] == kind), "")


async def _is(asked: Awaitable[object], wanted: object) -> bool:
    return await asked == wanted


async def _have(asked: Awaitable[dict[str, set[str]]], counts: dict[str, int]) -> bool:
    return {name: len(each) for name, each in (await asked).items()} == counts


@pytest.mark.requirement("K12", "K81", "K99", "K100", "K105")
@pytest.mark.parametrize(
    ("submitted", "pods", "counts"),
    [
        pytest.param(
            job_set(replicated("a", 2, 6), replicated("b", 1, 5), own={"require-topology": RACK}),
            17,
            {"a-0": 1, "a-1": 1, "b-0": 1},
            id="required: each Job in one rack",
        ),
        pytest.param(
            job_set(replicated("a", 1, 6), replicated("b", 1, 10), own={"prefer-topology": RACK}),
            16,
            {"a-0": 1, "b-0": 2},
            id="preferred: a Job that fits no rack is spread over as few as hold it",
        ),
        pytest.param(
            job_set(replicated("a", 2, 11, podset_unconstrained_topology="true")),
            22,
            None,
            id="unconstrained: wherever there is room",
        ),
    ],
)  # fmt: skip
async def test_a_job_set_is_admitted_and_its_pods_run_where_they_were_assigned(
    submitted: str, pods: int, counts: dict[str, int] | None, real: KubernetesApi | None
) -> None:
    given = objects(*QUEUES, *NODES, submitted)
    async with controlling([KUEUE], *given, real=real, scheduler=True, standins=True) as cluster:

        async def all_run() -> bool:
            return len([host for each in (await hosts(cluster)).values() for host in each if host]) == pods

        await cluster.until(all_run)
        assert await condition(cluster, "Admitted") == "True Admitted"
        if counts is not None:
            assert {name: len(each) for name, each in (await racks(cluster)).items()} == counts
        for pod in await cluster.every("Pod"):
            assert pod["spec"]["nodeSelector"][HOST] == pod["spec"]["nodeName"]
        await cluster.until(lambda: _is(condition(cluster, "PodsReady"), "True Started"))
        assert [line for line in cluster.log if not line.endswith(" told")] == []


@pytest.mark.requirement("K8", "K73")
async def test_a_job_set_of_which_a_job_fits_no_rack_stays_suspended(real: KubernetesApi | None) -> None:
    submitted = job_set(replicated("a", 1, 4), replicated("b", 1, 10), own={"require-topology": RACK})
    async with controlling(
        [KUEUE], *objects(*QUEUES, *NODES, submitted), real=real, standins=True
    ) as cluster:
        await cluster.until(lambda: _is(condition(cluster, "QuotaReserved"), "False TopologyPlacementFailed"))
        await cluster.quiet()
        assert (await cluster.get("JobSet", "set"))["spec"]["suspend"] is True
        assert await cluster.every("Pod") == []


@pytest.mark.requirement("K14", "K15", "K63", "K64", "K111")
async def test_a_job_set_is_stopped_and_started_again_in_other_domains(real: KubernetesApi | None) -> None:
    """First all pods share a host, then they do not: nothing of the first start may hold them back."""
    submitted = job_set(replicated("a", 1, 4, podset_preferred_topology=HOST))
    given = objects(*QUEUES, NODES[0], submitted)
    async with controlling([KUEUE], *given, real=real, scheduler=True, standins=True) as cluster:
        own = templates(await cluster.get("JobSet", "set"))
        await cluster.until(lambda: _is(hosts(cluster), {"a-0": ["n0"] * 4}))
        assert templates(await cluster.get("JobSet", "set")) != own
        (workload,) = await cluster.names("Workload")
        await cluster.patch("Workload", workload, {"spec": {"active": False}})

        async def is_as_submitted() -> bool:
            found = await cluster.get("JobSet", "set")
            return found["spec"]["suspend"] is True and templates(found) == own

        await cluster.until(is_as_submitted)
        await cluster.until(lambda: _is(cluster.every("Pod"), []))
        await cluster.patch("Node", "n0", {"spec": {"unschedulable": True}})
        await cluster.create(*objects(node("s0", "b", "r5", 2), node("s1", "b", "r5", 2)))
        await cluster.patch("Workload", workload, {"spec": {"active": True}})
        await cluster.until(lambda: _is(hosts(cluster), {"a-0": ["s0", "s0", "s1", "s1"]}))
        assert [line for line in cluster.log if not line.endswith(" told")] == []


@pytest.mark.requirement("K105")
async def test_a_pod_that_comes_again_joins_those_of_its_own_job(real: KubernetesApi | None) -> None:
    submitted = job_set(replicated("a", 2, 6), own={"require-topology": RACK})
    given = objects(*QUEUES, *NODES, submitted)
    async with controlling([KUEUE], *given, real=real, scheduler=True, standins=True) as cluster:
        await cluster.until(lambda: _have(racks(cluster), {"a-0": 1, "a-1": 1}))
        before = await hosts(cluster)
        second = [
            each
            for each in await cluster.every("Pod")
            if each["metadata"]["labels"][f"{_SETS}job-index"] == "1"
            and each["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "2"
        ]
        (gone,) = second
        await cluster.delete("Pod", gone["metadata"]["name"])

        async def is_replaced() -> bool:
            uids = {each["metadata"]["uid"] for each in await cluster.every("Pod")}
            return gone["metadata"]["uid"] not in uids and await hosts(cluster) == before

        await cluster.until(is_replaced)
