"""PodCliqueSets as trees of the hub."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit import Cluster, Placed, Unplaceable, solve
from closeknit.hub.drawing import parse
from closeknit.hub.request import Group, Request
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.grove.sets import (
    LEVELS,
    clique,
    group,
    pod_clique_set,
    pod_spec,
    topology,
)
from tests.unit.dialects.kit import node, reading, reported
from tests.unit.dialects.kit import request as only_request

TOPOLOGY = Topology("grove-topology", tuple(Level(key, domain) for domain, key in LEVELS.items()))


def request(*texts: str) -> Request:
    return only_request(topology(), *texts)


def outline(found: Request) -> dict[str, tuple[str | None, str | None, str | None, int]]:
    """Parent, levels and minimum of every group and pod set by name."""
    return {
        member.name: (
            parent.name if parent else None,
            member.required if isinstance(member, Group) else None,
            member.preferred if isinstance(member, Group) else None,
            member.least,
        )
        for member, parent in found.root.walk()
    }


def drawn(text: str) -> Cluster:
    cluster = parse(text, levels=("topology/zone", "topology/block", "topology/rack"))
    return Cluster((TOPOLOGY,), cluster.nodes, cluster.holdings)


def test_each_replica_is_a_group_with_the_constraint_of_the_set() -> None:
    assert outline(request(pod_clique_set(clique("a", 2), replicas=2, domain="zone"))) == {
        "default/pcs": (None, None, None, 1),
        "pcs-0": ("default/pcs", "topology/zone", None, 1),
        "pcs-0-a": ("pcs-0", None, None, 1),
        "pcs-0-a/1": ("pcs-0-a", None, None, 2),
        "pcs-1": ("default/pcs", "topology/zone", None, 1),
        "pcs-1-a": ("pcs-1", None, None, 1),
        "pcs-1-a/1": ("pcs-1-a", None, None, 2),
    }


def test_replicas_of_a_scaling_group_past_the_minimum_are_needed_by_nobody_but_bound_like_the_others() -> (
    None
):
    found = outline(
        request(
            pod_clique_set(
                clique("a", 3, domain="host", minAvailable=2),
                groups=[group("g", "a", domain="rack", replicas=3, minAvailable=1)],
                domain="zone",
            )
        )
    )

    assert found["pcs-0"] == ("default/pcs", "topology/zone", None, 2)
    assert found["pcs-0-g-0"] == ("pcs-0", "topology/rack", None, 1)
    assert found["pcs-0/scaled"] == ("pcs-0", None, None, 0)
    assert found["pcs-0-g-1"] == found["pcs-0-g-2"] == ("pcs-0/scaled", "topology/rack", None, 1)
    assert found["pcs-0-g-2-a"] == ("pcs-0-g-2", "kubernetes.io/hostname", None, 1)
    assert found["pcs-0-g-2-a/1"] == ("pcs-0-g-2-a", None, None, 2)


def test_a_preference_stands_beside_a_requirement_in_todays_spelling() -> None:
    pack = {"topologyName": "grove-topology", "pack": {"required": "zone", "preferred": "rack"}}
    found = outline(request(pod_clique_set(clique("a"), topologyConstraint=pack)))

    assert found["pcs-0"] == ("default/pcs", "topology/zone", "topology/rack", 1)


def test_a_preference_coarser_than_the_requirement_says_nothing_and_is_left_out() -> None:
    pack = {"topologyName": "grove-topology", "pack": {"required": "rack", "preferred": "zone"}}
    found = outline(request(pod_clique_set(clique("a"), topologyConstraint=pack)))

    assert found["pcs-0"] == ("default/pcs", "topology/rack", None, 1)


def test_both_spellings_mean_the_same() -> None:
    pack = {"topologyName": "grove-topology", "pack": {"required": "rack"}}

    assert request(pod_clique_set(clique("a"), topologyConstraint=pack)) == request(
        pod_clique_set(clique("a"), domain="rack")
    )


def test_replicas_left_out_are_one_of_which_one_is_needed() -> None:
    """Grove itself makes this one replica of which none is needed."""
    (pods,) = request(pod_clique_set(clique("a", None))).root.pod_sets()

    assert (pods.count, pods.least) == (1, 1)


def test_a_clique_that_says_nothing_of_its_pods_is_assumed_to_need_a_gpu_each() -> None:
    bare: dict[str, Any] = {"name": "a", "spec": {"replicas": 2}}
    (pods,) = request(pod_clique_set(bare)).root.pod_sets()

    assert dict(pods.resources) == {"nvidia.com/gpu": 1}


def test_pods_ask_for_what_their_specification_says() -> None:
    spec = pod_spec(4, nodeSelector={"gpu": "h100"})
    (pods,) = request(pod_clique_set(clique("a", podSpec=spec))).root.pod_sets()

    assert dict(pods.resources) == {"nvidia.com/gpu": 4}
    assert dict(pods.filter.selector) == {"gpu": "h100"}


def test_a_set_scaled_to_nothing_asks_for_nothing() -> None:
    found = request(pod_clique_set(clique("a"), replicas=0))

    assert found.root.members == ()
    assert isinstance(solve(drawn("z\n  b\n    r\n      x: 8"), found), Placed)


def running(name: str, clique_name: str, node_name: str = "") -> str:
    labels = {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "pcs",
        "grove.io/podclique": clique_name,
    }
    spec = pod_spec() | ({"nodeName": node_name} if node_name else {})
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}
    )


def test_pods_that_run_already_count_and_the_rest_keep_their_names() -> None:
    texts = (node("x"), running("pcs-0-a-q7", "pcs-0-a", "x"), running("pcs-0-a-1", "pcs-0-a"))
    found = reading(topology(), pod_clique_set(clique("a", 4)), *texts)
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    (pods,) = workload.request.root.pod_sets()

    assert found.problems == ()
    assert pods.bound == ("x",)
    assert pods.pods == ("pcs-0-a-1", "pcs-0-a-0", "pcs-0-a-2")
    assert [holding.workload for holding in found.cluster.holdings] == [workload.request.name]


TWO_ZONES = """
    z1
      b1
        r1
          x1: 2
          x2: 2
    z2
      b2
        r2
          x3: 2
          x4: 2
          x5: 2
"""


@pytest.mark.requirement("G53")
def test_the_constraint_of_the_set_spans_base_and_scaled_gangs_of_a_replica() -> None:
    """Grove checks it within each gang only, so a scaled gang may end up in another zone."""
    text = pod_clique_set(clique("a", 2), groups=[group("g", "a", domain="host", replicas=3)], domain="zone")
    outcome = solve(drawn(TWO_ZONES), request(text))

    assert isinstance(outcome, Placed)
    assert {assignment.domain[0] for assignment in outcome.assignments} == {"z2"}
    assert len(outcome.assignments) == 6


def test_what_scales_out_but_finds_no_room_in_the_zone_of_its_replica_waits() -> None:
    text = pod_clique_set(clique("a", 2), groups=[group("g", "a", domain="host", replicas=5)], domain="zone")
    outcome = solve(drawn(TWO_ZONES), request(text))

    assert isinstance(outcome, Placed)
    assert {assignment.domain[0] for assignment in outcome.assignments} == {"z2"}
    assert outcome.wishes.left_out == 4


@pytest.mark.requirement("G31")
def test_replicas_of_the_set_are_placed_independently_of_each_other() -> None:
    text = pod_clique_set(clique("a", 4), replicas=3, domain="zone")
    outcome = solve(drawn(TWO_ZONES), request(text))

    assert isinstance(outcome, Placed)
    zones = {
        name: {one.domain[0] for one in outcome.assignments if one.pod_set == f"{name}-a/1"}
        for name in ("pcs-0", "pcs-1", "pcs-2")
    }
    assert sorted(len(found) for found in zones.values()) == [0, 1, 1]
    assert outcome.wishes.left_out == 4


@pytest.mark.requirement("G32")
def test_the_base_gang_is_placed_whole_or_not_at_all() -> None:
    text = pod_clique_set(
        clique("a", 3), groups=[group("g", "a", domain="zone", replicas=3, minAvailable=3)], domain="zone"
    )

    assert isinstance(solve(drawn(TWO_ZONES), request(text)), Unplaceable)


def test_a_running_set_whose_topology_lost_a_level_goes_on_without_that_constraint() -> None:
    text = pod_clique_set(clique("a", domain="rack"), domain="zone", metadata={"uid": "1"})
    without = topology({domain: key for domain, key in LEVELS.items() if domain != "rack"})

    assert reported(without, text) == []
    found = outline(only_request(without, text))
    assert found["pcs-0"][1] == "topology/zone"
    assert found["pcs-0-a"][1] is None
