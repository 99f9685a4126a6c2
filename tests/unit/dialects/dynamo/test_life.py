"""A deployment over time: what may not change, and what its status says of its constraints."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.dialects.dynamo.conditions import event, topology_constraints_enforced
from closeknit.dialects.dynamo.sets import to_pod_clique_set
from closeknit.dialects.dynamo.updates import update_problems
from closeknit.dialects.family import Condition, Event
from closeknit.dialects.grove.status import topology_levels
from closeknit.dialects.grove.topologies import Known
from closeknit.hub.topology import Level, Topology
from tests.unit.dialects.dynamo.graphs import deployment, graph, service

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
    assert [str(problem) for problem in update_problems(deployment(old), deployment(new))] == want


CLOSE = graph([service("A", domain="rack")], "zone")


def enforced(levels: dict[str, str] | None, text: str = CLOSE) -> Condition | None:
    """The condition after the topology has become this one; None where it was deleted."""
    given = deployment(text)
    made = msgspec.convert(to_pod_clique_set(given, "default", "grove-topology"), PodCliqueSet)
    topologies = {}
    if levels is not None:
        topologies["grove-topology"] = Topology(
            "grove-topology", tuple(Level(key, domain) for domain, key in levels.items())
        )
    return topology_constraints_enforced(given, topology_levels(made, Known(topologies)))


def test_all_levels_available() -> None:
    found = enforced({"zone": "z", "rack": "r"})

    assert found is not None
    assert (found.type, found.status, found.reason) == (
        "TopologyConstraintsEnforced",
        "True",
        "AllTopologyLevelsAvailable",
    )


def test_the_example_status_when_a_topology_level_becomes_unavailable() -> None:
    assert enforced({"zone": "z"}) == Condition(
        type="TopologyConstraintsEnforced",
        status="False",
        reason="TopologyLevelsUnavailable",
        message="Topology level 'rack' is no longer available in the cluster topology",
    )


def test_a_deleted_topology_is_not_taken_for_a_healthy_one() -> None:
    """The operator maps every status of Grove's but True to all levels being available."""
    found = enforced(None)

    assert found is not None
    assert (found.status, found.reason) == ("False", "TopologyDefinitionNotFound")


def test_without_constraints_there_is_no_condition() -> None:
    assert enforced({"zone": "z"}, graph([service("A")])) is None


def test_before_grove_has_looked_the_answer_is_unknown() -> None:
    found = topology_constraints_enforced(deployment(CLOSE), None)

    assert found is not None
    assert (found.status, found.reason) == ("Unknown", "TopologyConditionPending")


def test_events_tell_that_constraints_are_applied_and_that_they_no_longer_are() -> None:
    good, bad = enforced({"zone": "z", "rack": "r"}), enforced({"zone": "z"})
    assert good is not None
    assert bad is not None

    assert event(None, good) == Event("Normal", "TopologyConstraintsApplied", good.message)
    assert event(good, good) is None
    assert event(good, bad) == Event(
        "Warning",
        "TopologyLevelsUnavailable",
        "Topology constraints no longer enforced: Topology level 'rack' is no longer available in the cluster topology",
    )
    assert event(bad, None) is None


def test_levels_are_named_together() -> None:
    found = enforced({}, json.dumps(json.loads(CLOSE)))

    assert found is not None
    assert found.message == "Topology levels 'rack', 'zone' are no longer available in the cluster topology"
