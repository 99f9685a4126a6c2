"""Workflows whose pods are there already: they stay where they are, and nothing is planned twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from closeknit.dialects import Reading, Source, read
from closeknit.engine import Engine
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Request
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.osmo.kit import near, objects, pool, workflow

TEXTS = (pool(), workflow(dict.fromkeys("abc", "near"), {"near": near("rack=r")}))


def node(name: str, rack: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"t/zone": "z", "t/spine": "s", "t/rack": rack}},
        "status": {"allocatable": {"nvidia.com/gpu": "1", "cpu": "64", "memory": "640Gi", "pods": "9"}},
    }


NODES = [node(f"n{i}", "r1" if i < 3 else "r2") for i in range(6)]


def pods() -> dict[str, dict[str, Any]]:
    """The pods that the workflow becomes, by task."""
    made = (each for each in objects(*TEXTS) if each["kind"] == "Pod")
    return {pod["metadata"]["labels"]["osmo.task_name"]: pod for pod in made}


def bound(task: str, to: str, phase: str = "Running", name: str | None = None) -> dict[str, Any]:
    pod = pods()[task]
    pod["spec"]["nodeName"] = to
    pod["status"] = {"phase": phase}
    pod["metadata"]["name"] = name or pod["metadata"]["name"]
    return pod


def reading(*given: Mapping[str, Any]) -> Reading:
    texts = [*TEXTS, *(json.dumps(each) for each in (*NODES, *given))]
    found = read([Source("f", "\n---\n".join(texts).encode())])
    assert [str(problem) for problem in found.problems] == []
    return found


def request(found: Reading) -> Request:
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    return workload.request


def test_pods_that_run_stay_and_the_others_join_them() -> None:
    found = reading(bound("a", "n3"))
    outcome = Engine(found.cluster).solve(request(found))

    assert isinstance(outcome, Placed)
    assert {each.node for each in outcome.assignments} == {"n4", "n5"}
    assert sum(holding.pods for holding in found.cluster.holdings) == 1


def test_a_workflow_that_runs_is_not_planned_again() -> None:
    found = reading(*(bound(task, f"n{i}") for i, task in enumerate("abc")))
    outcome = Engine(found.cluster).solve(request(found))

    assert isinstance(outcome, Placed)
    assert outcome.assignments == ()


@pytest.mark.parametrize(
    ("phase", "waiting"),
    [
        pytest.param("Succeeded", 2, id="a task that is done needs no place"),
        pytest.param("Failed", 3, id="a task that failed is placed again"),
    ],
)
def test_tasks_that_have_ended(phase: str, waiting: int) -> None:
    (pod_set,) = request(reading(bound("a", "n0", phase))).root.pod_sets()

    assert (pod_set.count, len(pod_set.pods), pod_set.bound) == (waiting, waiting, ())


def test_a_task_that_was_retried_counts_once_by_its_label() -> None:
    found = request(reading(bound("a", "n0", "Failed"), bound("a", "n1", name="retried")))
    (pod_set,) = found.root.pod_sets()

    assert (pod_set.count, pod_set.bound) == (3, ("n1",))


def test_a_pod_that_waits_is_placed_under_its_own_name() -> None:
    waits = pods()["b"]
    waits["metadata"]["name"] = "b-again"
    (pod_set,) = request(reading(waits)).root.pod_sets()

    assert "b-again" in pod_set.pods
    assert pod_set.count == 3
