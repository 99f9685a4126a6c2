"""A small cluster whose map is served: two racks of two nodes, one gang that runs and one that waits."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from closeknit.scheduler.cluster_state import ClusterState
from closeknit.server.access import Access
from closeknit.server.app import MapServer
from closeknit.server.live_map import LiveMap
from tests.unit.scheduler.objects import entry, node, pod, pod_group, together, topology

EVIL = "<img src=x onerror=alert(1)>"


def cluster_state() -> ClusterState:
    state = ClusterState()
    objects = [
        topology("zone", "rack"),
        *(node(f"n{i}", zone="z", rack=f"r{i // 2}") for i in range(4)),
        pod_group("runs", minMember=2, topologyConstraint=together("rack")),
        *(pod(f"runs-{i}", "runs", gpus=4, on="n0", phase="Running") for i in range(2)),
        pod_group("waits", minMember=3, topologyConstraint=together("rack")),
        *(pod(f"waits-{i}", "waits", gpus=8) for i in range(3)),
        pod("alone", gpus=2, on="n3", phase="Running", scheduler="default-scheduler"),
    ]
    for each in objects:
        state.put(entry(each))
    return state


@asynccontextmanager
async def served(
    state: ClusterState, access: Access | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[MapServer]:
    """The map of a state, on a port of its own."""
    server = MapServer(LiveMap(state, time=lambda: 1.0, generation=7), access=access, tls=tls)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
