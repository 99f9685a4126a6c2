"""Our shapes, examples and objects against the definitions that Kueue and JobSet publish."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import yaml

from closeknit.apis import jobset_x_k8s_io_v1alpha2 as jobset
from closeknit.apis import kueue_x_k8s_io_v1beta2 as v1beta2
from closeknit.apis.wire import Wire
from closeknit.dialects import DIALECTS, Source, read, translate
from closeknit.dialects.kueue.express import express
from closeknit.dialects.kueue.to_started import started
from closeknit.dialects.kueue.to_workload import admission_object, assignments, workload_object
from closeknit.dialects.reading import load
from closeknit.engine import Engine
from closeknit.hub.outcome import Placed
from closeknit.hub.problems import InvalidError
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.testing.random_requests import random_instance
from tests.contract.definitions import ROOT, published
from tests.contract.objects import faults
from tests.unit.dialects.kueue.kit import QUEUES, RACK, nominated, queued_pod

FOLDERS = sorted(path.parent for path in (ROOT / "examples" / "kueue").glob("**/cluster.txt"))
KUEUE, JOBSET = "kueue.x-k8s.io", "jobset.x-k8s.io"
ASSIGNMENT = ("status", "admission", "podSetAssignments", "topologyAssignment")
EARLIER = {"cohort", "parent", "admissionChecks", "priorityClassName", "priorityClassSource", "domains"}
"""The words of v1beta1, which are read in either version."""
LATER = {"slices"}
"""The word of v1beta2 in a shape that stands for both versions."""


def sources(folder: Path) -> list[Source]:
    return [Source(path.name, path.read_bytes()) for path in sorted(folder.glob("*.yaml"))]


def fields(shape: type[Wire]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(shape)} | shape.unused


def at(schema: dict[str, Any], path: tuple[str, ...]) -> set[str]:
    for step in path:
        schema = schema["properties"][step]
        schema = schema.get("items", schema)
    return set(schema["properties"])


@pytest.mark.requirement("K37")
@pytest.mark.parametrize(
    ("shape", "kind", "path"),
    [
        pytest.param(v1beta2.Topology, "Topology", (), id="of a Topology"),
        pytest.param(v1beta2.TopologyLevel, "Topology", ("spec", "levels"), id="of a level"),
        pytest.param(v1beta2.ResourceFlavor, "ResourceFlavor", (), id="of a ResourceFlavor"),
        pytest.param(v1beta2.ResourceFlavorSpec, "ResourceFlavor", ("spec",), id="of a flavor's spec"),
        pytest.param(v1beta2.ClusterQueue, "ClusterQueue", (), id="of a ClusterQueue"),
        pytest.param(v1beta2.ClusterQueueSpec, "ClusterQueue", ("spec",), id="of a ClusterQueue's spec"),
        pytest.param(
            v1beta2.ResourceGroup, "ClusterQueue", ("spec", "resourceGroups"), id="of a group of resources"
        ),
        pytest.param(
            v1beta2.ResourceQuota,
            "ClusterQueue",
            ("spec", "resourceGroups", "flavors", "resources"),
            id="of a quota",
        ),
        pytest.param(
            v1beta2.FlavorFungibility,
            "ClusterQueue",
            ("spec", "flavorFungibility"),
            id="of a queue's choice of flavors",
        ),
        pytest.param(v1beta2.Workload, "Workload", (), id="of a Workload"),
        pytest.param(v1beta2.WorkloadSpec, "Workload", ("spec",), id="of a Workload's spec"),
        pytest.param(v1beta2.PodSet, "Workload", ("spec", "podSets"), id="of a pod set"),
        pytest.param(
            v1beta2.PriorityClassRef,
            "Workload",
            ("spec", "priorityClassRef"),
            id="of a Workload's priority class",
        ),
        pytest.param(v1beta2.CohortSpec, "Cohort", ("spec",), id="of a Cohort's spec"),
        pytest.param(v1beta2.LocalQueue, "LocalQueue", (), id="of a LocalQueue"),
        pytest.param(v1beta2.LocalQueueSpec, "LocalQueue", ("spec",), id="of a LocalQueue's spec"),
        pytest.param(v1beta2.WorkloadPriorityClass, "WorkloadPriorityClass", (), id="of a priority class"),
        pytest.param(
            v1beta2.PodSetTopologyRequest,
            "Workload",
            ("spec", "podSets", "topologyRequest"),
            id="of a topology request",
        ),
        pytest.param(
            v1beta2.SliceConstraint,
            "Workload",
            ("spec", "podSets", "topologyRequest", "podsetSliceRequiredTopologyConstraints"),
            id="of a layer of slices",
        ),
        pytest.param(v1beta2.TopologyAssignment, "Workload", ASSIGNMENT, id="of an assignment"),
        pytest.param(v1beta2.TopologyAssignmentSlice, "Workload", (*ASSIGNMENT, "slices"), id="of a slice"),
        pytest.param(
            v1beta2.TopologyAssignmentSliceLevelValues,
            "Workload",
            (*ASSIGNMENT, "slices", "valuesPerLevel"),
            id="of a level's values",
        ),
        pytest.param(
            v1beta2.TopologyAssignmentSliceLevelIndividualValues,
            "Workload",
            (*ASSIGNMENT, "slices", "valuesPerLevel", "individual"),
            id="of values that differ",
        ),
        pytest.param(
            v1beta2.TopologyAssignmentSlicePodCounts,
            "Workload",
            (*ASSIGNMENT, "slices", "podCounts"),
            id="of a slice's pods",
        ),
    ],
)
def test_the_fields_are_those_that_kueue_publishes(
    shape: type[Wire], kind: str, path: tuple[str, ...]
) -> None:
    schema = published(KUEUE, kind, "v1beta2")
    assert schema is not None

    assert fields(shape) - EARLIER == at(schema, path)


@pytest.mark.parametrize(
    ("shape", "path"),
    [
        pytest.param(v1beta2.TopologyAssignment, ASSIGNMENT, id="of an assignment"),
        pytest.param(v1beta2.TopologyDomainAssignment, (*ASSIGNMENT, "domains"), id="of a domain"),
    ],
)
def test_the_older_fields_are_those_that_kueue_publishes(shape: type[Wire], path: tuple[str, ...]) -> None:
    schema = published(KUEUE, "Workload", "v1beta1")
    assert schema is not None

    assert fields(shape) - LATER == at(schema, path)


@pytest.mark.parametrize(
    ("shape", "path"),
    [
        pytest.param(jobset.JobSet, (), id="of a JobSet"),
        pytest.param(jobset.JobSetSpec, ("spec",), id="of a JobSet's spec"),
        pytest.param(jobset.ReplicatedJob, ("spec", "replicatedJobs"), id="of a replicated job"),
    ],
)
def test_the_fields_are_those_that_jobset_publishes(shape: type[Wire], path: tuple[str, ...]) -> None:
    schema = published(JOBSET, "JobSet", "v1alpha2")
    assert schema is not None

    assert fields(shape) == at(schema, path)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"of {folder.name}")
def test_the_queues_of_an_example_are_strictly_valid(folder: Path) -> None:
    documents = list(yaml.safe_load_all((folder / "queues.yaml").read_text()))

    assert [fault for document in documents for fault in faults(document)] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"of {folder.name}")
@pytest.mark.parametrize("target", ["kueue", "pods"])
def test_what_an_example_becomes_is_strictly_valid(folder: Path, target: str) -> None:
    made = translate(sources(folder), target)

    assert made.problems == ()
    assert made.objects
    assert [fault for each in made.objects for fault in faults(each)] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"of {folder.name}")
def test_a_placed_workload_is_strictly_valid(folder: Path) -> None:
    engine = Engine(read(sources(folder)).cluster)
    view = load(DIALECTS, sources(folder), lenient=False).view
    for each in nominated(view):
        for admission in each.admissions:
            outcome = engine.solve(admission.option.request)
            if isinstance(outcome, Placed):
                where = assignments(each, admission, outcome, view)
                status = {"admission": admission_object(each, admission, outcome, view)}
                objects = [{**workload_object(each), "status": status}, started(each, admission, where)]
                assert [fault for made in objects for fault in faults(made)] == []


def test_the_workload_of_a_group_of_pods_is_strictly_valid() -> None:
    texts = [*QUEUES, *(queued_pod(f"g-{i}", "g", 2, podset_required_topology=RACK) for i in range(2))]
    made = translate([Source("f", "\n---\n".join(texts).encode())], "kueue")

    assert made.objects
    assert [fault for each in made.objects for fault in faults(each)] == []


def test_random_requests_become_objects_that_are_strictly_valid_and_read_back() -> None:
    said = 0
    for seed in range(300):
        cluster, request = random_instance(Random(seed))
        name = ObjectName("v1", "Pod", "team", f"train-{seed}")
        workload = PlaceableWorkload(name, "test", request)
        try:
            objects = list(express(workload, {each.name: each for each in cluster.topologies}))
        except InvalidError:
            continue
        said += 1
        assert [fault for each in objects for fault in faults(each)] == []
        again = read([Source("f", "\n---\n".join(yaml.safe_dump(each) for each in objects).encode())])
        assert [str(problem) for problem in again.problems] == []
        (back,) = again.workloads
        assert isinstance(back, PlaceableWorkload)
        counts = [sum(pods.count for pods in each.root.pod_sets()) for each in (request, back.request)]
        assert counts[0] == counts[1]
    assert said >= 50
