"""PodGroups that KAI makes of Jobs and JobSets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.dialects.kai.grouped import subgroups, translated, tree
from tests.unit.dialects.kai.owned import (
    MINIMUM,
    PREFERRED,
    RACK,
    changed,
    job,
    job_set,
    replicated,
    template,
)
from tests.unit.dialects.kit import TOPOLOGY, request


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


def test_a_job_set_never_waits_for_more_kinds_of_jobs_than_have_replicas() -> None:
    text = job_set(replicated("a", 1, 1), replicated("none", 0, 1), annotations={MINIMUM: "2"})

    assert request(TOPOLOGY, text).root.least == 1


def test_a_job_set_is_kais_by_an_annotation_of_its_jobs_alone() -> None:
    text = json.loads(job_set(replicated("a", 1, 1, RACK)))
    del text["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["schedulerName"]

    assert request(TOPOLOGY, json.dumps(text)).name == "default/pg-x"
