"""How a topology of Grove and that of a scheduler stay in step."""

from __future__ import annotations

import json

import msgspec
import pytest

from closeknit.apis.grove_io_v1alpha1 import ClusterTopologyBinding
from closeknit.apis.kai_scheduler_v1alpha1 import Topology as KaiTopology
from closeknit.dialects.grove.bindings import (
    SchedulerTopology,
    drift_event,
    scheduler_topologies,
    scheduler_topology_drift,
)
from closeknit.dialects.grove.drift import Condition, Event
from tests.unit.dialects.grove.sets import (
    topology,
)
from tests.unit.dialects.kit import problems


def binding(*bindings: tuple[str, str]) -> ClusterTopologyBinding:
    listed = [{"schedulerName": scheduler, "topologyReference": name} for scheduler, name in bindings]
    text = topology(
        {"zone": "z", "rack": "r"}, "t", "ClusterTopologyBinding", schedulerTopologyBindings=listed
    )
    return msgspec.convert(json.loads(text), ClusterTopologyBinding)


def kai(*labels: str) -> KaiTopology:
    content = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "theirs"},
        "spec": {"levels": [{"nodeLabel": label} for label in labels]},
    }
    return msgspec.convert(content, KaiTopology)


@pytest.mark.parametrize(
    ("given", "theirs", "want"),
    [
        pytest.param(
            binding(),
            {},
            ("False", "InSync", "All scheduler backend topologies are in sync"),
            id="nothing is bound",
        ),
        pytest.param(
            binding(("kai-scheduler", "theirs")),
            {"theirs": kai("z", "r")},
            ("False", "InSync", "All scheduler backend topologies are in sync"),
            id="levels are the same",
        ),
        pytest.param(
            binding(("kai-scheduler", "theirs")),
            {"theirs": kai("r", "z")},
            ("True", "Drift", 'KAI Topology "theirs" has levels r, z, but the binding has z, r'),
            id="levels differ in order",
        ),
        pytest.param(
            binding(("kai-scheduler", "theirs")),
            {},
            ("Unknown", "TopologyNotFound", 'KAI Topology "theirs" not found'),
            id="the topology is not there, which Grove calls drift",
        ),
        pytest.param(
            binding(("volcano", "v"), ("kai-scheduler", "theirs")),
            {"theirs": kai("z")},
            (
                "Unknown",
                "TopologyNotFound",
                'scheduler backend "volcano" is not available for topology management;'
                ' KAI Topology "theirs" has levels z, but the binding has z, r',
            ),
            id="a scheduler has no topologies, and Grove does not say which",
        ),
    ],
)
def test_the_condition_of_a_binding(
    given: ClusterTopologyBinding, theirs: dict[str, KaiTopology], want: tuple[str, str, str]
) -> None:
    found = scheduler_topology_drift(scheduler_topologies(given, theirs))

    assert found == Condition("SchedulerTopologyDrift", *want)


def test_the_status_of_each_binding() -> None:
    (found,) = scheduler_topologies(binding(("kai-scheduler", "theirs")), {"theirs": kai("z", "r")})

    assert found == SchedulerTopology("kai-scheduler", "theirs", in_sync=True)


def test_drift_is_told_when_it_begins_and_when_it_ends() -> None:
    good = Condition("SchedulerTopologyDrift", "False", "InSync", "good")
    bad = Condition("SchedulerTopologyDrift", "True", "Drift", "bad")

    assert drift_event(None, good) is None
    assert drift_event(None, bad) == Event("Warning", "TopologyDriftDetected", "bad")
    assert drift_event(bad, bad) is None
    assert drift_event(bad, good) == Event("Normal", "TopologyInSync", "good")


def test_a_topology_of_kai_that_grove_did_not_make_is_not_taken_over() -> None:
    theirs = json.loads(msgspec.json.encode(kai("z")))
    mine = topology({"zone": "z", "rack": "r"}, "theirs", "ClusterTopologyBinding")
    made = {**theirs["metadata"], "ownerReferences": [{"kind": "ClusterTopologyBinding", "name": "theirs"}]}

    assert problems(mine, json.dumps(theirs)) == [
        '2:spec.levels: Grove has a topology "theirs" as well, with levels "z", "r". Grove makes KAI\'s itself;'
        " remove this one, or rename it."
    ]
    assert problems(mine, json.dumps({**theirs, "metadata": made})) == []
    assert (
        problems(mine, json.dumps(theirs | {"spec": {"levels": [{"nodeLabel": "z"}, {"nodeLabel": "r"}]}}))
        == []
    )


@pytest.mark.parametrize("reference", ["other", "t"])
def test_a_topology_of_kai_is_in_nobodys_way_where_grove_makes_none(reference: str) -> None:
    ours = topology(
        {"zone": "z", "rack": "r"},
        "t",
        "ClusterTopologyBinding",
        schedulerTopologyBindings=[{"schedulerName": "kai-scheduler", "topologyReference": reference}],
    )
    theirs = json.dumps(
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": {"levels": [{"nodeLabel": "row"}]},
        }
    )

    assert problems(ours, theirs) == []
