"""What is known to go wrong or to be missing in Grove, and how it goes here.

Numbers are those of Grove's issues and pull requests unless another project is named. Outside of what
files can show are protection of topologies against deletion (#243, #259), races between
two writers of PodGroups (KAI #2117), and spread and affinity groups, for which PodCliqueSets
have no words (#578, #585, #756); the reference of Grove lists them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit import Cluster, Placed, Unplaceable, solve
from closeknit.hub.drawing import parse
from closeknit.hub.sentences import grove
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import finding
from tests.unit.dialects.grove.constrained import RUNNING, TREE, WITHOUT_RACK, gangs, packed, required
from tests.unit.dialects.grove.expected import coarser, field, unknown_domain
from tests.unit.dialects.grove.sets import (
    clique,
    group,
    pod_clique_set,
    pod_spec,
    topology,
    translated,
)
from tests.unit.dialects.kit import forbidden_changes, reading, reported
from tests.unit.dialects.kit import request as only_request


def drawn(text: str) -> Cluster:
    cluster = parse(text, levels=("topology/zone", "topology/block", "topology/rack"))
    return Cluster((TREE,), cluster.nodes, cluster.holdings)


SCALED = pod_clique_set(clique("w"), groups=[group("g", "w", replicas=3)], domain="zone")
TWO_ZONES = """
z1
  b1
    r1
      n1: 1
z2
  b2
    r2
      n2: 1
      n3: 1
"""


@pytest.mark.requirement("G53")
def test_648_the_constraint_of_a_set_holds_across_its_gangs() -> None:
    """In Grove each gang is packed by itself, so a scaled one ends up in another zone than the base."""
    outcome = solve(drawn(TWO_ZONES), only_request(topology(), SCALED))

    assert isinstance(outcome, Placed)
    assert {each.domain[0] for each in outcome.assignments} == {"z2"}
    assert outcome.wishes.left_out == 1


def test_735_replicas_beyond_the_minimum_are_part_of_the_request_and_hold_nothing_up() -> None:
    """The base needs one pod of three; it runs where there is room for no more than that."""
    outcome = solve(drawn("z\n  b\n    r\n      n: 1"), only_request(topology(), SCALED))

    assert isinstance(outcome, Placed)
    assert len(outcome.assignments) == 1


@pytest.mark.requirement("G46")
def test_339_a_scaled_gang_without_a_constraint_of_its_own_has_that_of_the_set() -> None:
    found = gangs(topology(), SCALED)

    want = {"packConstraint": {"required": "topology/zone"}}
    assert [gang["spec"]["topologyConstraint"] for gang in found.values()] == [want] * 3


@pytest.mark.requirement("G48")
def test_357_a_scaling_group_without_a_constraint_makes_no_group_configuration() -> None:
    assert "topologyConstraintGroupConfigs" not in gangs(topology(), SCALED)["pcs-0"]["spec"]


def test_a_group_configuration_never_lacks_its_constraint() -> None:
    """Grove writes one without it where the domain is gone."""
    text = pod_clique_set(clique("w"), groups=[group("g", "w", domain="rack")], domain="zone", **RUNNING)
    (found,) = gangs(topology(WITHOUT_RACK), text).values()

    assert "topologyConstraintGroupConfigs" not in found["spec"]
    assert found["spec"]["topologyConstraint"] == {"packConstraint": {"required": "topology/zone"}}


def test_a_lost_preference_keeps_the_requirement_and_the_other_way_round() -> None:
    text = pod_clique_set(
        {**clique("a"), **packed(required="block", preferred="rack")},
        {**clique("b"), **packed(required="rack", preferred="host")},
        **packed(required="zone"),
        **RUNNING,
    )
    (found,) = gangs(topology(WITHOUT_RACK), text).values()

    assert [each["topologyConstraint"]["packConstraint"] for each in found["spec"]["podgroups"]] == [
        {"required": "topology/block"},
        {"preferred": "kubernetes.io/hostname"},
    ]


def test_preferences_are_more_than_a_provision() -> None:
    """The proposal has a field for them in gangs and no way to fill it."""
    text = pod_clique_set(clique("w", 2), **packed(preferred="rack"))
    outcome = solve(
        drawn("z\n  b\n    r1\n      a: 1\n    r2\n      b: 1\n      c: 1"), only_request(topology(), text)
    )

    assert isinstance(outcome, Placed)
    assert {each.node for each in outcome.assignments} == {"b", "c"}
    (found,) = gangs(topology(), text).values()
    assert found["spec"]["topologyConstraint"] == {"packConstraint": {"preferred": "topology/rack"}}


@pytest.mark.requirement("G51")
def test_a_preference_that_cannot_be_had_falls_back_as_far_as_what_is_required() -> None:
    text = pod_clique_set(clique("w", 2), **packed(required="block", preferred="rack"))
    racks = "    r1\n      n1: 1\n    r2\n      n2: 1"

    outcome = solve(drawn(f"z\n  b\n{racks}"), only_request(topology(), text))

    assert isinstance(outcome, Placed)
    apart = racks.replace("    r2", "  c\n    r2")
    assert isinstance(solve(drawn(f"z\n  b\n{apart}"), only_request(topology(), text)), Unplaceable)


def test_828_a_topology_that_kai_knows_by_another_name_is_called_so() -> None:
    bound: dict[str, Any] = {
        "schedulerTopologyBindings": [{"schedulerName": "kai-scheduler", "topologyReference": "theirs"}]
    }
    text = pod_clique_set(clique("w"), **packed(required="rack"))
    objects = translated("kai", topology(kind="ClusterTopologyBinding", **bound), text)

    (pod_group,) = objects
    assert pod_group["spec"]["topologyConstraint"]["topology"] == "theirs"


def test_369_two_topologies_serve_two_sets() -> None:
    other = topology({"rack": "other/rack"}, "other", "ClusterTopologyBinding")
    texts = [
        pod_clique_set(clique("w"), **packed(required="rack")),
        pod_clique_set(clique("w"), name="second", **packed("other", required="rack")),
    ]
    first, second = reading(topology(kind="ClusterTopologyBinding"), other, *texts).workloads

    assert isinstance(first, PlaceableWorkload)
    assert isinstance(second, PlaceableWorkload)
    assert (first.request.topology, required(first.request)["pcs-0"]) == ("grove-topology", "topology/rack")
    assert (second.request.topology, required(second.request)["second-0"]) == ("other", "other/rack")


@pytest.mark.parametrize("kind", ["ClusterTopology", "ClusterTopologyBinding"])
def test_the_order_of_levels_is_that_of_the_list_and_not_of_fixed_words(kind: str) -> None:
    """Here a rack spans blocks, so a set in one rack may have cliques in one block, and not the reverse."""
    upside = topology({"rack": "topology/rack", "block": "topology/block"}, kind=kind)

    assert reported(upside, pod_clique_set(clique("a", domain="block"), domain="rack")) == []
    assert reported(upside, pod_clique_set(clique("a", domain="rack"), domain="block")) == [
        coarser(
            "2:spec.template.cliques[0].topologyConstraint.packDomain",
            "rack",
            "block",
            "spec.template.topologyConstraint.packDomain",
        )
    ]


def test_304_a_child_that_is_too_broad_is_told_at_the_child() -> None:
    """Grove puts it on the parent, which may be right, and names no field."""
    text = pod_clique_set({**clique("a"), **packed(required="zone")}, **packed(required="rack"))

    assert reported(topology(), text) == [
        coarser(
            "2:spec.template.cliques[0].topologyConstraint.pack.required",
            "zone",
            "rack",
            "spec.template.topologyConstraint.pack.required",
        )
    ]


def test_304_unknown_domains_do_not_hide_what_is_too_broad() -> None:
    """Grove stops after the first kind of mistake."""
    text = pod_clique_set(clique("a", domain="row"), clique("b", domain="zone"), domain="rack")

    assert reported(topology(), text) == [
        unknown_domain("2:spec.template.cliques[0].topologyConstraint.packDomain", "row"),
        coarser(
            "2:spec.template.cliques[1].topologyConstraint.packDomain",
            "zone",
            "rack",
            "spec.template.topologyConstraint.packDomain",
        ),
    ]


def test_a_binding_is_told_at_the_field_that_its_author_wrote() -> None:
    """Grove speaks of schedulerTopologyReferences, which no manifest has."""
    twice = [{"schedulerName": "kai-scheduler", "topologyReference": "t"}] * 2

    assert reported(topology(kind="ClusterTopologyBinding", schedulerTopologyBindings=twice)) == [
        finding(
            grove.BOUND_TWICE,
            "1:spec.schedulerTopologyBindings[1].schedulerName",
            name="kai-scheduler",
            first=field("spec.schedulerTopologyBindings[0]"),
        )
    ]


@pytest.mark.parametrize("scheduler", ["volcano", "lpx-scheduler"])
def test_637_a_scheduler_that_knows_no_topology_is_told_at_its_own_field(scheduler: str) -> None:
    text = pod_clique_set(clique("a", podSpec=pod_spec(schedulerName=scheduler)), domain="rack")

    assert reported(topology(), text) == [
        finding(
            grove.SCHEDULER_WITHOUT_TOPOLOGY,
            "2:spec.template.cliques[0].spec.podSpec.schedulerName",
            name=scheduler,
        )
    ]


def test_replicas_that_are_left_out_need_one_pod() -> None:
    """Grove takes the least from the number before its default, and needs none."""
    (pods,) = only_request(pod_clique_set(clique("a", None))).root.pod_sets()
    zero, _ = only_request(pod_clique_set(clique("a", 0), clique("b"))).root.pod_sets()

    assert (pods.count, pods.least) == (1, 1)
    assert (zero.count, zero.least) == (1, 1)


def test_809_a_set_scales_from_nothing() -> None:
    nothing, one = (pod_clique_set(clique("a"), replicas=count, domain="rack") for count in (0, 1))

    assert forbidden_changes("PodCliqueSet", nothing, one) == []
    assert list(only_request(topology(), nothing).root.pod_sets()) == []
    assert len(list(only_request(topology(), one).root.pod_sets())) == 1


def test_777_gangs_of_a_set_are_known_by_label_or_owner_and_never_by_name() -> None:
    """Since #778 a gang's name holds the time at which it was made."""
    (made,) = gangs(pod_clique_set(clique("a"))).values()
    made["metadata"]["name"] = "pcs-0-1755640800000000000"
    found = reading(pod_clique_set(clique("a")), json.dumps(made))

    assert [workload.object.kind for workload in found.workloads] == ["PodCliqueSet"]


def test_a_group_configuration_and_a_scaled_gang_of_one_name_are_told_apart() -> None:
    """Both are called ``pcs-0-g-0``: the first replica of the group, and the gang of the second."""
    text = pod_clique_set(clique("w"), groups=[group("g", "w", domain="rack", replicas=2)])
    found = gangs(topology(), text)
    (config,) = found["pcs-0"]["spec"]["topologyConstraintGroupConfigs"]

    assert config["name"] == "pcs-0-g-0"
    assert config["podGroupNames"] == ["pcs-0-g-0-w"]
    assert [each["name"] for each in found["pcs-0-g-0"]["spec"]["podgroups"]] == ["pcs-0-g-1-w"]
    assert {"pcs-0-g-0", "pcs-0-g-1"} < required(only_request(topology(), text)).keys()


@pytest.mark.parametrize(
    ("text", "where", "name", "first"),
    [
        pytest.param(
            pod_clique_set(clique("g-0-w"), clique("w"), groups=[group("g", "w")]),
            "1:spec.template.cliques[0].name",
            "pcs-0-g-0-w",
            "spec.template.cliques[1].name",
            id="a clique and one of a scaling group",
        ),
        pytest.param(
            pod_clique_set(clique("0-w"), clique("w"), groups=[group("a", "0-w"), group("a-0", "w")]),
            "1:spec.template.cliques[1].name",
            "pcs-0-a-0-0-w",
            "spec.template.cliques[0].name",
            id="cliques of two scaling groups",
        ),
        pytest.param(
            pod_clique_set(clique("g-1"), clique("w"), groups=[group("g", "w", replicas=3)]),
            "1:spec.template.cliques[0].name",
            "pcs-0-g-1",
            "spec.template.podCliqueScalingGroups[0].name",
            id="a clique and a replica of a scaling group",
        ),
    ],
)
def test_names_that_would_be_given_twice_are_refused(text: str, where: str, name: str, first: str) -> None:
    """Grove joins names by dashes and looks for none in them."""
    assert reported(text) == [finding(grove.NAME_CONFLICT, where, name=name, first=field(first))]


def test_a_clique_whose_name_ends_like_another_keeps_its_own_pods() -> None:
    text = pod_clique_set(clique("a-b", podSpec=pod_spec(2)), clique("b", podSpec=pod_spec(1)))
    amounts = [dict(pods.resources.items()) for pods in only_request(text).root.pod_sets()]

    assert amounts == [{"nvidia.com/gpu": 2}, {"nvidia.com/gpu": 1}]


def test_kai_1639_a_parent_counts_its_subgroups_and_no_pods() -> None:
    text = pod_clique_set(clique("a"), clique("b"), groups=[group("g", "a", "b", domain="rack")])
    *_, pod_group = translated("kai", topology(), text)
    parent, *leaves = pod_group["spec"]["subGroups"]

    assert (parent["minSubGroup"], "minMember" in parent) == (2, False)
    assert [("minSubGroup" in leaf, leaf["minMember"]) for leaf in leaves] == [(False, 1)] * 2


def test_kai_2117_pods_and_gangs_tell_kai_to_make_no_pod_group_of_them() -> None:
    skip = "kai.scheduler/skip-podgrouper"
    text = pod_clique_set(clique("a"))
    objects = [*translated("podgang", text), *translated("pods", text)]

    assert [each["metadata"]["annotations"][skip] for each in objects] == ["true", "true"]


def test_there_is_a_signal_that_a_placement_cannot_be_had() -> None:
    """In Grove nothing but the pods of KAI tells."""
    text = pod_clique_set(clique("a", 2), domain="host")
    outcome = solve(drawn("z\n  b\n    r\n      n1: 1\n      n2: 1"), only_request(topology(), text))

    assert isinstance(outcome, Unplaceable)
    assert [(each.fits, each.wanted) for each in outcome.shortfalls] == [(1, 2)]
