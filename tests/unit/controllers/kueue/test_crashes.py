"""A process that dies at any write of Kueue's operator is replaced by one that comes to the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from closeknit.controllers.kueue.operator import KUEUE
from closeknit.testing.controlling import controlling, crash_everywhere
from closeknit.testing.faulty_api import Fault
from tests.unit.controllers.kueue.test_live import RACKS, gated, objects
from tests.unit.dialects.kueue.kit import QUEUES, RACK, job, job_set, queued_pod, replicated

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


async def life(texts: list[str], point: int | None, fault: Fault, *, stopped: bool) -> tuple[Any, int]:
    """What becomes of objects, and how many writes that takes."""
    made = objects(*QUEUES, *RACKS, *texts)
    async with controlling([KUEUE], *made, standins=True, point=point, fault=fault) as cluster:
        await cluster.quiet()
        if stopped:
            (first, *_) = await cluster.names("Workload")
            await cluster.patch("Workload", first, {"spec": {"active": False}})
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
@pytest.mark.requirement("K95", "K96", "K97", "K98")
@pytest.mark.parametrize("stopped", [False, True], ids=["that runs", "that is stopped"])
@pytest.mark.parametrize("texts", [pytest.param(texts, id=name) for name, texts in LIVES.items()])
def test_a_crash_at_any_write_comes_to_the_same(texts: list[str], *, stopped: bool) -> None:
    runs = asyncio.run(
        crash_everywhere(lambda point, fault: life(texts, point, fault, stopped=stopped), every=2)
    )

    assert runs > 8
