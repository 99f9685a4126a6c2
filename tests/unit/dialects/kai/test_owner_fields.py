"""What is wrong with a Job, JobSet, LeaderWorkerSet or PyTorchJob that speaks to KAI."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, translate
from closeknit.hub.problems import Field, OneOf, Range
from closeknit.hub.sentences import core, kai, kueue
from closeknit.hub.workload import InvalidWorkload
from tests.kit.problems import Finding, finding
from tests.kit.workloads import problems_of
from tests.unit.dialects.expected import PRIORITY_CLASSES, not_found, unknown_choice, unknown_level
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
from tests.unit.dialects.kit import TOPOLOGY, reading, reported

ANNOTATIONS = "2:metadata.annotations"
SIZE = "2:spec.leaderWorkerTemplate.size"
SEGMENT_SIZE = "2:spec.leaderWorkerTemplate.workerTemplate.metadata.annotations"
WORKER = "2:spec.pytorchReplicaSpecs.Worker.template.metadata.annotations"
POLICY = "2:spec.leaderWorkerTemplate.subGroupPolicy"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            job({"kai.scheduler/topology": "tre", REQUIRED: "topology/rack"}),
            finding(
                kai.TOPOLOGY_NOT_THERE,
                f'{ANNOTATIONS}["kai.scheduler/topology"]',
                topology="tre",
                allowed=OneOf("tre", ("tree",)),
            ),
            id="a topology that does not exist",
        ),
        pytest.param(
            job({REQUIRED: "topology/rack"}),
            finding(
                core.TOPOLOGY_MISSING,
                f'{ANNOTATIONS}["kai.scheduler/topology"]',
                allowed=OneOf("", ("tree",)),
            ),
            id="a level without a topology, which KAI would pass over",
        ),
        pytest.param(
            job({**RACK, REQUIRED: "topology/rak"}),
            unknown_level(f'{ANNOTATIONS}["{REQUIRED}"]', "topology/rak"),
            id="a level that does not exist",
        ),
        pytest.param(
            job_set(replicated("a", 2, 1, ZONE), annotations=RACK),
            finding(
                core.COARSER_LEVEL,
                f'2:spec.replicatedJobs[0].template.metadata.annotations["{REQUIRED}"]',
                level="topology/zone",
                bound="topology/rack",
                field=Field(("metadata", "annotations", REQUIRED)),
                called="level",
            ),
            id="a level that is coarser than that of the whole, told once for all replicas",
        ),
        pytest.param(
            job({MINIMUM: "4"}, parallelism=3),
            finding(kai.NOT_A_POSSIBLE_NUMBER, f'{ANNOTATIONS}["{MINIMUM}"]', value="4", least=0, most=3),
            id="a minimum of more pods than a Job has",
        ),
        pytest.param(
            job({MINIMUM: "some"}),
            finding(kai.NOT_A_POSSIBLE_NUMBER, f'{ANNOTATIONS}["{MINIMUM}"]', value="some", least=0, most=1),
            id="a minimum that is no number",
        ),
        pytest.param(
            job(parallelism=-1),
            finding(core.OUT_OF_RANGE, "2:spec.parallelism", value=-1, allowed=Range(0, 150_000)),
            id="a negative number of pods",
        ),
        pytest.param(
            job(parallelism=150_001),
            finding(core.OUT_OF_RANGE, "2:spec.parallelism", value=150_001, allowed=Range(0, 150_000)),
            id="more pods than a cluster has",
        ),
        pytest.param(
            changed(job(), labels={"priorityClassName": "trian"}),
            not_found("2:metadata.labels.priorityClassName", "PriorityClass", "trian", PRIORITY_CLASSES),
            id="a priority class that does not exist, for which KAI takes another",
        ),
        pytest.param(
            changed(job(), labels={"kai.scheduler/preemptibility": "preemptable"}),
            unknown_choice(
                '2:metadata.labels["kai.scheduler/preemptibility"]',
                "preemptable",
                ("preemptible", "non-preemptible"),
            ),
            id="a preemptibility that KAI would pass over",
        ),
        pytest.param(
            job({"kai.scheduler/preemption-delay": "soon"}),
            finding(core.NOT_A_DURATION, f'{ANNOTATIONS}["kai.scheduler/preemption-delay"]', value="soon"),
            id="a delay that is no duration",
        ),
        pytest.param(
            job({"kai.scheduler/preemption-delay": "-5s"}),
            finding(core.NEGATIVE_DURATION, f'{ANNOTATIONS}["kai.scheduler/preemption-delay"]', value="-5s"),
            id="a negative delay",
        ),
        pytest.param(
            job({"kai.scheduler/staleness-grace-period": "1 hour"}),
            finding(
                core.NOT_A_DURATION, f'{ANNOTATIONS}["kai.scheduler/staleness-grace-period"]', value="1 hour"
            ),
            id="a grace period that is no duration",
        ),
        pytest.param(
            changed(job(RACK), labels={"kueue.x-k8s.io/queue-name": "q"}),
            finding(kai.QUEUES_IN_KUEUE, "2:metadata", key=REQUIRED),
            id="a level in KAI's words on what queues in Kueue",
        ),
        pytest.param(
            changed(pytorch_job(1, 2, annotations=RACK), labels={"kueue.x-k8s.io/queue-name": "q"}),
            finding(kai.QUEUES_IN_KUEUE, "2:metadata", key=REQUIRED),
            id="the same on a PyTorchJob",
        ),
        pytest.param(
            written("jobset.x-k8s.io/v1alpha2", "JobSet", {"annotations": RACK}, {}),
            finding(core.NO_REPLICATED_JOB, "2:spec.replicatedJobs"),
            id="a JobSet without jobs",
        ),
        pytest.param(
            job_set(replicated("a", 2, 1), replicated("a-replica-1", 1, 1)),
            finding(
                kai.SUBGROUP_OF_TWO_JOBS,
                "2:spec.replicatedJobs[1].name",
                name="a-replica-1",
                field=Field(("spec", "replicatedJobs", 0)),
            ),
            id="a replicated job that is called as a subgroup of another",
        ),
        pytest.param(
            job_set(replicated("A", 1, 1)),
            finding(kai.NOT_A_SUBGROUP_NAME, "2:spec.replicatedJobs[0].name", name="A", longest=48),
            id="a replicated job with a name that no subgroup can have",
        ),
        pytest.param(
            job_set(replicated("a", 1000, 1000)),
            finding(kai.TOO_MANY_PODS, "2:spec.replicatedJobs[0].replicas", pods=1_000_000, most=150_000),
            id="a replicated job with too many pods",
        ),
        pytest.param(
            job_set(replicated("a", 100, 1000), replicated("b", 100, 1000)),
            finding(kai.TOO_MANY_PODS_IN_ALL, "2:spec.replicatedJobs", pods=200_000, most=150_000),
            id="a JobSet with too many pods in all",
        ),
        pytest.param(
            job_set(replicated("a", 1, 2, {MINIMUM: "3"})),
            finding(
                kai.NOT_A_POSSIBLE_NUMBER,
                f'2:spec.replicatedJobs[0].template.metadata.annotations["{MINIMUM}"]',
                value="3",
                least=1,
                most=2,
            ),
            id="a minimum of more pods than a Job of a JobSet has",
        ),
        pytest.param(
            leader_worker_set(1, 0),
            finding(kai.GROUP_WITHOUT_LEADER, SIZE),
            id="a group without a leader",
        ),
        pytest.param(
            leader_worker_set(200, 1000),
            finding(kai.TOO_MANY_PODS, "2:spec.replicas", pods=200_000, most=150_000),
            id="a LeaderWorkerSet with too many pods",
        ),
        pytest.param(
            leader_worker_set(3, 4, {SEGMENT: "5"}),
            finding(kai.NOT_A_POSSIBLE_NUMBER, f'{SEGMENT_SIZE}["{SEGMENT}"]', value="5", least=2, most=4),
            id="segments that are larger than a group, told once for all groups",
        ),
        pytest.param(
            leader_worker_set(1, 4, {SEGMENT: "1"}),
            finding(kai.NOT_A_POSSIBLE_NUMBER, f'{SEGMENT_SIZE}["{SEGMENT}"]', value="1", least=2, most=4),
            id="segments of one pod",
        ),
        pytest.param(
            leader_worker_set(1, 4, policy={"subGroupSize": 1}),
            finding(core.NOT_POSSIBLE, f"{POLICY}.subGroupSize", value=1, allowed=Range(2, 4)),
            id="segments of one pod by the set's own field",
        ),
        pytest.param(
            leader_worker_set(1, 1, policy={"subGroupSize": 3}),
            finding(core.NOT_POSSIBLE, f"{POLICY}.subGroupSize", value=3, allowed=Range(2, 1)),
            id="segments of a group of one pod",
        ),
        pytest.param(
            leader_worker_set(1, 30_001, {SEGMENT: "2"}),
            finding(kai.TOO_MANY_SEGMENTS, f'{SEGMENT_SIZE}["{SEGMENT}"]', segments=15_001, most=10_000),
            id="too many segments",
        ),
        pytest.param(
            leader_worker_set(1, 4, policy={"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}),
            finding(
                kai.UNEVEN_SEGMENTS,
                f"{POLICY}.subGroupPolicyType",
                workers=3,
                size=2,
                together="LeaderWorker",
            ),
            id="a leader apart from workers that fill no whole segments",
        ),
        pytest.param(
            leader_worker_set(1, 4, policy={"subGroupSize": 2, "subGroupPolicyType": "LeaderOut"}),
            unknown_choice(f"{POLICY}.subGroupPolicyType", "LeaderOut", ("LeaderWorker", "LeaderExcluded")),
            id="a policy that does not exist",
        ),
        pytest.param(
            leader_worker_set(1, 4, startupPolicy="Leader"),
            unknown_choice("2:spec.startupPolicy", "Leader", ("LeaderCreated", "LeaderReady")),
            id="a startup policy that does not exist",
        ),
        pytest.param(
            leader_worker_set(1, 2, annotations={"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}),
            finding(
                kai.EXCLUSIVE_TOPOLOGY,
                f'{ANNOTATIONS}["leaderworkerset.sigs.k8s.io/exclusive-topology"]',
                instead=REQUIRED,
            ),
            id="an exclusive topology",
        ),
        pytest.param(
            leader_worker_set(3, 4, {SEGMENT: "2", SEGMENT_REQUIRED: "topology/rack"}),
            finding(
                core.TOPOLOGY_MISSING,
                f'{SEGMENT_SIZE}["kai.scheduler/topology"]',
                allowed=OneOf("", ("tree",)),
            ),
            id="segments with a level of no topology, which KAI would pass over",
        ),
        pytest.param(
            written("kubeflow.org/v1", "PyTorchJob", {"annotations": RACK}, {}),
            finding(kai.NO_REPLICAS, "2:spec.pytorchReplicaSpecs"),
            id="a PyTorchJob without pods",
        ),
        pytest.param(
            pytorch_job(1, 4, {SEGMENT: "0"}),
            finding(kai.NOT_A_POSSIBLE_NUMBER, f'{WORKER}["{SEGMENT}"]', value="0", least=1, most=4),
            id="segments of no pods",
        ),
        pytest.param(
            pytorch_job(1, 20_001, {SEGMENT: "2"}),
            finding(kai.TOO_MANY_SEGMENTS, f'{WORKER}["{SEGMENT}"]', segments=10_001, most=10_000),
            id="too many segments of a PyTorchJob",
        ),
        pytest.param(
            pytorch_job(1, 3, elasticPolicy={"minReplicas": 5}),
            finding(kai.NOT_AMONG_ALL_PODS, "2:spec.elasticPolicy.minReplicas", value=5, pods=4),
            id="a minimum of more pods than a PyTorchJob has",
        ),
        pytest.param(
            pytorch_job(100_000, 100_000),
            finding(kai.TOO_MANY_PODS_IN_ALL, "2:spec.pytorchReplicaSpecs", pods=200_000, most=150_000),
            id="a PyTorchJob with too many pods",
        ),
    ],
)
def test_a_problem_is_told(text: str, expected: Finding) -> None:
    problems = reported(TOPOLOGY, text)

    assert [problem for problem in problems if problem.code != kueue.NO_LOCAL_QUEUE.name] == [expected]


def test_a_workload_with_a_problem_has_no_request_and_says_why() -> None:
    (workload,) = reading(TOPOLOGY, job({MINIMUM: "9"})).workloads

    assert isinstance(workload, InvalidWorkload)
    assert [problem.where for problem in workload.problems] == [f'metadata.annotations["{MINIMUM}"]']


def test_all_problems_are_told_at_once() -> None:
    text = pytorch_job(1, 4, {SEGMENT: "x"}, {**RACK, REQUIRED: "row"}, elasticPolicy={"minReplicas": 9})

    assert [problem.where for problem in reported(TOPOLOGY, text)] == [
        "2:spec.elasticPolicy.minReplicas",
        f'2:spec.pytorchReplicaSpecs.Worker.template.metadata.annotations["{SEGMENT}"]',
        f'2:metadata.annotations["{REQUIRED}"]',
    ]


def test_a_pod_that_names_a_derived_group_is_no_stray() -> None:
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {"pod-group-name": "pg-x"}},
        "spec": template()["spec"],
    }

    assert reported(job(parallelism=2), json.dumps(pod)) == []


def test_a_job_belongs_to_one_dialect_only() -> None:
    queued = changed(job(), labels={"kueue.x-k8s.io/queue-name": "q"})

    assert [each.dialect for each in reading(queued).workloads] == ["kueue"]
    assert [each.dialect for each in reading(job()).workloads] == ["kai"]


def test_what_is_wrong_with_all_replicas_is_one_problem_of_the_workload() -> None:
    (workload,) = reading(TOPOLOGY, job_set(replicated("a", 5, 1, ZONE), annotations=RACK)).workloads

    assert len(problems_of(workload)) == 1


def test_a_preemptibility_in_capitals_and_a_grace_period_without_end_are_passed_on() -> None:
    given = changed(
        job({"kai.scheduler/staleness-grace-period": "-1s"}),
        labels={"kai.scheduler/preemptibility": "Non-Preemptible"},
    )
    made = translate([Source("f", given.encode())], "kai")
    (group,) = (each["spec"] for each in made.objects if each["kind"] == "PodGroup")

    assert made.problems == ()
    assert (group["preemptibility"], group["stalenessGracePeriod"]) == ("non-preemptible", "-1s")
