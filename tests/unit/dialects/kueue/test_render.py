"""What is written of Kueue's own workloads: Workloads, Jobs ready to start, and gated pods."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, read, translate
from closeknit.dialects.kueue.compile import Nominated
from closeknit.dialects.kueue.to_started import started
from closeknit.dialects.kueue.to_workload import admission_object, assignments
from closeknit.dialects.store.view import View
from closeknit.engine import Engine
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Group, PodSet
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
    K,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    node,
    nominated,
    queued_pod,
    replicated,
    topology,
    view_of,
)

NODES = (node("n1", "b1", "r1"), node("n2", "b1", "r1"), node("n3", "b2", "r2"))


def sources(*texts: str) -> list[Source]:
    return [Source("f", "\n---\n".join(texts).encode())]


def written(*texts: str, to: str = "kueue") -> dict[str, dict[str, Any]]:
    """What is written, by kind; the last of each."""
    made = translate(sources(*texts), to)
    assert made.problems == ()
    return {each["kind"]: each for each in made.objects}


def asked(*texts: str) -> list[dict[str, Any]]:
    return [each.get("topologyRequest", {}) for each in written(*texts)["Workload"]["spec"]["podSets"]]


INDEX = {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}
JOBS = {**INDEX, "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index"}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            job(own={"require-topology": RACK}), [{"required": RACK, **INDEX}], id="a required level"
        ),
        pytest.param(
            job(own={"prefer-topology": "auto"}),
            [{"preferred": HOST, **INDEX}],
            id="auto as the level it means",
        ),
        pytest.param(job(), [{"unconstrained": True, **INDEX}], id="nothing, which is unconstrained"),
        pytest.param(
            job(podset_slice_required_topology=RACK, podset_slice_size="2"),
            [{"podSetSliceRequiredTopology": RACK, "podSetSliceSize": 2, **INDEX}],
            id="slices",
        ),
        pytest.param(
            job(
                podset_slice_required_topology_constraints=json.dumps(
                    [{"topology": BLOCK, "size": 4}, {"topology": RACK, "size": 2}]
                )
            ),
            [
                {
                    "podsetSliceRequiredTopologyConstraints": [
                        {"topology": BLOCK, "size": 4},
                        {"topology": RACK, "size": 2},
                    ],
                    **INDEX,
                }
            ],
            id="nested slices",
        ),
        pytest.param(
            job_set(replicated("a", 2, 3), own={"require-topology": RACK}),
            [{"podSetSliceRequiredTopology": RACK, "podSetSliceSize": 3, **JOBS, "subGroupCount": 2}],
            id="each Job by itself, which today is a slice",
        ),
        pytest.param(
            job_set(
                replicated("leader", 1, 1, podset_preferred_topology=RACK, podset_group_name="g"),
                replicated("workers", 1, 3, podset_preferred_topology=RACK, podset_group_name="g"),
            ),
            [{"preferred": RACK, "podSetGroupName": "g", **JOBS, "subGroupCount": 1}] * 2,
            id="leader and workers",
        ),
    ],
)
def test_the_topology_request_of_a_workload(text: str, want: list[dict[str, Any]]) -> None:
    assert asked(*QUEUES, text) == want


def test_a_workload_keeps_the_whole_template() -> None:
    workload = written(*QUEUES, job(pod={"serviceAccountName": "trainer"}))["Workload"]

    (pod_set,) = workload["spec"]["podSets"]
    assert pod_set["template"]["spec"]["serviceAccountName"] == "trainer"
    assert pod_set["template"]["spec"]["containers"][0]["image"] == "train"
    assert (pod_set["name"], pod_set["count"]) == ("main", 4)
    assert workload["spec"]["queueName"] == "team"


def test_pods_of_a_group_make_a_workload_of_the_groups_name() -> None:
    made = written(*QUEUES, *(queued_pod(f"g-{i}", "g", 2, podset_required_topology=RACK) for i in range(2)))

    assert set(made) == {"Workload"}
    assert made["Workload"]["metadata"]["name"] == "g"
    (pod_set,) = made["Workload"]["spec"]["podSets"]
    assert (pod_set["count"], pod_set["topologyRequest"]) == (2, {"required": RACK})
    assert pod_set["template"]["spec"]["containers"] == [
        {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    ]


def test_a_job_that_waits_is_suspended_and_its_pods_are_gated() -> None:
    tolerant = flavor(tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}])
    made = written(topology(), tolerant, cluster_queue(), local_queue(), job(own={"require-topology": RACK}))
    template = made["Job"]["spec"]["template"]

    assert made["Job"]["spec"]["suspend"] is True
    assert "annotations" not in made["Job"]["metadata"]
    assert template["metadata"]["annotations"] == {
        f"{K}podset-required-topology": RACK,
        f"{K}workload": made["Workload"]["metadata"]["name"],
    }
    assert template["metadata"]["labels"] == {f"{K}podset": "main", f"{K}tas": "true"}
    assert template["spec"]["schedulingGates"] == [{"name": f"{K}topology"}]
    assert template["spec"]["nodeSelector"] == {"pool": "tas"}
    assert template["spec"]["tolerations"] == [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_what_is_written_means_the_same_when_it_is_read_again() -> None:
    text = job_set(replicated("a", 2, 3), own={"require-topology": RACK})
    again = json.dumps(written(*QUEUES, text)["JobSet"])

    def slices(given: str) -> list[tuple[str | None, int]]:
        (workload,) = read(sources(*QUEUES, given)).workloads
        assert isinstance(workload, PlaceableWorkload)
        (jobs,) = workload.request.root.members
        assert isinstance(jobs, Group)
        return [(each.required, each.members[0].count) for each in jobs.members if isinstance(each, Group) and isinstance(each.members[0], PodSet)]  # fmt: skip

    assert slices(text) == slices(again) == [(RACK, 3), (RACK, 3)]


def placed(*texts: str) -> tuple[View, Nominated, Placed]:
    view = view_of(*texts)
    (each,) = nominated(view)
    outcome = Engine(read(sources(*texts)).cluster).solve(each.admissions[0].option.request)
    assert isinstance(outcome, Placed)
    return view, each, outcome


def test_a_homogeneous_assignment_is_a_node_selector() -> None:
    view, each, outcome = placed(*QUEUES, *NODES, job(8, podset_required_topology=HOST))
    where = assignments(each, each.admissions[0], outcome, view)
    made = started(each, each.admissions[0], where)
    spec = made["spec"]["template"]["spec"]

    assert made["spec"]["suspend"] is False
    assert "schedulingGates" not in spec
    # The smaller block, so that the larger one stays whole.
    assert spec["nodeSelector"] == {"pool": "tas", HOST: "n3"}


@pytest.mark.requirement("K14")
def test_a_job_set_has_the_gate_even_where_all_its_pods_share_a_host() -> None:
    view, each, outcome = placed(
        *QUEUES, *NODES, job_set(replicated("a", 1, 4, podset_required_topology=HOST))
    )
    where = assignments(each, each.admissions[0], outcome, view)
    (replica,) = started(each, each.admissions[0], where)["spec"]["replicatedJobs"]
    spec = replica["template"]["spec"]["template"]["spec"]

    assert spec["schedulingGates"] == [{"name": f"{K}topology"}]
    assert spec["nodeSelector"] == {"pool": "tas"}


@pytest.mark.requirement("K79")
def test_any_other_assignment_is_left_to_the_gate() -> None:
    view, each, outcome = placed(*QUEUES, *NODES, job(12, podset_required_topology=RACK))
    where = assignments(each, each.admissions[0], outcome, view)
    spec = started(each, each.admissions[0], where)["spec"]["template"]["spec"]

    assert spec["schedulingGates"] == [{"name": f"{K}topology"}]
    assert spec["nodeSelector"] == {"pool": "tas"}


def test_an_admitted_workload_says_what_goes_where() -> None:
    view, each, outcome = placed(
        *QUEUES, *NODES, job(12, podset_required_topology=RACK, podset_slice_required_topology=HOST, podset_slice_size="4")
    )  # fmt: skip

    assert admission_object(each, each.admissions[0], outcome, view) == {
        "clusterQueue": "research",
        "podSetAssignments": [
            {
                "name": "main",
                "count": 12,
                "flavors": {"nvidia.com/gpu": "tas"},
                "resourceUsage": {"nvidia.com/gpu": "12"},
                "topologyAssignment": {
                    "levels": [HOST],
                    "slices": [
                        {
                            "domainCount": 2,
                            "valuesPerLevel": [{"individual": {"prefix": "n", "roots": ["1", "2"]}}],
                            "podCounts": {"individual": [8, 4]},
                        }
                    ],
                },
            }
        ],
    }
