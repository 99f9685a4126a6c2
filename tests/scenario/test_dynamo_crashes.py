"""A fault at each write for a deployment, by way of Grove and of Kueue, comes to the same."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.controllers.dynamo import OPERATOR
from closeknit.kube.port import KubernetesApi
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.controlling import controlling, crash_everywhere
from closeknit.testing.faulty_api import Fault
from tests.scenario.controlled import clear, connected
from tests.scenario.deployments import for_kueue, graph, mapping, says


async def life(
    point: int | None, fault: Fault, real: KubernetesApi | None = None, settings: Any = ()
) -> tuple[dict[str, Any], int]:
    """A deployment that is scaled, loses a level of its topology and its set; what it comes to."""
    given = for_kueue() if settings else graph()
    if real is not None:
        await clear(real)
    async with controlling(
        [OPERATOR], given, real=real, point=point, fault=fault, settings=settings
    ) as cluster:
        await cluster.quiet()
        await cluster.patch(
            "DynamoGraphDeployment", "graph", {"spec": {"services": {"Frontend": {"replicas": 2}}}}
        )
        await cluster.quiet()
        if not settings:
            await says(cluster, "False", "AllClusterTopologyLevelsAvailable")
            await says(
                cluster, "True", "ClusterTopologyLevelsUnavailable", "Unavailable topology domains: [rack]"
            )
        await cluster.delete("Job" if settings else "PodCliqueSet", "graph-worker" if settings else "graph")
        await cluster.quiet()
        found = await cluster.objects("DynamoGraphDeployment", "PodCliqueSet", "Job", "JobSet")
        return found, len(cluster.api.writes)


@pytest.mark.parametrize("settings", [(), mapping()], ids=["Grove", "Kueue"])
async def test_a_fault_at_every_write_comes_to_the_same(settings: Any) -> None:
    assert await crash_everywhere(lambda point, fault: life(point, fault, settings=settings)) > 10


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.parametrize("fault", [Fault.KILLED_BEFORE, Fault.KILLED_AFTER, Fault.UNANSWERED])
@pytest.mark.parametrize("settings", [(), mapping()], ids=["Grove", "Kueue"])
async def test_a_fault_at_every_write_to_a_real_api_server(
    settings: Any, fault: Fault, plane: ControlPlane
) -> None:
    async with connected(plane) as real:
        assert await crash_everywhere(lambda point, fault: life(point, fault, real, settings), [fault]) > 5
