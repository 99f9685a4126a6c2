"""Every rule for a PodGang that stands by itself, and the field that its author would change."""

from __future__ import annotations

import json

import pytest

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import core, grove, hub
from closeknit.hub.workload import InvalidWorkload
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.grove.expected import coarser, field, name_taken, of_object, wrong_type
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
    topology,
    translated,
)
from tests.unit.dialects.kit import TOPOLOGY, reading, reported, request

G = "2:spec.podgroups"
C = "2:spec.topologyConstraintGroupConfigs"
ABOVE = "spec.topologyConstraint.packConstraint.required"


def test_an_annotation_that_is_no_amount_is_told() -> None:
    asked = {"annotations": {"closeknit.dev/pod-resources": "8"}}

    assert reported(gang(members("a", 2), metadata=asked)) == [
        finding(core.NOT_JSON, '1:metadata.annotations["closeknit.dev/pod-resources"]', value="8")
    ]


def test_a_gang_without_constraints_needs_no_topology() -> None:
    assert reported(gang(members("a"), named="nowhere")) == []


def test_a_preference_coarser_than_the_requirement_says_nothing() -> None:
    """Grove accepts it with a warning, so it is found in gangs."""
    assert request(topology(), gang(members("a"), **packed(RACK, ZONE))).root.preferred is None


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(gang(), [finding(grove.NO_POD_GROUPS, G)], id="it has pods"),
        pytest.param(
            gang(members("a"), members("A"), members("a", 0)),
            [
                finding(grove.NOT_A_DNS_LABEL, f"{G}[1].name", name="A"),
                name_taken(f"{G}[2].name", "a", "spec.podgroups[0]"),
                finding(grove.POD_GROUP_WITHOUT_PODS, f"{G}[2].minReplicas", least=0),
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
                finding(
                    grove.REFERENCED_TWICE,
                    f"{G}[0].podReferences[1].name",
                    first=field("spec.podgroups[0].podReferences[0]"),
                    name="x",
                ),
                finding(grove.TOO_FEW_REFERENCES, f"{G}[0].podReferences", least=3, missing=1, referenced=2),
                finding(
                    grove.REFERENCED_TWICE,
                    f"{G}[1].podReferences[0].name",
                    first=field("spec.podgroups[0].podReferences[0]"),
                    name="x",
                ),
                finding(
                    grove.FOREIGN_NAMESPACE,
                    f"{G}[2].podReferences[0].namespace",
                    namespace="ns",
                    own="default",
                ),
            ],
            id="references are to enough pods, each once, of the same namespace",
        ),
        pytest.param(
            gang(members("a"), members("b"), configs=[config("a", "a", "x"), config("c", "a", "b", "b")]),
            [
                name_taken(f"{C}[0].name", "a", "spec.podgroups[0]"),
                finding(
                    core.NOT_FOUND,
                    f"{C}[0].podGroupNames[1]",
                    kind="pod group",
                    name="x",
                    remedy=OneOf("x", ("a", "b")),
                ),
                finding(
                    grove.POD_GROUP_LISTED_TWICE,
                    f"{C}[1].podGroupNames[0]",
                    first=field("spec.topologyConstraintGroupConfigs[0].podGroupNames[0]"),
                    name="a",
                ),
                finding(
                    grove.POD_GROUP_LISTED_TWICE,
                    f"{C}[1].podGroupNames[2]",
                    first=field("spec.topologyConstraintGroupConfigs[1].podGroupNames[1]"),
                    name="b",
                ),
            ],
            id="configurations list pod groups that exist, each once",
        ),
        pytest.param(
            gang(members("a"), named="", **packed(RACK)),
            [
                finding(
                    core.TOPOLOGY_MISSING,
                    '2:metadata.annotations["grove.io/topology-name"]',
                    allowed=OneOf("", ("grove-topology",)),
                )
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
                finding(
                    core.NOT_FOUND,
                    '2:metadata.annotations["kai.scheduler/topology"]',
                    kind="topology",
                    name="grove-topolgy",
                    remedy=OneOf("grove-topolgy", ("grove-topology",)),
                )
            ],
            id="the topology exists, by either annotation",
        ),
        pytest.param(
            gang(members("a", **packed("rack")), **packed(preferred="topology/rak")),
            [
                finding(
                    hub.UNKNOWN_LEVEL,
                    "2:spec.topologyConstraint.packConstraint.preferred",
                    level="topology/rak",
                    remedy=OneOf("topology/rak", tuple(LEVELS.values())),
                    topology="grove-topology",
                ),
                finding(
                    grove.DOMAIN_FOR_LABEL,
                    f"{G}[0].topologyConstraint.packConstraint.required",
                    label="topology/rack",
                    word="rack",
                ),
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
                coarser(f"{C}[0].topologyConstraint.packConstraint.required", BLOCK, RACK, ABOVE, "level"),
                coarser(f"{G}[0].topologyConstraint.packConstraint.required", ZONE, RACK, ABOVE, "level"),
            ],
            id="no requirement is coarser than the one around it, while a preference may be",
        ),
        pytest.param(
            gang(members("a"), priorityClassName="inferance"),
            [
                finding(
                    core.NOT_FOUND,
                    "2:spec.priorityClassName",
                    kind="PriorityClass",
                    name="inferance",
                    remedy=OneOf(
                        "inferance",
                        (
                            "build",
                            "build-preemptible",
                            "inference",
                            "system-cluster-critical",
                            "system-node-critical",
                            "train",
                        ),
                    ),
                )
            ],
            id="the priority class exists, those of KAI included",
        ),
        pytest.param(
            gang(members("a", 150_001)),
            [finding(grove.TOO_MANY_PODS, G, kind="PodGang", most=150000, pods=150001)],
            id="a gang has no more pods than a cluster",
        ),
    ],
)
def test_what_is_refused(text: str, want: list[Finding]) -> None:
    assert reported(topology(), text) == want
    (workload,) = reading(topology(), text).workloads
    assert isinstance(workload, InvalidWorkload)
    assert findings(workload.problems) == of_object(want)


def test_a_topology_with_problems_of_its_own_is_told_as_such() -> None:
    _, *of_gang = reported(topology([]), gang(members("a"), **packed(RACK)))

    assert of_gang == [
        finding(
            core.HAS_PROBLEMS,
            '2:metadata.annotations["grove.io/topology-name"]',
            kind="Topology",
            name="grove-topology",
        )
    ]


def test_a_pod_of_a_gang_that_belongs_to_no_pod_group_is_told() -> None:
    texts = [made_pod("x", "gang", "worker"), made_pod("y", "gang")]

    assert reported(gang(members("workers")), *texts) == [
        finding(
            grove.POD_OF_NO_GROUP,
            '2:metadata.labels["grove.io/podclique"]',
            gang="gang",
            name="worker",
            remedy=OneOf("worker", ("workers",)),
        ),
        finding(grove.POD_GROUP_UNNAMED, '3:metadata.labels["grove.io/podclique"]', gang="gang"),
    ]


def test_pods_that_wait_for_what_nobody_will_make_are_told_once() -> None:
    pods = [json.dumps(pod) for pod in translated("pods", pod_clique_set(clique("a", 2)))]

    assert reported(*pods) == [
        finding(
            grove.STRAY_PODS,
            "1:metadata.annotations.pod-group-name",
            name="pcs-0",
            namespace="default",
            pods="2 pods name",
            set="pcs",
        )
    ]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_are_finished_wait_for_nothing(phase: str) -> None:
    (pod,) = translated("pods", pod_clique_set(clique("a")))

    assert reported(json.dumps({**pod, "status": {"phase": phase}})) == []


def test_a_configuration_without_pod_groups_says_nothing_whatever_it_asks_for() -> None:
    assert (
        reported(topology(), gang(members("a", **packed(RACK)), configs=[config("c", **packed("x"))])) == []
    )


def test_names_that_only_a_whole_cluster_resolves_are_passed_over_where_all_is_lenient() -> None:
    assert reported(gang(members("a"), priorityClassName="theirs"), lenient=True) == []


def test_a_gang_may_speak_of_a_topology_that_only_kai_knows() -> None:
    text = gang(members("a"), metadata={"annotations": {"kai.scheduler/topology": "tree"}}, **packed(RACK))

    assert request(TOPOLOGY, text).topology == "tree"


def test_a_gang_that_cannot_be_read_is_a_workload_without_a_request() -> None:
    found = reading(gang({"name": "a", "minReplicas": "two"}))

    (workload,) = found.workloads
    assert isinstance(workload, InvalidWorkload)
    assert workload.object.name == "gang"
    assert findings(workload.problems) == [
        wrong_type("spec.podgroups[0].minReplicas", '"two", a string,', "a whole number")
    ]


def test_a_group_that_the_annotation_names_must_be_there() -> None:
    asked = {"annotations": {"closeknit.dev/pod-resources": '{"worker": {"cpu": 1}}'}}

    assert reported(gang(members("workers"), metadata=asked)) == [
        finding(
            core.UNKNOWN_LEAF,
            '1:metadata.annotations["closeknit.dev/pod-resources"].worker',
            leaf="worker",
            remedy=OneOf("worker", ("workers",)),
        )
    ]
