"""What a PodGroup with its pods means in the hub's words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import group_of
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from tests.unit.dialects.kit import TOPOLOGY, close, node, pod, pod_group, problems, reading, request

GPU = Resources({"nvidia.com/gpu": 1})


def sets(found: Request) -> dict[str, PodSet]:
    return {pod_set.name: pod_set for pod_set in found.root.pod_sets()}


def assumed(name: str, pods: str, count: int, resources: Resources = GPU) -> PodSet:
    return PodSet(name, count, resources, pods=tuple(f"{pods}-{i}" for i in range(count)))


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


def test_given_pods_replace_the_assumed_ones_of_their_subgroup_only() -> None:
    spec = {"subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 1}]}
    found = sets(request(pod_group(spec), pod("x", "g", "a", gpus=2), pod("y", "g", "a", gpus=2)))

    assert found == {
        "a/1": PodSet("a/1", 2, Resources({"nvidia.com/gpu": 2}), minimum=1, pods=("x", "y")),
        "b/1": assumed("b/1", "g-b", 1),
    }


def test_pods_are_ranked_by_name_with_numbers_counted() -> None:
    (pods,) = sets(request(pod_group({}), *(pod(f"w-{i}", "g") for i in (10, 9, 1)))).values()

    assert pods.pods == ("w-1", "w-9", "w-10")


@pytest.mark.requirement("A42")
def test_running_pods_are_bound_and_count() -> None:
    running = [pod("w-1", "g", nodeName="n2"), pod("w-2", "g", nodeName="n1", phase="Running")]
    (pods,) = sets(
        request(node("n1"), node("n2"), pod_group({"minMember": 3}), *running, pod("w-0", "g"))
    ).values()

    assert pods == PodSet("default/1", 3, GPU, bound=("n2", "n1"), pods=("w-0",))


def test_where_all_pods_must_run_every_shape_is_mandatory() -> None:
    given = [pod("a", "g"), pod("b", "g", gpus=2)]

    assert [pods.minimum for pods in sets(request(pod_group({"minMember": 2}), *given)).values()] == [
        None,
        None,
    ]


def test_running_pods_fill_the_minimum_before_waiting_ones() -> None:
    given = [pod("a", "g"), pod("z", "g", gpus=2, nodeName="n")]

    assert sets(request(node("n"), pod_group({"minMember": 1}), *given)) == {
        "default/1": PodSet("default/1", 1, GPU * 2, bound=("n",)),
        "default/2": PodSet("default/2", 1, GPU, minimum=0, pods=("a",)),
    }


def test_pods_that_succeeded_have_had_their_turn() -> None:
    given = [pod("a", "g", phase="Succeeded"), pod("b", "g", phase="Failed"), pod("c", "g"), pod("d", "g")]
    (pods,) = sets(request(pod_group({"minMember": 3}), *given)).values()

    assert (pods.count, pods.least, pods.pods) == (2, 2, ("c", "d"))


@pytest.mark.requirement("K68")
def test_pods_that_are_being_deleted_are_not_counted() -> None:
    leaving = pod("b", "g", nodeName="n").replace(
        '"name": "b"', '"name": "b", "deletionTimestamp": "2025-01-01T00:00:00Z"'
    )
    found = reading(node("n"), pod_group({"minMember": 1}), pod("a", "g"), leaving)
    request = found.workloads[0].request

    assert request is not None
    assert [(pods.pods, pods.bound) for pods in request.root.pod_sets()] == [(("a",), ())]
    assert [(held.workload, held.node) for held in found.cluster.holdings] == [("default/g", "n")]


@pytest.mark.parametrize("phase", ["Running", "Succeeded", "Failed"])
def test_a_gang_that_has_shrunk_and_has_nothing_to_place_is_no_mistake(phase: str) -> None:
    found = request(node("n"), pod_group({"minMember": 3}), pod("a", "g", phase=phase, nodeName="n"))

    assert all(pods.open == 0 for pods in found.root.pod_sets())


def test_pods_that_differ_only_in_the_order_of_a_set_have_one_shape() -> None:
    def choosy(name: str, *zones: str) -> str:
        wanted = {"matchExpressions": [{"key": "zone", "operator": "In", "values": list(zones)}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [wanted]}}
        return pod(name, "g", affinity={"nodeAffinity": required})

    assert len(sets(request(pod_group({}), choosy("a", "x", "y"), choosy("b", "y", "x")))) == 1


def test_the_pods_of_another_namespace_do_not_count() -> None:
    elsewhere = pod("a", "g").replace('"name": "a"', '"name": "a", "namespace": "other"')

    assert problems(pod_group({}), elsewhere) == [
        '2:metadata.annotations.pod-group-name: There is no PodGroup "g" in namespace "other". None is given; add it, or name none.'
    ]


def test_a_pod_group_that_is_not_there_is_named_with_the_nearest_one() -> None:
    assert problems(pod_group({}, name="train"), pod("a", "trane")) == [
        '2:metadata.annotations.pod-group-name: There is no PodGroup "trane" in namespace "default".'
        ' Did you mean "train"? Allowed: "train".'
    ]


LABEL = '2:metadata.labels["kai.scheduler/subgroup-name"]'
NESTED = {
    "subGroups": [
        {"name": "workers"},
        {"name": "prefill", "parent": "workers", "minMember": 0},
        {"name": "decode", "parent": "workers", "minMember": 0},
        {"name": "api", "minMember": 0},
    ]
}


@pytest.mark.parametrize(
    ("spec", "given", "want"),
    [
        pytest.param(
            NESTED,
            pod("p", "g", "decoder"),
            f'{LABEL}: PodGroup default/g has no subgroup "decoder". Did you mean "decode"? Allowed: "api", "decode", "prefill".',
            id="an unknown subgroup is named with the nearest one",
        ),
        pytest.param(
            NESTED,
            pod("p", "g"),
            f"{LABEL}: PodGroup default/g has subgroups, so each of its pods must name one."
            ' Allowed: "api", "decode", "prefill".',
            id="a pod without a subgroup is reported, not dropped",
            marks=pytest.mark.requirement("A35"),
        ),
        pytest.param(
            NESTED,
            pod("p", "g", "workers"),
            f'{LABEL}: "workers" has subgroups, and so no pods of its own. Allowed: "decode", "prefill".',
            id="a pod cannot belong to a subgroup that has subgroups",
            marks=pytest.mark.requirement("A35"),
        ),
        pytest.param(
            {},
            pod("p", "g", "a"),
            f'{LABEL}: There is no subgroup "a": PodGroup default/g has none. Remove the label.',
            id="a pod cannot name a subgroup where there are none",
        ),
        pytest.param(
            {"minMember": 3},
            pod("p", "g"),
            "1:spec.minMember: 3 pods must run at once, and 1 is given. Give 2 more, or none to have them assumed.",
            id="too few pods for the minimum are reported",
        ),
        pytest.param(
            {},
            pod("p", "g", gpus=-1),
            '2:spec.containers[0].resources.requests["nvidia.com/gpu"]: -1 is negative. Write zero or more.',
            id="a negative quantity is reported at its path",
        ),
    ],
)
def test_pods_that_do_not_fit_make_the_workload_invalid(spec: dict[str, Any], given: str, want: str) -> None:
    found = reading(pod_group(spec), given)

    assert [str(problem).removeprefix("f:") for problem in found.problems] == [want]
    assert found.workloads[0].request is None
    assert len(found.workloads[0].problems) == 1


def test_a_pod_that_runs_is_not_asked_for_what_only_placing_needs() -> None:
    running = pod("p", "g", nodeName="n", resourceClaims=[{"name": "x"}])

    assert problems(node("n"), pod_group({}), running) == []


def test_a_finished_pod_may_name_what_it_likes() -> None:
    assert (
        problems(pod_group(NESTED), pod("p", "g", "gone", "Succeeded"), pod("q", "gone", "", "Failed")) == []
    )


def test_the_default_subgroup_may_be_named() -> None:
    assert sets(request(pod_group({}), pod("p", "g", "default")))["default/1"].pods == ("p",)


def test_a_pod_of_a_pod_group_that_cannot_be_read_is_no_stray() -> None:
    assert problems(pod_group({"minMember": "x"}), pod("p", "g")) == [
        '1:spec.minMember: Found "x", a string, where a whole number is expected.'
    ]


def test_pod_sets_are_shown_by_the_name_of_their_group() -> None:
    assert [group_of(name) for name in ("a/1", "default/12", "plain")] == ["a", "default", "plain"]


def test_a_pod_set_filters_nodes_as_its_pods_do() -> None:
    (pods,) = sets(request(pod_group({}), pod("p", "g", nodeSelector={"b": "1", "a": "2"}))).values()

    assert pods.filter == NodeFilter(selector=(("a", "2"), ("b", "1")))


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


def joining(name: str, count: int, group: str = "g", subgroup: str = "", gpus: int = 8) -> str:
    metadata: dict[str, Any] = {"annotations": {"pod-group-name": group}}
    if subgroup:
        metadata["labels"] = {"kai.scheduler/subgroup-name": subgroup}
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    template = {
        "metadata": metadata,
        "spec": {"schedulerName": "kai-scheduler", "containers": [container]},
    }
    return json.dumps(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "annotations": {"kai.scheduler/skip-podgrouper": "true"}},
            "spec": {"parallelism": count, "completions": count, "template": template},
        }
    )


def test_the_pods_of_a_job_that_joins_a_pod_group_are_its_members() -> None:
    (pods,) = sets(request(pod_group({"minMember": 2}), joining("job", 4))).values()

    assert pods == PodSet(
        "default/1",
        4,
        Resources({"nvidia.com/gpu": 8}),
        minimum=2,
        pods=tuple(f"job-{i}" for i in range(4)),
    )


def test_pods_of_a_joining_job_that_exist_count_once() -> None:
    made = json.loads(pod("job-x", "g", gpus=8))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "1", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]

    (pods,) = sets(request(pod_group({}), joining("job", 3), json.dumps(made))).values()

    assert pods.count == 3
    assert "job-x" in pods.pods


def test_jobs_join_the_subgroups_that_their_templates_name() -> None:
    spec = {"subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 2}]}
    found = sets(
        request(pod_group(spec), joining("x", 1, subgroup="a"), joining("y", 2, subgroup="b", gpus=4))
    )

    assert {name: (pods.count, pods.resources["nvidia.com/gpu"]) for name, pods in found.items()} == {
        "a/1": (1, 8),
        "b/1": (2, 4),
    }


def test_a_job_that_joins_nothing_is_told() -> None:
    assert problems(joining("job", 2)) == [
        '1:spec: There is no PodGroup "g" in namespace "default". None is given; add it, or name none.'
    ]


def shared(name: str, fraction: str = "0.5", node_name: str = "n", **more: Any) -> str:
    made = json.loads(pod(name, gpus=0, nodeName=node_name))
    made["metadata"] |= {"annotations": {"gpu-fraction": fraction}, **more}
    return json.dumps(made)


@pytest.mark.parametrize(
    ("pods", "gpus"),
    [
        pytest.param([shared("a"), shared("b")], 1, id="two halves are one GPU"),
        pytest.param([shared("a"), shared("b", "0.6")], 2, id="what does not fit on one takes two"),
        pytest.param(
            [
                shared("a", labels={"runai-gpu-group": "x"}),
                shared("b", labels={"runai-gpu-group": "y"}),
                shared("c", labels={"runai-gpu-group": "x"}),
            ],
            2,
            id="pods that name their GPU share that one",
        ),
        pytest.param([shared("a", "some")], 1, id="what cannot be read is a whole GPU"),
        pytest.param(
            [shared("a"), shared("r", "1", namespace="kai-resource-reservation")],
            0,
            id="a reservation stands for the GPU itself",
        ),
    ],
)
def test_running_pods_that_share_a_gpu_hold_it(pods: list[str], gpus: int) -> None:
    holdings = reading(node("n"), *pods).cluster.holdings

    assert sum(each.resources.get("nvidia.com/gpu", 0) * each.pods for each in holdings) == gpus


def test_a_pending_part_of_a_gpu_is_valid_and_not_placed() -> None:
    made = json.loads(pod("p", schedulerName="kai-scheduler", gpus=0))
    made["metadata"]["annotations"] = {"gpu-fraction": "0.5"}

    found = reading(node("n"), json.dumps(made))

    assert found.problems == ()
    assert [workload.request for workload in found.workloads] == [None]
    assert "Parts of a GPU cannot be placed here." in str(found.workloads[0].problems[0])


@pytest.mark.parametrize(
    "texts",
    [
        [pod_group({"minMember": 1}, labels={"kai.scheduler/node-pool": "a"})],
        [
            joining("job", 1, group="").replace(
                '"annotations": {"kai.scheduler/skip-podgrouper": "true"}',
                '"labels": {"kai.scheduler/node-pool": "a"}',
            )
        ],
        [
            pod("p", schedulerName="kai-scheduler").replace(
                '"labels": {}', '"labels": {"kai.scheduler/node-pool": "a"}'
            )
        ],
    ],
    ids=["a PodGroup", "a Job", "a lone pod"],
)
def test_a_pool_of_nodes_limits_where_pods_go(texts: list[str]) -> None:
    (pods,) = sets(request(*texts)).values()

    assert ("kai.scheduler/node-pool", "a") in pods.filter.selector


def test_what_is_worth_knowing_about_a_topology_is_noted() -> None:
    spec = {
        "minMember": 1,
        "topologyConstraint": close("topology/rack"),
        "subGroups": [{"name": "a", "minMember": 1, "topologyConstraint": {"topology": "tree"}}],
    }
    (workload,) = reading(TOPOLOGY, node("n"), pod_group(spec)).workloads

    assert [str(note) for note in workload.notes] == [
        "spec.subGroups[0].topologyConstraint.topology: A topology without a level asks for nothing."
        " Name a required or a preferred level.",
        'spec: 1 node lacks label "topology/zone", a level of topology "tree", and cannot be used where a level is'
        " required.",
    ]
