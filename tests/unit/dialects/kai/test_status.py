"""What KAI would write about PodGroups and pods."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.apis.core_v1 import Pod
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.family import Condition, Event, Status
from closeknit.dialects.kai import KAI
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import core, hub, kai
from tests.kit.problems import line
from tests.unit.dialects.expected import LEVELS
from tests.unit.dialects.kai.test_queues import queue
from tests.unit.dialects.kit import TOPOLOGY, node, pod, pod_group, stored, view

ABSENT = line(
    kai.TOPOLOGY_NOT_THERE,
    "spec.topologyConstraint.topology",
    topology="nope",
    allowed=OneOf("nope", ("tree",)),
)
MISSPELT = line(
    hub.UNKNOWN_LEVEL,
    "spec.topologyConstraint.requiredTopologyLevel",
    topology="tree",
    level="topology/rak",
    remedy=OneOf("topology/rak", LEVELS),
)


def assert_status(status: Status, expected: Status) -> None:
    """Compare conditions and events, whose messages must begin with the expected problem."""
    assert [(of.type, of.status, of.reason) for of in status.conditions] == [
        (of.type, of.status, of.reason) for of in expected.conditions
    ]
    assert [(of.type, of.reason) for of in status.events] == [(of.type, of.reason) for of in expected.events]
    for message, problem in zip(messages(status), messages(expected), strict=True):
        assert message.startswith(problem)


def messages(status: Status) -> list[str]:
    return [condition.message for condition in status.conditions] + [event.message for event in status.events]


def unschedulable(message: str, *further: Event) -> Status:
    return Status(
        (Condition("UnschedulableOnNodePool", "True", "Unschedulable", message),),
        (Event("Normal", "Unschedulable", message), *further),
    )


def not_ready(where: str, existing: int, minimum: int, gated: int) -> Event:
    awaited = line(kai.PODS_AWAITED, where, existing=existing, minimum=minimum, gated=gated)
    return Event("Normal", "NotReady", awaited)


def close(topology: str, level: str) -> dict[str, Any]:
    return {"topologyConstraint": {"topology": topology, "requiredTopologyLevel": level}}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(
            (pod_group({"minMember": 2}), pod("p0", "g"), pod("p1", "g")),
            Status(),
            id="nothing is said where all pods are there",
        ),
        pytest.param(
            (
                pod_group({"minMember": 3}),
                pod("p0", "g", phase="Succeeded"),
                pod("p1", "g", nodeName="n"),
                pod("p2", "g", schedulingGates=[{"name": "later"}]),
                node("n"),
            ),
            Status(),
            id="pods that are done, run or are held back are there as well",
        ),
        pytest.param(
            (
                pod_group({"minMember": 3}),
                pod("p0", "g", phase="Failed"),
                pod("p1", "g", schedulingGates=[{"name": "later"}]),
            ),
            Status(events=(not_ready("spec.minMember", 1, 3, gated=1),)),
            id="too few pods are waited for, and those that failed do not count",
        ),
        pytest.param(
            (
                pod_group({"subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 2}]}),
                pod("p0", "g", "a"),
            ),
            Status(events=(not_ready("spec.subGroups[1].minMember", 0, 2, gated=0),)),
            id="each subgroup that has too few pods is named",
        ),
        pytest.param(
            (pod_group({"minMember": 1, **close("nope", "topology/rack")}), pod("p0", "g")),
            unschedulable(ABSENT),
            id="a topology that does not exist is named",
        ),
        pytest.param(
            (pod_group({"minMember": 1, **close("tree", "topology/rak")}), pod("p0", "g")),
            unschedulable(MISSPELT),
            id="so is a level that does not exist, which KAI tells its log alone",
        ),
        pytest.param(
            (pod_group({"minMember": 2, "queue": "b"}), queue("a")),
            unschedulable(
                line(core.NOT_FOUND, "spec.queue", kind="Queue", name="b", remedy=OneOf("b", ("a",))),
                not_ready("spec.minMember", 0, 2, gated=0),
            ),
            id="a queue that does not exist is named, which KAI passes over without a word",
        ),
    ],
)
def test_the_status_of_a_pod_group(texts: tuple[str, ...], expected: Status) -> None:
    seen = view(TOPOLOGY, *texts)

    assert_status(KAI.status[PodGroup](stored(seen, PodGroup), seen), expected)


LOST = line(
    kai.NO_SUCH_SUBGROUP,
    'metadata.labels["kai.scheduler/subgroup-name"]',
    group="default/g",
    subgroup="z",
    allowed=OneOf("z", ("a",)),
)
STRAY = line(
    kai.NO_SUCH_POD_GROUP,
    "metadata.annotations.pod-group-name",
    group="h",
    namespace="default",
    allowed=OneOf("h", ("g",)),
)


def never(message: str) -> Status:
    return Status(
        (Condition("PodScheduled", "False", "Unschedulable", message),),
        (Event("Warning", "Unschedulable", message),),
    )


@pytest.mark.parametrize(
    ("spec", "text", "expected"),
    [
        pytest.param({"minMember": 1}, pod("p", "g"), Status(), id="in a sound PodGroup"),
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 0}]},
            pod("p", "g", "z"),
            never(LOST),
            id="in a subgroup that does not exist",
        ),
        pytest.param({"minMember": 1}, pod("p", "h"), never(STRAY), id="in a PodGroup that does not exist"),
        pytest.param({"minMember": 1}, pod("p"), Status(), id="in no PodGroup"),
        pytest.param(
            {"minMember": 1, **close("nope", "topology/rack")},
            pod("p", "g"),
            Status(events=(Event("Warning", "Unschedulable", f"PodGroup g: {ABSENT}"),)),
            id="in a PodGroup that cannot be placed",
        ),
        pytest.param(
            {"minMember": 1, **close("nope", "topology/rack")},
            pod("p", "g", nodeName="n"),
            Status(),
            id="that runs already",
        ),
    ],
)
def test_the_status_of_a_pod(spec: dict[str, Any], text: str, expected: Status) -> None:
    seen = view(TOPOLOGY, node("n"), pod_group(spec), text)

    assert_status(KAI.status[Pod](stored(seen, Pod), seen), expected)


def test_a_status_tells_eight_problems_and_how_many_more_there_are() -> None:
    subgroups = [{"name": "a", "minMember": 0}]
    seen = view(pod_group({"subGroups": subgroups}), *(pod(f"p{i}", "g", "z") for i in range(11)))

    (condition,) = KAI.status[PodGroup](stored(seen, PodGroup), seen).conditions

    lost = [f"Pod p{i}: {LOST}" for i in range(11)]
    assert condition.message.startswith(" ".join(lost[:8]))
    assert lost[8] not in condition.message
    assert "3" in condition.message.removeprefix(" ".join(lost[:8]))
