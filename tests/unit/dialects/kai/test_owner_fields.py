"""What is wrong with a Job, JobSet, LeaderWorkerSet or PyTorchJob that speaks to KAI."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, translate
from tests.unit.dialects.kai.owned import (
    MINIMUM,
    RACK,
    REQUIRED,
    SEGMENT,
    SEGMENT_REQUIRED,
    ZONE,
    changed,
    job,
    job_set,
    leader_worker_set,
    pytorch_job,
    replicated,
    template,
    written,
)
from tests.unit.dialects.kit import TOPOLOGY, problems, reading

ANNOTATIONS = "2:metadata.annotations"
SIZE = "2:spec.leaderWorkerTemplate.size"
SEGMENT_SIZE = "2:spec.leaderWorkerTemplate.workerTemplate.metadata.annotations"
WORKER = "2:spec.pytorchReplicaSpecs.Worker.template.metadata.annotations"
POLICY = "2:spec.leaderWorkerTemplate.subGroupPolicy"
WRONG_NUMBER = "is not possible. Write a whole number from"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            job({"kai.scheduler/topology": "tre", REQUIRED: "topology/rack"}),
            f'{ANNOTATIONS}["kai.scheduler/topology"]: Topology "tre" is not there.'
            ' Did you mean "tree"? Allowed: "tree".',
            id="a topology that does not exist",
        ),
        pytest.param(
            job({REQUIRED: "topology/rack"}),
            f'{ANNOTATIONS}["kai.scheduler/topology"]: The topology whose levels are meant is missing.'
            ' Allowed: "tree".',
            id="a level without a topology, which KAI would pass over",
        ),
        pytest.param(
            job({**RACK, REQUIRED: "topology/rak"}),
            f'{ANNOTATIONS}["{REQUIRED}"]: Topology "tree" has no level "topology/rak".'
            ' Did you mean "topology/rack"?'
            ' Allowed: "block", "topology/block", "topology/rack", "topology/zone".',
            id="a level that does not exist",
        ),
        pytest.param(
            job_set(replicated("a", 2, 1, ZONE), annotations=RACK),
            f'2:spec.replicatedJobs[0].template.metadata.annotations["{REQUIRED}"]: "topology/zone" is coarser'
            f' than "topology/rack", which metadata.annotations["{REQUIRED}"] names.'
            ' Name "topology/rack" or a finer level, or leave it out.',
            id="a level that is coarser than that of the whole, told once for all replicas",
        ),
        pytest.param(
            job({MINIMUM: "4"}, parallelism=3),
            f'{ANNOTATIONS}["{MINIMUM}"]: "4" {WRONG_NUMBER} 0 to 3, in quotes.',
            id="a minimum of more pods than a Job has",
        ),
        pytest.param(
            job({MINIMUM: "some"}),
            f'{ANNOTATIONS}["{MINIMUM}"]: "some" {WRONG_NUMBER} 0 to 1, in quotes.',
            id="a minimum that is no number",
        ),
        pytest.param(
            job(parallelism=-1),
            "2:spec.parallelism: -1 is out of range. Allowed are 0 to 150000.",
            id="a negative number of pods",
        ),
        pytest.param(
            job(parallelism=150_001),
            "2:spec.parallelism: 150001 is out of range. Allowed are 0 to 150000.",
            id="more pods than a cluster has",
        ),
        pytest.param(
            changed(job(), labels={"priorityClassName": "trian"}),
            '2:metadata.labels.priorityClassName: There is no PriorityClass "trian". Did you mean "train"?'
            ' Allowed: "build", "build-preemptible", "inference", "system-cluster-critical",'
            ' "system-node-critical", "train".',
            id="a priority class that does not exist, for which KAI takes another",
        ),
        pytest.param(
            changed(job(), labels={"kai.scheduler/preemptibility": "preemptable"}),
            '2:metadata.labels["kai.scheduler/preemptibility"]: "preemptable" is not known.'
            ' Did you mean "preemptible"? Allowed: "non-preemptible", "preemptible".',
            id="a preemptibility that KAI would pass over",
        ),
        pytest.param(
            job({"kai.scheduler/preemption-delay": "soon"}),
            f'{ANNOTATIONS}["kai.scheduler/preemption-delay"]: "soon" is not a duration.'
            " Write it as in 90s or 1h30m.",
            id="a delay that is no duration",
        ),
        pytest.param(
            job({"kai.scheduler/preemption-delay": "-5s"}),
            f'{ANNOTATIONS}["kai.scheduler/preemption-delay"]: "-5s" is negative.'
            " Write zero or more, as in 90s.",
            id="a negative delay",
        ),
        pytest.param(
            job({"kai.scheduler/staleness-grace-period": "1 hour"}),
            f'{ANNOTATIONS}["kai.scheduler/staleness-grace-period"]: "1 hour" is not a duration.'
            " Write it as in 90s or 1h30m.",
            id="a grace period that is no duration",
        ),
        pytest.param(
            changed(job(RACK), labels={"kueue.x-k8s.io/queue-name": "q"}),
            f'2:metadata: "{REQUIRED}" is not taken into account for what queues in Kueue.'
            " Ask for the level with Kueue's annotation, or leave out Kueue's label.",
            id="a level in KAI's words on what queues in Kueue",
        ),
        pytest.param(
            changed(pytorch_job(1, 2, annotations=RACK), labels={"kueue.x-k8s.io/queue-name": "q"}),
            f'2:metadata: "{REQUIRED}" is not taken into account for what queues in Kueue.'
            " Ask for the level with Kueue's annotation, or leave out Kueue's label.",
            id="the same on a PyTorchJob",
        ),
        pytest.param(
            written("jobset.x-k8s.io/v1alpha2", "JobSet", {"annotations": RACK}, {}),
            "2:spec.replicatedJobs: There is no replicated job. Give at least one.",
            id="a JobSet without jobs",
        ),
        pytest.param(
            job_set(replicated("a", 2, 1), replicated("a-replica-1", 1, 1)),
            '2:spec.replicatedJobs[1].name: "a-replica-1" would be a subgroup of spec.replicatedJobs[0] as well.'
            " Rename one.",
            id="a replicated job that is called as a subgroup of another",
        ),
        pytest.param(
            job_set(replicated("A", 1, 1)),
            '2:spec.replicatedJobs[0].name: "A" is not a valid name. Allowed are at most 48 lower-case letters,'
            " digits and dashes, with a letter or digit at both ends.",
            id="a replicated job with a name that no subgroup can have",
        ),
        pytest.param(
            job_set(replicated("a", 1000, 1000)),
            "2:spec.replicatedJobs[0].replicas: These are 1000000 pods. At most 150000 can be asked for.",
            id="a replicated job with too many pods",
        ),
        pytest.param(
            job_set(replicated("a", 100, 1000), replicated("b", 100, 1000)),
            "2:spec.replicatedJobs: There are 200000 pods in all. At most 150000 can be asked for.",
            id="a JobSet with too many pods in all",
        ),
        pytest.param(
            job_set(replicated("a", 1, 2, {MINIMUM: "3"})),
            f'2:spec.replicatedJobs[0].template.metadata.annotations["{MINIMUM}"]: "3" {WRONG_NUMBER} 1 to 2,'
            " in quotes.",
            id="a minimum of more pods than a Job of a JobSet has",
        ),
        pytest.param(
            leader_worker_set(1, 0),
            f"{SIZE}: A group has at least its leader. Write 1 or more.",
            id="a group without a leader",
        ),
        pytest.param(
            leader_worker_set(200, 1000),
            "2:spec.replicas: These are 200000 pods. At most 150000 can be asked for.",
            id="a LeaderWorkerSet with too many pods",
        ),
        pytest.param(
            leader_worker_set(3, 4, {SEGMENT: "5"}),
            f'{SEGMENT_SIZE}["{SEGMENT}"]: "5" {WRONG_NUMBER} 2 to 4, in quotes.',
            id="segments that are larger than a group, told once for all groups",
        ),
        pytest.param(
            leader_worker_set(1, 4, {SEGMENT: "1"}),
            f'{SEGMENT_SIZE}["{SEGMENT}"]: "1" {WRONG_NUMBER} 2 to 4, in quotes.',
            id="segments of one pod",
        ),
        pytest.param(
            leader_worker_set(1, 4, policy={"subGroupSize": 1}),
            f"{POLICY}.subGroupSize: 1 is not possible. Allowed are 2 to 4.",
            id="segments of one pod by the set's own field",
        ),
        pytest.param(
            leader_worker_set(1, 1, policy={"subGroupSize": 3}),
            f"{POLICY}.subGroupSize: 3 is not possible. No number is possible here; leave it out.",
            id="segments of a group of one pod",
        ),
        pytest.param(
            leader_worker_set(1, 30_001, {SEGMENT: "2"}),
            f'{SEGMENT_SIZE}["{SEGMENT}"]: These are 15001 segments. At most 10000 are made.',
            id="too many segments",
        ),
        pytest.param(
            leader_worker_set(1, 4, policy={"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}),
            f"{POLICY}.subGroupPolicyType: 3 workers cannot be cut into segments of 2."
            " Choose a size that divides them, or use LeaderWorker.",
            id="a leader apart from workers that fill no whole segments",
        ),
        pytest.param(
            leader_worker_set(1, 4, policy={"subGroupSize": 2, "subGroupPolicyType": "LeaderOut"}),
            f'{POLICY}.subGroupPolicyType: "LeaderOut" is not known. Did you mean "LeaderExcluded"?'
            ' Allowed: "LeaderExcluded", "LeaderWorker".',
            id="a policy that does not exist",
        ),
        pytest.param(
            leader_worker_set(1, 4, startupPolicy="Leader"),
            '2:spec.startupPolicy: "Leader" is not known. Did you mean "LeaderReady"?'
            ' Allowed: "LeaderCreated", "LeaderReady".',
            id="a startup policy that does not exist",
        ),
        pytest.param(
            leader_worker_set(1, 2, annotations={"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}),
            f'{ANNOTATIONS}["leaderworkerset.sigs.k8s.io/exclusive-topology"]: This is not taken into account'
            f" when pods are placed. Use {REQUIRED}.",
            id="an exclusive topology",
        ),
        pytest.param(
            leader_worker_set(3, 4, {SEGMENT: "2", SEGMENT_REQUIRED: "topology/rack"}),
            f'{SEGMENT_SIZE}["kai.scheduler/topology"]: The topology whose levels are meant is missing.'
            ' Allowed: "tree".',
            id="segments with a level of no topology, which KAI would pass over",
        ),
        pytest.param(
            written("kubeflow.org/v1", "PyTorchJob", {"annotations": RACK}, {}),
            "2:spec.pytorchReplicaSpecs: There is neither a Master nor a Worker. Give at least one.",
            id="a PyTorchJob without pods",
        ),
        pytest.param(
            pytorch_job(1, 4, {SEGMENT: "0"}),
            f'{WORKER}["{SEGMENT}"]: "0" {WRONG_NUMBER} 1 to 4, in quotes.',
            id="segments of no pods",
        ),
        pytest.param(
            pytorch_job(1, 20_001, {SEGMENT: "2"}),
            f'{WORKER}["{SEGMENT}"]: These are 10001 segments. At most 10000 are made.',
            id="too many segments of a PyTorchJob",
        ),
        pytest.param(
            pytorch_job(1, 3, elasticPolicy={"minReplicas": 5}),
            "2:spec.elasticPolicy.minReplicas: 5 is not possible. Allowed are 0 to 4, all its pods.",
            id="a minimum of more pods than a PyTorchJob has",
        ),
        pytest.param(
            pytorch_job(100_000, 100_000),
            "2:spec.pytorchReplicaSpecs: There are 200000 pods in all. At most 150000 can be asked for.",
            id="a PyTorchJob with too many pods",
        ),
    ],
)
def test_a_problem_is_told(text: str, expected: str) -> None:
    found = [line for line in problems(TOPOLOGY, text) if "LocalQueue" not in line]

    assert found == [expected]


def test_a_workload_with_a_problem_has_no_request_and_says_why() -> None:
    (workload,) = reading(TOPOLOGY, job({MINIMUM: "9"})).workloads

    assert workload.request is None
    assert [problem.where for problem in workload.problems] == [f'metadata.annotations["{MINIMUM}"]']


def test_all_problems_are_told_at_once() -> None:
    text = pytorch_job(1, 4, {SEGMENT: "x"}, {**RACK, REQUIRED: "row"}, elasticPolicy={"minReplicas": 9})

    assert [line.split(":")[1] for line in problems(TOPOLOGY, text)] == [
        "spec.elasticPolicy.minReplicas",
        f'spec.pytorchReplicaSpecs.Worker.template.metadata.annotations["{SEGMENT}"]',
        f'metadata.annotations["{REQUIRED}"]',
    ]


def test_a_pod_that_names_a_derived_group_is_no_stray() -> None:
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {"pod-group-name": "pg-x"}},
        "spec": template()["spec"],
    }

    assert problems(job(parallelism=2), json.dumps(pod)) == []


def test_a_job_belongs_to_one_dialect_only() -> None:
    queued = changed(job(), labels={"kueue.x-k8s.io/queue-name": "q"})

    assert [each.dialect for each in reading(queued).workloads] == ["kueue"]
    assert [each.dialect for each in reading(job()).workloads] == ["kai"]


def test_what_is_wrong_with_all_replicas_is_one_problem_of_the_workload() -> None:
    (workload,) = reading(TOPOLOGY, job_set(replicated("a", 5, 1, ZONE), annotations=RACK)).workloads

    assert len(workload.problems) == 1


def test_a_preemptibility_in_capitals_and_a_grace_period_without_end_are_passed_on() -> None:
    given = changed(
        job({"kai.scheduler/staleness-grace-period": "-1s"}),
        labels={"kai.scheduler/preemptibility": "Non-Preemptible"},
    )
    made = translate([Source("f", given.encode())], "kai")
    (group,) = (each["spec"] for each in made.objects if each["kind"] == "PodGroup")

    assert made.problems == ()
    assert (group["preemptibility"], group["stalenessGracePeriod"]) == ("non-preemptible", "-1s")
