"""The texts of the conditions and events that Dynamo's operator writes."""

from __future__ import annotations

import pytest

from closeknit.controllers.dynamo import OPERATOR
from closeknit.dialects.dynamo.status import available, enforced, event, unavailable
from closeknit.dialects.family import Condition
from closeknit.dialects.grove.status import reported_availability
from closeknit.testing.controlling import controlling
from tests.scenario.deployments import graph, message_of, says
from tests.unit.dialects.grove.sets import clique

SWITCHED_OFF = "TopologyAwareSchedulingDisabled"
LEVELS_GONE = "ClusterTopologyLevelsUnavailable"
TOPOLOGY_GONE = "ClusterTopologyNotFound"


@pytest.mark.parametrize(
    ("status", "reason", "message", "text"),
    [
        pytest.param(
            "False",
            "AllClusterTopologyLevelsAvailable",
            "x",
            "All topology levels are available in the cluster topology",
            id="all levels exist",
        ),
        pytest.param(
            "True",
            LEVELS_GONE,
            "Unavailable topology domains: [rack]",
            "Topology level 'rack' is no longer available in the cluster topology",
            id="a level is gone",
        ),
        pytest.param(
            "True",
            LEVELS_GONE,
            "Unavailable topology domains: [zone rack]",
            "Topology levels 'rack', 'zone' are no longer available in the cluster topology",
            id="several levels are gone",
        ),
        pytest.param("True", LEVELS_GONE, "x", "x", id="levels are gone, and Grove lists none"),
        pytest.param(
            "Unknown", TOPOLOGY_GONE, "x", "The topology definition was not found", id="the topology is gone"
        ),
        pytest.param(
            "Unknown",
            "TopologyNameMissing",
            "x",
            "No topology definition is named",
            id="the topology is not named",
        ),
        pytest.param(
            "Unknown", SWITCHED_OFF, "x", "Topology aware scheduling is switched off", id="it is switched off"
        ),
    ],
)
def test_grove_condition_in_the_words_of_dynamo(status: str, reason: str, message: str, text: str) -> None:
    reported = reported_availability(Condition("TopologyLevelsUnavailable", status, reason, message))

    assert enforced(reported).message == text


def test_before_grove_has_reported() -> None:
    assert enforced(None).message == "The workload has not been looked at yet"


def test_events() -> None:
    applied, lost = event(None, available()), event(available(), unavailable(["rack"]))

    assert applied is not None
    assert applied.message == "All topology levels are available in the cluster topology"
    assert lost is not None
    assert lost.message == (
        "Topology constraints no longer enforced:"
        " Topology level 'rack' is no longer available in the cluster topology"
    )


FOREIGN_SET = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "PodCliqueSet",
    "metadata": {"name": "graph", "namespace": "default"},
    "spec": {"replicas": 1, "template": {"cliques": [clique("a")]}},
}


async def test_ready() -> None:
    async with controlling([OPERATOR], FOREIGN_SET, graph()) as cluster:
        await cluster.quiet()
        assert await message_of(cluster, "Ready") == "PodCliqueSet graph belongs to somebody else"
        await cluster.delete("PodCliqueSet", "graph")
        await cluster.quiet()
        assert await message_of(cluster, "Ready") == "Not all pods are ready of: graph"
        await says(cluster, "False", "AllClusterTopologyLevelsAvailable")
        assert await message_of(cluster, "Ready") == "All pods are ready"


async def test_an_immutable_field() -> None:
    async with controlling([OPERATOR], graph()) as cluster:
        await cluster.quiet()
        changed = {"spec": {"topologyConstraint": {"packDomain": "block"}}}
        await cluster.patch("DynamoGraphDeployment", "graph", changed)
        await cluster.quiet()
        events = await cluster.every("Event")
        assert [event["message"] for event in events if event["reason"] == "Immutable"] == [
            "spec.topologyConstraint.packDomain cannot change in place."
            " Delete the DynamoGraphDeployment and create it anew"
        ]
