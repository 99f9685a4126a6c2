"""What may not change in a deployment once it exists."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.dialects.dynamo.graphs import graph, service
from tests.unit.dialects.kit import changes

AGAIN = "Delete the DynamoGraphDeployment and create it anew."
ADDED = f"A topology constraint cannot be added to what exists. {AGAIN}"
REMOVED = f"A topology constraint cannot be removed from what exists. {AGAIN}"


def beta(domain: str, topology: str = "t", *components: dict[str, Any]) -> str:
    constraint = {"clusterTopologyName": topology, "packDomain": domain}
    return graph(list(components or [service("A")]), version="v1beta1", topologyConstraint=constraint)


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(
            graph([service("A", 1, "rack")], "zone"),
            graph([service("A", 5, "rack")], "zone"),
            [],
            id="replicas may change",
        ),
        pytest.param(
            graph([service("A", domain="rack")], "zone"),
            graph({"A": service(domain="rack")}, "zone"),
            [],
            id="the way to list services may change",
        ),
        pytest.param(
            graph([service("A")]),
            graph([service("A")], "zone"),
            [f"spec.topologyConstraint: {ADDED}"],
            id="no constraint is added",
        ),
        pytest.param(
            graph([service("A")], "zone"),
            graph([service("A")]),
            [f"spec.topologyConstraint: {REMOVED}"],
            id="no constraint is removed",
        ),
        pytest.param(
            graph([service("A")], "zone"),
            graph([service("A")], "rack"),
            [f'spec.topologyConstraint.packDomain: This cannot change from "zone" to "rack". {AGAIN}'],
            id="the domain of the deployment stays",
        ),
        pytest.param(
            beta("zone"),
            beta("zone", "u"),
            [f'spec.topologyConstraint.clusterTopologyName: This cannot change from "t" to "u". {AGAIN}'],
            id="the topology stays",
        ),
        pytest.param(
            graph([service("A"), service("B", domain="rack"), service("C", domain="rack")]),
            graph([service("A", domain="rack"), service("B"), service("C", domain="host")]),
            [
                f"spec.services[0].topologyConstraint: {ADDED}",
                f"spec.services[1].topologyConstraint: {REMOVED}",
                f'spec.services[2].topologyConstraint.packDomain: This cannot change from "rack" to "host". {AGAIN}',
            ],
            id="no constraint of a service is added, removed or changed",
        ),
        pytest.param(
            graph([service("A"), service("B", nodes=2)]),
            graph([service("A", nodes=2), service("C")]),
            [
                f"spec.services[0].multinode: A component cannot change between one node and several. {AGAIN}",
                f'spec.services[1]: "C" was not part of the deployment. {AGAIN}',
                f'spec.services: "B" is part of the deployment and cannot be removed. {AGAIN}',
            ],
            id="what the deployment is made of stays",
        ),
    ],
)
def test_what_may_change(old: str, new: str, want: list[str]) -> None:
    assert changes("DynamoGraphDeployment", old, new) == want


def named(topology: str) -> str:
    """A deployment of today that names its topology."""
    close = {"clusterTopologyName": topology, "packDomain": "zone"}
    return graph([service("A")], version="v1beta1", topologyConstraint=close)


def test_versions_are_compared_by_what_they_mean() -> None:
    """The words of the proposal leave out the only topology that there was."""
    old = graph({"A": service()}, "zone")

    assert changes("DynamoGraphDeployment", old, named("grove-topology")) == []
    assert changes("DynamoGraphDeployment", old, named("other")) == [
        "spec.topologyConstraint.clusterTopologyName: This cannot change from"
        f' "grove-topology" to "other". {AGAIN}'
    ]
    assert changes("DynamoGraphDeployment", named("grove-topology"), graph({"A": service()})) == [
        f"spec.topologyConstraint: {REMOVED}"
    ]
