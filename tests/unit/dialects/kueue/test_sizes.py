"""A number in a file is checked before anything of that size is made."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from closeknit.apis import kueue_x_k8s_io_v1beta2 as v1beta2
from closeknit.dialects import Source, translate
from closeknit.dialects.kueue.assignments import from_written
from closeknit.hub.problems import InvalidError
from tests.unit.dialects.kit import problems, reading
from tests.unit.dialects.kueue.kit import (
    HOST,
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

VAST = 2_147_483_647
ASSIGNMENT = "status.admission.podSetAssignments[0].topologyAssignment"


def piece(count: int, pods: dict[str, Any], values: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"domainCount": count, "valuesPerLevel": [values or {"universal": "n1"}], "podCounts": pods}


ONE = {"universal": 1}
OUT = "is out of range. Allowed are 1 to"


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(
            {"levels": [HOST], "slices": [piece(VAST, ONE)]},
            [f"slices[0].domainCount: {VAST} {OUT} 100000."],
            id="a slice has at most a hundred thousand domains",
        ),
        pytest.param(
            {"levels": [HOST], "slices": [piece(0, ONE), piece(-1, {"individual": []})]},
            [f"slices[0].domainCount: 0 {OUT} 100000.", f"slices[1].domainCount: -1 {OUT} 100000."],
            id="a slice has a domain",
        ),
        pytest.param(
            {"levels": [HOST], "slices": [piece(100_000, ONE), piece(50_001, ONE)]},
            ["slices: There are 150001 domains in all, each with a pod. At most 150000 pods can be placed."],
            id="there are no more domains than pods in all slices together",
        ),
        pytest.param(
            {"levels": [HOST], "slices": [piece(1, ONE)] * 1001},
            ["slices: There are 1001. At most 1000 can be given."],
            id="there are at most a thousand slices",
        ),
        pytest.param(
            {"levels": [], "slices": [{"domainCount": 1, "valuesPerLevel": [], "podCounts": ONE}]},
            ["levels: There are 0. Allowed are 1 to 16."],
            id="a domain has a level",
        ),
        pytest.param(
            {"levels": [HOST], "slices": [piece(2, {"individual": [-2, 6]}), piece(1, {"universal": 0})]},
            [
                f"slices[0].podCounts.individual[0]: -2 {OUT} 150000 pods.",
                f"slices[1].podCounts.universal: 0 {OUT} 150000 pods.",
            ],
            id="a domain has a pod",
        ),
        pytest.param(
            {"levels": [HOST], "slices": [piece(1, {"universal": VAST})]},
            [f"slices[0].podCounts.universal: {VAST} {OUT} 150000 pods."],
            id="a domain has no more pods than a workload may have",
        ),
    ],
)
def test_slices_are_no_larger_than_they_can_be(given: dict[str, Any], want: list[str]) -> None:
    with pytest.raises(InvalidError) as refused:
        from_written(msgspec.convert(given, v1beta2.TopologyAssignment))
    assert [str(problem) for problem in refused.value.problems] == want


def test_listed_domains_are_no_more_and_no_larger_than_they_can_be() -> None:
    one = {"values": ["n1"], "count": 1}
    domains = [{"values": ["n1"], "count": 0}, {"values": ["n2"], "count": -4}, {"values": [], "count": VAST}]
    given = {"levels": [HOST], "domains": [*domains, *[one] * 99_998]}

    with pytest.raises(InvalidError) as refused:
        from_written(msgspec.convert(given, v1beta2.TopologyAssignment))
    assert [str(problem) for problem in refused.value.problems] == [
        "domains: There are 100001. At most 100000 can be listed.",
        f"domains[0].count: 0 {OUT} 150000 pods.",
        f"domains[1].count: -4 {OUT} 150000 pods.",
        "domains[2].values: There are 0. Give one for each of levels.",
        f"domains[2].count: {VAST} {OUT} 150000 pods.",
    ]


def admitted(assignment: dict[str, Any], version: str, count: int = 4) -> str:
    made = json.loads(
        written(
            "Workload",
            "w",
            {"podSets": [{"name": "main", "count": count, "template": template()}], "queueName": "team"},
            version=version,
        )
    )
    flavors = {"nvidia.com/gpu": "tas"}
    one = {"name": "main", "count": count, "flavors": flavors, "topologyAssignment": assignment}
    made["status"] = {"admission": {"clusterQueue": "research", "podSetAssignments": [one]}}
    return json.dumps(made)


@pytest.mark.parametrize(
    ("assignment", "version", "want"),
    [
        pytest.param(
            {"levels": [HOST], "slices": [piece(2_000_000_000, {"universal": 2})]},
            "v1beta2",
            f"{ASSIGNMENT}.slices[0].domainCount: 2000000000 {OUT} 100000.",
            id="in slices",
        ),
        pytest.param(
            {"levels": [HOST], "domains": [{"values": ["n1"], "count": -2}, {"values": ["n2"], "count": 6}]},
            "v1beta1",
            f"{ASSIGNMENT}.domains[0].count: -2 {OUT} 150000 pods.",
            id="in a list",
        ),
    ],
)
def test_what_a_workload_holds_is_refused_where_it_stands(
    assignment: dict[str, Any], version: str, want: str
) -> None:
    nodes = (node("n1", "b", "r1"), node("n2", "b", "r1"))

    assert problems(*QUEUES, *nodes, admitted(assignment, version)) == [f"7:{want}"]


def test_two_slices_may_speak_of_one_domain() -> None:
    assignment = {"levels": [HOST], "slices": [piece(1, ONE), piece(1, {"universal": 3})]}
    (held,) = reading(*QUEUES, node("n1", "b", "r1"), admitted(assignment, "v1beta2")).workloads

    assert held.request is not None
    assert [each.bound for each in held.request.root.pod_sets()] == [("n1",) * 4]


def in_jobs(count: int, jobs: int) -> str:
    asked = {"subGroupIndexLabel": "jobset.sigs.k8s.io/job-index", "subGroupCount": jobs, "required": RACK}
    sets = [{"name": "main", "count": count, "template": template(), "topologyRequest": asked}]
    return written("Workload", "w", {"podSets": sets, "queueName": "team"})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(job_set(replicated("a", VAST, 0)), id="a JobSet"),
        pytest.param(
            job_set(replicated("a", VAST, 0), own={"require-topology": RACK}),
            id="a JobSet of the early design",
        ),
        pytest.param(in_jobs(0, VAST), id="a Workload"),
    ],
)
def test_any_number_of_jobs_without_pods_asks_for_nothing(text: str) -> None:
    read = reading(*QUEUES, text)

    assert read.problems == ()
    made = translate([Source("f", "\n---\n".join((*QUEUES, text)).encode())], "kueue")
    assert made.problems == ()
    assert reading(*QUEUES, *(json.dumps(each) for each in made.objects)).problems == ()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            job_set(replicated("a", VAST, 150_000)),
            "spec.replicatedJobs[0].replicas: These are 322122547050000 pods. At most 150000 can be asked for.",
            id="one replicated job of a JobSet",
        ),
        pytest.param(
            job_set(replicated("a", 1, 100_000), replicated("b", 2, 50_000)),
            "spec.replicatedJobs[1].replicas: These are 200000 pods with the 100000 before them."
            " At most 150000 can be asked for.",
            id="all replicated jobs of a JobSet",
        ),
        pytest.param(
            written(
                "Workload",
                "w",
                {
                    "podSets": [{"name": n, "count": 90_000, "template": template()} for n in "ab"],
                    "queueName": "team",
                },
            ),
            "spec.podSets[1].count: These are 180000 pods with the 90000 before them."
            " At most 150000 can be asked for.",
            id="all pod sets of a Workload",
        ),
        pytest.param(
            job(VAST).replace(f'"completions": {VAST}', '"completions": 4'),
            "spec.parallelism: 2147483647 is out of range. Allowed are 0 to 150000.",
            id="a Job",
        ),
        pytest.param(
            job(4, podset_slice_required_topology=RACK, podset_slice_size=str(VAST)),
            f'spec.template.metadata.annotations["{K}podset-slice-size"]:'
            f" A slice has {VAST} pods, but there are only 4. Write at most 4.",
            id="a slice",
        ),
        pytest.param(
            job(4, podset_slice_required_topology=RACK, podset_slice_size="9" * 30),
            f'spec.template.metadata.annotations["{K}podset-slice-size"]:'
            f' "{"9" * 30}" is out of range. Allowed are 1 to {VAST}.',
            id="a slice of more pods than a number has room for",
        ),
        pytest.param(
            job(4, own={"job-min-parallelism": "0000000012147483647"}),
            f'metadata.annotations["{K}job-min-parallelism"]:'
            ' "0000000012147483647" is not possible. Allowed are 1 to 3.',
            id="the least number of pods behind zeros",
        ),
        pytest.param(
            job(1, own={"job-min-parallelism": "1"}),
            f'metadata.annotations["{K}job-min-parallelism"]:'
            " There is only one pod, so none can be missing. Leave it out.",
            id="the least number of a single pod",
        ),
        pytest.param(
            queued_pod("p", "g", VAST, pod_group_fast_admission="true"),
            f'metadata.annotations["{K}pod-group-total-count"]:'
            f' "{VAST}" is out of range. Allowed are 1 to 150000 pods.',
            id="a group of pods",
        ),
        pytest.param(
            queued_pod(
                "p", "g", pod_group_total_count="0000000012147483647", pod_group_fast_admission="true"
            ),
            f'metadata.annotations["{K}pod-group-total-count"]:'
            ' "0000000012147483647" is out of range. Allowed are 1 to 150000 pods.',
            id="a group of pods behind zeros",
        ),
        pytest.param(
            queued_pod("p", "g", pod_group_total_count="two"),
            f'metadata.annotations["{K}pod-group-total-count"]:'
            ' "two" is not a number of pods. Write how many pods the group has, from 1 on, in quotes.',
            id="a group whose number is none",
        ),
    ],
)
def test_a_workload_is_no_larger_than_a_cluster(text: str, want: str) -> None:
    assert problems(*QUEUES, text) == [f"5:{want}"]
