"""PodGroups that KAI makes of Jobs, JobSets, LeaderWorkerSets and PyTorchJobs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.apis.core_v1 import PodSpec, PodTemplateSpec
from closeknit.dialects.kai.implicit_groups import Leaf, Template, leaf_by_labels
from tests.unit.dialects.kai.grouped import SEGMENTS_OF_TWO, translated, tree
from tests.unit.dialects.kai.owned import (
    MINIMUM,
    PREFERRED,
    RACK,
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
)
from tests.unit.dialects.kit import TOPOLOGY, reading, request


def subgroups(made: dict[str, Any]) -> list[tuple[str, str, int | None, int | None, str]]:
    """Name, parent, minMember, minSubGroup and required level of each subgroup."""
    return [
        (
            each["name"],
            each.get("parent", ""),
            each.get("minMember"),
            each.get("minSubGroup"),
            each.get("topologyConstraint", {}).get("requiredTopologyLevel", ""),
        )
        for each in made["spec"].get("subGroups", [])
    ]


@pytest.mark.parametrize(
    ("annotations", "spec", "needed", "pods"),
    [
        pytest.param({}, {}, 1, 1, id="one pod where nothing is said"),
        pytest.param({}, {"parallelism": 4}, 1, 4, id="one pod of four must run, as KAI has it"),
        pytest.param(
            {MINIMUM: "4"}, {"parallelism": 4}, 4, 4, id="all pods must run if the annotation says so"
        ),
        pytest.param({MINIMUM: "0"}, {"parallelism": 4}, 0, 4, id="no pod must run"),
        pytest.param(
            {}, {"parallelism": 8, "completions": 3}, 1, 3, id="never more than are left to complete"
        ),
        pytest.param({}, {"parallelism": 0}, 0, 0, id="no pods at all"),
    ],
)
def test_a_job_needs_one_pod_or_as_many_as_its_annotation_says(
    annotations: dict[str, str], spec: dict[str, Any], needed: int, pods: int
) -> None:
    asked = request(TOPOLOGY, job({**RACK, **annotations}, **spec))

    assert (asked.name, asked.topology) == ("default/pg-x", "tree")
    assert tree(asked) == {"default/pg-x": (needed, pods, "topology/rack")}


def test_a_job_becomes_a_pod_group_and_its_pods() -> None:
    group, *pods = translated(
        changed(
            job({**RACK, PREFERRED: "topology/rack"}, gpus=4, parallelism=2, completionMode="Indexed"),
            uid="u1",
            labels={"kai.scheduler/queue": "team-a", "priorityClassName": "inference"},
        )
    )

    assert group == {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": "pg-x-u1",
            "namespace": "default",
            "labels": {"kai.scheduler/queue": "team-a", "priorityClassName": "inference"},
            "annotations": {**RACK, PREFERRED: "topology/rack"},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": "u1"}],
        },
        "spec": {
            "queue": "team-a",
            "minMember": 1,
            "priorityClassName": "inference",
            "topologyConstraint": {
                "topology": "tree",
                "requiredTopologyLevel": "topology/rack",
                "preferredTopologyLevel": "topology/rack",
            },
        },
    }
    index = "batch.kubernetes.io/job-completion-index"
    assert pods[1] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "x-1",
            "namespace": "default",
            "labels": {"batch.kubernetes.io/job-name": "x", index: "1"},
            "annotations": {"pod-group-name": "pg-x-u1", index: "1"},
        },
        "spec": template(4)["spec"],
    }


@pytest.mark.parametrize(
    ("labels", "queue"),
    [
        pytest.param({}, "default-queue", id="the default where nothing is said"),
        pytest.param({"kai.scheduler/queue": "a", "project": "b"}, "a", id="the queue by its label"),
        pytest.param({"project": "b"}, "b", id="the project"),
    ],
)
def test_the_queue_is(labels: dict[str, str], queue: str) -> None:
    assert translated(changed(job(), labels=labels))[0]["spec"]["queue"] == queue


def test_what_says_nothing_about_placement_is_passed_on() -> None:
    text = changed(
        job({"kai.scheduler/preemption-delay": "1h30m", "kai.scheduler/staleness-grace-period": "60s"}),
        labels={"kai.scheduler/preemptibility": "non-preemptible"},
    )

    assert translated(text)[0]["spec"] == {
        "queue": "default-queue",
        "minMember": 1,
        "priorityClassName": "train",
        "preemptibility": "non-preemptible",
        "preemptionDelay": "1h30m",
        "stalenessGracePeriod": "60s",
    }


def test_a_job_set_has_a_subgroup_for_each_replicated_job_and_in_it_one_for_each_job() -> None:
    text = job_set(
        replicated("driver", None, None),
        replicated("workers", 2, 4, {**RACK, MINIMUM: "3"}),
        annotations={"kai.scheduler/topology": "tree", PREFERRED: "topology/zone"},
    )
    group, *pods = translated(text)

    assert "minMember" not in group["spec"]
    assert group["spec"]["minSubGroup"] == 2
    assert group["spec"]["topologyConstraint"] == {
        "topology": "tree",
        "preferredTopologyLevel": "topology/zone",
    }
    assert subgroups(group) == [
        ("driver", "", None, 1, ""),
        ("driver-replica-0", "driver", 1, None, ""),
        ("workers", "", None, 2, ""),
        ("workers-replica-0", "workers", 3, None, "topology/rack"),
        ("workers-replica-1", "workers", 3, None, "topology/rack"),
    ]
    assert [pod["metadata"]["labels"]["kai.scheduler/subgroup-name"] for pod in pods] == [
        "driver-replica-0",
        *["workers-replica-0"] * 4,
        *["workers-replica-1"] * 4,
    ]
    assert tree(request(TOPOLOGY, text))["workers-replica-1"] == (3, 4, "topology/rack")


@pytest.mark.parametrize(
    ("annotations", "spec", "least"),
    [
        pytest.param({}, {}, 2, id="all kinds of jobs at once"),
        pytest.param(
            {},
            {"startupPolicy": {"startupPolicyOrder": "InOrder"}},
            1,
            id="one kind of job where they start in order",
        ),
        pytest.param({MINIMUM: "1"}, {}, 1, id="as many kinds as the annotation says"),
    ],
)
def test_a_job_set_needs(annotations: dict[str, str], spec: dict[str, Any], least: int) -> None:
    text = job_set(replicated("a", 1, 1), replicated("b", 1, 1), annotations=annotations, **spec)

    assert request(TOPOLOGY, text).root.least == least


def test_replicated_jobs_without_replicas_are_left_out() -> None:
    """KAI gives them a subgroup that counts no children, which its own webhook refuses."""
    text = job_set(replicated("a", 2, 1), replicated("none", 0, 1))
    group = translated(text)[0]

    assert (group["spec"]["minSubGroup"], [name for name, *_ in subgroups(group)]) == (
        1,
        ["a", "a-replica-0", "a-replica-1"],
    )
    assert list(tree(request(TOPOLOGY, job_set(replicated("none", 0, 1))))) == ["default/pg-x"]


def test_each_group_of_a_leader_worker_set_has_a_pod_group() -> None:
    text = leader_worker_set(2, 3, annotations=RACK)
    made = translated(text)
    groups = [each for each in made if each["kind"] == "PodGroup"]

    assert [each["metadata"]["name"] for each in groups] == ["pg-x-group-0", "pg-x-group-1"]
    assert subgroups(groups[1]) == [("leader", "", 1, None, ""), ("workers", "", 2, None, "")]
    assert groups[1]["spec"]["minMember"] == 3
    names = [each["metadata"]["name"] for each in made if each["kind"] == "Pod"]
    assert names == ["x-0", "x-0-1", "x-0-2", "x-1", "x-1-1", "x-1-2"]
    found = reading(TOPOLOGY, text)
    assert [each.object.name for each in found.workloads] == ["x.group-0", "x.group-1"]


@pytest.mark.parametrize(
    ("size", "policy", "expected"),
    [
        pytest.param(
            5,
            None,
            [
                ("segment-0", "", None, 2, "topology/rack"),
                ("segment-1", "", 2, None, "topology/rack"),
                ("leader", "segment-0", 1, None, ""),
                ("workers", "segment-0", 2, None, ""),
            ],
            id="with the leader as one more pod where workers fill whole segments",
        ),
        pytest.param(
            4,
            None,
            [
                ("segment-0", "", None, 2, "topology/rack"),
                ("segment-1", "", 2, None, "topology/rack"),
                ("leader", "segment-0", 1, None, ""),
                ("workers", "segment-0", 1, None, ""),
            ],
            id="with the leader as a pod of the first where they do not",
        ),
        pytest.param(
            3,
            None,
            [
                ("segment-0", "", None, 2, "topology/rack"),
                ("leader", "segment-0", 1, None, ""),
                ("workers", "segment-0", 2, None, ""),
            ],
            id="with as many workers as there are, where there is one segment only",
        ),
        pytest.param(
            5,
            {"subGroupPolicyType": "LeaderExcluded"},
            [
                ("leader", "", 1, None, ""),
                ("segment-0", "", 2, None, "topology/rack"),
                ("segment-1", "", 2, None, "topology/rack"),
            ],
            id="with the leader apart",
        ),
    ],
)
def test_a_leader_worker_set_is_cut_into_segments(
    size: int, policy: dict[str, Any] | None, expected: list[Any]
) -> None:
    group, *pods = translated(leader_worker_set(1, size, SEGMENTS_OF_TWO, policy=policy))

    assert subgroups(group) == expected
    named = [pod["metadata"]["labels"]["kai.scheduler/subgroup-name"] for pod in pods]
    assert {name: named.count(name) for name in named} == {
        name: least for name, _, least, _, _ in expected if least is not None
    }


def test_the_size_of_segments_is_the_sets_own_before_any_annotation() -> None:
    text = leader_worker_set(1, 9, {**SEGMENTS_OF_TWO, SEGMENT: "2"}, policy={"subGroupSize": 4})

    assert [name for name, *_ in subgroups(translated(text)[0])] == [
        "segment-0",
        "segment-1",
        "leader",
        "workers",
    ]


def test_a_pytorch_job_has_master_and_worker() -> None:
    group, *pods = translated(pytorch_job(1, 3, annotations=ZONE))

    assert subgroups(group) == [("master", "", 1, None, ""), ("worker", "", 3, None, "")]
    assert (group["spec"]["minMember"], group["spec"]["topologyConstraint"]["requiredTopologyLevel"]) == (
        4,
        "topology/zone",
    )
    assert [pod["metadata"]["name"] for pod in pods] == [
        "x-master-0",
        "x-worker-0",
        "x-worker-1",
        "x-worker-2",
    ]


def test_the_workers_of_a_pytorch_job_are_cut_into_segments() -> None:
    """As in KAI's guide: the topology is named once, by the job or by the template."""
    worker = {SEGMENT: "4", SEGMENT_REQUIRED: "topology/rack"}
    group, *pods = translated(pytorch_job(1, 10, worker, ZONE))

    assert subgroups(group) == [
        ("master", "", 1, None, ""),
        ("worker", "", None, 3, ""),
        ("worker-0", "worker", 4, None, "topology/rack"),
        ("worker-1", "worker", 4, None, "topology/rack"),
        ("worker-2", "worker", 2, None, "topology/rack"),
    ]
    last = pods[-1]["metadata"]["labels"]
    assert (last["training.kubeflow.org/replica-index"], last["kai.scheduler/subgroup-name"]) == (
        "9",
        "worker-2",
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [4, 4, 2], id="all of them where nothing is said"),
        pytest.param(
            {"elasticPolicy": {"minReplicas": 6}}, [4, 4, 0], id="those that hold the pods that are needed"
        ),
        pytest.param(
            {
                "elasticPolicy": {"minReplicas": 11},
                "runPolicy": {"schedulingPolicy": {"minAvailable": 2}},
            },
            [4, 0, 0],
            id="minAvailable before minReplicas",
        ),
        pytest.param({"elasticPolicy": {"minReplicas": 0}}, [0, 0, 0], id="none"),
    ],
)
def test_the_segments_that_must_run_are(spec: dict[str, Any], expected: list[int]) -> None:
    group = translated(pytorch_job(1, 10, {SEGMENT: "4"}, **spec))[0]

    assert [least for name, _, least, _, _ in subgroups(group) if name.startswith("worker-")] == expected


def test_a_job_set_never_waits_for_more_kinds_of_jobs_than_have_replicas() -> None:
    text = job_set(replicated("a", 1, 1), replicated("none", 0, 1), annotations={MINIMUM: "2"})

    assert request(TOPOLOGY, text).root.least == 1


def test_a_job_set_is_kais_by_an_annotation_of_its_jobs_alone() -> None:
    text = json.loads(job_set(replicated("a", 1, 1, RACK)))
    del text["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["schedulerName"]

    assert request(TOPOLOGY, json.dumps(text)).name == "default/pg-x"


def test_a_leader_may_have_a_template_of_its_own() -> None:
    text = json.loads(leader_worker_set(1, 3))
    text["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = template(8)

    asked = request(TOPOLOGY, json.dumps(text))
    assert [pods.resources["nvidia.com/gpu"] for pods in asked.root.pod_sets()] == [8, 1]


@pytest.mark.parametrize(
    ("worker", "annotations"),
    [
        pytest.param({}, {"kai.scheduler/topology": "tree"}, id="of the set where the template names none"),
        pytest.param(
            {"kai.scheduler/topology": "tree"},
            {"kai.scheduler/topology": "other"},
            id="of the template before the set's",
        ),
    ],
)
def test_the_topology_of_segments_is_that(worker: dict[str, str], annotations: dict[str, str]) -> None:
    segments = {SEGMENT: "2", SEGMENT_REQUIRED: "topology/rack", **worker}

    assert request(TOPOLOGY, leader_worker_set(1, 3, segments, annotations)).topology == "tree"


def test_the_master_counts_towards_what_a_pytorch_job_needs() -> None:
    group = translated(pytorch_job(1, 4, elasticPolicy={"minReplicas": 3}))[0]

    assert subgroups(group) == [("master", "", 1, None, ""), ("worker", "", 2, None, "")]


def test_priority_and_queue_may_stand_on_the_template() -> None:
    text = json.loads(job())
    inner = text["spec"]["template"]
    inner["metadata"] = {"labels": {"project": "p", "kai.scheduler/node-pool": "fast"}}
    inner["spec"]["priorityClassName"] = "build"

    spec = translated(json.dumps(text))[0]["spec"]
    assert (spec["queue"], spec["priorityClassName"]) == ("p-fast", "build")


def leaf(name: str, role: str, numbers: range) -> Leaf:
    template = Template((), PodTemplateSpec(spec=PodSpec(containers=[])))
    pods = tuple(f"{name}-{i}" for i in numbers)
    labels = {"role": role}
    return Leaf(name, template, pods, 1, (), labels=labels, index_label="index", first=numbers.start)


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        pytest.param({"role": "master"}, "master", id="labels of one leaf need no number"),
        pytest.param({"role": "worker", "index": "0"}, "worker-0", id="a number of the first segment"),
        pytest.param({"role": "worker", "index": "3"}, "worker-1", id="a number of the last segment"),
        pytest.param({"role": "worker", "index": "4"}, None, id="a number beyond the last segment"),
        pytest.param({"role": "worker"}, None, id="no number where several leaves have the labels"),
        pytest.param({"role": "worker", "index": "-1"}, None, id="what is no number"),
        pytest.param({"role": "evaluator"}, None, id="labels of no leaf"),
        pytest.param({}, None, id="no labels"),
    ],
)
def test_the_leaf_of_a_pod(labels: dict[str, str], want: str | None) -> None:
    leaves = [
        leaf("worker-1", "worker", range(2, 4)),
        leaf("master", "master", range(1)),
        leaf("worker-0", "worker", range(2)),
    ]

    assert leaf_by_labels(leaves)(labels) == want
