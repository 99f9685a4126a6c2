"""Pods of jobs that KAI groups: those that run already, and those that are made."""

from __future__ import annotations

import json

import pytest

from closeknit.hub.request import Group
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kai.grouped import SEGMENTS_OF_TWO, translated, tree
from tests.unit.dialects.kai.owned import (
    MINIMUM,
    RACK,
    changed,
    job,
    job_set,
    leader_worker_set,
    pytorch_job,
    replicated,
    template,
    written,
)
from tests.unit.dialects.kit import TOPOLOGY, node, pod_group, reading, request


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(job({**RACK, MINIMUM: "2"}, parallelism=3), id="a Job"),
        pytest.param(job_set(replicated("a", 2, 3, RACK), replicated("b", 1, 1)), id="a JobSet"),
        pytest.param(leader_worker_set(1, 7, SEGMENTS_OF_TWO), id="a LeaderWorkerSet"),
        pytest.param(pytorch_job(1, 5, SEGMENTS_OF_TWO, elasticPolicy={"minReplicas": 3}), id="a PyTorchJob"),
    ],
)
def test_what_kai_would_create_asks_for_the_same_as(text: str) -> None:
    written_out = [json.dumps(made) for made in translated(text)]

    assert request(TOPOLOGY, *written_out) == request(TOPOLOGY, text)


def test_the_pods_alone_are_those_of_the_templates() -> None:
    text = job_set(replicated("a", 2, 2))

    assert translated(text, to="pods") == [made for made in translated(text) if made["kind"] == "Pod"]


def test_the_pods_of_a_pod_group_without_any_are_those_that_are_assumed() -> None:
    pods = translated(pod_group({"subGroups": [{"name": "a", "minMember": 2}]}), to="pods")

    assert [(each["metadata"]["name"], each["metadata"]["labels"]) for each in pods] == [
        ("g-a-0", {"kai.scheduler/subgroup-name": "a"}),
        ("g-a-1", {"kai.scheduler/subgroup-name": "a"}),
    ]


def running(name: str, on: str, owner: tuple[str, str], labels: dict[str, str], group: str = "") -> str:
    kind, owner_name = owner
    version = {"StatefulSet": "apps/v1", "PyTorchJob": "kubeflow.org/v1"}.get(kind, "batch/v1")
    metadata = {
        "name": name,
        "labels": labels,
        "annotations": {"pod-group-name": group} if group else {},
        "ownerReferences": [{"apiVersion": version, "kind": kind, "name": owner_name, "controller": True}],
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {**template()["spec"], "nodeName": on},
        }
    )


@pytest.mark.parametrize(
    ("text", "pod", "leaf"),
    [
        pytest.param(
            job({MINIMUM: "2"}, parallelism=2),
            running("x-abc", "n1", ("Job", "x"), {}),
            "default/pg-x",
            id="a Job",
        ),
        pytest.param(
            job({MINIMUM: "2"}, parallelism=2),
            running("x-abc", "n1", ("Job", "x"), {}, "pg-x"),
            "default/pg-x",
            id="a Job, once KAI has named its PodGroup",
        ),
        pytest.param(
            job_set(replicated("a", 2, 2)),
            running(
                "p",
                "n1",
                ("Job", "x-a-1"),
                {"jobset.sigs.k8s.io/replicatedjob-name": "a", "jobset.sigs.k8s.io/job-index": "1"},
            ),
            "a-replica-1",
            id="a JobSet",
        ),
        pytest.param(
            job_set(replicated("a", 2, 2)),
            running("p", "n1", ("Job", "x-a-1"), {"kai.scheduler/subgroup-name": "a-replica-0"}, "pg-x"),
            "a-replica-0",
            id="the subgroup that KAI has named, whatever the pod's controller says",
        ),
        pytest.param(
            leader_worker_set(1, 5, SEGMENTS_OF_TWO),
            running(
                "x-0-3",
                "n1",
                ("StatefulSet", "x-0"),
                {
                    "leaderworkerset.sigs.k8s.io/group-index": "0",
                    "leaderworkerset.sigs.k8s.io/worker-index": "3",
                },
            ),
            "segment-1",
            id="a LeaderWorkerSet",
        ),
        pytest.param(
            pytorch_job(1, 4, SEGMENTS_OF_TWO),
            running(
                "x-worker-2",
                "n1",
                ("PyTorchJob", "x"),
                {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "2"},
            ),
            "worker-1",
            id="a PyTorchJob",
        ),
    ],
)
def test_pods_that_run_already_take_their_place_in(text: str, pod: str, leaf: str) -> None:
    before, after = request(TOPOLOGY, node("n1"), text), request(TOPOLOGY, node("n1"), text, pod)

    assert tree(before) == tree(after)
    bound = {
        member.name: [one.bound for one in member.members if not isinstance(one, Group)]
        for member, _ in after.root.walk()
        if isinstance(member, Group)
    }
    assert [name for name, sets in bound.items() if ("n1",) in sets] == [leaf]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            written("batch/v1", "Job", {}, {"template": {"spec": {"containers": [{}]}}}), id="not for KAI"
        ),
        pytest.param(job({"kai.scheduler/skip-podgrouper": "true"}), id="told to be left alone"),
        pytest.param(
            changed(
                job(),
                ownerReferences=[
                    {
                        "apiVersion": "jobset.x-k8s.io/v1alpha2",
                        "kind": "JobSet",
                        "name": "s",
                        "controller": True,
                    }
                ],
            ),
            id="of a JobSet, which is grouped as a whole",
        ),
        pytest.param(
            json.dumps(
                json.loads(job()) | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
            ),
            id="that is done",
        ),
    ],
)
def test_nothing_is_made_of_a_job(text: str) -> None:
    found = reading(text)

    assert (found.workloads, found.problems) == ((), ())


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(pod_group({"minMember": 3}, name="pg-x"), id="by its name"),
        pytest.param(
            pod_group(
                {"minMember": 3},
                name="pg-x-u7",
                ownerReferences=[{"apiVersion": "batch/v1", "kind": "Job", "name": "x"}],
            ),
            id="by its owner",
        ),
    ],
)
def test_a_pod_group_that_is_there_speaks_for_itself(there: str) -> None:
    (workload,) = reading(job(parallelism=3), there).workloads

    assert workload.object.kind == "PodGroup"


def test_ten_thousand_pods_are_grouped() -> None:
    asked = request(TOPOLOGY, job_set(replicated("w", 100, 100, RACK)))

    assert sum(pods.count for pods in asked.root.pod_sets()) == 10_000


def test_leaders_of_one_stateful_set_belong_each_to_its_own_group() -> None:
    numbers = {
        "leaderworkerset.sigs.k8s.io/group-index": "1",
        "leaderworkerset.sigs.k8s.io/worker-index": "0",
    }
    leader = running("x-1", "n1", ("StatefulSet", "x"), numbers)
    found = reading(TOPOLOGY, node("n1"), leader_worker_set(2, 2), leader)

    bound = [
        sum(len(pods.bound) for pods in each.request.root.pod_sets())
        for each in found.workloads
        if isinstance(each, PlaceableWorkload)
    ]
    assert bound == [0, 1]


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        pytest.param("Failed", ("x-1", "x-2"), id="anew where it failed"),
        pytest.param("Succeeded", ("x-1",), id="no more where it succeeded"),
        pytest.param("", ("x-0", "x-1"), id="as it is where it waits"),
    ],
)
def test_a_pod_of_a_job_is_placed(phase: str, expected: tuple[str, ...]) -> None:
    pod = json.loads(running("x-0", "", ("Job", "x"), {}))
    pod["status"] = {"phase": phase}

    (pods,) = request(job(parallelism=3 if phase == "Failed" else 2), json.dumps(pod)).root.pod_sets()
    assert pods.pods[: len(expected)] == expected
    assert pods.count == {"Failed": 3, "Succeeded": 1, "": 2}[phase]
