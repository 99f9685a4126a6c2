"""Every rule for a PodCliqueSet, and the field that its author would change."""

from __future__ import annotations

import pytest

from closeknit.apis.core_v1 import PodSpec
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import core, grove, hub
from closeknit.hub.workload import InvalidWorkload
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.grove.constrained import T, packed
from tests.unit.dialects.grove.expected import (
    coarser,
    field,
    minimum_out_of_range,
    name_taken,
    of_object,
    unknown_domain,
    unknown_field,
)
from tests.unit.dialects.grove.sets import (
    clique,
    group,
    pod_clique_set,
    pod_spec,
    topology,
)
from tests.unit.dialects.kit import reading, reported

ABOVE = "spec.template.topologyConstraint.packDomain"
STARTUP_TYPES = ("CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit")


def unknown_clique(where: str, name: str, cliques: tuple[str, ...]) -> Finding:
    return finding(core.NOT_FOUND, where, kind="clique", name=name, remedy=OneOf(name, cliques))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            pod_clique_set(
                clique("a", domain="hots"), groups=[group("g", "a", domain="numa")], domain="region"
            ),
            [
                unknown_domain(f"{T}.topologyConstraint.packDomain", "region"),
                unknown_domain(f"{T}.podCliqueScalingGroups[0].topologyConstraint.packDomain", "numa"),
                unknown_domain(f"{T}.cliques[0].topologyConstraint.packDomain", "hots"),
            ],
            id="domains at all three places must be levels of the topology",
            marks=pytest.mark.requirement("G30", "G33", "G41"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), topologyConstraint={}),
            [
                finding(grove.EMPTY_CONSTRAINT, f"{T}.topologyConstraint"),
            ],
            id="a constraint says something",
            marks=pytest.mark.requirement("G29"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed()),
            [finding(grove.EMPTY_PACK, f"{T}.topologyConstraint.pack")],
            id="a pack says something",
        ),
        pytest.param(
            pod_clique_set(
                clique("a"),
                topologyConstraint={
                    "topologyName": "grove-topology",
                    "packDomain": "rack",
                    "pack": {"required": "rack"},
                },
            ),
            [finding(grove.REQUIRED_TWICE, f"{T}.topologyConstraint.packDomain")],
            id="a requirement stands in one spelling",
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed(None, required="rack")),
            [finding(grove.TOPOLOGY_UNNAMED, f"{T}.topologyConstraint.topologyName")],
            id="today's spelling names its topology",
        ),
        pytest.param(
            pod_clique_set(
                {**clique("a"), **packed(None, required="rack")},
                {**clique("b"), **packed(None, required="rack")},
                groups=[{**group("g", "b"), **packed(required="rack")}],
            ),
            [finding(grove.TOPOLOGY_UNNAMED, f"{T}.cliques[0].topologyConstraint.topologyName")],
            id="a clique inherits the topology of its own scaling group, never of another",
        ),
        pytest.param(
            pod_clique_set({**clique("a"), **packed("other", required="rack")}, **packed(required="zone")),
            [
                finding(
                    grove.SECOND_TOPOLOGY,
                    f"{T}.cliques[0].topologyConstraint.topologyName",
                    field=field("spec.template.topologyConstraint"),
                    first="grove-topology",
                    name="other",
                )
            ],
            id="all places speak of one topology",
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed("grove-topolgy", required="zone")),
            [
                finding(
                    grove.NO_BINDING,
                    f"{T}.topologyConstraint.topologyName",
                    name="grove-topolgy",
                    remedy=OneOf("grove-topolgy", ("grove-topology",)),
                )
            ],
            id="the topology exists",
        ),
        pytest.param(
            pod_clique_set(
                clique("a", domain="block"), groups=[group("g", "a", domain="zone")], domain="rack"
            ),
            [
                coarser(
                    f"{T}.podCliqueScalingGroups[0].topologyConstraint.packDomain", "zone", "rack", ABOVE
                ),
                coarser(f"{T}.cliques[0].topologyConstraint.packDomain", "block", "rack", ABOVE),
            ],
            id="whatever is coarser than the set is told at once, also below a group that is",
        ),
        pytest.param(
            pod_clique_set(),
            [finding(grove.NO_CLIQUES, f"{T}.cliques")],
            id="a set has cliques",
        ),
        pytest.param(
            pod_clique_set(clique("a"), replicas=-1),
            [finding(grove.NEGATIVE, "2:spec.replicas", least="zero", replicas=-1)],
            id="a set has no negative number of replicas",
        ),
        pytest.param(
            pod_clique_set(clique("a", roleName="r"), clique("a", roleName="r")),
            [
                name_taken(f"{T}.cliques[1].name", "a", "spec.template.cliques[0]"),
                finding(
                    grove.ROLE_TAKEN,
                    f"{T}.cliques[1].spec.roleName",
                    first=field("spec.template.cliques[0]"),
                    role="r",
                ),
            ],
            id="names and roles of cliques are unique",
        ),
        pytest.param(
            pod_clique_set(clique("A_b")),
            [finding(grove.NOT_A_DNS_LABEL, f"{T}.cliques[0].name", name="A_b")],
            id="a clique's name fits a label",
        ),
        pytest.param(
            pod_clique_set(clique("a", 2, minAvailable=3), clique("b", -1), clique("c", 2, minAvailable=0)),
            [
                minimum_out_of_range(f"{T}.cliques[0].spec.minAvailable", 3, 2),
                finding(grove.NEGATIVE, f"{T}.cliques[1].spec.replicas", least="one", replicas=-1),
                minimum_out_of_range(f"{T}.cliques[2].spec.minAvailable", 0, 2),
            ],
            id="a clique needs at least one and at most all of its replicas",
        ),
        pytest.param(
            pod_clique_set(
                clique("a", 2, autoScalingConfig={"minReplicas": 1, "maxReplicas": 1}),
                clique("b", autoScalingConfig={"maxReplicas": 4}),
                groups=[group("g", "b", replicas=2, scaleConfig={"minReplicas": 0, "maxReplicas": 3})],
            ),
            [
                finding(
                    grove.AUTOSCALING_BELOW_MINIMUM,
                    f"{T}.cliques[0].spec.autoScalingConfig.minReplicas",
                    least=2,
                    lowest=1,
                ),
                finding(
                    grove.AUTOSCALING_TOO_LOW,
                    f"{T}.cliques[0].spec.autoScalingConfig.maxReplicas",
                    lowest=2,
                    most=1,
                ),
                finding(grove.SCALED_AS_A_WHOLE, f"{T}.cliques[1].spec.autoScalingConfig"),
                finding(
                    grove.AUTOSCALING_BELOW_MINIMUM,
                    f"{T}.podCliqueScalingGroups[0].scaleConfig.minReplicas",
                    least=1,
                    lowest=0,
                ),
            ],
            id="an autoscaler stays within what is needed",
        ),
        pytest.param(
            pod_clique_set(
                clique("a"), clique("b"), groups=[group("g", "a"), group("g", "a", "c", "c"), group("h")]
            ),
            [
                name_taken(
                    f"{T}.podCliqueScalingGroups[1].name", "g", "spec.template.podCliqueScalingGroups[0]"
                ),
                finding(
                    grove.CLIQUE_IN_TWO_GROUPS,
                    f"{T}.podCliqueScalingGroups[1].cliqueNames[0]",
                    first=field("spec.template.podCliqueScalingGroups[0]"),
                    name="a",
                ),
                unknown_clique(f"{T}.podCliqueScalingGroups[1].cliqueNames[1]", "c", ("a", "b")),
                unknown_clique(f"{T}.podCliqueScalingGroups[1].cliqueNames[2]", "c", ("a", "b")),
                finding(
                    grove.GROUP_WITHOUT_CLIQUES,
                    f"{T}.podCliqueScalingGroups[2].cliqueNames",
                    remedy=OneOf("", ("a", "b")),
                ),
            ],
            id="a scaling group has a name and cliques of its own",
        ),
        pytest.param(
            pod_clique_set(
                clique("a"),
                clique("b"),
                groups=[group("g", "a", replicas=0), group("h", "b", minAvailable=2)],
            ),
            [
                finding(grove.LESS_THAN_ONE, f"{T}.podCliqueScalingGroups[0].replicas", replicas=0),
                minimum_out_of_range(f"{T}.podCliqueScalingGroups[1].minAvailable", 2, 1),
            ],
            id="a scaling group needs at least one and at most all of its replicas",
        ),
        pytest.param(
            pod_clique_set(clique("c" * 20), clique("d"), groups=[group("g" * 20, "d")], name="n" * 26),
            [
                finding(
                    grove.NAMES_TOO_LONG,
                    f"{T}.cliques[0].name",
                    length=46,
                    longest=45,
                    names=("n" * 26, "c" * 20),
                ),
                finding(
                    grove.NAMES_TOO_LONG,
                    f"{T}.podCliqueScalingGroups[0].cliqueNames[0]",
                    length=47,
                    longest=45,
                    names=("n" * 26, "g" * 20, "d"),
                ),
            ],
            id="names leave room for the names of pods",
        ),
        pytest.param(
            pod_clique_set(
                clique("a", startsAfter=["a", "x", "b"]),
                clique("b", startsAfter=["a"]),
                cliqueStartupType="CliqueStartupTypeExplicit",
            ),
            [
                finding(grove.STARTS_AFTER_ITSELF, f"{T}.cliques[0].spec.startsAfter[0]"),
                unknown_clique(f"{T}.cliques[0].spec.startsAfter[1]", "x", ("a", "b")),
                finding(
                    grove.START_CIRCLE, f"{T}.cliques[0].spec.startsAfter", circle='"a" after "b" after "a"'
                ),
            ],
            id="cliques wait for others that exist, and not in a circle",
            marks=pytest.mark.requirement("G69"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), cliqueStartupType="InOrder"),
            [
                finding(
                    grove.STARTUP_TYPE,
                    f"{T}.cliqueStartupType",
                    remedy=OneOf("InOrder", STARTUP_TYPES),
                    startup="InOrder",
                )
            ],
            id="the way to start is a known one",
        ),
        pytest.param(
            pod_clique_set(
                clique(
                    "a",
                    podSpec=pod_spec(
                        nodeName="n", topologySpreadConstraints=[{"maxSkew": 1}], nodeSelectr={}
                    ),
                )
            ),
            [
                unknown_field(
                    f"{T}.cliques[0].spec.podSpec.nodeSelectr", "nodeSelectr", "nodeSelector", PodSpec
                ),
                finding(grove.SPREAD_CONSTRAINTS, f"{T}.cliques[0].spec.podSpec.topologySpreadConstraints"),
                finding(grove.NODE_NAMED, f"{T}.cliques[0].spec.podSpec.nodeName"),
            ],
            id="pods leave the choice of nodes to Grove, and have known fields",
        ),
        pytest.param(
            pod_clique_set(clique("a", podSpec={"containers": [{"resources": {"requests": {"cpu": "x"}}}]})),
            [
                finding(
                    hub.UNKNOWN_SUFFIX,
                    f"{T}.cliques[0].spec.podSpec.containers[0].resources.requests.cpu",
                    value="x",
                )
            ],
            id="what pods ask for is a quantity",
        ),
        pytest.param(
            pod_clique_set(
                clique("a", podSpec=pod_spec() | {"schedulerName": "kai-scheduler"}),
                clique("b", podSpec=pod_spec() | {"schedulerName": "volcano"}),
                domain="rack",
            ),
            [
                finding(
                    grove.SCHEDULERS_DIFFER,
                    f"{T}.cliques[1].spec.podSpec.schedulerName",
                    field=field("spec.template.cliques[0]"),
                    first="kai-scheduler",
                    name="volcano",
                ),
                finding(
                    grove.SCHEDULER_WITHOUT_TOPOLOGY,
                    f"{T}.cliques[1].spec.podSpec.schedulerName",
                    name="volcano",
                ),
            ],
            id="all pods have one scheduler, and it knows of topology",
        ),
        pytest.param(
            pod_clique_set(clique("a", 1000), replicas=1000),
            [finding(grove.TOO_MANY_PODS, "2:spec.replicas", kind="PodCliqueSet", most=150000, pods=1000000)],
            id="a set has no more pods than a cluster",
        ),
        pytest.param(
            pod_clique_set(clique("a"), priorityClassName="hgh"),
            [
                finding(
                    core.NOT_FOUND,
                    f"{T}.priorityClassName",
                    kind="PriorityClass",
                    name="hgh",
                    remedy=OneOf("hgh", ("system-cluster-critical", "system-node-critical")),
                )
            ],
            id="the priority class exists",
        ),
    ],
)
@pytest.mark.requirement("G69")
def test_what_is_refused(text: str, want: list[Finding]) -> None:
    assert reported(topology(), text) == want
    (workload,) = reading(topology(), text).workloads
    assert isinstance(workload, InvalidWorkload)
    assert findings(workload.problems) == of_object(want)


@pytest.mark.parametrize(
    ("name", "near"), [("my.app", "my-app"), ("n" * 45, "n" * 44)], ids=["a dot", "no room for a clique"]
)
def test_the_name_of_a_set_becomes_part_of_host_names(name: str, near: str) -> None:
    text = pod_clique_set(clique("a", replicas=-1), name=name)

    assert reported(text) == [
        finding(grove.NAME_IN_HOST_NAMES, "1:metadata.name", name=name, longest=44, near=near),
        finding(grove.NEGATIVE, "1:spec.template.cliques[0].spec.replicas", least="one", replicas=-1),
    ]


def test_names_that_are_given_twice_hide_nothing() -> None:
    text = pod_clique_set(
        clique("a"),
        clique("a", roleName="b", domain="zone", startsAfter=["c"]),
        clique("d"),
        groups=[group("g", "d"), group("g", "a", domain="hst")],
        domain="rack",
        cliqueStartupType="CliqueStartupTypeExplicit",
    )

    assert reported(topology(), text) == [
        name_taken(f"{T}.cliques[1].name", "a", "spec.template.cliques[0]"),
        unknown_clique(f"{T}.cliques[1].spec.startsAfter[0]", "c", ("a", "d")),
        name_taken(f"{T}.podCliqueScalingGroups[1].name", "g", "spec.template.podCliqueScalingGroups[0]"),
        unknown_domain(f"{T}.podCliqueScalingGroups[1].topologyConstraint.packDomain", "hst"),
        coarser(f"{T}.cliques[1].topologyConstraint.packDomain", "zone", "rack", ABOVE),
    ]


def test_an_unknown_way_to_start_hides_nothing() -> None:
    text = pod_clique_set(clique("a", startsAfter=["c"]), cliqueStartupType="Explicit")

    assert reported(text) == [
        finding(
            grove.STARTUP_TYPE,
            "1:spec.template.cliqueStartupType",
            startup="Explicit",
            remedy=OneOf("Explicit", STARTUP_TYPES),
        ),
        unknown_clique("1:spec.template.cliques[0].spec.startsAfter[0]", "c", ("a",)),
    ]


def test_names_that_clash_are_told_beside_unknown_domains() -> None:
    text = pod_clique_set(
        clique("g-0-w"), clique("w", domain="hst"), groups=[group("g", "w")], cliqueStartupType=""
    )

    assert reported(topology(), text) == [
        unknown_domain(f"{T}.cliques[1].topologyConstraint.packDomain", "hst"),
        finding(
            grove.NAME_CONFLICT,
            f"{T}.cliques[0].name",
            name="pcs-0-g-0-w",
            first=field("spec.template.cliques[1].name"),
        ),
    ]
