"""Rules of workloads and of the queues that they name."""

from __future__ import annotations

import json

import pytest

from tests.unit.dialects.kit import reading
from tests.unit.dialects.kueue.kit import (
    QUEUES,
    RACK,
    K,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    queued_pod,
    queues,
    replicated,
    topology,
    written,
)
from tests.unit.dialects.kueue.problems import OWN, at, found

LABEL = f'metadata.labels["{K}queue-name"]'


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(
            [job(queue="tem"), *QUEUES],
            f'{LABEL}: There is no LocalQueue "tem" in namespace "default". Did you mean "team"? Allowed: "team".',
            id="the queue exists",
        ),
        pytest.param(
            [job()],
            f'{LABEL}: There is no LocalQueue "team" in namespace "default".'
            " Give it as well, with its ClusterQueue and ResourceFlavors.",
            id="a queue is needed",
        ),
        pytest.param(
            [
                json.dumps(
                    json.loads(job()) | {"metadata": {**json.loads(job())["metadata"], "namespace": "other"}}
                ),
                *QUEUES,
            ],
            f'{LABEL}: There is no LocalQueue "team" in namespace "other".'
            ' There is one in "default"; a workload uses the queues of its own namespace.',
            id="the queue is of the same namespace",
        ),
        pytest.param(
            [local_queue(), job()],
            'spec.clusterQueue: There is no ClusterQueue "research". Give it as well.',
            id="the ClusterQueue behind it exists",
        ),
        pytest.param(
            [job(queue=None, podset_required_topology=RACK), *QUEUES],
            f"{LABEL}: A topology is asked for, but no queue is named, so Kueue would not look at it."
            ' Allowed: "team".',
            id="a topology without a queue has no effect in Kueue, which is told",
        ),
        pytest.param(
            [job(), *queues(stopPolicy="Hold")],
            f'{LABEL}: ClusterQueue "research" is not active: its stopPolicy is Hold.',
            id="a queue that is held admits nothing",
        ),
        pytest.param(
            [job(), topology(), flavor(), cluster_queue(), local_queue(stopPolicy="HoldAndDrain")],
            f'{LABEL}: LocalQueue "team" is not active: its stopPolicy is HoldAndDrain.',
            id="a LocalQueue can be held by itself",
        ),
        pytest.param(
            [
                job(),
                topology(),
                flavor(),
                cluster_queue(cohortName="a"),
                local_queue(),
                written("Cohort", "a", {"parentName": "b"}),
                written("Cohort", "b", {"parentName": "b"}),
            ],
            f'{LABEL}: ClusterQueue "research" is not active: cohort "a" lies in a circle of cohorts.',
            id="nobody is admitted in a circle of cohorts",
        ),
        pytest.param(
            [job(), *queues(quota={"cpu": 5})],
            'spec.template.spec.containers: The pods ask for "nvidia.com/gpu", for which ClusterQueue "research" has'
            ' no quota. It covers "cpu".',
            id="a resource that the queue does not cover can never be admitted",
        ),
        pytest.param(
            [job(podset_required_topology=RACK), flavor(over=None), cluster_queue(), local_queue()],
            f'{LABEL}: No flavor of ClusterQueue "research" can take the pods of "main": flavor "tas": it has no topology.',
            id="pods that ask for a topology need a flavor with one",
            marks=pytest.mark.requirement("K32", "K38"),
        ),
        pytest.param(
            [
                job(),
                topology(),
                flavor(),
                flavor("plain", None),
                cluster_queue("research", "tas", "plain"),
                local_queue(),
                job(name="other", pod={"nodeSelector": {"pool": "tas"}}),
            ],
            f'{LABEL}: No flavor of ClusterQueue "research" can take the pods of "main": flavor "tas": it is only for'
            ' pods that ask for a topology; flavor "plain": the node selector asks for pool=tas.',
            id="a flavor with a topology is only for pods that ask for one, unless all flavors have one",
        ),
        pytest.param(
            [
                job(),
                topology(),
                flavor(nodeTaints=[{"key": "gpu", "effect": "NoSchedule"}]),
                cluster_queue(),
                local_queue(),
            ],
            f'{LABEL}: No flavor of ClusterQueue "research" can take the pods of "main": flavor "tas": its taint'
            " gpu:NoSchedule is not tolerated.",
            id="a flavor's taints must be tolerated",
        ),
        pytest.param(
            [
                job(gpus=0, podset_required_topology=RACK),
                written("ClusterQueue", "research", {}),
                local_queue(),
            ],
            f'{LABEL}: No flavor with a topology is assigned to "main". Add one to the queue.',
            id="a level is never dropped because the queue has no flavors",
        ),
        pytest.param(
            [job(own={"job-min-parallelism": "4"}), *QUEUES],
            at(OWN, "job-min-parallelism", '"4" is not possible. Allowed are 1 to 3.'),
            id="the least parallelism is less than the parallelism",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 3), queued_pod("p-1", "p", 3), *QUEUES],
            at(
                OWN,
                "pod-group-total-count",
                "The group has 3 pods, and 2 are given. Give the rest, or change the count.",
            ),
            id="a group of pods is complete",
        ),
        pytest.param(
            [queued_pod("p-0", "p"), *QUEUES],
            at(
                OWN,
                "pod-group-total-count",
                "The number of pods is missing. Write how many pods the group has, from 1 on, in quotes.",
            ),
            id="a group of pods says how many there are",
        ),
        pytest.param(
            [queued_pod("p-0", total=2), *QUEUES],
            f'metadata.labels["{K}pod-group-name"]: {K}pod-group-total-count is given, but the group has no name.'
            " Name it, or leave that out.",
            id="a group of pods has a name",
        ),
        pytest.param(
            [queued_pod("p-0", pod_group_fast_admission="true"), *QUEUES],
            f'metadata.labels["{K}pod-group-name"]: {K}pod-group-fast-admission is given, but the group has no name.'
            " Name it, or leave that out.",
            id="only a group can be admitted before it is complete",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 1, pod_group_fast_admission="yes"), *QUEUES],
            at(
                OWN,
                "pod-group-fast-admission",
                '"yes" is not a truth value. Write "true" or "false", or leave it out.',
            ),
            id="fast admission is true or false",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 1, retriable_in_group="no"), *QUEUES],
            at(
                OWN,
                "retriable-in-group",
                '"no" is not a truth value. Write "true" or "false", or leave it out.',
            ),
            id="whether a pod is made again is true or false",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 1), queued_pod("p-1", "p", 1), *QUEUES],
            at(
                OWN,
                "pod-group-total-count",
                "The group has 1 pod, and 2 are given. Take some away, or change the count.",
            ),
            id="a group has no more pods than it says",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 2), queued_pod("p-1", "p", 3), *QUEUES],
            f'Pod p-1: metadata.annotations["{K}pod-group-total-count"]: "3" differs from "2" of pod p-0.'
            " All pods of a group agree.",
            id="all pods of a group agree on their number",
        ),
        pytest.param(
            [job(), job_set(replicated("a", 1, 1), name="train"), *QUEUES],
            "metadata.name: A Job of this name queues as well, and both would be booked under it. Rename one.",
            id="a Job and a JobSet of one name would be booked as one",
        ),
    ],
)
def test_workloads_and_their_queues(texts: list[str], want: str) -> None:
    assert want in found(*texts)


def test_a_workload_with_problems_has_no_request() -> None:
    (workload,) = reading(*QUEUES, job(podset_required_topology="shelf")).workloads

    assert workload.request is None
    assert len(workload.problems) == 1


def test_jobs_that_do_not_speak_to_kueue_are_left_alone() -> None:
    read = reading(*QUEUES, job(queue=None))

    assert not [workload for workload in read.workloads if workload.dialect == "kueue"]
    assert not read.problems


def test_finished_jobs_queue_for_nothing() -> None:
    done = json.loads(job()) | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}

    assert not reading(*QUEUES, json.dumps(done)).workloads


def test_leniently_a_queue_that_is_not_in_the_files_is_no_problem() -> None:
    read = reading(topology(), job(podset_required_topology=RACK), lenient=True)

    assert not read.problems
    (workload,) = read.workloads
    assert workload.request is not None
    assert workload.request.root.required == RACK
