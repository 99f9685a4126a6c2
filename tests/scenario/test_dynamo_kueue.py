"""Dynamo's deployments that Kueue admits, where domains are mapped to labels."""

from __future__ import annotations

import pytest

from closeknit.controllers.dynamo import OPERATOR
from closeknit.kube.port import KubernetesApi
from closeknit.testing.controlling import controlling
from tests.scenario.deployments import CONDITION, conditions, events, for_kueue, graph, mapping, message_of


@pytest.mark.requirement("D12", "D23")
async def test_with_a_mapping_a_deployment_becomes_batches_for_kueue(real: KubernetesApi | None) -> None:
    async with controlling([OPERATOR], for_kueue(), real=real, settings=mapping()) as cluster:
        await cluster.quiet()
        assert await cluster.names("PodCliqueSet") == []
        found = {kind: await cluster.names(kind) for kind in ("Job", "JobSet", "LocalQueue", "ClusterQueue")}
        assert found == {
            "Job": ["graph-worker"],
            "JobSet": ["graph-frontend"],
            "LocalQueue": [],
            "ClusterQueue": [],
        }
        job = await cluster.get("Job", "graph-worker")
        assert job["spec"]["suspend"] is True
        assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "dynamo"
        template = job["spec"]["template"]["metadata"]["annotations"]
        assert template["kueue.x-k8s.io/podset-slice-required-topology"] == "t/rack"
        assert (await conditions(cluster))[CONDITION] == "True AllTopologyLevelsAvailable"
        await cluster.patch("Job", "graph-worker", {"spec": {"suspend": False}})
        await cluster.quiet()
        assert (await cluster.get("Job", "graph-worker"))["spec"]["suspend"] is False, (
            "that is Kueue's to say"
        )


async def test_a_batch_that_is_to_be_another_is_made_anew(real: KubernetesApi | None) -> None:
    async with controlling([OPERATOR], for_kueue(), real=real, settings=mapping()) as cluster:
        await cluster.quiet()
        before = {
            name: (await cluster.get(kind, name))["metadata"]["uid"]
            for kind, name in (("Job", "graph-worker"), ("JobSet", "graph-frontend"))
        }
        services = {"Worker": {"extraPodSpec": {"mainContainer": {"image": "newer"}}}}
        await cluster.patch("DynamoGraphDeployment", "graph", {"spec": {"services": services}})
        await cluster.quiet()
        job = await cluster.get("Job", "graph-worker")
        assert job["metadata"]["uid"] != before["graph-worker"]
        assert job["spec"]["template"]["spec"]["containers"][0]["image"] == "newer"
        assert (await cluster.get("JobSet", "graph-frontend"))["metadata"]["uid"] == before["graph-frontend"]


async def test_a_domain_without_a_label_is_told_of() -> None:
    async with controlling([OPERATOR], for_kueue(1), settings=mapping(zone="t/zone")) as cluster:
        await cluster.quiet()
        assert (await conditions(cluster))[CONDITION] == "False TopologyLevelsUnavailable"
        assert "'rack'" in await message_of(cluster, CONDITION)
        assert await events(cluster) == ["Warning TopologyLevelsUnavailable"]


@pytest.mark.requirement("D52")
async def test_a_deployment_that_is_not_for_grove_moves_to_kueue_and_back() -> None:
    async with controlling([OPERATOR], graph(domain="", close="", replicas=1)) as cluster:
        await cluster.quiet()
        for written, expected in (("false", ["JobSet"]), (None, ["PodCliqueSet"])):
            annotations = {"nvidia.com/enable-grove": written}
            await cluster.patch("DynamoGraphDeployment", "graph", {"metadata": {"annotations": annotations}})
            await cluster.quiet()
            kinds = ("PodCliqueSet", "JobSet", "Job")
            assert [kind for kind in kinds if await cluster.names(kind)] == expected
