"""Beside a real Grove, which writes only ``Initialized`` of a PodGang and leaves the rest to the scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.controllers.operators import managed
from closeknit.testing.controlling import Controlled, controlling
from tests.scenario.groves import NODES
from tests.unit.scheduler.objects import pod, pod_group

INITIALIZED = {
    "type": "Initialized",
    "status": "True",
    "reason": "PodGangPodsCreated",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def gang(*pods: str, least: int) -> dict[str, Any]:
    """A PodGang as Grove makes it."""
    references = [{"namespace": "default", "name": name} for name in pods]
    return {
        "apiVersion": "scheduler.grove.io/v1alpha1",
        "kind": "PodGang",
        "metadata": {"name": "web-0", "namespace": "default"},
        "spec": {"podgroups": [{"name": "web-0-a", "minReplicas": least, "podReferences": references}]},
    }


async def state(cluster: Controlled) -> tuple[str, dict[str, str]]:
    """The phase of the gang, and its conditions."""
    status = (await cluster.get("PodGang", "web-0")).get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return status.get("phase", ""), conditions


async def test_a_pod_gang_of_a_real_grove_shows_how_far_it_is() -> None:
    pods = [{**each, "metadata": {**each["metadata"]}} for each in (pod("p0", "g"), pod("p1", "g"))]
    for each in pods:
        del each["metadata"]["uid"]
    async with controlling(managed({"grove"}), *NODES, scheduler=True, standins=True) as cluster:
        await cluster.create(gang("p0", "p1", least=2))
        given = {"status": {"phase": "Pending", "conditions": [INITIALIZED]}}
        await cluster.patch("PodGang", "web-0", given, subresource="status")
        await cluster.quiet()
        assert await state(cluster) == (
            "Pending",
            {"Initialized": "True", "Scheduled": "False", "Ready": "False"},
        )

        await cluster.create(pod_group("g", minMember=2), *pods)
        await cluster.quiet()
        assert await state(cluster) == (
            "Running",
            {"Initialized": "True", "Scheduled": "True", "Ready": "True"},
        )

        unready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        await cluster.patch("Pod", "p1", unready, subresource="status")
        await cluster.quiet()
        assert (await state(cluster))[0] == "Starting"


@pytest.mark.parametrize("external", [(), ("kueue",)])
def test_a_grove_that_is_managed_here_has_one_operator(external: tuple[str, ...]) -> None:
    assert [each.family for each in managed(external)].count("grove") == 1
