"""What a PodGroup means in the hub's words."""

from __future__ import annotations

import pytest

from closeknit.dialects import group_of
from closeknit.hub.request import Group, Request
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import kai
from tests.kit.problems import finding, findings
from tests.unit.dialects.kai.owned import changed, job
from tests.unit.dialects.kai.pod_sets import GPU, assumed, sets
from tests.unit.dialects.kit import TOPOLOGY, close, node, pod, pod_group, reading, request


@pytest.mark.requirement("A11", "A12", "A18", "A47")
@pytest.mark.parametrize("spelling", ["subGroups", "subgroups"])
def test_parents_make_the_tree_and_constraints_land_on_their_groups(spelling: str) -> None:
    spec = {
        "topologyConstraint": close("topology/zone", "block"),
        "minSubGroup": 1,
        spelling: [
            {
                "name": "decode",
                "minMember": 2,
                "parent": "workers",
                "topologyConstraint": close("topology/rack"),
            },
            {"name": "workers", "topologyConstraint": close("block")},
            {"name": "prefill", "minMember": 1, "parent": "workers"},
            {"name": "api", "minMember": 0},
        ],
    }

    assert request(TOPOLOGY, pod_group(spec)) == Request(
        "default/g",
        Group(
            "default/g",
            (
                Group("api", (assumed("api/1", "g-api", 0),)),
                Group(
                    "workers",
                    (
                        Group("decode", (assumed("decode/1", "g-decode", 2),), required="topology/rack"),
                        Group("prefill", (assumed("prefill/1", "g-prefill", 1),)),
                    ),
                    required="topology/block",
                ),
            ),
            required="topology/zone",
            preferred="topology/block",
            minimum=1,
        ),
        "tree",
    )


@pytest.mark.requirement("A46")
def test_a_pod_group_without_subgroups_is_one_group_of_its_pods() -> None:
    assert request(pod_group({"minMember": 2}, name="job", namespace="team")) == Request(
        "team/job", Group("team/job", (assumed("default/1", "job", 2),)), None
    )


@pytest.mark.requirement("A7")
def test_a_pod_group_that_says_nothing_needs_one_pod() -> None:
    assert request(pod_group({})).root.members == (assumed("default/1", "g", 1),)


@pytest.mark.requirement("A41")
def test_min_member_beside_subgroups_counts_for_nothing() -> None:
    found = request(pod_group({"minMember": 7, "subGroups": [{"name": "a", "minMember": 2}]}))

    assert found.root == Group("default/g", (Group("a", (assumed("a/1", "g-a", 2),)),))


def test_a_topology_that_is_named_without_a_level_is_kept() -> None:
    assert request(TOPOLOGY, pod_group({"topologyConstraint": close()})).topology == "tree"


def test_an_alias_and_a_label_name_the_same_level() -> None:
    by_alias = request(TOPOLOGY, pod_group({"topologyConstraint": close("block")}))
    by_label = request(TOPOLOGY, pod_group({"topologyConstraint": close("topology/block")}))

    assert by_alias == by_label


def test_assumed_pods_ask_for_what_the_annotation_says() -> None:
    annotations = {"closeknit.dev/pod-resources": '{"nvidia.com/gpu": "8", "cpu": "500m", "memory": 1.5}'}

    (pods,) = sets(request(pod_group({"minMember": 2}, annotations=annotations))).values()

    assert pods.resources == Resources({"nvidia.com/gpu": 8, "cpu": 500_000_000, "memory": 2})


def test_pod_sets_are_shown_by_the_name_of_their_group() -> None:
    assert [group_of(name) for name in ("a/1", "default/12", "plain")] == ["a", "default", "plain"]


TWO_LEAVES = {"subGroups": [{"name": "prefill", "minMember": 2}, {"name": "router", "minMember": 1}]}


def test_assumed_pods_of_each_leaf_ask_for_what_the_annotation_says_of_it() -> None:
    told = '{"prefill": {"nvidia.com/gpu": "8", "cpu": 2}}'
    found = sets(request(pod_group(TWO_LEAVES, annotations={"closeknit.dev/pod-resources": told})))

    assert {name: pods.resources for name, pods in found.items()} == {
        "prefill/1": Resources({"nvidia.com/gpu": 8, "cpu": 2_000_000_000}),
        "router/1": GPU,
    }


def test_a_leaf_may_ask_for_nothing() -> None:
    told = '{"prefill": {"nvidia.com/gpu": 8}, "router": {}}'
    found = sets(request(pod_group(TWO_LEAVES, annotations={"closeknit.dev/pod-resources": told})))

    assert found["router/1"].resources == Resources()


def test_the_pods_of_a_pod_group_without_subgroups_are_called_as_kai_calls_them() -> None:
    told = '{"default": {"nvidia.com/gpu": 8}}'
    (pods,) = sets(request(pod_group({}, annotations={"closeknit.dev/pod-resources": told}))).values()

    assert pods.resources == Resources({"nvidia.com/gpu": 8})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pod_group({"minMember": 1}), id="a PodGroup"),
        pytest.param(job(), id="a Job"),
        pytest.param(pod("p", schedulerName="kai-scheduler"), id="a lone pod"),
    ],
)
def test_a_pool_of_nodes_limits_where_pods_go(text: str) -> None:
    (pods,) = sets(request(changed(text, labels={"kai.scheduler/node-pool": "a"}))).values()

    assert ("kai.scheduler/node-pool", "a") in pods.filter.selector


def test_what_is_worth_knowing_about_a_topology_is_noted() -> None:
    spec = {
        "minMember": 1,
        "topologyConstraint": close("topology/rack"),
        "subGroups": [{"name": "a", "minMember": 1, "topologyConstraint": {"topology": "tree"}}],
    }
    (workload,) = reading(TOPOLOGY, node("n"), pod_group(spec)).workloads

    assert findings(workload.notes) == [
        finding(kai.TOPOLOGY_WITHOUT_LEVEL, "spec.subGroups[0].topologyConstraint.topology"),
        finding(
            kai.NODES_WITHOUT_LABEL,
            "spec",
            nodes="1 node lacks label",
            label="topology/zone",
            topology="tree",
        ),
    ]
