"""PodGangs that stand by themselves, as trees of the hub, and what is made of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit import solve
from closeknit.dialects import Source, translate
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Group
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.grove.sets import (
    BLOCK,
    LEVELS,
    RACK,
    ZONE,
    clique,
    config,
    gang,
    made_pod,
    members,
    packed,
    pod_clique_set,
    pod_spec,
    topology,
    translated,
)
from tests.unit.dialects.kit import reading, request

MANAGED = {"app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "pcs"}


def host(name: str, rack: str, gpus: int = 2) -> str:
    labels = {ZONE: "z", BLOCK: "b", RACK: rack, LEVELS["host"]: name}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"nvidia.com/gpu": gpus}},
        }
    )


def test_a_gang_is_a_tree_of_configurations_and_pod_groups() -> None:
    text = gang(
        members("router", 1, "r-0", **packed(preferred=RACK)),
        members("leader", 1),
        members("worker", 2, "w-0", "w-1", "w-10", **packed(RACK)),
        configs=[config("prefill-0", "leader", "worker", **packed(BLOCK)), config("empty")],
        **packed(ZONE),
    )
    found = request(topology(), text)

    assert (found.name, found.topology) == ("default/gang", "grove-topology")
    shown = {
        member.name: (parent.name if parent else None, member.required, member.preferred)
        for member, parent in found.root.walk()
        if isinstance(member, Group)
    }
    assert shown == {
        "default/gang": (None, ZONE, None),
        "router": ("default/gang", None, RACK),
        "prefill-0": ("default/gang", BLOCK, None),
        "leader": ("prefill-0", None, None),
        "worker": ("prefill-0", RACK, None),
    }
    assert [(pods.count, pods.least, pods.pods) for pods in found.root.pod_sets()] == [
        (1, 1, ("r-0",)),
        (1, 1, ("leader-0",)),
        (3, 2, ("w-0", "w-1", "w-10")),
    ]


def test_pods_tell_what_they_need_and_where_they_run() -> None:
    """By reference or by label; one that is not there is like the others, and one that failed is replaced."""
    texts = [
        made_pod("a-0", gpus=4, spec=pod_spec(4, nodeName="n")),
        made_pod("a-1", "gang", "a", 4),
        made_pod("a-2", "gang", "a", 4, status={"phase": "Failed"}),
        made_pod("other", "another", "a"),
    ]
    text = gang(members("a", 4, "a-0", "a-1", "a-2", "a-3"))
    (pods,) = request(text, host("n", "r", 8), *texts).root.pod_sets()

    assert dict(pods.resources.items()) == {"nvidia.com/gpu": 4}
    assert (pods.count, pods.least, pods.bound, pods.pods) == (4, 4, ("n",), ("a-1", "a-3", "a-4"))


def test_of_pods_that_differ_running_ones_are_needed_first() -> None:
    texts = [made_pod("x", "gang", "a", 2), made_pod("y", "gang", "a", 1, spec=pod_spec(1, nodeName="n"))]
    running, waiting = request(gang(members("a", 1)), host("n", "r"), *texts).root.pod_sets()

    assert (running.bound, running.least, waiting.pods, waiting.least) == (("n",), 1, ("x",), 0)


def test_pods_of_which_none_is_there_ask_for_what_the_annotation_says() -> None:
    asked = {"annotations": {"closeknit.dev/pod-resources": '{"nvidia.com/gpu": "8"}'}}
    (pods,) = request(gang(members("a", 2), metadata=asked)).root.pod_sets()

    assert dict(pods.resources.items()) == {"nvidia.com/gpu": 8}


def test_any_of_the_pods_that_differ_may_be_those_that_must_run() -> None:
    """The first by name has no place, but as many others have."""
    texts = [
        made_pod("a", "gang", "a", 1, spec=pod_spec(1, nodeSelector={"disk": "ssd"})),
        made_pod("b", "gang", "a", 1),
        made_pod("c", "gang", "a", 1),
    ]
    read = reading(gang(members("a", 2)), host("n", "r"), *texts)
    (workload,) = read.workloads
    assert isinstance(workload, PlaceableWorkload)

    assert isinstance(solve(read.cluster, workload.request), Placed)


def test_a_gang_is_placed_within_its_levels() -> None:
    hosts = [host("a1", "a"), host("b1", "b"), host("b2", "b")]
    found = reading(topology(), gang(members("w", 4), **packed(RACK)), *hosts)
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    outcome = solve(found.cluster, workload.request)

    assert workload.object.kind == "PodGang"
    assert isinstance(outcome, Placed)
    assert {each.node for each in outcome.assignments} == {"b1", "b2"}


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"labels": MANAGED}, id="the labels tell the set"),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "name": "pcs"}]},
            id="the owner tells the set",
        ),
        pytest.param(
            {"labels": MANAGED, "name": "pcs-0-1755640800000000000"},
            id="a name with an epoch, as Grove makes them since #778, tells nothing",
        ),
    ],
)
def test_a_gang_counts_once_where_its_set_is_there(metadata: dict[str, Any]) -> None:
    texts = (pod_clique_set(clique("a")), gang(members("a"), metadata=metadata))

    assert [workload.object.kind for workload in reading(*texts).workloads] == ["PodCliqueSet"]
    assert [each["metadata"]["name"] for each in translated("kai", *texts)] == ["pcs-0"]
    assert [workload.object.kind for workload in reading(texts[1]).workloads] == ["PodGang"]


def test_a_gang_counts_once_where_its_pod_group_is_there() -> None:
    text = gang(members("a", 2), metadata={"labels": MANAGED})
    (group,) = translated("kai", text)
    found = reading(text, json.dumps(group))

    assert [str(problem) for problem in found.problems] == []
    assert [workload.object.kind for workload in found.workloads] == ["PodGroup"]


def test_what_is_made_of_a_gang() -> None:
    text = gang(
        members("a", 2, "a-0", "a-1"),
        metadata={
            "labels": {"kai.scheduler/queue": "q"},
            "uid": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        named="",
    )
    there = made_pod("a-0", "gang", "a")

    (group,) = translated("kai", text, there)
    assert group["spec"] == {"queue": "q", "minMember": 2, "subGroups": [{"name": "a", "minMember": 2}]}
    (same,) = translated("podgang", text, there)
    assert same["spec"] == json.loads(text)["spec"]
    assert same["metadata"] == {
        "namespace": "default",
        "name": "gang",
        "labels": {"kai.scheduler/queue": "q"},
    }
    (pod,) = translated("pods", text, there)
    assert (pod["metadata"]["name"], pod["metadata"]["annotations"]) == ("a-1", {"pod-group-name": "gang"})
    (again,) = translated("grove", text, there)
    assert (again["kind"], again["spec"]["template"]["cliques"][0]["spec"]["replicas"]) == ("PodCliqueSet", 2)


def test_pods_made_for_kai_count_for_their_set_and_for_their_gang() -> None:
    whole = pod_clique_set(clique("a", 2))
    pods = [json.loads(json.dumps(pod)) for pod in translated("pods", whole)]
    pods[0]["spec"]["nodeName"] = "n"
    texts = [host("n", "r"), *(json.dumps(pod) for pod in pods)]
    (lone,) = translated("podgang", whole)

    for workload in (whole, json.dumps(lone)):
        (found,) = request(workload, *texts).root.pod_sets()
        assert (found.bound, found.pods) == (("n",), ("pcs-0-a-1",))


def test_pods_that_succeeded_have_had_their_turn() -> None:
    texts = [made_pod("a-0", "gang", "a", status={"phase": "Succeeded"}), made_pod("a-1", "gang", "a")]
    (pods,) = request(gang(members("a", 3)), *texts).root.pod_sets()

    assert (pods.count, pods.least, pods.pods) == (2, 2, ("a-1", "a-2"))


def test_the_pod_group_of_a_gang_speaks_of_the_topology_that_kai_knows() -> None:
    bound = [{"schedulerName": "kai-scheduler", "topologyReference": "theirs"}]
    binding = topology(kind="ClusterTopologyBinding", schedulerTopologyBindings=bound)
    (group,) = translated("kai", binding, gang(members("a"), **packed(RACK)))

    assert group["spec"]["topologyConstraint"]["topology"] == "theirs"


@pytest.mark.parametrize("target", ["kai", "grove", "podgang", "pods"])
def test_nothing_is_made_of_a_gang_with_problems(target: str) -> None:
    found = translate([Source("f", gang(members("a", 0)).encode())], target)

    assert found.objects == ()
    assert len(found.problems) == 1


def test_pods_of_which_none_is_there_may_ask_for_something_else_in_each_group() -> None:
    told = '{"a": {"nvidia.com/gpu": "8"}, "b": {"cpu": 2}}'
    asked = {"annotations": {"closeknit.dev/pod-resources": told}}
    found = request(gang(members("a", 2), members("b"), members("c"), metadata=asked)).root.pod_sets()

    assert {pods.name: dict(pods.resources.items()) for pods in found} == {
        "a/1": {"nvidia.com/gpu": 8},
        "b/1": {"cpu": 2_000_000_000},
        "c/1": {"nvidia.com/gpu": 1},
    }
