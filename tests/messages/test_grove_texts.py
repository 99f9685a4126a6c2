"""The texts of the conditions and events that Grove's operator writes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from closeknit.apis.grove_io_v1alpha1 import ClusterTopologyBinding, PodCliqueSet
from closeknit.apis.kai_scheduler_v1alpha1 import Topology as KaiTopology
from closeknit.controllers.grove.topologies import not_owned
from closeknit.dialects.family import Condition
from closeknit.dialects.grove.status import drift_event, scheduler_topology_drift, topology_levels
from closeknit.dialects.grove.topologies import Known
from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import ObjectName
from tests.unit.dialects.grove.sets import clique, pod_clique_set, topology

RACK = {"topologyConstraint": {"topologyName": "dc", "pack": {"required": "rack"}}}
ROW_AND_RACK = {
    "topologyConstraint": {"topologyName": "dc", "pack": {"required": "row", "preferred": "rack"}}
}
UNNAMED = {"topologyConstraint": {"pack": {"required": "rack"}}}


@pytest.mark.parametrize(
    ("constraint", "domains", "text"),
    [
        pytest.param({}, ["rack"], "No topology constraints defined", id="no constraint"),
        pytest.param(RACK, ["rack"], "All topology levels are available", id="all levels exist"),
        pytest.param(RACK, ["zone"], "Unavailable topology domains: [rack]", id="a level is gone"),
        pytest.param(
            ROW_AND_RACK, ["zone"], "Unavailable topology domains: [rack, row]", id="several levels are gone"
        ),
        pytest.param(RACK, None, "ClusterTopologyBinding dc not found", id="the topology is gone"),
        pytest.param(
            UNNAMED,
            ["rack"],
            "PodCliqueSet topology constraints must include topologyName",
            id="the topology is not named",
        ),
    ],
)
def test_topology_levels(constraint: dict[str, Any], domains: list[str] | None, text: str) -> None:
    assert levels_condition(constraint, domains).message == text


def test_topology_levels_while_it_is_switched_off() -> None:
    condition = levels_condition(RACK, ["rack"], enabled=False)

    assert condition.message == "Topology constraints are defined but Topology Aware Scheduling is disabled"


def levels_condition(
    constraint: dict[str, Any], domains: list[str] | None, *, enabled: bool = True
) -> Condition:
    """The condition of a set with this constraint; ``domains`` are those of topology ``dc``, None without it."""
    levels = tuple(Level(f"topology/{domain}", domain) for domain in domains or ())
    known = Known({"dc": Topology("dc", levels)} if domains is not None else {}, enabled=enabled)
    content = json.loads(pod_clique_set(clique("a"), **constraint))
    return topology_levels(msgspec.convert(content, PodCliqueSet), known)


@pytest.mark.parametrize(
    ("bindings", "theirs", "text"),
    [
        pytest.param([], {}, "All scheduler backend topologies are in sync", id="nothing is bound"),
        pytest.param(
            [("kai-scheduler", "theirs")],
            {"theirs": ["r", "z"]},
            'KAI Topology "theirs" has levels r, z, but the binding has z, r',
            id="levels differ",
        ),
        pytest.param(
            [("kai-scheduler", "theirs")], {}, 'KAI Topology "theirs" not found', id="the topology is gone"
        ),
        pytest.param(
            [("volcano", "v"), ("kai-scheduler", "theirs")],
            {"theirs": ["z"]},
            'scheduler backend "volcano" is not available for topology management;'
            ' KAI Topology "theirs" has levels z, but the binding has z, r',
            id="a scheduler without topologies, and levels that differ",
        ),
    ],
)
def test_scheduler_topology_drift(
    bindings: list[tuple[str, str]], theirs: dict[str, list[str]], text: str
) -> None:
    listed = [{"schedulerName": scheduler, "topologyReference": name} for scheduler, name in bindings]
    binding = topology(
        {"zone": "z", "rack": "r"}, "t", "ClusterTopologyBinding", schedulerTopologyBindings=listed
    )
    kai = {name: kai_topology(name, labels) for name, labels in theirs.items()}
    condition = scheduler_topology_drift(msgspec.convert(json.loads(binding), ClusterTopologyBinding), kai)

    assert condition.message == text


def kai_topology(name: str, labels: list[str]) -> KaiTopology:
    content = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": name},
        "spec": {"levels": [{"nodeLabel": label} for label in labels]},
    }
    return msgspec.convert(content, KaiTopology)


@pytest.mark.parametrize(
    ("before", "after"), [("False", "True"), ("True", "False")], ids=["drift begins", "drift ends"]
)
def test_an_event_of_drift_has_the_text_of_the_condition(before: str, after: str) -> None:
    event = drift_event(Condition("", before, "", "old text"), Condition("", after, "", "new text"))

    assert event is not None
    assert event.message == "new text"


def test_a_topology_of_kai_that_is_not_owned() -> None:
    binding = Stored(
        Key("grove.io", "ClusterTopologyBinding", "", "dc"),
        ObjectName("grove.io/v1alpha1", "ClusterTopologyBinding", "", "dc"),
        msgspec.convert(
            json.loads(topology(name="dc", kind="ClusterTopologyBinding")), ClusterTopologyBinding
        ),
    )

    assert not_owned(binding) == (
        "KAI Topology dc is not owned by ClusterTopologyBinding dc. Delete it, or name it in"
        " spec.schedulerTopologyBindings, so that somebody looks after it."
    )
