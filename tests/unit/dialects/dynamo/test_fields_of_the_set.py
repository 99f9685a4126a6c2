"""A problem of what is made of a deployment is told of the deployment, in its words."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from closeknit.dialects.dynamo.to_pod_clique_set import TERMS, field_of, origins
from closeknit.dialects.grove import terms
from closeknit.hub.paths import Path, text_of
from closeknit.hub.problems import Code
from closeknit.hub.sentences import dynamo
from tests.unit.dialects.dynamo.graphs import deployment, graph, service

GROVE = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {"pack": {"required": "rack"}}}}
ALPHA = deployment(graph({"A": service(), "B": service(nodes=2)}))
BETA = deployment(
    graph([service("A", providerOverride=GROVE), service("B", nodes=2, replicas=9)], version="v1beta1")
)
CLIQUES = "spec.template.cliques"


def parsed(text: str) -> Path:
    """The steps of a written path."""
    words = re.findall(r"\w+", text)
    return tuple(int(word) if word.isdecimal() else word for word in words)


@pytest.mark.parametrize(
    ("given", "path", "want"),
    [
        pytest.param(ALPHA, "metadata.name", "metadata.name", id="what both have"),
        pytest.param(
            ALPHA, "spec.template.priorityClassName", "spec.priorityClassName", id="a field of the whole"
        ),
        pytest.param(
            ALPHA,
            "spec.template.topologyConstraint.topologyName",
            "spec.topologyConstraint.topologyProfile",
            id="the name of the topology, by the version's own word",
        ),
        pytest.param(
            BETA,
            "spec.template.topologyConstraint.topologyName",
            "spec.topologyConstraint.clusterTopologyName",
            id="the name of the topology today",
        ),
        pytest.param(
            ALPHA,
            "spec.template.podCliqueScalingGroups[0].topologyConstraint.pack.required",
            "spec.services.B.topologyConstraint.packDomain",
            id="the constraint of a scaling group",
        ),
        pytest.param(
            ALPHA,
            f"{CLIQUES}[0].topologyConstraint.topologyName",
            "spec.services.A.topologyConstraint",
            id="a name that a component cannot give",
        ),
        pytest.param(
            BETA,
            f"{CLIQUES}[0].topologyConstraint.pack.required",
            "spec.components[0].providerOverride.value.topologyConstraint.pack.required",
            id="a constraint that is written over",
        ),
        pytest.param(ALPHA, f"{CLIQUES}[0].name", "spec.services.A.name", id="a clique's name"),
        pytest.param(
            ALPHA,
            "spec.template.podCliqueScalingGroups[0].cliqueNames[1]",
            "spec.services.B.name",
            id="a clique in a scaling group",
        ),
        pytest.param(
            ALPHA,
            f"{CLIQUES}[0].spec.minAvailable",
            "spec.services.A.minAvailable",
            id="a number of a clique",
        ),
        pytest.param(
            ALPHA,
            f"{CLIQUES}[0].spec.podSpec.containers[0].ports[1]",
            "spec.services.A.extraPodSpec.mainContainer.ports[1]",
            id="the main container, which is written apart",
        ),
        pytest.param(
            ALPHA,
            f"{CLIQUES}[2].spec.podSpec.containers[2].name",
            "spec.services.B.extraPodSpec.containers[1].name",
            id="another container",
        ),
        pytest.param(
            BETA,
            f"{CLIQUES}[0].spec.podSpec.containers[0].name",
            "spec.components[0].podTemplate.spec.containers[0].name",
            id="a container today",
        ),
        pytest.param(BETA, "spec.replicas", "spec.components[1].replicas", id="the component with most pods"),
    ],
)
def test_the_field_that_a_field_was_made_of(given: object, path: str, want: str) -> None:
    assert text_of(field_of(parsed(path), given, origins(given))) == want  # type: ignore[arg-type]


def test_the_codes_of_a_deployment_have_the_facts_and_severity_of_those_of_a_set() -> None:
    pairs = [(getattr(terms.GROVE, field.name), getattr(TERMS, field.name)) for field in fields(terms.Terms)]
    codes = [(groves, own) for groves, own in pairs if isinstance(groves, Code)]

    assert len(codes) >= 6
    for groves, own in codes:
        assert own.fields == groves.fields
        assert own.severity is groves.severity


@pytest.mark.requirement("D3")
def test_no_sentence_of_dynamos_speaks_of_what_is_made() -> None:
    said = [each.sentence.lower() for each in vars(dynamo).values() if isinstance(each, Code)]

    assert [each for each in said if "grove" in each or "clique" in each] == []
