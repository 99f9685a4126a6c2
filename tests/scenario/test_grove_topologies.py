"""KAI's Topologies that follow ClusterTopologyBindings, and sets whose topology drifts."""

from __future__ import annotations

import pytest

from closeknit.kube.port import KubernetesApi
from closeknit.testing.controlling import controlling
from tests.scenario.groves import OPERATORS, binding, clique, clique_set, condition, packed


@pytest.mark.requirement("G13", "G15", "G16")
async def test_a_topology_of_kai_follows_its_binding() -> None:
    async with controlling(OPERATORS, binding("dc", "zone", "rack")) as cluster:
        await cluster.quiet()
        made = await cluster.get("Topology", "dc")
        assert [each["nodeLabel"] for each in made["spec"]["levels"]] == ["topology/zone", "topology/rack"]
        assert made["metadata"]["ownerReferences"][0]["kind"] == "ClusterTopologyBinding"
        levels = binding("dc", "zone", "block", "rack")["spec"]["levels"]
        await cluster.patch("ClusterTopologyBinding", "dc", {"spec": {"levels": levels}})
        await cluster.quiet()
        anew = await cluster.get("Topology", "dc")
        assert len(anew["spec"]["levels"]) == 3
        assert anew["metadata"]["uid"] != made["metadata"]["uid"]
        await cluster.delete("ClusterTopologyBinding", "dc")
        await cluster.quiet()
        assert await cluster.names("Topology") == []


async def test_a_topology_that_somebody_else_made_is_left_alone() -> None:
    kai = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "dc"},
        "spec": {"levels": [{"nodeLabel": "other"}]},
    }
    async with controlling(OPERATORS, kai, binding("dc", "zone")) as cluster:
        await cluster.quiet()
        assert (await cluster.get("Topology", "dc"))["spec"]["levels"] == [{"nodeLabel": "other"}]
        assert [each["reason"] for each in await cluster.every("Event")] == ["TopologyNotOwned"]


async def test_a_reference_to_another_topology_is_compared() -> None:
    kai = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "theirs"},
        "spec": {"levels": [{"nodeLabel": "topology/zone"}]},
    }
    async with controlling(OPERATORS, binding("dc", "zone", bound_to="theirs")) as cluster:
        seen = []
        for step in (None, kai, {"spec": {"levels": binding("dc", "rack")["spec"]["levels"]}}):
            if step is kai:
                await cluster.create(kai)
            elif step is not None:
                await cluster.patch("ClusterTopologyBinding", "dc", step)
            await cluster.quiet()
            found = await condition(cluster, "ClusterTopologyBinding", "dc", "SchedulerTopologyDrift")
            seen.append((found["status"], found["reason"]))
        assert seen == [("Unknown", "TopologyNotFound"), ("False", "InSync"), ("True", "Drift")]
        status = (await cluster.get("ClusterTopologyBinding", "dc"))["status"]
        assert status["schedulerTopologyStatuses"][0]["inSync"] is False
        assert await cluster.names("Topology") == ["theirs"]


@pytest.mark.requirement("G55", "G56", "G57", "G58", "G59")
async def test_a_topology_that_drifts_takes_its_constraints_with_it(real: KubernetesApi | None) -> None:
    given = clique_set("web", clique("worker", 2), topologyConstraint=packed("dc", "rack"))
    async with controlling(OPERATORS, binding("dc", "zone", "rack"), real=real) as cluster:
        await cluster.quiet()
        await cluster.create(given)
        seen = []

        async def look() -> None:
            await cluster.quiet()
            told = await condition(cluster, "PodCliqueSet", "web", "TopologyLevelsUnavailable")
            gang = (await cluster.get("PodGang", "web-0"))["spec"].get("topologyConstraint")
            group = (await cluster.get("PodGroup", "web-0"))["spec"].get("topologyConstraint")
            seen.append((told["status"], told["reason"], gang is not None, bool(group)))

        await look()
        levels = binding("dc", "zone")["spec"]["levels"]
        await cluster.patch("ClusterTopologyBinding", "dc", {"spec": {"levels": levels}})
        await look()
        await cluster.delete("ClusterTopologyBinding", "dc")
        await look()
        await cluster.create(binding("dc", "zone", "rack"))
        await look()
        assert seen == [
            ("False", "AllClusterTopologyLevelsAvailable", True, True),
            ("True", "ClusterTopologyLevelsUnavailable", False, False),
            ("Unknown", "ClusterTopologyNotFound", False, False),
            ("False", "AllClusterTopologyLevelsAvailable", True, True),
        ]


async def test_two_topologies_of_one_name_do_not_fight() -> None:
    earlier = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": "dc"},
        "spec": {"levels": [{"domain": "rack", "key": "topology/rack"}]},
    }
    async with controlling(OPERATORS, binding("dc", "zone"), earlier) as cluster:
        await cluster.quiet()
        written = len(cluster.writes)
        await cluster.settle(120)
        assert cluster.writes[written:] == []
        assert await cluster.names("Topology") == ["dc"]
        await cluster.delete("ClusterTopology", "dc")
        await cluster.quiet()
        made = await cluster.get("Topology", "dc")
        assert [each["nodeLabel"] for each in made["spec"]["levels"]] == ["topology/zone"]
