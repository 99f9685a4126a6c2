"""Every rule for a PodCliqueSet, with the exact path and sentence that its author reads."""

from __future__ import annotations

import pytest

from tests.unit.dialects.grove.constrained import UNKNOWN, T, coarser, packed
from tests.unit.dialects.grove.sets import (
    clique,
    group,
    pod_clique_set,
    pod_spec,
    topology,
)
from tests.unit.dialects.kit import problems, reading


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            pod_clique_set(
                clique("a", domain="hots"), groups=[group("g", "a", domain="numa")], domain="region"
            ),
            [
                f'{T}.topologyConstraint.packDomain: Topology "grove-topology" has no domain "region". Allowed:'
                ' "block", "host", "rack", "zone".',
                f'{T}.podCliqueScalingGroups[0].topologyConstraint.packDomain: Topology "grove-topology" has no'
                ' domain "numa". Allowed: "block", "host", "rack", "zone".',
                f'{T}.cliques[0].topologyConstraint.packDomain: Topology "grove-topology" has no domain "hots".'
                ' Did you mean "host"? Allowed: "block", "host", "rack", "zone".',
            ],
            id="domains at all three places must be levels of the topology",
            marks=pytest.mark.requirement("G30", "G33", "G41"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), topologyConstraint={}),
            [
                f"{T}.topologyConstraint: This says nothing. Give pack.required, pack.preferred or both.",
            ],
            id="a constraint says something",
            marks=pytest.mark.requirement("G29"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed()),
            [f"{T}.topologyConstraint.pack: This says nothing. Give required, preferred or both."],
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
            [
                f"{T}.topologyConstraint.packDomain: This is the earlier spelling of pack.required,"
                " which stands here as well. Keep pack.required."
            ],
            id="a requirement stands in one spelling",
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed(None, required="rack")),
            [
                f"{T}.topologyConstraint.topologyName: The topology whose domains are meant is missing, and"
                " there is none to inherit. Write the name of a ClusterTopologyBinding."
            ],
            id="today's spelling names its topology",
        ),
        pytest.param(
            pod_clique_set(
                {**clique("a"), **packed(None, required="rack")},
                {**clique("b"), **packed(None, required="rack")},
                groups=[{**group("g", "b"), **packed(required="rack")}],
            ),
            [
                f"{T}.cliques[0].topologyConstraint.topologyName: The topology whose domains are meant is missing,"
                " and there is none to inherit. Write the name of a ClusterTopologyBinding."
            ],
            id="a clique inherits the topology of its own scaling group, never of another",
        ),
        pytest.param(
            pod_clique_set({**clique("a"), **packed("other", required="rack")}, **packed(required="zone")),
            [
                f'{T}.cliques[0].topologyConstraint.topologyName: "other" is not "grove-topology", which'
                " spec.template.topologyConstraint speaks of. A PodCliqueSet can speak of one topology only."
            ],
            id="all places speak of one topology",
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed("grove-topolgy", required="zone")),
            [
                f'{T}.topologyConstraint.topologyName: There is no ClusterTopologyBinding "grove-topolgy".'
                ' Did you mean "grove-topology"? Allowed: "grove-topology".'
            ],
            id="the topology exists",
        ),
        pytest.param(
            pod_clique_set(
                clique("a", domain="block"), groups=[group("g", "a", domain="zone")], domain="rack"
            ),
            [
                f"{T}.podCliqueScalingGroups[0].topologyConstraint.packDomain:"
                f" {coarser('zone', 'rack', 'topologyConstraint.packDomain')}",
                f"{T}.cliques[0].topologyConstraint.packDomain:"
                f" {coarser('block', 'rack', 'topologyConstraint.packDomain')}",
            ],
            id="whatever is coarser than the set is told at once, also below a group that is",
        ),
        pytest.param(
            pod_clique_set(),
            [f"{T}.cliques: There are no cliques. Describe at least one."],
            id="a set has cliques",
        ),
        pytest.param(
            pod_clique_set(clique("a"), replicas=-1),
            ["2:spec.replicas: -1 is negative. Write zero or more."],
            id="a set has no negative number of replicas",
        ),
        pytest.param(
            pod_clique_set(clique("a", roleName="r"), clique("a", roleName="r")),
            [
                f'{T}.cliques[1].name: "a" is already the name of spec.template.cliques[0]. Give each its own.',
                f'{T}.cliques[1].spec.roleName: "r" is already the role of spec.template.cliques[0]. Give each its own.',
            ],
            id="names and roles of cliques are unique",
        ),
        pytest.param(
            pod_clique_set(clique("A_b")),
            [
                f'{T}.cliques[0].name: "A_b" is not a valid name. Allowed are at most 63 lower-case letters,'
                " digits and dashes, with a letter or digit at both ends."
            ],
            id="a clique's name fits a label",
        ),
        pytest.param(
            pod_clique_set(clique("a", 2, minAvailable=3), clique("b", -1), clique("c", 2, minAvailable=0)),
            [
                f"{T}.cliques[0].spec.minAvailable: 3 of 2 replicas cannot be the least. Allowed are 1 to 2.",
                f"{T}.cliques[1].spec.replicas: -1 is negative. Write one or more.",
                f"{T}.cliques[2].spec.minAvailable: 0 of 2 replicas cannot be the least. Allowed are 1 to 2.",
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
                f"{T}.cliques[0].spec.autoScalingConfig.minReplicas: 1 is less than minAvailable, which is 2. Write 2 or more.",
                f"{T}.cliques[0].spec.autoScalingConfig.maxReplicas: 1 is less than there are at least, 2. Write 2 or more.",
                f"{T}.cliques[1].spec.autoScalingConfig: The clique belongs to a scaling group, which is scaled as a whole."
                " Use its scaleConfig.",
                f"{T}.podCliqueScalingGroups[0].scaleConfig.minReplicas: 0 is less than minAvailable, which is 1. Write 1 or more.",
            ],
            id="an autoscaler stays within what is needed",
        ),
        pytest.param(
            pod_clique_set(
                clique("a"), clique("b"), groups=[group("g", "a"), group("g", "a", "c", "c"), group("h")]
            ),
            [
                f'{T}.podCliqueScalingGroups[1].name: "g" is already the name of spec.template.podCliqueScalingGroups[0].'
                " Give each its own.",
                f'{T}.podCliqueScalingGroups[1].cliqueNames[0]: "a" belongs to spec.template.podCliqueScalingGroups[0]'
                " already. A clique has one scaling group.",
                f'{T}.podCliqueScalingGroups[1].cliqueNames[1]: There is no clique "c". Allowed: "a", "b".',
                f'{T}.podCliqueScalingGroups[1].cliqueNames[2]: There is no clique "c". Allowed: "a", "b".',
                f'{T}.podCliqueScalingGroups[2].cliqueNames: There are no cliques here. Allowed: "a", "b".',
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
                f"{T}.podCliqueScalingGroups[0].replicas: 0 is not possible. Write one or more.",
                f"{T}.podCliqueScalingGroups[1].minAvailable: 2 of 1 replicas cannot be the least. Write 1.",
            ],
            id="a scaling group needs at least one and at most all of its replicas",
        ),
        pytest.param(
            pod_clique_set(clique("c" * 20), clique("d"), groups=[group("g" * 20, "d")], name="n" * 26),
            [
                f'{T}.cliques[0].name: The names "{"n" * 26}", "{"c" * 20}" have 46 characters together.'
                " At most 45 leave room for the names of pods; shorten one of them.",
                f'{T}.podCliqueScalingGroups[0].cliqueNames[0]: The names "{"n" * 26}", "{"g" * 20}", "d" have 47'
                " characters together. At most 45 leave room for the names of pods; shorten one of them.",
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
                f"{T}.cliques[0].spec.startsAfter[0]: A clique cannot start after itself. Leave it out.",
                f'{T}.cliques[0].spec.startsAfter[1]: There is no clique "x". Allowed: "a", "b".',
                f'{T}.cliques[0].spec.startsAfter: These cliques wait for each other: "a" after "b" after "a".'
                " Let one of them start first.",
            ],
            id="cliques wait for others that exist, and not in a circle",
            marks=pytest.mark.requirement("G69"),
        ),
        pytest.param(
            pod_clique_set(clique("a"), cliqueStartupType="InOrder"),
            [
                f'{T}.cliqueStartupType: "InOrder" is not a way to start. Allowed:'
                ' "CliqueStartupTypeAnyOrder", "CliqueStartupTypeExplicit", "CliqueStartupTypeInOrder".'
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
                f'{T}.cliques[0].spec.podSpec.nodeSelectr: There is no field "nodeSelectr" here. Did you mean "nodeSelector"?',
                f"{T}.cliques[0].spec.podSpec.topologySpreadConstraints: Grove decides where its pods go."
                " Leave it out, and use topologyConstraint instead.",
                f"{T}.cliques[0].spec.podSpec.nodeName: A clique's pods cannot name their node. Leave it out.",
            ],
            id="pods leave the choice of nodes to Grove, and have known fields",
        ),
        pytest.param(
            pod_clique_set(clique("a", podSpec={"containers": [{"resources": {"requests": {"cpu": "x"}}}]})),
            [
                f'{T}.cliques[0].spec.podSpec.containers[0].resources.requests.cpu: "x" is not a quantity.'
                " Write a number with an optional suffix (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei), such as 8, 500m or 1.5Gi."
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
                f'{T}.cliques[1].spec.podSpec.schedulerName: "volcano" is not "kai-scheduler", which'
                " spec.template.cliques[0] names. All pods of a set have one scheduler.",
                f'{T}.cliques[1].spec.podSpec.schedulerName: "volcano" knows nothing of topology constraints.'
                " Use kai-scheduler, or leave the constraints out.",
            ],
            id="all pods have one scheduler, and it knows of topology",
        ),
        pytest.param(
            pod_clique_set(clique("a", 1000), replicas=1000),
            [
                "2:spec.replicas: These would be 1000000 pods in all. At most 150000 are placed for one PodCliqueSet."
            ],
            id="a set has no more pods than a cluster",
        ),
        pytest.param(
            pod_clique_set(clique("a"), priorityClassName="hgh"),
            [
                f'{T}.priorityClassName: There is no PriorityClass "hgh". Allowed: "system-cluster-critical",'
                ' "system-node-critical".'
            ],
            id="the priority class exists",
        ),
    ],
)
@pytest.mark.requirement("G69")
def test_what_is_refused(text: str, want: list[str]) -> None:
    assert problems(topology(), text) == want
    (workload,) = reading(topology(), text).workloads
    assert workload.request is None
    assert [str(problem) for problem in workload.problems] == [line.removeprefix("2:") for line in want]


PART = (
    "cannot be part of the host names of pods. Allowed are at most 44 lower-case letters, digits and dashes"
)


@pytest.mark.parametrize(
    ("name", "near"), [("my.app", "my-app"), ("n" * 45, "n" * 44)], ids=["a dot", "no room for a clique"]
)
def test_the_name_of_a_set_becomes_part_of_host_names(name: str, near: str) -> None:
    text = pod_clique_set(clique("a", replicas=-1), name=name)

    assert problems(text) == [
        f'1:metadata.name: "{name}" {PART}, with a letter or digit at both ends, such as "{near}".',
        "1:spec.template.cliques[0].spec.replicas: -1 is negative. Write one or more.",
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

    assert problems(topology(), text) == [
        f'{T}.cliques[1].name: "a" is already the name of spec.template.cliques[0]. Give each its own.',
        f'{T}.cliques[1].spec.startsAfter[0]: There is no clique "c". Allowed: "a", "d".',
        f'{T}.podCliqueScalingGroups[1].name: "g" is already the name of spec.template.podCliqueScalingGroups[0].'
        " Give each its own.",
        f"{T}.podCliqueScalingGroups[1].topologyConstraint.packDomain: {UNKNOWN}",
        f"{T}.cliques[1].topologyConstraint.packDomain: {coarser('zone', 'rack', 'topologyConstraint.packDomain')}",
    ]


def test_an_unknown_way_to_start_hides_nothing() -> None:
    text = pod_clique_set(clique("a", startsAfter=["c"]), cliqueStartupType="Explicit")

    assert [line.partition(" ")[0] for line in problems(text)] == [
        "1:spec.template.cliqueStartupType:",
        "1:spec.template.cliques[0].spec.startsAfter[0]:",
    ]


def test_names_that_clash_are_told_beside_unknown_domains() -> None:
    text = pod_clique_set(
        clique("g-0-w"), clique("w", domain="hst"), groups=[group("g", "w")], cliqueStartupType=""
    )
    found = problems(topology(), text)

    assert f"{T}.cliques[1].topologyConstraint.packDomain: {UNKNOWN}" in found
    assert any("This leads to the name" in line for line in found)
