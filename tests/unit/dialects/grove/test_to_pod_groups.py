"""The PodGroups of KAI that are made of gangs, and their queue."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.grove.to_gangs import to_gangs
from closeknit.dialects.grove.to_pod_groups import queue_of
from closeknit.dialects.grove.to_pod_groups import to_pod_groups as pod_groups_of
from closeknit.dialects.grove.to_pods import to_pods
from closeknit.hub.sentences import grove
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.grove.sets import (
    LEVELS,
    SERVING,
    clique,
    made,
    pod_clique_set,
    topology,
)
from tests.unit.dialects.kit import reading


@pytest.mark.requirement("G52")
def test_a_gang_becomes_a_pod_group_with_parents_for_its_configurations() -> None:
    base, *_ = pod_groups_of(made(SERVING), {}, {})
    close = {"topology": "grove-topology"}

    assert base["metadata"]["name"] == "srv-0"
    assert base["spec"] == {
        "minMember": 4,
        "topologyConstraint": {**close, "requiredTopologyLevel": "topology/zone"},
        "subGroups": [
            {
                "name": "srv-0-pre-0",
                "minSubGroup": 2,
                "topologyConstraint": {**close, "requiredTopologyLevel": "topology/rack"},
            },
            {
                "name": "srv-0-router",
                "minMember": 1,
                "topologyConstraint": {**close, "requiredTopologyLevel": "topology/block"},
            },
            {
                "name": "srv-0-pre-0-lead",
                "parent": "srv-0-pre-0",
                "minMember": 1,
                "topologyConstraint": {**close, "requiredTopologyLevel": "kubernetes.io/hostname"},
            },
            {
                "name": "srv-0-pre-0-work",
                "parent": "srv-0-pre-0",
                "minMember": 2,
                "topologyConstraint": {**close, "requiredTopologyLevel": "topology/rack"},
            },
        ],
    }


def test_a_topology_that_kai_knows_by_another_name_is_called_by_that_name() -> None:
    """Grove at its newest stored state writes its own name all the same."""
    base, *_ = pod_groups_of(made(SERVING), {"grove-topology": "cluster"}, {})

    assert base["spec"]["topologyConstraint"]["topology"] == "cluster"
    assert {each["topologyConstraint"]["topology"] for each in base["spec"]["subGroups"]} == {"cluster"}


def test_what_is_made_for_kai_is_understood_there_with_its_pods() -> None:
    blueprint = made(SERVING)
    topology = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "grove-topology"},
        "spec": {"levels": [{"nodeLabel": key} for key in LEVELS.values()]},
    }
    objects = [topology, *pod_groups_of(blueprint, {}, {}), *to_pods(blueprint)]
    found = reading(*(json.dumps(each) for each in objects))

    assert [str(problem) for problem in found.problems] == []
    assert [workload.object.name for workload in found.workloads] == ["srv-0", "srv-0-pre-0", "srv-0-pre-1"]
    assert all(isinstance(workload, PlaceableWorkload) for workload in found.workloads)


def test_a_set_whose_pod_groups_are_there_asks_for_nothing_more() -> None:
    blueprint = made(SERVING)
    topologies = [
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "grove-topology"},
            "spec": {"levels": [{"nodeLabel": key} for key in LEVELS.values()]},
        },
        json.loads(topology()),
    ]
    objects = [
        *topologies,
        json.loads(SERVING),
        *pod_groups_of(blueprint, {}, {}),
        *to_gangs(blueprint),
        *to_pods(blueprint),
    ]
    found = reading(*(json.dumps(each) for each in objects))

    assert [str(problem) for problem in found.problems] == []
    assert {(workload.dialect, workload.object.kind) for workload in found.workloads} == {("kai", "PodGroup")}


@pytest.mark.parametrize(
    ("metadata", "labels", "want", "problem"),
    [
        pytest.param({}, ({}, {}), "", None, id="nobody names a queue"),
        pytest.param(
            {"labels": {"kai.scheduler/queue": "q"}}, ({}, {}), "q", None, id="the set names it by label"
        ),
        pytest.param(
            {"annotations": {"kai.scheduler/queue": "q"}},
            ({}, {}),
            "q",
            None,
            id="the set names it by annotation",
        ),
        pytest.param({}, ({"kai.scheduler/queue": "q"}, {}), "q", None, id="a clique names it"),
        pytest.param(
            {},
            ({"kai.scheduler/queue": "q"}, {"kai.scheduler/queue": "r"}),
            "q",
            finding(grove.QUEUES_DIFFER, "metadata.labels", queues=("q", "r")),
            id="cliques disagree",
        ),
        pytest.param(
            {"labels": {"kai.scheduler/queue": "q"}},
            ({}, {"kai.scheduler/queue": "r"}),
            "q",
            finding(grove.CLIQUE_QUEUE, "spec.template.cliques[1].labels", own="q", queue="r"),
            id="a clique disagrees with the set",
        ),
    ],
)
def test_the_queue_of_a_set(
    metadata: dict[str, Any], labels: tuple[dict[str, str], ...], want: str, problem: Finding | None
) -> None:
    cliques = [{**clique(name), "labels": given} for name, given in zip("ab", labels, strict=True)]
    problems: list[Any] = []

    assert queue_of(made(pod_clique_set(*cliques, metadata=metadata)).given, problems) == want
    assert findings(problems) == ([problem] if problem else [])
