"""How long a workload waits before others may be evicted for it."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.apis.kai_keys import PREEMPTION_DELAY
from closeknit.scheduler.cluster_state import ClusterState
from tests.unit.scheduler.objects import entry, node, pod, pod_group

ANNOTATED = {PREEMPTION_DELAY: "45s"}


def delay_of(obj: dict[str, Any], *pods: dict[str, Any]) -> float:
    state = ClusterState()
    for each in (node("n1"), obj, *pods):
        state.put(entry(each))
    state.news()
    (unit,) = state.units.values()
    return unit.preemption_delay


@pytest.mark.parametrize(
    ("fields", "annotations", "seconds"),
    [
        pytest.param({}, {}, 0.0, id="no delay is the default"),
        pytest.param({"preemptionDelay": "1m30s"}, {}, 90.0, id="the field of a PodGroup counts"),
        pytest.param({}, ANNOTATED, 45.0, id="so does its annotation"),
        pytest.param({"preemptionDelay": "10s"}, ANNOTATED, 10.0, id="the field is before the annotation"),
        pytest.param(
            {}, {PREEMPTION_DELAY: "soon"}, 0.0, id="an annotation that is not a duration is no delay"
        ),
        pytest.param({}, {PREEMPTION_DELAY: "-5s"}, 0.0, id="an annotation that is negative is no delay"),
    ],
)
def test_a_pod_group_has_its_delay(
    fields: dict[str, Any], annotations: dict[str, str], seconds: float
) -> None:
    group = pod_group("g", minMember=1, **fields)
    group["metadata"]["annotations"] = annotations
    assert delay_of(group, pod("p", "g")) == seconds


def test_a_job_has_the_delay_of_its_annotation() -> None:
    template = {"spec": pod("p")["spec"] | {"restartPolicy": "Never", "schedulerName": "kai-scheduler"}}
    metadata = {"name": "train", "namespace": "default", "uid": "j", "annotations": ANNOTATED}
    spec = {"parallelism": 2, "template": template}
    assert delay_of({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}) == 45.0
