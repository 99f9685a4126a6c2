"""The constraints of a PodCliqueSet, with the exact path and sentence that their author reads."""

from __future__ import annotations

import pytest

from tests.unit.dialects.grove.constrained import UNKNOWN, T, coarser, packed
from tests.unit.dialects.grove.sets import (
    LEVELS,
    clique,
    configuration,
    group,
    pod_clique_set,
    topology,
)
from tests.unit.dialects.kit import problems, reading


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
            where, above = "cliques[0]", "topologyConstraint.packDomain"
        case "set and group":
            text = pod_clique_set(clique("a"), groups=[group("g", "a", domain=child)], domain=parent)
            where, above = "podCliqueScalingGroups[0]", "topologyConstraint.packDomain"
        case _:
            text = pod_clique_set(clique("a", domain=child), groups=[group("g", "a", domain=parent)])
            where, above = "cliques[0]", "podCliqueScalingGroups[0].topologyConstraint.packDomain"
    want = [] if valid else [f"{T}.{where}.topologyConstraint.packDomain: {coarser(child, parent, above)}"]

    assert problems(topology({**LEVELS, "numa": "example.com/numa"}), text) == want


@pytest.mark.requirement("G61")
def test_constraints_are_refused_where_they_are_switched_off() -> None:
    text = pod_clique_set(clique("a", domain="rack"), domain="zone")
    off = "Topology aware scheduling is switched off in the OperatorConfiguration. Switch it on, or leave the constraint out."

    assert problems(configuration(enabled=False), text) == [
        f"{T}.topologyConstraint: {off}",
        f"{T}.cliques[0].topologyConstraint: {off}",
    ]


def test_without_any_topology_a_constraint_has_nothing_to_speak_of() -> None:
    assert problems(pod_clique_set(clique("a"), domain="zone")) == [
        '1:spec.template.topologyConstraint.topologyName: There is no ClusterTopologyBinding "grove-topology".'
        " It is meant where no topology is named. None is given; add it, or name none."
    ]


def test_a_set_without_constraints_needs_no_topology() -> None:
    assert problems(pod_clique_set(clique("a"))) == []


@pytest.mark.parametrize("named", [True, False], ids=["another names it", "it is the only one"])
def test_a_missing_topology_name_hides_nothing(named: bool) -> None:
    others = clique("b") | packed("grove-topology" if named else None, required="hst")
    outer = group("g", "c") | packed(None, required="rack")
    inner = clique("c") | packed(None, required="zone")
    missing = (
        "The topology whose domains are meant is missing, and there is none to inherit."
        " Write the name of a ClusterTopologyBinding."
    )
    unnamed = ["podCliqueScalingGroups[0]", *(() if named else ("cliques[0]",)), "cliques[1]"]

    assert problems(topology(), pod_clique_set(others, inner, groups=[outer])) == [
        *(f"{T}.{place}.topologyConstraint.topologyName: {missing}" for place in unnamed),
        f"{T}.cliques[0].topologyConstraint.pack.required: {UNKNOWN}",
        f"{T}.cliques[1].topologyConstraint.pack.required:"
        f" {coarser('zone', 'rack', 'podCliqueScalingGroups[0].topologyConstraint.pack.required')}",
    ]


def test_a_missing_topology_name_leaves_domains_alone_where_several_could_be_meant() -> None:
    text = pod_clique_set(clique("a"), **packed(None, required="hst"))
    (found,) = problems(topology(), topology(name="other"), text)

    assert found.startswith("3:spec.template.topologyConstraint.topologyName: The topology whose domains")


@pytest.mark.parametrize(
    ("text", "path", "want"),
    [
        pytest.param(
            pod_clique_set({**clique("a"), **packed(preferred="zone")}, **packed(preferred="rack")),
            f"{T[2:]}.cliques[0].topologyConstraint.pack.preferred",
            '"zone" is coarser than "rack", which spec.template.topologyConstraint.pack.preferred prefers.'
            ' It counts only where "rack" cannot be had.',
            id="a preference that is coarser than the one above it",
        ),
        pytest.param(
            pod_clique_set(clique("a"), **packed(required="rack", preferred="zone")),
            f"{T[2:]}.topologyConstraint.pack.preferred",
            '"zone" is coarser than "rack", which spec.template.topologyConstraint.pack.required requires,'
            " so preferring it changes nothing.",
            id="a preference that is coarser than what is required anyway",
        ),
    ],
)
def test_a_preference_is_noted_and_never_refused(text: str, path: str, want: str) -> None:
    found = reading(topology(), text)
    (workload,) = found.workloads

    assert found.problems == ()
    assert workload.request is not None
    assert [str(note) for note in workload.notes] == [f"{path}: {want}"]
