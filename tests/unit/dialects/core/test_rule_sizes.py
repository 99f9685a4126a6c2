"""Pods that ask for more than can be compared are refused, and those beside them are placed."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.core.rule_sizes import MOST_VALUES
from closeknit.hub.sentences import core
from tests.filters.cases import node, pod
from tests.kit.problems import findings
from tests.unit.dialects.core.planned import placed, reading

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def expressions(values: int) -> dict[str, Any]:
    names = [f"v{i}" for i in range(values)]
    return {"matchExpressions": [{"key": "k", "operator": "NotIn", "values": names}]}


def node_affinity(values: int) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [expressions(values)]}}}}


def anti_affinity(values: int) -> dict[str, Any]:
    term = {"labelSelector": expressions(values), "topologyKey": "rack"}
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}}


def tolerations(values: int) -> dict[str, Any]:
    return {"tolerations": [{"key": f"t{i}", "operator": "Exists"} for i in range(values)]}


@pytest.mark.parametrize("asking", [node_affinity, anti_affinity, tolerations])
def test_pods_that_compare_too_much_are_not_placed_and_others_are(asking: Any) -> None:
    objects = [
        node("a"),
        pod("huge", asking(MOST_VALUES + 1)),
        pod("large", asking(MOST_VALUES - 10)),
        pod("p", {}),
    ]

    assert placed(*objects) == {"large": "a", "p": "a"}
    wrong = {
        workload.object.name: {finding.code for finding in findings(workload.problems)}
        for workload in reading(*objects).workloads
        if hasattr(workload, "problems")
    }
    assert wrong == {"huge": {core.RULES_TOO_LARGE.name}}
