"""Kueue's planner and the scheduler decide apart: neither gives away what the other has given."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from closeknit.controllers.kueue.operator import KUEUE
from closeknit.kube.port import DeleteOptions, Propagation
from closeknit.testing.controlling import Controlled, controlling
from tests.unit.controllers.kueue.test_live import bound, conditions, objects
from tests.unit.dialects.kueue.kit import QUEUES, RACK, job, node

ONE_RACK = tuple(node(f"n{i}", "b", "r0", 4) for i in range(2))


def gang(pods: int) -> list[dict[str, Any]]:
    """A PodGroup of KAI whose pods need a GPU each, all at once."""
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"},
        "spec": {"minMember": pods, "queue": "q"},
    }
    limits = {"nvidia.com/gpu": 1}
    return [
        group,
        *(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"gang-{i}",
                    "namespace": "default",
                    "labels": {"app": "gang"},
                    "annotations": {"pod-group-name": "gang"},
                },
                "spec": {
                    "schedulerName": "closeknit",
                    "containers": [
                        {
                            "name": "main",
                            "image": "train",
                            "resources": {"limits": limits, "requests": limits},
                        }
                    ],
                },
            }
            for i in range(pods)
        ),
    ]


async def of_gang(cluster: Controlled) -> list[str]:
    pods = [pod for pod in await cluster.every("Pod") if pod["metadata"]["name"].startswith("gang-")]
    return [pod["spec"].get("nodeName", "") for pod in pods]


def test_a_gang_does_not_take_the_place_of_pods_that_are_still_to_come() -> None:
    """The Job's pods are gated by somebody else too, so that they cannot be bound for a while."""

    async def living() -> None:
        held = {"schedulingGates": [{"name": "example.com/later"}]}
        made = objects(*QUEUES, *ONE_RACK, job(6, podset_required_topology=RACK, pod=held))
        async with controlling([KUEUE], *made, standins=True, scheduler=True) as cluster:
            await cluster.quiet()
            assert (await conditions(cluster))["Admitted"] == "True Admitted"
            assert await bound(cluster) == [""] * 6
            await cluster.create(*gang(4))
            await cluster.settle(5)
            assert await of_gang(cluster) == [""] * 4, "Only two GPUs are free beside the Job's places."
            for pod in await cluster.every("Pod"):
                if not pod["metadata"]["name"].startswith("gang-"):
                    await cluster.patch("Pod", pod["metadata"]["name"], {"spec": {"schedulingGates": None}})
            await cluster.quiet()
            assert await bound(cluster) == ["n0", "n0", "n0", "n0", "n1", "n1"]

    asyncio.run(living())


@pytest.mark.parametrize("first", ["job", "gang"])
def test_both_arrive_in_one_instant_and_only_one_of_them_runs(first: str) -> None:
    """Eight GPUs, and both want six: whoever loses waits, and gets its place when the other has gone."""

    async def living() -> None:
        both = [*objects(job(6, podset_required_topology=RACK)), *gang(6)]
        async with controlling(
            [KUEUE], *objects(*QUEUES, *ONE_RACK), standins=True, scheduler=True
        ) as cluster:
            await cluster.quiet()
            await cluster.create(*(both if first == "job" else [*both[1:], both[0]]))
            await cluster.settle(30)
            await cluster.quiet()
            job_runs, gang_runs = (
                all(nodes) and len(nodes) == 6 for nodes in (await bound(cluster), await of_gang(cluster))
            )
            assert job_runs != gang_runs
            if gang_runs:
                assert (await conditions(cluster))["QuotaReserved"] == "False TopologyPlacementFailed"
                await cluster.delete("PodGroup", "gang")
                for i in range(6):
                    await cluster.delete("Pod", f"gang-{i}")
            else:
                options = DeleteOptions(propagation=Propagation.BACKGROUND)
                await cluster.delete("Job", "train", options=options)
            await cluster.settle(60)
            await cluster.quiet()
            assert all(await (bound(cluster) if gang_runs else of_gang(cluster)))

    asyncio.run(living())


def test_who_was_given_a_place_that_others_had_taken_queues_again() -> None:
    """Somebody who does not ask us binds a pod in the moment of the admission."""

    async def living() -> None:
        made = objects(*QUEUES, *ONE_RACK, node("other", "b", "r1", 8), job(6, podset_required_topology=RACK))
        async with controlling([KUEUE], *made, standins=True) as cluster:
            await cluster.quiet()
            (workload,) = await cluster.every("Workload")
            given = json.dumps(workload["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"])
            taken = "other" if "other" in given else "n0"
            stranger = gang(1)[1]
            stranger["spec"] |= {"nodeName": taken, "schedulerName": "somebody"}
            limits = {"nvidia.com/gpu": 4}
            stranger["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": limits}
            await cluster.create(stranger)
            await cluster.settle(30)
            await cluster.quiet()
            found = await conditions(cluster)
            assert (found["Admitted"], found["Evicted"]) == ("True Admitted", "False QuotaReserved")
            (workload,) = await cluster.every("Workload")
            again = json.dumps(workload["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"])
            assert again != given
            assert workload["status"]["schedulingStats"]["evictions"] == [
                {"reason": "NodeFailures", "underlyingCause": "", "count": 1}
            ]

    asyncio.run(living())
