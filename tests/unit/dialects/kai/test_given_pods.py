"""What the pods of a PodGroup that are given make of it: how many wait, run, or have had their turn."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.nodes import NodeFilter
from closeknit.hub.problems import OneOf
from closeknit.hub.request import PodSet
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import hub, kai
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.expected import wrong_type
from tests.unit.dialects.kai.pod_sets import GPU, assumed, sets
from tests.unit.dialects.kit import node, pod, pod_group, reading, reported, request


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
    (workload,) = found.workloads

    assert isinstance(workload, PlaceableWorkload)
    assert [(pods.pods, pods.bound) for pods in workload.request.root.pod_sets()] == [(("a",), ())]
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

    assert reported(pod_group({}), elsewhere) == [
        finding(
            kai.NO_SUCH_POD_GROUP,
            "2:metadata.annotations.pod-group-name",
            group="g",
            namespace="other",
            allowed=OneOf("g", ()),
        )
    ]


def test_a_pod_group_that_is_not_there_is_named_with_the_nearest_one() -> None:
    assert reported(pod_group({}, name="train"), pod("a", "trane")) == [
        finding(
            kai.NO_SUCH_POD_GROUP,
            "2:metadata.annotations.pod-group-name",
            group="trane",
            namespace="default",
            allowed=OneOf("trane", ("train",)),
        )
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
            finding(
                kai.NO_SUCH_SUBGROUP,
                LABEL,
                subgroup="decoder",
                group="default/g",
                allowed=OneOf("decoder", ("api", "decode", "prefill")),
            ),
            id="an unknown subgroup is named with the nearest one",
        ),
        pytest.param(
            NESTED,
            pod("p", "g"),
            finding(
                kai.POD_WITHOUT_SUBGROUP,
                LABEL,
                group="default/g",
                allowed=OneOf("", ("api", "decode", "prefill")),
            ),
            id="a pod without a subgroup is reported, not dropped",
            marks=pytest.mark.requirement("A35"),
        ),
        pytest.param(
            NESTED,
            pod("p", "g", "workers"),
            finding(
                kai.POD_OF_A_PARENT,
                LABEL,
                subgroup="workers",
                allowed=OneOf("workers", ("decode", "prefill")),
            ),
            id="a pod cannot belong to a subgroup that has subgroups",
            marks=pytest.mark.requirement("A35"),
        ),
        pytest.param(
            {},
            pod("p", "g", "a"),
            finding(kai.POD_GROUP_WITHOUT_SUBGROUPS, LABEL, subgroup="a", group="default/g"),
            id="a pod cannot name a subgroup where there are none",
        ),
        pytest.param(
            {"minMember": 3},
            pod("p", "g"),
            finding(kai.TOO_FEW_PODS, "1:spec.minMember", needed="3 pods", given="1 is given", missing=2),
            id="too few pods for the minimum are reported",
        ),
        pytest.param(
            {},
            pod("p", "g", gpus=-1),
            finding(hub.NEGATIVE, '2:spec.containers[0].resources.requests["nvidia.com/gpu"]', value=-1),
            id="a negative quantity is reported at its path",
        ),
    ],
)
def test_pods_that_do_not_fit_make_the_workload_invalid(
    spec: dict[str, Any], given: str, want: Finding
) -> None:
    found = reading(pod_group(spec), given)

    assert findings(found.problems) == [want]
    assert not isinstance(found.workloads[0], PlaceableWorkload)
    assert len(found.workloads[0].problems) == 1


def test_a_pod_that_runs_is_not_asked_for_what_only_placing_needs() -> None:
    running = pod("p", "g", nodeName="n", resourceClaims=[{"name": "x"}])

    assert reported(node("n"), pod_group({}), running) == []


def test_a_finished_pod_may_name_what_it_likes() -> None:
    assert (
        reported(pod_group(NESTED), pod("p", "g", "gone", "Succeeded"), pod("q", "gone", "", "Failed")) == []
    )


def test_the_default_subgroup_may_be_named() -> None:
    assert sets(request(pod_group({}), pod("p", "g", "default")))["default/1"].pods == ("p",)


def test_a_pod_of_a_pod_group_that_cannot_be_read_is_no_stray() -> None:
    assert reported(pod_group({"minMember": "x"}), pod("p", "g")) == [
        wrong_type("1:spec.minMember", '"x", a string,', "a whole number")
    ]


def test_a_pod_set_filters_nodes_as_its_pods_do() -> None:
    (pods,) = sets(request(pod_group({}), pod("p", "g", nodeSelector={"b": "1", "a": "2"}))).values()

    assert pods.filter == NodeFilter(selector=(("a", "2"), ("b", "1")))
