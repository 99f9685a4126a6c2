"""Nodes that are lost or not ready, and topologies whose lowest level is a rack, on an embedded cluster."""

from __future__ import annotations

import json

import pytest

from closeknit.testing.controlling import Controlled
from tests.unit.controllers.kueue.test_live import bound, conditions, objects, run
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    QUEUES,
    RACK,
    job,
    node,
    queues,
)

BY_RACK = queues(levels=(BLOCK, RACK))
TWO_RACKS = tuple(node(f"n{i}", "b", f"r{i // 2}", 4) for i in range(4))


@pytest.mark.requirement("K62", "K112")
@pytest.mark.parametrize("restarted", [False, True], ids=["", "also after a restart"])
def test_a_rack_is_held_as_a_whole_where_it_is_the_lowest_level(*, restarted: bool) -> None:
    async def live(cluster: Controlled) -> None:
        if restarted:
            await cluster.restart()
            await cluster.quiet()
        await cluster.create(*objects(job(6, name="second", podset_required_topology=RACK)))
        await cluster.create(*objects(job(4, name="third", podset_required_topology=RACK)))
        await cluster.quiet()
        racks = [{int(name[1:]) // 2 for name in await bound(cluster, each)} for each in ("first", "second")]
        assert sorted(map(list, racks)) == [[0], [1]]
        assert (await conditions(cluster, "third"))["QuotaReserved"] == "False TopologyPlacementFailed"

    run(live, *BY_RACK, *TWO_RACKS, job(6, name="first", podset_required_topology=RACK))


@pytest.mark.requirement("K60", "K74", "K108")
def test_a_new_node_makes_admission_possible() -> None:
    async def live(cluster: Controlled) -> None:
        assert (await conditions(cluster))["QuotaReserved"] == "False TopologyPlacementFailed"
        await cluster.create(json.loads(node("n1", "b", "r0", 4)))
        await cluster.settle(5)
        assert (await conditions(cluster))["Admitted"] == "True Admitted"

    run(live, *QUEUES, node("n0", "b", "r0", 4), job(6, podset_required_topology=RACK))


@pytest.mark.requirement("K22", "K25")
def test_pods_leave_a_node_that_is_not_ready_when_they_are_deleted() -> None:
    async def live(cluster: Controlled) -> None:
        assert await bound(cluster) == ["n0", "n0", "n0", "n0", "n1"]
        await cluster.create(json.loads(node("spare", "b", "r0", 4)))
        status = {"conditions": [{"type": "Ready", "status": "False"}]}
        await cluster.patch("Node", "n0", {"status": status}, subresource="status")
        await cluster.quiet()
        # As long as its pods are there, the node may come back.
        assert await bound(cluster) == ["n0", "n0", "n0", "n0", "n1"]
        for pod in await cluster.every("Pod"):
            if pod["spec"]["nodeName"] == "n0":
                await cluster.delete("Pod", pod["metadata"]["name"])
        await cluster.quiet()
        assert await bound(cluster) == ["spare", "spare", "spare", "spare", "n1"]

    run(
        live,
        *QUEUES,
        node("n0", "b", "r0", 4),
        node("n1", "b", "r0", 1),
        job(5, podset_required_topology=RACK),
    )


@pytest.mark.requirement("K24")
def test_a_node_that_somebody_calls_unhealthy_is_replaced_and_not_used_again() -> None:
    async def live(cluster: Controlled) -> None:
        (workload,) = await cluster.names("Workload")
        await cluster.create(json.loads(node("spare", "b", "r0", 4)))
        await cluster.patch(
            "Workload", workload, {"status": {"unhealthyNodes": [{"name": "n0"}]}}, subresource="status"
        )
        await cluster.quiet()
        for pod in await cluster.every("Pod"):
            if pod["spec"]["nodeName"] == "n0":
                await cluster.delete("Pod", pod["metadata"]["name"])
        await cluster.settle(40)
        assert sorted(await bound(cluster)) == ["n1", "spare", "spare", "spare", "spare"]
        (found,) = await cluster.every("Workload")
        assert "unhealthyNodes" not in found["status"]

    run(
        live,
        *QUEUES,
        node("n0", "b", "r0", 4),
        node("n1", "b", "r0", 1),
        job(5, podset_required_topology=RACK),
    )


@pytest.mark.requirement("K69")
def test_pods_that_have_chosen_their_node_in_a_rack_do_not_count_twice() -> None:
    async def live(cluster: Controlled) -> None:
        await cluster.create(*objects(job(2, name="second", podset_required_topology=RACK)))
        await cluster.quiet()
        assert (await conditions(cluster, "second"))["Admitted"] == "True Admitted"
        assert len(list(filter(None, await bound(cluster, "second")))) == 2

    run(live, *BY_RACK, *TWO_RACKS[:2], job(6, name="first", podset_required_topology=RACK))
