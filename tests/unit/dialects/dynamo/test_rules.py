"""Every rule for a DynamoGraphDeployment, with the exact path and sentence that its author reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.dialects.dynamo.graphs import graph, service
from tests.unit.dialects.grove.sets import topology
from tests.unit.dialects.kit import problems, reading

SEVEN = '"block", "datacenter", "host", "numa", "rack", "region", "zone"'
LEVELS = '"block", "host", "rack", "zone"'
PART = (
    "cannot be part of the host names of pods. Allowed are at most 63 lower-case letters, digits and dashes,"
    " with a letter or digit at both ends,"
)
NAMED = {"topologyConstraint": {"clusterTopologyName": "grove-topology"}}


def beta(*components: dict[str, Any], **spec: Any) -> str:
    return graph(list(components), version="v1beta1", **spec)


def coarser(domain: str, bound: str) -> str:
    return (
        f'"{domain}" is coarser than "{bound}", which spec.topologyConstraint.packDomain names.'
        f' Name "{bound}" or a finer domain, or leave it out.'
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            graph([service("A")], "racks"),
            [
                f'2:spec.topologyConstraint.packDomain: "racks" is not a topology domain. Did you mean "rack"? Allowed: {SEVEN}.'
            ],
            id="struct: a domain of the deployment is one of the known ones",
            marks=pytest.mark.requirement("D10", "D26"),
        ),
        pytest.param(
            graph({"A": service(domain="Rack")}),
            [
                f'2:spec.services.A.topologyConstraint.packDomain: "Rack" is not a topology domain. Did you mean "rack"? Allowed: {SEVEN}.'
            ],
            id="struct: a domain of a service is one of the known ones",
        ),
        pytest.param(
            graph([service("A", domain="zone"), service("B", domain="block", nodes=2)], "rack"),
            [
                f"2:spec.services[1].topologyConstraint.packDomain: {coarser('block', 'rack')}",
                f"2:spec.services[0].topologyConstraint.packDomain: {coarser('zone', 'rack')}",
            ],
            id="hierarchy: no service is broader than the deployment, on one node or several",
        ),
        pytest.param(
            graph([service("A", domain="numa"), service("B", nodes=2, domain="region")]),
            [
                f'2:spec.services[1].topologyConstraint.packDomain: Topology "grove-topology" has no domain "region". Allowed: {LEVELS}.',
                f'2:spec.services[0].topologyConstraint.packDomain: Topology "grove-topology" has no domain "numa". Allowed: {LEVELS}.',
            ],
            id="topology: domains of services are levels of the cluster's topology",
        ),
        pytest.param(
            graph([service("A")], "datacenter"),
            [
                f'2:spec.topologyConstraint.packDomain: Topology "grove-topology" has no domain "datacenter". Allowed: {LEVELS}.'
            ],
            id="topology: the domain of the deployment is a level of the cluster's topology",
        ),
        pytest.param(
            graph([service("A")], topologyConstraint={"topologyProfile": "h100", "packDomain": "rack"}),
            [
                '2:spec.topologyConstraint.topologyProfile: There is no ClusterTopologyBinding "h100".'
                ' Allowed: "grove-topology".'
            ],
            id="topology: the one that is named exists",
            marks=pytest.mark.requirement("D51"),
        ),
        pytest.param(
            beta(service("A", domain="rack")),
            [
                "2:spec.topologyConstraint: A component has a constraint, so the topology must be named here."
                " Write clusterTopologyName."
            ],
            id="today, a component's constraint needs a topology that is named",
        ),
        pytest.param(
            beta(service("A"), topologyConstraint={"packDomain": "rack"}),
            [
                "2:spec.topologyConstraint.clusterTopologyName: The topology whose domains are meant is missing."
                " Write the name of a ClusterTopologyBinding."
            ],
            id="today, the topology is named",
        ),
        pytest.param(
            beta(service("A"), **NAMED),
            [
                "2:spec.topologyConstraint.packDomain: No domain is named, neither here nor in any of the components."
                " Name one, or leave the constraint out."
            ],
            id="a topology without a domain says nothing",
            marks=pytest.mark.requirement("D16"),
        ),
        pytest.param(
            beta(service("A", domain=""), service("B", domain="R_1"), **NAMED),
            [
                "2:spec.components[0].topologyConstraint.packDomain: No domain is named. Name one, or leave the constraint out.",
                '2:spec.components[1].topologyConstraint.packDomain: "R_1" is not a domain.'
                " Write lower-case letters, digits and dashes, such as rack.",
            ],
            id="today, a domain may have any name, but must have one",
        ),
        pytest.param(
            beta(service("A"), service("a"), service("-")),
            [
                '2:spec.components[1].name: "a" is already the name of spec.components[0], capitals aside. Give each its own.',
                '2:spec.components[2].name: "-" is not a valid name. Allowed are at most 63 letters, digits and dashes,'
                " with a letter or digit at both ends.",
            ],
            id="names are valid, and unique whatever their capitals",
        ),
        pytest.param(
            beta(*(service(f"c{i}") for i in range(26))),
            ["2:spec.components: There are 26 components. At most 25 are allowed."],
            id="there are at most 25 components",
        ),
        pytest.param(
            graph([]),
            ["2:spec.services: There is nothing to deploy here. Describe at least one."],
            id="there is a service",
        ),
        pytest.param(
            graph([service("A", -1), service("B", 2, minAvailable=3), service("C", nodes=1)]),
            [
                "2:spec.services[0].replicas: -1 is negative. Write zero or more.",
                "2:spec.services[1].minAvailable: 3 of 2 replicas cannot be the least. Allowed are 1 to 2.",
                "2:spec.services[2].multinode.nodeCount: 1 is not several nodes. Write two or more, or leave multinode out.",
            ],
            id="numbers of replicas and nodes make sense",
        ),
        pytest.param(
            graph([{"replicas": 1}, "x", service("A", replica=1)]),
            [
                "2:spec.services[0].name: A service in a list needs a name.",
                '2:spec.services[1]: Found "x", a string, where a mapping is expected.',
                '2:spec.services[2].replica: There is no field "replica" here. Did you mean "replicas"?',
            ],
            id="each service in a list is checked by itself",
        ),
        pytest.param(
            graph({"A": {"name": "B", "replicas": "2"}}),
            ['2:spec.services.A.replicas: Found "2", a string, where a whole number is expected.'],
            id="each service in a mapping is checked by itself",
        ),
        pytest.param(
            graph("x"),
            [
                '2:spec.services: Found "x", a string, where a mapping from names to services, or a list, is expected.',
            ],
            id="services are a mapping or a list",
        ),
        pytest.param(
            graph({"A": {"extraPodSpec": {"mainContainer": {"imag": "x"}, "nodeName": "n"}}}),
            [
                '2:spec.services.A.extraPodSpec.mainContainer.imag: There is no field "imag" here. Did you mean "image"?',
                "2:spec.services.A.extraPodSpec.nodeName: A component's pods cannot name their node. Leave it out.",
            ],
            id="pods are checked where their author wrote them",
        ),
        pytest.param(
            graph(
                [
                    service("A", extraPodSpec={"mainContainer": "x"}),
                    service(
                        "B",
                        resources={"limits": {"gpu": 1}},
                        extraPodSpec={"mainContainer": {"resources": {"limits": 1}}},
                    ),
                ]
            ),
            [
                '2:spec.services[0].extraPodSpec.mainContainer: Found "x", a string, where a mapping is expected.',
                "2:spec.services[1].extraPodSpec.mainContainer.resources.limits: Found 1, a number, where a mapping is expected.",
            ],
            id="a main container has the shape of a container",
        ),
        pytest.param(
            beta(service("A", nodes=3, podTemplate={"spec": {"containers": [{"imag": "x"}]}})),
            [
                '2:spec.components[0].podTemplate.spec.containers[0].imag: There is no field "imag" here. Did you mean "image"?'
            ],
            id="what leader and workers have in common is told once",
        ),
        pytest.param(
            beta(
                service("A", domain="rack"),
                providerOverride={
                    "apiVersion": "grove.io/v1",
                    "value": {"spec": {"template": {"topologyConstraint": {}, "cliques": []}}},
                },
                topologyConstraint={"clusterTopologyName": "grove-topology", "packDomain": "zone"},
            ),
            [
                '2:spec.providerOverride.apiVersion: "grove.io/v1" cannot be written over. Allowed: "grove.io/v1alpha1".',
                "2:spec.providerOverride.value: There are topology constraints in plain words as well. Use either these or this.",
                "2:spec.providerOverride.value: Only spec.template.topologyConstraint can be written over. Leave the rest out.",
            ],
            id="an override sets constraints only, and not beside the plain ones",
        ),
        pytest.param(
            graph([service("A" * 40, nodes=2)]),
            [
                f'2:spec.services[0].name: The names "graph", "{"a" * 40}", "{"a" * 40}-ldr" have 89 characters together.'
                " At most 45 leave room for the names of pods; shorten one of them.",
                f'2:spec.services[0].name: The names "graph", "{"a" * 40}", "{"a" * 40}-wkr" have 89 characters together.'
                " At most 45 leave room for the names of pods; shorten one of them.",
            ],
            id="names leave room for the names of pods",
        ),
        pytest.param(
            graph([service("A")], name="my.app"),
            [f'2:metadata.name: "my.app" {PART} such as "my-app".'],
            id="a name holds no dot",
        ),
        pytest.param(
            graph([service("A", -1)], name="n" * 64),
            [
                f'2:metadata.name: "{"n" * 64}" {PART} such as "{"n" * 63}".',
                "2:spec.services[0].replicas: -1 is negative. Write zero or more.",
            ],
            id="a name is no longer than a label",
        ),
        pytest.param(
            graph([service("A", 2, nodes=3), service("B", 150_000)]),
            [
                "2:spec.services[1].replicas: These would be 150006 pods in all."
                " At most 150000 are placed for one DynamoGraphDeployment."
            ],
            id="too many pods are told at the service that has most of them",
        ),
        pytest.param(
            beta(
                service("A", domain="Zone"),
                service("B", -1, domain="rak"),
                service("C", domain="zone", nodes=1),
                service("C", domain="hst"),
                topologyConstraint={"clusterTopologyName": "grove-topology", "packDomain": "rack"},
            ),
            [
                "2:spec.components[1].replicas: -1 is negative. Write zero or more.",
                "2:spec.components[2].multinode.nodeCount: 1 is not several nodes. Write two or more, or leave multinode out.",
                '2:spec.components[3].name: "C" is already the name of spec.components[2], capitals aside. Give each its own.',
                '2:spec.components[0].topologyConstraint.packDomain: "Zone" is not a domain.'
                " Write lower-case letters, digits and dashes, such as rack.",
                f'2:spec.components[1].topologyConstraint.packDomain: Topology "grove-topology" has no domain "rak". Did you mean "rack"? Allowed: {LEVELS}.',
                f'2:spec.components[3].topologyConstraint.packDomain: Topology "grove-topology" has no domain "hst". Did you mean "host"? Allowed: {LEVELS}.',
                f"2:spec.components[2].topologyConstraint.packDomain: {coarser('zone', 'rack')}",
            ],
            id="what is wrong with names and numbers hides nothing about domains",
            marks=pytest.mark.requirement("D31"),
        ),
        pytest.param(
            beta(
                service("A", domain="zone"),
                service("B", domain="hst"),
                topologyConstraint={"packDomain": "rack"},
            ),
            [
                "2:spec.topologyConstraint.clusterTopologyName: The topology whose domains are meant is missing."
                " Write the name of a ClusterTopologyBinding.",
                f'2:spec.components[1].topologyConstraint.packDomain: Topology "grove-topology" has no domain "hst". Did you mean "host"? Allowed: {LEVELS}.',
                f"2:spec.components[0].topologyConstraint.packDomain: {coarser('zone', 'rack')}",
            ],
            id="a topology without a name hides nothing where there is only one",
        ),
    ],
)
@pytest.mark.requirement("D16")
def test_what_is_refused(text: str, want: list[str]) -> None:
    assert problems(topology(), text) == want
    (workload,) = reading(topology(), text).workloads
    assert workload.request is None


def test_a_constraint_without_any_topology_in_the_cluster_is_refused() -> None:
    assert problems(graph([service("A")], "rack")) == [
        '1:spec.topologyConstraint.topologyProfile: There is no ClusterTopologyBinding "grove-topology".'
        " It is meant where no topology is named. None is given; add it, or name none."
    ]


def test_a_deployment_without_constraints_needs_no_topology() -> None:
    assert problems(graph([service("A", 2)])) == []


@pytest.mark.parametrize(
    ("mapping", "want"),
    [
        pytest.param({"zone": "example.com/zone", "rack": "example.com/rack"}, [], id="a mapping in order"),
        pytest.param(
            {"row": "r"},
            [
                f'1:operator.topologyAwareScheduling.domainToLabelMapping.row: "row" is not a topology domain. Allowed: {SEVEN}.'
            ],
            id="a mapped domain is a known one",
        ),
        pytest.param(
            {"rack": "a b"},
            [
                '1:operator.topologyAwareScheduling.domainToLabelMapping.rack: "a b" is not a label key.'
                " Write one such as example.com/rack."
            ],
            id="a domain is mapped to a label",
        ),
        pytest.param(
            {"rack": "a", "zone": "a"},
            [
                '1:operator.topologyAwareScheduling.domainToLabelMapping.zone: "a" is already the label of "rack".'
                " Each domain has its own."
            ],
            id="domains are mapped to different labels",
        ),
    ],
)
def test_the_mapping_of_domains_to_labels(mapping: dict[str, str], want: list[str]) -> None:
    settings = {"operator": {"topologyAwareScheduling": {"domainToLabelMapping": mapping}}}

    assert problems(json.dumps(settings)) == want
