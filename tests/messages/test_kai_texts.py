"""The texts of conditions and events of PodGroups and their pods: problems, joined."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.apis.core_v1 import Pod
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.kai import KAI
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import kai
from tests.kit.problems import line
from tests.unit.dialects.kit import close, pod, pod_group, stored, view

ABSENT = line(
    kai.TOPOLOGY_NOT_THERE, "spec.topologyConstraint.topology", topology="gone", allowed=OneOf("gone", ())
)
LOST = line(
    kai.NO_SUCH_SUBGROUP,
    'metadata.labels["kai.scheduler/subgroup-name"]',
    group="default/g",
    subgroup="z",
    allowed=OneOf("z", ("a",)),
)
AWAITED = line(kai.PODS_AWAITED, "spec.minMember", existing=0, minimum=2, gated=0)
GONE = close("rack", topology="gone")
SUBGROUPS = {"subGroups": [{"name": "a", "minMember": 0}]}


@pytest.mark.parametrize(
    ("spec", "pods", "conditions", "events"),
    [
        pytest.param({"minMember": 2}, 0, [], [AWAITED], id="pods are awaited"),
        pytest.param({"topologyConstraint": GONE}, 1, [ABSENT], [ABSENT], id="one problem"),
        pytest.param(
            {"minMember": 2, "topologyConstraint": GONE},
            0,
            [ABSENT],
            [ABSENT, AWAITED],
            id="a problem, and pods are awaited",
        ),
        pytest.param(
            SUBGROUPS,
            2,
            [f"Pod p0: {LOST} Pod p1: {LOST}"],
            [f"Pod p0: {LOST} Pod p1: {LOST}"],
            id="two problems",
        ),
        pytest.param(
            SUBGROUPS,
            11,
            [" ".join(f"Pod p{i}: {LOST}" for i in range(8)) + " 3 more."],
            [" ".join(f"Pod p{i}: {LOST}" for i in range(8)) + " 3 more."],
            id="more problems than a person reads",
        ),
    ],
)
def test_pod_group(spec: dict[str, Any], pods: int, conditions: list[str], events: list[str]) -> None:
    subgroup = "z" if "subGroups" in spec else ""
    seen = view(pod_group(spec), *(pod(f"p{i}", "g", subgroup) for i in range(pods)))
    status = KAI.status[PodGroup](stored(seen, PodGroup), seen)

    assert [condition.message for condition in status.conditions] == conditions
    assert [event.message for event in status.events] == events


@pytest.mark.parametrize(
    ("spec", "subgroup", "conditions", "events"),
    [
        pytest.param(SUBGROUPS, "z", [LOST], [LOST], id="a problem of its own"),
        pytest.param(
            {"topologyConstraint": GONE}, "", [], [f"PodGroup g: {ABSENT}"], id="a problem of its PodGroup"
        ),
    ],
)
def test_pod(spec: dict[str, Any], subgroup: str, conditions: list[str], events: list[str]) -> None:
    seen = view(pod_group(spec), pod("p", "g", subgroup))
    status = KAI.status[Pod](stored(seen, Pod), seen)

    assert [condition.message for condition in status.conditions] == conditions
    assert [event.message for event in status.events] == events
