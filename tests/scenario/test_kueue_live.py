"""A Job in Kueue's hands, from creation to a second start.

The same on the embedded cluster and, in ``make e2e``, on a real API server with Kubernetes' own Job controller.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any

import pytest

from closeknit.controllers.kueue.operator import KUEUE
from closeknit.kube.port import KubernetesApi
from closeknit.testing.controlling import Controlled, controlling
from tests.scenario.controlled import real
from tests.unit.dialects.kueue.kit import HOST, QUEUES, RACK, K, job, node

__all__ = ["real"]

GATE = {"name": f"{K}topology"}


def objects() -> list[dict[str, Any]]:
    """A queue over three racks of two hosts, and a Job of six pods that require a rack."""
    nodes = (node(f"n{i}", "b", f"r{i // 2}", 4) for i in range(6))
    made = [json.loads(text) for text in (*QUEUES, *nodes, job(6, podset_required_topology=RACK))]
    made[-1]["spec"]["suspend"] = True
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
    (workload,) = await cluster.every("Workload")
    found = (workload.get("status") or {}).get("conditions") or ()
    return next((f"{each['status']} {each['reason']}" for each in found if each["type"] == kind), "")


@pytest.mark.requirement("K58", "K63", "K64", "K81", "K88", "K89", "K110", "K111")
async def test_a_job_is_admitted_let_go_stopped_and_started_again(real: KubernetesApi | None) -> None:
    wanted = ["n0", "n0", "n0", "n0", "n1", "n1"]
    async with controlling([KUEUE], *objects(), real=real, standins=real is None) as cluster:
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


async def _is(asked: Awaitable[object], wanted: object) -> bool:
    return await asked == wanted


async def _template_selector(cluster: Controlled) -> dict[str, str]:
    found: dict[str, str] = (await cluster.get("Job", "train"))["spec"]["template"]["spec"].get(
        "nodeSelector", {}
    )
    return found
