"""OSMO's pools in a cluster: on the embedded one and, in ``make e2e``, on a real API server."""

from __future__ import annotations

import pytest

from closeknit.controllers.osmo import OPERATOR
from closeknit.kube.port import KubernetesApi
from closeknit.testing.controlling import controlling
from tests.scenario.controlled import left
from tests.scenario.osmo_objects import RACKS, conditions, node, pool


@pytest.mark.requirement("O7", "O26", "O27")
async def test_a_pool_has_a_topology_of_its_keys_and_another_when_they_change(
    real: KubernetesApi | None,
) -> None:
    async with controlling([OPERATOR], pool("zone", "rack"), *RACKS, real=real) as cluster:
        await cluster.quiet()
        made = await cluster.get("Topology", "osmo-pool-p-topology")
        assert made["spec"]["levels"] == [
            {"nodeLabel": "t/zone", "alias": "zone"},
            {"nodeLabel": "t/rack", "alias": "rack"},
        ]
        assert await cluster.names("Queue") == ["osmo-default", "osmo-pool-p"]
        keys = pool("zone", "spine", "rack")["spec"]["topology_keys"]
        await cluster.patch("Pool", "p", {"spec": {"topology_keys": keys}})
        await cluster.quiet()
        other = await cluster.get("Topology", "osmo-pool-p-topology")
        assert [level["nodeLabel"] for level in other["spec"]["levels"]] == ["t/zone", "t/spine", "t/rack"]
        assert other["metadata"]["uid"] != made["metadata"]["uid"], "levels of a Topology cannot change"
        await cluster.patch("Pool", "p", {"spec": {"topology_keys": []}})
        await cluster.quiet()
        assert await cluster.names("Topology") == []
        assert (await cluster.get("Pool", "p"))["status"].get("topology") is None


@pytest.mark.requirement("O11")
async def test_a_pool_lists_its_keys_and_the_nodes_that_lack_them(real: KubernetesApi | None) -> None:
    bare = node("bare", zone="z")
    async with controlling([OPERATOR], pool("zone", "rack"), *RACKS, bare, real=real) as cluster:
        await cluster.quiet()
        status = (await cluster.get("Pool", "p"))["status"]
        assert (status["queue"], status["topology"]) == ("osmo-pool-p", "osmo-pool-p-topology")
        assert status["topologyKeys"] == [
            {"key": "zone", "label": "t/zone", "nodesWithout": 0, "nodes": []},
            {"key": "rack", "label": "t/rack", "nodesWithout": 1, "nodes": ["bare"]},
        ]
        assert (await conditions(cluster, "Pool", "p"))["NodesLabelled"] == "False NodesLackLabels"
        await cluster.patch("Node", "bare", {"metadata": {"labels": {"t/rack": "a"}}})
        await cluster.quiet()
        assert (await conditions(cluster, "Pool", "p")) == {
            "Accepted": "True Valid",
            "NodesLabelled": "True AllNodesLabelled",
            "Synchronized": "True Synchronized",
        }


async def test_pools_share_the_queue_above_theirs_until_the_last_is_gone(real: KubernetesApi | None) -> None:
    async with controlling([OPERATOR], pool("rack"), pool("rack", name="q"), real=real) as cluster:
        await cluster.quiet()
        await cluster.delete("Pool", "p")
        await cluster.quiet()
        assert {"osmo-default", "osmo-pool-q"} <= set(await cluster.names("Queue"))
        await cluster.delete("Pool", "q")
        await cluster.quiet()
        assert await left(cluster, "Queue", "Topology", "Pool") == {}


async def test_a_topology_that_somebody_else_made_is_left_alone_and_told_of(
    real: KubernetesApi | None,
) -> None:
    theirs = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "osmo-pool-p-topology"},
        "spec": {"levels": [{"nodeLabel": "x"}]},
    }
    async with controlling([OPERATOR], theirs, pool("rack"), real=real) as cluster:
        await cluster.quiet()
        assert (await cluster.get("Topology", "osmo-pool-p-topology"))["spec"] == theirs["spec"]
        assert (await conditions(cluster, "Pool", "p"))["Synchronized"] == "False NameTaken"
        await cluster.delete("Topology", "osmo-pool-p-topology")
        await cluster.quiet()
        assert (await conditions(cluster, "Pool", "p"))["Synchronized"] == "True Synchronized"


async def test_a_pool_that_becomes_wrong_keeps_what_it_has_made() -> None:
    async with controlling([OPERATOR], pool("rack")) as cluster:
        await cluster.quiet()
        await cluster.patch("Pool", "p", {"spec": {"default_platform": "x", "platforms": {"y": {}}}})
        await cluster.quiet()
        assert await cluster.names("Topology") == ["osmo-pool-p-topology"]
        assert (await conditions(cluster, "Pool", "p"))["Accepted"] == "False Invalid"
        assert "Invalid" in [each["reason"] for each in await cluster.every("Event")]
