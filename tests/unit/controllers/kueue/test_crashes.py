"""A process that dies at any write of Kueue's operator is replaced by one that comes to the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import pytest

from closeknit.controllers.kueue.operator import KUEUE
from closeknit.testing.controlling import Controlled, controlling, crash_everywhere
from closeknit.testing.faulty_api import Fault
from tests.unit.controllers.kueue.test_live import RACKS, bound, gated, objects
from tests.unit.dialects.kueue.kit import (
    QUEUES,
    RACK,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    node,
    queued_pod,
    replicated,
    topology,
)

KINDS = ("Workload", "Job", "JobSet", "ClusterQueue", "LocalQueue")
LIVES = {
    "a Job whose pods are let go by rank": [job(6, podset_required_topology=RACK)],
    "a JobSet, and a Job that waits": [
        job_set(replicated("a", 2, 5), own={"require-topology": RACK}),
        job(30, name="waits"),
    ],
    "a group of pods": gated(
        *(queued_pod(f"g-{i}", "g", 2, gpus=3, podset_required_topology=RACK) for i in range(2))
    ),
}


Change: TypeAlias = Callable[[Controlled], Awaitable[None]]


async def runs(_: Controlled) -> None:
    """Nothing happens to it."""


async def is_stopped(cluster: Controlled) -> None:
    """Somebody sets the first Workload not to run."""
    (first, *_) = await cluster.names("Workload")
    await cluster.patch("Workload", first, {"spec": {"active": False}})


async def is_preempted(cluster: Controlled) -> None:
    """A Job of higher priority needs the quota."""
    urgent = json.loads(job(6, name="urgent", podset_required_topology=RACK))
    urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    await cluster.create(*objects(json.dumps(urgent)))


async def loses_a_node(cluster: Controlled) -> None:
    """A node goes, and its pods with it."""
    await cluster.delete("Node", (await bound(cluster))[-1])


async def life(
    texts: Sequence[str], change: Change, point: int | None, fault: Fault, *, scheduler: bool = False
) -> tuple[Any, int]:
    """What becomes of objects, and how many writes that takes."""
    made = objects(*RACKS, *texts)
    async with controlling(
        [KUEUE], *made, standins=True, scheduler=scheduler, point=point, fault=fault
    ) as cluster:
        await cluster.quiet()
        await change(cluster)
        await cluster.settle(40)
        await cluster.quiet()
        found = await cluster.objects(*KINDS)
        pods = [
            (each["metadata"]["labels"].get("kueue.x-k8s.io/podset"), str(each["spec"].get("nodeSelector")))
            for each in await cluster.every("Pod")
        ]
        return _without_uids(found, sorted(map(str, pods))), len(cluster.writes)


def _without_uids(found: dict[str, Any], pods: list[str]) -> Any:
    """Names of Workloads and selectors of Jobs carry uids, which differ from run to run."""
    for name, each in found.items():
        if name.startswith("Workload"):
            for given in each["spec"]["podSets"]:
                given["template"].pop("metadata", None)
            each["metadata"] = {}
            each["status"].pop("accumulatedPastExecutionTimeSeconds", None)
            for condition in each["status"]["conditions"]:
                # What stands in the way in detail depends on who was looked at first.
                condition.pop("message")
        if name.startswith(("Job ", "JobSet ")):
            each["spec"].pop("selector", None)
            for template in _templates(each):
                template["metadata"] = {
                    "labels": {
                        k: v for k, v in template["metadata"].get("labels", {}).items() if "uid" not in k
                    }
                }
    return sorted((name.split("-f")[0].rsplit("-", 1)[0], str(each)) for name, each in found.items()), pods


def _templates(owner: dict[str, Any]) -> list[dict[str, Any]]:
    if "template" in owner["spec"]:
        return [owner["spec"]["template"]]
    return [each["template"]["spec"]["template"] for each in owner["spec"]["replicatedJobs"]]


@pytest.mark.slow
@pytest.mark.requirement("K98")
@pytest.mark.parametrize("change", [runs, is_stopped])
@pytest.mark.parametrize("texts", [pytest.param(texts, id=name) for name, texts in LIVES.items()])
def test_a_crash_at_any_write_comes_to_the_same(texts: list[str], change: Change) -> None:
    lives = crash_everywhere(lambda point, fault: life((*QUEUES, *texts), change, point, fault), every=2)
    assert asyncio.run(lives) > 8


PREEMPTING = (
    topology(),
    flavor(),
    cluster_queue(quota={"nvidia.com/gpu": 8}, preemption={"withinClusterQueue": "LowerPriority"}),
    local_queue(),
    json.dumps(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": "high"},
            "value": 100,
        }
    ),
)

SPARE = tuple(node(f"spare{i}", "b", f"r{i}", 4) for i in range(3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queues", "change", "scheduler"),
    [
        pytest.param(PREEMPTING, is_preempted, False, id="while a Job is preempted"),
        pytest.param(
            (*QUEUES, *SPARE),
            loses_a_node,
            True,
            id="while pods of a lost node are replaced",
        ),
    ],
)
def test_a_crash_while_a_job_makes_way_comes_to_the_same(
    queues: tuple[str, ...], change: Change, *, scheduler: bool
) -> None:
    texts = (*queues, job(6, podset_required_topology=RACK))
    lives = crash_everywhere(
        lambda point, fault: life(texts, change, point, fault, scheduler=scheduler), every=4
    )
    assert asyncio.run(lives) > 8
