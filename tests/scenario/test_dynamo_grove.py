"""Dynamo's deployments that Grove runs: what each becomes, and what it says of its constraints.

The same on the embedded cluster and, in ``make e2e``, on a real API server. What Grove says of a set is
written by the tests, as Grove's operator would.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from closeknit.controllers.dynamo import OPERATOR
from closeknit.controllers.operators import OPERATORS
from closeknit.kube.port import KubernetesApi
from closeknit.testing.controlling import controlling
from tests.scenario.controlled import left
from tests.scenario.deployments import CONDITION, conditions, constraints_of, events, graph, message_of, says


@pytest.mark.requirement("D17", "D18", "D20", "D21", "D24", "D39")
@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
async def test_a_deployment_becomes_a_set_with_its_constraints_though_no_topology_exists(
    version: str, real: KubernetesApi | None
) -> None:
    async with controlling([OPERATOR], graph(version), real=real) as cluster:
        await cluster.quiet()
        made = await cluster.get("PodCliqueSet", "graph")
        assert constraints_of(made) == {
            "": {"topologyName": "tree", "pack": {"required": "zone"}},
            "worker": {"pack": {"required": "rack"}},
        }
        (owner,) = made["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("DynamoGraphDeployment", "graph", True)
        assert [
            await cluster.names(kind) for kind in ("ClusterTopology", "ClusterTopologyBinding", "Topology")
        ] == [[], [], []]
        assert (await conditions(cluster))[CONDITION] == "Unknown TopologyConditionPending"
        written = len(cluster.writes)
        await cluster.settle(5)
        assert cluster.writes[written:] == [], "a quiet cluster sees no writes"


@pytest.mark.requirement("D40", "D41", "D42", "D44", "D45", "D47")
async def test_the_condition_follows_what_grove_says_and_each_change_is_told_once(
    real: KubernetesApi | None,
) -> None:
    async with controlling([OPERATOR], graph(), real=real) as cluster:
        await cluster.quiet()
        assert await events(cluster) == []
        await says(cluster, "False", "AllClusterTopologyLevelsAvailable")
        assert await conditions(cluster) == {
            "Ready": "True all_resources_are_ready",
            CONDITION: "True AllTopologyLevelsAvailable",
        }
        assert await events(cluster) == ["Normal TopologyConstraintsApplied"]
        await says(
            cluster, "True", "ClusterTopologyLevelsUnavailable", "Unavailable topology domains: [rack]"
        )
        assert await conditions(cluster) == {
            "Ready": "True all_resources_are_ready",
            CONDITION: "False TopologyLevelsUnavailable",
        }
        assert "'rack'" in await message_of(cluster, CONDITION)
        told = ["Normal TopologyConstraintsApplied", "Warning TopologyLevelsUnavailable"]
        assert await events(cluster) == told
        assert sum("TopologyLevelsUnavailable" in line for line in cluster.log) == 1
        await says(cluster, "Unknown", "ClusterTopologyNotFound")
        assert (await conditions(cluster))[CONDITION] == "False TopologyDefinitionNotFound"
        await cluster.restart()
        await cluster.quiet()
        assert await events(cluster) == told, "neither a change of reason nor another process is a transition"
        await says(cluster, "False", "AllClusterTopologyLevelsAvailable")
        assert (await conditions(cluster))[CONDITION] == "True AllTopologyLevelsAvailable"


@pytest.mark.requirement("D1", "D2", "D13", "D43", "D48")
async def test_a_deployment_without_constraints_has_none_and_no_condition(real: KubernetesApi | None) -> None:
    async with controlling([OPERATOR], graph(domain="", close=""), real=real) as cluster:
        await cluster.quiet()
        made = await cluster.get("PodCliqueSet", "graph")
        assert constraints_of(made) == {}
        await says(cluster, "False", "AllClusterTopologyLevelsAvailable", "No topology constraints defined")
        assert list(await conditions(cluster)) == ["Ready"]
        assert await events(cluster) == []
        binding = {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "ClusterTopologyBinding",
            "metadata": {"name": "tree"},
            "spec": {"levels": [{"domain": "rack", "key": "t/rack"}]},
        }
        await cluster.create(binding)
        await cluster.restart()
        await cluster.quiet()
        after = await cluster.get("PodCliqueSet", "graph")
        assert after["metadata"]["generation"] == made["metadata"]["generation"], "nothing is added to it"


@pytest.mark.requirement("D34", "D35", "D36", "D37", "D38")
@pytest.mark.parametrize(
    ("changed", "field"),
    [
        pytest.param(
            graph(domain="block"), "spec.topologyConstraint.packDomain", id="another domain of the whole"
        ),
        pytest.param(graph(domain=""), "spec.topologyConstraint", id="no domain of the whole any more"),
        pytest.param(
            graph(close=""),
            "spec.services.Worker.topologyConstraint",
            id="no constraint of a service any more",
        ),
    ],
)
async def test_constraints_that_change_past_the_webhook_leave_the_set_as_it_is(
    changed: dict[str, Any], field: str
) -> None:
    async with controlling([OPERATOR], graph()) as cluster:
        await cluster.quiet()
        before = await cluster.get("PodCliqueSet", "graph")
        found = await cluster.get("DynamoGraphDeployment", "graph")
        spec = dict.fromkeys(found["spec"]) | changed["spec"]
        services = {name: {"topologyConstraint": None, **each} for name, each in spec["services"].items()}
        outer = {"packDomain": None, **spec["topologyConstraint"]}
        await cluster.patch(
            "DynamoGraphDeployment",
            "graph",
            {"spec": {**spec, "services": services, "topologyConstraint": outer}},
        )
        await cluster.quiet()
        after = await cluster.get("PodCliqueSet", "graph")
        assert after["metadata"]["generation"] == before["metadata"]["generation"]
        (message,) = (
            event["message"] for event in await cluster.every("Event") if event["reason"] == "Immutable"
        )
        assert field in re.findall(r"spec[.\w]*\w", message)
        assert "DynamoGraphDeployment" in message
        assert "PodClique" not in message


async def test_what_may_change_does_and_what_others_change_is_undone(real: KubernetesApi | None) -> None:
    async with controlling([OPERATOR], graph(), real=real) as cluster:
        await cluster.quiet()
        await cluster.patch(
            "DynamoGraphDeployment", "graph", {"spec": {"services": {"Frontend": {"replicas": 3}}}}
        )
        await cluster.quiet()
        made = await cluster.get("PodCliqueSet", "graph")
        assert made["spec"]["template"]["cliques"][0]["spec"]["replicas"] == 3
        await cluster.patch(
            "PodCliqueSet", "graph", {"metadata": {"labels": {"mine": "kept"}}, "spec": {"replicas": 7}}
        )
        await cluster.quiet()
        made = await cluster.get("PodCliqueSet", "graph")
        assert (made["spec"]["replicas"], made["metadata"]["labels"]["mine"]) == (1, "kept")
        await cluster.delete("PodCliqueSet", "graph")
        await cluster.quiet()
        assert await cluster.names("PodCliqueSet") == ["graph"]
        await cluster.delete("DynamoGraphDeployment", "graph")
        await cluster.quiet()
        assert await left(cluster, "PodCliqueSet", "DynamoGraphDeployment") == {}


@pytest.mark.requirement("D25")
async def test_a_deployment_that_cannot_be_run_says_why_and_runs_when_it_can(
    real: KubernetesApi | None,
) -> None:
    theirs = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "graph", "namespace": "default"},
        "spec": {
            "replicas": 0,
            "template": {
                "cliques": [
                    {
                        "name": "a",
                        "spec": {
                            "roleName": "a",
                            "replicas": 1,
                            "podSpec": {"containers": [{"name": "c", "image": "i"}]},
                        },
                    }
                ]
            },
        },
    }
    async with controlling([OPERATOR], theirs, graph(), real=real) as cluster:
        await cluster.quiet()
        assert (await conditions(cluster))["Ready"] == "False NameTaken"
        assert "PodCliqueSet graph" in await message_of(cluster, "Ready")
        await cluster.delete("PodCliqueSet", "graph")
        await cluster.quiet()
        assert constraints_of(await cluster.get("PodCliqueSet", "graph"))
        services = {"Worker": {"replicas": -1}}
        await cluster.patch("DynamoGraphDeployment", "graph", {"spec": {"services": services}})
        await cluster.quiet()
        assert await cluster.names("PodCliqueSet") == ["graph"], "what runs goes on"
        assert "Warning Invalid" in await events(cluster)


def node(name: str, **labels: str) -> dict[str, Any]:
    """A node with two GPUs."""
    amounts = {"cpu": "8", "memory": "64Gi", "pods": "32", "nvidia.com/gpu": "2"}
    metadata = {"name": name, "labels": {f"t/{key}": value for key, value in labels.items()}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


BINDING = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "ClusterTopologyBinding",
    "metadata": {"name": "tree"},
    "spec": {"levels": [{"domain": each, "key": f"t/{each}"} for each in ("zone", "rack")]},
}
QUEUE = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "dynamo"},
    "spec": {"resources": {each: {"quota": -1, "limit": -1} for each in ("cpu", "gpu", "memory")}},
}


@pytest.mark.requirement("D7", "D40", "D41", "D42", "D45", "D46", "D47")
async def test_a_deployment_runs_by_way_of_grove_and_tells_when_its_topology_changes(
    real: KubernetesApi | None,
) -> None:
    nodes = [node(f"{rack}-{i}", zone="z", rack=rack) for rack in ("a", "b") for i in range(2)]
    gpu = {"resources": {"limits": {"gpu": "1"}}}
    given = graph()
    for service in given["spec"]["services"].values():
        service.update(gpu)
    operators = [OPERATORS["grove"], OPERATOR]
    async with controlling(
        operators, QUEUE, BINDING, *nodes, given, real=real, scheduler=True, standins=True
    ) as cluster:
        await cluster.quiet()
        racks: dict[str, set[str]] = {}
        for pod in await cluster.every("Pod"):
            labels = pod["metadata"]["labels"]
            replica = labels.get("grove.io/podcliquescalinggroup-replica-index", "frontend")
            racks.setdefault(replica, set()).add(pod["spec"].get("nodeName", "none").split("-")[0])
        assert {replica: len(found) for replica, found in racks.items()} == {"0": 1, "1": 1, "frontend": 1}
        assert await conditions(cluster) == {
            "Ready": "True all_resources_are_ready",
            CONDITION: "True AllTopologyLevelsAvailable",
        }
        levels = BINDING["spec"]["levels"][:1]  # type: ignore[index]
        await cluster.patch("ClusterTopologyBinding", "tree", {"spec": {"levels": levels}})
        await cluster.quiet()
        assert await conditions(cluster) == {
            "Ready": "True all_resources_are_ready",
            CONDITION: "False TopologyLevelsUnavailable",
        }
        assert "'rack'" in await message_of(cluster, CONDITION)
        assert any("TopologyLevelsUnavailable" in line for line in cluster.log), "a warning in the log"
        await cluster.delete("ClusterTopologyBinding", "tree")
        await cluster.quiet()
        assert (await conditions(cluster))[CONDITION] == "False TopologyDefinitionNotFound"
        assert await events(cluster) == [
            "Normal TopologyConstraintsApplied",
            "Warning TopologyLevelsUnavailable",
        ]
        await cluster.delete("DynamoGraphDeployment", "graph")
        await cluster.quiet()
        kinds = (
            "DynamoGraphDeployment",
            "PodCliqueSet",
            "PodClique",
            "PodCliqueScalingGroup",
            "PodGang",
            "Pod",
        )
        assert await left(cluster, *kinds) == {}
