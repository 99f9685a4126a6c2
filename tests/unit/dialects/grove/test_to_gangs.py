"""The PodGangs that Grove makes of a PodCliqueSet."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.grove.to_gangs import to_gangs
from tests.unit.dialects.grove.sets import (
    LEVELS,
    SERVING,
    clique,
    group,
    made,
    pod_clique_set,
)


def packed(**pack: str) -> dict[str, Any]:
    return {"packConstraint": pack}


def gangs(text: str, levels: Any = LEVELS) -> dict[str, dict[str, Any]]:
    return {gang["metadata"]["name"]: gang for gang in to_gangs(made(text, levels))}


def test_there_is_a_base_gang_for_each_replica_and_a_scaled_gang_for_each_past_the_minimum() -> None:
    names = ["srv-0", "srv-0-pre-0", "srv-0-pre-1"]
    assert list(gangs(SERVING)) == names

    two = json.loads(SERVING)
    two["spec"]["replicas"] = 2
    assert list(gangs(json.dumps(two))) == [*names, "srv-1", "srv-1-pre-0", "srv-1-pre-1"]


def test_the_base_gang_has_the_constraint_of_the_set_and_a_configuration_for_each_group() -> None:
    base = gangs(SERVING)["srv-0"]

    assert base["metadata"]["annotations"]["grove.io/topology-name"] == "grove-topology"
    assert base["spec"]["topologyConstraint"] == packed(required="topology/zone")
    assert base["spec"]["topologyConstraintGroupConfigs"] == [
        {
            "name": "srv-0-pre-0",
            "podGroupNames": ["srv-0-pre-0-lead", "srv-0-pre-0-work"],
            "topologyConstraint": packed(required="topology/rack"),
        }
    ]
    assert [
        (one["name"], one["minReplicas"], one["topologyConstraint"]) for one in base["spec"]["podgroups"]
    ] == [
        ("srv-0-router", 1, packed(required="topology/block")),
        ("srv-0-pre-0-lead", 1, packed(required="kubernetes.io/hostname")),
        ("srv-0-pre-0-work", 2, packed(required="topology/rack")),
    ]


@pytest.mark.requirement("G45", "G47")
def test_a_scaled_gang_has_the_constraint_of_its_group_and_no_configurations() -> None:
    scaled = gangs(SERVING)["srv-0-pre-1"]

    assert scaled["spec"]["topologyConstraint"] == packed(required="topology/rack")
    assert "topologyConstraintGroupConfigs" not in scaled["spec"]
    assert [one["name"] for one in scaled["spec"]["podgroups"]] == ["srv-0-pre-2-lead", "srv-0-pre-2-work"]
    assert scaled["spec"]["podgroups"][0]["podReferences"] == [
        {"namespace": "default", "name": "srv-0-pre-2-lead-0"}
    ]


def test_a_scaled_gang_of_a_group_without_a_constraint_falls_back_to_that_of_the_set() -> None:
    text = pod_clique_set(clique("a"), groups=[group("g", "a", replicas=2)], domain="zone")
    found = gangs(text)

    assert found["pcs-0-g-0"]["spec"]["topologyConstraint"] == packed(required="topology/zone")
    assert "topologyConstraintGroupConfigs" not in found["pcs-0"]["spec"]


@pytest.mark.requirement("G50")
def test_preferences_reach_the_gang() -> None:
    pack = {"topologyName": "grove-topology", "pack": {"required": "zone", "preferred": "rack"}}
    base = gangs(pod_clique_set(clique("a"), topologyConstraint=pack))["pcs-0"]

    assert base["spec"]["topologyConstraint"] == packed(required="topology/zone", preferred="topology/rack")


def test_a_gang_without_constraints_names_no_topology() -> None:
    base = gangs(pod_clique_set(clique("a")))["pcs-0"]

    assert base["metadata"]["annotations"] == {"kai.scheduler/skip-podgrouper": "true"}
    assert set(base["spec"]) == {"podgroups"}


def test_a_gang_takes_over_labels_and_annotations_that_are_not_groves_own() -> None:
    metadata = {"labels": {"team": "a", "grove.io/x": "y"}, "annotations": {"note": "b", "grove.io/x": "y"}}
    base = gangs(pod_clique_set(clique("a"), metadata=metadata))["pcs-0"]["metadata"]

    assert (base["labels"]["team"], base["annotations"]["note"]) == ("a", "b")
    assert "grove.io/x" not in {*base["labels"], *base["annotations"]}


def test_a_lost_level_takes_only_its_own_constraint_with_it() -> None:
    text = json.loads(SERVING)
    text["metadata"]["uid"] = "1"
    found = gangs(json.dumps(text), {domain: key for domain, key in LEVELS.items() if domain != "rack"})
    base = found["srv-0"]["spec"]

    assert base["topologyConstraint"] == packed(required="topology/zone")
    assert "topologyConstraintGroupConfigs" not in base
    assert [one.get("topologyConstraint") for one in base["podgroups"]] == [
        packed(required="topology/block"),
        packed(required="kubernetes.io/hostname"),
        None,
    ]
    assert found["srv-0-pre-0"]["spec"]["topologyConstraint"] == packed(required="topology/zone")


def test_a_lost_preference_leaves_the_requirement() -> None:
    pack = {"topologyName": "grove-topology", "pack": {"required": "zone", "preferred": "rack"}}
    text = pod_clique_set(clique("a"), topologyConstraint=pack, metadata={"uid": "1"})

    assert gangs(text, {"zone": "z"})["pcs-0"]["spec"]["topologyConstraint"] == packed(required="z")
