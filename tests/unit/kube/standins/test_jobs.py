"""What the stand-in for the controller of Jobs decides, without any cluster."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube.standins import indexes, jobs
from tests.unit.kube.standins.moments import NOW, ago


def a_job(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"l": "1"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "metadata": {"name": "j", "namespace": "default", "uid": "job"},
        "spec": {"parallelism": 1, "backoffLimit": 6, **spec, "template": template},
        "status": status or {},
    }


def a_pod(
    uid: str,
    phase: str = "Running",
    *,
    index: int | None = None,
    held: bool = True,
    code: int = 1,
    ended: float = 0,
    going: bool = False,
) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": uid, "namespace": "default", "uid": uid, "creationTimestamp": ago(100)}
    if held:
        meta["finalizers"] = [jobs.FINALIZER]
    if index is not None:
        meta["annotations"] = {jobs.INDEX: str(index)}
    if going:
        meta["deletionTimestamp"] = ago(0)
    status: dict[str, Any] = {"phase": phase}
    if phase == "Failed":
        ending = {"exitCode": code, "finishedAt": ago(ended)}
        status["containerStatuses"] = [{"name": "c", "state": {"terminated": ending}}]
    return {"metadata": meta, "spec": {}, "status": status}


def summary(plan: jobs.Plan) -> dict[str, Any]:
    found: dict[str, Any] = {
        "creates": len(plan.creates),
        "deletes": [pod["metadata"]["uid"] for pod in plan.deletes],
        "releases": [pod["metadata"]["uid"] for pod in plan.releases],
    }
    return {word: value for word, value in found.items() if value}


@pytest.mark.parametrize(
    ("job", "pods", "want"),
    [
        pytest.param(
            a_job(parallelism=3, completions=5), [], {"creates": 3}, id="as many as run side by side"
        ),
        pytest.param(
            a_job({"succeeded": 4}, parallelism=3, completions=5),
            [],
            {"creates": 1},
            id="not more than are missing",
        ),
        pytest.param(
            a_job(parallelism=3),
            [a_pod("a")],
            {"creates": 2},
            id="without completions, the parallelism is filled",
        ),
        pytest.param(
            a_job({"succeeded": 1}, parallelism=3), [a_pod("a")], {}, id="and no more once one has succeeded"
        ),
        pytest.param(
            a_job(parallelism=1, completions=5),
            [a_pod("a"), a_pod("b", "Pending")],
            {"deletes": ["a"], "releases": ["a"]},
            id="too many are deleted",
        ),
        pytest.param(
            a_job(suspend=True, completions=1),
            [a_pod("a")],
            {"deletes": ["a"], "releases": ["a"]},
            id="a suspended Job has no pods, and none of them has failed",
        ),
        pytest.param(
            a_job(completions=1),
            [a_pod("a", going=True)],
            {"creates": 1},
            id="a pod on its way out is replaced",
        ),
        pytest.param(
            a_job(completions=1, podReplacementPolicy="Failed"),
            [a_pod("a", going=True)],
            {},
            id="unless it has to be gone first",
        ),
        pytest.param(
            a_job(completions=2), [a_pod("a", "Failed", ended=5)], {}, id="after a failure there is a pause"
        ),
        pytest.param(
            a_job(completions=2),
            [a_pod("a", "Failed", ended=11)],
            {"creates": 1},
            id="of ten seconds at first",
        ),
        pytest.param(
            a_job({"failed": 2, "uncountedTerminatedPods": {}}, completions=2),
            [a_pod("a", "Failed", ended=39)],
            {},
            id="and longer each time",
        ),
        pytest.param(
            a_job({"uncountedTerminatedPods": {"succeeded": ["a"]}}, completions=2),
            [a_pod("a", "Succeeded")],
            {"creates": 1, "releases": ["a"]},
            id="what the status knows is let go",
        ),
        pytest.param(
            a_job(completions=2),
            [a_pod("a", "Succeeded")],
            {"creates": 1},
            id="what it does not know yet is not",
        ),
        pytest.param(
            a_job({"uncountedTerminatedPods": {"failed": ["a"]}}),
            [a_pod("a", going=True)],
            {"creates": 1, "releases": ["a"]},
            id="a pod that somebody deletes counts as failed and is let go",
        ),
        pytest.param(
            a_job(parallelism=2, completions=3, completionMode="Indexed"),
            [a_pod("a", "Succeeded", index=0), a_pod("b", index=2)],
            {"creates": 1},
            id="the free index is filled",
        ),
        pytest.param(
            a_job(
                {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": ago(5)}]},
                ttlSecondsAfterFinished=5,
            ),
            [a_pod("a", "Succeeded")],
            {"releases": ["a"]},
            id="after the end pods are let go",
        ),
    ],
)
def test_the_pods_of_a_job(job: dict[str, Any], pods: list[dict[str, Any]], want: dict[str, Any]) -> None:
    assert summary(jobs.decide(job, pods, NOW)) == want


@pytest.mark.parametrize(
    ("job", "pods", "want"),
    [
        pytest.param(
            a_job({"succeeded": 2}, completions=2),
            [],
            {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"},
            id="all have succeeded",
        ),
        pytest.param(
            a_job({"succeeded": 2}, completions=2),
            [a_pod("a")],
            {"SuccessCriteriaMet": "CompletionsReached"},
            id="one is still on its way",
        ),
        pytest.param(
            a_job({"failed": 1}, completions=2, backoffLimit=0),
            [],
            {"FailureTarget": "BackoffLimitExceeded", "Failed": "BackoffLimitExceeded"},
            id="too many failures",
        ),
        pytest.param(
            a_job({"startTime": ago(30)}, completions=2, activeDeadlineSeconds=30),
            [],
            {"FailureTarget": "DeadlineExceeded", "Failed": "DeadlineExceeded"},
            id="too long",
        ),
        pytest.param(
            a_job(
                {"completedIndexes": "1,3"},
                completions=5,
                completionMode="Indexed",
                successPolicy={"rules": [{"succeededIndexes": "1-3", "succeededCount": 2}]},
            ),
            [],
            {"SuccessCriteriaMet": "SuccessPolicy", "Complete": "SuccessPolicy"},
            id="enough of the indexes that matter",
        ),
        pytest.param(
            a_job(
                completions=2,
                podFailurePolicy={
                    "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]
                },
            ),
            [a_pod("a", "Failed", code=42)],
            {"FailureTarget": "PodFailurePolicy"},
            id="a code that fails the Job",
        ),
        pytest.param(
            a_job(
                completions=2,
                backoffLimit=0,
                podFailurePolicy={
                    "rules": [{"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [1]}}]
                },
            ),
            [a_pod("a", "Failed", code=42)],
            {},
            id="a code that does not count",
        ),
        pytest.param(a_job(suspend=True, completions=1), [], {"Suspended": "JobSuspended"}, id="suspended"),
    ],
)
def test_the_end_of_a_job(job: dict[str, Any], pods: list[dict[str, Any]], want: dict[str, str]) -> None:
    status = jobs.decide(job, pods, NOW).status or {}

    assert {one["type"]: one["reason"] for one in status.get("conditions", [])} == want


def test_a_pod_is_counted_once_whatever_crashes() -> None:
    job = a_job(completions=3)
    pod = a_pod("a", "Succeeded")
    first = jobs.decide(job, [pod], NOW).status
    assert first is not None
    noted = {**job, "status": first}
    again = jobs.decide(noted, [pod], NOW)
    released = {**pod, "metadata": {**pod["metadata"], "finalizers": []}}
    second = jobs.decide(noted, [released], NOW).status
    assert second is not None
    third = jobs.decide({**job, "status": second}, [released], NOW)

    assert (first["uncountedTerminatedPods"], first.get("succeeded")) == ({"succeeded": ["a"]}, None)
    assert (again.status, [one["metadata"]["uid"] for one in again.releases]) == (None, ["a"])
    assert (second["uncountedTerminatedPods"], second["succeeded"]) == ({}, 1)
    assert (third.status, third.releases) == (None, [])


def test_a_pod_that_somebody_deletes_is_noted_as_failed_before_it_is_let_go() -> None:
    plan = jobs.decide(a_job(), [a_pod("a", going=True)], NOW)

    assert plan.releases == []
    assert plan.status is not None
    assert plan.status["uncountedTerminatedPods"] == {"failed": ["a"]}


def test_a_finished_job_goes_when_its_time_is_over() -> None:
    ended = {"conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": ago(7)}]}

    assert jobs.decide(a_job(ended, ttlSecondsAfterFinished=10), [], NOW).again == 3
    assert jobs.decide(a_job(ended, ttlSecondsAfterFinished=7), [], NOW).delete_job


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        pytest.param([], "", id="none"),
        pytest.param([3], "3", id="one"),
        pytest.param([0, 1], "0,1", id="two side by side"),
        pytest.param([0, 1, 2, 5, 7, 8], "0-2,5,7,8", id="ranges and singles"),
    ],
)
def test_indexes_are_written_and_read(numbers: list[int], text: str) -> None:
    assert indexes.written(numbers) == text
    assert indexes.parse(text) == set(numbers)
