"""The constraints of a PodCliqueSet, and the field at which a wrong one is reported."""

from __future__ import annotations

import pytest

from closeknit.hub.problems import Code, OneOf
from closeknit.hub.sentences import core, grove
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import finding, findings
from tests.unit.dialects.grove.constrained import T, packed
from tests.unit.dialects.grove.expected import coarser, field, unknown_domain
from tests.unit.dialects.grove.sets import (
    LEVELS,
    clique,
    configuration,
    group,
    pod_clique_set,
    topology,
)
from tests.unit.dialects.kit import reading, reported


@pytest.mark.parametrize(
    ("parent", "child", "valid"),
    [
        ("rack", "host", True),
        ("rack", "rack", True),
        ("rack", "numa", True),
        ("host", "rack", False),
        ("zone", "block", True),
        ("rack", "zone", False),
        ("numa", "host", False),
    ],
)
@pytest.mark.parametrize("places", ["set and clique", "set and group", "group and clique"])
def test_the_table_of_hierarchical_strictness(parent: str, child: str, valid: bool, places: str) -> None:
    match places:
        case "set and clique":
            text = pod_clique_set(clique("a", domain=child), domain=parent)
            where, above = "cliques[0]", "topologyConstraint"
        case "set and group":
            text = pod_clique_set(clique("a"), groups=[group("g", "a", domain=child)], domain=parent)
            where, above = "podCliqueScalingGroups[0]", "topologyConstraint"
        case _:
            text = pod_clique_set(clique("a", domain=child), groups=[group("g", "a", domain=parent)])
            where, above = "cliques[0]", "podCliqueScalingGroups[0].topologyConstraint"
    refused = coarser(
        f"{T}.{where}.topologyConstraint.packDomain", child, parent, f"spec.template.{above}.packDomain"
    )

    assert reported(topology({**LEVELS, "numa": "example.com/numa"}), text) == ([] if valid else [refused])


@pytest.mark.requirement("G61")
def test_constraints_are_refused_where_they_are_switched_off() -> None:
    text = pod_clique_set(clique("a", domain="rack"), domain="zone")

    assert reported(configuration(enabled=False), text) == [
        finding(grove.SWITCHED_OFF, f"{T}.topologyConstraint"),
        finding(grove.SWITCHED_OFF, f"{T}.cliques[0].topologyConstraint"),
    ]


def test_without_any_topology_a_constraint_has_nothing_to_speak_of() -> None:
    assert reported(pod_clique_set(clique("a"), domain="zone")) == [
        finding(
            grove.NO_BINDING_MEANT,
            "1:spec.template.topologyConstraint.topologyName",
            name="grove-topology",
            remedy=OneOf("grove-topology", ()),
        )
    ]


def test_a_set_without_constraints_needs_no_topology() -> None:
    assert reported(pod_clique_set(clique("a"))) == []


@pytest.mark.parametrize("named", [True, False], ids=["another names it", "it is the only one"])
def test_a_missing_topology_name_hides_nothing(named: bool) -> None:
    others = clique("b") | packed("grove-topology" if named else None, required="hst")
    outer = group("g", "c") | packed(None, required="rack")
    inner = clique("c") | packed(None, required="zone")
    unnamed = ["podCliqueScalingGroups[0]", *(() if named else ("cliques[0]",)), "cliques[1]"]

    assert reported(topology(), pod_clique_set(others, inner, groups=[outer])) == [
        *(
            finding(grove.TOPOLOGY_UNNAMED, f"{T}.{place}.topologyConstraint.topologyName")
            for place in unnamed
        ),
        unknown_domain(f"{T}.cliques[0].topologyConstraint.pack.required", "hst"),
        coarser(
            f"{T}.cliques[1].topologyConstraint.pack.required",
            "zone",
            "rack",
            "spec.template.podCliqueScalingGroups[0].topologyConstraint.pack.required",
        ),
    ]


def test_a_missing_topology_name_leaves_domains_alone_where_several_could_be_meant() -> None:
    text = pod_clique_set(clique("a"), **packed(None, required="hst"))

    assert reported(topology(), topology(name="other"), text) == [
        finding(grove.TOPOLOGY_UNNAMED, "3:spec.template.topologyConstraint.topologyName")
    ]


@pytest.mark.parametrize(
    ("text", "code", "noted", "above"),
    [
        pytest.param(
            pod_clique_set({**clique("a"), **packed(preferred="zone")}, **packed(preferred="rack")),
            core.PREFERENCE_COARSER,
            "spec.template.cliques[0].topologyConstraint.pack.preferred",
            "spec.template.topologyConstraint.pack.preferred",
            id="a preference that is coarser than the one above it",
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed(required="rack", preferred="zone")),
            core.PREFERENCE_SAYS_NOTHING,
            "spec.template.topologyConstraint.pack.preferred",
            "spec.template.topologyConstraint.pack.required",
            id="a preference that is coarser than what is required anyway",
        ),
    ],
)
def test_a_preference_is_noted_and_never_refused(text: str, code: Code, noted: str, above: str) -> None:
    read = reading(topology(), text)
    (workload,) = read.workloads

    assert read.problems == ()
    assert isinstance(workload, PlaceableWorkload)
    assert findings(workload.notes) == [finding(code, noted, level="zone", bound="rack", field=field(above))]
