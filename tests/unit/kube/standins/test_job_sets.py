"""What the stand-in for the controller of JobSets decides, without any cluster."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube.standins import job_sets
from tests.unit.kube.standins.moments import NOW, ago


def a_set(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    replicated = [
        {"name": name, "replicas": replicas, "template": {"spec": {"template": {"spec": {"containers": []}}}}}
        for name, replicas in (("a", 1), ("b", 2))
    ]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "metadata": {"name": "s", "namespace": "default", "uid": "set"},
        "spec": {"replicatedJobs": replicated, **spec},
        "status": status or {},
    }


def of_set(
    name: str, outcome: str = "", *, attempt: int = 0, ready: int = 0, reason: str = "", suspend: bool = False
) -> dict[str, Any]:
    conditions = [{"type": outcome, "status": "True", "reason": reason}] if outcome else []
    labels = {"jobset.sigs.k8s.io/replicatedjob-name": name[2], job_sets.ATTEMPT: str(attempt)}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": labels},
        "spec": {"parallelism": 1, "completions": 1, "suspend": suspend},
        "status": {"conditions": conditions, "ready": ready},
    }


DONE = [of_set("s-a-0", "Complete"), of_set("s-b-0", "Complete"), of_set("s-b-1", "Complete")]


@pytest.mark.parametrize(
    ("job_set", "jobs_there", "want"),
    [
        pytest.param(a_set(), DONE, {"Completed": "AllJobsCompleted"}, id="all are complete"),
        pytest.param(a_set(), DONE[:2], {}, id="not all are"),
        pytest.param(
            a_set(successPolicy={"operator": "All", "targetReplicatedJobs": ["a"]}),
            DONE[:1],
            {"Completed": "AllJobsCompleted"},
            id="only some matter",
        ),
        pytest.param(
            a_set(successPolicy={"operator": "Any"}),
            DONE[1:2],
            {"Completed": "AllJobsCompleted"},
            id="any one will do",
        ),
        pytest.param(
            a_set(),
            [of_set("s-a-0", "Failed")],
            {"Failed": "FailedJobs"},
            id="one has failed, and there is no policy",
        ),
        pytest.param(
            a_set(
                failurePolicy={
                    "maxRestarts": 3,
                    "rules": [{"action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}],
                }
            ),
            [of_set("s-a-0", "Failed", reason="PodFailurePolicy")],
            {"Failed": "FailJobSetFailurePolicyAction"},
            id="a rule fails the set",
        ),
        pytest.param(
            a_set({"restarts": 1, "restartsCountTowardsMax": 1}, failurePolicy={"maxRestarts": 1}),
            [of_set("s-a-0", "Failed", attempt=1)],
            {"Failed": "ReachedMaxRestarts"},
            id="no more restarts",
        ),
        pytest.param(a_set(suspend=True), [], {"Suspended": "SuspendedJobs"}, id="suspended"),
    ],
)
def test_the_end_of_a_job_set(
    job_set: dict[str, Any], jobs_there: list[dict[str, Any]], want: dict[str, str]
) -> None:
    status = job_sets.decide(job_set, jobs_there, NOW).status or {}

    assert {one["type"]: one["reason"] for one in status.get("conditions", [])} == want


@pytest.mark.parametrize(
    ("job_set", "jobs_there", "creates", "deletes", "changes"),
    [
        pytest.param(a_set(), [], ["s-a-0", "s-b-0", "s-b-1"], [], [], id="every Job is made"),
        pytest.param(
            a_set({"restarts": 1}),
            [of_set("s-a-0", "Failed"), of_set("s-b-0")],
            [],
            ["s-a-0", "s-b-0"],
            [],
            id="an earlier attempt goes first",
        ),
        pytest.param(
            a_set(startupPolicy={"startupPolicyOrder": "InOrder"}),
            [],
            ["s-a-0"],
            [],
            [],
            id="in order, the first comes first",
        ),
        pytest.param(
            a_set(startupPolicy={"startupPolicyOrder": "InOrder"}),
            [of_set("s-a-0", ready=1)],
            ["s-b-0", "s-b-1"],
            [],
            [],
            id="and the next when it is ready",
        ),
        pytest.param(
            a_set(suspend=True),
            DONE[:1],
            ["s-b-0", "s-b-1"],
            [],
            ["s-a-0"],
            id="suspending stops what is there",
        ),
        pytest.param(
            a_set(), [of_set("s-a-0", suspend=True), *DONE[1:]], [], [], ["s-a-0"], id="resuming starts it"
        ),
        pytest.param(
            a_set({"conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": ago(1)}]}),
            [of_set("s-a-0")],
            [],
            ["s-a-0"],
            [],
            id="after the end nothing runs on",
        ),
    ],
)
def test_the_jobs_of_a_job_set(
    job_set: dict[str, Any],
    jobs_there: list[dict[str, Any]],
    creates: list[str],
    deletes: list[str],
    changes: list[str],
) -> None:
    plan = job_sets.decide(job_set, jobs_there, NOW)

    assert [one["metadata"]["name"] for one in plan.creates] == creates
    assert [one["metadata"]["name"] for one in plan.deletes] == deletes
    assert [one["metadata"]["name"] for one, _ in plan.changes] == changes


def test_a_restart_that_is_ignored_does_not_count() -> None:
    policy = {
        "maxRestarts": 0,
        "rules": [{"action": "RestartJobSetAndIgnoreMaxRestarts", "targetReplicatedJobs": ["a"]}],
    }
    status = job_sets.decide(a_set(failurePolicy=policy), [of_set("s-a-0", "Failed")], NOW).status

    assert status is not None
    assert (status["restarts"], status.get("restartsCountTowardsMax", 0)) == (1, 0)
