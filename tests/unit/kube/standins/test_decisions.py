"""What the stand-ins decide, without any cluster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from closeknit.kube.clock import timestamp
from closeknit.kube.standins import indexes, job_sets, jobs, kubelet

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ago(seconds: float) -> str:
    return timestamp(NOW - timedelta(seconds=seconds))


# ------------------------------------------------------------------------------------------- kubelet


def bound(phase: str = "Pending", *, started: float = 0, node: str = "n1", **metadata: Any) -> dict[str, Any]:
    status = {"phase": phase, **({"startTime": ago(started)} if phase == "Running" else {})}
    return {
        "metadata": {"name": "p", "uid": "u", **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
        "status": status,
    }


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(bound(node=""), None, id="a pod without a node is nobody's"),
        pytest.param(bound(), "Running", id="a bound pod starts"),
        pytest.param(bound("Running"), None, id="a pod that says nothing runs on"),
        pytest.param(
            bound("Running", started=4, annotations={kubelet.RUN_SECONDS: "10"}),
            6.0,
            id="it runs as long as it says",
        ),
        pytest.param(
            bound("Running", started=10, annotations={kubelet.RUN_SECONDS: "10"}),
            "Succeeded",
            id="and ends well",
        ),
        pytest.param(
            bound("Running", started=10, annotations={kubelet.RUN_SECONDS: "10", kubelet.EXIT_CODE: "3"}),
            "Failed",
            id="or with another code, badly",
        ),
        pytest.param(
            bound("Running", annotations={kubelet.RUN_SECONDS: "soon"}),
            None,
            id="a time that is none is as if not given",
        ),
        pytest.param(
            bound("Running", annotations={kubelet.EVICT: "true"}), "Failed", id="the node puts it out"
        ),
        pytest.param(bound("Succeeded"), None, id="what has ended has ended"),
        pytest.param(bound("Running", deletionTimestamp=ago(0)), "remove", id="a pod that is deleted goes"),
        pytest.param(bound("Succeeded", deletionTimestamp=ago(0)), "remove", id="also where it had ended"),
    ],
)
def test_a_kubelet(pod: dict[str, Any], want: Any) -> None:
    match kubelet.decide(pod, NOW):
        case kubelet.Report(status=status):
            assert status["phase"] == want
        case kubelet.Remove():
            assert want == "remove"
        case kubelet.Wait(seconds=seconds):
            assert seconds == want
        case None:
            assert want is None


def test_a_condition_that_stays_keeps_its_time() -> None:
    pod = bound()
    pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(60)}]
    step = kubelet.decide(pod, NOW)

    assert isinstance(step, kubelet.Report)
    times = {one["type"]: one["lastTransitionTime"] for one in step.status["conditions"]}
    assert (times["PodScheduled"], times["Ready"]) == (ago(60), timestamp(NOW))


# ---------------------------------------------------------------------------------------------- Jobs


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
            {"deletes": ["a"]},
            id="too many are deleted",
        ),
        pytest.param(
            a_job(suspend=True, completions=1),
            [a_pod("a")],
            {"deletes": ["a"]},
            id="a suspended Job has no pods",
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


# ------------------------------------------------------------------------------------------- JobSets


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
