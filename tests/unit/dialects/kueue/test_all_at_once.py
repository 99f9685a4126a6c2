"""Checks that do not depend on each other do not wait for each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.problems import Field, OneOf, Range
from closeknit.hub.sentences import core, hub, kueue
from tests.kit.problems import Finding, finding
from tests.unit.dialects.kit import reported
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
    K,
    job,
    job_set,
    queues,
    replicated,
    template,
    written,
)
from tests.unit.dialects.kueue.problems import TEMPLATE, annotation

RAK = "example.com/rak"


def unknown(where: str) -> Finding:
    """The level of another name that is reported at a path."""
    remedy = OneOf.among(RAK, [BLOCK, RACK, HOST])
    return finding(hub.UNKNOWN_LEVEL, where, topology="tree", level=RAK, remedy=remedy)


def asked_for(key: str) -> str:
    """The path of an annotation of the pod template, in the document behind the queues."""
    return f"5:{annotation(TEMPLATE, key)}"


def layers(*given: tuple[str, Any]) -> str:
    return json.dumps([{"topology": level, "size": size} for level, size in given])


NESTED = "podset-slice-required-topology-constraints"


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(
            {"podset_required_topology": RAK, "podset_unconstrained_topology": "yes"},
            [
                finding(kueue.NOT_TRUE, asked_for("podset-unconstrained-topology"), written="yes"),
                unknown(asked_for("podset-required-topology")),
            ],
            id="an unknown level beside a word that is not known",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_preferred_topology": BLOCK},
            [
                finding(kueue.STANDS_AS_WELL, asked_for("podset-preferred-topology"), other=f"{K}podset-required-topology")
            ],
            id="two levels of one pod set are not compared as slices are",
        ),
        pytest.param(
            {"podset_required_topology": RAK, "podset_slice_required_topology": RAK, "podset_slice_size": "five"},
            [
                finding(kueue.SLICE_SIZE, asked_for("podset-slice-size"), written="five"),
                unknown(asked_for("podset-required-topology")),
                unknown(asked_for("podset-slice-required-topology")),
            ],
            id="unknown levels beside a size that is none",
        ),
        pytest.param(
            {"podset_slice_required_topology": RAK},
            [
                finding(kueue.SLICE_SIZE_NEEDED, asked_for("podset-slice-size"), other=f"{K}podset-slice-required-topology"),
                unknown(asked_for("podset-slice-required-topology")),
            ],
            id="an unknown level beside a size that is missing",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": layers((RAK, "4"), (HOST, 2), (RACK, 1))},
            [
                finding(kueue.LAYER_SIZE, asked_for(NESTED) + "[0].size", found='"4", a string,'),
                unknown(asked_for(NESTED) + "[0]"),
                finding(kueue.INNER_SLICE_NOT_FINER, asked_for(NESTED) + "[2]", how="coarser than", level=RACK, outer=HOST),
            ],
            id="an unknown layer, one of no size, and two in the wrong order",
        ),
    ],
)  # fmt: skip
def test_annotations_are_all_looked_at(asked: dict[str, Any], want: list[Finding]) -> None:
    assert reported(*QUEUES, job(4, **asked)) == want


def test_levels_and_resources_are_looked_at_beside_each_other() -> None:
    asking = json.loads(job(4, podset_required_topology=RAK))
    container = asking["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"]["example.com/disk"] = 1

    assert reported(*QUEUES, json.dumps(asking)) == [
        finding(
            kueue.NO_QUOTA,
            "5:spec.template.spec.containers",
            covered='"nvidia.com/gpu"',
            queue="research",
            resource="example.com/disk",
        ),
        unknown(asked_for("podset-required-topology")),
    ]


def test_a_level_is_not_unknown_where_a_flavor_is_missing_that_may_have_it() -> None:
    queue = written(
        "ClusterQueue",
        "research",
        {
            "resourceGroups": [
                {
                    "coveredResources": ["nvidia.com/gpu"],
                    "flavors": [
                        {"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]}
                        for name in ("tas", "tass")
                    ],
                }
            ]
        },
    )
    codes = {problem.code for problem in reported(*queues(queue), job(4, podset_required_topology=RAK))}

    assert core.NOT_FOUND.name in codes
    assert hub.UNKNOWN_LEVEL.name not in codes


def test_replicated_jobs_are_looked_at_though_their_names_and_numbers_are_wrong() -> None:
    odd: dict[str, Any] = {"podset_slice_required_topology": RACK, "podset_slice_size": "x"}
    path = "5:spec.replicatedJobs[{}].template.spec.template.metadata.annotations"

    assert reported(*QUEUES, job_set(replicated("a", 150_001, 1, **odd), replicated("a", 1, 1, **odd))) == [
        finding(
            kueue.TOO_MANY_PODS, "5:spec.replicatedJobs[0].replicas", more="", most=150_000, pods=150_001
        ),
        finding(kueue.SLICE_SIZE, annotation(path.format(0), "podset-slice-size"), written="x"),
        finding(
            kueue.NAME_TAKEN,
            "5:spec.replicatedJobs[1].name",
            first=Field(("spec", "replicatedJobs", 0)),
            name="a",
        ),
        finding(kueue.SLICE_SIZE, annotation(path.format(1), "podset-slice-size"), written="x"),
    ]


def test_a_jobs_two_numbers_are_both_looked_at() -> None:
    assert reported(*QUEUES, job(-1, own={"job-min-parallelism": "1"})) == [
        finding(core.OUT_OF_RANGE, "5:spec.parallelism", allowed=Range(0, 150_000), value=-1),
        finding(core.OUT_OF_RANGE, "5:spec.completions", allowed=Range(0, 150_000), value=-1),
    ]


def test_pod_sets_of_a_workload_are_looked_at_though_their_numbers_are_wrong() -> None:
    asked = {"required": RAK, "subGroupCount": 3}
    sets = [
        {"name": "main", "count": 4, "template": template(), "topologyRequest": asked},
        {"name": "main", "count": -1, "template": template(), "topologyRequest": {"podSetSliceSize": 2}},
    ]

    assert reported(*QUEUES, written("Workload", "w", {"podSets": sets, "queueName": "team"})) == [
        finding(kueue.UNEQUAL_JOBS, "5:spec.podSets[0].topologyRequest.subGroupCount", jobs=3, pods=4),
        finding(kueue.NAME_TAKEN, "5:spec.podSets[1].name", first=Field(("spec", "podSets", 0)), name="main"),
        finding(core.OUT_OF_RANGE, "5:spec.podSets[1].count", allowed=Range(0, 150_000), value=-1),
        finding(
            kueue.SLICE_LEVEL_NEEDED,
            "5:spec.podSets[1].topologyRequest.podSetSliceRequiredTopology",
            other="podSetSliceSize",
        ),
        unknown("5:spec.podSets[0].topologyRequest.required"),
    ]


def test_an_assignment_is_looked_at_though_its_number_of_pods_is_wrong() -> None:
    made = json.loads(
        written(
            "Workload",
            "w",
            {"podSets": [{"name": "main", "count": 4, "template": template()}], "queueName": "team"},
        )
    )
    one = {"name": "main", "count": 5, "flavors": {}, "topologyAssignment": {"levels": [], "slices": []}}
    made["status"] = {"admission": {"clusterQueue": "research", "podSetAssignments": [one]}}
    path = "5:status.admission.podSetAssignments[0]"

    assert reported(*QUEUES, json.dumps(made)) == [
        finding(kueue.ADMITTED_TOO_MANY, f"{path}.count", count=5, pods=4),
        finding(core.NUMBER_OF, f"{path}.topologyAssignment.levels", allowed=Range(1, 16), given=0, what=""),
    ]
