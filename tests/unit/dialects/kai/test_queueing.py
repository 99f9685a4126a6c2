"""How long a workload says that it runs, and whether it is preemptible."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kai.owned import job
from tests.unit.dialects.kit import pod_group, reading

RUN = "closeknit.dev/run-seconds"


@pytest.mark.parametrize(
    ("written", "noted"),
    [
        pytest.param(None, False, id="nothing is declared"),
        pytest.param("3600", False, id="seconds"),
        pytest.param("0.5", False, id="a part of a second"),
        pytest.param("0", True, id="no time at all is no time"),
        pytest.param("1h", True, id="a duration in other words"),
        pytest.param("-5", True, id="less than no time"),
    ],
)
def test_a_declared_run_time_bounds_nothing(written: str | None, noted: bool) -> None:
    annotations = {RUN: written} if written is not None else {}
    (workload,) = reading(pod_group({"minMember": 1}, annotations=annotations)).workloads
    assert workload.run_seconds is None
    assert isinstance(workload, PlaceableWorkload)
    assert [each.code.name for each in workload.notes] == (["not-a-run-time"] if noted else [])


@pytest.mark.parametrize(
    ("job_deadline", "pod_deadlines", "grace", "limit"),
    [
        pytest.param(600, (None, None), None, 630, id="the deadline of a Job, and the grace of its pods"),
        pytest.param(600, (None, None), 5, 605, id="pods may state another grace"),
        pytest.param(None, (60, 90), None, 120, id="the longest deadline of its pods"),
        pytest.param(600, (60, 90), None, 120, id="the sooner of both"),
        pytest.param(None, (60, None), None, None, id="one pod without a deadline runs on"),
        pytest.param(None, (None, None), None, None, id="no deadline at all"),
    ],
)
def test_what_kubernetes_ends_bounds_a_run_time(
    job_deadline: int | None, pod_deadlines: tuple[int | None, ...], grace: int | None, limit: float | None
) -> None:
    made: Any = json.loads(job({"kai.scheduler/batch-min-member": "1"}, parallelism=2))
    made["metadata"]["annotations"][RUN] = "1"
    made["spec"] |= {"activeDeadlineSeconds": job_deadline} if job_deadline is not None else {}
    if grace is not None:
        made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = grace
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": made["metadata"]["name"], "controller": True}
    pods = []
    for number, deadline in enumerate(pod_deadlines):
        spec = dict(made["spec"]["template"]["spec"])
        if deadline is not None:
            spec["activeDeadlineSeconds"] = deadline
        metadata = {"name": f"p{number}", "ownerReferences": [owner]}
        pods.append(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
    (workload,) = reading(json.dumps(made), *pods).workloads
    assert workload.run_seconds == limit


@pytest.mark.parametrize(
    ("spec", "preemptible"),
    [
        pytest.param({"priorityClassName": "train"}, True, id="a low priority"),
        pytest.param({"priorityClassName": "build"}, False, id="a high priority"),
        pytest.param({"priorityClassName": "build", "preemptibility": "preemptible"}, True, id="it says so"),
        pytest.param({"preemptibility": "non-preemptible"}, False, id="it says that it is not"),
    ],
)
def test_who_is_preemptible(spec: dict[str, str], preemptible: bool) -> None:
    (workload,) = reading(pod_group({"minMember": 1, **spec})).workloads
    assert workload.preemptible is preemptible
