"""A crash or a lost answer at any write of Grove's operator changes nothing in the end.

On the embedded cluster in a time that is moved, and in ``make e2e`` on a real API server.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from closeknit.kube.port import KubernetesApi
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.controlling import controlling, crash_everywhere
from closeknit.testing.faulty_api import Fault
from tests.scenario.controlled import connected
from tests.scenario.groves import OPERATORS, PARTS, all_parts, binding, packed, web


async def live(point: int | None, fault: Fault, real: KubernetesApi | None = None) -> tuple[list[Any], int]:
    """The life of a set: it comes, grows, changes, loses its topology, shrinks and goes."""
    given = web(topologyConstraint=packed("dc", "rack"))
    topologies = ("ClusterTopologyBinding", "Topology")
    seen: list[Any] = []
    async with controlling(
        OPERATORS, binding("dc", "zone", "rack"), point=point, fault=fault, real=real
    ) as cluster:
        await cluster.settle(1)

        async def look() -> None:
            await cluster.quiet()
            seen.append(await cluster.objects("PodCliqueSet", *PARTS, *topologies))

        await cluster.create(given)
        await look()
        await cluster.patch(
            "PodCliqueScalingGroup", "web-0-model", {"spec": {"replicas": 3}}, subresource="scale"
        )
        await look()
        template = web(image="two", topologyConstraint=packed("dc", "rack"))["spec"]["template"]
        await cluster.patch("PodCliqueSet", "web", {"spec": {"template": template}})
        await look()
        levels = binding("dc", "zone")["spec"]["levels"]
        await cluster.patch("ClusterTopologyBinding", "dc", {"spec": {"levels": levels}})
        await look()
        await cluster.patch(
            "PodCliqueScalingGroup", "web-0-model", {"spec": {"replicas": 1}}, subresource="scale"
        )
        await look()
        await cluster.delete("PodCliqueSet", "web")
        await cluster.delete("ClusterTopologyBinding", "dc")
        await look()
        assert await all_parts(cluster) == {kind: [] for kind in PARTS}
        return seen, len(cluster.api.writes)


@pytest.mark.parametrize("fault", list(Fault))
async def test_a_fault_at_some_writes_changes_nothing_in_the_end(fault: Fault) -> None:
    assert await crash_everywhere(live, [fault], every=29) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("fault", list(Fault))
async def test_one_fault_or_another_at_every_write_changes_nothing_in_the_end(fault: Fault) -> None:
    assert await crash_everywhere(live, [fault], every=len(Fault)) > 10


@pytest.mark.long
@pytest.mark.parametrize("fault", list(Fault))
async def test_a_fault_at_every_write_changes_nothing_in_the_end(
    fault: Fault, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = await crash_everywhere(live, [fault])

    with capsys.disabled():
        sys.stdout.write(f"\nembedded cluster, {fault.value}: {runs} writes\n")
    assert runs > 50


@pytest.mark.e2e
async def test_a_fault_at_some_writes_on_a_real_api_server(
    plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    async with connected(plane) as real:

        async def really(point: int | None, fault: Fault) -> tuple[list[Any], int]:
            return await live(point, fault, real)

        runs = await crash_everywhere(really, [Fault.KILLED_AFTER], every=16)

    with capsys.disabled():
        sys.stdout.write(f"\nreal API server: {runs} writes\n")
    assert runs >= 4


@pytest.mark.e2e
async def test_services_come_and_go_with_replicas_on_a_real_api_server(plane: ControlPlane) -> None:
    async with (
        connected(plane) as real,
        controlling(OPERATORS, web(replicas=2), real=real) as cluster,
    ):
        await cluster.quiet()
        assert {"web-0", "web-1"} <= set(await cluster.names("Service"))
        await cluster.patch("PodCliqueSet", "web", {"spec": {"replicas": 1}}, subresource="scale")
        await cluster.quiet()
        assert {"web-0", "web-1"} & set(await cluster.names("Service")) == {"web-0"}
        written = len(cluster.writes)
        await cluster.settle(5)
        assert cluster.writes[written:] == [], "a quiet cluster sees no writes"
        await cluster.delete("PodCliqueSet", "web")
        await cluster.quiet()
        assert "web-0" not in await cluster.names("Service")
