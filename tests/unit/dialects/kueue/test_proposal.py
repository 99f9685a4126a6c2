"""What the early proposal of topology-aware scheduling asks for, passage by passage."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kit import reading
from tests.unit.dialects.kueue.kit import (
    job,
    job_set,
    queues,
    replicated,
)
from tests.unit.dialects.verdicts import decided, nodes_of

BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"
TABLE = (
    ("node-1", "block-1", "rack-1"),
    ("node-2", "block-1", "rack-2"),
    ("node-3", "block-2", "rack-1"),
    ("node-4", "block-2", "rack-3"),
)
"""The example of "Hierarchy representation"."""
QUEUES = queues(levels=(BLOCK, RACK))


def machine(name: str, block: str, rack: str, gpus: int = 4) -> str:
    labels = {BLOCK: block, RACK: rack, "pool": "tas"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"nvidia.com/gpu": gpus, "cpu": 8, "pods": 110}},
        }
    )


MACHINES = tuple(machine(*row) for row in TABLE)
HIERARCHY = (*QUEUES, *MACHINES)


def test_hierarchy_representation_two_racks_of_one_name_in_different_blocks_are_two_racks() -> None:
    """node-1 and node-3 have the same value of the rack's label, and eight pods need both of them."""
    assert isinstance(
        decided(*HIERARCHY, job(8, own={"require-topology": RACK}))["train"].outcome, Unplaceable
    )
    placed = nodes_of(decided(*HIERARCHY, job(8, own={"require-topology": BLOCK}))["train"])
    assert placed in ({"node-1", "node-2"}, {"node-3", "node-4"})


def test_story_1_a_workload_that_must_share_a_rack_does_not_start_without_one() -> None:
    verdicts = decided(*HIERARCHY, job(5, name="large", require_topology=RACK), job(4, name="small", require_topology=RACK))  # fmt: skip

    assert isinstance(verdicts["large"].outcome, Unplaceable)
    assert len(nodes_of(verdicts["small"])) == 1


def test_story_2_a_workload_that_would_rather_share_a_rack_is_scattered_where_it_must_be() -> None:
    verdicts = decided(*HIERARCHY, job(12, prefer_topology=RACK))

    assert len(nodes_of(verdicts["train"])) == 3


@pytest.mark.requirement("K75")
def test_computing_the_assignment_as_few_values_of_the_label_as_possible_are_used() -> None:
    cluster = (*QUEUES, machine("a", "b", "r1", 2), machine("b", "b", "r2", 3), machine("c", "b", "r3", 4))

    assert len(nodes_of(decided(*cluster, job(4, prefer_topology=RACK))["train"])) == 1
    assert len(nodes_of(decided(*cluster, job(7, prefer_topology=RACK))["train"])) == 2


def test_computing_the_assignment_a_preference_cannot_make_room() -> None:
    assert isinstance(decided(*HIERARCHY, job(17, prefer_topology=RACK))["train"].outcome, Unplaceable)


def test_support_for_the_auto_mode_the_lowest_level_is_selected() -> None:
    (workload,) = reading(*QUEUES, job(own={"prefer-topology": "auto"})).workloads

    assert isinstance(workload, PlaceableWorkload)
    assert workload.request.root.preferred == RACK


def test_integration_tests_a_new_node_makes_admission_possible() -> None:
    text = job(8, own={"require-topology": RACK})

    assert isinstance(decided(*HIERARCHY, text)["train"].outcome, Unplaceable)
    added = machine("node-5", "block-2", "rack-3")
    assert nodes_of(decided(*HIERARCHY, added, text)["train"]) == {"node-4", "node-5"}


@pytest.mark.requirement("K18", "K67", "K70")
@pytest.mark.parametrize("kind", ["DaemonSet", "ReplicaSet"])
def test_computing_the_assignment_pods_that_do_not_queue_use_room_as_well(kind: str) -> None:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "agent", "controller": True}
    container = {
        "name": "main",
        "resources": {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 1}},
    }
    agents = [
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"agent-{node}", "ownerReferences": [owner]},
                "spec": {"nodeName": node, "containers": [container]},
            }
        )
        for node, _, _ in TABLE
    ]  # fmt: skip

    assert len(nodes_of(decided(*HIERARCHY, *agents, job(3, require_topology=RACK))["train"])) == 1
    verdict = decided(*HIERARCHY, *agents, job(4, require_topology=RACK))["train"]
    assert isinstance(verdict.outcome, Unplaceable)


def test_support_for_replicated_jobs_each_job_has_a_domain_of_its_own() -> None:
    """All sixteen pods share no rack, and no rack takes the pods of two Jobs."""
    verdict = decided(*HIERARCHY, job_set(replicated("a", 4, 4), own={"require-topology": RACK}))["set"]

    assert isinstance(verdict.outcome, Placed)
    assert [len(each.domains) for each in verdict.outcome.groups if each.required == RACK] == [1] * 4
    assert nodes_of(verdict) == {name for name, _, _ in TABLE}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"cohortName": "all"}, id="a cohort"),
        pytest.param({"preemption": {"withinClusterQueue": "LowerPriority"}}, id="preemption"),
    ],
)
def test_alpha_what_the_first_version_excluded_is_allowed_today(spec: dict[str, Any]) -> None:
    texts = (*queues(**spec, levels=(BLOCK, RACK)), *MACHINES)
    read = reading(*texts, job(4, require_topology=RACK))

    assert [str(problem) for problem in read.problems] == []
