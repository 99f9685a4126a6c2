"""The pods of a request as objects, and PodGroups written again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, read, translate
from closeknit.dialects.core.naming import UniqueNames
from closeknit.dialects.kai.express import to_pods
from closeknit.dialects.kai.to_pod_group import pod_name, to_pod_group, to_topology_object
from closeknit.hub.nodes import (
    NAME_FIELD,
    Effect,
    NodeFilter,
    Operator,
    Preference,
    Requirement,
    Term,
    Toleration,
)
from closeknit.hub.request import Group, HostPort, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kit import node, pod, pod_group


def test_a_pod_says_all_that_its_set_asks_for() -> None:
    accepted = NodeFilter(
        selector=(("pool", "a"),),
        affinity=(
            Term(
                (Requirement("gen", Operator.GT, ("2",)), Requirement(NAME_FIELD, Operator.IN, ("n1", "n2")))
            ),
        ),
        preferences=(Preference(7, Term((Requirement("fast", Operator.EXISTS),))),),
        tolerations=(Toleration("own", "ml", Effect.NO_SCHEDULE), Toleration()),
    )
    resources = Resources({"cpu": 500_000_000, "memory": 2**30, "nvidia.com/gpu": 4})
    pods = PodSet(
        "w/1", 1, resources, filter=accepted, host_ports=frozenset({HostPort(80), HostPort(53, "UDP")})
    )

    (made,) = to_pods(Request("team/train", Group("team/train", (Group("w", (pods,)), PodSet("none", 0)))))

    assert made == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "train-w-0",
            "namespace": "team",
            "labels": {"kai.scheduler/subgroup-name": "w"},
            "annotations": {"pod-group-name": "train"},
        },
        "spec": {
            "schedulerName": "kai-scheduler",
            "nodeSelector": {"pool": "a"},
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["2"]}],
                                "matchFields": [
                                    {"key": "metadata.name", "operator": "In", "values": ["n1", "n2"]}
                                ],
                            }
                        ]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 7,
                            "preference": {"matchExpressions": [{"key": "fast", "operator": "Exists"}]},
                        }
                    ],
                }
            },
            "tolerations": [
                {"key": "own", "operator": "Equal", "value": "ml", "effect": "NoSchedule"},
                {"operator": "Exists"},
            ],
            "containers": [
                {
                    "name": "main",
                    "image": "busybox",
                    "resources": {
                        "requests": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "4"},
                        "limits": {"nvidia.com/gpu": "4"},
                    },
                    "ports": [
                        {"containerPort": 53, "hostPort": 53, "protocol": "UDP"},
                        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
                    ],
                }
            ],
        },
    }


def names(*sets: PodSet) -> list[str]:
    return [made["metadata"]["name"] for made in to_pods(Request("x", Group("x", sets)))]


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        pytest.param((PodSet("a", 2),), ["x-0", "x-1"], id="made up where there are none"),
        pytest.param((PodSet("a", 2, pods=("p", "q")),), ["p", "q"], id="kept where there are"),
        pytest.param(
            (PodSet("a", 2, pods=("Pod 1", "Pod_1")),),
            ["pod-1", "pod-1-2"],
            id="forced where Kubernetes refuses them",
        ),
        pytest.param(
            (PodSet("a", 3, bound=("n1", "n2"), pods=("x-0",)),),
            ["x-0", "x-1", "x-0-2"],
            id="told apart where a made-up one is taken",
        ),
        pytest.param(
            (PodSet("a", 1), PodSet("b", 1)), ["x-a-0", "x-b-0"], id="after the subgroup where there are any"
        ),
    ],
)
def test_names_of_pods_are(sets: tuple[PodSet, ...], expected: list[str]) -> None:
    assert names(*sets) == expected


def test_pods_that_run_stand_on_their_nodes() -> None:
    pods = to_pods(Request("x", Group("x", (PodSet("a", 3, bound=("n1", "n2")),))))

    assert [made["spec"].get("nodeName") for made in pods] == ["n1", "n2", None]


def test_no_terms_at_all_match_no_node_and_are_written_so() -> None:
    (made,) = to_pods(Request("x", Group("x", (PodSet("a", 1, filter=NodeFilter(affinity=())),))))

    required = made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required == {"nodeSelectorTerms": [{}]}


def test_a_long_name_stays_within_its_length_when_a_number_is_added() -> None:
    taken = UniqueNames(63)
    made = [taken.take("a" * 63) for _ in range(3)]

    assert made == ["a" * 63, "a" * 55 + "-2", "a" * 55 + "-3"]
    assert len(pod_name("B" * 300)) == 253


def test_a_request_without_members_needs_no_pod() -> None:
    spec = to_pod_group(Request("x", Group("x", ())))["spec"]

    assert spec == {"minMember": 0}


def test_names_of_levels_that_kai_would_refuse_are_no_aliases() -> None:
    levels = (Level("zone", "zone"), Level("block", "b"), Level("rack", "r"), Level("row", "r"))

    assert to_topology_object(Topology("t", levels))["spec"]["levels"] == [
        {"nodeLabel": "zone"},
        {"nodeLabel": "block", "alias": "b"},
        {"nodeLabel": "rack"},
        {"nodeLabel": "row"},
    ]


def written(*texts: str, to: str = "kai") -> list[dict[str, Any]]:
    found = translate([Source("f", "\n".join(texts).encode())], to)
    assert [str(problem) for problem in found.problems] == []
    return list(found.objects)


def test_a_pod_group_is_written_again_in_todays_spelling_and_loses_nothing() -> None:
    spec = {"queue": "q", "preemptibility": "preemptible", "subgroups": [{"name": "a", "minMember": 2}]}
    text = json.loads(pod_group(spec, labels={"team": "x"}, uid="u", resourceVersion="7"))
    group = json.dumps(text | {"status": {"phase": "Pending"}})

    assert written(group, pod("p-0", "g", "a"), pod("p-1", "g", "a", gpus=2)) == [
        {
            "apiVersion": "scheduling.run.ai/v2alpha2",
            "kind": "PodGroup",
            "metadata": {"namespace": "default", "name": "g", "labels": {"team": "x"}},
            "spec": {
                "queue": "q",
                "preemptibility": "preemptible",
                "subGroups": [{"name": "a", "minMember": 2}],
            },
        }
    ]


def test_pods_that_are_there_are_not_written_again() -> None:
    group = pod_group({"subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 1}]})

    assert [made["metadata"]["name"] for made in written(group, pod("p", "g", "a"), to="pods")] == ["g-b-0"]


def test_a_request_of_ten_thousand_pods_is_written_and_read() -> None:
    groups = tuple(Group(f"g{i}", (PodSet(f"g{i}/1", 10, Resources({"cpu": 10**9})),)) for i in range(1000))
    request = Request("default/x", Group("default/x", groups))
    text = "\n".join(json.dumps(made) for made in (to_pod_group(request), *to_pods(request)))

    (workload,) = read([Source("f", text.encode())]).workloads
    assert isinstance(workload, PlaceableWorkload)
    assert sum(pods.count for pods in workload.request.root.pod_sets()) == 10_000


def test_pods_that_run_are_not_written_again_under_another_name() -> None:
    running = pod("p", "g", "a", nodeName="n1")

    assert (
        written(pod_group({"subGroups": [{"name": "a", "minMember": 1}]}), node("n1"), running, to="pods")
        == []
    )


def test_a_pod_group_with_problems_is_not_written_again() -> None:
    text = pod_group({"subGroups": [{"name": "a"}]})

    assert translate([Source("f", text.encode())], "kai").objects == ()
