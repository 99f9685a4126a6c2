"""A Job in Kueue's hands, from creation to a second start.

The same on the embedded cluster and, in ``make e2e``, on a real API server with Kubernetes' own Job controller.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest

from closeknit.apis.core_v1 import Pod
from closeknit.controllers.kueue.operator import KUEUE
from closeknit.controllers.kueue.reservations import BY_WORKLOAD
from closeknit.dialects import Source, operator_settings
from closeknit.hub.keys import Key
from closeknit.kube.port import KubernetesApi
from closeknit.testing.controlling import Controlled, controlling
from closeknit.testing.faulty_api import Fault
from tests.unit.dialects.kueue.kit import (
    HOST,
    QUEUES,
    RACK,
    K,
    cluster_queue,
    flavor,
    job,
    local_queue,
    node,
    queues,
    topology,
)

GATE = {"name": f"{K}topology"}


NODES = [node(f"n{i}", "b", f"r{i // 2}", 4) for i in range(6)]
"""Three racks of two hosts."""
SIX = job(6, podset_required_topology=RACK)


def objects(*texts: str) -> list[dict[str, Any]]:
    """Objects, of which Jobs are created suspended."""
    made = [json.loads(text) for text in texts]
    for each in made:
        if each["kind"] == "Job":
            each["spec"]["suspend"] = True
    return made


async def selected(cluster: Controlled) -> list[str]:
    """By rank, the hosts that pods were let go to; those that wait have none."""
    pods = [pod for pod in await cluster.every("Pod") if "deletionTimestamp" not in pod["metadata"]]
    pods.sort(key=lambda pod: int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))
    waiting = [GATE in pod["spec"].get("schedulingGates", ()) for pod in pods]
    return [
        "" if waits else pod["spec"]["nodeSelector"].get(HOST, "")
        for pod, waits in zip(pods, waiting, strict=True)
    ]


async def condition(cluster: Controlled, kind: str) -> str:
    workloads = await cluster.every("Workload")
    found = [one for each in workloads for one in (each.get("status") or {}).get("conditions") or ()]
    return next((f"{each['status']} {each['reason']}" for each in found if each["type"] == kind), "")


@pytest.mark.requirement("K48", "K49", "K58", "K63", "K64", "K81", "K88", "K89", "K110", "K111")
async def test_a_job_is_admitted_let_go_stopped_and_started_again(real: KubernetesApi | None) -> None:
    wanted = ["n0", "n0", "n0", "n0", "n1", "n1"]
    async with controlling(
        [KUEUE], *objects(*QUEUES, *NODES, SIX), real=real, standins=real is None
    ) as cluster:
        await cluster.until(lambda: _is(selected(cluster), wanted))
        assert await condition(cluster, "Admitted") == "True Admitted"
        (workload,) = await cluster.names("Workload")
        await cluster.patch("Workload", workload, {"spec": {"active": False}})
        await cluster.until(lambda: _is(cluster.every("Pod"), []))
        await cluster.until(lambda: _is(condition(cluster, "QuotaReserved"), "False Deactivated"))
        await cluster.until(lambda: _is(_template_selector(cluster), {}))
        await cluster.patch("Workload", workload, {"spec": {"active": True}})
        await cluster.until(lambda: _is(selected(cluster), wanted))
        assert await condition(cluster, "Evicted") == "False QuotaReserved"
        assert [line for line in cluster.log if not line.endswith(" told")] == []


@pytest.mark.requirement("K49")
async def test_a_workload_follows_its_job_as_long_as_it_waits(real: KubernetesApi | None) -> None:
    small = queues(quota={"nvidia.com/gpu": 2})
    async with controlling([KUEUE], *objects(*small, *NODES, job(4)), real=real) as cluster:
        await cluster.until(lambda: _is(condition(cluster, "QuotaReserved"), "False ExceedsMaxQuota"))
        # Of a Job that a real server has, only what may change while it is suspended.
        await cluster.patch("Job", "train", {"spec": {"parallelism": 2}})
        await cluster.until(lambda: _is(condition(cluster, "Admitted"), "True Admitted"))
        (workload,) = await cluster.every("Workload")
        assert workload["spec"]["podSets"][0]["count"] == 2


@pytest.mark.requirement("K92")
async def test_the_pods_of_a_workload_are_found_by_it_among_those_of_another(
    real: KubernetesApi | None,
) -> None:
    two = [job(2, name=name, podset_required_topology=RACK) for name in ("one", "other")]
    async with controlling(
        [KUEUE], *objects(*QUEUES, *NODES, *two), real=real, standins=real is None
    ) as cluster:

        async def owners() -> dict[str, list[str]]:
            """By Job, the owners of the pods that the index finds for its Workload and that were let go."""
            found: dict[str, list[str]] = {}
            if (view := cluster.view) is None:
                return found
            for workload in await cluster.every("Workload"):
                metadata = workload["metadata"]
                key = Key("kueue.x-k8s.io", "Workload", metadata["namespace"], metadata["name"])
                pods = (each.content for each in view.found(BY_WORKLOAD, key))
                found[metadata["ownerReferences"][0]["name"]] = [
                    pod.metadata.owner_references[0].name for pod in pods if _is_let_go(pod)
                ]
            return found

        await cluster.until(lambda: _is(owners(), {"one": ["one"] * 2, "other": ["other"] * 2}))


@pytest.mark.requirement("K60", "K74", "K108")
async def test_what_waits_is_admitted_when_a_node_comes(real: KubernetesApi | None) -> None:
    async with controlling([KUEUE], *objects(*QUEUES, NODES[0], SIX), real=real) as cluster:
        await cluster.until(lambda: _is(condition(cluster, "QuotaReserved"), "False TopologyPlacementFailed"))
        await cluster.create(json.loads(NODES[1]))
        await cluster.until(lambda: _is(condition(cluster, "Admitted"), "True Admitted"))


@pytest.mark.requirement("K87")
async def test_a_queue_tells_that_it_is_not_active_and_when_it_is(real: KubernetesApi | None) -> None:
    async def active() -> str:
        status = (await cluster.get("ClusterQueue", "research")).get("status") or {}
        return " ".join(f"{each['status']} {each['reason']}" for each in status.get("conditions", ()))

    without = (flavor(), cluster_queue(), local_queue())
    async with controlling([KUEUE], *objects(*without, *NODES, SIX), real=real) as cluster:
        await cluster.until(lambda: _is(active(), "False TopologyNotFound"))
        await cluster.create(json.loads(topology()))
        await cluster.until(lambda: _is(active(), "True Ready"))
        await cluster.until(lambda: _is(condition(cluster, "Admitted"), "True Admitted"))


@pytest.mark.requirement("K20", "K21")
async def test_pods_that_are_not_ready_in_time_cost_a_workload_its_quota(real: KubernetesApi | None) -> None:
    said = (
        b"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwaitForPodsReady: {timeout: 2s}\n"
    )
    settings = operator_settings([Source("kueue.yaml", said)]).entries
    async with controlling(
        [KUEUE], *objects(*QUEUES, *NODES, job(2)), real=real, standins=real is None, settings=settings
    ) as cluster:
        await cluster.until(lambda: _is(condition(cluster, "Evicted"), "True PodsReadyTimeout"))
        await cluster.until(lambda: _is(condition(cluster, "Requeued"), "False PodsReadyTimeout"))
        await cluster.until(lambda: _is(cluster.every("Pod"), []))


@pytest.mark.requirement("K90", "K98")
@pytest.mark.parametrize("number", [2, 5], ids=["the second pod", "the fifth pod"])
async def test_after_a_crash_the_others_are_let_go_to_where_room_is_left(
    number: int, real: KubernetesApi | None
) -> None:
    def has_let_go(writes: Sequence[str]) -> bool:
        return sum(each.startswith("patch Pod ") for each in writes) == number

    async with controlling(
        [KUEUE],
        *objects(*QUEUES, *NODES, SIX),
        real=real,
        standins=real is None,
        point=has_let_go,
        fault=Fault.KILLED_AFTER,
    ) as cluster:

        async def restarted() -> bool:
            return cluster.restarts == 1

        await cluster.until(restarted)
        await cluster.until(lambda: _is(selected(cluster), ["n0", "n0", "n0", "n0", "n1", "n1"]))
        await cluster.quiet()
        assert await selected(cluster) == ["n0", "n0", "n0", "n0", "n1", "n1"]


def _is_let_go(pod: Pod) -> bool:
    return not pod.spec.scheduling_gates


async def _create_pod(cluster: Controlled, index: int) -> None:
    """A pod of the Job, as the controller of Jobs would make it."""
    template = (await cluster.get("Job", "train"))["spec"]["template"]
    labels = {**template["metadata"]["labels"], "batch.kubernetes.io/job-completion-index": str(index)}
    metadata = {**template["metadata"], "name": f"train-{index}", "labels": labels}
    await cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})


@pytest.mark.requirement("K93", "K94", "K95", "K96", "K97")
async def test_pods_are_let_go_together_and_others_when_that_was_seen(real: KubernetesApi | None) -> None:
    (given,) = objects(SIX)
    # Nobody else makes its pods.
    given["spec"]["managedBy"] = "example.com/nobody"
    async with controlling([KUEUE], *objects(*QUEUES, *NODES), given, real=real) as cluster:

        async def is_resumed() -> bool:
            return (await cluster.get("Job", "train"))["spec"]["suspend"] is False

        def let_go() -> list[str]:
            return [each for each in cluster.writes if each.startswith("patch Pod ")]

        await cluster.until(is_resumed)
        cluster.api.hold_back("Pod", _is_let_go)
        if real is None:
            # A pod says the second in which it was made, and the next second is counted from its beginning.
            await cluster.settle(1 - cluster.clock.now().microsecond / 1e6)
        for index in range(5):
            await _create_pod(cluster, index)
        if real is None:
            # The sixth may come within a second; a real server's times do not tell parts of one.
            await cluster.settle(0.75)
            assert let_go() == []
        await cluster.until(lambda: _is(selected(cluster), ["n0", "n0", "n0", "n0", "n1"]))
        await _create_pod(cluster, 5)
        # Its Workload changes, but what was done last is not seen yet.
        (workload,) = await cluster.names("Workload")
        await cluster.patch("Workload", workload, {"metadata": {"annotations": {"touched": "yes"}}})
        await cluster.settle(2)
        assert len(let_go()) == 5
        cluster.api.catch_up()
        await cluster.until(lambda: _is(selected(cluster), ["n0", "n0", "n0", "n0", "n1", "n1"]))
        await cluster.quiet()
        assert sorted(let_go()) == [f"patch Pod train-{index}" for index in range(6)]


@pytest.mark.requirement("K96")
@pytest.mark.parametrize("fault", [Fault.UNSENT, Fault.UNANSWERED], ids=["is lost", "is not answered"])
async def test_a_pod_whose_release_fails_is_let_go_at_the_next_try(
    fault: Fault, real: KubernetesApi | None
) -> None:
    def is_third(writes: Sequence[str]) -> bool:
        return sum(each.startswith("patch Pod ") for each in writes) == 3

    async with controlling(
        [KUEUE],
        *objects(*QUEUES, *NODES, SIX),
        real=real,
        standins=real is None,
        point=is_third,
        fault=fault,
    ) as cluster:
        await cluster.until(lambda: _is(selected(cluster), ["n0", "n0", "n0", "n0", "n1", "n1"]))
        await cluster.quiet()
        assert await selected(cluster) == ["n0", "n0", "n0", "n0", "n1", "n1"]


@pytest.mark.requirement("K121")
@pytest.mark.parametrize(
    ("pods", "told"),
    [
        pytest.param(2, "True QuotaReserved", id="two pods have a host each"),
        pytest.param(3, "False TopologyPlacementFailed", id="no rack has hosts for three"),
    ],
)
async def test_pods_that_keep_apart_share_no_host(pods: int, told: str, real: KubernetesApi | None) -> None:
    (given,) = objects(job(pods, podset_required_topology=RACK))
    template = given["spec"]["template"]
    template["metadata"]["labels"] = {"app": "train"}
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "train"}}}
    template["spec"]["affinity"] = {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    }
    async with controlling(
        [KUEUE], *objects(*QUEUES, *NODES), given, real=real, standins=real is None
    ) as cluster:
        await cluster.until(lambda: _is(condition(cluster, "QuotaReserved"), told))
        if told.startswith("True"):
            await cluster.until(lambda: _is(selected(cluster), ["n0", "n1"]))


async def _is(asked: Awaitable[object], wanted: object) -> bool:
    return await asked == wanted


async def _template_selector(cluster: Controlled) -> dict[str, str]:
    found: dict[str, str] = (await cluster.get("Job", "train"))["spec"]["template"]["spec"].get(
        "nodeSelector", {}
    )
    return found
