"""Which gangs run in part, and how long they may."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.keys import Key
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.partial_gangs import Patience, running_pods_below_minimum
from tests.unit.scheduler.objects import entry, node, pod, pod_group

UNIT = Key("scheduling.run.ai", "PodGroup", "default", "g")
TWO_PARTS = [{"name": name, "minMember": 2} for name in ("a", "b")]


def unit(group: dict[str, Any], *pods: dict[str, Any]) -> Any:
    """A PodGroup and its pods on a cluster of two nodes, as a unit."""
    state = ClusterState()
    for each in (node("n1"), node("n2"), group, *pods):
        state.put(entry(each))
    state.news()
    return state.units[UNIT]


@pytest.mark.parametrize(
    ("group", "pods", "want"),
    [
        pytest.param(
            pod_group("g", minMember=2),
            [pod("p1", "g", on="n1"), pod("p2", "g", on="n2")],
            (),
            id="a whole gang is sound",
        ),
        pytest.param(
            pod_group("g", minMember=2), [pod("p1", "g"), pod("p2", "g")], (), id="a gang that waits is sound"
        ),
        pytest.param(
            pod_group("g", minMember=2),
            [pod("p1", "g", on="n1"), pod("p2", "g")],
            ("p1",),
            id="of two that must run, one runs",
        ),
        pytest.param(
            pod_group("g", minMember=2),
            [pod("p1", "g", on="n1")],
            ("p1",),
            id="of two that must run, one runs and the other does not exist",
        ),
        pytest.param(
            pod_group("g", minMember=2, priorityClassName="none-such"),
            [pod("p1", "g", on="n1")],
            ("p1",),
            id="the same where something else is wrong as well",
        ),
        pytest.param(
            pod_group("g", minMember=1),
            [pod("p1", "g", on="n1"), pod("p2", "g")],
            (),
            id="pods above the minimum may wait",
        ),
        pytest.param(
            pod_group("g", minMember=2),
            [pod("p1", "g", on="n1"), pod("p2", "g", on="n2", phase="Succeeded")],
            (),
            id="a pod that has done its work counts",
        ),
        pytest.param(
            pod_group("g", minMember=2),
            [pod("p1", "g", on="n1"), pod("p2", "g", on="gone")],
            ("p1",),
            id="a pod whose node has gone runs nowhere",
        ),
        pytest.param(
            pod_group("g", subGroups=TWO_PARTS, minSubGroup=1),
            [
                *(pod(f"a{i}", "g", subgroup="a", on="n1") for i in range(2)),
                pod("b0", "g", subgroup="b", on="n2"),
                pod("b1", "g", subgroup="b"),
            ],
            ("b0",),
            id="only the subgroup that is below its minimum is partial",
        ),
        pytest.param(
            pod_group("g", subGroups=TWO_PARTS, minSubGroup=2),
            [
                *(pod(f"a{i}", "g", subgroup="a", on="n1") for i in range(2)),
                *(pod(f"b{i}", "g", subgroup="b") for i in range(2)),
            ],
            ("a0", "a1"),
            id="a whole subgroup is partial where two are needed",
        ),
        pytest.param(
            pod_group("g", minMember=1, priorityClassName="none-such"),
            [pod("p1", "g", on="n1")],
            (),
            id="what is wrong with a PodGroup otherwise makes nothing partial",
        ),
    ],
)
def test_the_running_pods_of_what_is_below_its_minimum(
    group: dict[str, Any], pods: list[dict[str, Any]], want: tuple[str, ...]
) -> None:
    assert running_pods_below_minimum(unit(group, *pods)) == want


GRACE_PERIOD = "kai.scheduler/staleness-grace-period"


@pytest.mark.parametrize(
    ("field", "annotation", "want"),
    [
        pytest.param(None, None, 60.0, id="a minute if nothing is set"),
        pytest.param("90s", None, 90.0, id="seconds"),
        pytest.param("1h1m1.5s", None, 3661.5, id="hours, minutes and seconds"),
        pytest.param("0s", None, 0.0, id="none at all"),
        pytest.param("0", None, 0.0, id="zero without a unit is none at all"),
        pytest.param("-1s", None, None, id="for ever if it is negative"),
        pytest.param("soon", None, 60.0, id="a minute if it is not a duration"),
        pytest.param("5", None, 60.0, id="a minute if it has no unit"),
        pytest.param(None, "30s", 30.0, id="by annotation"),
        pytest.param("", "30s", 30.0, id="by annotation if the field is empty"),
        pytest.param("10s", "30s", 10.0, id="the field precedes the annotation"),
    ],
)
def test_the_grace_period_of_a_pod_group(
    field: str | None, annotation: str | None, want: float | None
) -> None:
    group = pod_group("g", minMember=2, **({} if field is None else {"stalenessGracePeriod": field}))
    if annotation is not None:
        group["metadata"]["annotations"] = {GRACE_PERIOD: annotation}

    assert unit(group, pod("p1", "g", on="n1")).grace_period == want


@pytest.mark.parametrize("place", ["the Job", "its pod template"])
def test_the_grace_period_of_a_job_is_that_of_its_annotation(place: str) -> None:
    annotated: dict[str, Any] = {"annotations": {GRACE_PERIOD: "5m"}}
    template = {"spec": pod("p")["spec"] | {"restartPolicy": "Never", "schedulerName": "kai-scheduler"}}
    metadata: dict[str, Any] = {"name": "train", "namespace": "default", "uid": "j"}
    if place == "the Job":
        metadata |= annotated
    else:
        template["metadata"] = annotated
    spec = {"parallelism": 2, "template": template}
    state = ClusterState()
    state.put(entry({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}))
    state.news()

    (only,) = state.units.values()
    assert only.grace_period == 300.0


def test_patience_starts_when_a_gang_is_first_partial_and_ends_when_it_is_whole() -> None:
    partial = unit(pod_group("g", minMember=2), pod("p1", "g", on="n1"), pod("p2", "g"))
    whole = unit(pod_group("g", minMember=2), pod("p1", "g", on="n1"), pod("p2", "g", on="n2"))
    patience = Patience()
    patience.look(UNIT, partial, 100.0)
    patience.look(UNIT, partial, 150.0)
    assert (patience.deadlines.next_time(), patience.deadlines.take(159.0)) == (160.0, [])
    patience.look(UNIT, whole, 159.0)
    patience.look(UNIT, partial, 159.5)
    assert patience.deadlines.take(219.0) == []

    assert patience.deadlines.take(219.5) == [UNIT]
    assert patience.deadlines.take(300.0) == []


def test_what_we_bound_ourselves_and_cannot_complete_is_overdue_at_once() -> None:
    partial = unit(pod_group("g", minMember=2), pod("p1", "g", on="n1"), pod("p2", "g"))
    patience = Patience()
    patience.look(UNIT, partial, 100.0)
    patience.cannot_complete(UNIT, 101.0)
    assert patience.deadlines.take(101.0) == []
    patience.hurry(UNIT)
    patience.cannot_complete(UNIT, 102.0)

    assert patience.deadlines.take(102.0) == [UNIT]
