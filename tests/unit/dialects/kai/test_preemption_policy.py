"""Whether others may be evicted for a workload: by the preemption policy of its priority class."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.scheduler.cluster_state import ClusterState
from tests.unit.scheduler.objects import entry, node, pod, pod_group


def preempts(obj: dict[str, Any], *others: dict[str, Any]) -> bool:
    state = ClusterState()
    for each in (node("n1"), *others, obj):
        state.put(entry(each))
    state.news()
    (unit,) = state.units.values()
    return unit.preempts


def priority_class(name: str, policy: str = "", **fields: Any) -> dict[str, Any]:
    made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return {**made, "value": 50, **({"preemptionPolicy": policy} if policy else {}), **fields}


CLASSES = (priority_class("eager"), priority_class("patient", "Never"))


@pytest.mark.parametrize(
    ("name", "default", "want"),
    [
        pytest.param("eager", "", True, id="a class that says nothing"),
        pytest.param("patient", "", False, id="a class that never preempts"),
        pytest.param("", "", True, id="no class"),
        pytest.param("", "Never", False, id="the default class never preempts"),
        pytest.param("eager", "Never", True, id="its class is before the default"),
    ],
)
def test_a_pod_group(name: str, default: str, want: bool) -> None:
    group = pod_group("g", minMember=1, **({"priorityClassName": name} if name else {}))
    usual = priority_class("usual", default, globalDefault=True)
    assert preempts(group, pod("p", "g"), usual, *CLASSES) == want


@pytest.mark.parametrize(("name", "want"), [("eager", True), ("patient", False)])
def test_a_job(name: str, want: bool) -> None:
    spec = pod("p")["spec"] | {"restartPolicy": "Never", "schedulerName": "kai-scheduler"}
    spec["priorityClassName"] = name
    metadata = {"name": "train", "namespace": "default", "uid": "j"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    job["spec"] = {"parallelism": 2, "template": {"spec": spec}}
    assert preempts(job, *CLASSES) == want
