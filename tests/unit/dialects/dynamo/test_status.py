"""What a deployment's status says of its constraints."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from closeknit.dialects.dynamo.status import constraints_enforced, event
from closeknit.dialects.family import Condition, Event, Status
from closeknit.dialects.grove.topologies import Known
from tests.unit.dialects.dynamo.graphs import deployment, graph, service
from tests.unit.dialects.grove.sets import configuration, topology
from tests.unit.dialects.kit import status

TYPE = "TopologyConstraintsEnforced"
CLOSE = graph([service("A", domain="rack")], "zone")
UNNAMED = graph(
    [
        service(
            "A",
            providerOverride={
                "apiVersion": "grove.io/v1alpha1",
                "value": {"topologyConstraint": {"pack": {"required": "rack"}}},
            },
        )
    ]
)


def told(text: str = CLOSE, *around: str) -> Status:
    return status("DynamoGraphDeployment", text, *around)


def lost(reason: str, message: str) -> Status:
    happened = Event("Warning", reason, f"Topology constraints no longer enforced: {message}")
    return Status((Condition(TYPE, "False", reason, message),), (happened,))


def test_all_levels_are_there() -> None:
    message = "All topology levels are available in the cluster topology"

    assert told(CLOSE, topology()) == Status(
        (Condition(TYPE, "True", "AllTopologyLevelsAvailable", message),),
        (Event("Normal", "TopologyConstraintsApplied", message),),
    )


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        pytest.param(
            {"zone": "z"},
            "Topology level 'rack' is no longer available in the cluster topology",
            id="one level is gone, as in the example of the proposal",
        ),
        pytest.param(
            {"host": "kubernetes.io/hostname"},
            "Topology levels 'rack', 'zone' are no longer available in the cluster topology",
            id="several levels are gone",
        ),
    ],
)
def test_levels_are_gone(levels: Mapping[str, str], message: str) -> None:
    assert told(CLOSE, topology(levels)) == lost("TopologyLevelsUnavailable", message)


def test_a_topology_that_is_gone_is_not_taken_for_a_healthy_one() -> None:
    """The operator maps every status of Grove's but True to all levels being available."""
    assert told() == lost("TopologyDefinitionNotFound", "The topology definition was not found")


def test_a_topology_that_nobody_names() -> None:
    assert told(UNNAMED, topology()) == lost("TopologyDefinitionNotFound", "No topology definition is named")


def test_constraints_that_are_switched_off_are_not_reported_as_enforced() -> None:
    off = "Topology aware scheduling is switched off"

    assert told(CLOSE, configuration(enabled=False)) == lost("TopologyLevelsUnavailable", off)


def test_without_constraints_there_is_no_condition() -> None:
    assert told(graph([service("A")]), topology()) == Status()


def test_before_there_is_a_set_the_answer_is_unknown() -> None:
    found = constraints_enforced(deployment(CLOSE), None, Known({}))

    assert found is not None
    assert (found.status, found.reason) == ("Unknown", "TopologyConditionPending")
    assert event(None, found) is None


def test_events_tell_that_constraints_are_applied_and_that_they_no_longer_are() -> None:
    """Dynamo tells the latter only, and again whenever it looks."""
    (good,), (bad,) = told(CLOSE, topology()).conditions, told().conditions

    assert event(None, good) == Event("Normal", "TopologyConstraintsApplied", good.message)
    assert event(good, good) is None
    assert event(good, bad) == Event(
        "Warning", bad.reason, f"Topology constraints no longer enforced: {bad.message}"
    )
    assert event(bad, bad) is None
    assert event(bad, None) is None
