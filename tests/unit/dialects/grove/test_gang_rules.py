"""Every rule for a PodGang that stands by itself, with the exact path and sentence that its author reads."""

from __future__ import annotations

import json

import pytest

from tests.unit.dialects.grove.sets import (
    BLOCK,
    RACK,
    ZONE,
    clique,
    config,
    gang,
    made_pod,
    members,
    packed,
    pod_clique_set,
    topology,
    translated,
)
from tests.unit.dialects.kit import TOPOLOGY, problems, reading, request

G = "2:spec.podgroups"
C = "2:spec.topologyConstraintGroupConfigs"


def test_an_annotation_that_is_no_amount_is_told() -> None:
    asked = {"annotations": {"closeknit.dev/pod-resources": "8"}}

    assert problems(gang(members("a", 2), metadata=asked)) == [
        '1:metadata.annotations["closeknit.dev/pod-resources"]: "8" is not a JSON object. Write quantities by'
        ' resource, such as {"nvidia.com/gpu": "8"}.'
    ]


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


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_are_finished_wait_for_nothing(phase: str) -> None:
    (pod,) = translated("pods", pod_clique_set(clique("a")))

    assert problems(json.dumps({**pod, "status": {"phase": phase}})) == []


def test_a_configuration_without_pod_groups_says_nothing_whatever_it_asks_for() -> None:
    assert (
        problems(topology(), gang(members("a", **packed(RACK)), configs=[config("c", **packed("x"))])) == []
    )


def test_names_that_only_a_whole_cluster_resolves_are_passed_over_where_all_is_lenient() -> None:
    assert problems(gang(members("a"), priorityClassName="theirs"), lenient=True) == []


def test_a_gang_may_speak_of_a_topology_that_only_kai_knows() -> None:
    text = gang(members("a"), metadata={"annotations": {"kai.scheduler/topology": "tree"}}, **packed(RACK))

    assert request(TOPOLOGY, text).topology == "tree"


def test_a_gang_that_cannot_be_read_is_a_workload_without_a_request() -> None:
    found = reading(gang({"name": "a", "minReplicas": "two"}))

    assert [(workload.object.name, workload.request) for workload in found.workloads] == [("gang", None)]
    assert [str(problem) for problem in found.workloads[0].problems] == [
        'spec.podgroups[0].minReplicas: Found "two", a string, where a whole number is expected.'
    ]


def test_a_group_that_the_annotation_names_must_be_there() -> None:
    asked = {"annotations": {"closeknit.dev/pod-resources": '{"worker": {"cpu": 1}}'}}

    assert problems(gang(members("workers"), metadata=asked)) == [
        '1:metadata.annotations["closeknit.dev/pod-resources"].worker: No leaf that has pods is called'
        ' "worker". Did you mean "workers"? Allowed: "workers".'
    ]
