"""Checks that do not depend on each other do not wait for each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.dialects.kit import problems
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
from tests.unit.dialects.kueue.problems import TEMPLATE

RAK = "example.com/rak"
UNKNOWN = (
    f'Topology "tree" has no level "{RAK}". Did you mean "{RACK}"? Allowed: "{BLOCK}", "{RACK}", "{HOST}".'
)


def at(path: str, key: str, message: str) -> str:
    return f'5:{path}["{K}{key}"]: {message}'


def layers(*given: tuple[str, Any]) -> str:
    return json.dumps([{"topology": level, "size": size} for level, size in given])


NESTED = "podset-slice-required-topology-constraints"
EXAMPLE = 'Write a list such as [{"topology": "example.com/block", "size": 8}].'


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(
            {"podset_required_topology": RAK, "podset_unconstrained_topology": "yes"},
            [
                at(TEMPLATE, "podset-unconstrained-topology", '"yes" is not a truth value. Write "true", or leave it out.'),
                at(TEMPLATE, "podset-required-topology", UNKNOWN),
            ],
            id="an unknown level beside a word that is not known",
        ),
        pytest.param(
            {"podset_required_topology": RACK, "podset_preferred_topology": BLOCK},
            [
                at(
                    TEMPLATE,
                    "podset-preferred-topology",
                    f"{K}podset-required-topology stands here as well. Only one of them can be given.",
                )
            ],
            id="two levels of one pod set are not compared as slices are",
        ),
        pytest.param(
            {"podset_required_topology": RAK, "podset_slice_required_topology": RAK, "podset_slice_size": "five"},
            [
                at(TEMPLATE, "podset-slice-size", '"five" is not a size. Write a whole number from 1 on.'),
                at(TEMPLATE, "podset-required-topology", UNKNOWN),
                at(TEMPLATE, "podset-slice-required-topology", UNKNOWN),
            ],
            id="unknown levels beside a size that is none",
        ),
        pytest.param(
            {"podset_slice_required_topology": RAK},
            [
                at(
                    TEMPLATE,
                    "podset-slice-size",
                    f"This must be given where {K}podset-slice-required-topology is. Write how many pods make a slice.",
                ),
                at(TEMPLATE, "podset-slice-required-topology", UNKNOWN),
            ],
            id="an unknown level beside a size that is missing",
        ),
        pytest.param(
            {"podset_slice_required_topology_constraints": layers((RAK, "4"), (HOST, 2), (RACK, 1))},
            [
                f'5:{TEMPLATE}["{K}{NESTED}"][0].size: Found "4", a string, where a whole number from 1 on is expected. {EXAMPLE}',
                f'5:{TEMPLATE}["{K}{NESTED}"][0]: {UNKNOWN}',
                f'5:{TEMPLATE}["{K}{NESTED}"][2]: The slice level "{RACK}" is coarser than "{HOST}" around it. Name a finer level.',
            ],
            id="an unknown layer, one of no size, and two in the wrong order",
        ),
    ],
)  # fmt: skip
def test_annotations_are_all_looked_at(asked: dict[str, Any], want: list[str]) -> None:
    assert problems(*QUEUES, job(4, **asked)) == want


def test_levels_and_resources_are_looked_at_beside_each_other() -> None:
    asking = json.loads(job(4, podset_required_topology=RAK))
    container = asking["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"]["example.com/disk"] = 1

    assert problems(*QUEUES, json.dumps(asking)) == [
        '5:spec.template.spec.containers: The pods ask for "example.com/disk", for which ClusterQueue "research" has'
        ' no quota. It covers "nvidia.com/gpu".',
        at(TEMPLATE, "podset-required-topology", UNKNOWN),
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
    found = problems(*queues(queue), job(4, podset_required_topology=RAK))

    assert not any("has no level" in each for each in found)


def test_replicated_jobs_are_looked_at_though_their_names_and_numbers_are_wrong() -> None:
    odd: dict[str, Any] = {"podset_slice_required_topology": RACK, "podset_slice_size": "x"}
    path = "spec.replicatedJobs[{}].template.spec.template.metadata.annotations"
    size = '"x" is not a size. Write a whole number from 1 on.'

    assert problems(*QUEUES, job_set(replicated("a", 150_001, 1, **odd), replicated("a", 1, 1, **odd))) == [
        "5:spec.replicatedJobs[0].replicas: These are 150001 pods. At most 150000 can be asked for.",
        at(path.format(0), "podset-slice-size", size),
        '5:spec.replicatedJobs[1].name: "a" is already the name of spec.replicatedJobs[0]. Rename one.',
        at(path.format(1), "podset-slice-size", size),
    ]


def test_a_jobs_two_numbers_are_both_looked_at() -> None:
    assert problems(*QUEUES, job(-1, own={"job-min-parallelism": "1"})) == [
        "5:spec.parallelism: -1 is out of range. Allowed are 0 to 150000.",
        "5:spec.completions: -1 is out of range. Allowed are 0 to 150000.",
    ]


def test_pod_sets_of_a_workload_are_looked_at_though_their_numbers_are_wrong() -> None:
    asked = {"required": RAK, "subGroupCount": 3}
    sets = [
        {"name": "main", "count": 4, "template": template(), "topologyRequest": asked},
        {"name": "main", "count": -1, "template": template(), "topologyRequest": {"podSetSliceSize": 2}},
    ]

    assert problems(*QUEUES, written("Workload", "w", {"podSets": sets, "queueName": "team"})) == [
        "5:spec.podSets[0].topologyRequest.subGroupCount: 4 pods cannot be those of 3 equal Jobs."
        " Write a number that divides them.",
        '5:spec.podSets[1].name: "main" is already the name of spec.podSets[0]. Rename one.',
        "5:spec.podSets[1].count: -1 is out of range. Allowed are 0 to 150000.",
        "5:spec.podSets[1].topologyRequest.podSetSliceRequiredTopology: This must be given where podSetSliceSize is."
        " Name the level of a slice.",
        f"5:spec.podSets[0].topologyRequest.required: {UNKNOWN}",
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

    assert problems(*QUEUES, json.dumps(made)) == [
        f"{path}.count: 5 pods are admitted, but there are 4. Write 0 to 4.",
        f"{path}.topologyAssignment.levels: There are 0. Allowed are 1 to 16.",
    ]
