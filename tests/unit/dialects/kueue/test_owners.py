"""What was written is known again as what it was written from, with and without a server's uid."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, translate
from closeknit.hub.request import Request
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kit import reading
from tests.unit.dialects.kueue.kit import (
    QUEUES,
    RACK,
    K,
    job,
    job_set,
    node,
    queued_pod,
    replicated,
    template,
    written,
)

NODES = (node("n1", "b", "r1"), node("n2", "b", "r1"))


def objects(target: str, *texts: str) -> list[dict[str, Any]]:
    made = translate([Source("f", "\n---\n".join((*QUEUES, *texts)).encode())], target)
    assert made.problems == ()
    return list(made.objects)


def requests(*texts: str) -> list[Request]:
    read = reading(*QUEUES, *NODES, *texts)
    assert read.problems == ()
    return [each.request for each in read.workloads if isinstance(each, PlaceableWorkload)]


def with_metadata(text: str, **metadata: Any) -> str:
    made = json.loads(text)
    made["metadata"] |= metadata
    return json.dumps(made)


JOB = job(4, podset_required_topology=RACK)
SET = job_set(replicated("a", 2, 2, podset_required_topology=RACK))
QUEUED = [
    pytest.param(JOB, id="a Job"),
    pytest.param(SET, id="a JobSet"),
    pytest.param(with_metadata(JOB, uid="u-1"), id="a Job from a server"),
    pytest.param(with_metadata(SET, uid="u-1"), id="a JobSet from a server"),
    pytest.param(queued_pod("p"), id="a pod"),
    pytest.param("\n---\n".join(queued_pod(f"p{i}", "g", 2) for i in range(2)), id="a group of pods"),
]


@pytest.mark.parametrize("text", QUEUED)
def test_a_workload_is_known_as_that_of_what_it_was_made_from(text: str) -> None:
    made = [json.dumps(each) for each in objects("kueue", text)]

    assert any('"kind": "Workload"' in each for each in made)
    assert len(requests(text)) == len(requests(*made)) == 1
    # The Workload beside what it was made from, as a server would list both.
    assert len(requests(text, *(each for each in made if '"kind": "Workload"' in each))) == 1


def lone_workload(name: str, **metadata: Any) -> str:
    sets = [{"name": "main", "count": 4, "template": template()}]
    return with_metadata(written("Workload", name, {"podSets": sets, "queueName": "team"}), **metadata)


def marked_template(text: str) -> str:
    made = json.loads(text)
    made["spec"]["template"]["metadata"]["annotations"][f"{K}workload"] = "w"
    return json.dumps(made)


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(
            (
                with_metadata(JOB, labels={f"{K}queue-name": "team", f"{K}prebuilt-workload-name": "w"}),
                lone_workload("w"),
            ),
            id="the Job names a Workload that was built before",
        ),
        pytest.param((marked_template(JOB), lone_workload("w")), id="the pod template names it"),
        pytest.param(
            (with_metadata(JOB, uid="u-1"), lone_workload("w", labels={f"{K}job-uid": "u-1"})),
            id="the Workload has the uid of the Job",
        ),
        pytest.param(
            (
                queued_pod("p"),
                lone_workload(
                    "pod-p-1a2b3",
                    ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": True}],
                ),
            ),
            id="a single pod owns it",
        ),
    ],
)
def test_a_workload_is_known_by_other_words_of_kueue(texts: tuple[str, ...]) -> None:
    assert len(requests(*texts)) == 1


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param((JOB, lone_workload("train")), id="a Workload that only has the name of a Job"),
        pytest.param(
            (
                marked_template(JOB),
                lone_workload(
                    "w",
                    ownerReferences=[
                        {"apiVersion": "batch/v1", "kind": "Job", "name": "other", "controller": True}
                    ],
                ),
            ),
            id="a Workload of another Job that the template names",
        ),
        pytest.param(
            (with_metadata(marked_template(JOB), namespace="default"), lone_workload("w", namespace="else")),
            id="a Workload of another namespace",
        ),
    ],
)
def test_a_workload_of_somebody_else_stays_its_own(texts: tuple[str, ...]) -> None:
    read = reading(*QUEUES, *NODES, *texts, lenient=True)

    assert len(read.workloads) == 2


def bound(pod: dict[str, Any], node_name: str, *without: str) -> str:
    made = json.loads(json.dumps(pod))
    made["spec"]["nodeName"] = node_name
    made["spec"].pop("schedulingGates", None)
    for key in without:
        made["metadata"]["labels"].pop(f"{K}{key}", None)
        made["metadata"]["annotations"].pop(f"{K}{key}", None)
    return json.dumps(made)


LONE = lone_workload("w")
OF_ABSENT = lone_workload(
    "w", annotations={f"{K}job-owner-gvk": "batch/v1, Kind=Job", f"{K}job-owner-name": "train"}
)
QUEUE_IN_TEMPLATE = json.loads(JOB)
QUEUE_IN_TEMPLATE["spec"]["template"]["metadata"]["labels"] = {f"{K}queue-name": "team"}


@pytest.mark.parametrize(
    "text",
    [
        *QUEUED[:4],
        pytest.param(LONE, id="a Workload that stands for itself"),
        pytest.param(OF_ABSENT, id="a Workload whose Job is not at hand"),
        pytest.param(json.dumps(QUEUE_IN_TEMPLATE), id="a Job whose pods carry its queue"),
    ],
)
def test_written_pods_that_run_are_not_asked_for_again(text: str) -> None:
    pods = objects("pods", text)
    assert len(pods) == 4

    (left,) = requests(text, *(bound(pod, "n1") for pod in pods[:3]))
    sets = list(left.root.pod_sets())
    assert [name for each in sets for name in each.bound] == ["n1"] * 3
    assert [name for each in sets for name in each.pods] == [pods[3]["metadata"]["name"]]


@pytest.mark.parametrize("text", QUEUED[:2])
def test_pods_that_kueue_has_not_marked_are_known_by_the_labels_of_their_maker(text: str) -> None:
    pods = objects("pods", text)

    (left,) = requests(text, *(bound(pod, "n1", "podset", "workload", "tas") for pod in pods[:3]))
    assert [name for each in left.root.pod_sets() for name in each.bound] == ["n1"] * 3


def test_the_older_label_of_a_job_counts_as_well_and_only_in_its_namespace() -> None:
    def labelled(name: str, namespace: str) -> str:
        spec = {"nodeName": "n1", "containers": [{"name": "m"}]}
        metadata = {"name": name, "namespace": namespace, "labels": {"job-name": "train"}}
        return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    (left,) = requests(JOB, labelled("x", "default"), labelled("y", "elsewhere"))
    assert [name for each in left.root.pod_sets() for name in each.bound] == ["n1"]


def test_pods_of_a_job_from_a_server_name_their_owner() -> None:
    pods = objects("pods", with_metadata(JOB, uid="u-1"))

    assert {(each["metadata"]["ownerReferences"][0]["name"], each["metadata"]["ownerReferences"][0]["uid"]) for each in pods} == {("train", "u-1")}  # fmt: skip
