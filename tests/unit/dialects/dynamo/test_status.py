"""What a deployment's status says of its constraints."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from closeknit.dialects.dynamo.status import constraints_enforced, enforced, event
from closeknit.dialects.family import Condition, Status
from closeknit.dialects.grove.status import reported_availability
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


def written(text: str = CLOSE, *around: str) -> Status:
    return status("DynamoGraphDeployment", text, *around)


def reasons(of: Status) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """Type, status and reason of the conditions, and type and reason of the events."""
    conditions = [(condition.type, condition.status, condition.reason) for condition in of.conditions]
    return conditions, [(event.type, event.reason) for event in of.events]


def lost(reason: str) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """The constraints are not enforced, and an event warns of it."""
    return [(TYPE, "False", reason)], [("Warning", reason)]


def message_for(reason: str) -> str:
    """What a deployment says of a set for which Grove gives this reason."""
    reported = reported_availability(Condition("TopologyLevelsUnavailable", "Unknown", reason, ""))
    return enforced(reported).message


def test_all_levels_are_there() -> None:
    applied = [(TYPE, "True", "AllTopologyLevelsAvailable")], [("Normal", "TopologyConstraintsApplied")]

    assert reasons(written(CLOSE, topology())) == applied


@pytest.mark.parametrize(
    ("levels", "named"),
    [
        pytest.param({"zone": "z"}, ["rack"], id="one level is gone, as in the example of the proposal"),
        pytest.param({"host": "kubernetes.io/hostname"}, ["rack", "zone"], id="several levels are gone"),
    ],
)
def test_levels_are_gone(levels: Mapping[str, str], named: list[str]) -> None:
    gone = written(CLOSE, topology(levels))
    (condition,), (warning,) = gone.conditions, gone.events

    assert reasons(gone) == lost("TopologyLevelsUnavailable")
    assert re.findall(r"'(\w+)'", condition.message) == named
    assert condition.message in warning.message


def test_a_topology_that_is_gone_is_not_taken_for_a_healthy_one() -> None:
    """The operator maps every status of Grove's but True to all levels being available."""
    gone = written()

    assert reasons(gone) == lost("TopologyDefinitionNotFound")
    assert gone.conditions[0].message == message_for("ClusterTopologyNotFound")


def test_a_topology_that_nobody_names() -> None:
    unnamed = written(UNNAMED, topology())

    assert reasons(unnamed) == lost("TopologyDefinitionNotFound")
    assert unnamed.conditions[0].message == message_for("TopologyNameMissing")


def test_constraints_that_are_switched_off_are_not_reported_as_enforced() -> None:
    switched_off = written(CLOSE, configuration(enabled=False))

    assert reasons(switched_off) == lost("TopologyLevelsUnavailable")
    assert switched_off.conditions[0].message == message_for("TopologyAwareSchedulingDisabled")


def test_without_constraints_there_is_no_condition() -> None:
    assert written(graph([service("A")]), topology()) == Status()


def test_before_there_is_a_set_the_answer_is_unknown() -> None:
    found = constraints_enforced(deployment(CLOSE), None, Known({}))

    assert found is not None
    assert (found.status, found.reason) == ("Unknown", "TopologyConditionPending")
    assert event(None, found) is None


def test_events_tell_that_constraints_are_applied_and_that_they_no_longer_are() -> None:
    """Dynamo tells the latter only, and again whenever it looks."""
    (good,), (bad,) = written(CLOSE, topology()).conditions, written().conditions
    applied, lost = event(None, good), event(good, bad)

    assert applied is not None
    assert (applied.type, applied.reason) == ("Normal", "TopologyConstraintsApplied")
    assert good.message in applied.message
    assert event(good, good) is None
    assert lost is not None
    assert (lost.type, lost.reason) == ("Warning", bad.reason)
    assert bad.message in lost.message
    assert event(bad, bad) is None
    assert event(bad, None) is None
