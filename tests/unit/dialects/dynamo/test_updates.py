"""What may not change in a deployment once it exists."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.sentences import dynamo
from tests.kit.problems import Finding, finding
from tests.unit.dialects.dynamo.graphs import graph, service
from tests.unit.dialects.grove.expected import field_changed
from tests.unit.dialects.kit import forbidden_changes

KIND = "DynamoGraphDeployment"
ADDED, REMOVED = "added to", "removed from"


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
            [finding(dynamo.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED, "spec.topologyConstraint", done=ADDED)],
            id="no constraint is added",
        ),
        pytest.param(
            graph([service("A")], "zone"),
            graph([service("A")]),
            [finding(dynamo.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED, "spec.topologyConstraint", done=REMOVED)],
            id="no constraint is removed",
        ),
        pytest.param(
            graph([service("A")], "zone"),
            graph([service("A")], "rack"),
            [field_changed("spec.topologyConstraint.packDomain", '"zone"', '"rack"', KIND)],
            id="the domain of the deployment stays",
        ),
        pytest.param(
            beta("zone"),
            beta("zone", "u"),
            [field_changed("spec.topologyConstraint.clusterTopologyName", '"t"', '"u"', KIND)],
            id="the topology stays",
        ),
        pytest.param(
            graph([service("A"), service("B", domain="rack"), service("C", domain="rack")]),
            graph([service("A", domain="rack"), service("B"), service("C", domain="host")]),
            [
                finding(
                    dynamo.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED,
                    "spec.services[0].topologyConstraint",
                    done=ADDED,
                ),
                finding(
                    dynamo.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED,
                    "spec.services[1].topologyConstraint",
                    done=REMOVED,
                ),
                field_changed("spec.services[2].topologyConstraint.packDomain", '"rack"', '"host"', KIND),
            ],
            id="no constraint of a service is added, removed or changed",
        ),
        pytest.param(
            graph([service("A"), service("B", nodes=2)]),
            graph([service("A", nodes=2), service("C")]),
            [
                finding(dynamo.NODES_CHANGED, "spec.services[0].multinode"),
                finding(dynamo.COMPONENT_ADDED, "spec.services[1]", name="C"),
                finding(dynamo.COMPONENT_REMOVED, "spec.services", name="B"),
            ],
            id="what the deployment is made of stays",
        ),
    ],
)
def test_what_may_change(old: str, new: str, want: list[Finding]) -> None:
    assert forbidden_changes(KIND, old, new) == want


def named(topology: str) -> str:
    """A deployment of today that names its topology."""
    close = {"clusterTopologyName": topology, "packDomain": "zone"}
    return graph([service("A")], version="v1beta1", topologyConstraint=close)


def test_versions_are_compared_by_what_they_mean() -> None:
    """The words of the proposal leave out the only topology that there was."""
    old = graph({"A": service()}, "zone")

    assert forbidden_changes(KIND, old, named("grove-topology")) == []
    assert forbidden_changes(KIND, old, named("other")) == [
        field_changed("spec.topologyConstraint.clusterTopologyName", '"grove-topology"', '"other"', KIND)
    ]
    assert forbidden_changes(KIND, named("grove-topology"), graph({"A": service()})) == [
        finding(dynamo.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED, "spec.topologyConstraint", done=REMOVED)
    ]
