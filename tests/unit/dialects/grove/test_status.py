"""What Grove says about its objects: whether the levels of a set and of a scheduler are there."""

from __future__ import annotations

import json

import msgspec
import pytest

from closeknit.apis.grove_io_v1alpha1 import ClusterTopologyBinding
from closeknit.apis.kai_scheduler_v1alpha1 import Topology as KaiTopology
from closeknit.dialects.family import Condition
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
    ("given", "theirs", "want", "named"),
    [
        pytest.param(
            binding(),
            {},
            ("False", "InSync"),
            [],
            id="nothing is bound",
        ),
        pytest.param(
            binding(("kai-scheduler", "theirs")),
            {"theirs": kai("z", "r")},
            ("False", "InSync"),
            [],
            id="levels are the same",
        ),
        pytest.param(
            binding(("kai-scheduler", "theirs")),
            {"theirs": kai("r", "z")},
            ("True", "Drift"),
            ['"theirs"', "r, z", "z, r"],
            id="levels differ in order",
        ),
        pytest.param(
            binding(("kai-scheduler", "theirs")),
            {},
            ("Unknown", "TopologyNotFound"),
            ['"theirs"'],
            id="the topology is not there, which Grove calls drift",
        ),
        pytest.param(
            binding(("volcano", "v"), ("kai-scheduler", "theirs")),
            {"theirs": kai("z")},
            ("Unknown", "TopologyNotFound"),
            ['"volcano"', '"theirs"', "z, r"],
            id="a scheduler has no topologies, and Grove does not say which",
        ),
    ],
)
def test_the_condition_of_a_binding(
    given: ClusterTopologyBinding, theirs: dict[str, KaiTopology], want: tuple[str, str], named: list[str]
) -> None:
    condition = scheduler_topology_drift(given, theirs)

    assert (condition.type, condition.status, condition.reason) == ("SchedulerTopologyDrift", *want)
    assert [name for name in named if name not in condition.message] == []


def test_drift_is_told_when_it_begins_and_when_it_ends() -> None:
    good = Condition("SchedulerTopologyDrift", "False", "InSync", "good")
    bad = Condition("SchedulerTopologyDrift", "True", "Drift", "bad")

    assert drift_event(None, good) is None
    assert drift_event(bad, bad) is None
    begins, ends = drift_event(None, bad), drift_event(bad, good)
    assert begins is not None
    assert ends is not None
    assert (begins.type, begins.reason) == ("Warning", "TopologyDriftDetected")
    assert (ends.type, ends.reason) == ("Normal", "TopologyInSync")
    assert bad.message in begins.message
    assert good.message in ends.message


@pytest.mark.parametrize(
    ("text", "around", "want", "named"),
    [
        pytest.param(
            CLOSE,
            [],
            ("Unknown", "ClusterTopologyNotFound"),
            ["grove-topology"],
            id="the topology no longer exists",
        ),
        pytest.param(
            CLOSE,
            [topology({"zone": "z"})],
            ("True", "ClusterTopologyLevelsUnavailable"),
            ["[block, rack]"],
            id="levels in use are no longer there",
        ),
        pytest.param(
            CLOSE,
            [topology()],
            ("False", "AllClusterTopologyLevelsAvailable"),
            [],
            id="all levels in use are there",
        ),
        pytest.param(
            pod_clique_set(clique("a")),
            [],
            ("False", "AllClusterTopologyLevelsAvailable"),
            [],
            id="nothing is constrained",
        ),
        pytest.param(
            CLOSE,
            [configuration(enabled=False), topology()],
            ("Unknown", "TopologyAwareSchedulingDisabled"),
            [],
            id="it is switched off",
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed("rack")),
            [topology()],
            ("Unknown", "TopologyNameMissing"),
            ["topologyName"],
            id="nobody names the topology",
        ),
    ],
)
def test_the_condition_of_a_set(
    text: str, around: list[str], want: tuple[str, str], named: list[str]
) -> None:
    written = status("PodCliqueSet", text, *around)
    (condition,) = written.conditions

    assert (condition.type, condition.status, condition.reason) == ("TopologyLevelsUnavailable", *want)
    assert [name for name in named if name not in condition.message] == []
    assert written.events == ()


def test_a_binding_that_has_drifted_when_it_is_first_looked_at() -> None:
    bound = topology(
        {"zone": "z"},
        "t",
        "ClusterTopologyBinding",
        schedulerTopologyBindings=[{"schedulerName": "kai-scheduler", "topologyReference": "theirs"}],
    )
    written = status("ClusterTopologyBinding", bound, json.dumps(json.loads(msgspec.json.encode(kai("r")))))
    (condition,), (event,) = written.conditions, written.events

    assert (condition.type, condition.status, condition.reason) == ("SchedulerTopologyDrift", "True", "Drift")
    assert '"theirs"' in condition.message
    assert (event.type, event.reason) == ("Warning", "TopologyDriftDetected")
    assert condition.message in event.message
