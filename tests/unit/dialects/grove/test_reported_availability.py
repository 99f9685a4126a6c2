"""What a program reads from the condition that Grove writes about the levels of a PodCliqueSet."""

from __future__ import annotations

import json

import msgspec
import pytest

from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.dialects.family import Condition
from closeknit.dialects.grove.status import (
    LevelAvailability,
    level_availability,
    reported_availability,
    topology_levels,
)
from closeknit.dialects.grove.terms import CONDITION, Loss
from closeknit.dialects.grove.topologies import Known
from closeknit.hub.copying import replace
from tests.unit.dialects.grove.constrained import TREE, packed
from tests.unit.dialects.grove.sets import clique, pod_clique_set

CLOSE = pod_clique_set(clique("a"), **packed("h100", required="rack"))
UNNAMED = pod_clique_set(clique("a"), topologyConstraint={"pack": {"required": "rack"}})
FREE = pod_clique_set(clique("a"))
H100 = replace(TREE, name="h100")
WITHOUT_RACK = replace(H100, levels=tuple(level for level in H100.levels if level.name != "rack"))


@pytest.mark.parametrize(
    ("text", "known", "want"),
    [
        pytest.param(CLOSE, Known({"h100": H100}), LevelAvailability(), id="all levels are there"),
        pytest.param(FREE, Known({}, enabled=False), LevelAvailability(), id="nothing is constrained"),
        pytest.param(
            CLOSE,
            Known({"h100": WITHOUT_RACK}),
            LevelAvailability(Loss.DOMAIN, domains=("rack",)),
            id="a level is gone",
        ),
        pytest.param(
            CLOSE, Known({}), LevelAvailability(Loss.TOPOLOGY, topology="h100"), id="the topology is gone"
        ),
        pytest.param(UNNAMED, Known({"h100": H100}), LevelAvailability(Loss.NAME), id="none is named"),
        pytest.param(
            CLOSE, Known({"h100": H100}, enabled=False), LevelAvailability(Loss.SWITCH), id="switched off"
        ),
    ],
)
def test_what_the_condition_of_a_set_reports_is_read_from_it(
    text: str, known: Known, want: LevelAvailability
) -> None:
    given = msgspec.convert(json.loads(text), PodCliqueSet)
    assert level_availability(given, known) == want

    read = reported_availability(topology_levels(given, known))

    assert read is not None
    assert (read.loss, read.domains) == (want.loss, want.domains)


def test_before_grove_has_decided_nothing_is_known() -> None:
    assert reported_availability(None) is None
    assert reported_availability(Condition(CONDITION, "Unknown", "Pending", "m")) is None


def test_a_reason_that_lists_no_domains_is_shown_as_it_is() -> None:
    reported = Condition(CONDITION, "True", "ClusterTopologyLevelsUnavailable", "Some level is gone")

    assert reported_availability(reported) == LevelAvailability(Loss.DOMAIN, detail="Some level is gone")
