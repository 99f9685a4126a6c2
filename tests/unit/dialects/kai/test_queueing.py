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
    ("written", "seconds"),
    [
        pytest.param(None, None, id="nothing is said"),
        pytest.param("3600", 3600.0, id="seconds"),
        pytest.param("0.5", 0.5, id="a part of a second"),
        pytest.param("0", None, id="no time at all is no time"),
        pytest.param("1h", None, id="a duration in other words"),
        pytest.param("-5", None, id="less than no time"),
    ],
)
def test_the_run_time_of_a_pod_group(written: str | None, seconds: float | None) -> None:
    annotations = {RUN: written} if written is not None else {}
    (workload,) = reading(pod_group({"minMember": 1}, annotations=annotations)).workloads
    assert workload.run_seconds == seconds
    assert isinstance(workload, PlaceableWorkload)
    noted = written is not None and seconds is None
    assert [each.code.name for each in workload.notes] == (["not-a-run-time"] if noted else [])


def test_the_deadline_of_a_job_is_its_run_time_unless_it_says_another() -> None:
    made: Any = json.loads(job({"kai.scheduler/batch-min-member": "1"}))
    made["spec"]["activeDeadlineSeconds"] = 600
    (workload,) = reading(json.dumps(made)).workloads
    assert workload.run_seconds == 600
    made["metadata"].setdefault("annotations", {})[RUN] = "60"
    (workload,) = reading(json.dumps(made)).workloads
    assert workload.run_seconds == 60


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
