"""Outcomes as JSON keep to the schema of the contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from closeknit.hub.copying import replace
from closeknit.hub.neighbours import Apart, PodSelector
from closeknit.hub.outcome import (
    Assignment,
    CountChange,
    Departure,
    DomainFit,
    Exclusion,
    ExclusionReason,
    GroupReach,
    Holder,
    LevelChange,
    Outcome,
    Placed,
    Relaxation,
    RuleReach,
    Shortfall,
    Undecided,
    Unplaceable,
    Wishes,
)
from closeknit.hub.problems import Code
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.shortfall import NoDomain
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import IncompleteWorkload, InvalidWorkload, ObjectName, PlaceableWorkload
from closeknit.scheduler import outcome_json
from closeknit.scheduler.deciding import AnyVerdict, Failed, InvalidVerdict, Verdict

SCHEMA = json.loads((Path(__file__).parents[1] / "cli/outcomes.schema.json").read_text())
TOPOLOGY = Topology("t", (Level("topology/zone"), Level("topology/rack")))
NAME = ObjectName("scheduling.run.ai/v2alpha2", "PodGroup", "default", "sample1")
REQUEST = Request(
    "default/sample1",
    Group(
        "default/sample1",
        (
            Group("workers", (Group("subgroup-a", (PodSet("subgroup-a/1", 1),), required="topology/rack"),)),
            Group("mixed", (PodSet("mixed/1", 1), PodSet("mixed/2", 1))),
        ),
    ),
    "t",
)
PLACED = Placed(
    "default/sample1",
    (Assignment("pod-a1", "subgroup-a/1", "node-3", ("zone-a", "rack-1")),),
    (
        GroupReach("default/sample1", None, None, None, "topology/zone", (("zone-a",),), satisfied=True),
        GroupReach("workers", "default/sample1", None, None, "topology/zone", (("zone-a",),), satisfied=True),
        GroupReach(
            "subgroup-a",
            "workers",
            "topology/rack",
            None,
            "topology/rack",
            (("zone-a", "rack-1"),),
            satisfied=True,
        ),
    ),
    Wishes(0, (0, 0), (1, 1, 1)),
    proven=True,
)


def verdict(outcome: Outcome | Failed) -> Verdict:
    return Verdict(PlaceableWorkload(NAME, "kai", REQUEST), outcome, TOPOLOGY)


def told(outcome: Outcome | Failed) -> dict[str, Any]:
    return written(verdict(outcome))


def written(verdict: AnyVerdict) -> dict[str, Any]:
    output = outcome_json.outcomes([verdict])
    jsonschema.validate(output, SCHEMA)
    (entry,) = output["outcomes"]
    assert isinstance(entry, dict)
    return entry


def relaxed(*changes: LevelChange | CountChange | Departure) -> dict[str, Any]:
    short = Shortfall(
        "subgroup-a",
        NoDomain("topology/rack"),
        3,
        2,
        (DomainFit(("zone-a", "rack-1"), 2, "nvidia.com/gpu", (Holder("default/x", 1, 8),)),),
        (Exclusion(ExclusionReason.TAINT, "a=b:NoSchedule", 4),),
        (Relaxation(changes),),
    )
    entry = told(Unplaceable("default/sample1", (short,)))
    (got,) = entry["shortfalls"][0]["relaxations"]
    assert isinstance(got, dict)
    return got


def test_preferred_rules_are_told_where_there_are_any() -> None:
    rule = Apart("kubernetes.io/hostname", PodSelector(), 100)
    kept = replace(PLACED, wishes=replace(PLACED.wishes, rules=200))

    entry = told(replace(kept, rules=(RuleReach("subgroup-a/1", rule, 4, 2),)))

    assert entry["wishes"]["rules"] == 200
    assert entry["preferredRules"] == [
        {
            "podSet": "subgroup-a",
            "rule": "antiAffinity",
            "key": "kubernetes.io/hostname",
            "pods": 4,
            "kept": 2,
        }
    ]
    assert "preferredRules" not in told(PLACED)


def test_a_placed_workload_lists_pods_and_groups_by_the_names_its_user_knows() -> None:
    entry = told(PLACED)

    assert entry["workload"] == {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "namespace": "default",
        "name": "sample1",
    }
    assert entry["status"] == "placed"
    assert entry["pods"] == [
        {"name": "pod-a1", "podSet": "subgroup-a", "node": "node-3", "domain": ["zone-a", "rack-1"]}
    ]
    assert entry["groups"][2] == {
        "name": "subgroup-a",
        "parent": "workers",
        "required": "topology/rack",
        "preferred": None,
        "level": "topology/rack",
        "domains": [["zone-a", "rack-1"]],
        "satisfied": True,
    }
    assert entry["proven"] is True
    assert entry["wishes"]["domains"] == [
        {"level": "topology/zone", "used": 1},
        {"level": "topology/rack", "used": 1},
    ]
    assert entry["wishes"]["nodes"] == 1


def test_a_group_directly_under_the_workload_has_no_parent() -> None:
    assert [group["parent"] for group in told(PLACED)["groups"]] == [None, None, "workers"]


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param(
            [LevelChange("subgroup-a", "topology/zone")],
            {"change": "level", "group": "subgroup-a", "to": "topology/zone"},
            id="a coarser level",
        ),
        pytest.param(
            [LevelChange("subgroup-a", None)],
            {"change": "level", "group": "subgroup-a", "to": None},
            id="no level",
        ),
        pytest.param(
            [CountChange("subgroup-a/1", 2)],
            {"change": "count", "podSet": "subgroup-a", "to": 2},
            id="fewer pods of the only pod set of a group",
        ),
        pytest.param(
            [CountChange("mixed/2", 0)],
            {"change": "count", "podSet": "mixed/2", "to": 0},
            id="fewer pods of one of several pod sets of a group",
        ),
        pytest.param(
            [Departure(("default/x",))],
            {"change": "departure", "workloads": ["default/x"]},
            id="others leave",
        ),
        pytest.param(
            [LevelChange("subgroup-a", None), Departure(("x",))],
            {
                "change": "all",
                "changes": [
                    {"change": "level", "group": "subgroup-a", "to": None},
                    {"change": "departure", "workloads": ["x"]},
                ],
            },
            id="several changes together",
        ),
    ],
)
def test_relaxations_keep_their_form(
    changes: list[LevelChange | CountChange | Departure], want: dict[str, Any]
) -> None:
    assert relaxed(*changes) == want


NO_SUBGROUP = Code("no-subgroup", "Nothing is called {name}.").at(
    ("spec", "subGroups", 1, "parent"), name="a"
)


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(InvalidVerdict(InvalidWorkload(NAME, "kai", (NO_SUBGROUP,))), id="an invalid one"),
        pytest.param(
            InvalidVerdict(IncompleteWorkload(NAME, "kai", (NO_SUBGROUP,), 1)), id="an incomplete one"
        ),
        pytest.param(verdict(Failed((NO_SUBGROUP,))), id="one that the engine rejects"),
    ],
)
def test_an_invalid_workload_carries_its_problems_and_nothing_else(verdict: AnyVerdict) -> None:
    entry = written(verdict)

    assert entry["status"] == "invalid"
    assert entry["problems"] == [
        {"path": "spec.subGroups[1].parent", "code": "no-subgroup", "message": 'Nothing is called "a".'}
    ]
    assert entry["pods"] == entry["groups"] == entry["shortfalls"] == []


def test_an_undecided_workload_says_so() -> None:
    assert told(Undecided("default/sample1"))["status"] == "undecided"


def test_names_in_any_script_stay_readable() -> None:
    assert "größe" in outcome_json.text({"name": "größe"})


@pytest.mark.parametrize("reason", ExclusionReason, ids=lambda reason: reason.value)
def test_an_exclusion_lists_its_reason_by_value(reason: ExclusionReason) -> None:
    short = Shortfall("subgroup-a", NoDomain(None), 3, 2, (), (Exclusion(reason, "what", 4),), ())

    entry = told(Unplaceable("default/sample1", (short,)))

    assert entry["shortfalls"][0]["excluded"] == [{"reason": reason.value, "detail": "what", "nodes": 4}]


def test_the_values_of_reasons_are_those_that_scripts_know() -> None:
    assert [reason.value for reason in ExclusionReason] == [
        *("unlabelled", "not ready", "unschedulable", "taint", "selector", "affinity", "resource", "port"),
        *("no label", "apart", "kept away", "company", "spread"),
    ]
