"""Every rule for a DynamoGraphDeployment, and the field that its author would change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.apis.core_v1 import Container
from closeknit.apis.nvidia_com_v1alpha1 import Service
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import dynamo, grove
from closeknit.hub.workload import InvalidWorkload
from tests.kit.problems import Finding, finding
from tests.unit.dialects.dynamo.graphs import graph, service
from tests.unit.dialects.grove.expected import (
    coarser,
    field,
    minimum_out_of_range,
    not_a_domain,
    unknown_domain,
    unknown_field,
    wrong_type,
)
from tests.unit.dialects.grove.sets import topology
from tests.unit.dialects.kit import reading, reported

ABOVE = "spec.topologyConstraint.packDomain"
MAPPING = "1:operator.topologyAwareScheduling.domainToLabelMapping"
NAMED = {"topologyConstraint": {"clusterTopologyName": "grove-topology"}}


def beta(*components: dict[str, Any], **spec: Any) -> str:
    return graph(list(components), version="v1beta1", **spec)


TOO_MANY = finding(dynamo.TOO_MANY_PODS, "2:spec.services[1].replicas", most=150_000, pods=150_006)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            graph([service("A")], "racks"),
            [not_a_domain("2:spec.topologyConstraint.packDomain", "racks")],
            id="struct: a domain of the deployment is one of the known ones",
            marks=pytest.mark.requirement("D10", "D26"),
        ),
        pytest.param(
            graph({"A": service(domain="Rack")}),
            [not_a_domain("2:spec.services.A.topologyConstraint.packDomain", "Rack")],
            id="struct: a domain of a service is one of the known ones",
        ),
        pytest.param(
            graph([service("A", domain="zone"), service("B", domain="block", nodes=2)], "rack"),
            [
                coarser("2:spec.services[1].topologyConstraint.packDomain", "block", "rack", ABOVE),
                coarser("2:spec.services[0].topologyConstraint.packDomain", "zone", "rack", ABOVE),
            ],
            id="hierarchy: no service is broader than the deployment, on one node or several",
        ),
        pytest.param(
            graph([service("A", domain="numa"), service("B", nodes=2, domain="region")]),
            [
                unknown_domain("2:spec.services[1].topologyConstraint.packDomain", "region"),
                unknown_domain("2:spec.services[0].topologyConstraint.packDomain", "numa"),
            ],
            id="topology: domains of services are levels of the cluster's topology",
        ),
        pytest.param(
            graph([service("A")], "datacenter"),
            [unknown_domain("2:spec.topologyConstraint.packDomain", "datacenter")],
            id="topology: the domain of the deployment is a level of the cluster's topology",
        ),
        pytest.param(
            graph([service("A")], topologyConstraint={"topologyProfile": "h100", "packDomain": "rack"}),
            [
                finding(
                    grove.NO_BINDING,
                    "2:spec.topologyConstraint.topologyProfile",
                    name="h100",
                    remedy=OneOf("h100", ("grove-topology",)),
                )
            ],
            id="topology: the one that is named exists",
            marks=pytest.mark.requirement("D51"),
        ),
        pytest.param(
            beta(service("A", domain="rack")),
            [finding(dynamo.CONSTRAINT_MISSING, "2:spec.topologyConstraint")],
            id="today, a component's constraint needs a topology that is named",
        ),
        pytest.param(
            beta(service("A"), topologyConstraint={"packDomain": "rack"}),
            [finding(dynamo.TOPOLOGY_MISSING, "2:spec.topologyConstraint.clusterTopologyName")],
            id="today, the topology is named",
        ),
        pytest.param(
            beta(service("A"), **NAMED),
            [finding(dynamo.NO_DOMAIN_ANYWHERE, "2:spec.topologyConstraint.packDomain", listed="components")],
            id="a topology without a domain says nothing",
            marks=pytest.mark.requirement("D16"),
        ),
        pytest.param(
            beta(service("A", domain=""), service("B", domain="R_1"), **NAMED),
            [
                finding(dynamo.NO_DOMAIN, "2:spec.components[0].topologyConstraint.packDomain"),
                finding(
                    dynamo.NOT_A_DOMAIN, "2:spec.components[1].topologyConstraint.packDomain", domain="R_1"
                ),
            ],
            id="today, a domain may have any name, but must have one",
        ),
        pytest.param(
            beta(service("A"), service("a"), service("-")),
            [
                finding(
                    dynamo.COMPONENT_NAME_TAKEN,
                    "2:spec.components[1].name",
                    first=field("spec.components[0]"),
                    name="a",
                ),
                finding(dynamo.NOT_A_COMPONENT_NAME, "2:spec.components[2].name", name="-"),
            ],
            id="names are valid, and unique whatever their capitals",
        ),
        pytest.param(
            beta(*(service(f"c{i}") for i in range(26))),
            [
                finding(
                    dynamo.TOO_MANY_COMPONENTS, "2:spec.components", count=26, listed="components", most=25
                )
            ],
            id="there are at most 25 components",
        ),
        pytest.param(
            graph([]),
            [finding(dynamo.NOTHING_TO_DEPLOY, "2:spec.services")],
            id="there is a service",
        ),
        pytest.param(
            graph([service("A", -1), service("B", 2, minAvailable=3), service("C", nodes=1)]),
            [
                finding(grove.NEGATIVE, "2:spec.services[0].replicas", least="zero", replicas=-1),
                minimum_out_of_range("2:spec.services[1].minAvailable", 3, 2),
                finding(dynamo.NOT_SEVERAL_NODES, "2:spec.services[2].multinode.nodeCount", nodes=1),
            ],
            id="numbers of replicas and nodes make sense",
        ),
        pytest.param(
            graph([{"replicas": 1}, "x", service("A", replica=1)]),
            [
                finding(dynamo.SERVICE_UNNAMED, "2:spec.services[0].name"),
                finding(dynamo.NOT_A_SERVICE, "2:spec.services[1]", found='"x", a string,'),
                unknown_field("2:spec.services[2].replica", "replica", "replicas", Service),
            ],
            id="each service in a list is checked by itself",
        ),
        pytest.param(
            graph({"A": {"name": "B", "replicas": "2"}}),
            [wrong_type("2:spec.services.A.replicas", '"2", a string,', "a whole number")],
            id="each service in a mapping is checked by itself",
        ),
        pytest.param(
            graph("x"),
            [
                finding(dynamo.NOT_SERVICES, "2:spec.services", found='"x", a string,'),
            ],
            id="services are a mapping or a list",
        ),
        pytest.param(
            graph({"A": {"extraPodSpec": {"mainContainer": {"imag": "x"}, "nodeName": "n"}}}),
            [
                unknown_field(
                    "2:spec.services.A.extraPodSpec.mainContainer.imag", "imag", "image", Container
                ),
                finding(dynamo.NODE_NAMED, "2:spec.services.A.extraPodSpec.nodeName"),
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
                wrong_type("2:spec.services[0].extraPodSpec.mainContainer", '"x", a string,', "a mapping"),
                wrong_type(
                    "2:spec.services[1].extraPodSpec.mainContainer.resources.limits",
                    "1, a number,",
                    "a mapping",
                ),
            ],
            id="a main container has the shape of a container",
        ),
        pytest.param(
            beta(service("A", nodes=3, podTemplate={"spec": {"containers": [{"imag": "x"}]}})),
            [
                unknown_field(
                    "2:spec.components[0].podTemplate.spec.containers[0].imag", "imag", "image", Container
                )
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
                finding(
                    dynamo.OVERRIDE_VERSION,
                    "2:spec.providerOverride.apiVersion",
                    allowed="grove.io/v1alpha1",
                    found="grove.io/v1",
                ),
                finding(dynamo.OVERRIDE_BESIDE_CONSTRAINTS, "2:spec.providerOverride.value"),
                finding(
                    dynamo.OVERRIDE_TOO_WIDE,
                    "2:spec.providerOverride.value",
                    allowed="spec.template.topologyConstraint",
                ),
            ],
            id="an override sets constraints only, and not beside the plain ones",
        ),
        pytest.param(
            graph([service("A" * 40, nodes=2)]),
            [
                finding(
                    grove.NAMES_TOO_LONG,
                    "2:spec.services[0].name",
                    length=89,
                    longest=45,
                    names=("graph", "a" * 40, "a" * 40 + "-ldr"),
                ),
                finding(
                    grove.NAMES_TOO_LONG,
                    "2:spec.services[0].name",
                    length=89,
                    longest=45,
                    names=("graph", "a" * 40, "a" * 40 + "-wkr"),
                ),
            ],
            id="names leave room for the names of pods",
        ),
        pytest.param(
            graph([service("A")], name="my.app"),
            [finding(grove.NAME_IN_HOST_NAMES, "2:metadata.name", longest=63, name="my.app", near="my-app")],
            id="a name holds no dot",
        ),
        pytest.param(
            graph([service("A", -1)], name="n" * 64),
            [
                finding(
                    grove.NAME_IN_HOST_NAMES, "2:metadata.name", longest=63, name="n" * 64, near="n" * 63
                ),
                finding(grove.NEGATIVE, "2:spec.services[0].replicas", least="zero", replicas=-1),
            ],
            id="a name is no longer than a label",
        ),
        pytest.param(
            graph([service("A", 2, nodes=3), service("B", 150_000)]),
            [TOO_MANY],
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
                finding(grove.NEGATIVE, "2:spec.components[1].replicas", least="zero", replicas=-1),
                finding(dynamo.NOT_SEVERAL_NODES, "2:spec.components[2].multinode.nodeCount", nodes=1),
                finding(
                    dynamo.COMPONENT_NAME_TAKEN,
                    "2:spec.components[3].name",
                    first=field("spec.components[2]"),
                    name="C",
                ),
                finding(
                    dynamo.NOT_A_DOMAIN, "2:spec.components[0].topologyConstraint.packDomain", domain="Zone"
                ),
                unknown_domain("2:spec.components[1].topologyConstraint.packDomain", "rak"),
                unknown_domain("2:spec.components[3].topologyConstraint.packDomain", "hst"),
                coarser("2:spec.components[2].topologyConstraint.packDomain", "zone", "rack", ABOVE),
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
                finding(dynamo.TOPOLOGY_MISSING, "2:spec.topologyConstraint.clusterTopologyName"),
                unknown_domain("2:spec.components[1].topologyConstraint.packDomain", "hst"),
                coarser("2:spec.components[0].topologyConstraint.packDomain", "zone", "rack", ABOVE),
            ],
            id="a topology without a name hides nothing where there is only one",
        ),
    ],
)
@pytest.mark.requirement("D16")
def test_what_is_refused(text: str, want: list[Finding]) -> None:
    assert reported(topology(), text) == want
    (workload,) = reading(topology(), text).workloads
    assert isinstance(workload, InvalidWorkload)


def test_a_constraint_without_any_topology_in_the_cluster_is_refused() -> None:
    assert reported(graph([service("A")], "rack")) == [
        finding(
            grove.NO_BINDING_MEANT,
            "1:spec.topologyConstraint.topologyProfile",
            name="grove-topology",
            remedy=OneOf("grove-topology", ()),
        )
    ]


def test_a_deployment_without_constraints_needs_no_topology() -> None:
    assert reported(graph([service("A", 2)])) == []


@pytest.mark.parametrize(
    ("mapping", "want"),
    [
        pytest.param({"zone": "example.com/zone", "rack": "example.com/rack"}, [], id="a mapping in order"),
        pytest.param(
            {"row": "r"},
            [not_a_domain(f"{MAPPING}.row", "row")],
            id="a mapped domain is a known one",
        ),
        pytest.param(
            {"rack": "a b"},
            [finding(dynamo.NOT_A_LABEL_KEY, f"{MAPPING}.rack", label="a b")],
            id="a domain is mapped to a label",
        ),
        pytest.param(
            {"rack": "a", "zone": "a"},
            [finding(dynamo.LABEL_TAKEN, f"{MAPPING}.zone", first="rack", label="a")],
            id="domains are mapped to different labels",
        ),
    ],
)
def test_the_mapping_of_domains_to_labels(mapping: dict[str, str], want: list[Finding]) -> None:
    settings = {"operator": {"topologyAwareScheduling": {"domainToLabelMapping": mapping}}}

    assert reported(json.dumps(settings)) == want
