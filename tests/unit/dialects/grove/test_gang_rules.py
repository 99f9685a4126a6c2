"""PodGangs that stand by themselves: read, checked, placed and translated."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit import solve
from closeknit.dialects import Source, translate
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Group
from tests.unit.dialects.grove.sets import (
    LEVELS,
    clique,
    gang,
    made_pod,
    members,
    packed,
    pod_clique_set,
    pod_spec,
    topology,
)
from tests.unit.dialects.kit import TOPOLOGY, problems, reading, request

ZONE, BLOCK, RACK = LEVELS["zone"], LEVELS["block"], LEVELS["rack"]
MANAGED = {"app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "pcs"}
G = "2:spec.podgroups"
C = "2:spec.topologyConstraintGroupConfigs"


def config(name: str, *groups: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "podGroupNames": list(groups), **more}


def translated(target: str, *texts: str) -> list[dict[str, Any]]:
    found = translate([Source("f", "\n---\n".join(texts).encode())], target)
    assert [str(problem) for problem in found.problems] == []
    return list(found.objects)


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


def test_an_annotation_that_is_no_amount_is_told() -> None:
    asked = {"annotations": {"closeknit.dev/pod-resources": "8"}}

    assert problems(gang(members("a", 2), metadata=asked)) == [
        '1:metadata.annotations["closeknit.dev/pod-resources"]: "8" is not a JSON object. Write quantities by'
        ' resource, such as {"nvidia.com/gpu": "8"}.'
    ]


def test_any_of_the_pods_that_differ_may_be_those_that_must_run() -> None:
    """The first by name has no place, but as many others have."""
    texts = [
        made_pod("a", "gang", "a", 1, spec=pod_spec(1, nodeSelector={"disk": "ssd"})),
        made_pod("b", "gang", "a", 1),
        made_pod("c", "gang", "a", 1),
    ]
    read = reading(gang(members("a", 2)), host("n", "r"), *texts)
    (workload,) = read.workloads
    assert workload.request is not None

    assert isinstance(solve(read.cluster, workload.request), Placed)


def test_a_gang_is_placed_within_its_levels() -> None:
    hosts = [host("a1", "a"), host("b1", "b"), host("b2", "b")]
    found = reading(topology(), gang(members("w", 4), **packed(RACK)), *hosts)
    (workload,) = found.workloads
    assert workload.request is not None
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


def test_a_gang_without_constraints_needs_no_topology() -> None:
    assert problems(gang(members("a"), named="nowhere")) == []


def test_a_preference_coarser_than_the_requirement_says_nothing() -> None:
    """Grove accepts it with a warning, so it is found in gangs."""
    assert request(topology(), gang(members("a"), **packed(RACK, ZONE))).root.preferred is None


def coarser(label: str, bound: str, path: str) -> str:
    return (
        f'"{label}" is coarser than "{bound}", which spec.{path} names.'
        f' Name "{bound}" or a finer level, or leave it out.'
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(gang(), [f"{G}: There are no pod groups. Describe at least one."], id="it has pods"),
        pytest.param(
            gang(members("a"), members("A"), members("a", 0)),
            [
                f'{G}[1].name: "A" is not a valid name. Allowed are at most 63 lower-case letters, digits and dashes,'
                " with a letter or digit at both ends.",
                f'{G}[2].name: "a" is already the name of spec.podgroups[0]. Give each its own.',
                f"{G}[2].minReplicas: 0 pods are no group. Write one or more.",
            ],
            id="pod groups have names of their own and at least one pod",
        ),
        pytest.param(
            gang(
                members("a", 3, "x", "x"),
                members("b", 1, "x"),
                members("c", 1) | {"podReferences": [{"namespace": "ns", "name": "p"}]},
            ),
            [
                f'{G}[0].podReferences[1].name: "x" is referenced by spec.podgroups[0].podReferences[0] already.'
                " Refer to each pod once.",
                f"{G}[0].podReferences: 3 pods must run at once, and 2 are referenced."
                " Refer to 1 more, or to none to have them assumed.",
                f'{G}[1].podReferences[0].name: "x" is referenced by spec.podgroups[0].podReferences[0] already.'
                " Refer to each pod once.",
                f'{G}[2].podReferences[0].namespace: "ns" is not the gang\'s own namespace, "default".'
                " A gang has pods of its own namespace only.",
            ],
            id="references are to enough pods, each once, of the same namespace",
        ),
        pytest.param(
            gang(members("a"), members("b"), configs=[config("a", "a", "x"), config("c", "a", "b", "b")]),
            [
                f'{C}[0].name: "a" is already the name of spec.podgroups[0]. Give each its own.',
                f'{C}[0].podGroupNames[1]: There is no pod group "x". Allowed: "a", "b".',
                f'{C}[1].podGroupNames[0]: "a" is listed by spec.topologyConstraintGroupConfigs[0].podGroupNames[0]'
                " already. A pod group lies in one group at most.",
                f'{C}[1].podGroupNames[2]: "b" is listed by spec.topologyConstraintGroupConfigs[1].podGroupNames[1]'
                " already. A pod group lies in one group at most.",
            ],
            id="configurations list pod groups that exist, each once",
        ),
        pytest.param(
            gang(members("a"), named="", **packed(RACK)),
            [
                '2:metadata.annotations["grove.io/topology-name"]: The topology whose levels are meant is missing.'
                ' Allowed: "grove-topology".'
            ],
            id="a constraint needs a topology",
        ),
        pytest.param(
            gang(
                members("a"),
                metadata={"annotations": {"kai.scheduler/topology": "grove-topolgy"}},
                **packed(RACK),
            ),
            [
                '2:metadata.annotations["kai.scheduler/topology"]: There is no topology "grove-topolgy".'
                ' Did you mean "grove-topology"? Allowed: "grove-topology".'
            ],
            id="the topology exists, by either annotation",
        ),
        pytest.param(
            gang(members("a", **packed("rack")), **packed(preferred="topology/rak")),
            [
                '2:spec.topologyConstraint.packConstraint.preferred: Topology "grove-topology" has no level "topology/rak".'
                ' Did you mean "topology/rack"? Allowed: "kubernetes.io/hostname", "topology/block", "topology/rack", "topology/zone".',
                f'{G}[0].topologyConstraint.packConstraint.required: "rack" is a domain, and a PodGang speaks of node labels.'
                ' Write "topology/rack".',
            ],
            id="levels are node labels of the topology",
        ),
        pytest.param(
            gang(
                members("a", **packed(ZONE)),
                members("b", **packed(preferred=ZONE)),
                configs=[config("c", "a", **packed(BLOCK))],
                **packed(RACK, RACK),
            ),
            [
                f"{C}[0].topologyConstraint.packConstraint.required:"
                f" {coarser(BLOCK, RACK, 'topologyConstraint.packConstraint.required')}",
                f"{G}[0].topologyConstraint.packConstraint.required:"
                f" {coarser(ZONE, RACK, 'topologyConstraint.packConstraint.required')}",
            ],
            id="no requirement is coarser than the one around it, while a preference may be",
        ),
        pytest.param(
            gang(members("a"), priorityClassName="inferance"),
            [
                '2:spec.priorityClassName: There is no PriorityClass "inferance". Did you mean "inference"? Allowed:'
                ' "build", "build-preemptible", "inference", "system-cluster-critical", "system-node-critical", "train".'
            ],
            id="the priority class exists, those of KAI included",
        ),
        pytest.param(
            gang(members("a", 150_001)),
            [f"{G}: These would be 150001 pods in all. At most 150000 are placed for one PodGang."],
            id="a gang has no more pods than a cluster",
        ),
    ],
)
def test_what_is_refused(text: str, want: list[str]) -> None:
    assert problems(topology(), text) == want
    (workload,) = reading(topology(), text).workloads
    assert workload.request is None
    assert [str(problem) for problem in workload.problems] == [line.removeprefix("2:") for line in want]


def test_a_topology_with_problems_of_its_own_is_told_as_such() -> None:
    found = problems(topology([]), gang(members("a"), **packed(RACK)))

    assert found[1:] == [
        '2:metadata.annotations["grove.io/topology-name"]: Topology "grove-topology" has problems of its own.'
        " Correct them first."
    ]


def test_a_pod_of_a_gang_that_belongs_to_no_pod_group_is_told() -> None:
    texts = [made_pod("x", "gang", "worker"), made_pod("y", "gang")]

    assert problems(gang(members("workers")), *texts) == [
        '2:metadata.labels["grove.io/podclique"]: PodGang "gang" has no pod group "worker".'
        ' Did you mean "workers"? Allowed: "workers".',
        '3:metadata.labels["grove.io/podclique"]: PodGang "gang" does not refer to this pod,'
        " so the pod must name its pod group.",
    ]


def test_pods_that_wait_for_what_nobody_will_make_are_told_once() -> None:
    pods = [json.dumps(pod) for pod in translated("pods", pod_clique_set(clique("a", 2)))]

    assert problems(*pods) == [
        '1:metadata.annotations.pod-group-name: 2 pods name "pcs-0", but there is no such PodGroup or PodGang in'
        ' namespace "default", and no PodCliqueSet "pcs" to make it of. Add one of them.'
    ]


def test_pods_made_for_kai_count_for_their_set_and_for_their_gang() -> None:
    whole = pod_clique_set(clique("a", 2))
    pods = [json.loads(json.dumps(pod)) for pod in translated("pods", whole)]
    pods[0]["spec"]["nodeName"] = "n"
    texts = [host("n", "r"), *(json.dumps(pod) for pod in pods)]
    (lone,) = translated("podgang", whole)

    for workload in (whole, json.dumps(lone)):
        (found,) = request(workload, *texts).root.pod_sets()
        assert (found.bound, found.pods) == (("n",), ("pcs-0-a-1",))


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_are_finished_wait_for_nothing(phase: str) -> None:
    (pod,) = translated("pods", pod_clique_set(clique("a")))

    assert problems(json.dumps({**pod, "status": {"phase": phase}})) == []


def test_pods_that_succeeded_have_had_their_turn() -> None:
    texts = [made_pod("a-0", "gang", "a", status={"phase": "Succeeded"}), made_pod("a-1", "gang", "a")]
    (pods,) = request(gang(members("a", 3)), *texts).root.pod_sets()

    assert (pods.count, pods.least, pods.pods) == (2, 2, ("a-1", "a-2"))


def test_a_configuration_without_pod_groups_says_nothing_whatever_it_asks_for() -> None:
    assert (
        problems(topology(), gang(members("a", **packed(RACK)), configs=[config("c", **packed("x"))])) == []
    )


def test_names_that_only_a_whole_cluster_resolves_are_passed_over_where_all_is_lenient() -> None:
    assert problems(gang(members("a"), priorityClassName="theirs"), lenient=True) == []


def test_what_no_request_can_say_of_a_waiting_pod_is_told() -> None:
    claims = made_pod("a-0", "gang", "a", spec=pod_spec(1, resourceClaims=[{"name": "gpu"}]))

    assert problems(gang(members("a")), claims) == [
        "2:spec.resourceClaims: A claim is not taken into account when pods are placed. Ask for the device as a resource."
    ]
    assert problems(gang(members("a")), claims, lenient=True) == []


def test_a_gang_may_speak_of_a_topology_that_only_kai_knows() -> None:
    text = gang(members("a"), metadata={"annotations": {"kai.scheduler/topology": "tree"}}, **packed(RACK))

    assert request(TOPOLOGY, text).topology == "tree"


def test_the_pod_group_of_a_gang_speaks_of_the_topology_that_kai_knows() -> None:
    bound = [{"schedulerName": "kai-scheduler", "topologyReference": "theirs"}]
    binding = topology(kind="ClusterTopologyBinding", schedulerTopologyBindings=bound)
    (group,) = translated("kai", binding, gang(members("a"), **packed(RACK)))

    assert group["spec"]["topologyConstraint"]["topology"] == "theirs"


def test_a_gang_that_cannot_be_read_is_a_workload_without_a_request() -> None:
    found = reading(gang({"name": "a", "minReplicas": "two"}))

    assert [(workload.object.name, workload.request) for workload in found.workloads] == [("gang", None)]
    assert [str(problem) for problem in found.workloads[0].problems] == [
        'spec.podgroups[0].minReplicas: Found "two", a string, where a whole number is expected.'
    ]


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


def test_a_group_that_the_annotation_names_must_be_there() -> None:
    asked = {"annotations": {"closeknit.dev/pod-resources": '{"worker": {"cpu": 1}}'}}

    assert problems(gang(members("workers"), metadata=asked)) == [
        '1:metadata.annotations["closeknit.dev/pod-resources"].worker: No leaf that has pods is called'
        ' "worker". Did you mean "workers"? Allowed: "workers".'
    ]
