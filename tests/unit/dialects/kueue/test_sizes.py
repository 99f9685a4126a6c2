"""A number in a file is checked before anything of that size is made."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from closeknit.apis import kueue_x_k8s_io_v1beta2 as v1beta2
from closeknit.dialects import Source, translate
from closeknit.dialects.kueue.assignments import from_written
from closeknit.hub.problems import InvalidError, Range
from closeknit.hub.sentences import core, kueue
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.kit import reading, reported
from tests.unit.dialects.kueue.kit import (
    HOST,
    QUEUES,
    RACK,
    job,
    job_set,
    node,
    queued_pod,
    replicated,
    template,
    written,
)
from tests.unit.dialects.kueue.problems import OWN, TEMPLATE, annotation, reported_anywhere

VAST = 2_147_483_647
ASSIGNMENT = "7:status.admission.podSetAssignments[0].topologyAssignment"


def piece(count: int, pods: dict[str, Any], values: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"domainCount": count, "valuesPerLevel": [values or {"universal": "n1"}], "podCounts": pods}


ONE = {"universal": 1}


def out_of_range(where: str, value: int, least: int, most: int) -> Finding:
    return finding(core.OUT_OF_RANGE, where, value=value, allowed=Range(least, most))


def pods_out_of_range(where: str, number: int | str) -> Finding:
    """A number of pods that no workload can have."""
    return finding(kueue.PODS_OUT_OF_RANGE, where, number=number, most=150_000)


def too_many_pods(where: str, pods: int, more: str = "") -> Finding:
    """More pods than a workload may have, with those that were counted before."""
    return finding(kueue.TOO_MANY_PODS, where, pods=pods, more=more, most=150_000)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(
            {"levels": [HOST], "slices": [piece(VAST, ONE)]},
            [out_of_range("slices[0].domainCount", VAST, 1, 100_000)],
            id="a slice has at most a hundred thousand domains",
        ),
        pytest.param(
            {"levels": [HOST], "slices": [piece(0, ONE), piece(-1, {"individual": []})]},
            [
                out_of_range("slices[0].domainCount", 0, 1, 100_000),
                out_of_range("slices[1].domainCount", -1, 1, 100_000),
            ],
            id="a slice has a domain",
        ),
        pytest.param(
            {"levels": [HOST], "slices": [piece(100_000, ONE), piece(50_001, ONE)]},
            [finding(kueue.TOO_MANY_DOMAINS, "slices", domains=150_001, most=150_000)],
            id="there are no more domains than pods in all slices together",
        ),
        pytest.param(
            {"levels": [HOST], "slices": [piece(1, ONE)] * 1001},
            [finding(kueue.AT_MOST, "slices", done="given", given=1_001, most=1_000)],
            id="there are at most a thousand slices",
        ),
        pytest.param(
            {"levels": [], "slices": [{"domainCount": 1, "valuesPerLevel": [], "podCounts": ONE}]},
            [finding(core.NUMBER_OF, "levels", allowed=Range(1, 16), given=0, what="")],
            id="a domain has a level",
        ),
        pytest.param(
            {"levels": [HOST], "slices": [piece(2, {"individual": [-2, 6]}), piece(1, {"universal": 0})]},
            [
                pods_out_of_range("slices[0].podCounts.individual[0]", -2),
                pods_out_of_range("slices[1].podCounts.universal", 0),
            ],
            id="a domain has a pod",
        ),
        pytest.param(
            {"levels": [HOST], "slices": [piece(1, {"universal": VAST})]},
            [pods_out_of_range("slices[0].podCounts.universal", VAST)],
            id="a domain has no more pods than a workload may have",
        ),
    ],
)
def test_slices_are_no_larger_than_they_can_be(given: dict[str, Any], want: list[Finding]) -> None:
    with pytest.raises(InvalidError) as refused:
        from_written(msgspec.convert(given, v1beta2.TopologyAssignment))
    assert findings(refused.value.problems) == want


def test_listed_domains_are_no_more_and_no_larger_than_they_can_be() -> None:
    one = {"values": ["n1"], "count": 1}
    domains = [{"values": ["n1"], "count": 0}, {"values": ["n2"], "count": -4}, {"values": [], "count": VAST}]
    given = {"levels": [HOST], "domains": [*domains, *[one] * 99_998]}

    with pytest.raises(InvalidError) as refused:
        from_written(msgspec.convert(given, v1beta2.TopologyAssignment))
    assert findings(refused.value.problems) == [
        finding(kueue.AT_MOST, "domains", done="listed", given=100_001, most=100_000),
        pods_out_of_range("domains[0].count", 0),
        pods_out_of_range("domains[1].count", -4),
        finding(kueue.ONE_FOR_EACH_LEVEL, "domains[2].values", given=0),
        pods_out_of_range("domains[2].count", VAST),
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
            out_of_range(f"{ASSIGNMENT}.slices[0].domainCount", 2_000_000_000, 1, 100_000),
            id="in slices",
        ),
        pytest.param(
            {"levels": [HOST], "domains": [{"values": ["n1"], "count": -2}, {"values": ["n2"], "count": 6}]},
            "v1beta1",
            pods_out_of_range(f"{ASSIGNMENT}.domains[0].count", -2),
            id="in a list",
        ),
    ],
)
def test_what_a_workload_holds_is_refused_where_it_stands(
    assignment: dict[str, Any], version: str, want: Finding
) -> None:
    nodes = (node("n1", "b", "r1"), node("n2", "b", "r1"))

    assert reported(*QUEUES, *nodes, admitted(assignment, version)) == [want]


def test_two_slices_may_speak_of_one_domain() -> None:
    assignment = {"levels": [HOST], "slices": [piece(1, ONE), piece(1, {"universal": 3})]}
    (held,) = reading(*QUEUES, node("n1", "b", "r1"), admitted(assignment, "v1beta2")).workloads

    assert isinstance(held, PlaceableWorkload)
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
            too_many_pods("spec.replicatedJobs[0].replicas", 322_122_547_050_000),
            id="one replicated job of a JobSet",
        ),
        pytest.param(
            job_set(replicated("a", 1, 100_000), replicated("b", 2, 50_000)),
            too_many_pods("spec.replicatedJobs[1].replicas", 200_000, " with the 100000 before them"),
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
            too_many_pods("spec.podSets[1].count", 180_000, " with the 90000 before them"),
            id="all pod sets of a Workload",
        ),
        pytest.param(
            job(VAST).replace(f'"completions": {VAST}', '"completions": 4'),
            out_of_range("spec.parallelism", VAST, 0, 150_000),
            id="a Job",
        ),
        pytest.param(
            job(4, podset_slice_required_topology=RACK, podset_slice_size=str(VAST)),
            finding(kueue.SLICE_TOO_LARGE, annotation(TEMPLATE, "podset-slice-size"), pods=4, size=VAST),
            id="a slice",
        ),
        pytest.param(
            job(4, podset_slice_required_topology=RACK, podset_slice_size="9" * 30),
            finding(
                core.OUT_OF_RANGE,
                annotation(TEMPLATE, "podset-slice-size"),
                allowed=Range(1, VAST),
                value="9" * 30,
            ),
            id="a slice of more pods than a number has room for",
        ),
        pytest.param(
            job(4, own={"job-min-parallelism": "0000000012147483647"}),
            finding(
                core.NOT_POSSIBLE,
                annotation(OWN, "job-min-parallelism"),
                allowed=Range(1, 3),
                value="0000000012147483647",
            ),
            id="the least number of pods behind zeros",
        ),
        pytest.param(
            job(1, own={"job-min-parallelism": "1"}),
            finding(kueue.NONE_TO_MISS, annotation(OWN, "job-min-parallelism"), pods="is only one pod"),
            id="the least number of a single pod",
        ),
        pytest.param(
            queued_pod("p", "g", VAST, pod_group_fast_admission="true"),
            pods_out_of_range(annotation(OWN, "pod-group-total-count"), str(VAST)),
            id="a group of pods",
        ),
        pytest.param(
            queued_pod(
                "p", "g", pod_group_total_count="0000000012147483647", pod_group_fast_admission="true"
            ),
            pods_out_of_range(annotation(OWN, "pod-group-total-count"), "0000000012147483647"),
            id="a group of pods behind zeros",
        ),
        pytest.param(
            queued_pod("p", "g", pod_group_total_count="two"),
            finding(kueue.GROUP_COUNT, annotation(OWN, "pod-group-total-count"), written="two"),
            id="a group whose number is none",
        ),
    ],
)
def test_a_workload_is_no_larger_than_a_cluster(text: str, want: Finding) -> None:
    assert reported_anywhere(*QUEUES, text) == [want]
