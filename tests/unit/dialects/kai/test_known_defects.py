"""What is known to go wrong in KAI, from the manifests to the nodes, and how it goes here.

Letters are those of the counter-examples that were run against KAI, numbers those of its issues.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from closeknit.dialects import Reading
from closeknit.engine import Engine
from closeknit.hub.outcome import LevelChange, Outcome, Placed, Unplaceable
from closeknit.hub.problems import Field, OneOf
from closeknit.hub.sentences import core, hub
from closeknit.hub.shortfall import NoDomain
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import finding
from tests.unit.dialects.kai.owned import MINIMUM, job
from tests.unit.dialects.kit import node as plain_node
from tests.unit.dialects.kit import pod, pod_group, reading, reported

TOPOLOGY = json.dumps(
    {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "t"},
        "spec": {"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}]},
    }
)


def node(zone: str, rack: str, gpus: int, name: str = "") -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name or f"{zone}-{rack}", "labels": {"zone": zone, "rack": rack}},
            "status": {"allocatable": {"nvidia.com/gpu": gpus}},
        }
    )


def within(level: str, preferred: str = "") -> dict[str, Any]:
    wished = {"preferredTopologyLevel": preferred} if preferred else {}
    required = {"requiredTopologyLevel": level} if level else {}
    return {"topologyConstraint": {"topology": "t", **required, **wished}}


def leaf(name: str, least: int, level: str = "rack") -> dict[str, Any]:
    return {"name": name, "minMember": least, **within(level)}


def solved(*texts: str) -> Outcome:
    """What becomes of the only workload."""
    found = reading(TOPOLOGY, *texts)
    assert [str(problem) for problem in found.problems] == []
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    return Engine(found.cluster).solve(workload.request)


def nodes_of(outcome: Outcome) -> dict[str, Counter[str]]:
    """By group, how many pods each node gets."""
    assert isinstance(outcome, Placed)
    found: dict[str, Counter[str]] = {}
    for each in outcome.assignments:
        found.setdefault(each.pod_set.partition("/")[0], Counter())[each.node] += 1
    return found


RACKS = (node("z", "r1", 4), node("z", "r2", 3))


@pytest.mark.parametrize("names", [("a", "b", "c"), ("y", "z", "c")], ids=["C1", "C1b: under other names"])
def test_groups_of_2_2_and_3_fill_racks_of_4_and_3(names: tuple[str, str, str]) -> None:
    first, second, third = names
    spec = {"subGroups": [leaf(first, 2), leaf(second, 2), leaf(third, 3)]}

    assert nodes_of(solved(*RACKS, pod_group(spec))) == {
        first: {"z-r1": 2},
        second: {"z-r1": 2},
        third: {"z-r2": 3},
    }


def test_c2_a_large_pod_among_small_ones_is_not_taken_for_the_size_of_all() -> None:
    hosts = (node("z", "r", 8, "x1"), node("z", "r", 8, "x2"))
    pods = [pod("large", "g", gpus=8), *(pod(f"small-{i}", "g") for i in range(8))]

    placed = solved(*hosts, pod_group({"minMember": 9, **within("rack")}), *pods)

    assert isinstance(placed, Placed)
    assert len(placed.assignments) == 9


@pytest.mark.requirement("A43")
def test_pods_that_run_apart_keep_the_rest_from_a_rack_and_it_is_told_what_would_help() -> None:
    running = [pod("p0", "g", nodeName="z-r1"), pod("p1", "g", nodeName="z-r2")]

    outcome = solved(*RACKS, pod_group({"minMember": 3, **within("rack")}), *running, pod("p2", "g"))

    assert isinstance(outcome, Unplaceable)
    (shortfall,) = outcome.shortfalls
    assert (shortfall.reason, shortfall.wanted, shortfall.fits) == (NoDomain("rack"), 1, 0)
    assert shortfall.relaxations[0].changes == (LevelChange("default/g", "zone"),)


def test_c3_a_zone_that_is_the_whole_cluster_is_a_zone() -> None:
    assert nodes_of(solved(node("z", "r", 8), pod_group({"minMember": 2, **within("zone")}))) == {
        "default": {"z-r": 2}
    }


def test_c4_and_2098_the_rack_is_chosen_for_all_pods_not_for_the_one_that_must_run() -> None:
    """KAI's own example, a Job of 3 pods in one rack, needs this, because a Job's minMember is 1."""
    racks = (node("z", "r1", 1), node("z", "r2", 4))
    placement = {"kai.scheduler/topology": "t", "kai.scheduler/topology-required-placement": "rack"}

    assert nodes_of(solved(*racks, job(placement, parallelism=3))) == {"default": {"z-r2": 3}}


@pytest.mark.requirement("A40")
def test_c5_where_2_of_3_subgroups_are_enough_the_one_that_fits_nowhere_is_left_out() -> None:
    racks = [node("z", f"r{i}", 4) for i in range(3)]
    spec = {"minSubGroup": 2, "subGroups": [leaf("p0", 8), leaf("p1", 4), leaf("p2", 4)]}

    assert nodes_of(solved(*racks, pod_group(spec))).keys() == {"p1", "p2"}


def test_c5_of_pods_that_differ_too() -> None:
    given = [pod("p0", "g", gpus=8), pod("p1", "g", gpus=4), pod("p2", "g", gpus=4)]

    placed = solved(node("z", "r", 4, "x1"), node("z", "r", 4, "x2"), pod_group({"minMember": 2}), *given)

    assert isinstance(placed, Placed)
    assert {each.pod for each in placed.assignments} == {"p1", "p2"}


def test_c7_a_child_that_is_coarser_than_its_parent_is_told_instead_of_waiting_for_ever() -> None:
    spec = {**within("rack"), "subGroups": [leaf("a", 1, "zone")]}

    assert reported(TOPOLOGY, pod_group(spec)) == [
        finding(
            core.COARSER_LEVEL,
            "2:spec.subGroups[0].topologyConstraint.requiredTopologyLevel",
            level="zone",
            bound="rack",
            field=Field(("spec", "topologyConstraint", "requiredTopologyLevel")),
            called="level",
        )
    ]


@pytest.mark.requirement("A39")
def test_c8_subgroups_above_the_minimum_stay_in_the_zone_that_is_required() -> None:
    zones = (node("z1", "r1", 6), node("z1", "r2", 6), node("z2", "r1", 6))
    spec = {**within("zone"), "minSubGroup": 1, "subGroups": [leaf("a", 4), leaf("b", 4)]}

    found = nodes_of(solved(*zones, pod_group(spec)))

    assert {name.partition("-")[0] for counts in found.values() for name in counts} == {"z1"}
    assert found.keys() == {"a", "b"}


def test_m1_a_level_that_does_not_exist_is_told() -> None:
    assert reported(TOPOLOGY, pod_group(within("row"))) == [
        finding(
            hub.UNKNOWN_LEVEL,
            "2:spec.topologyConstraint.requiredTopologyLevel",
            topology="t",
            level="row",
            remedy=OneOf("row", ("rack", "zone")),
        )
    ]


def test_nodes_outside_the_tree_are_there_for_who_only_prefers_a_level() -> None:
    placed = solved(plain_node("bare"), pod_group({"minMember": 2, **within("", "rack")}))

    assert nodes_of(placed) == {"default": {"bare": 2}}


def test_2095_pod_groups_of_one_name_in_two_namespaces_are_two() -> None:
    def elsewhere(text: str, namespace: str) -> str:
        made = json.loads(text)
        made["metadata"]["namespace"] = namespace
        return json.dumps(made)

    group = pod_group({"minMember": 1})
    found = reading(
        node("z", "r", 8),
        *(elsewhere(group, namespace) for namespace in ("one", "two")),
        elsewhere(pod("p", "g", nodeName="z-r"), "one"),
        elsewhere(pod("p", "g"), "two"),
    )

    assert found.problems == ()
    assert bound(found) == {"one/g": ["z-r"], "two/g": []}


def bound(found: Reading) -> dict[str, list[str]]:
    requests = [each.request for each in found.workloads if isinstance(each, PlaceableWorkload)]
    return {
        request.name: [name for pods in request.root.pod_sets() for name in pods.bound]
        for request in requests
    }


def test_a_job_needs_no_more_than_it_says_and_takes_what_there_is() -> None:
    placed = solved(node("z", "r", 2), job({MINIMUM: "2"}, parallelism=3))

    assert nodes_of(placed) == {"default": {"z-r": 2}}
