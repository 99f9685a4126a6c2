"""What Grove says about its objects: whether the levels of a set and of a scheduler are there."""

from __future__ import annotations

import json

import msgspec
import pytest

from closeknit.apis.grove_io_v1alpha1 import ClusterTopologyBinding
from closeknit.apis.kai_scheduler_v1alpha1 import Topology as KaiTopology
from closeknit.dialects.family import Condition, Event, Status
from closeknit.dialects.grove.status import drift_event, scheduler_topology_drift
from tests.unit.dialects.grove.sets import clique, configuration, pod_clique_set, topology
from tests.unit.dialects.grove.test_updates import CLOSE, packed
from tests.unit.dialects.kit import status


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
    found = scheduler_topology_drift(given, theirs)

    assert found == Condition("SchedulerTopologyDrift", *want)


def test_drift_is_told_when_it_begins_and_when_it_ends() -> None:
    good = Condition("SchedulerTopologyDrift", "False", "InSync", "good")
    bad = Condition("SchedulerTopologyDrift", "True", "Drift", "bad")

    assert drift_event(None, good) is None
    assert drift_event(None, bad) == Event("Warning", "TopologyDriftDetected", "bad")
    assert drift_event(bad, bad) is None
    assert drift_event(bad, good) == Event("Normal", "TopologyInSync", "good")


@pytest.mark.parametrize(
    ("text", "around", "want"),
    [
        pytest.param(
            CLOSE,
            [],
            (
                "Unknown",
                "ClusterTopologyNotFound",
                "ClusterTopologyBinding grove-topology not found",
            ),
            id="the topology no longer exists",
        ),
        pytest.param(
            CLOSE,
            [topology({"zone": "z"})],
            (
                "True",
                "ClusterTopologyLevelsUnavailable",
                "Unavailable topology domains: [block, rack]",
            ),
            id="levels in use are no longer there",
        ),
        pytest.param(
            CLOSE,
            [topology()],
            (
                "False",
                "AllClusterTopologyLevelsAvailable",
                "All topology levels are available",
            ),
            id="all levels in use are there",
        ),
        pytest.param(
            pod_clique_set(clique("a")),
            [],
            (
                "False",
                "AllClusterTopologyLevelsAvailable",
                "No topology constraints defined",
            ),
            id="nothing is constrained",
        ),
        pytest.param(
            CLOSE,
            [configuration(enabled=False), topology()],
            (
                "Unknown",
                "TopologyAwareSchedulingDisabled",
                "Topology constraints are defined but Topology Aware Scheduling is disabled",
            ),
            id="it is switched off",
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed("rack")),
            [topology()],
            (
                "Unknown",
                "TopologyNameMissing",
                "PodCliqueSet topology constraints must include topologyName",
            ),
            id="nobody names the topology",
        ),
    ],
)
def test_the_condition_of_a_set(text: str, around: list[str], want: tuple[str, str, str]) -> None:
    assert status("PodCliqueSet", text, *around) == Status((Condition("TopologyLevelsUnavailable", *want),))


def test_a_binding_that_has_drifted_when_it_is_first_looked_at() -> None:
    bound = topology(
        {"zone": "z"},
        "t",
        "ClusterTopologyBinding",
        schedulerTopologyBindings=[{"schedulerName": "kai-scheduler", "topologyReference": "theirs"}],
    )
    message = 'KAI Topology "theirs" has levels r, but the binding has z'

    assert status(
        "ClusterTopologyBinding", bound, json.dumps(json.loads(msgspec.json.encode(kai("r"))))
    ) == Status(
        (Condition("SchedulerTopologyDrift", "True", "Drift", message),),
        (Event("Warning", "TopologyDriftDetected", message),),
    )
