"""Workload objects: read as what waits, and as what is held for pods that are admitted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, translate
from closeknit.hub.outcome import Unplaceable
from closeknit.hub.shortfall import QuotaExceeded, QuotaScope
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kit import reading
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    QUEUES,
    RACK,
    K,
    job,
    queues,
)
from tests.unit.dialects.kueue.workloads import NODES, pod_set, workload
from tests.unit.dialects.verdicts import decided, places_of


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_a_workload_that_waits_is_placed_by_its_topology_request(version: str) -> None:
    asked = pod_set(topologyRequest={"required": RACK})
    (read,) = reading(*QUEUES, workload(asked, version=version)).workloads

    assert (read.object.kind, read.admitted) == ("Workload", False)
    assert isinstance(read, PlaceableWorkload)
    assert read.request.root.required == RACK
    verdict = decided(*QUEUES, *NODES, workload(asked, version=version))["waits"]
    assert len(places_of(verdict)) == 4


def test_slices_and_layers_of_a_topology_request() -> None:
    single = {"required": BLOCK, "podSetSliceRequiredTopology": RACK, "podSetSliceSize": 2}
    layers = [{"topology": BLOCK, "size": 4}, {"topology": RACK, "size": 2}]
    nested = {"podsetSliceRequiredTopologyConstraints": layers}

    (read,) = reading(*QUEUES, workload(pod_set(topologyRequest=single))).workloads
    assert isinstance(read, PlaceableWorkload)
    assert [getattr(each, "required", None) for each in read.request.root.members] == [RACK, RACK]
    (read,) = reading(*QUEUES, workload(pod_set(8, topologyRequest=nested))).workloads
    assert isinstance(read, PlaceableWorkload)
    assert [getattr(each, "required", None) for each in read.request.root.members] == [BLOCK, BLOCK]


def test_the_jobs_of_a_pod_set_are_its_sub_groups() -> None:
    asked = {"preferred": RACK, "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index", "subGroupCount": 2}
    (read,) = reading(*QUEUES, workload(pod_set(topologyRequest=asked), owner=("JobSet", "set"))).workloads

    assert isinstance(read, PlaceableWorkload)
    assert read.request.name == "default/set"
    assert [each.name for each in read.request.root.members] == ["main-0", "main-1"]


def test_the_least_count_of_a_pod_set_is_judged_by_quota() -> None:
    given = queues(quota={"nvidia.com/gpu": 3})

    assert len(places_of(decided(*given, *NODES, workload(pod_set(minCount=2)))["waits"])) == 3
    refused = decided(*given, *NODES, workload(pod_set(5, minCount=4)))["waits"].outcome
    assert isinstance(refused, Unplaceable)
    assert refused.shortfalls[0].reason == QuotaExceeded(QuotaScope.FLAVOR)


def test_a_number_is_the_priority_and_a_class_stands_for_one() -> None:
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    known = json.dumps(
        {"apiVersion": f"{K}v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 7}
    )  # fmt: skip

    (read,) = reading(*QUEUES, known, workload(priority=3, priorityClassRef=reference)).workloads
    assert read.priority == 3
    (read,) = reading(*QUEUES, known, workload(priorityClassRef=reference)).workloads
    assert read.priority == 7
    earlier: dict[str, Any] = {
        "priorityClassName": "high",
        "priorityClassSource": f"{K}workloadpriorityclass",
    }
    (read,) = reading(*QUEUES, known, workload(version="v1beta1", **earlier)).workloads
    assert read.priority == 7


def test_the_workload_of_a_job_that_is_at_hand_is_that_job() -> None:
    texts = (*QUEUES, job(), workload(name="job-train-12345", owner=("Job", "train")))
    (read,) = reading(*texts).workloads

    assert read.object.kind == "Job"
    objects = translate([Source("all", "\n".join(texts).encode())], "kueue").objects
    assert [each["metadata"]["name"] for each in objects if each["kind"] == "Workload"] == ["job-train-12345"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            workload(status={"conditions": [{"type": "Finished", "status": "True"}]}), id="one that is done"
        ),
        pytest.param(workload(active=False), id="one that was told not to run"),
    ],
)
def test_some_workloads_queue_for_nothing(text: str) -> None:
    assert reading(*QUEUES, *NODES, text).workloads == ()


def test_a_workload_is_written_as_it_is_read() -> None:
    asked = {"required": BLOCK, "podSetSliceRequiredTopology": RACK, "podSetSliceSize": 2}
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    text = workload(
        pod_set(topologyRequest=asked), owner=("Job", "train"), priority=3, priorityClassRef=reference
    )
    (made,) = translate([Source("all", "\n".join((*QUEUES, text)).encode())], "kueue").objects

    given = json.loads(text)
    assert made["metadata"] == {**given["metadata"], "namespace": "default"}
    assert made["spec"] == given["spec"]
    pods = translate([Source("all", "\n".join((*QUEUES, text)).encode())], "pods").objects
    assert [each["metadata"]["name"] for each in pods] == [f"train-main-{i}" for i in range(4)]
    assert all(each["metadata"]["annotations"][f"{K}workload"] == "waits" for each in pods)
    named = {"batch.kubernetes.io/job-name": "train"}
    assert pods[0]["metadata"]["labels"] == {f"{K}podset": "main", f"{K}tas": "true", **named}
